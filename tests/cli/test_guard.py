"""Error messages of one sentence instead of tracebacks."""

import errno
import warnings

import pytest
import typer

from mcsquared.cli.guard import readable_errors
from mcsquared.errors import InputError, ModelFileError


def outcome_of(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(typer.Exit) as ended, readable_errors():
        raise error
    return ended.value.exit_code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (InputError("contexts must have 4 rows,\ngot 3"), 2, "contexts must have 4 rows, got 3"),
        (ModelFileError("a.mc2 is damaged"), 2, "a.mc2 is damaged"),
        (OSError(errno.ENOSPC, "No space left on device", "a.mc2"), 2, "a.mc2: no space left"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.csv"), 2, "a.csv: no such file"),
        (OSError("odd"), 2, "odd"),
        (MemoryError(), 2, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_that_a_user_can_correct_are_one_sentence_and_an_exit_code(
    error, code, sentence, capsys
):
    found, text = outcome_of(error, capsys)
    assert found == code
    assert text.startswith("mc2: ")
    assert sentence in text
    assert text.count("\n") == 1


def test_bugs_keep_their_traceback():
    with pytest.raises(ZeroDivisionError), readable_errors():
        _ = 1 / 0


def test_warnings_are_printed_as_notes_inside_the_context_only(capsys):
    original = warnings.showwarning
    with readable_errors():
        warnings.warn("chains disagree", UserWarning, stacklevel=1)
    assert warnings.showwarning is original
    assert capsys.readouterr().err == "mc2: note: chains disagree\n"

"""The interface to MALLET, tested with a script that writes the same output."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.contenders import mallet
from benchmarks.corpora import simulated_corpus
from benchmarks.settings import Settings

FAKE_MALLET = f"""#!{sys.executable}
import sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if sys.argv[1] == "train-topics":
    assert options["--num-threads"] == "1"
    with open(options["--topic-word-weights-file"], "w") as weights:
        weights.write("0\\tw0\\t3.0\\n0\\tw2\\t1.0\\n1\\tw1\\t5.0\\n")
    with open(options["--output-topic-keys"], "w") as keys:
        keys.write("0\\t0.25\\tsome words\\n1\\t0.5\\tother words\\n")
"""


def test_without_its_folder_it_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(mallet.ENVIRONMENT, raising=False)
    with pytest.raises(ImportError, match="MCSQUARED_MALLET is not set to the folder"):
        mallet.Mallet(simulated_corpus(0.01), Settings())


def test_a_folder_without_the_program_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(mallet.ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(mallet.shutil, "which", lambda _: "java")
    with pytest.raises(ImportError, match="MCSQUARED_MALLET must contain bin/mallet"):
        mallet.program()


def test_topics_and_prior_are_read_from_its_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "mallet"
    program.write_text(FAKE_MALLET)
    program.chmod(0o755)
    monkeypatch.setenv(mallet.ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(mallet.shutil, "which", lambda _: "java")
    contender = mallet.Mallet(simulated_corpus(0.01), replace(Settings(), n_topics=2))
    seconds, model = contender.curve(0.0)[0]
    assert seconds >= 0.0
    np.testing.assert_allclose(model.word_given_topic[:, :3], [[0.75, 0, 0.25], [0, 1, 0]])
    np.testing.assert_allclose(model.alpha, [0.25, 0.5])
    lines = (contender.folder / "groups.txt").read_text().splitlines()
    assert len(lines) == simulated_corpus(0.01).n_groups

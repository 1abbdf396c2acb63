"""Contexts on the command line."""

import pytest

from mcsquared import MC2
from mcsquared.cli.reading import ContextOption, parse_contexts
from mcsquared.errors import InputError
from tests.cli.commands import invoke, rejected


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("year", ContextOption("year")),
        ("year:gaussian", ContextOption("year", "gaussian")),
        ("cites:poisson", ContextOption("cites", "poisson")),
        ("authors:bag", ContextOption("authors", "bag")),
        ("authors:bag:|", ContextOption("authors", "bag", "|")),
        ("authors:bag::", ContextOption("authors", "bag", ":")),
        ("authors:bag: and ", ContextOption("authors", "bag", " and ")),
        ("time:utc:gaussian", ContextOption("time:utc", "gaussian")),
    ],
)
def test_a_context_is_a_column_with_or_without_its_family(option, expected):
    assert parse_contexts([option]) == [expected]


def test_an_unknown_family_is_rejected_with_the_known_ones():
    with pytest.raises(InputError, match=r"--context 'year:gausian'.*gaussian"):
        parse_contexts(["year:gausian"])


@pytest.mark.parametrize("option", ["", ":", ":gaussian", "year:"])
def test_a_context_without_a_column_or_with_an_empty_family_is_rejected(option):
    with pytest.raises(InputError, match="must be COLUMN or COLUMN:FAMILY"):
        parse_contexts([option])


def test_a_column_named_twice_is_rejected():
    with pytest.raises(InputError, match="'year' twice"):
        parse_contexts(["year", "place", "year:poisson"])


def test_without_texts_the_option_for_one_row_per_word_is_named(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text("member;book\nM1;Emma\nM1;Ulysses\n", encoding="utf-8")
    result = invoke("fit", path)
    assert "member, book, got none; for a file with one row per word, use --long" in rejected(
        result
    )
    assert "note: the fields of loans.csv are separated by ';'" in result.stderr


@pytest.mark.parametrize("family", ["", ":categorical"])
def test_an_empty_column_is_not_used_as_a_context(tmp_path, family):
    path = tmp_path / "p.csv"
    path.write_text("text,year,spare\n" + "".join(f"red fox {i % 3},{i},\n" for i in range(12)))
    options = ["--text", "text", "--context", "year", "--context", f"spare{family}"]
    result = invoke("fit", path, *options, "--out", tmp_path / "p.mc2", "--sweeps", 4)
    assert result.exit_code == 0, result.output
    assert "the context 'spare' is not used, because it is empty" in result.stderr
    assert list(MC2.load(tmp_path / "p.mc2").posterior_.contexts) == ["year"]


def test_an_effect_is_a_context_whose_family_may_be_given(papers_file, tmp_path):
    out = tmp_path / "e.mc2"
    fit = ["fit", papers_file, "--text", "abstract", "--out", out, "--sweeps", 4]
    found = invoke(*fit, "--effect", "subject", "--effect", "authors", "--context", "authors:bag")
    assert found.exit_code == 0, found.output
    posterior = MC2.load(out).posterior_
    kinds = {name: column.kind for name, column in posterior.contexts.items()}
    assert kinds == {"authors": "bag", "subject": "category"}
    assert set(posterior.effects("subject")["value"]) == {"neural", "kernel"}
    again = rejected(invoke(*fit, "--effect", "subject", "--effect", "subject"))
    assert "effects must be distinct, got 'subject' twice" in again

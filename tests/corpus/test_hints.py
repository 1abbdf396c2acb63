"""Descriptions of string columns mention that they look like numbers, dates or lists."""

import pytest

import mcsquared as mc2


def described(values):
    corpus = mc2.Corpus.from_tokens([["ant"]] * len(values), {"column": values})
    return corpus.describe().splitlines()[1]


@pytest.mark.parametrize(
    ("values", "remark"),
    [
        (["Ann; Bob", "Cleo; Dan", "Ann"], "strings with ';' may be lists"),
        (["a|b", "b|c"], "strings with '|' may be lists"),
        (["1990", "2001.5", None], "numbers as strings"),
        (["2020-01-31", "2020-02-01"], "dates as strings"),
        ([f"paper {j}" for j in range(30)], "no two groups share a value"),
    ],
)
def test_texts_that_look_like_something_else_are_remarked_upon(values, remark):
    assert f"({remark}" in described(values)


@pytest.mark.parametrize(
    "values",
    [
        ["red", "green", "red"],
        ["Berlin, Germany", "Paris, France"],
        ["one; two", "a", "b", "c"],
        ["1990", "unknown"],
        ["a", "b", None],  # few values may all differ
        [None, None],
    ],
)
def test_plain_categories_are_left_in_peace(values):
    assert "perhaps" not in described(values)
    assert "written as" not in described(values)
    assert "no two groups" not in described(values)


def test_a_remark_is_no_note_and_changes_nothing():
    corpus = mc2.Corpus.from_tokens([["ant"]] * 2, {"authors": ["Ann; Bob", "Bob; Cleo"]})
    assert corpus.notes == []
    assert corpus.contexts["authors"].categories.tolist() == ["Ann; Bob", "Bob; Cleo"]

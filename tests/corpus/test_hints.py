"""Descriptions of string columns mention that they look like numbers, dates or lists."""

import pytest

import mcsquared as mc2


def described(values):
    corpus = mc2.Corpus.from_tokens([["ant"]] * len(values), {"column": values})
    return corpus.describe().splitlines()[1]


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (["Ann; Bob", "Cleo; Dan", "Ann"], "strings with ';' may be lists"),
        (["a|b", "b|c"], "strings with '|' may be lists"),
        (["1990", "2001.5", None], "all strings are numbers"),
        (["2020-01-31", "2020-02-01"], "all strings are dates"),
        ([f"paper {j}" for j in range(30)], "all values are distinct"),
        ([f"paper {j}" for j in range(30)] + ["paper 0"] * 5, "most values are distinct"),
        (["3/4/2021", "Mar 4, 2021", "2021-03-04"], "dates in several formats"),
        (["red", "n/a", "green"], "'n/a' is a category of its own"),
        (["12", "1,204", "n/a"], "strings such as '1,204' may be numbers"),
        ([f"{j},5" for j in range(30)] + ["s/d"], "most strings are numbers, but not 's/d'"),
        ([f"2020-01-{j:02}" for j in range(1, 31)] + ["soon"], "most strings are dates, but not"),
        (["['a', 'b']", "['b']"], "strings in brackets may be lists: use bags="),
        (["['a' 'b']", "['b']"], "strings in brackets may be lists: write them as"),
    ],
)
def test_strings_that_look_like_another_type_have_a_hint(values, hint):
    assert f"({hint}" in described(values)


@pytest.mark.parametrize(
    "values",
    [
        ["red", "green", "red"],
        ["Berlin, Germany", "Paris, France"],
        ["one; two", "a", "b", "c"],
        ["1990", "unknown"],
        [f"paper {j}" for j in range(30)] * 2,
        ["a", "b", None],  # few values may all differ
        [None, None],
    ],
)
def test_plain_categories_have_no_hint(values):
    for hint in ("may be lists", "all strings are", "values are distinct"):
        assert hint not in described(values)


def test_a_hint_is_not_a_note_and_changes_nothing():
    corpus = mc2.Corpus.from_tokens([["ant"]] * 2, {"authors": ["Ann; Bob", "Bob; Cleo"]})
    assert corpus.notes == []
    assert corpus.contexts["authors"].categories.tolist() == ["Ann; Bob", "Bob; Cleo"]

"""Descriptions of string columns mention that they look like numbers, dates or lists."""

import json

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.corpus.columns.values import interpret


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
        (["06/May/24 11:54 PM", "21.6.2014", "3 mai 2020"], "all strings are dates"),
        (["3/4/2021", "Mar 4, 2021", "2021-03-04"], "dates in several formats"),
        (["oui", "Oui", "non"], "'Oui' and 'oui' are two categories: write them alike"),
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


def test_a_year_among_dates_is_the_middle_of_that_year():
    dates = interpret(["03/05/1987", "13/05/1987", "mars 1950", "1987-05-13", "1913", "s.d."])
    expected = ["1987-05-03", "1987-05-13", "1950-03-01", "1987-05-13", "1913-07-01", "NaT"]
    np.testing.assert_array_equal(dates, np.array(expected, "datetime64[us]"))
    assert interpret(["1987-05-13", "1913", "1914"]) == ["1987-05-13", "1913", "1914"]
    assert interpret(["1913", "1914"]).tolist() == [1913, 1914]


def test_a_bag_whose_items_all_occur_once_is_not_used_unless_it_is_named():
    photos = [[f"https://example.org/{j}/{i}.jpg" for i in range(j % 3)] for j in range(30)]
    corpus = mc2.Corpus.from_tokens([["ant", "bee"]] * 30, {"photos": photos, "x": range(30)})
    options = {"n_sweeps": 4, "burn_in": 2, "random_state": 0, "progress": False}
    model = mc2.MC2(**options).fit(corpus)
    assert list(model.posterior_.contexts) == ["x"]
    assert any("contexts={'photos': 'bag'}" in note for note in model.posterior_.notes)
    named = mc2.MC2(contexts={"photos": "bag"}, **options).fit(corpus)
    assert list(named.posterior_.contexts) == ["photos"]
    shared = mc2.Corpus.from_tokens([["ant"]] * 30, {"tags": [["a"], ["b"], ["a", "c"]] * 10})
    assert not shared.contexts["tags"].is_distinct


def test_nested_lists_of_strings_are_one_list(tmp_path):
    rows = [{"text": "red car", "tags": [["a", "b"], ["c"]]}, {"text": "blue car", "tags": ["a"]}]
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    corpus = mc2.Corpus.read(tmp_path / "a.jsonl", text="text", contexts="tags", max_df=1.0)
    assert corpus.contexts["tags"].categories.tolist() == ["a", "b", "c"]
    assert corpus.contexts["tags"].values.toarray().tolist() == [[1, 1, 1], [1, 0, 0]]

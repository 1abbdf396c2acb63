"""Means, standard errors and tables with the paper's numbers."""

import json
import math

import numpy as np
import pytest

from experiments import NAMES
from experiments.summary import PAPER, markdown, paper_numbers, plain, summarise, tables

ROWS = [
    {"seed": 0, "method": "A", "score": 1.0, "topics": 3, "words": "sun moon"},
    {"seed": 0, "method": "B", "score": 5.0, "topics": None},
    {"seed": 1, "method": "A", "score": 2.0, "topics": 3, "words": "rain"},
    {"seed": 1, "method": "B", "score": 5.0, "topics": None},
]


def make_record(paper_rows):
    return {
        "title": "Scores",
        "keys": ["method"],
        "summary": summarise(ROWS, ("method",)),
        "paper": {"where": "Table 9", "note": "one run.", "rows": paper_rows},
        "seeds": [0, 1],
        "command": "mc2 reproduce scores",
        "date": "2026-01-01",
        "seconds": 3.0,
        "machine": "a machine",
    }


def test_measures_become_mean_and_standard_error():
    first, second = summarise(ROWS, ("method",))
    assert first["method"] == "A"
    expected = np.std([1.0, 2.0], ddof=1) / math.sqrt(2)
    assert first["score"]["mean"] == 1.5
    assert first["score"]["standard_error"] == pytest.approx(expected)
    assert first["score"]["n"] == 2
    assert first["words"] == "sun moon"
    assert second["topics"] is None


def test_one_seed_has_no_standard_error():
    assert summarise(ROWS[:1], ("method",))[0]["score"]["standard_error"] is None


def test_the_number_of_the_paper_is_added_if_the_keys_agree():
    record = make_record([{"method": "A", "score": 0.9}])
    (caption, columns, lines), *rest = tables(record)
    assert caption == "Scores"
    assert not rest
    score = columns.index("score")
    assert lines[0][score] == "1.500 ± 0.5 [0.900]"
    assert lines[1][score] == "5.0"


def test_unmatched_numbers_of_the_paper_have_a_separate_table():
    record = make_record([{"method": "C", "score": 7.25}])
    caption, columns, lines = tables(record)[1]
    assert "Table 9" in caption
    assert columns == ["method", "score"]
    assert lines == [["C", "7.250"]]


def test_markdown_has_a_row_per_line_and_the_command():
    text = markdown(make_record([]))
    assert "| A | 1.500 ± 0.5 |" in text
    assert "`mc2 reproduce scores`" in text
    assert "one run." in text


def test_numpy_numbers_become_plain_and_non_finite_ones_none():
    found = plain({"a": np.float32(0.5), "b": np.int64(3), "c": float("nan"), "d": np.arange(2)})
    assert found == {"a": 0.5, "b": 3, "c": None, "d": [0, 1]}
    assert json.dumps(found)


def test_the_paper_has_an_entry_for_every_experiment_and_no_others():
    assert set(json.loads(PAPER.read_text(encoding="utf-8"))) == set(NAMES)
    for name in NAMES:
        assert {"where", "note", "rows"} <= set(paper_numbers(name))


def test_the_tables_of_the_paper_are_complete():
    table1 = paper_numbers("table1")["rows"]
    assert len(table1) == 10
    best = min(table1, key=lambda row: row["printed"])
    assert (best["set"], best["contexts"], best["n_clusters"]) == ("pnas", "year", 12)
    assert [row["missing"] for row in paper_numbers("missing")["rows"]] == [0, 25, 50, 75, 100]


def test_equal_values_have_no_standard_error():
    rows = [{"method": "a", "seed": seed, "value": 0.233} for seed in range(5)]
    (row,) = summarise(rows, ("method",))
    assert row["value"]["standard_error"] == 0.0

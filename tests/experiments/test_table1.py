"""Table 1: its rows and its figure."""

import pytest

from experiments import table1
from experiments.running import Setting, run_experiment
from experiments.summary import cells


@pytest.fixture(scope="module")
def record():
    return run_experiment("table1", Setting("tiny"), [0])


def test_the_rows_are_those_of_the_paper_and_of_both_values_of_lam(record):
    found = {(row["method"], row["contexts"], row["lam"]) for row in record["summary"]}
    used = ("none", "year", "authors", "title", "year+authors+title")
    assert found == {("HDP", "none", "–"), ("npTOT", "year", "–")} | {
        ("MC2", contexts, lam) for contexts in used for lam in ("inf", "learnt")
    }


def test_every_number_of_the_paper_for_this_data_set_has_a_row(record):
    printed = [row for row in record["paper"]["rows"] if row["set"] == "nips12"]
    for known in printed:
        named = [key for key in record["keys"] if key in known]
        assert any(all(row[key] == known[key] for key in named) for row in record["summary"])


def test_only_the_model_of_the_paper_is_scored_by_its_formula(record):
    for row in record["rows"]:
        is_paper_model = row["method"] == "MC2" and row["lam"] == "inf"
        assert (row.get("printed") is not None) == is_paper_model
        assert (row.get("left_to_right") is None) == is_paper_model
        assert row["completion"] > 1.0


def test_without_a_time_there_is_no_nptot_and_one_context_is_not_used_twice():
    rows = table1.models({"tags": "bag"})
    assert [(method, list(used)) for method, used, _ in rows] == [
        ("HDP", []),
        ("MC2", []),
        ("MC2", ["tags"]),
        ("MC2", []),
        ("MC2", ["tags"]),
    ]


def test_the_figure_has_a_point_for_every_number_and_a_cross_for_every_one_of_the_paper(record):
    figure = table1.figures(record)["nips12"]
    by_title = {panel.get_title(): panel for panel in figure.axes}
    panel = by_title["the paper's formula"]
    crosses = [line for line in panel.lines if line.get_marker() == "x"]
    printed = [row for row in record["paper"]["rows"] if row["set"] == "nips12"]
    assert sorted(line.get_xdata()[0] for line in crosses) == sorted(
        row["printed"] for row in printed
    )
    for title in ("second halves: completion", "60 whole groups: exact or left to right"):
        assert len(by_title[title].containers) == len(record["summary"])


def test_numbers_of_the_paper_without_a_measurement_are_included(record):
    columns, lines = cells(record)
    (line,) = [line for line in lines if "HDP" in line]
    assert line[columns.index("printed")] == "– [1922.1]"

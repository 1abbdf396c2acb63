"""Prior correlation of two tokens: simulation and formulas."""

import numpy as np
import pytest

from experiments import correlation


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return correlation.draw_measures(1.0, 2.0, 2.0, 100_000, rng)


@pytest.mark.parametrize("pair", correlation.PAIRS)
def test_simulation_agrees_with_the_corrected_formula_and_not_with_the_printed_one(rows, pair):
    right, printed = (f(pair, 1.0, 2.0, 2.0) for f in (correlation.corrected, correlation.printed))
    assert abs(rows[pair] - right) < 0.004
    assert abs(rows[pair] - printed) > 0.05


@pytest.mark.parametrize("pair", correlation.PAIRS)
def test_corpora_of_the_simulator_agree_too(pair):
    found = correlation.draw_corpora(1.0, 1.0, 1.0, 400, np.random.default_rng(1))
    assert abs(found[pair] - correlation.corrected(pair, 1.0, 1.0, 1.0)) < 0.03


def test_two_groups_share_a_cluster_as_often_as_the_paper_says():
    same = correlation._same_cluster(3.0, 40_000, np.random.default_rng(2))
    assert same.mean() == pytest.approx(1.0 / 4.0, abs=0.01)


def test_the_figure_has_simulated_points_and_both_formulas():
    from experiments.running import Setting, run_experiment

    record = run_experiment("correlation", Setting("tiny"), [0])
    figure = correlation.figures(record)["probability"]
    assert len(figure.axes) == 2
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert sum(label.startswith("simulated") for label in labels) == 2
    points = figure.axes[0].lines[2]
    drawn = [row["simulated"]["mean"] for row in record["summary"] if row["pair"] == "one group"]
    np.testing.assert_allclose(points.get_ydata(), drawn[: len(correlation.V)])

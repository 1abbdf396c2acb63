"""Topics over time and authors: known answers, and figures."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mcsquared as mc2
from experiments import topic_over_time
from experiments.running import Setting, run_experiment


def test_any_author_of_a_paper_counts_and_unknown_authors_are_excluded():
    predictions = np.array([list("abcdef")] * 3, dtype=object)
    truth = [["z", "a"], ["f"], ["new"]]
    found = topic_over_time.accuracy(predictions, {"a": 2, "f": 1, "z": 1}, truth)
    assert found == {"top_1": 0.5, "top_5": 0.5, "top_10": 1.0, "n_scored": 2}


def test_the_most_frequent_authors_are_predicted_first():
    def corpus(authors):
        return mc2.Corpus(np.ones((len(authors), 2), dtype=int), {"authors": authors})

    training = corpus([["b"], ["a", "b"], ["c"], ["b", "c"]])
    held_out = corpus([["b"], ["c"], ["d"]])
    found = topic_over_time.by_frequency(training, held_out, "authors")
    assert (found["top_1"], found["top_5"], found["n_scored"]) == (0.5, 1.0, 2)


def test_years_of_words_are_counted():
    counts = sparse.csr_matrix([[2, 0], [1, 3], [0, 5]])
    found = topic_over_time.years_of_words(
        counts, np.array([1990.0, 1991.0, 1990.0]), np.array([1990.0, 1991.0])
    )
    np.testing.assert_array_equal(found, [[2, 1], [5, 3]])


def test_densities_become_probabilities_of_years():
    grid = np.linspace(1989.0, 1993.0, 101)
    table = pd.DataFrame({0: np.ones(101), 1: grid - 1989.0}, index=grid)
    found = topic_over_time.years_of_topics(table, np.array([1990.0, 1991.0, 1992.0]))
    np.testing.assert_allclose(found, [[1 / 3, 1 / 3, 1 / 3], [1 / 6, 2 / 6, 3 / 6]])


def test_the_plotted_cluster_has_the_most_papers_per_author():
    labels = np.repeat([0, 1, 2], [12, 12, 3])
    authors = [[f"new{j}"] for j in range(12)] + [["x"], ["y"]] * 6 + [["z"]] * 3
    assert topic_over_time.cluster_to_plot(labels, authors) == 1  # the third is too small


@pytest.fixture(scope="module")
def record():
    return run_experiment("topic-over-time", Setting("tiny", chosen_sets=("ungdc",)), [0])


def test_each_model_is_evaluated_on_its_contexts(record):
    asked = [(row["question"], row["method"], row["lam"]) for row in record["summary"]]
    assert sorted(asked) == [
        ("when", "MC2", "inf"),
        ("when", "MC2", "learnt"),
        ("who", "MC2", "inf"),
        ("who", "MC2", "learnt"),
        ("who", "frequency", "–"),
    ]
    for row in record["rows"]:
        if row["question"] == "when":
            assert 0.0 <= row["distance"] <= 1.0
            assert -1.0 <= row["correlation"] <= 1.0
        else:
            assert 0.0 <= row["top_1"] <= row["top_5"] <= row["top_10"] <= 1.0


def test_stored_curves_are_distributions_over_the_years(record):
    for name in ("p(year | topic)", "p(year | words)"):
        curves = np.array(record["arrays"][f"ungdc inf: {name}"])
        np.testing.assert_allclose(curves.sum(axis=1), 1.0, atol=1e-3)


def test_figures_have_topics_a_cluster_and_authors(record):
    drawn = topic_over_time.figures(record)
    assert set(drawn) == {
        *(f"{kind}-ungdc-{lam}" for kind in ("when", "cluster") for lam in ("inf", "learnt")),
        "who",
    }
    curve = record["arrays"]["ungdc inf: p(year | topic)"][0]
    lines = [list(line.get_ydata()) for line in drawn["when-ungdc-inf"].axes[0].lines]
    assert curve in lines
    first = record["arrays"]["ungdc inf: cluster authors"][0]
    top = drawn["cluster-ungdc-inf"].axes[0]
    assert top.get_xticklabels()[0].get_text() == first[0]
    assert top.patches[0].get_height() == first[1]


def test_a_data_set_with_one_number_is_evaluated_over_time():
    rows = topic_over_time.run(0, Setting("tiny", chosen_sets=("poliblog5k",)))
    assert {row["question"] for row in rows} == {"when"}

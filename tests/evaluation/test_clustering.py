"""Clustering scores: hand-worked tables, identities, and invariance under renaming."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcsquared.errors import InputError
from mcsquared.evaluation import (
    adjusted_rand_index,
    nmi,
    pairwise_f_score,
    pairwise_scores,
    purity,
    rand_index,
    variation_of_information,
)

SCORES = [adjusted_rand_index, nmi, pairwise_f_score, purity, rand_index]

# Classes of sizes 3 and 3, clusters of sizes 2, 3 and 1.
TRUTH = ["a", "a", "a", "b", "b", "b"]
FOUND = [0, 0, 1, 1, 1, 2]

two_labellings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
    )
)


def test_scores_of_a_table_worked_by_hand():
    # Pairs: 6 true, 4 claimed, 2 both; of 15 pairs 2 + 7 are treated alike.
    assert purity(TRUTH, FOUND) == pytest.approx(5 / 6)
    assert pairwise_scores(TRUTH, FOUND) == pytest.approx((2 / 4, 2 / 6, 0.4))
    assert rand_index(TRUTH, FOUND) == pytest.approx(9 / 15)
    expected = 6 * 4 / 15
    assert adjusted_rand_index(TRUTH, FOUND) == pytest.approx((2 - expected) / (5 - expected))


def test_variation_of_information_and_nmi_of_a_table_worked_by_hand():
    log = np.log
    found_given_truth = 0.5 * (log(3) - 2 / 3 * log(2)) * 2
    truth_given_found = 0.5 * (log(3) - 2 / 3 * log(2))
    assert variation_of_information(TRUTH, FOUND) == pytest.approx(
        found_given_truth + truth_given_found
    )
    information = log(2) - truth_given_found
    entropy_found = log(6) - (2 * log(2) + 3 * log(3)) / 6
    assert nmi(TRUTH, FOUND) == pytest.approx(2 * information / (log(2) + entropy_found))
    assert nmi(TRUTH, FOUND, average="max") == pytest.approx(information / entropy_found)


@pytest.mark.parametrize("score", SCORES)
def test_equal_partitions_score_one_under_any_names(score):
    assert score([0, 0, 1, 2, 2], ["x", "x", "b", "a", "a"]) == pytest.approx(1.0)


def test_equal_partitions_are_at_distance_exactly_zero():
    assert variation_of_information([0, 0, 1, 2, 2], [7, 7, 1, 3, 3]) == 0.0


@given(two_labellings)
def test_pairwise_scores_equal_a_count_over_all_pairs(labellings):
    truth, found = labellings
    pairs = list(combinations(range(len(truth)), 2))
    true = {p for p in pairs if truth[p[0]] == truth[p[1]]}
    claimed = {p for p in pairs if found[p[0]] == found[p[1]]}
    precision, recall, _ = pairwise_scores(truth, found)
    assert precision == pytest.approx(len(true & claimed) / len(claimed) if claimed else 1.0)
    assert recall == pytest.approx(len(true & claimed) / len(true) if true else 1.0)
    alike = sum((p in true) == (p in claimed) for p in pairs)
    assert rand_index(truth, found) == pytest.approx(alike / len(pairs) if pairs else 1.0)


@given(two_labellings, st.permutations(range(5)))
def test_renaming_the_labels_changes_no_score(labellings, names):
    truth, found = labellings
    renamed = [names[label] for label in found]
    for score in [*SCORES, variation_of_information]:
        assert score(truth, found) == pytest.approx(score(truth, renamed), abs=1e-12)


@given(two_labellings)
def test_variation_of_information_is_symmetric_and_bounded(labellings):
    truth, found = labellings
    distance = variation_of_information(truth, found)
    assert distance == pytest.approx(variation_of_information(found, truth))
    assert 0.0 <= distance <= 2.0 * np.log(len(truth)) + 1e-12


def test_many_pairs_do_not_overflow():
    truth = np.zeros(200_000, dtype=np.int8)
    assert pairwise_scores(truth, truth) == (1.0, 1.0, 1.0)


def test_large_labels_and_missing_names_are_only_names():
    assert rand_index([2**62, -5, 2**62], [None, "x", None]) == 1.0


@pytest.mark.parametrize(
    ("truth", "found", "sentence"),
    [
        ([0, 1], [0], "found must have as many labels as truth \\(2\\), got 1"),
        ([], [], "at least one label"),
        ([[0], [1]], [0, 1], r"truth must be one-dimensional, got shape \(2, 1\)"),
        ([0.0, np.nan], [0, 1], "truth must not contain missing labels, got NaN"),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(truth, found, sentence):
    for score in [*SCORES, variation_of_information]:
        with pytest.raises(InputError, match=sentence):
            score(truth, found)


def test_an_unknown_average_is_refused():
    with pytest.raises(
        InputError,
        match="average must be one of 'arithmetic', 'geometric', 'min', 'max', got 'mean'",
    ):
        nmi([0, 1], [0, 1], average="mean")

"""Coherence and diversity of topics, against counts and formulas worked by hand."""

import numpy as np
import pytest
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.evaluation import count_codocuments, diversity, npmi_coherence

# Words 0 and 1 always together, 2 apart from both, 3 everywhere; word 4 never occurs.
COUNTS = sparse.csr_matrix(
    [[2, 1, 0, 1, 0], [1, 5, 0, 1, 0], [0, 0, 3, 2, 0], [0, 0, 1, 1, 0], [0, 0, 0, 9, 0]]
)


def test_codocuments_are_counted_by_presence_not_by_frequency():
    together = count_codocuments(COUNTS, [[0, 1, 3], [2, 4, 0]])
    np.testing.assert_array_equal(together[0], [[2, 2, 2], [2, 2, 2], [2, 2, 5]])
    np.testing.assert_array_equal(together[1], [[2, 0, 0], [0, 0, 0], [0, 0, 2]])


def test_an_explicit_zero_is_not_an_occurrence():
    counts = sparse.csr_matrix((np.array([1, 0]), np.array([0, 1]), np.array([0, 2])), (1, 2))
    np.testing.assert_array_equal(count_codocuments(counts, [[0, 1]])[0], [[1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("words", "value"), [([0, 1], 1.0), ([0, 3], 0.0), ([0, 2], -1.0), ([3, 4], -1.0)]
)
def test_npmi_is_one_for_inseparable_zero_for_independent_minus_one_for_disjoint(words, value):
    together = count_codocuments(COUNTS, [words])
    assert npmi_coherence(together, 5)[0] == pytest.approx(value, abs=1e-12)


def test_words_of_all_groups_say_nothing_of_each_other():
    assert npmi_coherence(np.full((1, 2, 2), 7), 7)[0] == 0.0


def test_npmi_of_a_topic_is_the_mean_over_its_pairs():
    rng = np.random.default_rng(3)
    counts = sparse.csr_matrix(rng.random((40, 4)) < 0.5, dtype=np.int32)
    occurs = counts.toarray() > 0
    pairs = []
    for a, b in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]:
        joint = (occurs[:, a] & occurs[:, b]).mean()
        expected = occurs[:, a].mean() * occurs[:, b].mean()
        pairs.append(np.log(joint / expected) / -np.log(joint))
    together = count_codocuments(counts, [[3, 1, 0, 2]])
    assert npmi_coherence(together, 40)[0] == pytest.approx(np.mean(pairs))


def test_one_top_word_has_no_coherence():
    assert np.isnan(npmi_coherence(np.ones((3, 1, 1)), 4)).all()


def test_diversity_runs_from_all_alike_to_all_different():
    assert diversity([[0, 1], [2, 3]]) == 1.0
    assert diversity([[0, 1], [1, 0]]) == 0.5
    assert np.isnan(diversity(np.empty((0, 10), dtype=int)))


@pytest.mark.parametrize("top_words", [[0, 1], [[0.5, 1.0]], [["a", "b"]]])
def test_top_words_must_be_indices_topic_by_topic(top_words):
    with pytest.raises(InputError, match="top_words"):
        diversity(top_words)


def test_words_outside_the_vocabulary_are_refused():
    with pytest.raises(InputError, match="top_words must be between 0 and 4"):
        count_codocuments(COUNTS, [[0, 5]])


@pytest.mark.parametrize("together", [np.ones((2, 3)), np.full((1, 2, 2), 9), -np.ones((1, 2, 2))])
def test_impossible_codocuments_are_refused(together):
    with pytest.raises(InputError, match="codocuments"):
        npmi_coherence(together, 5)


def test_the_number_of_groups_must_be_positive():
    with pytest.raises(InputError, match="n_groups must be an integer >= 1, got 0"):
        npmi_coherence(np.zeros((1, 2, 2)), 0)

"""The paper's letters: bitmaps, sizes, and the truth that comes with them."""

import numpy as np
import pytest

from mcsquared.datasets import identifiable_letters, letters
from mcsquared.datasets.letters import ALPHABET, PHRASE, bitmap, pixel_names
from mcsquared.errors import InputError


def test_the_phrase_has_thirteen_letters():
    assert ALPHABET == "INTERAOLCFMHG"
    assert len(set("".join(PHRASE))) == 13


def test_no_letter_lies_inside_another():
    for first in ALPHABET:
        for second in ALPHABET:
            if first != second:
                assert (bitmap(first) & ~bitmap(second)).any(), f"{first} lies inside {second}"


def test_bitmaps_are_seven_by_five_and_cannot_be_changed():
    for letter in ALPHABET:
        assert bitmap(letter).shape == (7, 5)
        with pytest.raises(ValueError, match="read-only"):
            bitmap(letter)[0, 0] = True


def test_the_paper_has_four_clusters_of_a_hundred_groups_of_fifty_words():
    truth = letters()
    assert truth.corpus.n_groups == 400
    assert truth.corpus.n_words == 35
    assert (truth.corpus.tokens_per_group == 50).all()
    assert np.bincount(truth.cluster_of_group).tolist() == [100] * 4
    assert truth.names == tuple(ALPHABET)
    assert list(truth.corpus.vocabulary) == pixel_names()


def test_contexts_are_gaussian_around_the_means_of_their_clusters():
    truth = letters(n_groups_per_cluster=4000, n_words_per_group=0)
    x = truth.corpus.contexts["position"].values
    for k, (mean, sd) in enumerate(zip((2, 4, 6, 8), (0.3, 0.5, 0.4, 0.6), strict=True)):
        values = x[truth.cluster_of_group == k]
        assert abs(values.mean() - mean) < 4 * sd / np.sqrt(values.size)
        assert values.std() == pytest.approx(sd, rel=0.06)


def tokens(corpus):
    """Group and word of every token, in the order of the corpus."""
    counts = corpus.content.counts.tocoo()
    repeat = counts.data
    order = np.lexsort((np.repeat(counts.col, repeat), np.repeat(counts.row, repeat)))
    return np.repeat(counts.row, repeat)[order], np.repeat(counts.col, repeat)[order]


def test_topics_stand_beside_their_own_tokens():
    truth = letters(n_groups_per_cluster=20)
    group, word = tokens(truth.corpus)
    assert truth.topic_of_token.size == truth.corpus.n_tokens
    assert (truth.word_given_topic[truth.topic_of_token, word] > 0).all()
    cluster = truth.cluster_of_group[group]
    assert (truth.topic_given_cluster[cluster, truth.topic_of_token] > 0).all()


def test_words_are_uniform_over_the_pixels_of_uniform_letters():
    truth = letters(n_groups_per_cluster=500)
    counts = truth.corpus.content.counts.toarray()
    expected = truth.topic_given_cluster @ truth.word_given_topic
    for k in range(4):
        share = counts[truth.cluster_of_group == k].sum(axis=0) / 25_000
        error = np.sqrt(expected[k] * (1 - expected[k]) / 25_000)
        assert (np.abs(share - expected[k]) <= 4.5 * error).all()


def test_repeated_letters_of_a_word_count_once():
    truth = letters(words=("NINE", "FIG"), n_groups_per_cluster=2)
    assert truth.names == ("N", "I", "E", "F", "G")
    np.testing.assert_allclose(truth.topic_given_cluster[0], [1 / 3, 1 / 3, 1 / 3, 0, 0])


def test_the_same_seed_gives_the_same_corpus():
    first, second, other = letters(random_state=3), letters(random_state=3), letters(random_state=4)
    assert first.corpus.fingerprint() == second.corpus.fingerprint()
    np.testing.assert_array_equal(first.topic_of_token, second.topic_of_token)
    assert first.corpus.fingerprint() != other.corpus.fingerprint()


def test_identifiable_letters_are_forty_different_balanced_triples():
    truth = identifiable_letters()
    is_used = truth.topic_given_cluster > 0
    assert is_used.shape == (40, 13)
    assert (is_used.sum(axis=1) == 3).all()
    assert len({tuple(row) for row in is_used}) == 40
    uses = is_used.sum(axis=0)
    assert uses.max() - uses.min() <= 1
    assert truth.corpus.n_groups == 1000


def test_all_sets_of_letters_can_be_used_up():
    truth = identifiable_letters(n_clusters=13, letters_per_cluster=1, n_groups_per_cluster=1)
    assert (truth.topic_given_cluster.sum(axis=0) == 1).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"words": ()}, "words must be non-empty"),
        ({"words": ("",)}, "words must be non-empty"),
        ({"words": ("XYZ",)}, "words must .* got 'X'"),
        ({"n_groups_per_cluster": 0}, "n_groups_per_cluster .*0"),
        ({"n_words_per_group": -1}, "n_words_per_group .*-1"),
        ({"n_words_per_group": 2.5}, "n_words_per_group .*2.5"),
        ({"context_means": (1, 2)}, "context_means must be 4"),
        ({"context_sds": (-1.0,)}, "context_sds"),
    ],
)
def test_impossible_sizes_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        letters(**arguments)


def test_more_clusters_than_sets_of_letters_are_refused():
    with pytest.raises(
        InputError, match="n_clusters must be <= 13, the number of sets of 1 letters, got 14"
    ):
        identifiable_letters(n_clusters=14, letters_per_cluster=1)

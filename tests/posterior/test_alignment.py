"""Topics are matched by their content."""

import numpy as np
from scipy import sparse

from mcsquared.families import Categorical, Gaussian
from mcsquared.posterior import ParameterDraw
from mcsquared.posterior.draws import match_topics, topic_similarity


def draw_of(content) -> ParameterDraw:
    n_topics = content.shape[0]
    content = np.asarray(content)
    words = content.dtype.kind == "i"
    return ParameterDraw(
        index=0,
        topics_in_cluster=sparse.csr_matrix(np.ones((1, n_topics), np.int32)),
        content_statistics=sparse.csr_matrix(content.astype(np.int32)) if words else content,
        topic_weights=np.full(n_topics, 0.5 / max(n_topics, 1)),
        unused_weight=0.5,
        alpha=1.0,
        v=1.0,
        eta=1.0,
        lam=np.inf,
    )


def test_similarity_of_words_is_one_minus_the_squared_hellinger_distance():
    first, second = np.array([[8, 2, 0], [0, 0, 5]]), np.array([[2, 8, 0], [0, 0, 50], [1, 1, 1]])
    found = topic_similarity(draw_of(first), draw_of(second), Categorical(0.1, size=3))
    p, q = first / first.sum(1, keepdims=True), second / second.sum(1, keepdims=True)
    hellinger = 0.5 * np.square(np.sqrt(p)[:, None] - np.sqrt(q)[None]).sum(axis=2)
    np.testing.assert_allclose(found, 1 - hellinger)


def test_a_shuffled_copy_is_matched_and_additional_topics_are_not():
    rng = np.random.default_rng(0)
    content = rng.poisson(0.3 + 10 * (rng.random((6, 40)) < 0.1))
    shuffle = rng.permutation(6)
    family = Categorical(0.1, size=40)
    topic, closeness = match_topics(draw_of(content[shuffle]), draw_of(content), family)
    np.testing.assert_array_equal(topic, shuffle)
    np.testing.assert_allclose(closeness, 1.0)
    topic, closeness = match_topics(draw_of(content), draw_of(content[:4]), family)
    np.testing.assert_array_equal(topic[:4], [0, 1, 2, 3])
    np.testing.assert_array_equal(topic[4:], -1)
    np.testing.assert_array_equal(closeness[4:], 0.0)


def test_topics_without_a_word_in_common_are_not_matched():
    first, second = np.array([[1, 0]]), np.array([[0, 1]])
    topic, _ = match_topics(draw_of(first), draw_of(second), Categorical(0.1, size=2))
    assert topic[0] == -1


def test_topics_of_numbers_are_matched_by_their_means():
    family = Gaussian(mean=0.0, strength=0.1, shape=2.0, rate=1.0)
    points = [np.array([0.0, 0.2]), np.array([5.0, 5.1]), np.array([-9.0, -9.2])]
    statistics = np.array([family.statistics(x).sum(axis=0) for x in points])
    topic, closeness = match_topics(draw_of(statistics[[2, 0, 1]]), draw_of(statistics), family)
    np.testing.assert_array_equal(topic, [2, 0, 1])
    np.testing.assert_allclose(closeness, 1.0)


def test_a_draw_without_topics_matches_nothing():
    family = Categorical(0.1, size=3)
    empty = draw_of(np.zeros((0, 3), int))
    topic, _ = match_topics(draw_of(np.ones((2, 3), int)), empty, family)
    np.testing.assert_array_equal(topic, [-1, -1])

"""All tables use one partition and one set of topics, which represent the draws."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.posterior import Posterior
from mcsquared.posterior.tables import top_words
from tests.posterior.models import N_WORDS, make_posterior


@pytest.fixture(scope="module", params=[False, True], ids=["words", "vectors"])
def case(request):
    return make_posterior(vectors=request.param)


@pytest.fixture(scope="module")
def words():
    return make_posterior()[0]


def rebuilt(posterior, **changes):
    """Return a copy of the posterior with some fields changed, without its co-document counts."""
    names = set(inspect.signature(Posterior).parameters) - {"codocument", "cluster_content"}
    return Posterior(**({name: getattr(posterior, name) for name in names} | changes))


def test_the_consensus_is_the_known_partition_except_for_random_groups(case):
    posterior, _, truth = case
    assert posterior.n_clusters == 3
    # The first three groups are in random clusters in every draw.
    assert len(set(zip(posterior.labels[3:], truth[3:], strict=True))) == 3
    np.testing.assert_array_equal(posterior.consensus(), posterior.labels)
    assert posterior.consensus("binder").shape == (30,)
    sizes = np.bincount(posterior.labels)
    assert (np.diff(sizes) <= 0).all()


def test_topics_are_those_of_the_closest_draw_by_decreasing_weight(case):
    posterior, _, _ = case
    draw = posterior.representative_draw
    assert draw is posterior.parameters[posterior.representative]
    tokens = draw.tokens_of_topic[posterior.topic_order]
    np.testing.assert_array_equal(posterior.tokens_of_topic, tokens)
    assert (np.diff(tokens) <= 0).all()
    assert sorted(posterior.topic_order) == list(range(posterior.n_topics))
    np.testing.assert_allclose(posterior.topics()["weight"].sum(), 1.0)
    assert list(posterior.topics()["topic"]) == list(range(4))


def test_topics_of_other_draws_are_matched_under_any_label(case):
    posterior, _, _ = case
    for draw, aligned in zip(posterior.parameters, posterior.topic_alignment, strict=True):
        order = np.argsort(aligned)
        np.testing.assert_array_equal(draw.tokens_of_topic[order], posterior.tokens_of_topic)
    np.testing.assert_allclose(posterior.topic_stability, 1.0)


def test_topic_shares_of_clusters_are_averages_over_their_tokens(case):
    posterior, _, _ = case
    shares = posterior.topic_given_cluster
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    draw = posterior.representative_draw
    z = posterior.cluster_of_group[draw.index]
    by_group = draw.topic_given_cluster()[z][:, posterior.topic_order]
    for cluster in range(posterior.n_clusters):
        in_cluster = posterior.labels == cluster
        expected = np.average(
            by_group[in_cluster], axis=0, weights=posterior.tokens_per_group[in_cluster]
        )
        np.testing.assert_allclose(shares.loc[cluster], expected)


def test_a_cluster_without_tokens_still_has_topic_shares(words):
    posterior = rebuilt(words, tokens_per_group=np.zeros(30, np.int64))
    np.testing.assert_allclose(posterior.topic_given_cluster.sum(axis=1), 1.0)


def test_words_of_topics_are_smoothed_counts(words):
    draw, family = words.representative_draw, words.priors.content
    counts = draw.content_statistics.toarray()[words.topic_order] + family.concentration
    np.testing.assert_allclose(words.word_given_topic, counts / counts.sum(axis=1, keepdims=True))
    assert list(words.word_given_topic.columns) == list(words.vocabulary)
    np.testing.assert_array_equal(words.components, words.word_given_topic)


def test_topics_of_vectors_have_means_instead_of_words():
    posterior, _, _ = make_posterior(vectors=True)
    assert posterior.components.shape == (4, 2)
    # Topic m lies near (3m, 3m); the rare one is drawn towards the prior.
    assert np.abs(posterior.components[:3] - np.round(posterior.components[:3] / 3) * 3).max() < 0.5
    with pytest.raises(InputError, match="vectors"):
        _ = posterior.word_given_topic


def test_top_words_come_with_coherence_and_diversity(words):
    table = words.topics(n_words=3)
    assert set(table["words"][0].split(", ")) == {"wört3", "wört4", "wört5"}
    # The rarest topic has only two words, so its third word is one of another topic.
    np.testing.assert_allclose(table["diversity"], [1, 1, 2 / 3, 2 / 3])
    assert table.attrs["diversity"] == pytest.approx(11 / 12)
    assert table["coherence"].between(-1, 1).all()
    bare = rebuilt(words)
    assert bare.topics()["coherence"].isna().all()
    for n_words in (0, -1, 2.5, True):
        with pytest.raises(InputError, match="n_words must be an integer >= 1, got"):
            words.topics(n_words)


def test_coherence_is_that_of_the_plain_formula():
    posterior, corpus, _ = make_posterior(seed=3)
    holds = corpus.content.counts.toarray() > 0
    table = posterior.topics(n_words=3)
    for topic, numbers in enumerate(top_words(posterior, 3)):
        scores = []
        for i in range(3):
            for j in range(i + 1, 3):
                both = (holds[:, numbers[i]] & holds[:, numbers[j]]).mean()
                alone = holds[:, numbers[i]].mean() * holds[:, numbers[j]].mean()
                scores.append(-1.0 if both == 0 else np.log(both / alone) / -np.log(both))
        assert table["coherence"][topic] == pytest.approx(np.mean(scores))


def test_more_words_than_the_vocabulary_are_all_words(words):
    occurs = words.words_in_topic
    listed = words.topics(n_words=500)["words"].str.split(", ")
    assert listed.str.len().tolist() == occurs.sum(axis=1).tolist()


def test_clusters_have_sizes_stability_and_a_value_per_context(case):
    posterior, corpus, _ = case
    table = posterior.clusters()
    assert table["n_groups"].sum() == 30
    assert table["n_tokens"].sum() == corpus.n_tokens
    assert table["stability"].between(0.5, 1.0).all()
    matrix = posterior.coclustering().to_dense(np.arange(30))
    in_cluster = np.flatnonzero(posterior.labels == 0)
    pairs = matrix[np.ix_(in_cluster, in_cluster)][np.triu_indices(len(in_cluster), 1)]
    assert table["stability"][0] == pytest.approx(pairs.mean())
    assert set(table["place"]) == {"place0", "place1", "place2"}
    assert pd.api.types.is_datetime64_any_dtype(table["day"])
    assert table["year"].between(1999, 2011).all()
    assert "where" not in table


def test_a_context_may_have_the_name_of_a_column(words):
    contexts = {"share": words.contexts["year"]}
    priors = type(words.priors)(words.priors.content, {"share": words.priors.contexts["year"]})
    table = rebuilt(words, contexts=contexts, priors=priors).clusters()
    assert table["share"].sum() == pytest.approx(1.0)
    assert table["share_context"].min() > 1990


def test_representative_groups_of_a_cluster_have_the_strongest_membership(case):
    posterior, _, _ = case
    table = posterior.representative_groups(cluster=0, n_groups=5)
    assert (posterior.labels[table["group"]] == 0).all()
    assert table["score"].is_monotonic_decreasing
    in_cluster = np.flatnonzero(posterior.labels == 0)
    rows = posterior.coclustering().to_dense(in_cluster)
    best = (rows.sum(axis=1) - 1).max() / (len(in_cluster) - 1)
    assert table["score"][0] == pytest.approx(best)
    assert list(table["name"]) == [str(group) for group in table["group"]]


def test_representative_groups_of_a_topic_are_in_clusters_with_the_topic(case):
    posterior, _, _ = case
    for topic in range(3):
        table = posterior.representative_groups(topic=topic, n_groups=4)
        cluster = posterior.topic_given_cluster[topic].idxmax()
        assert (posterior.labels[table["group"]] == cluster).all()
        assert table["score"].between(0.5, 1.0).all()


@pytest.mark.parametrize(
    "arguments", [{}, {"topic": 0, "cluster": 0}, {"topic": 99}, {"cluster": -1}, {"topic": 0.5}]
)
def test_an_invalid_topic_or_cluster_is_rejected(words, arguments):
    with pytest.raises(InputError, match=r"requires exactly one|must be an integer in 0"):
        words.representative_groups(**arguments)


@pytest.mark.parametrize("n_groups", [0, -1, 2.5, "many", True])
def test_an_invalid_number_of_groups_is_rejected(words, n_groups):
    with pytest.raises(InputError, match="n_groups must be an integer >= 1, got"):
        words.representative_groups(topic=0, n_groups=n_groups)


def test_coclustering_can_be_restricted_to_some_groups(words):
    some = words.coclustering([5, 10, 25])
    assert some.n_groups == 3
    assert some.between(0, 1) == words.coclustering().between(5, 10)


def test_a_posterior_is_plain_data(case):
    posterior, _, _ = case
    copy = pickle.loads(pickle.dumps(posterior))
    pd.testing.assert_frame_equal(copy.topics(), posterior.topics())
    assert "12 draws of 30 groups" in repr(posterior)


def test_without_parameters_there_are_clusters_but_no_topics(words):
    bare = rebuilt(words, parameters=[])
    assert bare.n_clusters == 3
    with pytest.raises(InputError, match="topics require draws with parameters, got none"):
        bare.topics()


def test_a_corpus_without_tokens_has_no_topics(words):
    from dataclasses import replace

    draw = replace(
        words.parameters[0],
        topics_in_cluster=sparse.csr_matrix((3, 0), dtype=np.int32),
        content_statistics=sparse.csr_matrix((0, N_WORDS), dtype=np.int32),
        topic_weights=np.zeros(0),
        unused_weight=1.0,
    )
    empty = rebuilt(words, parameters=[draw], tokens_per_group=np.zeros(30, np.int64))
    empty.attach_codocuments(sparse.csr_matrix((30, N_WORDS), dtype=np.int32))
    assert empty.n_topics == 0
    assert len(empty.topics()) == 0
    assert empty.components.shape == (0, N_WORDS)
    assert len(empty.clusters()) == 3
    assert empty.context_given_topic("year").shape == (101, 0)
    assert len(empty.topic_given_context("year", 2000)) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cluster_of_group": np.zeros((0, 30), np.int32)}, "at least one draw"),
        (
            {"cluster_of_group": np.full((12, 30), 30, np.int32)},
            r"cluster_of_group must be in 0\.\.29, got 30\.\.30",
        ),
        ({"group_names": ["a"]}, "group_names must have 30 entries, got 1"),
        ({"chain_of_draw": np.zeros(3, np.int32)}, "chain_of_draw must have 12 entries, got 3"),
    ],
)
def test_inconsistent_fields_are_rejected(words, changes, message):
    with pytest.raises(InputError, match=message):
        rebuilt(words, **changes)


def test_near_empty_topics_are_listed_only_on_request():
    posterior, _, _ = make_posterior(n_groups=60)
    draw = posterior.representative_draw
    tokens = 10_000 * draw.topics_in_cluster.toarray()
    tokens[:, posterior.topic_order[-1]] = [1, 0, 0]
    draw.__dict__["topics_in_cluster"] = sparse.csr_matrix(tokens.astype(np.int32))
    assert posterior.n_listed_topics == posterior.n_topics - 1
    assert len(posterior.topics()) == posterior.n_topics - 1
    assert len(posterior.topics(include_small=True)) == posterior.n_topics

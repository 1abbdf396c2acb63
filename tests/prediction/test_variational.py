"""Groups that are not sampled, against enumeration, a plain version and the Gibbs sampler."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp, softmax

import mcsquared as mc2
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Categorical, Gaussian
from mcsquared.kernels.cpu.topic_table import TopicTable, mix_rows
from mcsquared.kernels.cpu.variational import (
    MAX_GROWTH,
    MIN_OTHERS,
    N_BLOCKS,
    RELAXATION,
    fold_in_topics,
)
from mcsquared.prediction.fold_in import Iterations, fold_in_groups
from mcsquared.prediction.groups import FOLD_IN, SizedGroups, mean_topics, weighted_joints
from mcsquared.prediction.likelihood import log_group_given_cluster
from mcsquared.prediction.variational import (
    MAX_PASSES,
    MIN_TOKENS,
    MIN_TOPICS,
    N_PASSES,
    log_cluster_variational,
    mean_likelihoods,
    n_passes,
    shares_of_similar_topics,
    topics_variational,
)
from tests.prediction.enumeration import small_parameters, summed
from tests.prediction.models import words_corpus

COUNTS = np.array([[40, 3, 2, 0], [1, 30, 20, 2], [0, 2, 5, 50]])
WORDS = Categorical(concentration=0.5, size=4)


def mean_parameters(lam):
    """Return parameters whose content are the counts of three topics."""
    return replace(
        small_parameters(lam),
        content_parameters=sparse.csr_matrix(COUNTS),
        family=WORDS,
        has_content=False,
        integrated=True,
    )


def drawn_parameters(lam):
    """Return the same with the mean probabilities of the words as drawn ones."""
    content = WORDS.mean_parameters(COUNTS)
    return replace(mean_parameters(lam), content_parameters=content, has_content=True)


def prior_of(parameters, n_groups):
    return np.tile(parameters.log_weight_of_cluster, (n_groups, 1))


@pytest.mark.parametrize("lam", [0.05, 1.5, 40.0])
def test_clusters_of_a_single_token_are_exact_and_short_groups_are_sampled(lam):
    parameters, groups = mean_parameters(lam), [[0], [2], [3], [0, 1], []]
    log_prior, corpus = prior_of(parameters, 5), words_corpus(groups, 4)
    cluster = softmax(log_cluster_variational(corpus, parameters, log_prior), axis=1)
    topics = mean_topics(SizedGroups(corpus), parameters, log_prior, Iterations(n_kept=20_000))
    psi, tau = WORDS.mean_observation(COUNTS), np.exp(parameters.log_topic_given_cluster)
    for j, words in enumerate(groups):
        exact = summed(psi[:, words].T, softmax(log_prior[j]), tau, lam)
        if len(words) < 2:
            np.testing.assert_allclose(cluster[j], exact.cluster, rtol=1e-5)
        np.testing.assert_allclose(topics[j], exact.topics, atol=0.015)


def test_clusters_are_exact_for_an_infinite_lam():
    groups = [[0, 1, 1, 3], [2] * 7, [3, 3, 0], []]
    parameters, corpus = mean_parameters(np.inf), words_corpus(groups, 4)
    log_prior = prior_of(parameters, 4)
    found = log_cluster_variational(corpus, parameters, log_prior)
    exact = log_prior + log_group_given_cluster(corpus, drawn_parameters(np.inf))
    normalised = [logs - logsumexp(logs, axis=1, keepdims=True) for logs in (found, exact)]
    np.testing.assert_allclose(*normalised, atol=1e-4)


def plain_ratios(given, table, occurrences):
    """Return Σ_w n_w ψ_m(w) / (Y_w + ψ_m(w)) of each topic."""
    total = (given * table).sum(axis=1, keepdims=True)
    others = total - (given * table**2).sum(axis=1, keepdims=True) / total
    return occurrences @ (table / (np.maximum(others, MIN_OTHERS * total) + table))


def plain_topics(table, words, occurrences, weights):
    """The passes of the kernel, in float64; returns the weights of the topics."""
    counts, parts = np.zeros(len(weights)), np.zeros((N_BLOCKS, len(weights)))
    repeats = int(occurrences.sum() // len(words))
    for number in range(min(max(repeats, N_PASSES), MAX_PASSES)):
        for block in range(N_BLOCKS):
            rows, given = np.flatnonzero(words % N_BLOCKS == block), weights + counts
            new = given * plain_ratios(given, table[rows], occurrences[rows])
            if number:
                new = np.maximum(new + RELAXATION * (new - parts[block]), 0.0)
            counts, parts[block] = counts + new - parts[block], new
    return weights + counts


def plain_following_topics(table, occurrences, weights, initial):
    """The pass of the kernel that starts from known counts, in float64."""
    given = weights + initial
    new = weights + given * plain_ratios(given, table, occurrences)
    further = new * np.minimum((new / given) ** 2, MAX_GROWTH)
    return np.maximum(further * new.sum() / further.sum(), weights)


def test_topics_are_those_of_a_plain_version():
    parameters = mean_parameters(2.0)
    groups = [[0] * 5 + [1] * 3 + [3] * 9, [2, 2, 1], [0, 3]]
    corpus, log_prior = words_corpus(groups, 4), prior_of(parameters, 3)
    (batch,) = mean_likelihoods(corpus, parameters)
    log_cluster = batch.log_clusters(parameters, log_prior)
    found = batch.mean_topics(parameters, log_cluster)
    weights = 2.0 * softmax(log_cluster, axis=1) @ np.exp(parameters.log_topic_given_cluster)
    for j, counts in enumerate(corpus.content.counts.toarray()):
        used = np.flatnonzero(counts)
        psi = WORDS.mean_observation(COUNTS)[:, used].T
        topics = plain_topics(psi, used, counts[used].astype(float), weights[j])
        np.testing.assert_allclose(found[j], topics / topics.sum(), atol=1e-5)


def test_topics_that_start_from_known_shares_are_those_of_a_plain_version():
    parameters = mean_parameters(2.0)
    corpus, log_prior = words_corpus([[0] * 50 + [1] * 30 + [3] * 9], 4), prior_of(parameters, 1)
    (batch,) = mean_likelihoods(corpus, parameters)
    log_cluster = batch.log_clusters(parameters, log_prior)
    weights = 2.0 * softmax(log_cluster, axis=1)[0] @ np.exp(parameters.log_topic_given_cluster)
    psi = WORDS.mean_observation(COUNTS)[:, [0, 1, 3]].T
    for initial in ([0.7, 0.2, 0.1], [0.9, -1.0, 0.1], [1.0, 0.0, -1.0]):
        initial = np.array(initial)
        found = batch.mean_topics(parameters, log_cluster, initial[None])
        counts = np.maximum(91.0 * initial - weights, 0.0)
        topics = plain_following_topics(psi, np.array([50.0, 30.0, 9.0]), weights, counts)
        np.testing.assert_allclose(found[0], topics / topics.sum(), atol=1e-5)


def test_groups_with_and_without_known_topics_are_found_together_as_alone():
    parameters, groups = mean_parameters(2.0), [[0] * 50 + [3] * 9, [2, 2, 1], [1] * 30 + [2] * 20]
    corpus, log_prior = words_corpus(groups, 4), prior_of(parameters, 3)
    initial = np.array([[0.5, 0.2, 0.3], [-1.0, -1.0, -1.0], [0.1, 0.8, 0.1]])
    together = topics_variational(corpus, parameters, log_prior, initial)
    for j in range(3):
        alone = topics_variational(corpus[[j]], parameters, log_prior[[j]], initial[[j]])
        np.testing.assert_allclose(together[[j]], alone, atol=1e-6)


def random_table(rng, n_words, n_topics):
    """Return sparse probabilities of words with a prior, and the same as an array."""
    dense = np.where(rng.random((n_words, n_topics)) < 0.3, rng.random((n_words, n_topics)), 0.0)
    word, topic = np.nonzero(dense)
    start = np.searchsorted(word, np.arange(n_words + 1)).astype(np.int64)
    shape, scale = rng.random(n_words), rng.random(n_topics)
    parts = (dense[word, topic], shape, scale)
    arrays = (part.astype(np.float32) for part in parts)
    return TopicTable(start, topic.astype(np.uint16), *arrays), dense + shape[:, None] * scale


@pytest.mark.parametrize("n_topics", [3, 64, 130])
def test_mixtures_of_topics_are_those_of_a_dense_product(n_topics):
    rng = np.random.default_rng(0)
    table, dense = random_table(rng, 50, n_topics)
    start = np.array([0, 20, 20, 45])
    rows = np.concatenate([np.sort(rng.permutation(50)[:n]) for n in (20, 25)]).astype(np.int32)
    topics = rng.dirichlet(np.ones(n_topics), 3).astype(np.float32)
    result = np.empty(45, np.float32)
    mix_rows(start, rows, table, topics, True, result)
    group = np.repeat([0, 1, 2], np.diff(start))
    np.testing.assert_allclose(result, (dense[rows] * topics[group]).sum(axis=1), rtol=1e-5)


def test_topics_of_a_group_depend_neither_on_the_batch_nor_on_what_is_kept():
    """Many words and groups: tiles are filled again in every pass, and batches are several."""
    rng, n_topics = np.random.default_rng(0), 100
    table, dense = random_table(rng, 4000, n_topics)
    sizes = rng.integers(0, 300, 1500)
    start = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.concatenate([np.sort(rng.permutation(4000)[:n]) for n in sizes]).astype(np.int32)
    numbers = rng.integers(1, 4, len(rows)).astype(np.float32)
    weights = rng.dirichlet(np.full(n_topics, 0.1), len(sizes)).astype(np.float32)
    found = np.empty_like(weights)
    totals = np.diff(np.concatenate([[0.0], np.cumsum(numbers)])[start])
    passes = n_passes(start, totals)
    fold_in_topics(start, rows, numbers, table, weights, passes, True, found)
    for j in (0, 700, 1499):
        part, alone = slice(start[j], start[j + 1]), np.empty((1, n_topics), np.float32)
        given = rows[part], numbers[part], table, weights[[j]], passes[[j]]
        fold_in_topics(np.array([0, sizes[j]]), *given, True, alone)
        np.testing.assert_array_equal(alone[0], found[j])
        plain = plain_topics(dense[rows[part]], rows[part], numbers[part], weights[j].astype(float))
        np.testing.assert_allclose(alone[0] + weights[j], plain, rtol=1e-3, atol=1e-3)


def test_passes_start_from_the_topics_that_another_draw_had_for_the_same_words():
    """Topics in another order are found again; other topics and short groups have no shares."""
    parameters, order = mean_parameters(2.0), [2, 0, 1]
    other = replace(parameters, content_parameters=sparse.csr_matrix(COUNTS[order]))
    topics = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    sizes = np.array([300, 300])
    found = shares_of_similar_topics(parameters, other, topics, sizes)
    np.testing.assert_array_equal(found, topics[:, order])
    found = shares_of_similar_topics(parameters, other, topics, np.array([300, 30]))
    np.testing.assert_array_equal(found, [topics[0, order], [-1.0, -1.0, -1.0]])
    counts = sparse.csr_matrix(np.array([[0, 0, 0, 90], [90, 0, 0, 0]]))
    one = replace(parameters, content_parameters=counts[:1])
    both = replace(parameters, content_parameters=counts)
    found = shares_of_similar_topics(one, both, topics[:, :1], sizes)
    np.testing.assert_array_equal(found, np.column_stack([topics[:, 0], [-1.0, -1.0]]))


@pytest.mark.parametrize("lam", [1.0, 10.0])
def test_topics_of_long_groups_agree_with_the_sampler(lam):
    rng = np.random.default_rng(0)
    psi = WORDS.mean_observation(COUNTS)
    shares = rng.dirichlet([0.5, 0.5, 0.5], 30)
    groups = [rng.choice(4, MIN_TOKENS, p=row @ psi).tolist() for row in shares]
    corpus = words_corpus(groups, 4)
    parameters, drawn = mean_parameters(lam), drawn_parameters(lam)
    log_prior = prior_of(parameters, len(groups))
    sampled = fold_in_groups(corpus, drawn, log_prior, Iterations(n_burn_in=50, n_kept=300))
    topics = topics_variational(corpus, parameters, log_prior)
    assert np.abs(topics - sampled.topics).sum(axis=1).mean() / 2 < 0.02


def test_clusters_of_long_groups_with_many_topics_agree_with_the_sampler():
    """The distance to a sampler is at most that between two of its seeds, and a little more."""
    rng, n_words, lam = np.random.default_rng(0), 800, 8.0
    statistics = rng.poisson(rng.gamma(0.05, 400.0, (MIN_TOPICS, n_words)))
    shares = rng.dirichlet(np.full(MIN_TOPICS, 0.3), 6)
    parameters = replace(
        mean_parameters(lam),
        log_weight_of_cluster=np.log(np.full(6, 1 / 6)),
        log_topic_given_cluster=np.log(shares),
        content_parameters=sparse.csr_matrix(statistics),
        family=Categorical(0.05, size=n_words),
        n_topics=MIN_TOPICS,
    )
    psi = parameters.family.mean_observation(statistics)
    truth = np.arange(24) % 6
    topics = [rng.dirichlet(lam * (0.6 * shares[k] + 0.4 * shares.mean(axis=0))) for k in truth]
    groups = [rng.choice(n_words, MIN_TOKENS, p=theta @ psi).tolist() for theta in topics]
    corpus, log_prior = words_corpus(groups, n_words), prior_of(parameters, len(groups))
    found = softmax(log_cluster_variational(corpus, parameters, log_prior), axis=1)
    sampled = [
        np.exp(fold_in_groups(corpus, replace(parameters, key=key), log_prior).log_cluster)
        for key in ((1, 2), (3, 4))
    ]
    error = np.abs(sampled[0] - sampled[1]).sum(axis=1).mean() / 2
    assert np.abs(found - np.mean(sampled, axis=0)).sum(axis=1).mean() / 2 < error + 0.05


def test_vectors_go_the_way_of_words():
    family = Gaussian(mean=0.0, strength=0.1, shape=2.0, rate=1.0)
    rng = np.random.default_rng(1)
    statistics = family.statistics_by_cluster(
        np.concatenate([rng.normal(m, 1.0, 200) for m in (-8.0, 0.0, 8.0)]),
        np.repeat([0, 1, 2], 200).astype(np.int32),
        3,
    )
    parameters = replace(
        mean_parameters(3.0), content_parameters=statistics, family=family, integrated=True
    )
    topic = np.repeat([0, 1, 2], [300, 150, 50])
    corpus = Corpus([rng.normal(8.0 * (topic - 1), 1.0)[:, None]])
    found = topics_variational(corpus, parameters, prior_of(parameters, 1))
    np.testing.assert_allclose(found[0], [0.6, 0.3, 0.1], atol=0.02)


@pytest.fixture(scope="module")
def fitted():
    """Return a model with letters, and short and long groups."""
    corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    counts = corpus.content.counts
    long = mc2.Corpus(sparse.vstack([counts, counts * 20]).tocsr())
    model = mc2.MC2(n_sweeps=60, burn_in=30, n_chains=1, random_state=0, progress=False)
    return model.fit(long[:60]), long


def test_long_and_short_groups_are_predicted_together_as_alone(fitted, monkeypatch):
    monkeypatch.setattr("mcsquared.prediction.groups.MIN_TOPICS", 1)
    model, corpus = fitted
    sizes = corpus.tokens_per_group
    assert (sizes < MIN_TOKENS).any()
    assert (sizes >= MIN_TOKENS).any()
    together = model.predict_proba(corpus)
    for rows in (np.flatnonzero(sizes < MIN_TOKENS), np.flatnonzero(sizes >= MIN_TOKENS)[::-1]):
        np.testing.assert_allclose(model.predict_proba(corpus[rows]), together[rows], atol=1e-4)
    np.testing.assert_allclose(model.transform(corpus[[70]]), model.transform(corpus)[[70]], 1e-4)


def test_sampling_is_an_option_with_about_the_same_answers(fitted):
    model, corpus = fitted
    auto = model.transform(corpus), model.perplexity(corpus)
    model.set_params(fold_in="gibbs")
    sampled = [model.transform(corpus), model.perplexity(corpus)]
    seed, model.posterior_.seed = model.posterior_.seed, 5
    again = model.transform(corpus)
    model.posterior_.seed = seed
    error = np.abs(sampled[0] - again).sum(axis=1).mean()
    assert 0 < np.abs(auto[0] - sampled[0]).sum(axis=1).mean() < 2 * error
    assert auto[1] == pytest.approx(sampled[1], rel=0.01)
    model.set_params(fold_in="quick")
    with pytest.raises(InputError, match="fold_in must be"):
        model.predict(corpus)
    with pytest.raises(InputError, match="fold_in must be"):
        model.perplexity(corpus)
    with pytest.raises(InputError, match="fold_in must be"):
        model.fit(corpus)
    model.set_params(fold_in="auto")


def test_with_an_infinite_lam_content_is_drawn(fitted):
    """Plugging in the mean of ψ is exact only for one token."""
    corpus = fitted[1]
    paper = mc2.MC2(lam=np.inf, n_sweeps=20, burn_in=10, n_chains=1, random_state=0, progress=False)
    posterior = paper.fit(corpus[:20]).posterior_
    joints = [next(weighted_joints(posterior, corpus, fold_in=name))[2] for name in FOLD_IN]
    np.testing.assert_array_equal(*joints)

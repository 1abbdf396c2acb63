"""Log-likelihood of held-out groups: exact for λ = ∞, by sampling for a finite λ.

``draws`` is an iterable of pairs: the parameters of a draw, and the log-prior of each group's
cluster before any token is observed, float64 (n_groups, n_clusters + n_new), of which the last
n_new columns are draws of a new cluster. ``weights`` are the weights of the draws, float64
(n_draws,); by default all are equal.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import repeat

import numpy as np
from scipy.special import logsumexp, softmax

from mcsquared.arrays import Float32s, Floats
from mcsquared.corpus import Corpus, Words
from mcsquared.errors import InputError
from mcsquared.families.numerics import as_dense, draw_columns
from mcsquared.posterior import ParameterDraw, Posterior
from mcsquared.prediction.fold_in import ITERATIONS, Iterations, estimate_log_probability
from mcsquared.prediction.groups import SizedGroups, mean_topics, with_mean_content
from mcsquared.prediction.likelihood import (
    log_context_given_cluster,
    log_group_given_cluster,
    log_tokens_given_topics,
    row_blocks,
    token_batches,
)
from mcsquared.prediction.parameters import ModelParameters, Stream, groups_in_cluster, stream
from mcsquared.prediction.variational import mean_likelihoods, shares_of_similar_topics

Draws = Iterable[tuple[ModelParameters, Floats]]

N_PARTICLES = 10
N_MOVES = 10  # earlier tokens whose topics are resampled before the next token
PRINTED_SMOOTHING = 0.1  # the appendix: "a constant smooth parameter, roughly set as 0.1"


def _log_weights(weights: Floats | None) -> Iterable[float]:
    """Return the logarithms of the draws' weights; an endless iterator of zeros for None."""
    if weights is None:
        return repeat(0.0)
    with np.errstate(divide="ignore"):
        return np.log(weights)


def log_exact(
    draws: Draws, first: Corpus | None, target: Corpus, weights: Floats | None = None
) -> Floats:
    """Return log p(target | first), or log p(target), of each group for λ = ∞: (n_groups,)."""
    evidence = np.full(target.n_groups, -np.inf)
    joint = evidence.copy()
    for log_weight, (parameters, log_prior) in zip(_log_weights(weights), draws, strict=False):
        log_evidence = log_prior + log_weight
        if first is not None:
            log_evidence = log_evidence + log_group_given_cluster(first, parameters)
        log_target = log_group_given_cluster(target, parameters)
        # One draw at a time, so that memory does not grow with the number of draws.
        evidence = np.logaddexp(evidence, logsumexp(log_evidence, axis=1))
        joint = np.logaddexp(joint, logsumexp(log_evidence + log_target, axis=1))
    result = joint - evidence
    result[target.content.tokens_per_group == 0] = 0.0
    return result


def log_completion(
    draws: Draws,
    first: Corpus,
    second: Corpus,
    iterations: Iterations = ITERATIONS,
    weights: Floats | None = None,
) -> Floats:
    """Return Σ_i log p(w_ji | first half) over the second half of each group: (n_groups,).

    The probability of each token is the mean over draws and samples of Σ_m θ_jm E[ψ_m(w)], where
    E[ψ_m(w)] is the probability of a new token of a topic given its training tokens. The topics of
    long groups are not sampled if the parameters have no content, see `mean_topics`.
    """
    has_words, groups = isinstance(second.content, Words), SizedGroups(first)
    mean, topics = MeanProbabilities(), np.zeros((0, 0))
    previous: ModelParameters | None = None
    for log_weight, (parameters, log_prior) in zip(_log_weights(weights), draws, strict=False):
        if log_weight == -np.inf:
            continue
        if parameters.content_statistics is not None:
            statistics = parameters.content_statistics
            parameters = with_mean_content(parameters, statistics, has_words)
        initial = None
        if previous is not None and has_words and not parameters.has_content:
            initial = shares_of_similar_topics(previous, parameters, topics, groups.sizes)
        topics = mean_topics(groups, parameters, log_prior, iterations, initial)
        previous = parameters
        if has_words and not parameters.has_content:
            batches = mean_likelihoods(second, parameters)
            mean.add([batch.mix(topics[batch.groups]) for batch in batches], log_weight)
            continue
        if parameters.log_topic_evidence is not None:
            topics = topics * np.exp(parameters.log_topic_evidence)
            topics /= topics.sum(axis=1, keepdims=True)
            parameters = replace(parameters, log_topic_evidence=None)
        mean.add_logs(_log_tokens(second, parameters, topics), log_weight)
    total = mean.logs()
    content = second.content
    if isinstance(content, Words):
        counts, per_group = content.counts.data, np.diff(content.counts.indptr)
    else:
        counts, per_group = np.ones(len(total)), content.tokens_per_group
    group = np.repeat(np.arange(second.n_groups), per_group)
    return np.bincount(group, counts * total, minlength=second.n_groups).astype(np.float64)


class MeanProbabilities:
    """Weighted mean of the probabilities of tokens: all are added as such, or all as logarithms."""

    def __init__(self) -> None:
        self._weight, self._linear, self._logs = 0.0, np.zeros(0), np.full(0, -np.inf)

    def add(self, batches: list[Float32s], log_weight: float) -> None:
        """Add the probabilities of all entries, in batches."""
        entries = np.exp(log_weight) * np.concatenate([np.zeros(0), *batches])
        self._linear = self._linear + entries if len(self._linear) else entries
        self._weight += np.exp(log_weight)

    def add_logs(self, batches: list[Floats], log_weight: float) -> None:
        """Add the logarithms of the probabilities of all entries, in batches."""
        entries = np.concatenate([np.zeros(0), *batches]) + log_weight
        self._logs = np.logaddexp(self._logs, entries) if len(self._logs) else entries
        self._weight += np.exp(log_weight)

    def logs(self) -> Floats:
        """Return the logarithm of the mean of every entry: float64 (n_entries,)."""
        logs = np.log(self._linear) if len(self._linear) else self._logs
        return logs - np.log(self._weight)


def _log_tokens(corpus: Corpus, parameters: ModelParameters, topics: Floats) -> list[Floats]:
    """Return log Σ_m θ_jm E[ψ_m(w)] of the entries of a corpus, batch by batch."""
    if parameters.has_content:
        batches = token_batches(corpus, parameters)
        return [log_tokens_given_topics(batch, topics[batch.groups]) for batch in batches]
    means = mean_likelihoods(corpus, parameters)
    return [batch.log_tokens(topics[batch.groups]) for batch in means]


def log_left_to_right(
    draws: Draws, corpus: Corpus, n_particles: int = N_PARTICLES, weights: Floats | None = None
) -> Floats:
    """Return log p(w_j), or log p(w_j | contexts), of each group: float64 (n_groups,).

    The probability is the mean of its estimates in all draws, weighted by the contexts' likelihood.
    """
    evidence = np.full(corpus.n_groups, -np.inf)
    joint = evidence.copy()
    for log_weight, (parameters, log_prior) in zip(_log_weights(weights), draws, strict=False):
        log_contexts = logsumexp(log_prior, axis=1) + log_weight
        evidence = np.logaddexp(evidence, log_contexts)
        estimate = estimate_log_probability(corpus, parameters, log_prior, n_particles, N_MOVES)
        joint = np.logaddexp(joint, log_contexts + estimate)
    return joint - evidence


def log_printed(posterior: Posterior, corpus: Corpus, given_contexts: bool, seed: int) -> Floats:
    """Return log Π_i (1/T) Σ_t τᵗ_{k, m} ψᵗ_{m, w_ji} of each group, float64 (n_groups,).

    The appendix uses unspecified estimates of z_j = k and l_ji = m of the test data, and the same
    k and m in every draw t. Here they are sampled once, from their conditional given the last
    stored draw (and the group's contexts, if given), over that draw's clusters and topics:

        p(z_j = k)  ∝  n_k p(x_j | k) Π_i Σ_m τ_km ψ_m,w_ji        p(l_ji = m)  ∝  τ_km ψ_m,w_ji

    τ and ψ are the appendix's: ψ smoothed by 0.1 for any prior, τ over existing topics only. Labels
    that do not exist in a draw have the formulas' values for counts of zero: τ = 0 for a topic,
    τ = ε for a cluster. Labels differ between draws, so the mean over draws has no meaning.
    """
    if not isinstance(corpus.content, Words):
        raise InputError("content must be words for method 'printed', got vectors")
    draws = posterior.parameters
    if not draws or draws[-1].n_topics == 0:
        raise InputError("method 'printed' requires a model with topics, got none")
    rng, last, counts = stream(seed, Stream.PRINTED), draws[-1], corpus.content.counts
    topic_given_cluster, word_given_topic = printed_parameters(last, last.topics_in_cluster.shape)
    log_cluster = counts.astype(np.float64) @ np.log(topic_given_cluster @ word_given_topic).T
    log_cluster += np.log(groups_in_cluster(posterior, last))
    if given_contexts:
        log_cluster += log_context_given_cluster(posterior, last, corpus)[:, :-1]
    cluster_of_group = draw_columns(softmax(log_cluster, axis=1), rng)

    group = np.repeat(np.arange(corpus.n_groups), corpus.content.tokens_per_group)
    word = np.repeat(counts.indices, counts.data)
    cluster, topic = cluster_of_group[group], np.empty(len(word), np.int64)
    for block in row_blocks(len(word), len(word_given_topic)):
        joint = topic_given_cluster[cluster[block]] * word_given_topic[:, word[block]].T
        topic[block] = draw_columns(joint, rng)

    shape = tuple(np.max([draw.topics_in_cluster.shape for draw in draws], axis=0))
    total = np.zeros(len(word))
    for draw in draws:
        topic_given_cluster, word_given_topic = printed_parameters(draw, shape)
        total += topic_given_cluster[cluster, topic] * word_given_topic[topic, word]
    log_token = np.log(total / len(draws))
    return np.bincount(group, log_token, minlength=corpus.n_groups).astype(np.float64)


def printed_parameters(draw: ParameterDraw, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the appendix's τ (n_clusters, n_topics) and ψ (n_topics, n_words).

    ``shape`` is (n_clusters, n_topics), at least that of the draw; additional labels have counts
    of zero.
    """
    n_clusters, n_topics = draw.topics_in_cluster.shape
    weights = np.zeros(shape)
    weights[:, :n_topics] = draw.v * draw.topic_weights
    weights[:n_clusters, :n_topics] += draw.topics_in_cluster.toarray()
    counts = as_dense(draw.content_statistics)
    smoothed = np.full((shape[1], counts.shape[1]), PRINTED_SMOOTHING)
    smoothed[:n_topics] += counts
    topics, words = (table / table.sum(axis=1, keepdims=True) for table in (weights, smoothed))
    return topics, words

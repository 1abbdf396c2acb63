"""The perplexity of the paper's appendix, as printed: not a probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from mcsquared.corpus import Words
from mcsquared.errors import InputError
from mcsquared.prediction.likelihood import (
    log_context_given_cluster,
    log_words_given_cluster,
    token_blocks,
)
from mcsquared.prediction.parameters import (
    PRINTED,
    dense_statistics,
    groups_in_cluster,
    stream,
)

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import ParameterDraw, Posterior

__all__ = ["log_printed"]

Floats = NDArray[np.float64]

SMOOTH = 0.1  # the appendix: "a constant smooth parameter, roughly set as 0.1"


def log_printed(posterior: Posterior, corpus: Corpus, given_contexts: bool, seed: int) -> Floats:
    """Return log Π_i (1/T) Σ_t τᵗ_{k, m} ψᵗ_{m, w_ji} of each group, float64 (n_groups,).

    The appendix estimates z_j = k and l_ji = m of the test data, without saying how, and puts the
    same k and m into every draw t. Here they are sampled once, from their conditional given the
    last kept draw (and the group's contexts, where given), over that draw's clusters and topics:

        p(z_j = k)  ∝  n_k p(x_j | k) Π_i Σ_m τ_km ψ_m,w_ji        p(l_ji = m)  ∝  τ_km ψ_m,w_ji

    τ and ψ are the appendix's: ψ smoothed by 0.1 whatever the prior is, τ over existing topics
    alone. A label that a draw does not have gets what the formulas give with counts of zero: a
    topic τ = 0, a cluster τ = ε. Labels mean nothing across draws, so neither does their mean.
    """
    if not isinstance(corpus.content, Words):
        raise InputError("method is 'printed', which is defined for words, but content is vectors")
    draws = posterior.parameters
    if not draws or draws[-1].topics_in_cluster.shape[1] == 0:
        raise InputError("method is 'printed', which needs topics, but the model has none")
    rng = stream(seed, PRINTED)
    counts = corpus.content.counts
    log_context = None
    if given_contexts:
        log_context = log_context_given_cluster(posterior, draws[-1], corpus)[:, :-1]
    sizes = groups_in_cluster(posterior, draws[-1])
    cluster = _sample_clusters(draws[-1], sizes, counts, log_context, rng)
    group = np.repeat(np.arange(corpus.n_groups), corpus.content.tokens_per_group)
    word = np.repeat(counts.indices, counts.data)
    topic = _sample_topics(draws[-1], cluster[group], word, rng)

    shape = tuple(np.max([draw.topics_in_cluster.shape for draw in draws], axis=0))
    total = np.zeros(len(word))
    for draw in draws:
        topic_given_cluster, word_given_topic = printed_parameters(draw, shape)
        total += topic_given_cluster[cluster[group], topic] * word_given_topic[topic, word]
    log_token = np.log(total / len(draws))
    return np.bincount(group, log_token, minlength=corpus.n_groups).astype(np.float64)


def printed_parameters(draw: ParameterDraw, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the appendix's τ (n_clusters, n_topics) and ψ (n_topics, n_words).

    ``shape`` is (n_clusters, n_topics), at least the draw's own; what is more has counts of zero.
    """
    n_clusters, n_topics = draw.topics_in_cluster.shape
    weights = np.zeros(shape)
    weights[:, :n_topics] = draw.v * draw.topic_weights
    weights[:n_clusters, :n_topics] += draw.topics_in_cluster.toarray()
    counts = dense_statistics(draw)
    smoothed = np.full((shape[1], counts.shape[1]), SMOOTH)
    smoothed[:n_topics] += counts
    return (
        weights / weights.sum(axis=1, keepdims=True),
        smoothed / smoothed.sum(axis=1, keepdims=True),
    )


def _sample_clusters(
    draw: ParameterDraw,
    sizes: NDArray[np.int64],
    counts: sparse.csr_matrix,
    log_context: Floats | None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Sample the cluster of every group among those of the draw."""
    topic_given_cluster, word_given_topic = printed_parameters(draw, draw.topics_in_cluster.shape)
    log_word = np.log(topic_given_cluster @ word_given_topic).T
    log_weight = log_words_given_cluster(counts, log_word) + np.log(sizes)
    if log_context is not None:
        log_weight += log_context
    return _sample_rows(softmax(log_weight, axis=1), rng)


def _sample_topics(
    draw: ParameterDraw,
    cluster: NDArray[np.int64],
    word: NDArray[np.int32],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Sample the topic of every token given its cluster and word."""
    topic_given_cluster, word_given_topic = printed_parameters(draw, draw.topics_in_cluster.shape)
    topic = np.empty(len(word), np.int64)
    for block in token_blocks(len(word), len(word_given_topic)):
        weights = topic_given_cluster[cluster[block]] * word_given_topic[:, word[block]].T
        topic[block] = _sample_rows(weights, rng)
    return topic


def _sample_rows(weights: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample a column of each row with probability proportional to its weight."""
    cumulative = np.cumsum(weights, axis=1)
    threshold = rng.random(len(weights)) * cumulative[:, -1]
    return (cumulative <= threshold[:, None]).sum(axis=1)

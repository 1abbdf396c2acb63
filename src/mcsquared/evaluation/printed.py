"""The perplexity formula in the paper's appendix, as printed: not a probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from mcsquared.corpus import Words
from mcsquared.errors import InputError
from mcsquared.prediction.likelihood import log_context_given_cluster, row_blocks
from mcsquared.prediction.parameters import (
    PRINTED,
    dense_statistics,
    groups_in_cluster,
    stream,
)

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import ParameterDraw, Posterior

Floats = NDArray[np.float64]

SMOOTH = 0.1  # the appendix: "a constant smooth parameter, roughly set as 0.1"


def log_printed(posterior: Posterior, corpus: Corpus, given_contexts: bool, seed: int) -> Floats:
    """Return log Π_i (1/T) Σ_t τᵗ_{k, m} ψᵗ_{m, w_ji} of each group, float64 (n_groups,).

    The appendix estimates z_j = k and l_ji = m of the test data, without saying how, and uses the
    same k and m in every draw t. Here they are sampled once, from their conditional given the last
    stored draw (and the group's contexts, if given), over that draw's clusters and topics:

        p(z_j = k)  ∝  n_k p(x_j | k) Π_i Σ_m τ_km ψ_m,w_ji        p(l_ji = m)  ∝  τ_km ψ_m,w_ji

    τ and ψ are the appendix's: ψ smoothed by 0.1 for any prior, τ over existing topics only. Labels
    that do not exist in a draw have the formulas' values for counts of zero: τ = 0 for a topic,
    τ = ε for a cluster. Labels have no meaning across draws, and neither has the mean over draws.
    """
    if not isinstance(corpus.content, Words):
        raise InputError("content must be words for method 'printed', got vectors")
    draws = posterior.parameters
    if not draws or draws[-1].topics_in_cluster.shape[1] == 0:
        raise InputError("method 'printed' requires a model with topics, got none")
    rng, last, counts = stream(seed, PRINTED), draws[-1], corpus.content.counts
    tau, psi = printed_parameters(last, last.topics_in_cluster.shape)
    log_weight = counts.astype(np.float64) @ np.log(tau @ psi).T
    log_weight += np.log(groups_in_cluster(posterior, last))
    if given_contexts:
        log_weight += log_context_given_cluster(posterior, last, corpus)[:, :-1]
    cluster_of_group = _sample_rows(softmax(log_weight, axis=1), rng)

    group = np.repeat(np.arange(corpus.n_groups), corpus.content.tokens_per_group)
    word = np.repeat(counts.indices, counts.data)
    cluster, topic = cluster_of_group[group], np.empty(len(word), np.int64)
    for block in row_blocks(len(word), len(psi)):
        topic[block] = _sample_rows(tau[cluster[block]] * psi[:, word[block]].T, rng)

    shape = tuple(np.max([draw.topics_in_cluster.shape for draw in draws], axis=0))
    total = np.zeros(len(word))
    for draw in draws:
        tau, psi = printed_parameters(draw, shape)
        total += tau[cluster, topic] * psi[topic, word]
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
    counts = dense_statistics(draw)
    smoothed = np.full((shape[1], counts.shape[1]), SMOOTH)
    smoothed[:n_topics] += counts
    return (
        weights / weights.sum(axis=1, keepdims=True),
        smoothed / smoothed.sum(axis=1, keepdims=True),
    )


def _sample_rows(weights: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample a column of each row with probability proportional to its weight."""
    cumulative = np.cumsum(weights, axis=1)
    threshold = rng.random(len(weights)) * cumulative[:, -1]
    return (cumulative <= threshold[:, None]).sum(axis=1)

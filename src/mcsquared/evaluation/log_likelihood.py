"""Log-likelihood of held-out groups: exact for λ = ∞, by sampling for a finite λ.

All functions take ``draws``, an iterable of pairs: the parameters of a draw, and the log-prior of
the clusters of each group before any token, float64 (n_groups, n_clusters + n_new).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mcsquared.corpus import Words
from mcsquared.prediction.fold_in import (
    SAMPLES,
    Samples,
    estimate_log_probability,
    fold_in_groups,
)
from mcsquared.prediction.likelihood import (
    log_group_given_cluster,
    log_tokens_given_topics,
    token_batches,
)

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.prediction.parameters import ModelParameters

Floats = NDArray[np.float64]

N_PARTICLES = 10
N_MOVES = 10  # earlier tokens whose topics are resampled before the next token


def log_exact(
    draws: Iterable[tuple[ModelParameters, Floats]], first: Corpus | None, target: Corpus
) -> Floats:
    """Return log p(target | first half, if given) of each group for λ = ∞: float64 (n_groups,)."""
    evidence = np.full(target.n_groups, -np.inf)
    joint = evidence.copy()
    for parameters, log_evidence in draws:
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
    draws: Iterable[tuple[ModelParameters, Floats]],
    first: Corpus,
    second: Corpus,
    samples: Samples = SAMPLES,
) -> Floats:
    """Return Σ_i log p(w_ji | first half) over the second half of each group: (n_groups,).

    Each token separately: the mean over draws and samples of Σ_m θ_jm ψ_m(w), then the logarithm.
    """
    total, n_draws = np.full(0, -np.inf), 0
    for parameters, log_prior in draws:
        topics = fold_in_groups(first, parameters, log_prior, samples).topics
        if parameters.log_topic_evidence is not None:
            topics = topics * np.exp(parameters.log_topic_evidence)
            topics /= topics.sum(axis=1, keepdims=True)
            parameters = replace(parameters, log_topic_evidence=None)
        logs = [
            log_tokens_given_topics(batch, topics[batch.groups])
            for batch in token_batches(second, parameters)
        ]
        entries = np.concatenate(logs) if logs else np.zeros(0)
        total = np.logaddexp(total, entries) if n_draws else entries
        n_draws += 1
    total -= np.log(n_draws)
    content = second.content
    if isinstance(content, Words):
        times, per_group = content.counts.data, np.diff(content.counts.indptr)
    else:
        times, per_group = np.ones(len(total)), content.tokens_per_group
    group = np.repeat(np.arange(second.n_groups), per_group)
    return np.bincount(group, times * total, minlength=second.n_groups).astype(np.float64)


def log_left_to_right(
    draws: Iterable[tuple[ModelParameters, Floats]],
    corpus: Corpus,
    n_particles: int = N_PARTICLES,
) -> Floats:
    """Return log p(w_j), or log p(w_j | contexts), of each group: float64 (n_groups,).

    The mean of estimates over draws, each weighted by the likelihood of the contexts.
    """
    evidence = np.full(corpus.n_groups, -np.inf)
    joint = evidence.copy()
    for parameters, log_prior in draws:
        log_contexts = logsumexp(log_prior, axis=1)
        evidence = np.logaddexp(evidence, log_contexts)
        estimate = estimate_log_probability(corpus, parameters, log_prior, n_particles, N_MOVES)
        joint = np.logaddexp(joint, log_contexts + estimate)
    return joint - evidence

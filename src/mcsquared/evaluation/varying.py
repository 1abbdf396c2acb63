"""Perplexities of groups that vary inside their cluster: completion, and left to right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mcsquared.corpus import Words
from mcsquared.prediction.varying import (
    drawn_likelihood,
    fold_in_groups,
    log_tokens_given_topics,
    log_whole_groups,
    parts_of,
)

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.families import ConjugateFamily
    from mcsquared.prediction.parameters import Globals

__all__ = ["N_MOVES", "N_PARTICLES", "log_completion", "log_left_to_right"]

Floats = NDArray[np.float64]

N_PARTICLES = 10
N_MOVES = 10  # earlier tokens that draw their topics anew before the next one


def log_completion(
    draws: Iterator[tuple[Globals, Floats]],
    first: Corpus,
    second: Corpus,
    family: ConjugateFamily,
    n_kept: int,
) -> Floats:
    """Return Σ_i log p(w_ji | first half) over the second half of each group: (n_groups,).

    Each token by itself: the mean over draws and samples of Σ_m θ_jm ψ_m(w), then its logarithm.

    Parameters
    ----------
    draws : iterator of (Globals, float64 (n_groups, n_clusters + n_new))
        The globals of every draw, and the log-probability of the clusters before any token.
    n_kept : int
        Samples per draw.
    """
    total, n_draws = np.full(0, -np.inf), 0
    for parameters, log_prior in draws:
        folded = fold_in_groups(first, parameters, family, log_prior, n_kept=n_kept)
        likelihood = drawn_likelihood(parameters, family, second)
        n_topics = folded.topics.shape[1]
        logs = [
            log_tokens_given_topics(part, folded.topics[part.groups])
            for part in parts_of(second, family, likelihood, n_topics)
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
    draws: Iterator[tuple[Globals, Floats]],
    corpus: Corpus,
    family: ConjugateFamily,
    n_particles: int,
) -> Floats:
    """Return log p(w_j), or log p(w_j | contexts), of each group: float64 (n_groups,).

    The mean of estimates over draws, which are weighed by how well they foretell the contexts.
    """
    evidence = np.full(corpus.n_groups, -np.inf)
    joint = evidence.copy()
    for parameters, log_prior in draws:
        log_contexts = logsumexp(log_prior, axis=1)
        evidence = np.logaddexp(evidence, log_contexts)
        estimate = log_whole_groups(corpus, parameters, family, log_prior, n_particles, N_MOVES)
        joint = np.logaddexp(joint, log_contexts + estimate)
    return joint - evidence

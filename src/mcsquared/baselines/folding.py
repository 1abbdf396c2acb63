"""Groups under fixed topics: their topic shares, and how well they foretell held-out tokens.

A group's topic weights have a Dirichlet prior and nothing else, θ_j ~ Dir(α). That is a model with
one cluster, τ = α / Σα and λ = Σα, so the groups go through the kernels that score MC2, on the same
halves of their tokens. Where α differs among groups, those that share one go together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus import Corpus, Words
from mcsquared.errors import InputError
from mcsquared.evaluation.perplexity import PerplexityResult, perplexity_value, split_halves
from mcsquared.evaluation.varying import N_MOVES, N_PARTICLES
from mcsquared.families import Categorical
from mcsquared.prediction.parameters import GLOBALS, HALVES, Globals, stream
from mcsquared.prediction.varying import fold_in_groups, log_whole_groups

__all__ = ["METHODS", "TopicDraw", "perplexity", "topic_shares"]

Floats = NDArray[np.float64]

METHODS = ("completion", "left_to_right")
# Fewer iterations leave chance in θ, which makes a perplexity too high; several draws share them.
BURN_IN, ITERATIONS, FEWEST = 30, 200, 40
FOR_SHARES = 50  # where no logarithm makes much of the chance that is left
FAMILY = Categorical()  # unused for words, whose likelihood is a table


@dataclass(frozen=True, eq=False)
class TopicDraw:
    """Topics at one sweep of a chain, and what a group's topic weights were like then.

    Parameters
    ----------
    word_given_topic : float64 (n_topics, n_words)
        ψ; rows sum to 1.
    alpha : float64 (n_topics,) or (n_groups, n_topics)
        Dirichlet prior of θ, of all groups or of each.
    """

    word_given_topic: Floats
    alpha: Floats


def topic_shares(
    corpus: Corpus, draw: TopicDraw, seed: int, number: int = 0, n_kept: int = FOR_SHARES
) -> Floats:
    """Return E[θ_j | tokens of j] by Gibbs sampling: float64 (n_groups, n_topics), rows sum to 1.

    Parameters
    ----------
    corpus : Corpus
        In the words of the topics. A group without tokens gets the mean of its prior.
    number : int
        Of the draw: each has its own random numbers.
    n_kept : int
        Iterations after the burn-in that are averaged.
    """
    shares = np.empty((corpus.n_groups, len(draw.word_given_topic)))
    for rows, parameters in _by_prior(corpus, draw, seed, number):
        some = corpus if len(rows) == corpus.n_groups else corpus[rows]
        prior = np.zeros((some.n_groups, 1))
        folded = fold_in_groups(some, parameters, FAMILY, prior, n_burn_in=BURN_IN, n_kept=n_kept)
        shares[rows] = folded.topics
    return shares / shares.sum(axis=1, keepdims=True)


def perplexity(
    draws: Sequence[TopicDraw],
    corpus: Corpus,
    method: str,
    seed: int,
    n_dropped: int = 0,
    given_contexts: bool = False,
) -> PerplexityResult:
    """Return the perplexity of held-out groups, the mean over draws inside the logarithm.

    Parameters
    ----------
    method : {"completion", "left_to_right"}
        As in `mcsquared.evaluation.perplexity`: of the second half of each group's tokens, one by
        one, given the first; or of the whole group, estimated by particles.
    seed : int
        Decides the halves: those that an MC2 of this seed is scored on.
    n_dropped : int
        Tokens already left out because their word was not in the vocabulary of training.
    given_contexts : bool
        Whether the draws' ``alpha`` came from the groups' contexts; for the record.
    """
    if method not in METHODS:
        known = " or ".join(map(repr, METHODS))
        raise InputError(f"method is {method!r}, but {known} is wanted")
    target = corpus
    if method == "completion":
        first, target = split_halves(corpus, stream(seed, HALVES))
        log_likelihood = _log_completion(draws, first, target, seed)
    else:
        log_likelihood = _log_left_to_right(draws, corpus, seed)
    n_tokens = int(target.n_tokens)
    return PerplexityResult(
        value=perplexity_value(float(log_likelihood.sum()), n_tokens),
        method=method,
        given_contexts=given_contexts,
        n_tokens=n_tokens,
        n_dropped=n_dropped,
        n_draws=len(draws),
        log_likelihood=log_likelihood,
    )


def _log_completion(draws: Sequence[TopicDraw], first: Corpus, second: Corpus, seed: int) -> Floats:
    """Return Σ_i log p(w_ji | first half) of each group, each p the mean over draws."""
    n_kept = max(ITERATIONS // len(draws), FEWEST)
    counts = _counts(second)
    group = np.repeat(np.arange(second.n_groups), np.diff(counts.indptr))
    total = np.zeros(counts.nnz)
    for number, draw in enumerate(draws):
        shares = topic_shares(first, draw, seed, number, n_kept)
        for j in range(second.n_groups):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            total[row] += shares[j] @ draw.word_given_topic[:, counts.indices[row]]
    logs = counts.data * np.log(total / len(draws))
    return np.bincount(group, logs, minlength=second.n_groups).astype(np.float64)


def _log_left_to_right(draws: Sequence[TopicDraw], corpus: Corpus, seed: int) -> Floats:
    """Return log p(w_j) of each group: the mean over draws of estimates by particles."""
    joint = np.full(corpus.n_groups, -np.inf)
    for number, draw in enumerate(draws):
        for rows, parameters in _by_prior(corpus, draw, seed, number):
            prior = np.zeros((len(rows), 1))
            estimate = log_whole_groups(
                corpus[rows], parameters, FAMILY, prior, N_PARTICLES, N_MOVES
            )
            joint[rows] = np.logaddexp(joint[rows], estimate)
    return joint - math.log(len(draws))


def _by_prior(
    corpus: Corpus, draw: TopicDraw, seed: int, number: int
) -> Iterator[tuple[NDArray[np.intp], Globals]]:
    """Yield groups that share a prior, and topics and prior as the globals of one cluster."""
    with np.errstate(divide="ignore"):
        log_psi = np.log(draw.word_given_topic)
    first, second = stream(seed, GLOBALS, number).integers(1 << 32, size=2).tolist()
    priors, owner = np.atleast_2d(draw.alpha), np.zeros(corpus.n_groups, np.intp)
    if draw.alpha.ndim == 2:
        priors, owner = np.unique(draw.alpha, axis=0, return_inverse=True)
    order = np.argsort(owner.ravel(), kind="stable")
    bounds = np.searchsorted(owner.ravel()[order], np.arange(len(priors) + 1))
    for i, alpha in enumerate(priors):
        lam = float(alpha.sum())
        yield (
            order[bounds[i] : bounds[i + 1]],
            Globals(
                log_weight_of_cluster=np.zeros(1),
                log_topic_given_cluster=np.log(alpha / lam)[None],
                content_parameters=log_psi,
                n_clusters=1,
                n_topics=len(alpha),
                lam=lam,
                key=(first, second),
            ),
        )


def _counts(corpus: Corpus) -> sparse.csr_matrix:
    assert isinstance(corpus.content, Words)
    return corpus.content.counts

"""Weights of chains that do not mix, by stacking of predictive distributions.

Yao, Vehtari and Gelman, "Stacking for non-mixing Bayesian computations" (JMLR 23, 2022). The
weights of the chains c maximise Σ_j log Σ_c w_c p_c(j) over a sample of the groups j. The density
p_c(j) is that of the second half of a group's tokens, given the first half, the contexts and all
other data:

    1 / p_c(j)  =  mean_t  1 / p(second half of j | first half, contexts, t)

over the T draws t of chain c, with importance ratios 1 / p that are truncated at √T times their
mean (Ionides 2008). This is leave-one-out by importance sampling: the second half of a group is
part of the training data, and the ratios remove it. For λ = ∞, p(... | t) is the joint probability
of the second half. For a finite λ it is the product over its tokens of their probabilities given
the first half. In neither case is it p(w_j), the probability of the whole group.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.corpus import Corpus
from mcsquared.evaluation.log_likelihood import log_completion, log_exact
from mcsquared.evaluation.perplexity import split_halves, with_log_prior
from mcsquared.posterior import Posterior
from mcsquared.prediction.groups import align
from mcsquared.prediction.parameters import Stream, parameters_of_draws, stream

MAX_GROUPS, MIN_GROUPS = 200, 20
MAX_TOKENS = 40_000
MIN_DRAWS_PER_CHAIN = 8  # draws of τ and ψ
N_STANDARD_ERRORS = 2.0
MAX_ITERATIONS = 2000


def stack_chains(posterior: Posterior, corpus: Corpus) -> Floats | None:
    """Return the weights of chains: float64 (n_chains,); None if they do not differ clearly.

    They differ clearly if the log predictive density of the sampled groups exceeds that of equal
    weights by more than two standard errors plus one nat per additional weight, an allowance for
    what the maximum gains by chance. ``corpus`` contains the training groups.
    """
    compared = np.unique(_chain_of_parameters(posterior))
    if len(compared) < len(np.unique(posterior.chain_of_draw)) or len(compared) < 2:
        return None  # a chain without parameters cannot be compared
    groups = _sample(corpus, posterior.seed)
    if len(groups) < MIN_GROUPS:
        return None
    density = log_densities(balanced(posterior), corpus[groups])[compared]
    stacked = stacking_weights(density)
    if not _differs_clearly(density, stacked):
        return None
    weights = np.zeros(int(posterior.chain_of_draw.max()) + 1)
    weights[compared] = stacked
    return weights


def _chain_of_parameters(posterior: Posterior) -> Int32s:
    """Return the chain of each draw with parameters."""
    return posterior.chain_of_draw[[draw.index for draw in posterior.parameters]]


def _sample(corpus: Corpus, seed: int) -> Int64s:
    """Return groups that have two halves, sampled at random, with a bounded number of tokens."""
    tokens = corpus.tokens_per_group
    order = stream(seed, Stream.STACKING).permutation(np.flatnonzero(tokens >= 2))[:MAX_GROUPS]
    n_groups = int(np.searchsorted(np.cumsum(tokens[order]), MAX_TOKENS, side="right"))
    return np.sort(order[: max(n_groups, MIN_GROUPS)])


def balanced(posterior: Posterior) -> Posterior:
    """Return the posterior with parameters of equally many draws of each chain, the last ones.

    Estimates of the leave-one-out density decrease with the number of draws, so chains are
    comparable only if they have the same number.
    """
    chains = _chain_of_parameters(posterior)
    n_draws = np.bincount(chains)[np.unique(chains)].min()
    kept = np.concatenate([np.flatnonzero(chains == chain)[-n_draws:] for chain in set(chains)])
    return replace(posterior, parameters=[posterior.parameters[d] for d in np.sort(kept)])


def log_densities(posterior: Posterior, corpus: Corpus) -> Floats:
    """Return log p_c(j): float64 (n_chains, n_groups); −∞ for chains without parameters."""
    chains = _chain_of_parameters(posterior)
    n_repeats = -(-MIN_DRAWS_PER_CHAIN // int(np.bincount(chains)[np.unique(chains)].min()))
    aligned = align(posterior, corpus)
    first, second = split_halves(aligned, stream(posterior.seed, Stream.HALVES))
    by_draw = []
    drawn = parameters_of_draws(posterior, n_repeats=n_repeats)
    for pair in with_log_prior(drawn, posterior, aligned, given_contexts=True):
        infinite = math.isinf(pair[0].lam)
        by_draw.append((log_exact if infinite else log_completion)([pair], first, second))
    scores, chain_of_score = np.array(by_draw), np.repeat(chains, n_repeats)
    result = np.full((int(chains.max()) + 1, corpus.n_groups), -np.inf)
    for chain in np.unique(chains):
        result[chain] = leave_one_out(scores[chain_of_score == chain])
    return result


def leave_one_out(scores: Floats) -> Floats:
    """Return the log of the importance-weighted mean density of each group: float64 (n_groups,).

    ``scores`` are the log densities in every draw, float64 (n_draws, n_groups).
    """
    ratios = -scores
    bound = logsumexp(ratios, axis=0) - 0.5 * math.log(len(scores))
    ratios = np.minimum(ratios, bound)
    return logsumexp(ratios + scores, axis=0) - logsumexp(ratios, axis=0)


def stacking_weights(log_density: Floats) -> Floats:
    """Return the weights that maximise Σ_j log Σ_c w_c p_c(j), by EM; the problem is concave.

    ``log_density`` is float64 (n_chains, n_groups).
    """
    density = np.exp(log_density - log_density.max(axis=0)).T
    weights = np.full(density.shape[1], 1.0 / density.shape[1])
    for _ in range(MAX_ITERATIONS):
        shares = density * weights
        shares /= shares.sum(axis=1, keepdims=True)
        before, weights = weights, shares.mean(axis=0)
        if np.abs(weights - before).max() < 1e-9:
            break
    return weights / weights.sum()


def _differs_clearly(log_density: Floats, weights: Floats) -> bool:
    """Return whether stacked weights predict clearly better than equal ones."""
    n_chains, n_groups = log_density.shape
    equal = logsumexp(log_density, axis=0) - math.log(n_chains)
    with np.errstate(divide="ignore"):
        gain = logsumexp(log_density + np.log(weights)[:, None], axis=0) - equal
    error = math.sqrt(n_groups) * float(gain.std(ddof=1))
    return bool(gain.sum() - (n_chains - 1) > N_STANDARD_ERRORS * error)

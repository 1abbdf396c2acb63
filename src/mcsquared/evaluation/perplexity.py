"""Perplexity of held-out groups.

Perplexity is exp(−Σ_j log p(w_j) / Σ_j N_j). Several definitions of p are in use; every result
states which one was used:

``exact``
    p(w_j), the probability of the whole group: the mean over draws of Σ_k π_k Π_i P_k(w_ji),
    where P_k(w) = Σ_m τ_km ψ_mw. Requires λ = ∞.
``left_to_right``
    The same p(w_j) for a finite λ, where it must be estimated: the mean over draws of an unbiased
    particle estimate (Wallach et al. 2009, Buntine 2009).
``completion``
    p(second half | first half) of each group's tokens, split at random: for λ = ∞ the joint
    probability of the second half; for a finite λ the product Π_i p(w_ji | first half) over its
    tokens, as is usual for topic models, with topics at their means.
``printed``
    The formula in the appendix of the paper. It is not a probability and is provided only for
    comparison with the paper's table. Requires λ = ∞.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from mcsquared.arrays import Bools, Floats, Rng
from mcsquared.checks import check_choice, check_integer
from mcsquared.corpus import Corpus, Vectors, Words
from mcsquared.errors import InputError
from mcsquared.evaluation.log_likelihood import (
    N_PARTICLES,
    log_completion,
    log_exact,
    log_left_to_right,
    log_printed,
)
from mcsquared.posterior import ParameterDraw, Posterior
from mcsquared.prediction.fold_in import ITERATIONS, Iterations
from mcsquared.prediction.groups import FOLD_IN, align
from mcsquared.prediction.likelihood import log_cluster_prior, log_context_given_cluster
from mcsquared.prediction.parameters import (
    N_NEW,
    ModelParameters,
    Stream,
    parameters_of_draws,
    stream,
)

__all__ = ["PerplexityResult", "perplexity", "split_halves", "whole_group_method"]


METHODS = ("exact", "completion", "left_to_right", "printed")


@dataclass(frozen=True, eq=False)
class PerplexityResult:
    """A perplexity with its method and the log-likelihood of each group.

    Parameters
    ----------
    value : float
        exp(−log-likelihood per token); NaN if there are no tokens to score.
    method : {"exact", "completion", "left_to_right", "printed"}
    given_contexts : bool
        Whether the groups' contexts were used as evidence.
    n_tokens : int
        Number of scored tokens.
    n_dropped : int
        Number of tokens dropped because their word did not occur in training.
    n_draws : int
        Number of parameter draws averaged over.
    log_likelihood : float64 (n_groups,)
        Per group; 0 for a group without tokens to score.

    Examples
    --------
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee", "bee"], ["car", "van"]] * 5)
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> from mcsquared.evaluation.perplexity import perplexity
    >>> result = perplexity(model.posterior_, corpus, random_state=0)
    >>> result.method, result.n_tokens, result.log_likelihood.shape
    ('completion', 10, (10,))
    """

    value: float
    method: str
    given_contexts: bool
    n_tokens: int
    n_dropped: int
    n_draws: int
    log_likelihood: Floats = field(repr=False)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        given = "given contexts" if self.given_contexts else "contexts not used"
        caveat = ", not a probability" if self.method == "printed" else ""
        return (
            f"{self.value:.6g} (method {self.method!r}{caveat}; {given}; "
            f"{self.n_tokens} tokens, {self.n_draws} draws)"
        )


def perplexity(
    posterior: Posterior,
    corpus: Corpus,
    method: str = "completion",
    given_contexts: bool = False,
    random_state: int | np.integer | np.random.Generator | None = None,
    *,
    n_new: int = N_NEW,
    n_repeats: int = 1,
    n_particles: int = N_PARTICLES,
    n_kept: int = ITERATIONS.n_kept,
    fold_in: str = "auto",
) -> PerplexityResult:
    """Return the perplexity of held-out groups.

    Parameters
    ----------
    posterior : Posterior
    corpus : Corpus
        Groups that were not in training. Words unseen in training are dropped and counted.
    method : {"completion", "exact", "left_to_right", "printed"}
        For whole groups, ``exact`` requires an infinite lam and ``left_to_right`` a finite one: see
        `whole_group_method`.
    given_contexts : bool
        Whether the groups' contexts are used: as evidence of their clusters, and for their effects
        on topics. If not, all contexts are treated as missing.
    random_state : int or Generator, optional
        By default, the seed of the model.
    n_new : int
        Draws of the topic shares of a new cluster, per draw of the other parameters.
    n_repeats : int
        Draws of the parameters τ and ψ per stored draw. Their mean is taken inside a logarithm, so
        few repeats bias the perplexity upwards. ``completion`` with a finite lam draws τ only.
    n_particles : int
        Particles per draw of the parameters, for ``left_to_right``.
    n_kept : int
        Samples of a first half's topics per draw of the parameters, if they are sampled.
    fold_in : {"auto", "gibbs"}
        For ``completion`` with a finite lam: whether the topics of a first half are found by
        variational inference, or sampled. Effects of given contexts require sampling.

    Notes
    -----
    For evidence e (contexts, the first half, or none) and target w of one group, the result is

        p(w | e)  =  Σ_t Σ_k π_k p(e | k, t) p(w | k, t)  /  Σ_t Σ_k π_k p(e | k, t)

    over draws t and clusters k: draws are weighted by the likelihood of the evidence as well. This
    is Bayes' rule for the whole posterior, and the chain rule holds: log p(first half) +
    log p(second | first) is the ``exact`` log p(w_j) for the same random numbers. The plain mean of
    p(w | e, t) over t is also a probability, but ignores what e implies for t. ``completion``
    with a finite lam is this plain mean of each token's probability, because first halves are
    sampled and their likelihood is unknown. There ψ is at its mean given the training tokens of
    each topic, as in other packages: a few draws of ψ have too little mass on rare words.

    Examples
    --------
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee", "bee"], ["car", "van"]] * 5)
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> from mcsquared.evaluation.perplexity import perplexity
    >>> result = perplexity(model.posterior_, corpus, "left_to_right", random_state=0)
    >>> result.method, result.n_tokens, float(result) > 1
    ('left_to_right', 25, True)
    """
    seed = _seed(random_state, posterior)
    finite = whole_group_method(posterior) == "left_to_right"
    _check_method(method, finite)
    check_choice("fold_in", fold_in, FOLD_IN)
    numbers = {"n_new": n_new, "n_repeats": n_repeats, "n_particles": n_particles, "n_kept": n_kept}
    for name, number in numbers.items():
        check_integer(name, number, 1)
    aligned = align(posterior, corpus)

    def log_likelihood(first: Corpus | None, target: Corpus) -> Floats:
        if method == "printed":
            return log_printed(posterior, aligned, given_contexts, seed)
        sampled = fold_in == "gibbs" or (given_contexts and bool(posterior.priors.effects))
        with_content = sampled or not finite or first is None
        parameters = parameters_of_draws(posterior, seed, n_new, n_repeats, with_content)
        draws = with_log_prior(parameters, posterior, aligned, given_contexts)
        weights = np.repeat(posterior.parameter_weights, n_repeats)
        if not finite:
            return log_exact(draws, first, target, weights)
        if first is None:
            return log_left_to_right(draws, target, n_particles, weights)
        return log_completion(draws, first, target, Iterations(n_kept=n_kept), weights)

    n_dropped, n_draws = int(corpus.n_tokens - aligned.n_tokens), len(posterior.parameters)
    return score_groups(log_likelihood, aligned, method, given_contexts, seed, n_dropped, n_draws)


def score_groups(
    log_likelihood: Callable[[Corpus | None, Corpus], Floats],
    corpus: Corpus,
    method: str,
    given_contexts: bool,
    seed: int,
    n_dropped: int,
    n_draws: int,
) -> PerplexityResult:
    """Score the second half of each group for method "completion", else the whole group.

    ``log_likelihood`` receives the first halves, or None, and the groups to score.
    """
    first, target = None, corpus
    if method == "completion":
        first, target = split_halves(corpus, stream(seed, Stream.HALVES))
    scores, n_tokens = log_likelihood(first, target), int(target.n_tokens)
    value = math.nan
    if n_tokens > 0:
        with np.errstate(over="ignore"):  # infinite beyond the largest float
            value = float(np.exp(-float(scores.sum()) / n_tokens))
    return PerplexityResult(value, method, given_contexts, n_tokens, n_dropped, n_draws, scores)


def with_log_prior(
    draws: Iterator[tuple[ParameterDraw, ModelParameters]],
    posterior: Posterior,
    corpus: Corpus,
    given_contexts: bool,
) -> Iterator[tuple[ModelParameters, Floats]]:
    """Yield the parameters of every draw with log p(z_j = k), or log p(z_j = k, contexts)."""
    previous = None
    for draw, parameters in draws:
        if draw is not previous:  # contexts do not depend on the repeat
            previous = draw
            log_context = np.zeros((corpus.n_groups, parameters.n_clusters + 1))
            if given_contexts:
                log_context = log_context_given_cluster(posterior, draw, corpus)
        if not given_contexts and parameters.effects is not None:
            # Effects drop out, as for groups that lack the contexts.
            parameters = replace(parameters, effects=None)
        yield parameters, log_cluster_prior(parameters, log_context)


def split_halves(corpus: Corpus, rng: Rng) -> tuple[Corpus, Corpus]:
    """Split each group's tokens at random into an observed half and a scored half.

    With an odd number of tokens the extra one is observed, so a group of fewer than two tokens has
    no token to score.

    Examples
    --------
    >>> from mcsquared.evaluation.perplexity import split_halves
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee", "bee"], ["car", "van"]])
    >>> first, second = split_halves(corpus, np.random.default_rng(0))
    >>> first.tokens_per_group, second.tokens_per_group
    (array([2, 1]), array([1, 1]))
    """
    per_group = np.asarray(corpus.content.tokens_per_group)
    numbers, end = rng.random(int(per_group.sum())), np.cumsum(per_group)
    observed = np.empty(len(numbers), dtype=bool)
    for first, last in zip(end - per_group, end, strict=True):
        if first < last:  # the tokens with the smallest numbers of the group
            part, kth = numbers[first:last], (last - first + 1) // 2 - 1
            observed[first:last] = part <= np.partition(part, kth)[kth]
    return _select_tokens(corpus, observed), _select_tokens(corpus, ~observed)


def _select_tokens(corpus: Corpus, mask: Bools) -> Corpus:
    """Return the corpus with the tokens of ``mask`` only, in storage order."""
    content = corpus.content
    offsets = np.concatenate([[0], np.cumsum(mask)])  # of selected tokens
    if isinstance(content, Words):
        counts = content.counts
        end = np.concatenate([[0], np.cumsum(counts.data, dtype=np.int64)])
        selected = np.diff(offsets[end]).astype(np.int32)
        kept = np.flatnonzero(selected)
        start = np.searchsorted(kept, counts.indptr)
        parts = selected[kept], counts.indices[kept], start
        part = Corpus(Words(sparse.csr_matrix(parts, shape=counts.shape), content.vocabulary))
    else:
        part = Corpus(Vectors(offsets[content.start].astype(np.int64), content.values[mask]))
    part.contexts = corpus.contexts
    return part


def whole_group_method(posterior: Posterior) -> str:
    """Return the method that computes p(w_j) for this model: "exact" or "left_to_right".

    Examples
    --------
    >>> from mcsquared.evaluation.perplexity import whole_group_method
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee", "bee"], ["car", "van"]] * 5)
    >>> paper = mc2.MC2(lam=np.inf, n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> whole_group_method(paper.posterior_)
    'exact'
    """
    infinite = all(math.isinf(draw.lam) for draw in posterior.parameters)
    return "exact" if infinite else "left_to_right"


def _check_method(method: str, finite: bool) -> None:
    check_choice("method", method, METHODS)
    if finite and method in ("exact", "printed"):
        raise InputError(
            f"method {method!r} requires lam=inf, got a finite lam: use 'left_to_right'"
        )
    if not finite and method == "left_to_right":
        raise InputError("method 'left_to_right' requires a finite lam, got lam=inf: use 'exact'")


def _seed(random_state: object, posterior: Posterior) -> int:
    """Return the seed of the random numbers of one call."""
    if random_state is None:
        return int(posterior.seed)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise InputError(
        f"random_state must be an integer >= 0, a Generator or None, got {random_state!r}"
    )

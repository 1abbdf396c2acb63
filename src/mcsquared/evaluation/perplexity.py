"""How well a model foretells the content of groups it has not seen.

Perplexity is exp(−Σ_j log p(w_j) / Σ_j N_j), and there is more than one number of that name. Every
result here says which of them it is:

``exact``
    p(w_j), the probability of the whole group: the mean over draws of Σ_k π_k Π_i P_k(w_ji). For
    λ = ∞, where that is a sum.
``left_to_right``
    p(w_j) as well, for a finite λ, where it must be estimated: the mean over draws of an unbiased
    estimate by particles (Wallach et al. 2009, Buntine 2009).
``completion``
    p(second half | first half) of each group's tokens, halves taken at random. For λ = ∞ the second
    half as a whole; for a finite λ token by token, Π_i p(w_ji | first half), as is usual for topic
    models.
``printed``
    The formula in the appendix of the paper. It is not a probability; kept so that the paper's
    table can be put beside ours, and only for the paper's model, λ = ∞.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from mcsquared.corpus import Corpus, Vectors, Words
from mcsquared.errors import InputError
from mcsquared.evaluation.printed import log_printed
from mcsquared.evaluation.varying import N_PARTICLES, log_completion, log_left_to_right
from mcsquared.prediction.alignment import aligned
from mcsquared.prediction.likelihood import (
    log_cluster_prior,
    log_context_given_cluster,
    log_group_given_cluster,
)
from mcsquared.prediction.parameters import HALVES, N_NEW, Globals, draws_of_globals, stream
from mcsquared.prediction.varying import N_KEPT

if TYPE_CHECKING:
    from mcsquared.posterior import ParameterDraw, Posterior

__all__ = ["PerplexityResult", "perplexity", "split_halves", "whole_group_method"]

Floats = NDArray[np.float64]

METHODS = ("exact", "completion", "left_to_right", "printed")


@dataclass(frozen=True, eq=False)
class PerplexityResult:
    """A perplexity, and which one it is.

    Parameters
    ----------
    value : float
        exp(−log-likelihood per token); NaN when there was no token to score.
    method : {"exact", "completion", "left_to_right", "printed"}
    given_contexts : bool
        Whether the groups' contexts were used as evidence.
    n_tokens : int
        Tokens that were scored.
    n_dropped : int
        Tokens left out because their word was not seen in training.
    n_draws : int
        Kept parameter draws that were averaged.
    log_likelihood : float64 (n_groups,)
        Of each group; 0 for a group without tokens to score.

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
        remark = ", not a probability" if self.method == "printed" else ""
        return (
            f"{self.value:.6g} (method {self.method!r}{remark}; {given}; "
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
    n_kept: int = N_KEPT,
) -> PerplexityResult:
    """Return the perplexity of held-out groups.

    Parameters
    ----------
    corpus : Corpus
        Groups that were not in training. Words unseen in training are left out, and counted.
    method : {"completion", "exact", "left_to_right", "printed"}
        Of a whole group, ``exact`` where lam is infinite and ``left_to_right`` where it is finite:
        see `whole_group_method`.
    given_contexts : bool
        Use the groups' contexts as evidence of their clusters; a missing one says nothing.
    random_state : int or Generator, optional
        Same number, same result. None: the model's own seed.
    n_new : int
        Draws of the topic weights of a new cluster, per draw of the rest.
    n_repeats : int
        Draws of the globals τ and ψ per kept parameter draw. The mean over them stands inside a
        logarithm, so few of them make the perplexity a little too high.
    n_particles : int
        Of ``left_to_right``, per draw of the globals. Its time grows with them.
    n_kept : int
        Samples of a first half per draw of the globals, where lam is finite.

    Notes
    -----
    For evidence e (contexts, the first half, or none) and target w of one group, the result is

        p(w | e)  =  Σ_t Σ_k π_k p(e | k, t) p(w | k, t)  /  Σ_t Σ_k π_k p(e | k, t)

    over draws t and clusters k: the draws too are weighed by how well they foretell the evidence.
    That is Bayes' rule for the whole posterior, and makes the chain rule hold: log p(first half) +
    log p(second | first) is the ``exact`` log p(w_j) with the same random numbers. The plain mean
    of p(w | e, t) over t is a probability too, but forgets what e says of t. ``completion`` with a
    finite lam is that plain mean, of each token's probability: first halves are sampled there, and
    how well a draw foretells them is not at hand.

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
    finite = any(not math.isinf(draw.lam) for draw in posterior.parameters)
    _check_method(method, finite)
    numbers = {"n_new": n_new, "n_repeats": n_repeats}
    for name, number in (numbers | {"n_particles": n_particles, "n_kept": n_kept}).items():
        if number < 1:
            raise InputError(f"{name} is {number!r}, but a whole number of at least 1 is wanted")
    known = aligned(posterior, corpus)
    target = known
    if method == "printed":
        log_likelihood = log_printed(posterior, known, given_contexts, seed)
    else:
        first = None
        if method == "completion":
            first, target = split_halves(known, stream(seed, HALVES))
        groups = _Groups(posterior, known, given_contexts, seed, n_new, n_repeats)
        if finite:
            log_likelihood = groups.log_varying(first, target, n_particles, n_kept)
        else:
            log_likelihood = groups.log_probability(first, target)
    scored = int(target.n_tokens)
    return PerplexityResult(
        value=perplexity_value(float(log_likelihood.sum()), scored),
        method=method,
        given_contexts=given_contexts,
        n_tokens=scored,
        n_dropped=int(corpus.n_tokens - known.n_tokens),
        n_draws=len(posterior.parameters),
        log_likelihood=log_likelihood,
    )


@dataclass(frozen=True)
class _Groups:
    """Groups, and the draws and clusters over which their probability is a sum."""

    posterior: Posterior
    corpus: Corpus
    given_contexts: bool
    seed: int
    n_new: int
    n_repeats: int

    def log_probability(self, first: Corpus | None, target: Corpus) -> Floats:
        """Return log p(target | first half and contexts, where given) of each group."""
        evidence = np.full(self.corpus.n_groups, -np.inf)
        joint = evidence.copy()
        for log_evidence, log_target in self._terms(first, target):
            # One draw after another, so that memory does not grow with the number of draws.
            evidence = np.logaddexp(evidence, logsumexp(log_evidence, axis=1))
            joint = np.logaddexp(joint, logsumexp(log_evidence + log_target, axis=1))
        result = joint - evidence
        result[target.content.tokens_per_group == 0] = 0.0
        return result

    def log_varying(
        self, first: Corpus | None, target: Corpus, n_particles: int, n_kept: int
    ) -> Floats:
        """Return the same where groups vary inside their cluster; token by token given a half."""
        family = self.posterior.priors.content
        if first is not None:
            return log_completion(self._globals(), first, target, family, n_kept)
        return log_left_to_right(self._globals(), target, family, n_particles)

    def _globals(self) -> Iterator[tuple[Globals, Floats]]:
        """Yield the globals of every draw, and log p(z_j = k, contexts where given) under them."""
        draws = draws_of_globals(self.posterior, self.seed, self.n_new, self.n_repeats)
        known: ParameterDraw | None = None
        for draw, parameters in draws:
            if draw is not known:  # contexts do not depend on the globals of a repeat
                known, log_context = draw, self._log_context(draw)
            yield parameters, log_cluster_prior(parameters, log_context)

    def _terms(self, first: Corpus | None, target: Corpus) -> Iterator[tuple[Floats, Floats]]:
        family = self.posterior.priors.content
        for parameters, log_evidence in self._globals():
            if first is not None:
                log_evidence = log_evidence + log_group_given_cluster(first, parameters, family)
            yield log_evidence, log_group_given_cluster(target, parameters, family)

    def _log_context(self, draw: ParameterDraw) -> Floats:
        if self.given_contexts:
            return log_context_given_cluster(self.posterior, draw, self.corpus)
        return np.zeros((self.corpus.n_groups, draw.topics_in_cluster.shape[0] + 1))


def split_halves(corpus: Corpus, rng: np.random.Generator) -> tuple[Corpus, Corpus]:
    """Split each group's tokens at random into an observed half and a scored half.

    Of an odd number the extra token is observed, so a group of fewer than two tokens has
    nothing to score.

    Examples
    --------
    >>> from mcsquared.evaluation.perplexity import split_halves
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee", "bee"], ["car", "van"]])
    >>> first, second = split_halves(corpus, np.random.default_rng(0))
    >>> first.tokens_per_group, second.tokens_per_group
    (array([2, 1]), array([1, 1]))
    """
    per_group = np.asarray(corpus.content.tokens_per_group)
    group = np.repeat(np.arange(corpus.n_groups), per_group)
    order = np.lexsort((rng.random(len(group)), group))
    rank = np.arange(len(group)) - np.repeat(np.cumsum(per_group) - per_group, per_group)
    observed = np.empty(len(group), dtype=bool)
    observed[order] = rank < np.repeat((per_group + 1) // 2, per_group)
    return _tokens(corpus, group, observed), _tokens(corpus, group, ~observed)


def _tokens(corpus: Corpus, group: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Corpus:
    """Return the corpus with the chosen tokens alone, group by group, in the order of storage."""
    content = corpus.content
    sizes = np.bincount(group[chosen], minlength=corpus.n_groups)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if isinstance(content, Words):
        word = np.repeat(content.counts.indices, content.counts.data)[chosen]
        ones = np.ones(len(word), np.int32)
        counts = sparse.csr_matrix((ones, word, start), shape=content.counts.shape)
        counts.sum_duplicates()
        return Corpus(Words(counts, content.vocabulary))
    return Corpus(Vectors(start, content.values[chosen]))


def perplexity_value(log_likelihood: float, n_tokens: int) -> float:
    """Return exp(−log-likelihood per token); NaN where there is none."""
    if n_tokens == 0:
        return math.nan
    with np.errstate(over="ignore"):  # beyond the largest float it is infinite, and says so
        return float(np.exp(-log_likelihood / n_tokens))


def whole_group_method(posterior: Posterior) -> str:
    """Return the method that gives p(w_j) for this model: "exact", or "left_to_right".

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
    if method not in METHODS:
        known = ", ".join(map(repr, METHODS))
        raise InputError(f"method is {method!r}, but one of {known} is wanted")
    if finite and method == "exact":
        raise InputError(
            "method is 'exact', but lam is finite in this model, where no sum is exact: "
            "'left_to_right' estimates the same probability"
        )
    if finite and method == "printed":
        raise InputError(
            "method is 'printed', which is a formula of the paper's model, lam=inf, "
            "but lam is finite in this model"
        )
    if not finite and method == "left_to_right":
        raise InputError(
            "method is 'left_to_right', which estimates what a finite lam makes unknown, "
            "but lam is infinite in this model: 'exact' is that probability"
        )


def _seed(random_state: object, posterior: Posterior) -> int:
    """Return the number that all randomness of one call follows from."""
    if random_state is None:
        return int(posterior.seed)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise InputError(
        f"random_state is {random_state!r}, "
        "but a whole number from 0 on, a Generator or None is wanted"
    )

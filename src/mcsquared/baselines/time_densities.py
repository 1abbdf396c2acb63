"""When a topic's words are written: its mixture of Gaussians over time, drawn or at its mean.

And the scores of groups whose times are known: a token of a topic m then has the likelihood
ψ_mw f_m(t), and what is to be foretold is its word alone,

    p(w | t, first half)  =  Σ_m θ_m f_m(t) ψ_mw  /  Σ_m θ_m f_m(t)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mcsquared.baselines.kept import KeptTopics, globals_of_draws, mean_globals
from mcsquared.corpus import Corpus, Words
from mcsquared.families import ConjugateFamily, Gaussian
from mcsquared.prediction.parameters import draw_log_dirichlet, split_unused_weight
from mcsquared.prediction.varying import (
    Likelihood,
    drawn_likelihood,
    fold_in_groups,
    log_tokens_given_topics,
    parts_of,
)

__all__ = [
    "KeptTimes",
    "draw_log_densities",
    "log_completion_given_times",
    "mean_densities",
    "shares_given_times",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KeptTimes(KeptTopics):
    """The topics of one kept draw with their components over time.

    Attributes
    ----------
    component_start : int64 (n_topics + 1,)
        Components of topic ``m`` are ``component_start[m]:component_start[m + 1]``.
    component_statistics : float64 (n_components, 3)
        n, Σt, Σt², times relative to the family's origin.
    alpha : float
        Concentration of components in a topic.
    """

    component_start: NDArray[np.int64]
    component_statistics: Floats
    alpha: float

    def of_topic(self, m: int) -> Floats:
        """Return the statistics of a topic's components."""
        return self.component_statistics[self.component_start[m] : self.component_start[m + 1]]


def mean_densities(draw: KeptTimes, family: Gaussian, times: Floats) -> Floats:
    """Return the predictive density f_m(t), parameters integrated out: (n_times, n_topics)."""
    new = np.exp(family.log_predictive(times, np.zeros((1, family.n_stats))))
    known = np.exp(family.log_predictive(times, draw.component_statistics))
    held = draw.component_statistics[:, 0]
    result = np.empty((len(times), draw.n_topics))
    for m in range(draw.n_topics):
        own = slice(draw.component_start[m], draw.component_start[m + 1])
        total = known[:, own] @ held[own] + draw.alpha * new[:, 0]
        result[:, m] = total / (held[own].sum() + draw.alpha)
    return result


def draw_log_densities(
    draw: KeptTimes, family: Gaussian, n_topics: int, times: Floats, rng: np.random.Generator
) -> Floats:
    """Draw every topic's mixture given its components; return log f_m(t): (n_times, n_topics).

    Weights ~ Dir(n_m1, ..., α), whose last part new components share; means and precisions from
    their posterior. Topics beyond the draw's own have components from the prior alone. Where a time
    is missing f is 1.
    """
    result = np.zeros((len(times), n_topics))
    seen = ~np.isnan(times)
    for m in range(n_topics):
        known = draw.of_topic(m) if m < draw.n_topics else np.zeros((0, family.n_stats))
        shape = np.append(known[:, 0], draw.alpha)
        log_weights = draw_log_dirichlet(shape[None, :], rng)[0]
        new = split_unused_weight(float(np.exp(log_weights[-1])), draw.alpha, rng)
        with np.errstate(divide="ignore"):
            log_weights = np.concatenate([log_weights[:-1], np.log(new)])
        statistics = np.vstack([known, np.zeros((len(new), family.n_stats))])
        parameters = family.sample_parameters(statistics, rng)
        logs = family.log_likelihood(times[seen], parameters) + log_weights
        result[seen, m] = np.logaddexp.reduce(logs, axis=1)
    return result


def same_times(time: Floats) -> Iterator[tuple[float, NDArray[np.intp]]]:
    """Yield every time and the groups that have it; NaN and those without one come last."""
    known, owner = np.unique(time, return_inverse=True)
    order = np.argsort(owner.ravel(), kind="stable")
    bounds = np.searchsorted(owner.ravel()[order], np.arange(len(known) + 1))
    for i, value in enumerate(known):
        yield float(value), order[bounds[i] : bounds[i + 1]]


def relative(log_densities: Floats) -> Floats:
    """Return log-densities relative to the largest of each row: only their ratios matter."""
    return np.maximum(log_densities - log_densities.max(axis=1, keepdims=True), -700.0)


def with_times(likelihood: Likelihood, log_densities: Floats) -> Likelihood:
    """Return the likelihood of words at a time with these densities, one for each topic."""
    return lambda words: likelihood(words) + log_densities


def shares_given_times(
    draw: KeptTimes,
    family: ConjugateFamily,
    time_family: Gaussian,
    corpus: Corpus,
    time: Floats,
    seed: int,
) -> Floats:
    """Return the mean topic weights of groups with these times: (n_groups, n_topics)."""
    parameters, likelihood = mean_globals(draw, family, corpus, seed)
    shares = np.empty((corpus.n_groups, draw.n_topics))
    for value, rows in same_times(time):
        logs = np.zeros((1, draw.n_topics))
        if not np.isnan(value):
            logs = np.log(mean_densities(draw, time_family, np.array([value])))
        shares[rows] = fold_in_groups(
            corpus[rows],
            parameters,
            family,
            np.zeros((len(rows), 1)),
            with_times(likelihood, relative(logs)[0]),
        ).topics
    return shares


def log_completion_given_times(
    draws: Sequence[KeptTimes],
    family: ConjugateFamily,
    time_family: Gaussian,
    first: Corpus,
    second: Corpus,
    time: Floats,
    seed: int,
) -> Floats:
    """Return Σ_i log p(w_ji | first half, time) over the second half of each group: (n_groups,).

    The mean over draws is inside the logarithm, token by token.
    """
    assert isinstance(second.content, Words)
    start = second.content.counts.indptr
    total = np.full(int(start[-1]), -np.inf)
    sets = list(same_times(time))
    times = np.array([value for value, _ in sets])
    for draw, parameters, rng in globals_of_draws(draws, family, seed):
        assert isinstance(draw, KeptTimes)
        n_topics = parameters.log_topic_given_cluster.shape[1]
        all_logs = relative(draw_log_densities(draw, time_family, n_topics, times, rng))
        words = drawn_likelihood(parameters, family, second)
        for logs, (_, rows) in zip(all_logs, sets, strict=True):
            theta = fold_in_groups(
                first[rows],
                parameters,
                family,
                np.zeros((len(rows), 1)),
                with_times(words, logs),
            ).topics
            theta *= np.exp(logs)
            theta /= theta.sum(axis=1, keepdims=True)
            scores = [
                log_tokens_given_topics(part, theta[part.groups])
                for part in parts_of(second[rows], family, words, n_topics)
            ]
            entries = np.concatenate([np.arange(start[j], start[j + 1]) for j in rows])
            total[entries] = np.logaddexp(total[entries], np.concatenate(scores))
    total -= np.log(len(draws))
    group = np.repeat(np.arange(second.n_groups), np.diff(start))
    scores = second.content.counts.data * total
    return np.bincount(group, scores, minlength=second.n_groups).astype(np.float64)

"""The globals of a kept draw: topic weights of every cluster, content of every topic.

A kept draw stores counts and root weights. Given those, a new group sees (MODEL in the docs)

    τ_k ~ Dir(v ε + O_k),   ψ_m ~ posterior of topic m,   p(z = k) = n_k / (J + α)

with O_km the cluster's tables of a topic (tokens, where λ is infinite), for the clusters and topics
that exist, and for those that do not yet: a new cluster with probability α / (J + α) and weights
τ ~ Dir(v ε), and the infinitely many unused topics that share the weight ε_new, ψ ~ S. All of them
are drawn, because the probability of a group is the mean of a product over its tokens: the product
of means is another, smaller number.

Of a user's own family that does not say how its parameters are drawn, ψ is integrated out token by
token instead: each token has its posterior predictive density given the draw's statistics. That is
exact for one token, and for several of a new group all but exact where topics hold many more; it is
a probability in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.families.numerics import log_standard_gamma

if TYPE_CHECKING:
    from mcsquared.families import ConjugateFamily
    from mcsquared.posterior import ParameterDraw, Posterior

__all__ = [
    "GLOBALS",
    "HALVES",
    "N_NEW",
    "PRINTED",
    "Globals",
    "dense_statistics",
    "draw_log_dirichlet",
    "draws_of_globals",
    "globals_of_draw",
    "groups_in_cluster",
    "log_content",
    "split_unused_weight",
    "stream",
]

Floats = NDArray[np.float64]

N_NEW = 20  # auxiliary new clusters per draw: the mean over them is the new-cluster term
MAX_UNUSED = 40  # topics that share the unused weight ...
SMALLEST_REST = 1e-3  # ... or fewer, once the weight not yet shared out is below this

GLOBALS, HALVES, PRINTED = range(3)  # what random numbers are for: each purpose has its stream


@dataclass(frozen=True)
class Globals:
    """What a group's probability depends on, drawn given one kept draw.

    Parameters
    ----------
    log_weight_of_cluster : float64 (n_clusters + n_new,)
        Log-probability of each cluster for a group of which nothing is known. The last ``n_new``
        are independent draws of the one new cluster and share its weight.
    log_topic_given_cluster : float64 (n_clusters + n_new, n_topics + n_unused)
        log τ; the rows of its exponential sum to 1.
    content_parameters : float64 (n_topics + n_unused, n_parameters)
        Drawn parameters of the content family; for words, log ψ. The topics' statistics, where
        the family cannot draw parameters: `log_content` reads either.
    n_clusters, n_topics : int
        How many of the clusters and topics exist in the kept draw.
    lam : float
        How closely groups follow their cluster; infinite where they do not vary.
    key : tuple of int
        Two numbers below 2³² that the random numbers of sampled groups begin with.
    """

    log_weight_of_cluster: Floats
    log_topic_given_cluster: Floats
    content_parameters: Floats
    n_clusters: int
    n_topics: int
    lam: float = math.inf
    key: tuple[int, int] = (0, 0)

    @property
    def n_new(self) -> int:
        """Number of draws of the new cluster."""
        return len(self.log_weight_of_cluster) - self.n_clusters


def globals_of_draw(
    posterior: Posterior, draw: ParameterDraw, rng: np.random.Generator, n_new: int = N_NEW
) -> Globals:
    """Draw τ and ψ given the counts of a kept draw, new clusters and unused topics included."""
    n_clusters, n_topics = draw.topics_in_cluster.shape
    unused = split_unused_weight(draw.unused_weight, draw.eta, rng)
    shape = np.tile(draw.v * np.concatenate([draw.topic_weights, unused]), (n_clusters + n_new, 1))
    shape[:n_clusters, :n_topics] += draw.drawn_from_cluster.toarray()

    n_groups, alpha = posterior.n_fitted, draw.alpha
    weight = np.full(n_clusters + n_new, alpha / max(n_new, 1))
    weight[:n_clusters] = groups_in_cluster(posterior, draw) * (n_groups / posterior.n_groups)

    family, known = posterior.priors.content, dense_statistics(draw)
    statistics = np.vstack([known, np.zeros((len(unused), known.shape[1]))])
    drawn = Globals(
        log_weight_of_cluster=np.log(weight) - np.log(n_groups + alpha),
        log_topic_given_cluster=draw_log_dirichlet(shape, rng),
        content_parameters=family.sample_parameters(statistics, rng)
        if family.can_sample
        else statistics,
        n_clusters=n_clusters,
        n_topics=n_topics,
        lam=draw.lam,
    )
    first, second = rng.integers(1 << 32, size=2).tolist()  # after all else: a draw is as before
    return replace(drawn, key=(first, second))


def log_content(family: ConjugateFamily, x: Any, content_parameters: Floats) -> Floats:
    """Return the log-density of tokens in every topic: float64 (n, n_topics + n_unused)."""
    density = family.log_likelihood if family.can_sample else family.log_predictive
    return density(x, content_parameters)


def draws_of_globals(
    posterior: Posterior, seed: int | None = None, n_new: int = N_NEW, n_repeats: int = 1
) -> Iterator[tuple[ParameterDraw, Globals]]:
    """Yield the globals of every kept parameter draw, ``n_repeats`` times each.

    The random numbers belong to the seed and the draw alone, so a group's prediction does not
    depend on which other groups are predicted with it.
    """
    if not posterior.parameters:
        raise InputError(
            "the posterior keeps no parameter draws, but prediction needs some: "
            "fit with keep_parameters of at least 1"
        )
    seed = int(posterior.seed) if seed is None else seed
    for number, draw in enumerate(posterior.parameters):
        for repeat in range(n_repeats):
            rng = stream(seed, GLOBALS, number, repeat)
            yield draw, globals_of_draw(posterior, draw, rng, n_new)


def dense_statistics(draw: ParameterDraw) -> Floats:
    """Return the content statistics of a draw's topics, or their word counts: float64, dense."""
    statistics = draw.content_statistics
    if isinstance(statistics, np.ndarray):
        return statistics
    return np.asarray(statistics.toarray(), np.float64)


def stream(seed: int, *purpose: int) -> np.random.Generator:
    """Return the random numbers that belong to a seed and a purpose, and to nothing else."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=purpose))


def groups_in_cluster(posterior: Posterior, draw: ParameterDraw) -> NDArray[np.int64]:
    """Return the number of training groups in each cluster of a draw."""
    labels = posterior.cluster_of_group[draw.draw]
    return np.bincount(labels, minlength=draw.topics_in_cluster.shape[0])


def split_unused_weight(unused_weight: float, eta: float, rng: np.random.Generator) -> Floats:
    """Share the unused weight among topics, as their births would: b ~ Beta(1, η) of the rest.

    One topic for the whole of it would let all tokens outside the known topics share one content.
    The last topic takes what is left: below `SMALLEST_REST`, or after `MAX_UNUSED` topics.
    """
    weights: list[float] = []
    rest = unused_weight
    while rest > SMALLEST_REST and len(weights) < MAX_UNUSED - 1:
        taken = rest * rng.beta(1.0, eta)
        weights.append(taken)
        rest -= taken
    return np.array([*weights, max(rest, 0.0)])


def draw_log_dirichlet(shape: Floats, rng: np.random.Generator) -> Floats:
    """Draw each row from a Dirichlet distribution, in logs; a shape of zero has no mass.

    Shapes far below 1 are the rule here (v ε of a rare topic): plain gamma draws would underflow.
    """
    massless = shape <= 0.0
    # A shape near the smallest float would draw −∞ for every entry of its row.
    log_gamma = log_standard_gamma(np.where(massless, 1.0, np.maximum(shape, 1e-290)), rng)
    log_gamma[massless] = -np.inf
    return log_gamma - np.logaddexp.reduce(log_gamma, axis=-1, keepdims=True)

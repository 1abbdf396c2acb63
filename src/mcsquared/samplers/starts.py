"""Where a chain begins: groups clustered by their words and contexts alone, or at random."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.kernels.cpu.contexts import Bags
from mcsquared.kernels.rng import Step, generator
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.clusters import sweep_clusters
from mcsquared.samplers.concentrations import draw_topic_weights
from mcsquared.state import NO_BOUNDS, Bounds, State, count, slots_for

__all__ = ["STARTS", "at_most", "check_init", "start", "state_from_assignments"]

STARTS = ("auto", "random")
RANDOM_CLUSTERS = 30
MIXTURE_SWEEPS = 20  # at most
MIXTURE_RESTS = 0.02  # of the groups move in a sweep: it has found what it finds
MIXTURE_CLUSTERS = 50  # the chain itself finds more, if there are
MIXTURE_WORDS = 200  # of each group: by a thousand words each group would be its own cluster
MIXTURE_CHAIN = 2**31  # the mixture below draws numbers that no chain draws


def start(
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    init: str = "auto",
    n_clusters: int = RANDOM_CLUSTERS,
    n_topics: int | None = None,
    bounds: Bounds = NO_BOUNDS,
) -> State:
    """Return the state before the first sweep.

    Parameters
    ----------
    init : {"auto", "random"}
        "auto": clusters from a mixture that knows no topics, see `cluster_whole_groups`, and
        topics at random. "random": both at random.
    n_clusters, n_topics : int
        How many groups and tokens are spread over at random; topics by default by `topics_for`.
    """
    check_init(init)
    rng = generator(seed, chain, 0, int(Step.START))
    clusters: NDArray[np.integer] = rng.integers(
        0, at_most(n_clusters, bounds.clusters), observations.n_groups
    )
    n_topics = topics_for(observations.n_tokens) if n_topics is None else n_topics
    most = at_most(n_topics, bounds.topics)
    topics = rng.integers(0, most, observations.n_tokens, dtype=np.int32)
    if init == "auto":
        clusters = cluster_whole_groups(observations, priors, clusters, seed, chain, bounds)
    return state_from_assignments(observations, priors, clusters, topics, rng)


def check_init(init: object) -> None:
    """Refuse a start that does not exist."""
    if init not in STARTS:
        raise InputError(f"init is {init!r}, but one of {', '.join(map(repr, STARTS))} is wanted")


def topics_for(n_tokens: int) -> int:
    """Return how many topics a random start spreads tokens over.

    Topics are born one token at a time and merge slowly, so a start near what data of this size
    hold saves many sweeps: 7 for the letters (20,000 tokens), 60 for papers (2 million).
    """
    return int(np.clip(round(np.sqrt(n_tokens) / 20), 5, 60))


def cluster_whole_groups(
    observations: Observations,
    priors: Priors,
    clusters: NDArray[np.integer],
    seed: int,
    chain: int,
    bounds: Bounds,
) -> NDArray[np.int32]:
    """Return clusters from a Dirichlet process mixture over contexts and whole groups of words.

    The words of a group are taken for one more bag, so that a cluster is a distribution over words
    instead of one over topics. That mixes in a few sweeps, and is where a chain should begin, not
    what it should believe. Content other than words is left out.
    """
    rng = generator(seed, MIXTURE_CHAIN + chain, 0, int(Step.START))
    mixture = without_topics(observations, priors, rng)
    state = state_from_assignments(mixture, priors, clusters, np.zeros(0, np.int64), rng)
    enough = Bounds(at_most(MIXTURE_CLUSTERS, bounds.clusters))
    for _ in range(MIXTURE_SWEEPS):
        before = state.cluster_of_group.copy()
        state.sweep += 1
        sweep_clusters(state, mixture, seed, MIXTURE_CHAIN + chain, enough)
        if (state.cluster_of_group != before).mean() < MIXTURE_RESTS:
            break
    return state.cluster_of_group


def without_topics(
    observations: Observations, priors: Priors, rng: np.random.Generator
) -> Observations:
    """Return the same groups without tokens; some words of each become one more bag context."""
    bags, families = observations.bags, observations.bag_families
    if observations.n_words:
        n_words, n_groups = observations.n_words, observations.n_groups
        group, word = _some_words(observations, rng)
        cells, counts = np.unique(group * n_words + word, return_counts=True)
        start = np.searchsorted(cells // n_words, np.arange(n_groups + 1))
        concentration, size = priors.content.kernel_parameters()
        category = cells % n_words + observations.n_categories
        bags = Bags(
            start=np.vstack([bags.start, start + len(bags.category)]),
            category=np.append(bags.category, category).astype(np.int32),
            count=np.append(bags.count, counts).astype(np.int32),
            concentration=np.append(bags.concentration, concentration),
            smoothing=np.append(bags.smoothing, concentration * size),
        )
        families = [*families, priors.content]
    return dataclasses.replace(
        observations,
        group_start=np.zeros_like(observations.group_start),
        word=np.zeros(0, np.int32),
        n_words=0,
        values=np.zeros((0, 0)),
        content_kind=-1,
        python_content=None,
        bags=bags,
        bag_families=families,
    )


def _some_words(
    observations: Observations, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return group and word of at most MIXTURE_WORDS tokens of each group, chosen at random."""
    # Group by group: arrays as long as all tokens would be the largest of a whole fit.
    sizes = np.diff(observations.group_start)
    taken = np.minimum(sizes, MIXTURE_WORDS)
    chosen = np.empty(int(taken.sum()), np.int64)
    first = 0
    for begin, size, n_taken in zip(observations.group_start, sizes, taken, strict=False):
        some = rng.choice(size, n_taken, replace=False, shuffle=False)
        chosen[first : first + n_taken] = begin + some
        first += n_taken
    return np.repeat(np.arange(observations.n_groups), taken), observations.word[chosen]


def state_from_assignments(
    observations: Observations,
    priors: Priors,
    cluster_of_group: NDArray[np.integer],
    topic_of_token: NDArray[np.integer],
    rng: np.random.Generator,
    slots: Callable[[int], int] = slots_for,
) -> State:
    """Return a state with these labels, concentrations at their means, ε drawn from counts.

    ``slots`` says how many slots to make for a number of clusters or topics.
    """
    clusters, topics = _compact(cluster_of_group), _compact(topic_of_token)
    counts = count(
        observations,
        clusters,
        topics,
        slots(int(clusters.max(initial=-1)) + 1),
        slots(int(topics.max(initial=-1)) + 1),
    )
    concentrations = priors.initial_values()
    active = counts.tokens_in_topic > 0
    tables = (counts.topics_in_cluster[:, active] > 0).sum(axis=0)
    weights = np.zeros(len(active))
    log_unused = 0.0
    if active.any():
        weights[active], log_unused = draw_topic_weights(tables, concentrations["eta"], rng)
    return State(
        cluster_of_group=clusters,
        topic_of_token=topics,
        topic_weights=weights,
        log_unused=np.array([log_unused]),
        **concentrations,
        sweep=0,
        counts=counts,
    )


def at_most(number: int, bound: int | None) -> int:
    """Return a number, or the bound where that is less."""
    return number if bound is None else min(number, bound)


def _compact(labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return labels renumbered 0, 1, ... in order of their value."""
    present = np.bincount(labels) > 0
    number = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return number[labels]

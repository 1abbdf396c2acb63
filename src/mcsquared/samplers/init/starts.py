"""Initial states of both samplers.

The initial topics of the blocked sampler are the word distributions of randomly chosen groups. They
converge several times faster than random assignments, with which all topics are alike at first.
"""

import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.checks import check_choice
from mcsquared.kernels.cpu.cells import draw_topics_by_word
from mcsquared.kernels.cpu.lanes import aligned
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import initial_value
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers.hdp import MIN_TEXT_VOCABULARY, sweeps_for, topics_without_clusters
from mcsquared.samplers.init.assignments import (
    at_most,
    blocked_state,
    round_up_to_lanes,
    state_from_assignments,
)
from mcsquared.samplers.init.candidates import with_best_number_of_clusters, with_better_clusters
from mcsquared.samplers.init.extend_start import StartExtension, groups_to_start_with
from mcsquared.samplers.init.levels import start_levels
from mcsquared.samplers.init.mixture import cluster_whole_groups
from mcsquared.samplers.init.shared_mixtures import is_eligible, with_shared_mixtures
from mcsquared.samplers.steps.effects import start_effects
from mcsquared.samplers.types import Key
from mcsquared.state import NO_BOUNDS, Bounds, State

STARTS = ("auto", "random")
RANDOM_CLUSTERS = 30
MAX_INITIAL_CLUSTERS, MAX_INITIAL_TOPICS = 100, 480
# Groups that vary start in one cluster if there are more tokens, and are split; with fewer, chains
# that start in one cluster often stay there.
MAX_SMALL_TOKENS = 100_000
MIN_SWEEPS_WITHOUT_CLUSTERS = 30  # if groups vary, before they are clustered
SWEEPS_IF_WIDE = 10  # of vectors of many dimensions; a collapsed sweep follows each of them


def check_init(init: object) -> None:
    """Raise `InputError` unless ``init`` is one of `STARTS`."""
    check_choice("init", init, STARTS)


def start_collapsed(
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    init: str = "auto",
    n_clusters: int = RANDOM_CLUSTERS,
    n_topics: int | None = None,
    bounds: Bounds = NO_BOUNDS,
) -> State:
    """Return the initial state of a chain of the collapsed sampler.

    Parameters
    ----------
    init : {"auto", "random"}
        "auto": clusters from a mixture without topics, see `cluster_whole_groups`, and random
        topics. "random": both at random.
    n_clusters, n_topics : int
        Numbers of random labels; ``n_topics`` is chosen by `random_topics_for` by default.
    """
    check_init(init)
    rng = Key(seed, chain, 0).generator(Step.START)
    clusters: NDArray[np.integer] = rng.integers(
        0, at_most(n_clusters, bounds.clusters), observations.n_groups
    )
    n_topics = random_topics_for(observations.n_tokens) if n_topics is None else n_topics
    topics = rng.integers(
        0, at_most(n_topics, bounds.topics), observations.n_tokens, dtype=np.int32
    )
    if init == "auto":
        clusters = cluster_whole_groups(observations, priors, clusters, seed, chain, bounds)
    return state_from_assignments(observations, priors, clusters, topics, rng)


def random_topics_for(n_tokens: int) -> int:
    """Return the number of random topics that the collapsed sampler starts with.

    Topics appear one token at a time and merge slowly, so a number that is typical of data of
    this size saves many sweeps: 7 for the letters (20,000 tokens), 60 for papers (2 million).
    """
    return int(np.clip(round(np.sqrt(n_tokens) / 20), 5, 60))


def start_blocked(
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    init: str = "auto",
    n_clusters: int | None = None,
    n_topics: int | None = None,
    bounds: Bounds = NO_BOUNDS,
) -> State:
    """Return the initial state of a chain of the blocked sampler.

    Parameters
    ----------
    init : {"auto", "random"}
        "auto": topics from random groups. If λ is finite, they are refined by a few sweeps
        without clusters, see `topics_without_clusters`, and all groups start in one cluster. If
        λ = ∞, or in a small corpus, the clusters are those of a mixture without topics, see
        `cluster_whole_groups`. "random": both at random. For words with λ = ∞, the topics are
        then refined by sweeps without clusters in either case.
        In a large corpus with a finite λ, several clusters are compared with one, see `start_from`.
        If there are levels above groups, "auto" compares several numbers of clusters, see
        `with_best_number_of_clusters`.
    n_clusters, n_topics : int
        Initial numbers, chosen by `clusters_for` and `topics_for` by default.

    Notes
    -----
    Chains of a large corpus start from a sample of its groups, see `extend_start`. The counts are
    those of the sample until the first sweep. The backend draws the labels of a corpus on disk.
    """
    check_init(init)
    key = Key(seed, chain, 0)
    rng = key.generator(Step.START)
    sample = groups_to_start_with(observations, rng)
    n_clusters = clusters_for(observations) if n_clusters is None else n_clusters
    groups_vary = not math.isinf(initial_value(priors.lam))
    n_topics = topics_for(observations, groups_vary) if n_topics is None else n_topics
    n_clusters, n_topics = at_most(n_clusters, bounds.clusters), at_most(n_topics, bounds.topics)
    groups = observations.in_memory() if sample is None else observations.take(sample)
    clusters: NDArray[np.integer] = rng.integers(0, n_clusters, groups.n_groups)
    topics: NDArray[np.integer] = first_topics(groups, priors, n_topics, key, init, rng)
    initial_topics = topics
    starts_in_one = init == "auto" and groups_vary and groups.n_tokens > MAX_SMALL_TOKENS
    if starts_in_one:
        clusters = np.zeros(groups.n_groups, np.int64)  # `split_and_merge_clusters` finds them
    elif init == "auto":
        clusters = cluster_whole_groups(groups, priors, clusters, seed, chain, bounds)
    if groups_vary and init == "auto" and groups.n_tokens:
        n_sweeps = sweeps_for(groups.n_tokens) if groups.n_words else 0
        is_wide = groups.has_wide_vectors
        n_sweeps = SWEEPS_IF_WIDE if is_wide else max(MIN_SWEEPS_WITHOUT_CLUSTERS, n_sweeps)
        arguments = (groups, priors, topics, seed, chain, bounds, n_sweeps)
        topics = topics_without_clusters(*arguments, dissolve=True)
    elif groups.n_words and not groups_vary:
        topics = topics_without_clusters(groups, priors, topics, seed, chain, bounds)
    state = start_from(clusters, topics, groups, priors, seed, chain, bounds, rng)
    if init == "auto" and is_eligible(groups, priors):
        shared = (clusters, initial_topics, n_topics, groups, priors, seed, chain, bounds)
        state = with_shared_mixtures(*shared) or state
    if groups.levels and starts_in_one:
        state = with_best_number_of_clusters(state, groups, priors, seed, chain, bounds)
    state.effects = start_effects(priors, len(state.topic_weights))
    if sample is None:
        start_levels(state, groups, priors, key)
        return state
    if isinstance(observations, DiskObservations):
        start_levels(state, groups, priors, key)
        state.cluster_of_group, state.topic_of_token = np.zeros(0, np.int32), np.zeros(0, np.uint16)
    else:
        extension = StartExtension(state, observations, priors, key)
        state.cluster_of_group, state.topic_of_token = extension.labels(observations)
        start_levels(state, observations, priors, key)
    return state


def start_from(
    clusters: NDArray[np.integer],
    topics: NDArray[np.integer],
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds,
    rng: np.random.Generator,
) -> State:
    """Return a state with these topics, and with these or more probable clusters.

    In a small corpus, or if λ = ∞, the clusters are those given, see `with_better_clusters`.
    """
    state = blocked_state(observations, priors, clusters, topics, rng)
    if math.isinf(state.lam) or observations.n_tokens <= MAX_SMALL_TOKENS:
        return state
    return with_better_clusters(state, observations, priors, seed, chain, bounds)


def first_topics(
    observations: Observations,
    priors: Priors,
    n_topics: int,
    key: Key,
    init: str,
    rng: np.random.Generator,
) -> NDArray[np.uint16]:
    """Return the initial topic of every token: from random groups, or at random."""
    topics: NDArray[np.uint16] = aligned(observations.n_tokens, dtype=np.uint16)
    if init == "auto" and observations.n_words:
        topics[:] = topics_of_random_groups(observations, priors, n_topics, key, rng)
    else:
        topics[:] = rng.integers(0, n_topics, observations.n_tokens, dtype=np.int32)
    return topics


def clusters_for(observations: Observations) -> int:
    """Return the initial number of clusters: many, because merging is faster than splitting."""
    return int(np.clip(observations.n_groups // 4, 1, MAX_INITIAL_CLUSTERS))


def topics_for(observations: Observations, groups_vary: bool = True) -> int:
    """Return the initial number of topics, which depends on the size of the data.

    It is generous, because topics disappear more easily than they appear: 14 for the letters
    (20,000 tokens of 35 words), 50 for images (2 million of 200), 300 for papers (2 million of
    13,000). Groups of text that vary use more topics than groups that share a mixture.
    """
    n_topics = math.sqrt(observations.n_tokens) / 10
    if groups_vary and observations.n_words >= MIN_TEXT_VOCABULARY:
        n_topics *= 2
    if observations.n_words:
        n_topics = min(n_topics, 10 + observations.n_words / 5)
    return int(np.clip(round(n_topics), 5, MAX_INITIAL_TOPICS))


def topics_of_random_groups(
    observations: Observations,
    priors: Priors,
    n_topics: int,
    key: Key,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw the topic of every token, given topics that are the words of one random group each."""
    layout, start = observations.layout, observations.group_start
    groups = np.flatnonzero(np.diff(start))
    chosen = rng.permutation(groups)[:n_topics]
    weights = np.zeros((observations.n_words, round_up_to_lanes(len(chosen))))
    weights[:, : len(chosen)] = priors.beta
    for m, j in enumerate(chosen):
        words = observations.word[start[j] : start[j + 1]]
        weights[:, m] += np.bincount(words, minlength=len(weights))
    if len(chosen):
        weights[:, : len(chosen)] /= weights[:, : len(chosen)].sum(axis=0)
    weights *= len(weights)  # brings most values near 1, far from underflow
    topics = np.zeros(observations.n_tokens, np.int32)
    tokens = (layout.word_start, layout.token_by_word, weights.astype(np.float32).reshape(-1))
    size, step = weights.shape, int(Step.TOPICS)
    draw_topics_by_word(0, size[0], size[1], *tokens, key, step, topics)
    return topics

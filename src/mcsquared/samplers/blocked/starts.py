"""Where a chain of the blocked sampler begins.

Topics begin as the words of single groups, chosen at random: sweeps make topics of them several
times sooner than of tokens that were spread at random, which all look alike at first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.cells import draw_topics_by_word
from mcsquared.kernels.rng import Step, generator
from mcsquared.model.parameters import initial_value
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers import starts
from mcsquared.samplers.blocked.assignments import state_of, whole_blocks
from mcsquared.samplers.blocked.relaxed import relax_topics
from mcsquared.samplers.blocked.spreading import Spread, groups_to_begin_with
from mcsquared.samplers.blocked.weights import Key
from mcsquared.state import NO_BOUNDS, Bounds, State

__all__ = ["start"]

MOST_CLUSTERS, MOST_TOPICS = 100, 300


def start(
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    init: str = "auto",
    n_clusters: int | None = None,
    n_topics: int | None = None,
    bounds: Bounds = NO_BOUNDS,
) -> State:
    """Return the state before the first sweep.

    Parameters
    ----------
    init : {"auto", "random"}
        "auto": topics from groups chosen at random, clusters from a mixture that knows no topics,
        see `mcsquared.samplers.starts.cluster_whole_groups`. "random": both at random. Where λ = ∞
        the topics of words then settle for some sweeps without clusters, see `relax_topics`.
    n_clusters, n_topics : int
        How many to begin with; by default by `clusters_for` and `topics_for`.

    Notes
    -----
    Of a large corpus a sample of the groups is looked at, see `spreading`. The counts are then
    those of the sample until the first sweep. The labels of a corpus that is not in memory are left
    to the place that holds it.
    """
    starts.check_init(init)
    rng = generator(seed, chain, 0, int(Step.START))
    sample = groups_to_begin_with(observations, rng)
    n_clusters = clusters_for(observations) if n_clusters is None else n_clusters
    n_topics = topics_for(observations) if n_topics is None else n_topics
    given = (priors, seed, chain, init, n_clusters, n_topics, bounds, rng)
    if sample is None:
        return _start(observations.whole(), *given)
    state = _start(observations.take(sample), *given)
    if isinstance(observations, DiskObservations):
        state.cluster_of_group, state.topic_of_token = np.zeros(0, np.int32), np.zeros(0, np.uint16)
    else:
        spread = Spread(state, observations, priors, Key(seed, chain, 0))
        state.cluster_of_group, state.topic_of_token = spread.labels(observations)
    return state


def _start(
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    init: str,
    n_clusters: int,
    n_topics: int,
    bounds: Bounds,
    rng: np.random.Generator,
) -> State:
    """Return the state before the first sweep, of groups that are all looked at."""
    clusters: NDArray[np.integer] = rng.integers(
        0, starts.at_most(n_clusters, bounds.clusters), observations.n_groups
    )
    n_topics = starts.at_most(n_topics, bounds.topics)
    if init == "auto":
        clusters = starts.cluster_whole_groups(observations, priors, clusters, seed, chain, bounds)
    if init == "auto" and observations.n_words:
        topics = topics_of_seeds(observations, priors, n_topics, seed, chain, rng)
    else:
        topics = rng.integers(0, n_topics, observations.n_tokens, dtype=np.int32)
    if observations.n_words and math.isinf(initial_value(priors.lam)):
        topics = relax_topics(observations, priors, topics, seed, chain, bounds)
    return state_of(observations, priors, clusters, topics, rng)


def clusters_for(observations: Observations) -> int:
    """Return how many clusters to begin with: many, because they merge sooner than they split."""
    return int(np.clip(observations.n_groups // 4, 1, MOST_CLUSTERS))


def topics_for(observations: Observations) -> int:
    """Return how many topics to begin with, by the size of the data.

    Topics merge and die more easily than they are born. 14 for the letters (20,000 tokens of 35
    words), 50 for images (2 million of 200), 150 for papers (2 million of 13,000).
    """
    most = math.sqrt(observations.n_tokens) / 10
    if observations.n_words:
        most = min(most, 10 + observations.n_words / 5)
    return int(np.clip(round(most), 5, MOST_TOPICS))


def topics_of_seeds(
    observations: Observations,
    priors: Priors,
    n_topics: int,
    seed: int,
    chain: int,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw the topic of every token by how often the groups chosen as topics have its word."""
    entries, layout = observations.layout.words_of_group, observations.layout
    groups = np.flatnonzero(np.diff(observations.group_start))
    chosen = rng.permutation(groups)[:n_topics]
    beta = float(priors.content.concentration)  # type: ignore[attr-defined]
    weights = np.zeros((observations.n_words, whole_blocks(len(chosen))))
    weights[:, : len(chosen)] = beta
    for m, j in enumerate(chosen):
        part = slice(entries.start[j], entries.start[j + 1])
        weights[entries.column[part], m] += entries.count[part]
    if len(chosen):
        weights[:, : len(chosen)] /= weights[:, : len(chosen)].sum(axis=0)
    weights *= len(weights)  # most are near 1 then, far from where floats end
    topics = np.zeros(observations.n_tokens, np.int32)
    draw_topics_by_word(
        0,
        observations.n_words,
        weights.shape[1],
        layout.word_start,
        layout.token_by_word,
        weights.astype(np.float32).reshape(-1),
        seed,
        chain,
        0,
        int(Step.TOPICS),
        topics,
    )
    return topics

"""How far a chain is from an exact distribution, and how far chance alone would put it."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from mcsquared.samplers import collapsed
from tests.statistics.tiny import canonical, columns_of

N_BATCHES = 50


@dataclass(frozen=True)
class Distance:
    """Total variation from the exact distribution, its expectation, and the largest |z|."""

    total_variation: float
    expected: float
    largest_z: float


def run(tiny, n_sweeps, seed, burn_in=200):
    """Sweep a tiny corpus; return labels (n_sweeps, n_groups), (n_sweeps, n_tokens)."""
    observations = tiny.observations
    bounds = tiny.bounds
    state = collapsed.start(
        observations, tiny.priors, seed, 0, "random", bounds.clusters or 2, bounds.topics or 2
    )
    clusters = np.empty((n_sweeps, observations.n_groups), np.int16)
    topics = np.empty((n_sweeps, observations.n_tokens), np.int16)
    for t in range(-burn_in, n_sweeps):
        collapsed.sweep(state, observations, tiny.priors, seed, 0, bounds)
        if t >= 0:
            clusters[t], topics[t] = state.cluster_of_group, state.topic_of_token
    return clusters, topics


def states_of(exact, clusters, topics):
    """Name the state of every sweep: a list of states, and the position of each sweep's in it."""
    rows, of_sweep = np.unique(np.hstack([clusters, topics]), axis=0, return_inverse=True)
    numbers, of_row = {}, np.empty(len(rows), int)
    for r, row in enumerate(rows.tolist()):
        z = canonical(row[: exact.n_groups])
        columns = columns_of(z, row[exact.n_groups :], exact.group_of_token, exact.word_of_token)
        of_row[r] = numbers.setdefault((z, columns), len(numbers))
    return list(numbers), of_row[of_sweep.reshape(-1)]


def distance(exact, states, of_sweep, summary):
    """Compare a summary of the state with its exact distribution.

    The standard error of every probability is that of batch means, and not below what
    independent draws would have: a state that was never seen has one too.
    """
    table = defaultdict(float)
    for state, chance in exact.states.items():
        table[summary(state)] += chance
    position = {value: i for i, value in enumerate(table)}
    # A state that cannot be is an error in itself, not a distance.
    found = np.array([position[summary(state)] for state in states])[of_sweep]
    chance = np.array(list(table.values()))
    size = len(found) // N_BATCHES
    batches = np.zeros((N_BATCHES, len(chance)))
    used = found[: size * N_BATCHES].reshape(N_BATCHES, size)
    for b in range(N_BATCHES):
        batches[b] = np.bincount(used[b], minlength=len(chance)) / size
    frequency = batches.mean(axis=0)
    variance = np.maximum(
        batches.var(axis=0, ddof=1) / N_BATCHES, chance * (1 - chance) / found.size
    )
    error = np.sqrt(variance)
    common = chance * found.size > 20  # rarer ones are not normal
    z = np.abs(frequency - chance)[common] / np.maximum(error[common], 1e-12)
    return Distance(
        total_variation=float(0.5 * np.abs(frequency - chance).sum()),
        expected=float(0.5 * np.sqrt(2 / np.pi) * error.sum()),
        largest_z=float(z.max(initial=0.0)),
    )


def partition(state):
    """The partition of the groups."""
    return state[0]


def everything(state):
    """The partition of the groups and the table of counts per (cluster, word, topic)."""
    return state


def n_clusters(state):
    return max(state[0]) + 1


def n_topics(state):
    return len(state[1])

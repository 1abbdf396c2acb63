"""Distance of a chain from an exact distribution, compared with that expected by chance."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from mcsquared.samplers.sweep import COLLAPSED
from tests.statistics.tiny import canonical
from tests.statistics.varying import exact_posterior

N_BATCHES = 50


@dataclass(frozen=True)
class Distance:
    """Total variation from the exact distribution, its expectation, and the largest |z|."""

    total_variation: float
    expected: float
    largest_z: float


@dataclass(frozen=True)
class Visits:
    """The states that a chain visits, when, and the exact distribution of what is seen of them."""

    states: list
    number_in_sweep: np.ndarray
    exact: dict


def run(tiny, n_sweeps, seed, sampler=COLLAPSED, burn_in=200):
    """Sweep a tiny corpus and note the state after every sweep.

    Parameters
    ----------
    sampler : module
        With ``start`` and ``sweep``.
    """
    exact, observations, bounds = exact_posterior(tiny), tiny.observations, tiny.bounds
    state = sampler.start(
        observations, tiny.priors, seed, 0, "random", bounds.clusters or 2, bounds.topics or 2
    )
    # A sampler whose groups share their cluster's mixture need not store the topic of each token.
    has_topics = len(state.topic_of_token) == observations.n_tokens
    view = view_of_labels if has_topics else view_of_counts
    table = dict(exact.states) if has_topics else counted(exact.states)
    numbers, number_in_sweep, seen = {}, np.empty(n_sweeps, int), {}
    for t in range(-burn_in, n_sweeps):
        sampler.sweep(state, observations, tiny.priors, seed, 0, bounds)
        if t >= 0:
            key = raw(state, has_topics)
            if key not in seen:
                seen[key] = numbers.setdefault(view(exact, state), len(numbers))
            number_in_sweep[t] = seen[key]
    return Visits(list(numbers), number_in_sweep, table)


def raw(state, has_topics):
    """Return the labels of a state, with clusters and topics numbered arbitrarily."""
    if has_topics:
        return state.cluster_of_group.tobytes(), state.topic_of_token.tobytes()
    tables = state.counts.topics_in_cluster, state.counts.words_in_topic
    seen = [part.tobytes() for table in tables for part in (*table.nonzero(), table[table > 0])]
    return state.cluster_of_group.tobytes(), *seen


def view_of_labels(exact, state):
    """The partition of the groups, and what exchangeable tokens leave of the topics."""
    clusters = canonical(state.cluster_of_group.tolist())
    return clusters, exact.columns(clusters, state.topic_of_token.tolist())


def view_of_counts(exact, state):
    """The partition of the groups, and each topic's tokens by cluster and by word."""
    slots = list(dict.fromkeys(state.cluster_of_group.tolist()))
    counts = state.counts
    topics = [
        (cells(counts.topics_in_cluster[slots, m]), cells(counts.words_in_topic[:, m]))
        for m in np.flatnonzero(counts.tokens_in_topic)
    ]
    return canonical(state.cluster_of_group.tolist()), tuple(sorted(topics))


def cells(row):
    return tuple((int(i), int(row[i])) for i in np.flatnonzero(row))


def counted(states):
    """The distribution of the counts of `view_of_counts`, from that of all labels."""
    table = defaultdict(float)
    for (clusters, columns), chance in states.items():
        topics = []
        for column in columns:
            sums = defaultdict(int), defaultdict(int)
            for indices, n in column:
                for side, where in zip(sums, indices, strict=True):
                    side[int(where)] += n
            topics.append(tuple(tuple(sorted(side.items())) for side in sums))
        table[clusters, tuple(sorted(topics))] += chance
    return dict(table)


def distance(visits, summary):
    """Compare a summary of the state with its exact distribution.

    The standard error of every probability is that of batch means, and not below what
    independent draws would have: a state that was never seen has one too.
    """
    table = defaultdict(float)
    for state, chance in visits.exact.items():
        table[summary(state)] += chance
    position = {value: i for i, value in enumerate(table)}
    # A state that cannot be is an error in itself, not a distance.
    found = np.array([position[summary(state)] for state in visits.states])[visits.number_in_sweep]
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
    """The partition of the groups and all that is seen of the topics."""
    return state


def n_clusters(state):
    return max(state[0]) + 1


def n_topics(state):
    return len(state[1])


def compare(tiny, n_sweeps, seed, sampler=COLLAPSED):
    """Run a chain and return its distances from the exact posterior by what is looked at."""
    visits = run(tiny, n_sweeps, seed, sampler)
    return {
        summary.__name__: distance(visits, summary)
        for summary in (partition, everything, n_clusters, n_topics)
    }


def is_exact(found, allowance, n_errors=np.inf):
    """Return whether distances exceed those expected by chance by no more than an allowance."""
    return all(
        found[what].total_variation < allowance + 2 * found[what].expected
        for what in ("partition", "everything")
    ) and all(found[what].largest_z < n_errors for what in ("n_clusters", "n_topics"))


def row(found):
    """Return the row of a comparison in the table of docs/calibration.md."""
    return {
        "largest_z": max(found["n_clusters"].largest_z, found["n_topics"].largest_z),
        "total_variation": found["partition"].total_variation,
        "note": f"all labels: {found['everything'].total_variation:.4f}, "
        f"by chance {found['everything'].expected:.4f}",
    }


def compare_twice(tiny, n_sweeps, sampler):
    """Compare a chain; one that is not exact is followed by another, three times as long.

    Of many chains some are beyond three standard errors by chance.

    Returns
    -------
    found : dict
        Distances of the last chain, see `compare`.
    measured : dict
        Its row of the table, the number of sweeps included.
    """
    found = compare(tiny, n_sweeps=n_sweeps, seed=1, sampler=sampler)
    measured = row(found)
    if not is_exact(found, allowance=0.01, n_errors=3):
        first, n_sweeps = measured, 3 * n_sweeps
        found = compare(tiny, n_sweeps=n_sweeps, seed=2, sampler=sampler)
        measured = row(found)
        measured["note"] += f"; a first, shorter chain: z {first['largest_z']:.2f}"
    return found, measured | {"n": n_sweeps}

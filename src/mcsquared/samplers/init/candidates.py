"""Comparison of initial clusters with those found from a single cluster (λ finite).

Sweeps do not remove surplus clusters of a start: the topics adapt to them within a few sweeps, and
a merge of two of them is then improbable. Given the topics of the start, candidates are therefore
sampled for some sweeps, each with its own concentrations, and the chain begins with the most
probable one. With the same topics, their probabilities can be compared:

    p(z, l, x, ε)  =  p(ε) α^K Γ(α) / Γ(α + J) Π_k Γ(n_k) m(x_k) p(l_k | vε, λ)

The weights of topics in clusters and groups are integrated out: W(S, O) of
`mcsquared.samplers.steps.split_merge` estimates log p(l_k | vε, λ), with S the groups of k.
"""

from __future__ import annotations

import math

import numpy as np

from mcsquared.arrays import Int32s
from mcsquared.gamma import Gamma
from mcsquared.kernels.cpu.counts import sum_log_rising_factorials
from mcsquared.kernels.cpu.split_merge import FIXED_POINT, PROPOSAL, Pairs
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import CONCENTRATIONS
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.content import divisions
from mcsquared.samplers.content.groups import resample_varying_groups, sum_by_cluster
from mcsquared.samplers.init.assignments import at_most, blocked_state
from mcsquared.samplers.init.topic_shares import cluster_rows, sqrt_shares_of_groups
from mcsquared.samplers.steps.concentrations import resample_concentrations
from mcsquared.samplers.steps.context_priors import resample_context_priors
from mcsquared.samplers.steps.globals import draw_without_content
from mcsquared.samplers.steps.groups import update_counts
from mcsquared.samplers.steps.log_joint import log_bags, log_clusters, log_topic_weights
from mcsquared.samplers.steps.slots import add_empty_slots
from mcsquared.samplers.steps.split_merge import SplitMergeRound, split_and_merge_clusters
from mcsquared.samplers.steps.tables import draw_cluster_tables
from mcsquared.samplers.steps.unique_categories import move_groups_with_unique_categories
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Globals, GroupTask, Key, Labels, Sums, Sweep
from mcsquared.state import Bounds, State

N_SWEEPS = 10  # of each candidate
# Offsets of the chain numbers of the candidates, which share no random numbers with any chain.
CANDIDATE_CHAINS = (2**28, 2**28 + 2**25)
CLUSTER_COUNTS = (10, 20, 40, 80)  # compared with a single cluster if there are levels
MIN_GROUPS = 4  # per cluster, on average


def with_better_clusters(
    state: State, observations: Observations, priors: Priors, seed: int, chain: int, bounds: Bounds
) -> State:
    """Return the more probable of the states sampled from the given clusters and from a single one.

    Topics are those of ``state``, and λ is finite. A state with a single cluster is returned as
    it is.
    """
    if state.n_clusters < 2 or not observations.n_tokens:
        return state
    single = np.zeros(observations.n_groups, np.int32)
    candidates: list[tuple[float, State]] = []
    for clusters, offset in zip((state.cluster_of_group, single), CANDIDATE_CHAINS, strict=True):
        key = Key(seed, offset + chain, 0)
        candidates.append(sample_candidate(clusters, state, observations, priors, key, bounds))
    return max(candidates, key=lambda found: found[0])[1]


def with_best_number_of_clusters(
    state: State, observations: Observations, priors: Priors, seed: int, chain: int, bounds: Bounds
) -> State:
    """Return a state with the same topics and the most probable number of clusters.

    A single cluster is compared with `CLUSTER_COUNTS` clusters of similar topic shares, in this
    order, until a number is less probable than the one before. All candidates but the single
    cluster use the same random numbers. Levels are ignored: clusters have the prior of a corpus
    without them.
    """
    limit = at_most(observations.n_groups // MIN_GROUPS, bounds.clusters)
    counts = [count for count in CLUSTER_COUNTS if count <= limit]
    if not counts or not observations.n_tokens:
        return state
    arguments = (state, observations, priors)
    shares = sqrt_shares_of_groups(observations, state)
    key, key_of_single = (Key(seed, offset + chain, 0) for offset in CANDIDATE_CHAINS)
    single = np.zeros(observations.n_groups, np.int32)
    best = sample_candidate(single, *arguments, key_of_single, bounds)
    for count in counts:
        clusters = cluster_rows(shares, count, key.generator(Step.CLUSTER_PAIRS))
        found = sample_candidate(clusters, *arguments, key, bounds)
        if found[0] < best[0]:
            break
        best = found
    return best[1]


def sample_candidate(
    clusters: Int32s,
    state: State,
    observations: Observations,
    priors: Priors,
    key: Key,
    bounds: Bounds,
) -> tuple[float, State]:
    """Return the `log_probability` of a state sampled from these clusters, and the state.

    Its topics are those of ``state``.
    """
    rng = key.generator(Step.START)
    candidate = blocked_state(observations, priors, clusters, state.topic_of_token, rng)
    return sample_clusters(candidate, observations, priors, key, bounds), candidate


def sample_clusters(
    state: State, observations: Observations, priors: Priors, key: Key, bounds: Bounds
) -> float:
    """Sample clusters and concentrations given the topics; return the `log_probability`."""
    backend = LocalBackend(observations, priors)
    backend.load_labels(state, key)
    for number in range(1, N_SWEEPS + 1):
        state.sweep = number
        sweep = Sweep(state, observations, priors, bounds, key._replace(sweep=number), backend)
        for step in STEPS:
            step(sweep)
    value = log_probability(sweep)
    state.sweep = 0
    return value


def draw_globals_of_clusters(sweep: Sweep) -> None:
    """Draw the globals that clusters depend on, given the topics."""
    sweep.globals = draw_without_content(sweep)


def sweep_clusters(sweep: Sweep) -> None:
    """Draw the cluster of every group given the topics of its tokens."""
    (sweep.sums,) = sweep.backend.map_groups(_draw_clusters, sweep.globals)
    update_counts(sweep.state, sweep.sums)


def _draw_clusters(
    observations: Observations, labels: Labels, globals_: Globals, threads: ThreadPool
) -> tuple[Labels, Sums]:
    task = GroupTask(observations, labels, globals_, threads)
    return labels, Sums(**resample_varying_groups(task), **sum_by_cluster(task))


STEPS = (
    add_empty_slots,
    draw_globals_of_clusters,
    move_groups_with_unique_categories,
    sweep_clusters,
    draw_cluster_tables,
    resample_concentrations,
    resample_context_priors,
    split_and_merge_clusters,
)


def log_probability(sweep: Sweep) -> float:
    """Return an estimate of log p(z, l, x, ε), plus the log-density of the concentrations."""
    state, observations = sweep.state, sweep.observations
    active = state.counts.tokens_in_topic > 0
    weights = np.maximum(state.topic_weights[active], np.finfo(np.float64).tiny)
    value = log_clusters(state, observations) + log_bags(state, observations)
    value += log_topic_weights(weights, float(state.log_unused[0]), state.eta)
    value += AllClusterPairs(sweep).log_content()
    for name in CONCENTRATIONS:
        prior, concentration = getattr(sweep.priors, name), getattr(state, name)
        if isinstance(prior, Gamma):
            value += prior.shape * math.log(concentration) - prior.rate * concentration
    return value - sum_log_rising_factorials(state.lam, *observations.layout.lengths)


class AllClusterPairs(SplitMergeRound):
    """All clusters in pairs, none of which is split or merged."""

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(sweep, sweep.key._replace(sweep=N_SWEEPS + 1))
        sizes = sweep.state.counts.groups_in_cluster
        n_pairs = -(-sweep.state.n_clusters // 2)
        # Occupied slots come first; an empty one completes the last pair.
        slots = np.argsort(sizes == 0, kind="stable")[: 2 * n_pairs]
        self.clusters = slots.reshape(n_pairs, 2).astype(np.int32)
        pair_of_cluster = np.full(len(sizes), -1, np.int32)
        pair_of_cluster[slots] = np.arange(2 * n_pairs) // 2
        side_of_cluster = np.zeros(len(sizes), np.int8)
        side_of_cluster[slots] = np.arange(2 * n_pairs) % 2
        self.pairs = Pairs(
            pair_of_cluster=pair_of_cluster,
            side_of_cluster=side_of_cluster,
            anchors=np.full((n_pairs, 2), -1),
            is_split=np.zeros(n_pairs, bool),
            is_launched=np.zeros(n_pairs, bool),
            log_odds=np.zeros(n_pairs),
        )

    def log_content(self) -> float:
        """Return Σ_k W(S, O) with new tables O of every cluster."""
        self.clusters_and_sqrt_shares(np.zeros(0, np.int64))
        sums = self.divide(self.empty_launch(), PROPOSAL, 0)
        shares, state = self.shares_of_sets(sums), self.sweep.state
        sets = divisions.GroupSets(shares, np.ones(len(shares), bool), state.lam, self.key)
        drawn = self.sum_groups(divisions.draw_set_tables, sets)
        shape = state.counts.topics_in_cluster.shape
        unchanged = divisions.NewClusters(shape, self.clusters.reshape(-1), None, self.cluster_draw)
        self.sum_groups(divisions.end_division, unchanged)
        values = self.log_weights(drawn["tables"], shares, drawn["log_likelihood"] / FIXED_POINT)
        return float(values[: self.clusters.size].sum())

"""Splits and merges of clusters, with new tables for their groups (λ finite).

Given the topics of all tokens, with τ, φ and π integrated out, the target is

    p(z, o)  ∝  α^K Π_k Γ(n_k) m(x_k) DM(O_k; vε) Π_jm |s(n_jm, o_jm)| λ^o_jm

with m the marginal density of contexts, s(n, o) Stirling numbers of the first kind, and
DM(O; vε) = Γ(v) / Γ(v + Σ_m O_m) Π_m Γ(vε_m + O_m) / Γ(vε_m). Anchors are pairs of groups, chosen
regardless of their clusters: if both are in one cluster, its split is proposed, otherwise the merge
of the two clusters. Tables of a new set S of groups are drawn with it, o ~ CRT(n, λτ(S)), where
τ(S) depends on the set alone. The Stirling numbers cancel, and a set has the weight

    W(S, O)  =  log DM(O; vε) + Σ_{j in S} log p(n_j | λτ(S)) − Σ_m O_m log τ(S)_m

A split of S into A and B has the ratio

    log R(S → A, B)  =  log α + ln Γ(n_A) + ln Γ(n_B) − ln Γ(n_S)
                        + log m(A) + log m(B) − log m(S)
                        + W(A, O_A) + W(B, O_B) − W(S, O_S) − log q(A, B)

where q is the probability that S is divided in this way; a merge has the inverse. Most pairs are
divided by a launch: both sides start with their anchors alone, and the sides of all groups are
resampled until few change (Jain and Neal, "A split-merge Markov chain Monte Carlo procedure for the
Dirichlet process mixture model", 2004). The others are divided by a coin of unknown bias, so that
their merges depend on the marginal likelihood alone, which removes clusters that no launch would
find again.

If contexts act on topics, their rows τ_s and ω are given as well. The base measure of group j is
then b_j = w_j0 τ(S) + rest_j, with w_j0 the weight of the cluster and rest_j the other sources of
the group: O counts the tables that come from the cluster, and λb_j replaces λτ(S) in p(n_j). The
tables of values change with those of clusters, and only their sums are known. Therefore τ_k and the
tables of all groups are redrawn at the end.

Pairs of a round have no cluster in common. The groups of a pair's clusters stay together, so pairs
do not depend on each other, and all of them are proposed at once, by sums over groups.
"""

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from mcsquared.arrays import CountArray, Floats, Int32s
from mcsquared.families.numerics import log_rising_factorial
from mcsquared.kernels.cpu.categories import sum_category_terms
from mcsquared.kernels.cpu.effects import SourceRows
from mcsquared.kernels.cpu.split_merge import ANCHORS, FIXED_POINT, PROPOSAL, SCAN, Launch, Pairs
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.samplers.content import divisions
from mcsquared.samplers.content.divisions import GroupDivision, GroupSets, summed_chunks
from mcsquared.samplers.content.effects import TableParameters, redraw_tables, rows_of_values
from mcsquared.samplers.init.assignments import round_up_to_lanes
from mcsquared.samplers.steps.effects import draw_effects, with_unused_weight
from mcsquared.samplers.steps.groups import update_counts
from mcsquared.samplers.steps.lam import resample_lam_and_tables
from mcsquared.samplers.steps.split_merge_levels import RootWeights
from mcsquared.samplers.steps.weights import draw_log_topic_shares
from mcsquared.samplers.types import Key, Sums, Sweep

FIRST_SWEEPS, PERIOD = 60, 5  # every sweep at first, then fewer: most proposals are rejected
ROUND_CHAIN = 2**26  # offset of the chain number: no other step draws the same numbers
N_CANDIDATES, N_PAIRS = 256, 64  # groups from which anchors are chosen, and pairs of a round
MAX_CANDIDATES = 64  # of the second anchor
SHARE_LAUNCHED = 0.75
MAX_SCANS = 12
FEW_MOVED = 0.01  # share of groups: a launch ends when fewer move
NEWTON_STEPS = 4
SMALLEST_SHARE = 1e-300


def split_and_merge_clusters(sweep: Sweep) -> None:
    """Draw λ again, and propose to split and to merge clusters, if λ is finite."""
    state = sweep.state
    is_due = state.sweep <= FIRST_SWEEPS or state.sweep % PERIOD == 0
    is_possible = sweep.backend.moves_clusters and sweep.observations.n_groups >= 2
    if math.isinf(state.lam) or not is_due or not is_possible:
        return
    # Topic weights of effects are redrawn given their tables, and stay fixed during the moves.
    key, last_key = (sweep.key._replace(chain=sweep.key.chain + n * ROUND_CHAIN) for n in (1, 2))
    topic_weights = with_unused_weight(state)
    effects = draw_effects(state.effects, sweep.priors, topic_weights, last_key)
    SplitMergeRound(sweep, key, None if effects is None else rows_of_values(effects)).run()
    sweep.backend.load_clusters(state)
    if effects is not None:
        log_shares = draw_log_topic_shares(sweep, topic_weights, last_key)
        argument = TableParameters(state.lam, log_shares, effects, last_key)
        sums = sweep.backend.sum_groups(redraw_tables, argument)
        state.tables_in_cluster = sums["tables_in_cluster"]
        assert state.effects is not None
        state.effects.tables = sums["tables_of_values"]
        sweep.backend.load_clusters(state)


class SplitMergeRound:
    """Splits and merges of pairs of clusters that are proposed at once, with their own key.

    ``effects`` are the topic weights of the values of effects.
    """

    pairs: Pairs
    clusters: Int32s  # (n_pairs, 2): clusters of the anchors

    def __init__(self, sweep: Sweep, key: Key, effects: SourceRows | None = None) -> None:
        self.sweep, self.key, self.effects = sweep, key, effects
        state = sweep.state
        active = state.counts.tokens_in_topic > 0
        # Topics with tokens have a prior weight, however small.
        weights = np.maximum(state.v * state.topic_weights, SMALLEST_SHARE)
        self.prior = np.where(active, weights, 0.0)
        self.levels = RootWeights(sweep, key) if state.levels else None
        self.cluster_draw = None
        if sweep.observations.background_columns:
            self.cluster_draw = divisions.ClusterDraw(sweep.globals.contexts, sweep.key)

    def run(self) -> None:
        """Propose, and accept or reject, a split or a merge for every pair; update the state."""
        self.choose_pairs()
        key = self.sweep.key._replace(chain=self.sweep.key.chain + 3 * ROUND_CHAIN)
        resample_lam_and_tables(self.sweep, key, self.sum_groups)
        cluster_of_side = self.propose() if len(self.clusters) else np.zeros(0, np.int32)
        state, levels = self.sweep.state, self.levels if len(self.clusters) else None
        slots = state.counts.topics_in_cluster.shape
        row_of_unit = None if levels is None else levels.row_of_unit
        moved = divisions.NewClusters(slots, cluster_of_side, row_of_unit, self.cluster_draw)
        update_counts(state, Sums(**self.sum_groups(divisions.end_division, moved)))
        if levels is not None:
            levels.redraw_tables()

    def propose(self) -> Int32s:
        """Return the cluster of every side after acceptance or rejection, int32 (2 n_pairs,)."""
        sums = self.divide(self.launch(), PROPOSAL, MAX_SCANS + 1)
        shares = self.shares_of_sets(sums)
        is_split = self.pairs.is_split
        is_new = np.concatenate([np.repeat(is_split, 2), ~is_split])
        sets = GroupSets(shares, is_new, self.sweep.state.lam, self.key, self.effects)
        drawn = self.sum_groups(divisions.draw_set_tables, sets)
        tables = np.where(is_new[:, None], drawn["tables"], self.current_tables())
        log_weight = self.log_weights(tables, shares, drawn["log_likelihood"] / FIXED_POINT)
        shapes = self.sweep.state.category_shapes
        log_weight += log_marginals(self.sweep.observations, shapes, sums)
        return self.accept(self.log_gain(sums, log_weight), sums["groups"], tables)

    def sum_groups(self, function: Any, argument: Any) -> dict[str, Any]:
        """Return the sums of a function over all groups."""
        return self.sweep.backend.sum_groups(function, argument)

    def choose_pairs(self) -> None:
        """Draw anchors; the second one is the most similar of 1, 4, 16 or 64 candidates."""
        state, rng = self.sweep.state, self.key.generator(Step.CLUSTER_PAIRS)
        n_groups = self.sweep.observations.n_groups
        chosen = np.sort(rng.choice(n_groups, min(N_CANDIDATES, n_groups), replace=False))
        clusters, rows = self.clusters_and_sqrt_shares(chosen)
        first = rng.integers(0, len(chosen), N_PAIRS)
        candidates = rng.integers(0, len(chosen), (N_PAIRS, MAX_CANDIDATES))
        n_candidates = 4 ** rng.integers(0, 4, N_PAIRS)
        second = np.empty(N_PAIRS, np.int64)
        for pair, (group, n) in enumerate(zip(first, n_candidates, strict=True)):
            others = candidates[pair, :n]
            similarity = np.einsum("m,cm->c", rows[group], rows[others])
            similarity[others == group] = -1.0
            second[pair] = others[similarity.argmax()]
        is_launched, coins = rng.random(N_PAIRS) < SHARE_LAUNCHED, rng.random(N_PAIRS)
        pair_of_cluster = np.full(len(state.counts.groups_in_cluster), -1, np.int32)
        side_of_cluster = np.zeros(len(pair_of_cluster), np.int8)
        kept: list[int] = []
        for pair, (a, b) in enumerate(zip(clusters[first], clusters[second], strict=True)):
            if first[pair] == second[pair] or pair_of_cluster[a] >= 0 or pair_of_cluster[b] >= 0:
                continue
            pair_of_cluster[[a, b]] = len(kept)
            side_of_cluster[b] = a != b
            kept.append(pair)
        self.clusters = np.stack([clusters[first[kept]], clusters[second[kept]]], axis=1)
        self.pairs = Pairs(
            pair_of_cluster=pair_of_cluster,
            side_of_cluster=side_of_cluster,
            anchors=np.stack([chosen[first[kept]], chosen[second[kept]]], axis=1),
            is_split=self.clusters[:, 0] == self.clusters[:, 1],
            is_launched=is_launched[kept],
            log_odds=np.log(coins[kept]) - np.log1p(-coins[kept]),
        )

    def clusters_and_sqrt_shares(self, chosen: Any) -> tuple[Int32s, Floats]:
        """Return clusters of groups, and square roots of their topic shares."""
        argument = divisions.ChosenGroups(len(self.sweep.state.topic_weights), chosen)
        parts = self.sweep.backend.map_groups(divisions.begin_division, argument)
        rows = np.vstack([counts for _, counts in parts])
        rows = np.sqrt(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0))
        return np.concatenate([clusters for clusters, _ in parts]), rows

    def empty_launch(self) -> Launch:
        """Return a launch without parameters; set the statistics of the sides to zero."""
        n_sides, n_slots = 2 * len(self.clusters), len(self.prior)
        observations = self.sweep.observations
        self.statistics = np.zeros((n_sides, observations.n_context_statistics))
        return Launch(
            shares=np.zeros((n_sides, n_slots)),
            log_sizes=np.zeros(n_sides),
            natural=np.zeros((n_sides, int(observations.dense.stat_start[-1]))),
            categories=np.zeros((observations.n_categories, n_sides + 1), np.int32),
            totals=np.zeros((n_sides + 1, len(observations.bag_families)), np.int64),
            scores=np.zeros(0),
        )

    def launch(self) -> Launch:
        """Return the parameters of both sides of every pair, given its groups and anchors."""
        launch = self.estimate(self.divide(self.empty_launch(), ANCHORS, 0))
        for scan in range(1, MAX_SCANS + 1):
            sums = self.divide(launch, SCAN, scan)
            launch = self.estimate(sums)
            if sums["n_moved"][0] <= FEW_MOVED * sums["groups"][:-1].sum():
                break
        return launch

    def divide(self, launch: Launch, mode: int, attempt: int) -> dict[str, Any]:
        """Divide the groups of every pair; return the sums of both sides."""
        state = self.sweep.state
        division = GroupDivision(
            mode=mode,
            attempt=attempt,
            pairs=self.pairs,
            launch=launch,
            category_shapes=state.category_shapes,
            statistics=self.statistics,
            lam=state.lam,
            key=self.key,
            effects=self.effects,
            drawn=self.cluster_draw,
        )
        return summed_chunks(self.sum_groups(divisions.divide, division))

    def estimate(self, sums: dict[str, Any]) -> Launch:
        """Return the parameters of sides with these sums."""
        n_sides = 2 * len(self.clusters)
        tables = sums["tables"] / FIXED_POINT
        self.statistics = sums["context_statistics"][:n_sides]
        natural = [np.zeros((n_sides, 0))]
        for family, columns in self.sweep.observations.context_columns:
            if family.kernel is not None:
                parameters = family.mean_parameters(self.statistics[:, columns])
                natural.append(family.natural_parameters(parameters))
        return Launch(
            shares=self.mean_shares(tables),
            log_sizes=np.log(sums["groups"][:n_sides] + 0.5),
            natural=np.hstack(natural),
            categories=sums["categories"],
            totals=sums["totals"],
            scores=np.zeros(0),
        )

    def mean_shares(self, tables: Floats) -> Floats:
        """Return the mean of τ given numbers of tables (n_sets, topic slots)."""
        total = self.sweep.state.v + tables.sum(axis=1, keepdims=True)
        return np.maximum((self.prior + tables) / total, SMALLEST_SHARE)

    def shares_of_sets(self, sums: dict[str, Any]) -> Floats:
        """Return τ(S) of both sides and of their union, for every pair: (3 n_pairs, topic slots).

        A few bounded Newton steps in log τ_m towards τ = (vε + E[O | τ]) / (v + E|O|), where the
        derivative of E[O_m | τ] is the variance of O_m. The sides come first.
        """
        state, not_used = self.sweep.state, np.zeros(0)
        shares = self.mean_shares(with_unions(sums["tables"]) / FIXED_POINT)
        rest = max(state.v - float(self.prior.sum()), 0.0)
        for _ in range(NEWTON_STEPS):
            sets = GroupSets(shares, not_used, state.lam, self.key, self.effects)
            moments = self.sum_groups(divisions.sum_moments, sets)
            means, variances = moments["means"] / FIXED_POINT, moments["variances"] / FIXED_POINT
            target = self.mean_shares(means)
            slope = np.maximum(1.0 - variances / np.maximum(self.prior + means, 1e-300), 0.1)
            step = np.clip(np.log(target / shares) / slope, -1.0, 1.0)
            shares = np.where(means > 0.0, shares * np.exp(step), target)
            total = state.v + means.sum(axis=1, keepdims=True)
            shares *= (1.0 - rest / total) / shares.sum(axis=1, keepdims=True)
            shares = np.maximum(shares, SMALLEST_SHARE)
        return shares

    def current_tables(self) -> Floats:
        """Return the current tables of every set; they are not used for sets that are new."""
        sides = self.sweep.state.tables[self.clusters.reshape(-1)]
        return np.concatenate([sides, self.sweep.state.tables[self.clusters[:, 0]]])

    def log_weights(self, tables: Floats, shares: Floats, log_likelihood: Floats) -> Floats:
        """Return W(S, O) of every set."""
        occupied = tables > 0
        prior = np.broadcast_to(self.prior, tables.shape)[occupied]
        terms = np.zeros(tables.shape)
        terms[occupied] = log_rising_factorial(prior, tables[occupied].astype(np.float64))
        terms[occupied] -= tables[occupied] * np.log(shares[occupied])
        total = tables.sum(axis=1).astype(np.float64)
        return terms.sum(axis=1) - log_rising_factorial(self.sweep.state.v, total) + log_likelihood

    def log_gain(self, sums: dict[str, Any], log_weight: Floats) -> Floats:
        """Return log R(S → A, B) of every pair, with its sides A and B and their union S."""
        n_pairs = len(self.clusters)
        sizes = gammaln(with_unions(sums["groups"][: 2 * n_pairs, None])[:, 0])
        value = sizes + log_weight if self.levels is None else log_weight
        divided = value[: 2 * n_pairs].reshape(n_pairs, 2).sum(axis=1) - value[2 * n_pairs :]
        by_coin = sizes[: 2 * n_pairs].reshape(n_pairs, 2).sum(axis=1) - sizes[2 * n_pairs :]
        log_proposal = sums["log_proposal"] / FIXED_POINT
        log_proposal = np.where(self.pairs.is_launched, log_proposal, by_coin)
        if self.levels is None:
            return math.log(self.sweep.state.alpha) + divided - log_proposal
        return self.levels.log_gain(self.clusters, self.pairs.is_split) + divided - log_proposal

    def accept(self, log_gain: Floats, groups: Any, tables: CountArray) -> Int32s:
        """Accept or reject every pair in turn; return the cluster of every side."""
        state, bound = self.sweep.state, self.sweep.bounds.clusters
        log_uniforms = np.log(self.key.generator(Step.CLUSTER_MOVES).random(len(log_gain)))
        n_missing = int(self.pairs.is_split.sum()) - int(
            (state.counts.groups_in_cluster == 0).sum()
        )
        if n_missing > 0:
            state.add_cluster_slots(round_up_to_lanes(n_missing))  # as vector kernels require
        if tables.max(initial=0) > np.iinfo(state.tables.dtype).max:
            state.tables_in_cluster = state.tables.astype(np.int64)
        cluster_sizes, n_pairs = state.counts.groups_in_cluster, len(log_gain)
        moved_to = self.clusters.copy()
        for p, (a, b) in enumerate(self.clusters):
            if self.pairs.is_split[p]:
                is_full = bound is not None and state.n_clusters >= bound
                if log_uniforms[p] >= log_gain[p] or is_full:
                    continue
                b = int(np.flatnonzero(cluster_sizes == 0)[0])
                moved_to[p, 1] = b
                cluster_sizes[[a, b]] = groups[2 * p : 2 * p + 2]
                state.tables[[a, b]] = tables[2 * p : 2 * p + 2]
                if self.levels is not None:
                    self.levels.split(p, a, b)
            elif log_uniforms[p] < -log_gain[p]:
                moved_to[p, 1] = a
                cluster_sizes[[a, b]] = groups[2 * p] + groups[2 * p + 1], 0
                state.tables[a], state.tables[b] = tables[2 * n_pairs + p], 0
                if self.levels is not None:
                    self.levels.merge(a, b)
        return moved_to.reshape(-1).astype(np.int32)


def with_unions(sides: Any) -> Any:
    """Append the sums of both sides of every pair to the sums of sides (2 n_pairs, n)."""
    return np.concatenate([sides, sides.reshape(len(sides) // 2, 2, -1).sum(axis=1)])


def log_marginals(observations: Observations, shapes: Floats, sums: dict[str, Any]) -> Floats:
    """Return the log marginal density of the contexts of every set, up to a constant.

    ``shapes`` are the Dirichlet parameters of the categories of all bags.
    """
    n_sides = len(sums["groups"]) - 1
    total = np.zeros(n_sides + n_sides // 2)
    statistics = with_unions(sums["context_statistics"][:n_sides])
    for family, columns in observations.context_columns:
        total += family.log_marginal(statistics[:, columns])
    categories = sums["categories"][:, :n_sides].T
    for family, columns in observations.bag_columns_given(shapes):
        counts = with_unions(categories[:, columns])
        parameters = np.broadcast_to(family.shapes, counts.shape[1]).astype(np.float64)
        total += [sum_category_terms(1.0, parameters, row) for row in counts]
        sizes = counts.sum(axis=1, dtype=np.float64)
        total -= log_rising_factorial(parameters.sum(), sizes)
    return total

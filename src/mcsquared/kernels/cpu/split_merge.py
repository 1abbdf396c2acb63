"""Splits and merges of clusters: divisions of groups, and tables and likelihoods of the parts.

The groups of a pair are those of the clusters of its two anchor groups. Side 0 of pair p has the
label 2p, side 1 the label 2p + 1, and groups without a pair the label 2 n_pairs. Sums over groups
are integers (floats are rounded to multiples of 2⁻²⁴) and can be added in any order.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.contexts import fill_statistics
from mcsquared.kernels.cpu.groups import (
    count_tables,
    empty_uniforms,
    fill_group_uniforms,
    list_topics,
)
from mcsquared.kernels.cpu.share_tables import (
    SHIFT,
    add_expected_tables,
    add_moments,
    log_odds_of_topics,
    log_rising_given,
)
from mcsquared.kernels.cpu.special import add_log, log_rising_factorial
from mcsquared.kernels.rng import Step, uniform_of

SIDES, TABLES = int(Step.CLUSTER_SIDES), int(Step.SET_TABLES)
SOURCES = int(Step.SET_SOURCES)
FIXED_POINT = 2.0**24  # scale of floats that are summed as integers
TOPIC_BITS = 14  # low bits of the index of a random number; the others are the group
ANCHORS, SCAN, PROPOSAL = 0, 1, 2
FEW_OCCURRENCES = 8  # of a category in a group: factors are multiplied


class Pairs(NamedTuple):
    """Pairs of anchor groups whose clusters are to be split or merged."""

    pair_of_cluster: np.ndarray  # int32 (cluster slots,): pair of each cluster, -1 if none
    side_of_cluster: np.ndarray  # int8 (cluster slots,): its side in a merge
    anchors: np.ndarray  # int64 (n_pairs, 2): positions of the anchors in the corpus
    is_split: np.ndarray  # bool (n_pairs,)
    is_launched: np.ndarray  # bool (n_pairs,): sides depend on the data, not on a coin per pair
    log_odds: np.ndarray  # float64 (n_pairs,): log odds of that coin


class GroupBases(NamedTuple):
    """Base measures of groups given the topic shares τ of their set: weight × τ + rest.

    The arrays are empty without effects: the weight is λ then, and there is no rest.
    """

    lam: float
    weight: np.ndarray  # float64 (n_groups,): λ times the weight of the cluster
    rest: np.ndarray  # float64 (n_entries,): λ times the share of the topic in other sources


class Launch(NamedTuple):
    """Parameters of the two sides of every pair, from which groups are divided."""

    shares: np.ndarray  # float64 (2 n_pairs, topic slots)
    log_sizes: np.ndarray  # float64 (2 n_pairs,)
    natural: np.ndarray  # float64 (2 n_pairs, statistics of dense contexts)
    categories: np.ndarray  # int32 (categories of all bags, 2 n_pairs + 1): groups on each side
    totals: np.ndarray  # int64 (2 n_pairs + 1, bags): their sums over the categories of a bag
    scores: np.ndarray  # float64 (n_groups,): log odds of contexts of Python families; or (0,)


@njit(cache=True, nogil=True, error_model="numpy")
def count_topics_of_groups(first_chunk, last_chunk, groups, topic_of_token, n_slots):
    """Count the tokens of every group by topic.

    Returns
    -------
    n_topics : int64 (groups of the chunks,)
    topic, count : int32 (n_entries,)
        Group by group, with topics in increasing order.
    """
    first, last = groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]
    max_entries = 0
    for j in range(first, last):
        max_entries += min(groups.start[j + 1] - groups.start[j], n_slots)
    n_topics = np.zeros(last - first, np.int64)
    topic, count = np.empty(max_entries, np.int32), np.empty(max_entries, np.int32)
    tokens = np.zeros(n_slots, np.int32)
    n_entries = 0
    for j in range(first, last):
        lists = topic[n_entries:], count[n_entries:]
        n_topics[j - first] = list_topics(j, groups, topic_of_token, tokens, *lists)
        n_entries += n_topics[j - first]
    return n_topics, topic[:n_entries].copy(), count[:n_entries].copy()


@njit(cache=True, error_model="numpy")
def table_moments(n, a):
    """Return the mean and variance of CRT(n, a); if n > 3, with log(x − ½) for digamma(x)."""
    if n == 1:
        return 1.0, 0.0
    if n <= 3:
        mean, squares = 0.0, 0.0
        for i in range(n):
            p = a / (a + i)
            mean += p
            squares += p * p
        return mean, mean - squares
    mean = a * math.log((a + n - 0.5) / (a + 0.5))
    return 1.0 + mean, max(mean - a * a * (1.0 / (a + 0.5) - 1.0 / (a + n - 0.5)), 0.0)


@njit(cache=True, error_model="numpy", inline="always")
def weight_of(j, bases):
    """Return the factor of τ in the base measure of group ``j``."""
    return bases.weight[j] if bases.weight.size > 0 else bases.lam


@njit(cache=True, error_model="numpy", inline="always")
def rest_of(e, bases):
    """Return the part of the base measure of entry ``e`` that does not depend on τ."""
    return bases.rest[e] if bases.rest.size > 0 else 0.0


@njit(cache=True, error_model="numpy")
def cluster_table_moments(n, from_cluster, rest):
    """Return the mean and variance of the number of tables that come from the cluster.

    Customer i = 0, 1, ..., n − 1 opens one with probability c / (c + rest + i), c = from_cluster.
    """
    mean, variance = table_moments(n, from_cluster + rest)
    if rest > 0.0:
        share = from_cluster / (from_cluster + rest)
        squares = share * share * (mean - variance)
        mean *= share
        variance = max(mean - squares, 0.0)
    return mean, variance


@njit(cache=True, error_model="numpy")
def content_log_odds(j, rows, bases, one, other):
    """Return log p(n_j | one) − log p(n_j | other), approximately, given two rows of topic shares.

    Stirling's formula without its series suffices, because proposals need not be exact.
    """
    value, product = 0.0, 1.0
    weight = weight_of(j, bases)
    for e in range(rows.start[j], rows.start[j + 1]):
        rest = rest_of(e, bases)
        a, b = weight * one[rows.column[e]] + rest, weight * other[rows.column[e]] + rest
        n = rows.count[e]
        product *= a / b
        if n <= 4:
            for i in range(1, n):
                product *= (a + i) / (b + i)
        else:
            x, y = a + n - 0.5, b + n - 0.5
            value += x * math.log(x) - (a + 0.5) * math.log(a + 0.5)
            value -= y * math.log(y) - (b + 0.5) * math.log(b + 0.5)
        if product < 1e-100 or product > 1e100:
            value += math.log(product)
            product = 1.0
    return value + math.log(product)


@njit(cache=True, error_model="numpy")
def subtract_log(value, product, factor):
    """Return (value, product) such that ``value − log(product)`` decreases by ``log(factor)``."""
    negated, product = add_log(-value, product, factor)
    return -negated, product


@njit(cache=True, error_model="numpy")
def context_log_odds(j, side, label, dense, bags, launch, statistics):
    """Return the log odds of the contexts of group ``j`` on ``side`` against ``side + 1``.

    ``label`` is the side whose sums of categories include the group, which is removed from them.
    ``statistics`` is scratch for one row of dense statistics.
    """
    odds = 0.0
    for c in range(dense.kind.size):
        if not dense.observed[j, c]:
            continue
        first, last = fill_statistics(j, c, dense, statistics)
        for s in range(first, last):
            odds += statistics[s] * (launch.natural[side, s] - launch.natural[side + 1, s])
    for c in range(bags.smoothing.size):
        first, last = bags.start[c, j], bags.start[c, j + 1]
        if first == last:
            continue
        n, above, below = 0, 1.0, 1.0
        for e in range(first, last):
            category, count = bags.category[e], bags.count[e]
            n += count
            one = bags.shapes[category] + launch.categories[category, side]
            other = bags.shapes[category] + launch.categories[category, side + 1]
            one -= count if label == side else 0
            other -= count if label == side + 1 else 0
            if count > FEW_OCCURRENCES:
                odds += log_rising_factorial(one, count) - log_rising_factorial(other, count)
                continue
            for i in range(count):
                odds, above = add_log(odds, above, one + i)
                odds, below = subtract_log(odds, below, other + i)
        odds += math.log(above) - math.log(below)
        for s in range(side, side + 2):
            total = launch.totals[s, c] - (n if label == s else 0)
            log_rising = log_rising_factorial(bags.smoothing[c] + total, n)
            odds -= log_rising if s == side else -log_rising
    return odds


@njit(cache=True, error_model="numpy")
def log_sigmoid(x):
    """Return log(1 / (1 + exp(−x)))."""
    return -math.log1p(math.exp(-x)) if x > 0.0 else x - math.log1p(math.exp(x))


@njit(cache=True, nogil=True, error_model="numpy")
def divide_groups(
    first_chunk,
    last_chunk,
    mode,
    attempt,
    groups,
    clusters,
    rows,
    contexts,
    pairs,
    launch,
    likelihoods,
    bases,
    key,
    label_of_group,
    tables,
    log_proposal,
    n_moved,
):
    """Divide the groups of every pair between its two sides.

    Parameters
    ----------
    mode : int
        ANCHORS: only the anchors are assigned. SCAN: sides are drawn for all groups of launched
        pairs. PROPOSAL: sides are drawn for splits; for merges they are those of the clusters.
    attempt : int
        Attempt number of the random numbers.
    clusters : int32 (n_groups,)
    rows : Entries
        Topics of every group.
    contexts : (DenseContexts, BagContexts)
    pairs : Pairs
    launch : Launch
    likelihoods : Likelihoods
        Of the 2 n_pairs sides; empty with effects, and for ANCHORS.
    bases : GroupBases
    label_of_group : int32 (n_groups,)
        The previous labels, which are overwritten.
    tables : int64 (2 n_pairs, topic slots)
        Expected numbers of tables are added, in fixed point.
    log_proposal : int64 (n_pairs,)
        Log-probabilities of the sides of launched pairs are added, in fixed point.
    n_moved : int64 (1,)
        The number of groups whose label changed is added.
    """
    dense, bags = contexts
    n_pairs = len(pairs.anchors)
    statistics, has_likelihoods = np.empty(dense.stat_start[-1]), likelihoods.base.size > 0
    for j in range(groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]):
        before, label_of_group[j] = label_of_group[j], 2 * n_pairs
        p = pairs.pair_of_cluster[clusters[j]]
        if p < 0 or (mode == SCAN and not pairs.is_launched[p]):
            continue
        group = groups.first_group + j
        side = -1
        if group == pairs.anchors[p, 0]:
            side = 0
        elif group == pairs.anchors[p, 1]:
            side = 1
        elif mode == ANCHORS:
            continue
        else:
            odds = pairs.log_odds[p]
            if pairs.is_launched[p]:
                odds = launch.log_sizes[2 * p] - launch.log_sizes[2 * p + 1]
                if has_likelihoods:
                    sides = (2 * p, 2 * p + 1, likelihoods)
                    odds += log_odds_of_topics(rows.start[j], rows.start[j + 1], rows, *sides)
                else:
                    both = launch.shares[2 * p], launch.shares[2 * p + 1]
                    odds += content_log_odds(j, rows, bases, *both)
                odds += context_log_odds(j, 2 * p, before, dense, bags, launch, statistics)
                if launch.scores.size > 0:
                    odds += launch.scores[j]
            if mode == SCAN or pairs.is_split[p]:
                u = uniform_of(key, SIDES, group, attempt)
                side = 0 if math.log(1.0 / u - 1.0) < odds else 1
            else:
                side = pairs.side_of_cluster[clusters[j]]
            if mode == PROPOSAL and pairs.is_launched[p]:
                log_q = max(log_sigmoid(odds if side == 0 else -odds), -1e9)
                log_proposal[p] += round(log_q * FIXED_POINT)
        label = 2 * p + side
        label_of_group[j] = label
        n_moved[0] += label != before
        first, last = rows.start[j], rows.start[j + 1]
        if mode == SCAN and has_likelihoods:
            given = (label, likelihoods, FIXED_POINT)
            add_expected_tables(first, last, rows, *given, tables[label])
            continue
        weight = weight_of(j, bases)
        for e in range(first, last):
            m, n = rows.column[e], rows.count[e]
            if mode == SCAN:
                from_cluster = weight * launch.shares[label, m]
                expected = cluster_table_moments(n, from_cluster, rest_of(e, bases))[0]
            else:
                expected = (1.0 + math.log(float(n))) * (weight / bases.lam)
            tables[label, m] += round(expected * FIXED_POINT)


@njit(cache=True, nogil=True, error_model="numpy")
def sum_table_moments(
    first_chunk,
    last_chunk,
    groups,
    rows,
    label_of_group,
    bases,
    shares,
    moments,
    means,
    variances,
):
    """Add the mean and variance of the number of tables of every set, in fixed point.

    Tables are those of the cluster, without those that come from the values of effects. Sets are
    the sides of the pairs, then their unions.

    Parameters
    ----------
    shares : float64 (3 n_pairs, topic slots)
    moments : Moments
        Of the 3 n_pairs sets; empty with effects.
    means, variances : int64 (3 n_pairs, topic slots)
    """
    n_pairs = len(shares) // 3
    for j in range(groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]):
        label = np.int64(label_of_group[j])
        if label == 2 * n_pairs:
            continue
        first, last, weight = rows.start[j], rows.start[j + 1], weight_of(j, bases)
        for s in (label, 2 * n_pairs + label // 2):
            if moments.base.size > 0:
                given = (s, moments, FIXED_POINT)
                add_moments(first, last, rows, *given, means[s], variances[s])
                continue
            for e in range(first, last):
                m, n, rest = rows.column[e], rows.count[e], rest_of(e, bases)
                mean, variance = cluster_table_moments(n, weight * shares[s, m], rest)
                means[s, m] += round(mean * FIXED_POINT)
                variances[s, m] += round(variance * FIXED_POINT)


@njit(cache=True, error_model="numpy")
def thin_tables(n, share, key, index):
    """Draw how many of n tables come from the cluster: Binomial(n, share)."""
    kept = 0
    for i in range(n):
        kept += uniform_of(key, SOURCES, index, i) < share
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def draw_tables_of_sets(
    first_chunk,
    last_chunk,
    groups,
    rows,
    label_of_group,
    bases,
    shares,
    is_new,
    log_gammas,
    key,
    tables,
    log_likelihood,
):
    """Draw o_jm ~ CRT(n_jm, λ τ_m) in the sets that are new, and add log p(n_j | τ) in all sets.

    With effects, b_jm replaces τ_m, and only the tables that come from the cluster are added.

    Parameters
    ----------
    bases : GroupBases
    shares : float64 (3 n_pairs, topic slots)
        τ of every set: the sides of the pairs, then their unions.
    is_new : bool (3 n_pairs,)
    log_gammas : float64 (3 n_pairs, topic slots)
        ln Γ(λτ_m); (0, 0) with effects.
    tables : int64 (3 n_pairs, topic slots)
        Numbers of tables are added.
    log_likelihood : int64 (3 n_pairs,)
        Σ_j Σ_m [ln Γ(λτ_m + n_jm) − ln Γ(λτ_m)] is added, in fixed point.
    """
    n_pairs, uniforms = len(shares) // 3, empty_uniforms(groups)
    for j in range(groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]):
        label = np.int64(label_of_group[j])
        if label == 2 * n_pairs:
            continue
        index = (groups.first_group + j) << TOPIC_BITS
        weight = weight_of(j, bases)
        for s in (label, 2 * n_pairs + label // 2):
            total, product, customers = 0.0, 1.0, 0
            if is_new[s]:  # either the sides of a pair or their union
                fill_group_uniforms(j, groups, key, TABLES, uniforms)
            for e in range(rows.start[j], rows.start[j + 1]):
                m, n = rows.column[e], rows.count[e]
                from_cluster, rest = weight * shares[s, m], rest_of(e, bases)
                a = from_cluster + rest
                if n <= SHIFT:
                    for i in range(n):
                        total, product = add_log(total, product, a + i)
                elif log_gammas.size > 0:
                    total += log_rising_given(a, n, log_gammas[s, m])
                else:
                    total += log_rising_factorial(a, n)
                if is_new[s]:
                    n_tables = count_tables(float32(a), n, uniforms, customers)
                    customers += n
                    if rest > 0.0:
                        n_tables = thin_tables(n_tables, from_cluster / a, key, index + m)
                    tables[s, m] += n_tables
            log_likelihood[s] += round((total + math.log(product)) * FIXED_POINT)


@njit(cache=True, nogil=True, error_model="numpy")
def sum_topics(first_chunk, last_chunk, groups, rows, clusters, topics):
    """Add the tokens of every group to ``topics`` int32 (cluster slots, topic slots)."""
    for j in range(groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]):
        for e in range(rows.start[j], rows.start[j + 1]):
            topics[clusters[j], rows.column[e]] += rows.count[e]

"""Groups whose topic weights follow their cluster and the values of their contexts (λ finite).

    θ_j ~ DP(λ, b_j),   b_j  =  w_j0 τ_{z_j} + Σ_s w_js τ_s        s: values of the group's effects

The weights w_j0 and w_js of a group sum to 1. Its base measure λ b_j replaces the row λ τ_k in the
kernels of tokens. Given the topics of the tokens,

    log p(z_j = k)  =  log π_k + contexts + Σ_m ln Γ(λ b_jm(k) + n_jm) − ln Γ(λ b_jm(k))

and the tables o_jm ~ CRT(n_jm, λ b_jm) are divided over the cluster and the values, the *sources*
of b_j, in proportion to w_js τ_sm.
"""

from typing import NamedTuple

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.contexts import add_context_scores
from mcsquared.kernels.cpu.fast_math import log_lanes
from mcsquared.kernels.cpu.groups import (
    count_below,
    count_tables,
    empty_uniforms,
    fill_group_uniforms,
    list_topics,
)
from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add,
    add_product,
    divide,
    fill,
    load,
    maximum,
    multiply,
    store,
    subtract,
)
from mcsquared.kernels.cpu.special import log_rising_factorial, pick
from mcsquared.kernels.cpu.thresholds import running_sums, search_running_sums
from mcsquared.kernels.rng import Step, uniform_of

F = np.float32
CLUSTERS, TOPICS = int(Step.CLUSTERS), int(Step.TOPICS)
GROUP_TABLES, TABLE_SOURCES = int(Step.GROUP_TABLES), int(Step.TABLE_SOURCES)
# Factors of a rising factorial that are multiplied, and the λ beyond which their product might
# overflow in single precision.
FEW_FACTORS, MAX_FAST_LAM = 4, 1e8
MANY_FACTORS, MAX_LAM_OF_MANY = 8, 3e4
# Factor i of n is SCALES × a + ADDED, at 8 n + i: a + i, or 1 if i ≥ n.
_IS_FACTOR = np.arange(MANY_FACTORS) < np.arange(MANY_FACTORS + 1)[:, None]
SCALES = _IS_FACTOR.astype(np.float32).reshape(-1)
ADDED = np.where(_IS_FACTOR, np.arange(MANY_FACTORS), 1).astype(np.float32).reshape(-1)


class EffectValues(NamedTuple):
    """Values of the effects of each group, in CSR layout."""

    start: np.ndarray  # int64 (n_groups + 1,)
    row: np.ndarray  # int32 (n_entries,): value, numbered over all effects
    effect: np.ndarray  # int32 (n_entries,): 1, 2, ...; 0 is the cluster
    share: np.ndarray  # float32 (n_entries,): share of the value in its effect
    pattern: np.ndarray  # int32 (n_groups,): bit c − 1 is set if the group has effect c


class SourceRows(NamedTuple):
    """Topic weights of clusters and values, in some uses times λ, and the weights of effects."""

    base: np.ndarray  # (cluster slots, topic slots): τ_k or λ τ_k
    rows: np.ndarray  # (values, topic slots): τ_s or λ τ_s
    weights: np.ndarray  # (n_effects + 1,): ω
    scales: np.ndarray  # (2^n_effects,): 1 / Σ ω over the sources that a group of the pattern has


@njit(cache=True, error_model="numpy")
def fill_base(j, k, values, sources, out):
    """Write λ b_j of a group in cluster ``k`` to ``out`` (topic slots,)."""
    scale = sources.scales[values.pattern[j]]
    w = sources.weights[0] * scale
    for m in range(out.size):
        out[m] = w * sources.base[k, m]
    for e in range(values.start[j], values.start[j + 1]):
        w = sources.weights[values.effect[e]] * scale * values.share[e]
        row = values.row[e]
        for m in range(out.size):
            out[m] += w * sources.rows[row, m]


@njit(cache=True, nogil=True, error_model="numpy")
def fill_bases(chosen, cluster_of_group, values, sources, out):
    """Write λ b_j of the chosen groups to the rows of ``out`` (n_chosen, topic slots)."""
    for i in range(chosen.size):
        fill_base(chosen[i], cluster_of_group[chosen[i]], values, sources, out[i])


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_tokens_of_many_topics(chosen, groups, word, base, factors, key, topic_of_token):
    """Draw the topics of all tokens of the chosen groups; efficient if there are many topics.

    Parameters
    ----------
    chosen : int64 (n_chosen,)
    base : float32 (n_chosen, topic slots)
        λ b_j of each chosen group.
    factors : float32 (n_words × topic slots,)
        ψ_mw up to a common factor.
    """
    n_slots = base.shape[1]
    weights, count = np.empty(n_slots, np.float32), np.zeros(n_slots, np.int64)
    uniforms = empty_uniforms(groups)
    sums = np.zeros(n_slots + 3 * N_LANES, np.float32)
    for c in range(chosen.size):
        j = chosen[c]
        first, last = groups.start[j], groups.start[j + 1]
        fill_group_uniforms(j, groups, key, TOPICS, uniforms)
        count[:] = 0
        for i in range(first, last):
            count[topic_of_token[i]] += 1
        for m in range(n_slots):
            weights[m] = float32(count[m]) + base[c, m]
        for i in range(first, last):
            old = np.int64(topic_of_token[i])
            count[old] -= 1
            weights[old] = float32(count[old]) + base[c, old]
            offset = np.int64(word[i]) * n_slots
            total = running_sums(weights, 0, factors, offset, n_slots, sums)
            drawn = old
            if total > F(0.0):
                drawn = search_running_sums(sums, n_slots, uniforms[i - first] * total)
            count[drawn] += 1
            weights[drawn] = float32(count[drawn]) + base[c, drawn]
            topic_of_token[i] = drawn


@njit(cache=True, error_model="numpy")
def add_log_rising(topics, counts, n_topics, weight, base, rest, lam, scratch, topic_scores):
    """Add Σ_t ln Γ(a_t + n_t) − ln Γ(a_t), a_t = weight × base[m_t, k] + rest_t, n_t ≥ 1.

    Up to eight factors (four if λ is large) are multiplied before a logarithm is taken, or twice as
    many in two products; beyond, Stirling's formula gives those after the first four. Topics of
    similar counts are processed together, because branches that are hard to predict would take most
    of the time. For a very large λ, all terms are computed in double precision.

    Parameters
    ----------
    base : float32 (topic slots, slots)
        Slots are a multiple of sixteen.
    scratch : int64 (3, topic slots)
    topic_scores : float32 (slots,)
    """
    if lam > MAX_FAST_LAM:
        for t in range(n_topics):
            row = base[topics[t]]
            for k in range(topic_scores.size):
                a = max(float(weight * row[k] + rest[t]), 1e-30)
                topic_scores[k] += float32(log_rising_factorial(a, counts[t]))
        return
    most = MANY_FACTORS if lam <= MAX_LAM_OF_MANY else FEW_FACTORS
    n_few, n_more, n_many = 0, 0, 0
    few, more, many = scratch
    for t in range(n_topics):
        if counts[t] <= most:
            few[n_few] = t
            n_few += 1
        elif counts[t] <= 2 * most:
            more[n_more] = t
            n_more += 1
        else:
            many[n_many] = t
            n_many += 1
    flat, n_slots, w = base.reshape(-1), topic_scores.size, fill(weight)
    for k in range(0, n_slots, N_LANES):
        total = load(topic_scores, k)
        for i in range(n_few):
            t = few[i]
            a = base_lanes(flat, topics[t] * n_slots + k, w, rest[t])
            total = add(total, log_lanes(factors(a, counts[t])))
        for i in range(n_more):
            t = more[i]
            a = base_lanes(flat, topics[t] * n_slots + k, w, rest[t])
            total = add(total, log_lanes(factors(a, most)))
            rising = factors(add(a, fill(float32(most))), counts[t] - most)
            total = add(total, log_lanes(rising))
        for i in range(n_many):
            t = many[i]
            a, n = base_lanes(flat, topics[t] * n_slots + k, w, rest[t]), float32(counts[t])
            total = add(total, log_lanes(factors(a, FEW_FACTORS)))
            total = add(total, log_ratio_of_gammas(a, F(FEW_FACTORS), n))
        store(topic_scores, k, total)


@njit(cache=True, error_model="numpy", inline="always")
def base_lanes(base, offset, weight, rest):
    """Return λ b_jm of sixteen clusters. A base of 0 has underflowed and is replaced by 1e-30."""
    return maximum(add_product(fill(rest), weight, load(base, offset)), fill(F(1e-30)))


@njit(cache=True, error_model="numpy", inline="always")
def factors(a, n):
    """Return a (a + 1) ... (a + n − 1) of every lane, n from 1 to 8, without branches."""
    product, first = a, n * MANY_FACTORS
    for i in range(1, MANY_FACTORS):
        factor = add_product(fill(ADDED[first + i]), fill(SCALES[first + i]), a)
        product = multiply(product, factor)
    return product


@njit(cache=True, error_model="numpy", inline="always")
def log_ratio_of_gammas(a, few, n):
    """Return ln Γ(a + n) − ln Γ(a + few) of every lane, by Stirling's formula."""
    one, x, y = fill(F(1.0)), add(a, fill(few)), add(a, fill(n))
    more, inverse_x, inverse_y = fill(n - few), divide(one, x), divide(one, y)
    ratio = multiply(more, inverse_x)
    grown = add(one, ratio)
    lost = subtract(ratio, subtract(grown, one))
    log_grown = add_product(log_lanes(grown), lost, multiply(x, inverse_y))  # log1p(ratio)
    value = subtract(multiply(subtract(y, fill(F(0.5))), log_grown), more)
    value = add_product(value, more, log_lanes(x))
    return add(value, subtract(stirling_lanes(inverse_y), stirling_lanes(inverse_x)))


@njit(cache=True, error_model="numpy", inline="always")
def stirling_lanes(inverse):
    """Return the first terms of Stirling's series at 1 / ``inverse`` ≥ 4, lane by lane."""
    square = multiply(inverse, inverse)
    return multiply(inverse, add_product(fill(F(1.0 / 12)), fill(F(-1.0 / 360)), square))


@njit(cache=True, error_model="numpy")
def fill_rest(j, topics, n_topics, values, sources, parts, rest):
    """Write the part of λ b_j that does not depend on the cluster, for the group's topics.

    ``parts`` float32 (values, topics): what each value contributes; ``rest``: their sum.
    """
    scale = sources.scales[values.pattern[j]]
    for t in range(n_topics):
        rest[t] = F(0.0)
    first = values.start[j]
    for e in range(first, values.start[j + 1]):
        w = sources.weights[values.effect[e]] * scale * values.share[e]
        row, part = sources.rows[values.row[e]], parts[e - first]
        for t in range(n_topics):
            part[t] = w * row[topics[t]]
            rest[t] += part[t]


@njit(cache=True, nogil=True, error_model="numpy")
def fill_rest_of_entries(lam, entries, values, sources, weight, rest):
    """Write λ w_j0 of every group, and λ Σ_s w_js τ_sm of its topics, to ``weight`` and ``rest``.

    Parameters
    ----------
    entries : Entries
        Topics of every group.
    sources : SourceRows
        Rows without λ; those of clusters are not used.
    weight : float64 (n_groups,)
    rest : float64 (n_entries,)
        Zeros on entry.
    """
    for j in range(weight.size):
        scale = lam * sources.scales[values.pattern[j]]
        weight[j] = sources.weights[0] * scale
        for p in range(values.start[j], values.start[j + 1]):
            w = sources.weights[values.effect[p]] * scale * values.share[p]
            for e in range(entries.start[j], entries.start[j + 1]):
                rest[e] += w * sources.rows[values.row[p], entries.column[e]]


@njit(cache=True, error_model="numpy")
def divide_tables(cluster, parts, n_values, t, n, uniforms, first, tables_of_value):
    """Assign ``n`` tables of a group's topic ``t`` to its sources, with a random number each.

    ``cluster`` is the cluster's part of λ b_jm, ``parts`` those of the values. Writes the tables of
    each value to ``tables_of_value`` (values,); returns the number of tables of the cluster.
    """
    total = cluster
    for e in range(n_values):
        total += parts[e, t]
    in_cluster = count_below(cluster, total, uniforms, first, n)
    below, sum_so_far, last = in_cluster, cluster, -1
    for e in range(n_values):
        tables_of_value[e] = 0
        if below == n:
            continue
        if parts[e, t] > F(0.0):
            last = e
            sum_so_far += parts[e, t]
            up_to_here = count_below(sum_so_far, total, uniforms, first, n)
            tables_of_value[e] = up_to_here - below
            below = up_to_here
    # A table whose product is rounded up to the total belongs to the last source with a part.
    if last < 0:
        return n
    tables_of_value[last] += n - below
    return in_cluster


@njit(cache=True, error_model="numpy")
def add_divided_tables(
    j, z, listed, parts, rest, groups, key, uniforms, scratch, values, sources, tables
):
    """Draw the tables of a group and add them to those of its sources; return their number.

    ``listed`` are topics, their counts and their number, from `list_topics`, and ``tables`` those
    of `resample_groups_with_effects`.
    """
    in_cluster, value_tables, _ = tables
    topics, counts, n_topics = listed
    opened, tables_of_value = scratch
    w = sources.weights[0] * sources.scales[values.pattern[j]]
    fill_group_uniforms(j, groups, key, GROUP_TABLES, uniforms)
    first = total = 0
    for t in range(n_topics):
        a = w * sources.base[z, topics[t]] + rest[t]
        opened[t] = count_tables(a, counts[t], uniforms, first)
        first += counts[t]
        total += opened[t]
    # A random number for every table: a group has at most as many tables as tokens.
    fill_group_uniforms(j, groups, key, TABLE_SOURCES, uniforms, total)
    begin = values.start[j]
    n_values, first = values.start[j + 1] - begin, 0
    for t in range(n_topics):
        m, n = topics[t], opened[t]
        cluster = w * sources.base[z, m]
        in_cluster[z, m] += divide_tables(
            cluster, parts, n_values, t, n, uniforms, first, tables_of_value
        )
        for e in range(n_values):
            if tables_of_value[e] > 0:
                value_tables[values.row[begin + e], m] += tables_of_value[e]
        first += n
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def resample_groups_with_effects(
    first_chunk,
    last_chunk,
    groups,
    topic_of_token,
    lam,
    base_by_topic,
    values,
    sources,
    draws_clusters,
    log_weights,
    contexts,
    key,
    cluster_of_group,
    topics_in_cluster,
    tables,
    log_likelihood,
):
    """Draw the cluster and the tables of each group in some chunks, given its topics.

    Parameters
    ----------
    base_by_topic : float32 (topic slots, cluster slots)
        λ τ_km, transposed.
    sources : SourceRows
        float32.
    draws_clusters : bool
        Whether clusters are drawn; otherwise only tables.
    log_weights : float64 (cluster slots,)
        log π_k; −∞ in slots that must not be drawn.
    topics_in_cluster : int32 (cluster slots, topic slots)
        Tokens c_km are added to it.
    tables : tuple
        Tables are added: int32 (cluster slots, topic slots) of clusters, int32 (values, topic
        slots) of values, and int64 (2^n_effects,) of all groups with the same effects.
    log_likelihood : float64 (n_chunks,)
        Output: Σ_j Σ_m [ln Γ(λb_jm + n_jm) − ln Γ(λb_jm)] over the groups of each chunk,
        or 0 if clusters are not drawn.
    """
    n_slots, n_cluster_slots = base_by_topic.shape
    scores, topic_scores = np.empty(n_cluster_slots), np.empty(n_cluster_slots, np.float32)
    statistics = np.empty(contexts.dense.stat_start[-1])
    count, rest = np.zeros(n_slots, np.int64), np.empty(n_slots, np.float32)
    uniforms = empty_uniforms(groups)
    topics, counts, opened = np.empty((3, n_slots), np.int64)
    lists = np.empty((3, n_slots), np.int64)
    max_values = np.max(np.diff(values.start)) if values.pattern.size > 0 else 0
    parts = np.empty((max_values, n_slots), np.float32)
    scratch = (opened, np.empty(max_values, np.int64))
    for chunk in range(first_chunk, last_chunk):
        total = 0.0
        for j in range(groups.chunk_start[chunk], groups.chunk_start[chunk + 1]):
            n_topics = list_topics(j, groups, topic_of_token, count, topics, counts)
            fill_rest(j, topics, n_topics, values, sources, parts, rest)
            z = np.int64(cluster_of_group[j])
            if draws_clusters:
                w = sources.weights[0] * sources.scales[values.pattern[j]]
                topic_scores[:] = F(0.0)
                given = (w, base_by_topic, rest, lam)
                add_log_rising(topics, counts, n_topics, *given, lists, topic_scores)
                for k in range(n_cluster_slots):
                    scores[k] = log_weights[k] + topic_scores[k]
                add_context_scores(j, contexts, statistics, scores)
                u = uniform_of(key, CLUSTERS, groups.first_group + j, 0)
                z = pick(scores, n_cluster_slots, u)
                cluster_of_group[j] = z
                total += topic_scores[z]
            listed = (topics, counts, n_topics)
            tables[2][values.pattern[j]] += add_divided_tables(
                j, z, listed, parts, rest, groups, key, uniforms, scratch, values, sources, tables
            )
            for t in range(n_topics):
                topics_in_cluster[z, topics[t]] += counts[t]
        log_likelihood[chunk] = total

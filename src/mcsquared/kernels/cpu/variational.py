"""Expected topics of new groups given the globals, without sampling.

Collapsed variational inference of order zero (Asuncion et al. 2009): the weights θ of the topics
and the responsibilities γ of topics for a token solve

    θ_m  =  λτ_m + Σ_w n_w γ_wm,        γ_wm  =  (θ_m − γ_wm) ψ_m(w) / Y_w

hence γ_wm = θ_m ψ_m(w) / (Y_w + ψ_m(w)), with Y_w such that Σ_m γ_wm = 1. To first order this is
Z − Σ_m θ_m ψ_m(w)² / Z for Z = Σ_m θ_m ψ_m(w), so that γ need not be stored. A pass multiplies θ by
g = θ' / θ, where θ' is the new θ, and all passes but the last by g², which halves their number
(Salakhutdinov and Roweis 2003). Equal tokens of a group share their responsibilities. ψ is sparse
apart from its prior: ψ_m(w) = value_mw + shape_w × scale_m.
"""

from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit

ZERO, ONE = np.float32(0.0), np.float32(1.0)
UNSIGNED = np.uint64  # an index that cannot be negative takes half of the time
WIDTH = 32  # rows of topics are padded to a multiple of this: loops have no remainder
MIN_SUM = np.float32(1e-30)  # smaller sums of a token's weights are imprecise
MAX_GROWTH = np.float32(8.0)  # of the additional factor of a pass
MIN_OTHERS = np.float32(0.25)  # weight without the token itself, at least, relative to all
MIN_COUNT = np.float32(0.1)  # topics that start with fewer tokens keep their weights
UNKNOWN = np.float32(-1.0)  # initial count of a topic that takes part in any case


class TopicTable(NamedTuple):
    """ψ of distinct tokens, each a row: value + shape × scale. All but indices are float32."""

    start: np.ndarray  # int64 (n_rows + 1,): entries of row w are start[w]:start[w + 1]
    topic: np.ndarray  # uint16 or int32 (n,)
    value: np.ndarray  # (n,)
    shape: np.ndarray  # (n_rows,): prior of the word
    scale: np.ndarray  # (n_topics,): 1 / (training tokens and prior)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_columns(indptr, indices, data, scale, start, topic, value):
    """Write the columns of a CSR matrix, times a scale per row, as rows of a table.

    ``start`` is zero; afterwards entries of column w are ``start[w]:start[w + 1]``.
    """
    for entry in range(indices.size):
        start[indices[entry] + 1] += 1
    for w in range(start.size - 1):
        start[w + 1] += start[w]
    position = start[:-1].copy()
    for m in range(indptr.size - 1):
        for entry in range(indptr[m], indptr[m + 1]):
            w = indices[entry]
            topic[position[w]] = m
            value[position[w]] = np.float32(data[entry]) * scale[m]
            position[w] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def take_rows(table, rows, result):
    """Write ψ of some rows: float32 (n, n_topics)."""
    start, topic, value, shape, scale = table
    for i in range(rows.size):
        row = rows[i]
        result[i] = shape[row] * scale
        for entry in range(start[row], start[row + 1]):
            result[i, topic[entry]] += value[entry]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def mix_topics(table, rows, shares, result):
    """Write Σ_m τ_km ψ_m(w) of some rows: float32 (n, n_clusters); ``shares`` is transposed τ."""
    start, topic, value, shape, scale = table
    n_clusters = shares.shape[1]
    prior, total = np.zeros(n_clusters, np.float32), np.empty(n_clusters, np.float32)
    for m in range(scale.size):
        for k in range(n_clusters):
            prior[k] += scale[m] * shares[m, k]
    for i in range(rows.size):
        row = rows[i]
        for k in range(n_clusters):
            total[k] = shape[row] * prior[k]
        for entry in range(start[row], start[row + 1]):
            m, part = topic[entry], value[entry]
            for k in range(n_clusters):
                total[k] += part * shares[m, k]
        result[i] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def sum_rows(start, rows, occurrences, values, result):
    """Write Σ occurrences × values[row] over the entries of each group: float64 (n_groups, n)."""
    for j in range(start.size - 1):
        result[j] = 0.0
        for entry in range(start[j], start[j + 1]):
            row, number = rows[entry], np.float64(occurrences[entry])
            for k in range(values.shape[1]):
                result[j, k] += number * values[row, k]


@njit(cache=True, nogil=True, error_model="numpy")
def mix_rows(start, rows, table, topics, result):
    """Write Σ_m θ_jm ψ_m(w) of every entry: float32 (n_entries,).

    Four sums in turn are faster than instructions that gather the weights.
    """
    first, topic, value, shape, scale = table
    for j in range(start.size - 1):
        theta = topics[j]
        prior = (theta * scale).sum()
        for entry in range(start[j], start[j + 1]):
            row = rows[entry]
            i, last = UNSIGNED(first[row]), UNSIGNED(first[row + 1])
            a, b, c, d = shape[row] * prior, ZERO, ZERO, ZERO
            while i + UNSIGNED(4) <= last:
                a += theta[topic[i]] * value[i]
                b += theta[topic[i + UNSIGNED(1)]] * value[i + UNSIGNED(1)]
                c += theta[topic[i + UNSIGNED(2)]] * value[i + UNSIGNED(2)]
                d += theta[topic[i + UNSIGNED(3)]] * value[i + UNSIGNED(3)]
                i += UNSIGNED(4)
            while i < last:
                a += theta[topic[i]] * value[i]
                i += UNSIGNED(1)
            result[entry] = (a + b) + (c + d)


@njit(cache=True, nogil=True, error_model="numpy")
def choose_topics(weights, initial, scale, given, base, column, chosen_scale):
    """Give a column to each topic whose weight changes, and return their padded number.

    The other topics have column −1 in ``column``, and ``given`` is their weight.
    """
    n_chosen = 0
    for m in range(weights.size):
        count = initial[m] if initial.size else UNKNOWN
        given[m] = weights[m] + max(count, ZERO)
        column[m] = -1
        if count >= MIN_COUNT or count < ZERO:
            column[m], base[n_chosen], chosen_scale[n_chosen] = n_chosen, weights[m], scale[m]
            n_chosen += 1
    width = n_chosen + -n_chosen % WIDTH
    base[n_chosen:width] = 0.0
    chosen_scale[n_chosen : width + 1] = 0.0
    return width


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def copy_rows(rows, table, column, fixed, scale, width, dense, rest):
    """Copy ψ of the chosen topics to ``dense``, and Σ θ_m ψ_m of the others to ``rest``.

    ``column`` is ``width``, an unused one, for the other topics, and ``fixed`` their weights, 0
    for chosen topics. A row has no topic twice, so that cells are written once, not added to.
    """
    first, topic, value, shape, all_scales = table
    prior = (fixed * all_scales).sum()
    stride = width + 1
    for i in range(rows.size):
        row, begin = UNSIGNED(rows[i]), UNSIGNED(i * stride)
        own_shape = shape[row]
        total = own_shape * prior
        for a in range(UNSIGNED(width)):
            dense[begin + a] = own_shape * scale[a]
        for entry in range(UNSIGNED(first[row]), UNSIGNED(first[row + UNSIGNED(1)])):
            m, part = topic[entry], value[entry]
            cell = UNSIGNED(column[m])
            total += fixed[m] * part
            dense[begin + cell] = part + own_shape * scale[cell]
        rest[i] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def add_ratios(occurrences, dense, rest, given, ratios):
    """Write Σ_w n_w ψ_m(w) / (Y_w + ψ_m(w)) of the chosen topics to ``ratios``."""
    width = given.size
    ratios[:] = 0.0
    for i in range(occurrences.size):
        begin, total, square = i * (width + 1), rest[i], ZERO
        for a in range(width):
            product = given[a] * dense[begin + a]
            total += product
            square += product * dense[begin + a]
        if total > MIN_SUM:
            others = max(total - square / total, MIN_OTHERS * total)
            for a in range(width):
                ratios[a] += occurrences[i] * dense[begin + a] / (others + dense[begin + a])
        else:  # the token is improbable in every topic of the group
            best = dense[begin : begin + width].argmax()
            given[best] = max(given[best], MIN_SUM)
            ratios[best] += occurrences[i] / given[best]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def change_weights(base, ratios, given, is_last, limit):
    """Replace the weights by those of a pass; return whether it was the last one.

    It is if ``is_last``, or if no more than ``limit`` tokens changed their topic.
    """
    change, total, relaxed = ZERO, ZERO, ZERO
    for a in range(given.size):
        new = base[a] + given[a] * ratios[a]
        change += abs(new - given[a])
        total += new
    is_last = is_last or change <= np.float32(2.0) * limit
    for a in range(given.size):
        new = base[a] + given[a] * ratios[a]
        growth = ONE if is_last else min(new / max(given[a], MIN_SUM), MAX_GROWTH)
        given[a] = new * growth
        relaxed += given[a]
    if not is_last and relaxed > ZERO:
        given *= total / relaxed
    return is_last


@njit(cache=True, nogil=True, error_model="numpy")
def fold_in_topics(start, rows, occurrences, table, weights, initial, n_passes, tolerance, counts):
    """Find the expected number of tokens of each topic in each group.

    Parameters
    ----------
    start : int64 (n_groups + 1,)
        Entries of group j are ``start[j]:start[j + 1]``.
    rows : int32 (n_entries,)
    occurrences : float32 (n_entries,)
    table : TopicTable
        ψ_m of each distinct token, up to a factor per row.
    weights : float32 (n_groups, n_topics)
        λτ_m of the group's cluster.
    initial : float32 (n_groups, n_topics) or (n_groups, 0)
        Number of tokens from which the passes start; without columns, they start from the weights.
        Topics with fewer than `MIN_COUNT` keep these tokens, and their weights do not change.
    n_passes : int
        Maximum number of passes over the entries of a group.
    tolerance : float
        A group is finished if topics gain less than this share of its tokens in a pass.
    counts : float32 (n_groups, n_topics)
        Output: Σ_w n_w γ_wm.
    """
    n_topics = weights.shape[1]
    longest = np.diff(start).max() if start.size > 1 else 0
    padded = n_topics + WIDTH
    dense, rest = np.empty(longest * (padded + 1), np.float32), np.empty(longest, np.float32)
    theta, fixed = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    base, scale = np.empty(padded, np.float32), np.empty(padded, np.float32)
    given, ratios = np.zeros(padded, np.float32), np.empty(padded, np.float32)
    column = np.empty(n_topics, np.int32)
    for j in range(start.size - 1):
        entries = slice(start[j], start[j + 1])
        width = choose_topics(weights[j], initial[j], table.scale, theta, base, column, scale)
        given[:width] = 0.0
        for m in range(n_topics):
            fixed[m] = theta[m] if column[m] < 0 else ZERO
            if column[m] >= 0:
                given[column[m]] = theta[m]
            else:
                column[m] = width
        copy_rows(rows[entries], table, column, fixed, scale, width, dense, rest)
        numbers = occurrences[entries]
        limit = np.float32(tolerance) * numbers.sum()
        for number in range(n_passes):
            add_ratios(numbers, dense, rest, given[:width], ratios[:width])
            is_last = number == n_passes - 1
            if change_weights(base[:width], ratios[:width], given[:width], is_last, limit):
                break
        for m in range(n_topics):
            new = given[column[m]] if column[m] < width else fixed[m]
            counts[j, m] = max(new - weights[j, m], ZERO)

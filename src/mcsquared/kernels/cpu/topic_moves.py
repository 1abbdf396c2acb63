"""Splits of one topic into two, where groups vary within their cluster (λ finite).

Only the tokens of the topic are visited. Those of one group form a *cell*. Cells are independent
given the arguments of a pass, and results are sums of integers or one number per cell or token, so
that cells can be divided among threads. ``likelihood`` has one row for each of the two topics, a
and b, and one column for each word or, if tokens are vectors, for each token. ``in_b``, uint8
(n_tokens,), is 1 for the tokens of the second topic. ``trial`` is the number of the proposed move
in its sweep: moves do not share random numbers.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import int64

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.special import add_log, crt, log_rising_factorial
from mcsquared.kernels.cpu.split_merge import table_moments
from mcsquared.kernels.rng import Step, uniform_of

FIXED_POINT = 2.0**24  # scale of floats that are summed as integers, in any order
NEGLIGIBLE = 1e-18  # states of the filter with a smaller probability are dropped
NORMALISE_EVERY = 8  # tokens, so that weights do not underflow
SPLIT_TOKENS, SPLIT_TABLES = int(Step.SPLIT_TOKENS), int(Step.SPLIT_TABLES)
TOPIC_SEEDS = int(Step.TOPIC_SEEDS)


class TopicTokens(NamedTuple):
    """The tokens of a topic, by group. Tokens and groups are numbered as in the whole corpus."""

    token: np.ndarray  # int64 (n_tokens,): ascending
    column: np.ndarray  # int32 (n_tokens,): column of ``likelihood``
    start: np.ndarray  # int64 (n_cells + 1,): tokens of cell c are start[c]:start[c + 1]
    group: np.ndarray  # int64 (n_cells,)
    cluster: np.ndarray  # int64 (n_cells,)


@njit(cache=True, nogil=True, error_model="numpy")
def find_cells(token, group_start):
    """Return the start of every cell, and its group, for ascending tokens."""
    n = token.size
    start, group = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    cell, j = 0, 0
    for i in range(n):
        if i == 0 or token[i] >= group_start[j + 1]:
            while token[i] >= group_start[j + 1]:
                j += 1
            start[cell], group[cell] = i, j
            cell += 1
    start[cell] = n
    return start[: cell + 1].copy(), group[:cell].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def choose_cell(tokens, key, attempt):
    """Choose a cell in proportion to its tokens; return it, -1 for none, and a time.

    Every cell has an exponential time with its number of tokens as rate, and the smallest is that
    of the chosen cell: of the cells chosen from several shards, the one with the smallest time is
    chosen in proportion to its tokens as well.
    """
    chosen, earliest = -1, math.inf
    for c in range(tokens.group.size):
        u = uniform_of(key, TOPIC_SEEDS, tokens.group[c], attempt)
        time = -math.log(u) / (tokens.start[c + 1] - tokens.start[c])
        if time < earliest:
            chosen, earliest = c, time
    return chosen, earliest


@njit(cache=True, error_model="numpy")
def expected_tables(n, a):
    """Return the approximate mean number of tables of ``n`` customers; n may be fractional."""
    return n if n <= 1.0 else min(n, 1.0 + a * math.log1p((n - 1.0) / (a + 0.5)))


@njit(cache=True, nogil=True, error_model="numpy")
def refine_shares(first, last, tokens, likelihood, base, share, tables, words):
    """Update the share of each token in the first of two topics; return how much they changed.

        share_i  ∝  (base_a + Σ_{i' ≠ i in cell} share_i') p_a(w_i),  and likewise for b

    Parameters
    ----------
    likelihood : float64 (2, n_columns)
    base : float64 (2, cluster slots)
        λ τ of both topics.
    share : float64 (n_tokens,)
        Updated.
    tables : int64 (2, cluster slots)
        Expected numbers of tables are added, in fixed point, as is the returned change.
    words : int64 (n_columns,), or empty
        Shares are added by column, in fixed point.
    """
    changed = 0
    for c in range(first, last):
        begin, end = tokens.start[c], tokens.start[c + 1]
        k, in_a, change = tokens.cluster[c], 0.0, 0.0
        a, b = base[0, k], base[1, k]
        for i in range(begin, end):
            in_a += share[i]
        for i in range(begin, end):
            w = tokens.column[i]
            others = min(max(in_a - share[i], 0.0), end - begin - 1.0)
            to_a = (a + others) * likelihood[0, w]
            to_b = (b + (end - begin - 1.0 - others)) * likelihood[1, w]
            new = to_a / (to_a + to_b)
            change += abs(new - share[i])
            in_a = others + new
            share[i] = new
            if words.size:
                words[w] += int64(new * FIXED_POINT)
        changed += int64(change * FIXED_POINT)
        in_a = min(in_a, float(end - begin))
        tables[0, k] += int64(expected_tables(in_a, a) * FIXED_POINT)
        tables[1, k] += int64(expected_tables(end - begin - in_a, b) * FIXED_POINT)
    return changed


@njit(cache=True, error_model="numpy")
def filter_segment(column, likelihood, a, b, weight, low, high):
    """Sum out the sides of a segment's tokens; return the log-likelihood of the tokens.

    The prior of the sides is a Pólya urn with initial weights ``a`` and ``b``. ``weight[i, n]`` is
    the probability, up to a factor, that ``n`` of the first ``i`` tokens are on side a, given these
    tokens, for ``n`` from ``low[i]`` to ``high[i]``; it is negligible for other ``n``.
    """
    weight[0, 0], low[0], high[0], total = 1.0, 0, 0, 0.0
    for i in range(column.size):
        to_a = likelihood[0, column[i]] / (i + a + b)
        to_b = likelihood[1, column[i]] / (i + a + b)
        first, last = low[i], high[i]
        old, new = weight[i], weight[i + 1]
        new[first] = old[first] * (i - first + b) * to_b
        for n in range(first + 1, last + 1):
            new[n] = old[n - 1] * (n - 1 + a) * to_a + old[n] * (i - n + b) * to_b
        new[last + 1] = old[last] * (last + a) * to_a
        last += 1
        if i % NORMALISE_EVERY == NORMALISE_EVERY - 1 or i == column.size - 1:
            norm = 0.0
            for n in range(first, last + 1):
                norm += new[n]
            total += math.log(norm)
            scale = 1.0 / norm
            for n in range(first, last + 1):
                new[n] *= scale
            while first < last and new[first] < NEGLIGIBLE:
                first += 1
            while first < last and new[last] < NEGLIGIBLE:
                last -= 1
        low[i + 1], high[i + 1] = first, last
    return total


@njit(cache=True, error_model="numpy")
def draw_segment(column, token, likelihood, a, b, weight, low, high, key, trial, in_b):
    """Draw the sides of a segment's tokens, from the last to the first; see `filter_segment`."""
    size = column.size
    n, left = low[size], uniform_of(key, SPLIT_TOKENS, token[0], 2 * trial + 1)
    while n < high[size] and left >= weight[size, n]:
        left -= weight[size, n]
        n += 1
    for i in range(size - 1, -1, -1):
        to_a = to_b = 0.0
        if low[i] <= n - 1 <= high[i]:
            to_a = weight[i, n - 1] * (n - 1 + a) * likelihood[0, column[i]]
        if low[i] <= n <= high[i]:
            to_b = weight[i, n] * (i - n + b) * likelihood[1, column[i]]
        in_b[i] = uniform_of(key, SPLIT_TOKENS, token[i], 2 * trial) * (to_a + to_b) >= to_a
        n -= 1 - in_b[i]


@njit(cache=True, nogil=True, error_model="numpy")
def divide_tokens(
    first, last, tokens, likelihood, base, segment_length, draw, key, trial, in_b, log_sums
):
    """Divide the tokens of a topic between two topics, jointly in each cell.

    The sides of a cell's tokens are drawn from their posterior under the urn of `filter_segment`.
    The joint probability of tokens and sides, divided by the probability of these sides, is then
    the probability of the tokens with sides summed out. Long cells are divided into segments, each
    drawn given the sides of the previous ones.

    Parameters
    ----------
    segment_length : int
        Tokens per segment; time per token and memory grow with it.
    draw : bool
        Whether to draw ``in_b``; otherwise it is given.
    log_sums : float64 (n_cells,)
        Output: log p(tokens of the cell), a sum over its segments.
    """
    weight = np.empty((segment_length + 1, segment_length + 2))
    low, high = np.empty(segment_length + 1, np.int64), np.empty(segment_length + 1, np.int64)
    for c in range(first, last):
        a, b = base[0, tokens.cluster[c]], base[1, tokens.cluster[c]]
        log_sums[c] = 0.0
        for begin in range(tokens.start[c], tokens.start[c + 1], segment_length):
            end = min(begin + segment_length, tokens.start[c + 1])
            column, sides = tokens.column[begin:end], in_b[begin:end]
            log_sums[c] += filter_segment(column, likelihood, a, b, weight, low, high)
            if draw:
                urn = (column, tokens.token[begin:end], likelihood, a, b)
                draw_segment(*urn, weight, low, high, key, trial, sides)
            b += sides.sum()
            a += column.size - sides.sum()


@njit(cache=True, nogil=True, error_model="numpy")
def score_division(tokens, likelihood, in_b, log_sums):
    """Return Σ_c log_sums[c] − Σ_i log p(w_i) of the sides, in fixed point, and excluded tokens.

    The likelihood of an excluded token is 0 on its side.
    """
    total, n_excluded = 0, 0
    for c in range(tokens.group.size):
        value, product = 0.0, 1.0
        for i in range(tokens.start[c], tokens.start[c + 1]):
            factor = likelihood[in_b[i], tokens.column[i]]
            if factor > 0.0:
                value, product = add_log(value, product, factor)
            else:
                n_excluded += 1
        total += round((log_sums[c] - value - math.log(product)) * FIXED_POINT)
    return total, n_excluded


@njit(cache=True, nogil=True, error_model="numpy")
def draw_sides_of_words(tokens, share, key, trial, in_b):
    """Draw the side of every token: the second with probability ``share[w]`` for word w."""
    for i in range(in_b.size):
        u = uniform_of(key, SPLIT_TOKENS, tokens.token[i], 2 * trial)
        in_b[i] = u < share[tokens.column[i]]


@njit(cache=True, nogil=True, error_model="numpy")
def count_words_in_b(tokens, in_b, words):
    """Add the tokens of the second topic by word: ``words`` int64 (n_words,)."""
    for i in range(in_b.size):
        words[tokens.column[i]] += in_b[i]


@njit(cache=True, error_model="numpy")
def sides_of_cell(tokens, in_b, c):
    """Return the numbers of tokens of a cell in the first and in the second topic."""
    begin, end, in_second = tokens.start[c], tokens.start[c + 1], 0
    for i in range(begin, end):
        in_second += in_b[i]
    return end - begin - in_second, in_second


@njit(cache=True, nogil=True, error_model="numpy")
def add_expected_tables(tokens, in_b, base, tables):
    """Add the expected tables of both topics by cluster, in fixed point: int64 (2, clusters)."""
    for c in range(tokens.group.size):
        k, counts = tokens.cluster[c], sides_of_cell(tokens, in_b, c)
        for side in range(2):
            if counts[side] > 0:
                mean = min(table_moments(counts[side], base[side, k])[0], float(counts[side]))
                tables[side, k] += round(mean * FIXED_POINT)


@njit(cache=True, error_model="numpy")
def log_ratio_of_cell(a, b, in_a, in_b):
    """Return the log of B(a + in_a, b + in_b) / B(a, b), with B the beta function."""
    each = log_rising_factorial(a, in_a) + log_rising_factorial(b, in_b)
    return each - log_rising_factorial(a + b, in_a + in_b)


@njit(cache=True, nogil=True, error_model="numpy")
def score_sides(tokens, in_b, base):
    """Return the log-probability of the sides under the urns of the cells, in fixed point."""
    total = 0
    for c in range(tokens.group.size):
        k, (n_a, n_b) = tokens.cluster[c], sides_of_cell(tokens, in_b, c)
        total += round(log_ratio_of_cell(base[0, k], base[1, k], n_a, n_b) * FIXED_POINT)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cell_tables(tokens, in_b, base, is_split, key, trial, topics, tables):
    """Draw the tables of two topics after a split, or of the merged topic after a merge.

    Return the change of Σ_j Σ_m [ln Γ(λτ_km + n_jm) − ln Γ(λτ_km)], in fixed point.

    Parameters
    ----------
    is_split : bool
        Whether a topic was split; otherwise two were merged.
    topics, tables : int32 (2, cluster slots)
        Output: tokens and tables of both topics; those of a merged topic in the first row.
    """
    topics[:], tables[:], change = 0, 0, 0
    for c in range(tokens.group.size):
        k, counts = tokens.cluster[c], sides_of_cell(tokens, in_b, c)
        a, b = base[0, k], base[1, k]
        ratio = log_ratio_of_cell(a, b, *counts)
        change += round((ratio if is_split else -ratio) * FIXED_POINT)
        for side in range(2 if is_split else 1):
            n = counts[side] if is_split else counts[0] + counts[1]
            weight = base[side, k] if is_split else a + b
            index = (int64(2 * trial + side) << int64(32)) + tokens.group[c]
            topics[side, k] += n
            tables[side, k] += crt(n, weight, key[0], key[1], key[2], SPLIT_TABLES, index)
    return change


@njit(cache=True, error_model="numpy")
def overlap_with_topics(words_in_topic, m, overlap):
    """Write Σ_w √(n_mw n_m'w) for every topic slot m' to ``overlap`` (topic slots,)."""
    overlap[:] = 0.0
    for w in range(words_in_topic.shape[0]):
        if words_in_topic[w, m] > 0:
            root = math.sqrt(words_in_topic[w, m])
            for t in range(overlap.size):
                if words_in_topic[w, t] > 0:
                    overlap[t] += root * math.sqrt(words_in_topic[w, t])

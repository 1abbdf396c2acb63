"""Splitting one topic in two, where groups vary around their cluster (λ finite).

Only the tokens of the topic are visited, in *cells*: those of one group. Cells are independent
given what a pass receives, and its sums are integers or one number per cell or token, so that cells
can be divided among threads or shards. The likelihood of a token in both topics is an entry of a
table, whose columns are words, or tokens where these are vectors.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import int64

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.special import crt, log_rising
from mcsquared.kernels.rng import Step, uniform_of

UNIT = 2.0**20  # fixed-point numbers add up in any order
NEGLIGIBLE = 1e-18  # share of a state of the filter that is dropped
NORMALISE_EVERY = 8  # tokens: their likelihoods do not underflow
SPLIT_TOKENS, SPLIT_TABLES = int(Step.SPLIT_TOKENS), int(Step.SPLIT_TABLES)


class TopicTokens(NamedTuple):
    """The tokens of a topic, by group."""

    token: np.ndarray  # int64 (n_tokens,): ascending
    column: np.ndarray  # int32 (n_tokens,): in tables of likelihoods
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


@njit(cache=True, error_model="numpy")
def expected_tables(n, a):
    """Return about the number of tables of ``n`` customers, which need not be an integer."""
    return n if n <= 1.0 else min(n, 1.0 + a * math.log1p((n - 1.0) / (a + 0.5)))


@njit(cache=True, nogil=True, error_model="numpy")
def refine_shares(first, last, tokens, likelihood, base, share, tables):
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
        Expected tables are added, in units of 1 / `UNIT`; so is the change that is returned.
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
        changed += int64(change * UNIT)
        in_a = min(in_a, float(end - begin))
        tables[0, k] += int64(expected_tables(in_a, a) * UNIT)
        tables[1, k] += int64(expected_tables(end - begin - in_a, b) * UNIT)
    return changed


@njit(cache=True, error_model="numpy")
def filter_segment(column, likelihood, a, b, weight, low, high):
    """Sum out the sides of a segment's tokens; return the log-likelihood of the tokens.

    An urn with ``a`` and ``b`` balls gives the side of each token in turn. ``weight[i, n]`` is the
    probability that ``n`` of the first ``i`` tokens are on side a, given what these are, up to a
    factor, for ``n`` from ``low[i]`` to ``high[i]``; all others are negligible.
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
            mass = 0.0
            for n in range(first, last + 1):
                mass += new[n]
            total += math.log(mass)
            scale = 1.0 / mass
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
def divide_tokens(first, last, tokens, likelihood, base, segment, draw, key, trial, in_b, log_sums):
    """Divide the tokens of a topic over two, jointly in each cell.

    The sides of a cell's tokens are an urn's draws given the tokens, so that the joint probability
    of tokens and sides, divided by that of drawing these sides, is the probability of the tokens,
    sides summed out. Long cells are divided in segments, each given the sides of the previous ones.

    Parameters
    ----------
    segment : int
        Length of a segment: time per token and memory grow with it.
    draw : bool
        Whether ``in_b`` is drawn, or the sides are those in it.
    in_b : uint8 (n_tokens,)
        1 for the tokens of the second topic.
    log_sums : float64 (n_cells,)
        Output: log p(tokens of the cell), a sum over its segments.
    """
    weight = np.empty((segment + 1, segment + 2))
    low, high = np.empty(segment + 1, np.int64), np.empty(segment + 1, np.int64)
    for c in range(first, last):
        a, b = base[0, tokens.cluster[c]], base[1, tokens.cluster[c]]
        log_sums[c] = 0.0
        for begin in range(tokens.start[c], tokens.start[c + 1], segment):
            end = min(begin + segment, tokens.start[c + 1])
            column, sides = tokens.column[begin:end], in_b[begin:end]
            log_sums[c] += filter_segment(column, likelihood, a, b, weight, low, high)
            if draw:
                given = (column, tokens.token[begin:end], likelihood, a, b)
                draw_segment(*given, weight, low, high, key, trial, sides)
            b += sides.sum()
            a += column.size - sides.sum()


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cell_tables(tokens, in_b, base, split, key, trial, topics, tables):
    """Draw the tables of two topics, or of both as one; return the change of log_rising.

    Parameters
    ----------
    split : bool
        Whether there are two topics now and were one, or the reverse.
    topics, tables : int32 (2, cluster slots)
        Output: tokens and tables of both topics; if they are one, in the first row.
    """
    topics[:], tables[:], change = 0, 0, 0.0
    for c in range(tokens.group.size):
        k, counts = tokens.cluster[c], np.zeros(2, np.int64)
        for i in range(tokens.start[c], tokens.start[c + 1]):
            counts[in_b[i]] += 1
        both = log_rising(base[0, k] + base[1, k], counts[0] + counts[1])
        each = log_rising(base[0, k], counts[0]) + log_rising(base[1, k], counts[1])
        change += each - both if split else both - each
        for side in range(2 if split else 1):
            n = counts[side] if split else counts[0] + counts[1]
            a = base[side, k] if split else base[0, k] + base[1, k]
            index = (int64(2 * trial + side) << int64(32)) + tokens.group[c]
            topics[side, k] += n
            tables[side, k] += crt(n, a, key[0], key[1], key[2], SPLIT_TABLES, index)
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

"""Functions of λτ that the groups of a set have in common, tabulated by set and topic.

Splits and merges of clusters evaluate the same functions of λτ_m and of the number n of tokens for
all groups of a set. They are tabulated for small n; a larger n requires one logarithm.
"""

from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.fast_math import log64
from mcsquared.kernels.cpu.special import HALF_LOG_TWO_PI, log_rising_factorial, stirling_series

MAX_TABULATED, MAX_CELLS = 64, 1 << 18  # largest n, and number of cells, of a lookup table
# Largest n of exact log-likelihoods and of exact moments; Stirling's formula, or its derivatives,
# approximate those of larger n.
MAX_EXACT, MAX_EXACT_MOMENTS = 4, 3
SHIFT = 8  # ln Γ(a) = ln Γ(a + 8) − log [a (a + 1) ... (a + 7)]
LARGEST_BASE = 1e4  # above it, differences of log-gammas lose digits


class Likelihoods(NamedTuple):
    """Log-likelihoods and expected tables of n tokens in every set, see `tabulate_likelihoods`."""

    base: np.ndarray  # float64 (n_sets, topic slots): a = λτ
    log_half: np.ndarray  # float64 (n_sets, topic slots): log(a + ½)
    # float64 (n_sets, topic slots, largest + 1): ln Γ(a + n) − ln Γ(a), approximately, up to a term
    # that depends on n alone; log a for n = 1
    log_rising: np.ndarray
    # int64 (n_sets, topic slots, largest + 1): means of CRT(n, a), in fixed point
    tables: np.ndarray


class Moments(NamedTuple):
    """Mean and variance of the tables of n tokens in every set, see `tabulate_moments`."""

    base: np.ndarray  # float64 (n_sets, topic slots): a = λτ
    log_half: np.ndarray  # float64 (n_sets, topic slots): log(a + ½)
    means: np.ndarray  # int64 (n_sets, topic slots, largest + 1), in fixed point
    variances: np.ndarray  # int64 (n_sets, topic slots, largest + 1), in fixed point


@njit(cache=True, error_model="numpy")
def largest_tabulated(n_cells):
    """Return the largest n that is tabulated, given the number of sets times topic slots."""
    return max(min(MAX_TABULATED, MAX_CELLS // max(n_cells, 1)), MAX_EXACT)


@njit(cache=True, error_model="numpy")
def replace_by_logs(x, n):
    """Replace the first n numbers by their logarithms; a loop over one array is vectorised."""
    for i in range(n):
        x[i] = log64(x[i])


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_likelihoods(lam, shares, scale):
    """Return `Likelihoods` of sets with positive topic shares τ, float64 (n_sets, topic slots).

    Expected tables are multiplied by ``scale``.
    """
    (n_sets, n_slots), largest = shares.shape, largest_tabulated(shares.size)
    base, log_half = np.empty(shares.shape), np.empty(shares.shape)
    log_rising = np.zeros((n_sets, n_slots, largest + 1))
    tables = np.zeros((n_sets, n_slots, largest + 1), np.int64)
    logs = np.empty(largest + MAX_EXACT + 2)
    for s in range(n_sets):
        for m in range(n_slots):
            a = lam * shares[s, m]
            fill_logs(a, largest, logs)
            base[s, m], log_half[s, m] = a, logs[-1]
            rising, means = log_rising[s, m], tables[s, m]
            for n in range(1, MAX_EXACT + 1):
                rising[n] = rising[n - 1] + logs[largest + n]
            mean = 0.0
            for n in range(1, MAX_EXACT_MOMENTS + 1):
                mean += a / (a + (n - 1)) if n > 1 else 1.0
                means[n] = round(mean * scale)
            start = stirling_terms_of_base(a, logs[largest + 1], logs[-1])
            for n in range(MAX_EXACT + 1, largest + 1):
                rising[n] = start + (a + (n - 0.5)) * logs[n]
            for n in range(MAX_EXACT_MOMENTS + 1, largest + 1):
                means[n] = round((1.0 + a * (logs[n] - logs[-1])) * scale)
    return Likelihoods(base, log_half, log_rising, tables)


@njit(cache=True, error_model="numpy")
def fill_logs(a, largest, logs):
    """Write the logarithms required for one base ``a`` to ``logs`` (largest + MAX_EXACT + 2,).

    These are log(a + n − ½) for 1 ≤ n ≤ ``largest``, then log(a + i) for i < MAX_EXACT, and log(a +
    ½) at the end. ``logs[0]`` is not used.
    """
    logs[0] = 1.0
    for n in range(1, largest + 1):
        logs[n] = a + (n - 0.5)
    for i in range(MAX_EXACT):
        logs[largest + 1 + i] = a + i
    logs[-1] = a + 0.5
    replace_by_logs(logs, logs.size)


@njit(cache=True, error_model="numpy", inline="always")
def stirling_terms_of_base(a, log_base, log_half):
    """Return log a − (a + ½) log(a + ½), the terms of Stirling's formula without n."""
    return log_base - (a + 0.5) * log_half


@njit(cache=True, error_model="numpy")
def log_odds_of_topics(first, last, rows, one, other, likelihoods):
    """Return log p(n_j | one) − log p(n_j | other), approximately, as `content_log_odds` does.

    ``first:last`` are the entries of group j in ``rows``; ``one`` and ``other`` are sets.
    """
    log_rising, base, total = likelihoods.log_rising, likelihoods.base, 0.0
    largest = log_rising.shape[2] - 1
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        if n <= largest:
            total += log_rising[one, m, n] - log_rising[other, m, n]
            continue
        for s in (one, other):
            a, x = base[s, m], base[s, m] + (n - 0.5)
            log_a, log_half = log_rising[s, m, 1], likelihoods.log_half[s, m]
            term = stirling_terms_of_base(a, log_a, log_half) + x * log64(x)
            total += term if s == one else -term
    return total


@njit(cache=True, error_model="numpy")
def add_expected_tables(first, last, rows, s, likelihoods, scale, tables):
    """Add the means of CRT(n, a) of a group in set ``s`` to ``tables`` int64 (topic slots,)."""
    largest = likelihoods.tables.shape[2] - 1
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        if n <= largest:
            tables[m] += likelihoods.tables[s, m, n]
        else:
            a, log_half = likelihoods.base[s, m], likelihoods.log_half[s, m]
            tables[m] += round((1.0 + a * (log64(a + (n - 0.5)) - log_half)) * scale)


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_moments(lam, shares, scale):
    """Return `Moments` of sets with topic shares τ, times ``scale``; see `tabulate_likelihoods`."""
    (n_sets, n_slots), largest = shares.shape, largest_tabulated(shares.size)
    base, log_half = np.empty(shares.shape), np.empty(shares.shape)
    means = np.zeros((n_sets, n_slots, largest + 1), np.int64)
    variances = np.zeros((n_sets, n_slots, largest + 1), np.int64)
    logs = np.empty(largest + MAX_EXACT + 2)
    for s in range(n_sets):
        for m in range(n_slots):
            a = lam * shares[s, m]
            fill_logs(a, largest, logs)
            base[s, m], log_half[s, m] = a, logs[-1]
            mean, variance = 1.0, 0.0
            for n in range(1, largest + 1):
                if n > MAX_EXACT_MOMENTS:
                    mean, variance = approximate_moments(a, n, logs[n], logs[-1])
                elif n > 1:
                    p = a / (a + (n - 1))
                    mean += p
                    variance += p - p * p
                means[s, m, n], variances[s, m, n] = round(mean * scale), round(variance * scale)
    return Moments(base, log_half, means, variances)


@njit(cache=True, error_model="numpy", inline="always")
def approximate_moments(a, n, log_end, log_half):
    """Return the mean and variance of CRT(n, a) for n > MAX_EXACT_MOMENTS, as `table_moments` does.

    ``log_end`` is log(a + n − ½), ``log_half`` log(a + ½).
    """
    mean = a * (log_end - log_half)
    squares = a * a * (1.0 / (a + 0.5) - 1.0 / (a + (n - 0.5)))
    return 1.0 + mean, max(mean - squares, 0.0)


@njit(cache=True, error_model="numpy")
def add_moments(first, last, rows, s, moments, scale, means, variances):
    """Add the mean and variance of the tables of a group in set ``s``, see `table_moments`.

    ``means`` and ``variances`` are int64 (topic slots,).
    """
    largest = moments.means.shape[2] - 1
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        if n <= largest:
            means[m] += moments.means[s, m, n]
            variances[m] += moments.variances[s, m, n]
        else:
            a = moments.base[s, m]
            log_end, log_half = log64(a + (n - 0.5)), moments.log_half[s, m]
            mean, variance = approximate_moments(a, n, log_end, log_half)
            means[m] += round(mean * scale)
            variances[m] += round(variance * scale)


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_log_gammas(lam, shares):
    """Return ln Γ(λτ) of every set and topic slot: float64 (n_sets, topic slots)."""
    out = np.empty(shares.shape)
    product = np.empty(shares.shape[1])
    for s in range(len(shares)):
        row, share = out[s], shares[s]
        for m in range(row.size):
            a = lam * share[m]
            product[m] = a
            for i in range(1, SHIFT):
                product[m] *= a + i
        for m in range(row.size):
            x = lam * share[m] + SHIFT
            row[m] = log_gamma_from_eight(x) - log64(product[m])
    return out


@njit(cache=True, error_model="numpy", inline="always")
def log_gamma_from_eight(x):
    """Return ln Γ(x) for x >= 8."""
    return (x - 0.5) * log64(x) - x + HALF_LOG_TWO_PI + stirling_series(x)


@njit(cache=True, error_model="numpy")
def log_rising_given(a, n, log_gamma_of_base):
    """Return ln Γ(a + n) − ln Γ(a), given the last term; for n > 8."""
    if a > LARGEST_BASE:
        return log_rising_factorial(a, n)
    return log_gamma_from_eight(a + n) - log_gamma_of_base

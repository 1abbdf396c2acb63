"""Functions of λτ that the groups of a set have in common, tabulated by set and topic.

Splits and merges of clusters evaluate the same functions of λτ_m for all groups of a set. What does
not depend on the group is tabulated; of what does, a logarithm is left, which is vectorised.
"""

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.fast_math import log64
from mcsquared.kernels.cpu.special import HALF_LOG_TWO_PI, log_rising_factorial, stirling_series

# Rows for the odds of a group. Row n contains the log of the rising factorial of a to n.
BASE, LARGE, LOG, N_ROWS = 0, 5, 6, 8
FEW = 4  # larger counts use Stirling's formula
# Rows for moments: mean and variance of the tables of n <= 3 tokens are in 2n and 2n + 1.
LOG_OF_MOMENTS, FEW_MOMENTS = 1, 3
SHIFT = 8  # ln Γ(a) = ln Γ(a + 8) − log a (a + 1) ... (a + 7)
LARGEST_BASE = 1e4  # above it, differences of log-gammas lose digits


@njit(cache=True, error_model="numpy")
def replace_by_logs(x, n):
    """Replace the first n numbers by their logarithms; a loop over one array is vectorised."""
    for i in range(n):
        x[i] = log64(x[i])


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_odds(lam, shares):
    """Tabulate for `log_odds_of_topics`: float64 (n_sets, `N_ROWS`, topic slots).

    ``shares`` (n_sets, topic slots) are τ, positive. The rows are a = λτ, the logs of its rising
    factorials to 1 ... 4, log a − (a + ½) log(a + ½), and log(a + ½).
    """
    n_sets, n_slots = shares.shape
    out = np.empty((n_sets, N_ROWS, n_slots))
    for s in range(n_sets):
        share, base, half, large = shares[s], out[s, BASE], out[s, LOG], out[s, LARGE]
        for m in range(n_slots):
            base[m] = lam * share[m]
        out[s, 1] = base
        for n in range(1, FEW):
            below, row = out[s, n], out[s, n + 1]
            for m in range(n_slots):
                row[m] = below[m] * (base[m] + n)
        for m in range(n_slots):
            half[m] = base[m] + 0.5
        for n in range(1, FEW + 1):
            replace_by_logs(out[s, n], n_slots)
        replace_by_logs(half, n_slots)
        log_base = out[s, 1]
        for m in range(n_slots):
            large[m] = log_base[m] - (base[m] + 0.5) * half[m]
    return out


@njit(cache=True, error_model="numpy")
def log_odds_of_topics(first, last, rows, one, other, logs):
    """Return log p(n_j | one) − log p(n_j | other), approximately, as `content_log_odds` does.

    ``one`` and ``other`` are those of two sets from `tabulate_odds`. The logs of a + n − ½ of all
    entries with n > 3, one after another, are left in ``logs`` float64 (2, topic slots).
    """
    x, y, base, other_base = logs[0], logs[1], one[BASE], other[BASE]
    n_logs, odds = 0, 0.0
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        row = min(n, LARGE)
        odds += one[row, m] - other[row, m]
        if n > FEW_MOMENTS:
            x[n_logs], y[n_logs] = base[m] + (n - 0.5), other_base[m] + (n - 0.5)
            n_logs += 1
    replace_by_logs(x, n_logs)
    replace_by_logs(y, n_logs)
    i = 0
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        if n > FEW:
            odds += (base[m] + (n - 0.5)) * x[i] - (other_base[m] + (n - 0.5)) * y[i]
        i += n > FEW_MOMENTS
    return odds


@njit(cache=True, error_model="numpy")
def add_expected_tables(first, last, rows, tabulated, logs, scale, tables):
    """Add the means of CRT(n, a) of a group, times ``scale``, to ``tables`` int64 (topic slots,).

    ``tabulated`` is that of its set from `tabulate_odds`, ``logs`` those of `log_odds_of_topics`.
    """
    base, half, i = tabulated[BASE], tabulated[LOG], 0
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        a, mean = base[m], 1.0
        if n > FEW_MOMENTS:
            mean += a * (logs[i] - half[m])
            i += 1
        elif n > 1:
            mean += a / (a + 1.0)
            if n > 2:
                mean += a / (a + 2.0)
        tables[m] += round(mean * scale)


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_moments(lam, shares):
    """Tabulate for `add_moments`: float64 (n_sets, `N_ROWS`, topic slots)."""
    n_sets, n_slots = shares.shape
    out = np.empty((n_sets, N_ROWS, n_slots))
    for s in range(n_sets):
        share, base, half = shares[s], out[s, BASE], out[s, LOG_OF_MOMENTS]
        for m in range(n_slots):
            base[m] = lam * share[m]
        for m in range(n_slots):
            half[m] = base[m] + 0.5
        replace_by_logs(half, n_slots)
        out[s, 2], out[s, 3] = 1.0, 0.0
        for n in range(1, FEW_MOMENTS):  # one more customer
            mean, variance = out[s, 2 * n], out[s, 2 * n + 1]
            next_mean, next_variance = out[s, 2 * n + 2], out[s, 2 * n + 3]
            for m in range(n_slots):
                p = base[m] / (base[m] + n)
                next_mean[m] = mean[m] + p
                next_variance[m] = variance[m] + (p - p * p)
    return out


@njit(cache=True, error_model="numpy")
def add_moments(first, last, rows, table, logs, scale, means, variances):
    """Add mean and variance of the tables of a group, times ``scale``, see `table_moments`.

    Parameters
    ----------
    table : float64 (`N_ROWS`, topic slots)
        That of its set from `tabulate_moments`.
    logs : float64 (2, topic slots)
        Scratch.
    means, variances : int64 (topic slots,)
    """
    x, inverse, base, half = logs[0], logs[1], table[BASE], table[LOG_OF_MOMENTS]
    n_logs = 0
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        if n > FEW_MOMENTS:
            x[n_logs] = base[m] + (n - 0.5)
            n_logs += 1
        else:
            means[m] += round(table[2 * n, m] * scale)
            variances[m] += round(table[2 * n + 1, m] * scale)
    for i in range(n_logs):
        inverse[i] = 1.0 / x[i]
    replace_by_logs(x, n_logs)
    i = 0
    for e in range(first, last):
        m = rows.column[e]
        if rows.count[e] > FEW_MOMENTS:
            a = base[m]
            mean = a * (x[i] - half[m])
            variance = max(mean - a * a * (1.0 / (a + 0.5) - inverse[i]), 0.0)
            means[m] += round((1.0 + mean) * scale)
            variances[m] += round(variance * scale)
            i += 1


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

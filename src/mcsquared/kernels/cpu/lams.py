"""Topics of groups given their clusters, for several values of λ at once, and tables given λ."""

import math

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.groups import count_tables, empty_uniforms, fill_group_uniforms
from mcsquared.kernels.cpu.share_tables import (
    LARGEST_BASE,
    SHIFT,
    log_gamma_from_eight,
    replace_by_logs,
)
from mcsquared.kernels.cpu.special import log_rising_factorial
from mcsquared.kernels.cpu.split_merge import FIXED_POINT, TABLES

SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-100, 1e100


@njit(cache=True, error_model="numpy")
def rising_factorials(x, n, out):
    """Write x (x + 1) ... (x + n − 1) to ``out``."""
    for i in range(x.size):
        out[i] = x[i]
    for r in range(1, n):
        for i in range(x.size):
            out[i] *= x[i] + r


@njit(cache=True, error_model="numpy")
def replace_by_log_gammas(x, n):
    """Replace the first n numbers, which are at least 8, by their log-gammas."""
    for i in range(n):
        x[i] = log_gamma_from_eight(x[i])


@njit(cache=True, error_model="numpy")
def add_log_likelihoods(first, last, rows, share, lams, log_gammas, is_known, scratch, total):
    """Add Σ_m [ln Γ(λτ_m + n_m) − ln Γ(λτ_m)] of a group to ``total``, for several increasing λ.

    Factors of small counts are multiplied, and the log of their product is taken once it is very
    large or small. ``rows`` is an `Entries`, of which ``first:last`` are the topics of the group.
    ``log_gammas`` float64 (topic slots, n_lams) contains ln Γ(λτ_m) where ``is_known``;
    others are added to it. ``scratch`` is three arrays of n_lams numbers, and one of topic slots ×
    n_lams.
    """
    n_lams, (product, factor, a, large), n_large = lams.size, scratch, 0
    product[:] = 1.0
    for e in range(first, last):
        m, n = rows.column[e], rows.count[e]
        for i in range(n_lams):
            a[i] = lams[i] * share[m]
        if a[n_lams - 1] > LARGEST_BASE:
            for i in range(n_lams):
                total[i] += log_rising_factorial(a[i], n)
        elif n > SHIFT:
            known = log_gammas[m]
            if not is_known[m]:
                is_known[m] = True
                rising_factorials(a, SHIFT, factor)
                for i in range(n_lams):
                    known[i] = log_gamma_from_eight(a[i] + SHIFT) - math.log(factor[i])
            for i in range(n_lams):
                large[n_large + i] = a[i] + n
                total[i] -= known[i]
            n_large += n_lams
        else:
            rising_factorials(a, n, factor)
            if factor[0] < SMALLEST_PRODUCT or factor[n_lams - 1] > LARGEST_PRODUCT:
                for i in range(n_lams):
                    total[i] += math.log(factor[i])
                continue
            for i in range(n_lams):
                product[i] *= factor[i]
            if product[0] < SMALLEST_PRODUCT or product[n_lams - 1] > LARGEST_PRODUCT:
                replace_by_logs(product, n_lams)
                for i in range(n_lams):
                    total[i] += product[i]
                    product[i] = 1.0
    replace_by_logs(product, n_lams)
    for i in range(n_lams):
        total[i] += product[i]
    # All at once: a loop as short as the number of λ would not be vectorised.
    replace_by_log_gammas(large, n_large)
    for e in range(0, n_large, n_lams):
        for i in range(n_lams):
            total[i] += large[e + i]


@njit(cache=True, nogil=True, error_model="numpy")
def add_groups_given_lams(
    first_chunk,
    last_chunk,
    groups,
    rows,
    clusters,
    shares,
    lams,
    draws,
    key,
    tables,
    log_likelihood,
):
    """Add Σ_m [ln Γ(λτ_km + n_jm) − ln Γ(λτ_km)] of every group, in its cluster k, for several λ.

    Parameters
    ----------
    rows : Entries
        Topics of every group.
    clusters : int32 (n_groups,)
    shares : float64 (cluster slots, topic slots)
        τ, positive.
    lams : float64 (n_candidates,)
        Increasing.
    draws : bool
        Whether to add o_jm ~ CRT(n_jm, λτ_km), given the first λ, to ``tables`` instead.
    tables : int64 (cluster slots, topic slots)
        Numbers of tables are added.
    log_likelihood : int64 (n_candidates,)
        Sums are added, in fixed point.
    """
    (n_clusters, n_slots), n = shares.shape, lams.size
    total, uniforms = np.empty(n), empty_uniforms(groups)
    scratch = np.empty(n), np.empty(n), np.empty(n), np.empty(n_slots * n)
    log_gammas = np.empty((n_clusters, n_slots, 0 if draws else n))
    is_known = np.zeros(shares.shape, np.bool_)
    for j in range(groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]):
        k, first, last = clusters[j], rows.start[j], rows.start[j + 1]
        if draws:
            fill_group_uniforms(j, groups, key, TABLES, uniforms)
            customers = 0
            for e in range(first, last):
                m, n_tokens = rows.column[e], rows.count[e]
                a = float32(lams[0] * shares[k, m])
                tables[k, m] += count_tables(a, n_tokens, uniforms, customers)
                customers += n_tokens
            continue
        total[:] = 0.0
        known = (log_gammas[k], is_known[k])
        add_log_likelihoods(first, last, rows, shares[k], lams, *known, scratch, total)
        for i in range(lams.size):
            log_likelihood[i] += round(total[i] * FIXED_POINT)

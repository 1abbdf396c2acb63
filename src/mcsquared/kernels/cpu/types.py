"""Types of units given the types of their children, with the weights Π of the types summed out."""

import math

import numpy as np

from mcsquared.kernels.caching import njit

MAX_PRODUCT = 16  # factors of a rising factorial that are multiplied


@njit(cache=True, error_model="numpy")
def resample_types(entries, log_prior, prior_below, children, uniforms, type_of_unit):
    """Draw the type of every unit in turn, given those of all others.

        p(t_u = t)  ∝  exp(log_prior_ut) ∏_k (v π_k + C_tk)^(n_uk) / (v + C_t)^(n_u)

    where x^(n) = Γ(x + n) / Γ(x), and C counts the children of the other units.

    Parameters
    ----------
    entries : Entries
        n_uk: the types of the children of every unit, and their numbers.
    log_prior : float64 (n_units, type slots)
    prior_below : float64 (slots below,)
        v π_k, positive.
    children : int32 (type slots, slots below)
        C, of all units; changed in place.
    uniforms : float64 (n_units,)
    type_of_unit : int32 (n_units,)
        Changed in place.
    """
    start, column, count = entries
    n_types, v = len(children), prior_below.sum()
    totals = children.sum(axis=1)
    logs = np.empty(n_types)
    for u in range(len(type_of_unit)):
        old, size = type_of_unit[u], 0
        for e in range(start[u], start[u + 1]):
            children[old, column[e]] -= count[e]
            size += count[e]
        totals[old] -= size
        highest = -math.inf
        for t in range(n_types):
            logs[t] = log_prior[u, t]
            if logs[t] == -math.inf:
                continue
            for e in range(start[u], start[u + 1]):
                k = column[e]
                logs[t] += log_rising(prior_below[k] + children[t, k], count[e])
            logs[t] -= log_rising(v + totals[t], size)
            highest = max(highest, logs[t])
        new = _pick(logs, highest, uniforms[u])
        for e in range(start[u], start[u + 1]):
            children[new, column[e]] += count[e]
        totals[new] += size
        type_of_unit[u] = new


@njit(cache=True, error_model="numpy")
def _pick(logs, highest, uniform):
    """Return an index with probability ∝ exp(logs), which is overwritten."""
    total, last = 0.0, 0
    for t in range(len(logs)):
        logs[t] = math.exp(logs[t] - highest)
        total += logs[t]
        if logs[t] > 0.0:
            last = t
    rest = uniform * total
    for t in range(last):
        rest -= logs[t]
        if rest < 0.0:
            return t
    return last


@njit(cache=True, inline="always")
def log_rising(x, n):
    """Return ln Γ(x + n) − ln Γ(x)."""
    if n > MAX_PRODUCT:
        return math.lgamma(x + n) - math.lgamma(x)
    product = x
    for i in range(1, n):
        product *= x + i
    return math.log(product) if n > 0 else 0.0

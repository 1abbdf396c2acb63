"""Types of units given the types of their children, with the weights Π of the types summed out."""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.special import log_rising_factorial, pick


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
        for t in range(n_types):
            logs[t] = log_prior[u, t]
            if logs[t] == -math.inf:
                continue
            for e in range(start[u], start[u + 1]):
                k = column[e]
                logs[t] += log_rising_factorial(prior_below[k] + children[t, k], count[e])
            logs[t] -= log_rising_factorial(v + totals[t], size)
        new = pick(logs, n_types, uniforms[u])
        for e in range(start[u], start[u + 1]):
            children[new, column[e]] += count[e]
        totals[new] += size
        type_of_unit[u] = new

"""Types of units given the types of their children, with the weights Π of the types summed out."""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.special import add_log, log_rising_factorial, pick

MAX_FACTORS = 8  # factors of a rising factorial that are multiplied


@njit(cache=True, error_model="numpy")
def resample_types(entries, log_prior, prior_below, children, uniforms, type_of_unit):
    """Draw the type of every unit in turn, given those of all others.

        p(t_u = t)  ∝  exp(log_prior_ut) ∏_k (v π_k + C_tk)^(n_uk) / (v + C_t)^(n_u)

    where x^(n) = Γ(x + n) / Γ(x), C_tk is the number of children with type (or, at the level above
    groups, cluster) k of the other units of type t, and C_t and n_u are sums over k.

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
    no_children = np.zeros(children.shape[1], children.dtype)
    for u in range(len(type_of_unit)):
        old, size = type_of_unit[u], 0
        for e in range(start[u], start[u + 1]):
            children[old, column[e]] -= count[e]
            size += count[e]
        totals[old] -= size
        columns, counts = column[start[u] : start[u + 1]], count[start[u] : start[u + 1]]
        unused = log_predictive(columns, counts, size, prior_below, no_children, v)
        for t in range(n_types):
            logs[t] = log_prior[u, t]
            if totals[t] == 0:  # as are most type slots
                logs[t] += unused
            elif logs[t] > -math.inf:
                total = v + totals[t]
                logs[t] += log_predictive(columns, counts, size, prior_below, children[t], total)
        new = pick(logs, n_types, uniforms[u])
        for e in range(start[u], start[u + 1]):
            children[new, column[e]] += count[e]
        totals[new] += size
        type_of_unit[u] = new


@njit(cache=True, error_model="numpy")
def log_predictive(column, count, size, prior_below, children, total):
    """Return log ∏_k (v π_k + C_k)^(n_k) / (v + C)^(n) of the ``size`` children of a unit.

    ``children`` are the counts C_k of a type, and ``total`` is v + C.
    """
    value, product = 0.0, 1.0
    for e in range(column.size):
        weight = prior_below[column[e]] + children[column[e]]
        if count[e] <= MAX_FACTORS:
            for i in range(count[e]):
                value, product = add_log(value, product, weight + i)
        else:
            value += log_rising_factorial(weight, count[e])
    return value + math.log(product) - log_rising_factorial(total, size)

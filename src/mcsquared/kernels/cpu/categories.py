"""Tables and gamma variates of categories with one Dirichlet parameter (shape) each."""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.gammas import NOT_ACCEPTED, log_gamma_draw
from mcsquared.kernels.cpu.special import crt, log_rising_factorial
from mcsquared.kernels.rng import Step

CATEGORY_TABLES, CATEGORY_VARIATES = int(Step.CATEGORY_TABLES), int(Step.LEARNED_CATEGORIES)
CLUSTER_BITS = 16  # low bits of the index of a random number: the cluster; others: the category


@njit(cache=True, nogil=True, error_model="numpy")
def draw_category_tables(first, last, counts, shapes, key, tables):
    """Draw Σ_k t_kv with t_kv ~ CRT(n_kv, shape_v) for the categories ``first:last``.

    Parameters
    ----------
    counts : int32 or int64 (categories, cluster slots)
    shapes : float64 (categories,)
    tables : int64 (categories,)
        Output.
    """
    for v in range(first, last):
        total = 0
        for k in range(counts.shape[1]):
            if counts[v, k] > 0:
                # The index of a cell must not depend on the number of slots.
                index = (np.int64(v) << CLUSTER_BITS) + k
                total += crt(
                    counts[v, k], shapes[v], key[0], key[1], key[2], CATEGORY_TABLES, index
                )
        tables[v] = total


@njit(cache=True, nogil=True, error_model="numpy")
def sum_category_terms(g, base, count):
    """Return Σ_i [ln Γ(g b_i + n_i) − ln Γ(g b_i)] with b_i = base[i] and n_i = count[i].

    ``base`` is float64 (n_categories,), and ``count`` is integer of the same shape.
    """
    total = 0.0
    for i in range(base.size):
        if count[i] > 0:
            total += log_rising_factorial(g * base[i], count[i])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def draw_category_variates(first, last, counts, shapes, key, first_index, out):
    """Draw logarithms of Gamma(shape_v + n_vk) variates for the categories ``first:last``.

    Parameters
    ----------
    counts : int32 or int64 (categories, cluster slots)
    shapes : float64 (categories,)
        Above 0.
    first_index : int
        Number of categories whose random numbers precede those of category 0.
    out : float32 (categories, cluster slots)
        Output.
    """
    for v in range(first, last):
        for k in range(counts.shape[1]):
            index = (np.int64(first_index + v) << CLUSTER_BITS) + k
            shape = shapes[v] + counts[v, k]
            value = log_gamma_draw(shape, key[0], key[1], key[2], CATEGORY_VARIATES, index)
            if math.isnan(value):
                raise FloatingPointError(NOT_ACCEPTED)
            out[v, k] = value

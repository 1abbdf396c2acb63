"""Topic weights of clusters, drawn in logs."""

import math

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.gammas import log_gamma_draw

__all__ = ["draw_log_shares"]

SMALLEST_SHAPE = 1e-290  # a smaller one would draw −∞ for a whole row


@njit(cache=True, nogil=True, error_model="numpy")
def draw_log_shares(first, last, prior, held, seed, chain, sweep, step, out):
    """Draw log τ_k with τ_k ~ Dir(prior + held_k) for the rows ``first:last``.

    Parameters
    ----------
    prior : float64 (topic slots,)
        A slot without weight and without counts has no share: −∞.
    held : int32 (cluster slots, topic slots)
    out : float64 (cluster slots, topic slots)
    """
    n_slots = prior.size
    for k in range(first, last):
        largest = -math.inf
        for m in range(n_slots):
            shape = prior[m] + held[k, m]
            value = -math.inf
            if shape > 0.0:
                # 2²⁰ topics at most: the index of a cell must not change when slots are added
                index = (np.int64(k) << 20) + m
                shape = max(shape, SMALLEST_SHAPE)
                value = log_gamma_draw(shape, seed, chain, sweep, step, index)
            out[k, m] = value
            largest = max(largest, value)
        total = 0.0
        for m in range(n_slots):
            total += math.exp(out[k, m] - largest)
        shift = largest + math.log(total)
        for m in range(n_slots):
            out[k, m] -= shift

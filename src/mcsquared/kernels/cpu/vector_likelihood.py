"""Log-likelihood of tokens that are not words: statistics times natural parameters.

    log ψ_m(x)  =  T(x) · natural_m  (+ log h(x), the same for every topic and left out)

No BLAS product decides a draw: sums run in the order of these loops, topics side by side.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.predictive import GAUSSIAN, MULTIVARIATE_GAUSSIAN

__all__ = [
    "VectorTokens",
    "fold_statistics",
    "given_tokens",
    "log_likelihood_rows",
    "natural_tokens",
    "weighted_sum",
]


class VectorTokens(NamedTuple):
    """Tokens and their log-likelihood in every topic slot, computed here or by the caller."""

    kind: int  # of `KINDS`; -1: the sums of ``statistics`` are the topics' statistics
    values: np.ndarray  # float64 (n_tokens, width), relative to the family's origin
    natural: np.ndarray  # float64 (folded statistics, topic slots)
    log_likelihood: np.ndarray  # float64 (rows, topic slots); without rows, ``natural`` is used
    first_token: int  # the token of the first row of ``log_likelihood``
    statistics: np.ndarray  # float64 (n_tokens, n_stats) of a family without a kernel


def natural_tokens(kind: int, values: np.ndarray, natural: np.ndarray) -> VectorTokens:
    """Return tokens of a family with a kernel.

    Parameters
    ----------
    kind : int
        One of `KINDS`.
    values : float64 (n_tokens, width)
        Relative to the family's origin.
    natural : float64 (topic slots, n_stats)
        From the family's ``natural_parameters``.
    """
    width, n_topics = values.shape[1], len(natural)
    if kind == MULTIVARIATE_GAUSSIAN:
        # x_a x_b comes twice among the statistics; one product serves for both.
        square = natural[:, 1 + width :].reshape(n_topics, width, width)
        twice = square + np.swapaxes(square, 1, 2)
        twice[:, np.arange(width), np.arange(width)] *= 0.5
        below = twice[(slice(None), *np.tril_indices(width))]
        natural = np.concatenate([natural[:, : 1 + width], below], axis=1)
    return VectorTokens(
        kind=kind,
        values=values,
        natural=np.ascontiguousarray(natural.T),
        log_likelihood=np.zeros((0, n_topics)),
        first_token=0,
        statistics=np.zeros((0, 0)),
    )


def given_tokens(
    log_likelihood: np.ndarray, first_token: int, statistics: np.ndarray
) -> VectorTokens:
    """Return tokens of a family that computes its own log-likelihood.

    Parameters
    ----------
    log_likelihood : float64 (rows, topic slots), in C order
        Of the tokens from ``first_token`` on, as many as the call visits.
    first_token : int
    statistics : float64 (n_tokens, n_stats), in C order
        Of all tokens.
    """
    return VectorTokens(
        kind=-1,
        values=np.zeros((0, 0)),
        natural=np.zeros((0, log_likelihood.shape[1])),
        log_likelihood=log_likelihood,
        first_token=first_token,
        statistics=statistics,
    )


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def weighted_sum(weights, rows, out):
    """Write Σ_s weights[s] rows[s]; no row is read where the weights of four are 0."""
    n_columns = out.size
    for n in range(n_columns):
        out[n] = 0.0
    whole = weights.size - weights.size % 4
    # rows[s] would be an array of its own, made and counted for more than its sum costs.
    for s in range(0, whole, 4):
        a, b, c, d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            for n in range(n_columns):
                left = a * rows[s, n] + b * rows[s + 1, n]
                right = c * rows[s + 2, n] + d * rows[s + 3, n]
                out[n] += left + right
    for s in range(whole, weights.size):
        for n in range(n_columns):
            out[n] += weights[s] * rows[s, n]


@njit(cache=True, error_model="numpy")
def fold_statistics(kind, x, out):
    """Write T(x), every product of two coordinates once: 1, x, then x_a x_b for b up to a."""
    out[0] = 1.0
    index = 1
    for a in range(x.size):
        out[index] = x[a]
        index += 1
    if kind == GAUSSIAN:
        out[index] = x[0] * x[0]
    elif kind == MULTIVARIATE_GAUSSIAN:
        for a in range(x.size):
            for b in range(a + 1):
                out[index] = x[a] * x[b]
                index += 1


@njit(cache=True, nogil=True, error_model="numpy")
def log_likelihood_rows(first_token, last_token, tokens, out):
    """Write T(x_i) · natural_m for a range of tokens, so that several calls may share the rows.

    ``tokens._replace(log_likelihood=out, first_token=first_token)`` has them read.

    Parameters
    ----------
    first_token, last_token : int
    tokens : VectorTokens
        From `natural_tokens`.
    out : float64 (last_token − first_token, topic slots)
    """
    statistics = np.empty(tokens.natural.shape[0])
    for i in range(first_token, last_token):
        fold_statistics(tokens.kind, tokens.values[i], statistics)
        weighted_sum(statistics, tokens.natural, out[i - first_token])

"""Special functions that stay exact where the textbook form cancels."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from mcsquared.families.types import Floats

__all__ = ["log_gamma_ratio", "log_standard_gamma"]

# Above this argument seven terms of Stirling's series are exact to double precision.
_STIRLING_FROM = 10.0
_STIRLING_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling_tail(argument: Floats) -> Floats:
    """Return ln Γ(x) − [(x − ½) ln x − x + ½ ln 2π] for x of at least 10."""
    inverse = 1.0 / argument
    square = inverse * inverse
    tail = np.zeros_like(argument)
    for term in reversed(_STIRLING_TERMS):
        tail = tail * square + term
    return tail * inverse


def log_gamma_ratio(start: ArrayLike, added: ArrayLike) -> Floats:
    """Return ln Γ(start + added) − ln Γ(start), elementwise.

    Parameters
    ----------
    start : positive
    added : not negative

    Returns
    -------
    float64, broadcast shape

    Notes
    -----
    The difference of two log-gammas near 1e9 has six digits left; here the leading terms of
    Stirling's series are subtracted by hand, and only what remains is computed.
    """
    first, more = np.broadcast_arrays(np.asarray(start, np.float64), np.asarray(added, np.float64))
    small = first < _STIRLING_FROM
    if small.all():
        return gammaln(first + more) - gammaln(first)
    large = np.where(small, _STIRLING_FROM, first)
    total = large + more
    by_series = (
        (large - 0.5) * np.log1p(more / large)
        + more * (np.log(total) - 1.0)
        + (_stirling_tail(total) - _stirling_tail(large))
    )
    if not small.any():
        return by_series
    return np.where(small, gammaln(first + more) - gammaln(first), by_series)


def log_standard_gamma(shape: ArrayLike, rng: np.random.Generator) -> Floats:
    """Draw the logarithm of a Gamma(shape, 1) variable for each shape.

    Gamma(a) has the law of Gamma(a + 1) U^{1/a}; in logs this cannot underflow, where a plain
    draw with a small shape is often zero.
    """
    shape = np.asarray(shape, np.float64)
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential(shape.shape) / shape

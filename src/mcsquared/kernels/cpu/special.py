"""Special functions, and draws from discrete distributions."""

import math

from mcsquared.kernels.caching import njit
from mcsquared.kernels.rng import uniform

HALF_LOG_TWO_PI = 0.9189385332046727
ROUNDING_FACTOR = 1.0 - 1e-6  # factor of a bound, so that rounding cannot exceed it


@njit(cache=True, error_model="numpy")
def stirling_series(x):
    """Return ln Γ(x) − (x − ½) ln x + x − ½ ln 2π for x ≥ 8."""
    inverse = 1.0 / x
    square = inverse * inverse
    return inverse * (
        1.0 / 12
        - square
        * (
            1.0 / 360
            - square
            * (1.0 / 1260 - square * (1.0 / 1680 - square * (1.0 / 1188 - square * 691.0 / 360360)))
        )
    )


@njit(cache=True, error_model="numpy")
def log_gamma(x):
    """Return ln Γ(x) for x > 0, with an error of about 1e-13, three times as fast as the C library.

    Uses Stirling's series; for small x, Γ(x) = Γ(x+n) / (x (x+1) ... (x+n-1)) is applied first.
    """
    shift = 1.0
    while x < 8.0:
        shift *= x
        x += 1.0
    value = (x - 0.5) * math.log(x) - x + HALF_LOG_TWO_PI + stirling_series(x)
    return value if shift == 1.0 else value - math.log(shift)


@njit(cache=True, error_model="numpy")
def log_rising_factorial(a, n):
    """Return the log of the rising factorial, ln Γ(a+n) − ln Γ(a), for a > 0 and integer n ≥ 0.

    For small n the factors are multiplied. Otherwise the leading terms of both Stirling series are
    combined analytically: the difference of two log-gammas has no correct digits if a is 1e15.
    """
    if n <= 8 and a < 1e30:
        product = 1.0
        for i in range(n):
            product *= a + i
        return math.log(product)
    if a < 8.0:
        return log_gamma(a + n) - log_gamma(a)
    growth = (a + n - 0.5) * math.log1p(n / a) - n
    return n * math.log(a) + growth + stirling_series(a + n) - stirling_series(a)


@njit(cache=True, error_model="numpy")
def add_log(value, product, factor):
    """Return (value, product) such that ``value + log(product)`` increases by ``log(factor)``.

    Factors are multiplied as long as the product does not overflow, because a logarithm costs as
    much as twenty multiplications.
    """
    if factor < 1e-100 or factor > 1e100:
        return value + math.log(factor), product
    product *= factor
    if product > 1e150 or product < 1e-150:
        return value + math.log(product), 1.0
    return value, product


@njit(cache=True, error_model="numpy")
def pick(log_weights, n, u):
    """Return an index below n with probability ∝ exp(log_weights), given a random number ``u``.

    ``log_weights`` are overwritten.
    """
    largest = -math.inf
    for i in range(n):
        if log_weights[i] > largest:
            largest = log_weights[i]
    total = 0.0
    for i in range(n):
        total += math.exp(log_weights[i] - largest)
        log_weights[i] = total
    threshold = u * total
    last = 0
    for i in range(n):
        if log_weights[i] > threshold:
            return i
        if i > 0 and log_weights[i] > log_weights[i - 1]:
            last = i
    return last


@njit(cache=True, error_model="numpy")
def power(x, n):
    """Return xⁿ for n ≥ 1, by repeated squaring."""
    result = 1.0
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


@njit(cache=True, error_model="numpy")
def crt(n, a, seed, chain, sweep, step, index):
    """Draw a number of tables exactly, from CRT(n, a): Σ_{i<n} Bernoulli(a / (a+i)).

    Within each block of customers 1, 2-3, 4-7, ... the probability falls by at most half. Gaps
    between candidates are geometric with the largest probability of the block, and candidates are
    thinned. The cost grows with the number of tables and log n, not with n.
    """
    if n <= 0 or a <= 0.0:
        return n if n <= 1 else 1  # the first customer always opens a table
    tables = 1
    attempt = 0
    first = 1
    while first < n:
        last = min(n, 2 * first)
        u = uniform(seed, chain, sweep, step, index, attempt)
        # Most blocks have no candidate. A power is faster than the two logarithms below, which are
        # needed only if the block has one or if rounding might matter.
        if u < ROUNDING_FACTOR * power(first / (a + first), last - first):
            attempt += 1
            first = last
            continue
        probability = a / (a + first)
        log_miss = -math.log1p(a / first)  # log(1 − probability)
        if not log_miss < 0.0:  # underflow, or a is NaN: no later customer opens a table
            return tables
        i = first
        while True:
            gap = math.log(u) / log_miss
            attempt += 1
            if gap >= last - i:
                break
            i += int(gap)
            keep = uniform(seed, chain, sweep, step, index, attempt)
            attempt += 1
            if keep * probability < a / (a + i):
                tables += 1
            i += 1
            if i >= last:
                break
            u = uniform(seed, chain, sweep, step, index, attempt)
        first = last
    return tables

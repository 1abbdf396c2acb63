"""Special functions and single draws on the GPU: mostly CPU functions, compiled for the GPU."""

import math

from numba import cuda

from mcsquared.kernels.cpu import gammas, special
from mcsquared.kernels.cuda.rng import compile_for_gpu, uniform

add_log = compile_for_gpu(special.add_log)
stirling_series = compile_for_gpu(special.stirling_series)
log_rising_factorial = compile_for_gpu(
    special.log_rising_factorial,
    log_gamma=compile_for_gpu(special.log_gamma, stirling_series=stirling_series),
    stirling_series=stirling_series,
)
crt = compile_for_gpu(special.crt, uniform=uniform)
log_gamma_draw = compile_for_gpu(
    gammas.log_gamma_draw,
    uniform=uniform,
    log_try_small=compile_for_gpu(gammas.log_try_small),
    log_try_large=compile_for_gpu(gammas.log_try_large),
)


@cuda.jit(device=True)
def log_rising_factorial_of_large(a, n):
    """Return ln Γ(a+n) − ln Γ(a) for a ≥ 8 and integer n ≥ 0, without cancellation."""
    growth = (a + n - 0.5) * math.log1p(n / a) - n
    return n * math.log(a) + growth + stirling_series(a + n) - stirling_series(a)

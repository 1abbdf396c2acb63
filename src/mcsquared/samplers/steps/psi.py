"""ψ, the word distribution of every topic.

ψ depends on counts alone, so other threads draw it while the calling thread draws weights and
contexts, which are small and drawn in one thread.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from mcsquared.arrays import CountArray, Float32s, Floats
from mcsquared.kernels.cpu.gammas import add_columns, draw_gamma_rows, log_gamma_of_cell
from mcsquared.kernels.cpu.lanes import aligned
from mcsquared.kernels.rng import Step
from mcsquared.observations.layout import row_chunks
from mcsquared.samplers.threads import ThreadPool, add_in_order
from mcsquared.samplers.types import Key

SMALL_SUM = 1e-10  # topics whose variates sum to less are drawn in logs


def begin_psi(
    words: CountArray, beta: float, key: Key, threads: ThreadPool
) -> Callable[[], tuple[Float32s, Floats]]:
    """Start drawing ψ ~ Dir(β + n_m) for every topic slot; return a function that finishes it.

    That function returns ψ as variates (n_words, topic slots) with the sum of each topic to divide
    them by. The counts n_mw, ``words`` (n_words, topic slots), must not change before it is called.
    """
    bounds = row_chunks(len(words))
    variates, n_slots = aligned(*words.shape), words.shape[1]
    sums_of_chunk, counts = np.zeros((len(bounds) - 1, n_slots)), words.reshape(-1)

    def draw(first: int, last: int) -> None:
        rows = (bounds[first], bounds[last], n_slots)
        draw_gamma_rows(*rows, counts, beta, int(Step.CONTENT), key, False, variates.reshape(-1))
        add_columns(first, last, bounds, variates, sums_of_chunk)

    finish_drawing = threads.begin(len(bounds) - 1, draw, work=13.0 * words.size)

    def finish() -> tuple[Float32s, Floats]:
        finish_drawing()
        sums = add_in_order(sums_of_chunk)
        draw_small_topics(words, beta, key, variates, sums)
        return variates, sums

    return finish


def scale_psi(variates: Float32s, sums: Floats, threads: ThreadPool) -> Float32s:
    """Return ψ times n_words, scaled in place: most entries are near 1, far from underflow."""
    bounds = row_chunks(len(variates))
    scale = (len(variates) / sums).astype(np.float32)

    def scale_rows(first: int, last: int) -> None:
        variates[bounds[first] : bounds[last]] *= scale

    threads.map(len(bounds) - 1, scale_rows, work=0.3 * variates.size)
    return variates


def draw_small_topics(
    words: CountArray, beta: float, key: Key, variates: Float32s, sums: Floats
) -> None:
    """Redraw topics whose variates underflow, in logs and from the same random numbers."""
    for m in np.flatnonzero(sums < SMALL_SUM):
        cells = np.arange(len(words), dtype=np.int64) * words.shape[1] + m
        pairs = zip(cells, words[:, m], strict=True)
        step = int(Step.CONTENT)
        logs = np.array([log_gamma_of_cell(cell, n, beta, step, key) for cell, n in pairs])
        variates[:, m] = np.exp(logs - logsumexp(logs))
        sums[m] = 1.0

"""ψ, the words of every topic, drawn from counts alone.

Nothing else that a sweep draws first is asked for, so that other threads draw ψ while the one that
leads the sweep draws weights and contexts, which are small and full of steps that cannot be shared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mcsquared.kernels.cpu.gammas import add_columns, draw_gamma_rows, log_gamma_of_cell
from mcsquared.kernels.cpu.lanes import aligned
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.blocked.weights import Key
from mcsquared.samplers.workers import Workers, add_in_order
from mcsquared.state import State

__all__ = ["SMALL_SUM", "Floats", "Psi", "draw_small_topics"]

SMALL_SUM = 1e-10  # of a topic's variates: floats may not hold their proportions

Floats = NDArray[np.float32]


class Psi:
    """ψ ~ Dir(β + n_m) for every topic slot: begun by other threads, ended by who asks for it.

    It can be asked for once, so that it is gone when whoever asked is done with it. Counts must not
    change before.
    """

    def __init__(
        self, state: State, observations: Observations, priors: Priors, key: Key, workers: Workers
    ) -> None:
        self._words, self._key, self._workers = state.counts.words_in_topic, key, workers
        self._beta = float(priors.content.concentration)  # type: ignore[attr-defined]
        self._bounds = observations.layout.row_chunk_start
        self._variates = aligned(*self._words.shape)
        self._sums = np.zeros((len(self._bounds) - 1, self._words.shape[1]))
        self._end = workers.begin(len(self._bounds) - 1, self._draw)

    def _draw(self, first: int, last: int) -> None:
        bounds = self._bounds
        draw_gamma_rows(
            bounds[first],
            bounds[last],
            self._words.shape[1],
            self._words.reshape(-1),
            self._beta,
            int(Step.CONTENT),
            *self._key,
            False,
            self._variates.reshape(-1),
        )
        add_columns(first, last, bounds, self._variates, self._sums)

    def variates(self) -> tuple[Floats, NDArray[np.float64]]:
        """Return ψ as variates (n_words, topic slots), with each topic's sum to divide them by."""
        self._end()
        variates, sums = self._variates, add_in_order(self._sums)
        draw_small_topics(self._words, self._beta, self._key, variates, sums)
        del self._variates, self._sums
        return variates, sums

    def times_words(self) -> Floats:
        """Return ψ times the number of words: most are near 1, far from where floats end."""
        variates, sums = self.variates()
        scale = (len(variates) / sums).astype(np.float32)

        def divide(first: int, last: int) -> None:
            variates[self._bounds[first] : self._bounds[last]] *= scale

        self._workers.map(len(self._bounds) - 1, divide)
        return variates


def draw_small_topics(
    words: NDArray[np.int32], beta: float, key: Key, variates: Floats, sums: NDArray[np.float64]
) -> None:
    """Draw in logs, from the same numbers, the topics whose variates are too small for floats."""
    for m in np.flatnonzero(sums < SMALL_SUM):
        cells = np.arange(len(words), dtype=np.int64) * words.shape[1] + m
        logs = np.array(
            [
                log_gamma_of_cell(cell, n, beta, int(Step.CONTENT), *key)
                for cell, n in zip(cells, words[:, m], strict=True)
            ]
        )
        variates[:, m] = np.exp(logs - logsumexp(logs))
        sums[m] = 1.0

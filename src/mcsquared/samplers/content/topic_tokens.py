"""Tokens of one topic, for moves of topics: words, or vectors of a family with kernels.

Both kinds have additive statistics, which give the likelihood of each token with parameters at
their posterior mean. Arrays of likelihoods have a column for every word, or for every vector. Sums
use `einsum`, because the rounding of BLAS may depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.observations import Observations

ENTRIES_AT_ONCE = 1 << 20


class WordContent:
    """Words: the statistics are their counts. ``token`` (n_tokens,) are the chosen tokens."""

    def __init__(self, observations: Observations, token: NDArray[np.int64]) -> None:
        self.family: Any = observations.content_family
        self.column, self.n_words = observations.word[token], observations.n_words

    def statistics(self, share: Floats, tokens: slice = slice(None)) -> Floats:
        """Return Σ_i share_i T(w_i) over these tokens: float64 (n_stats,)."""
        counts = np.bincount(self.column[tokens], weights=share, minlength=self.n_words)
        return counts.astype(np.float64, copy=False)

    def likelihood(self, statistics: Floats) -> Floats:
        """Return the likelihoods in two topics, given their statistics: float64 (2, n_columns)."""
        words = statistics + self.family.concentration
        likelihood: Floats = words / words.sum(axis=1, keepdims=True)
        return likelihood


class VectorContent:
    """Vectors, with the same methods; see `WordContent`."""

    def __init__(self, observations: Observations, token: NDArray[np.int64]) -> None:
        self.family: Any = observations.content_family
        self.column = np.arange(len(token), dtype=np.int32)
        self.values = observations.values[token]

    def statistics(self, share: Floats, tokens: slice = slice(None)) -> Floats:
        """Return Σ_i share_i T(x_i) over these tokens: float64 (n_stats,)."""
        total, first = np.zeros(self.family.n_stats), 0
        for rows in self._rows(self.values[tokens]):
            total += np.einsum("i,ij->j", share[first : first + len(rows)], rows)
            first += len(rows)
        return total

    def likelihood(self, statistics: Floats) -> Floats:
        """Return the likelihoods in two topics, relative to the larger one of each token."""
        natural = self.family.natural_parameters(self.family.mean_parameters(statistics))
        parts = [np.einsum("kj,ij->ki", natural, rows) for rows in self._rows(self.values)]
        log_likelihood = np.concatenate(parts, axis=1)
        return np.exp(log_likelihood - log_likelihood.max(axis=0))

    def _rows(self, values: Floats) -> Iterator[Floats]:
        """Yield T(x) of some vectors at a time, because T(x) may be much larger than x."""
        step = max(ENTRIES_AT_ONCE // self.family.n_stats, 1)
        for first in range(0, len(values), step):
            yield self.family.centred_statistics(values[first : first + step])


TokenContent = WordContent | VectorContent

"""Tokens of one topic as its moves see them: words, or vectors of a family with kernels.

Both have additive statistics, from which follows the likelihood of each token, the parameters at
their posterior mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.observations import Observations


class TokenContent(ABC):
    """Statistics and likelihoods of chosen tokens.

    Parameters
    ----------
    token : int64 (n_tokens,)
    """

    column: NDArray[Any]  # of each token in tables of likelihoods

    def __init__(self, observations: Observations, token: NDArray[np.int64]) -> None:
        self.family: Any = observations.content_family

    @abstractmethod
    def statistics(self, share: Floats, tokens: slice = slice(None)) -> Floats:
        """Return Σ_i share_i T(x_i) over these tokens: float64 (n_stats,)."""

    @abstractmethod
    def likelihood(self, statistics: Floats) -> Floats:
        """Return the likelihoods given the statistics (2, n_stats) of two topics: (2, n_columns).

        Up to a factor for each column.
        """


class WordContent(TokenContent):
    """Words: the statistics are their counts."""

    def __init__(self, observations: Observations, token: NDArray[np.int64]) -> None:
        super().__init__(observations, token)
        self.column, self.n_words = observations.word[token], observations.n_words

    def statistics(self, share: Floats, tokens: slice = slice(None)) -> Floats:
        """Return the counts of the words, weighted by the shares of the tokens."""
        counts = np.bincount(self.column[tokens], weights=share, minlength=self.n_words)
        return counts.astype(np.float64, copy=False)

    def likelihood(self, statistics: Floats) -> Floats:
        """Return the posterior mean of ψ in both topics."""
        words = statistics + self.family.concentration
        likelihood: Floats = words / words.sum(axis=1, keepdims=True)
        return likelihood


class VectorContent(TokenContent):
    """Vectors: each token has a column of its own."""

    def __init__(self, observations: Observations, token: NDArray[np.int64]) -> None:
        super().__init__(observations, token)
        self.column = np.arange(len(token), dtype=np.int32)
        self.rows: Floats = self.family.centred_statistics(observations.values[token])

    def statistics(self, share: Floats, tokens: slice = slice(None)) -> Floats:
        """Return the weighted sum of the statistics."""
        return np.einsum("i,ij->j", share, self.rows[tokens])  # unlike @, in the order of tokens

    def likelihood(self, statistics: Floats) -> Floats:
        """Return the likelihoods at the posterior mean; the larger one of each token is 1."""
        parameters = self.family.mean_parameters(statistics)
        natural = self.family.natural_parameters(parameters)
        log_likelihood = np.stack([np.einsum("ij,j->i", self.rows, row) for row in natural])
        return np.exp(log_likelihood - log_likelihood.max(axis=0))

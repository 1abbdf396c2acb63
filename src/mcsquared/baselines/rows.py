"""Groups as rows of numbers, for clusterers that know nothing of tokens."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.baselines.checks import words_of
from mcsquared.corpus import Words, as_corpus
from mcsquared.errors import InputError

__all__ = ["WEIGHTINGS", "Rows", "squared_distances", "symmetric_kl"]

Floats = NDArray[np.float64]

WEIGHTINGS = ("proportions", "tfidf", "counts")
SMALLEST = 1e-12  # in place of a share of zero, whose logarithm is none


class Rows:
    """How groups become rows: their words, weighted, or numbers that are rows already.

    Parameters
    ----------
    weighting : {"proportions", "tfidf", "counts"}
        Of words: their share of the group's tokens; term frequency × inverse document frequency, as
        in scikit-learn, rows of length 1; or counts as they are.
    """

    def __init__(self, weighting: str) -> None:
        if weighting not in WEIGHTINGS:
            known = ", ".join(map(repr, WEIGHTINGS))
            raise InputError(f"weighting is {weighting!r}, but one of {known} is wanted")
        self.weighting = weighting
        self.vocabulary: NDArray[np.object_] | None = None
        self.width = 0
        self._idf: Any = None

    def learn(self, X: Any) -> Self:
        """Learn words, and how rare they are, from the groups of training."""
        corpus = as_corpus(X)
        if isinstance(corpus.content, Words):
            self.vocabulary, self.width = corpus.content.vocabulary, corpus.content.n_words
            if self.weighting == "tfidf":
                from sklearn.feature_extraction.text import TfidfTransformer

                self._idf = TfidfTransformer().fit(corpus.content.counts)
        else:
            self.width = corpus.content.width
        return self

    def of(self, X: Any) -> tuple[Any, NDArray[np.bool_]]:
        """Return the rows of groups, csr_matrix or float64, and which groups have any content."""
        if self.vocabulary is None:
            return self._given(X)
        content = words_of(X, vocabulary=self.vocabulary).content
        assert isinstance(content, Words)
        sizes = content.tokens_per_group
        if self.weighting == "tfidf":
            rows = self._idf.transform(content.counts)
        elif self.weighting == "proportions":
            rows = sparse.diags_array(1.0 / np.maximum(sizes, 1)) @ content.counts
        else:
            rows = content.counts.astype(np.float64)
        return sparse.csr_matrix(rows), sizes > 0

    def _given(self, X: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """Return rows that were given as vectors, one of each group."""
        content = as_corpus(X).content
        sizes = content.tokens_per_group
        if isinstance(content, Words) or (sizes > 1).any():
            raise InputError("X holds groups of several vectors, but one row a group is wanted")
        if content.width != self.width:
            raise InputError(f"X has rows of {content.width} numbers, but {self.width} are wanted")
        rows = np.zeros((content.n_groups, content.width))
        rows[sizes > 0] = content.values
        return rows, sizes > 0


def squared_distances(rows: Any, others: Any) -> Floats:
    """Return the squared Euclidean distance of every row to every other: float64, dense."""
    from sklearn.metrics import euclidean_distances

    return euclidean_distances(rows, others, squared=True)


def symmetric_kl(rows: Any, others: Any = None) -> Floats:
    """Return KL(p ‖ q) + KL(q ‖ p) of every row p with every other q: float64, dense.

    Parameters
    ----------
    rows : array-like or sparse matrix of shape (n, n_topics)
        Shares, none negative; each row is divided by its sum. A share of zero is taken for 10⁻¹².
    others : array-like of shape (m, n_topics), optional
        The same as ``rows`` unless given.

    Examples
    --------
    >>> mc2.baselines.symmetric_kl([[0.5, 0.5], [0.9, 0.1]]).round(2)
    array([[0.  , 0.88],
           [0.88, 0.  ]])
    """
    first = _shares(rows)
    second = first if others is None else _shares(others)
    log_first, log_second = np.log(first), np.log(second)
    # Σ (p − q)(log p − log q), multiplied out into products of matrices.
    own_first, own_second = (first * log_first).sum(axis=1), (second * log_second).sum(axis=1)
    cross = first @ log_second.T + log_first @ second.T
    return np.maximum(own_first[:, None] + own_second[None] - cross, 0.0)


def _shares(rows: Any) -> Floats:
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
    if dense.ndim != 2 or not np.isfinite(dense).all() or (dense < 0.0).any():
        raise InputError("rows must be a matrix of shares, none of them negative")
    total = dense.sum(axis=1, keepdims=True)
    if (total == 0.0).any():
        raise InputError("rows holds a row of zeros, but shares that sum to 1 are wanted")
    dense = np.maximum(dense / total, SMALLEST)
    return dense / dense.sum(axis=1, keepdims=True)

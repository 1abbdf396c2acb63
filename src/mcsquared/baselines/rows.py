"""Conversion of groups to rows of numbers, and distances between rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus import Words, as_corpus
from mcsquared.errors import InputError

Floats = NDArray[np.float64]

WEIGHTINGS = ("proportions", "tfidf", "counts")
SMALLEST = 1e-12  # replaces a share of zero, for the logarithm


class RowTransformer:
    """Transformer from groups to rows: weighted word counts, or the given rows of numbers.

    Parameters
    ----------
    weighting : {"proportions", "tfidf", "counts"}
        Weights of words: shares of the group's tokens; term frequency × inverse document frequency
        as in scikit-learn, rows of length 1; or counts.
    """

    def __init__(self, weighting: str) -> None:
        if weighting not in WEIGHTINGS:
            known = ", ".join(map(repr, WEIGHTINGS))
            raise InputError(f"weighting must be one of {known}, got {weighting!r}")
        self.weighting = weighting
        self.vocabulary: NDArray[np.object_] | None = None
        self.width = 0
        self._idf: Any = None

    def fit(self, X: Any) -> Self:
        """Learn the vocabulary and document frequencies from the training groups."""
        corpus = as_corpus(X)
        if isinstance(corpus.content, Words):
            self.vocabulary, self.width = corpus.content.vocabulary, corpus.content.n_words
            if self.weighting == "tfidf":
                from sklearn.feature_extraction.text import TfidfTransformer

                self._idf = TfidfTransformer().fit(corpus.content.counts)
        else:
            self.width = corpus.content.width
        return self

    def transform(self, X: Any) -> tuple[Any, NDArray[np.bool_]]:
        """Return the rows of groups, csr_matrix or float64, and a mask of groups with content."""
        if self.vocabulary is None:
            return self._given(X)
        words: Any = self.vocabulary
        corpus = as_corpus(X, content="counts", vocabulary=words)
        content = corpus.aligned_to(words).content
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
        """Return rows given as one vector per group."""
        content = as_corpus(X).content
        sizes = content.tokens_per_group
        if isinstance(content, Words) or (sizes > 1).any():
            raise InputError("X must have one row per group, got groups of several vectors")
        if content.width != self.width:
            raise InputError(f"X must have {self.width} columns, got {content.width}")
        rows = np.zeros((content.n_groups, content.width))
        rows[sizes > 0] = content.values
        return rows, sizes > 0


def squared_distances(rows: Any, others: Any) -> Floats:
    """Return the squared Euclidean distances between rows and others: float64, dense."""
    from sklearn.metrics import euclidean_distances

    return euclidean_distances(rows, others, squared=True)


def symmetric_kl(rows: Any, others: Any = None) -> Floats:
    """Return KL(p ‖ q) + KL(q ‖ p) for every row p and every other row q: float64, dense.

    Parameters
    ----------
    rows : array-like or sparse matrix of shape (n, n_topics)
        Non-negative shares; each row is divided by its sum. A share of zero is replaced by 10⁻¹².
    others : array-like of shape (m, n_topics), optional
        By default ``rows``.

    Examples
    --------
    >>> mc2.baselines.symmetric_kl([[0.5, 0.5], [0.9, 0.1]]).round(2)
    array([[0.  , 0.88],
           [0.88, 0.  ]])
    """
    first = _shares(rows)
    second = first if others is None else _shares(others)
    log_first, log_second = np.log(first), np.log(second)
    # Σ (p − q)(log p − log q), expanded into matrix products.
    self_first, self_second = (first * log_first).sum(axis=1), (second * log_second).sum(axis=1)
    cross = first @ log_second.T + log_first @ second.T
    return np.maximum(self_first[:, None] + self_second[None] - cross, 0.0)


def _shares(rows: Any) -> Floats:
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
    if dense.ndim != 2 or not np.isfinite(dense).all() or (dense < 0.0).any():
        raise InputError("rows must be a matrix of non-negative shares")
    total = dense.sum(axis=1, keepdims=True)
    if (total == 0.0).any():
        raise InputError("every row must have a positive sum, got a row of zeros")
    dense = np.maximum(dense / total, SMALLEST)
    return dense / dense.sum(axis=1, keepdims=True)

"""Categories with a Dirichlet prior, one at a time or in bags: words, authors, tags.

The prior of the probabilities is Dir(c, ..., c) with a fixed c, or Dir(g b) with a base measure b
and a concentration g that are resampled. Given these, the family has one shape g b_w per category.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import gammaln, logsumexp

from mcsquared.arrays import Floats, Int32s, Integers, Rng
from mcsquared.errors import InputError
from mcsquared.families.base import ConjugateFamily, checked_labels
from mcsquared.families.checks import concentration_of_categories, filled_field, positive_integer
from mcsquared.families.numerics import (
    as_dense,
    indicator_matrix,
    log_rising_factorial,
    log_standard_gamma,
    rows_by_label,
)
from mcsquared.gamma import Gamma

DEFAULT_CONCENTRATION = 0.1  # if none is given; learned ones start with it
# Log-gamma ratios (count × cluster) that are computed at once.
_RATIOS_PER_CHUNK = 2**20


@dataclass(frozen=True)
class Dirichlet(ConjugateFamily):
    """Base class of `Categorical` and `Bag`: the statistics are counts per category."""

    concentration: float | str | Gamma | None = None
    size: int | None = None

    display: ClassVar[str | None] = "categories"
    field_checks: ClassVar = {
        "concentration": concentration_of_categories,
        "size": positive_integer,
    }

    @property
    def n_stats(self) -> int:
        """The number of categories."""
        return int(filled_field(self, "size"))

    @property
    def n_dimensions(self) -> int | None:
        """The number of categories; None if it is not known yet."""
        return self.size

    @property
    def is_learned(self) -> bool:
        """Whether the base measure and the concentration are resampled."""
        return isinstance(self.concentration, Gamma | str)

    @property
    def initial_shape(self) -> float:
        """The initial Dirichlet parameter of every category in a chain."""
        return DEFAULT_CONCENTRATION if self.is_learned else float(self.shapes)

    @property
    def shapes(self) -> Any:
        """The Dirichlet parameters of the categories: one float, or float64 (size,)."""
        if self.is_learned:
            kind = type(self).__name__
            raise InputError(f"concentration of {kind} must be a number here, got a learned one")
        return DEFAULT_CONCENTRATION if self.concentration is None else self.concentration

    def given(self, shapes: Floats) -> Self:
        """Return the family with these Dirichlet parameters of its categories, float64 (size,)."""
        family = copy.copy(self)
        object.__setattr__(family, "concentration", shapes)
        return family

    def kernel_parameters(self) -> Floats:
        """Return the Dirichlet parameter, equal for all categories, and their number."""
        return np.array([self.shapes, self.n_stats], np.float64)

    def filled_without_data(self) -> Self:
        """Return the family itself; its size must be given."""
        if self.size is None:
            raise InputError(f"size of {type(self).__name__} must be given, got None")
        return self

    def from_vectors(self, values: Floats) -> Floats:
        """Reject vector content: categories require counts."""
        raise InputError(f"content={self.name!r} requires integer counts, got vectors")

    def log_normaliser(self, stats: Floats) -> Floats:
        """Return Σ_w ln Γ(shape_w + count_w) − ln Γ of their sum."""
        weights = self.shapes + as_dense(stats)
        return gammaln(weights).sum(axis=-1) - gammaln(weights.sum(axis=-1))

    def log_marginal(self, stats: Floats | Integers) -> Floats:
        """Return log Z(stats) − log Z(0), from the categories that occur: float64 (...).

        ``stats`` may be a sparse matrix.
        """
        if sparse.issparse(stats):
            # Floats, because sums of int32 counts could overflow.
            counts = sparse.csr_matrix(stats, dtype=np.float64)
            gains, shapes = counts.copy(), self.shapes
            entry_shapes = shapes[counts.indices] if np.ndim(shapes) else shapes
            gains.data = log_rising_factorial(entry_shapes, gains.data)
            gain, total = _row_sums(gains), _row_sums(counts)
        else:
            dense = np.asarray(stats)
            gains, occurs = np.zeros(dense.shape), dense > 0
            shapes = np.broadcast_to(self.shapes, dense.shape)
            gains[occurs] = log_rising_factorial(shapes[occurs], dense[occurs])
            gain, total = gains.sum(axis=-1), dense.sum(axis=-1, dtype=np.float64)
        shapes = self.shapes
        concentration = shapes.sum() if np.ndim(shapes) else shapes * self.n_stats
        return gain - log_rising_factorial(concentration, total)

    def sample_parameters(self, stats: Floats, rng: Rng) -> Floats:
        """Draw the log-probabilities of the categories: float64 (n_clusters, size)."""
        logs = log_standard_gamma(self.shapes + np.atleast_2d(as_dense(stats)), rng)
        return logs - logsumexp(logs, axis=-1, keepdims=True)

    def mean_parameters(self, stats: Floats) -> Floats:
        """Return the logarithms of the mean probabilities: float64 (n_clusters, size)."""
        return np.log(self.mean_observation(stats))

    def mean_observation(self, stats: Floats) -> Floats:
        """Return the mean probabilities: float64 (n_clusters, size)."""
        weights = np.atleast_2d(as_dense(stats)) + self.shapes
        weights /= weights.sum(axis=-1, keepdims=True)
        return weights


@dataclass(frozen=True)
class Categorical(Dirichlet):
    """One of several categories, with a Dirichlet prior on their probabilities.

    Observations are int codes (n,), 0 to ``size - 1``. Parameters are float64 (k, size): the
    logarithms of the probabilities.

    Parameters
    ----------
    concentration : float, "learned" or Gamma, optional
        A number c: the prior is Dir(c, ..., c), worth c observations of each category. "learned":
        the prior is Dir(g b); b has a uniform prior, log g a uniform one between g = 0.1 and 10⁶,
        and both are resampled, so that a context unrelated to the clusters does not affect
        them. A `Gamma` is a prior of g, with b learned as well. None: learned for contexts if
        groups vary within their cluster (a finite ``lam``); 0.05 for words, otherwise 0.1.
    size : int, optional
        The number of categories. It cannot be inferred from codes, so it must be given before use.

    Examples
    --------
    >>> family = mc2.Categorical(concentration=0.5, size=3)
    >>> np.exp(family.log_predictive([0], family.statistics([0, 0, 2]).sum(axis=0))).round(2)
    array([[0.56]])
    >>> learned = mc2.Categorical("learned", size=2)
    >>> learned.is_learned, learned.initial_shape, learned.given(np.array([0.2, 0.8])).shapes
    (True, 0.1, array([0.2, 0.8]))
    """

    name: ClassVar[str] = "categorical"
    kernel: ClassVar[str | None] = "dirichlet"
    column_kinds: ClassVar[tuple[str, ...]] = ("category",)
    column_form: ClassVar[str] = "one category per group"
    content_kind: ClassVar[str | None] = "words"

    def filled(self, x: Any) -> Self:
        """Return the family itself, after a check of its size and of the codes."""
        self.filled_without_data()._codes(x)
        return self

    def statistics(self, x: Any) -> Floats:
        """Return a row with a single 1 for each observation: float64 (n, size)."""
        codes = self._codes(x)
        rows = np.zeros((len(codes), self.n_stats))
        rows[np.arange(len(codes)), codes] = 1.0
        return rows

    def statistics_by_cluster(self, x: Any, labels: ArrayLike, n_clusters: int) -> Floats:
        """Return how often each category occurs in each cluster: float64 (n_clusters, size)."""
        codes, labels = self._codes(x), checked_labels(x, labels, n_clusters)
        cells = np.bincount(labels * self.n_stats + codes, minlength=n_clusters * self.n_stats)
        return cells.reshape(n_clusters, self.n_stats).astype(np.float64)

    def log_predictive(self, x: Any, stats: Floats) -> Floats:
        """Return ln[(c + count) / Σ (c + count)]: float64 (n, n_clusters)."""
        weights = self.shapes + np.atleast_2d(as_dense(stats))
        return np.log(weights[:, self._codes(x)].T / weights.sum(axis=-1))

    def log_likelihood(self, x: Any, parameters: Floats) -> Floats:
        """Return the log-probability of each observed category: float64 (n, n_clusters)."""
        return np.atleast_2d(parameters)[:, self._codes(x)].T

    def outcomes(self) -> Int32s:
        """Return the codes of all categories."""
        return np.arange(self.n_stats, dtype=np.int32)

    def sample_observations(
        self, parameters: Floats, labels: Integers, rng: Rng, sizes: Integers | None = None
    ) -> Int32s:
        """Draw one code per label: int32 (n,)."""
        return draw_categories(np.exp(parameters), labels, rng)

    def _codes(self, x: Any) -> np.ndarray:
        codes = np.asarray(x)
        if codes.size == 0:
            return np.zeros(0, np.int64)
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise InputError(
                "observations of Categorical must be a vector of integer codes, "
                f"got {codes.dtype} values of shape {codes.shape}"
            )
        if codes.min() < 0 or codes.max() >= self.n_stats:
            raise InputError(
                f"codes of Categorical must be between 0 and {self.n_stats - 1}, "
                f"got codes from {codes.min()} to {codes.max()}"
            )
        return codes.astype(np.int64)


@dataclass(frozen=True)
class Bag(Dirichlet):
    """A bag of categories (authors, tags), with a Dirichlet prior on their probabilities.

    Observations are a sparse CSR matrix of integer counts (n, size); an empty row has probability
    1, like a missing one. Parameters are float64 (k, size): the logarithms of the probabilities.

    Parameters
    ----------
    concentration : float, "learned" or Gamma, optional
        As in `Categorical`; a number is worth as many occurrences of each category.
    size : int, optional
        The number of categories. None: the number of columns of the data.

    Notes
    -----
    A bag is unordered: its probability includes the multinomial coefficient, in `log_base`.

    Examples
    --------
    >>> bags = mc2.Corpus.from_tokens([["ant"], ["bee"]], {"tags": [["a", "b"], ["b"]]})
    >>> mc2.Bag(concentration=0.5).filled(bags.contexts["tags"].values)
    Bag(concentration=0.5, size=2)
    >>> learned = mc2.Bag(mc2.Gamma(2, 1), size=2)
    >>> learned.is_learned, learned.initial_shape, learned.given(np.array([0.2, 0.8])).shapes
    (True, 0.1, array([0.2, 0.8]))
    """

    name: ClassVar[str] = "bag"
    kernel: ClassVar[str | None] = "dirichlet"
    column_kinds: ClassVar[tuple[str, ...]] = ("bag",)
    column_form: ClassVar[str] = "lists of categories"
    content_kind: ClassVar[str | None] = None

    def filled(self, x: Any) -> Self:
        """Return the family with as many categories as the data have columns."""
        family = self if self.size is not None else replace(self, size=max(1, x.shape[1]))
        family._counts(x)
        return family

    def statistics(self, x: Any) -> Floats:
        """Return the counts: float64 (n, size)."""
        return self._counts(x).toarray()

    def statistics_by_cluster(self, x: Any, labels: ArrayLike, n_clusters: int) -> Floats:
        """Return how often each category occurs in each cluster: float64 (n_clusters, size)."""
        labels = checked_labels(x, labels, n_clusters)
        return (indicator_matrix(labels, n_clusters) @ self._counts(x)).toarray()

    def log_base(self, x: Any) -> Floats:
        """Return the logarithm of the multinomial coefficient of each bag."""
        counts = self._counts(x)
        factorials = counts.copy()
        factorials.data = gammaln(counts.data + 1.0)
        return gammaln(_row_sums(counts) + 1.0) - _row_sums(factorials)

    def log_predictive(self, x: Any, stats: Floats) -> Floats:
        """Return the log-probability of a Dirichlet-multinomial: float64 (n, n_clusters).

        Only the categories that occur in ``x`` are evaluated.
        """
        counts = self._counts(x)
        stats = np.atleast_2d(as_dense(stats))
        weights = self.shapes + stats
        totals = log_rising_factorial(weights.sum(axis=-1), _row_sums(counts)[:, None])
        return _log_rising_factorials(counts, weights) - totals + self.log_base(counts)[:, None]

    def log_likelihood(self, x: Any, parameters: Floats) -> Floats:
        """Return the multinomial log-probability of each bag: float64 (n, n_clusters)."""
        counts = self._counts(x)
        return counts @ np.atleast_2d(parameters).T + self.log_base(counts)[:, None]

    def outcomes(self) -> sparse.csr_matrix:
        """Return the bags of a single entry, one for each category."""
        return sparse.identity(self.n_stats, dtype=np.int32, format="csr")

    def sample_observations(
        self, parameters: Floats, labels: Integers, rng: Rng, sizes: Integers | None = None
    ) -> sparse.csr_matrix:
        """Draw one bag of ``sizes[i]`` entries per label: counts, int32 (n, n_categories)."""
        sizes = np.ones(labels.size, np.int64) if sizes is None else sizes
        bag = np.repeat(np.arange(labels.size), sizes)
        category = draw_categories(np.exp(parameters), labels[bag], rng)
        return count_matrix(bag, category, (labels.size, parameters.shape[1]))

    def _counts(self, x: Any) -> sparse.csr_matrix:
        """Return the observations as canonical CSR float64 without explicit zeros."""
        is_canonical = isinstance(x, sparse.csr_matrix) and x.has_canonical_format
        counts = sparse.csr_matrix(x, dtype=np.float64, copy=not is_canonical)
        counts.sum_duplicates()
        if not counts.data.all():
            counts = counts.copy()
            counts.eliminate_zeros()
        if counts.shape[1] == 0:
            counts.resize(counts.shape[0], self.n_stats)
        if counts.shape[1] != self.n_stats:
            raise InputError(
                f"observations of Bag must have one column per category ({self.n_stats}), "
                f"got {counts.shape[1]}"
            )
        wrong = counts.data[~((counts.data > 0) & (counts.data == np.floor(counts.data)))]
        if wrong.size:
            raise InputError(f"counts of Bag must be integers >= 0, got {float(wrong[0])!r}")
        return counts


def draw_categories(probabilities: Floats, labels: Integers, rng: Rng) -> Int32s:
    """Draw one category for each label from its row of ``probabilities``: int32 (n,).

    ``probabilities`` are float64 (n_rows, n_categories); rows need not be normalised.
    """
    uniform = rng.random(labels.size)
    category = np.empty(labels.size, dtype=np.int32)
    for weights, rows in zip(probabilities, rows_by_label(labels, len(probabilities)), strict=True):
        cumulative = np.cumsum(weights)
        # A uniform close to 1, times the sum, may round up to the sum, which is past the end.
        threshold = np.minimum(uniform[rows] * cumulative[-1], np.nextafter(cumulative[-1], 0.0))
        category[rows] = np.searchsorted(cumulative, threshold, side="right")
    return category


def count_matrix(group: Integers, word: Integers, shape: tuple[int, int]) -> sparse.csr_matrix:
    """Count the words of each group: int32 CSR matrix, sorted and without repeated entries."""
    ones = np.ones(word.size, dtype=np.int32)
    counts = sparse.coo_matrix((ones, (group, word)), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts.astype(np.int32)


def _row_sums(matrix: sparse.csr_matrix) -> Floats:
    return np.asarray(matrix.sum(axis=1), np.float64).ravel()


def _log_rising_factorials(counts: sparse.csr_matrix, weights: Floats) -> Floats:
    """Return Σ_w ln Γ(weight_kw + count_nw) − ln Γ(weight_kw): float64 (n, n_clusters).

    A count of 1 contributes ln weight, so that most of the sum is one sparse product.
    """
    columns, position = np.unique(counts.indices, return_inverse=True)
    single = sparse.csr_matrix(
        ((counts.data == 1.0).astype(np.float64), position, counts.indptr),
        shape=(counts.shape[0], len(columns)),
    )
    result = single @ np.log(weights[:, columns]).T
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    several = np.flatnonzero(counts.data > 1.0)
    step = max(1, _RATIOS_PER_CHUNK // max(1, len(weights)))
    for first in range(0, len(several), step):
        part = several[first : first + step]
        ratios = log_rising_factorial(weights[:, counts.indices[part]].T, counts.data[part, None])
        result += indicator_matrix(row[part], counts.shape[0]) @ ratios
    return result

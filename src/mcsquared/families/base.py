"""Base class of conjugate families: additive statistics, and everything that follows from them.

A family is a likelihood ``F(x | φ)`` with its conjugate prior ``H(φ)``. All families are
exponential, so that three functions define one: the sufficient statistics ``T(x)``, the
log-normaliser ``log Z`` of the posterior after statistics ``s``, and the base measure ``h(x)``:

    log p(x | s)  =  log Z(s + T(x)) − log Z(s) + log h(x)
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from mcsquared.arrays import Floats, Integers, Rng
from mcsquared.errors import InputError
from mcsquared.families.checks import filled_field
from mcsquared.families.numerics import indicator_matrix
from mcsquared.families.traits import FamilyTraits
from mcsquared.gamma import Gamma

# Floats in one temporary array of an inherited method (32 MiB).
_ENTRIES_PER_CHUNK = 2**22


def n_observations(x: Any) -> int:
    """Return the number of observations in an array, a sparse matrix or a list."""
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def checked_labels(x: Any, labels: ArrayLike, n_clusters: int) -> np.ndarray:
    """Return ``labels`` as int64 (n,), each below ``n_clusters``; otherwise raise `InputError`."""
    checked = np.asarray(labels)
    n = n_observations(x)
    if checked.shape != (n,):
        raise InputError(
            f"labels must have one entry per observation ({n}), got shape {checked.shape}"
        )
    if n and checked.dtype.kind not in "iu":
        raise InputError(f"labels must be integers, got {checked.dtype} values")
    if n and (checked.min() < 0 or checked.max() >= n_clusters):
        raise InputError(
            f"labels must be between 0 and {n_clusters - 1}, "
            f"got values from {checked.min()} to {checked.max()}"
        )
    return checked.astype(np.int64)


class ConjugateFamily(FamilyTraits, ABC):
    """A likelihood and its conjugate prior, in terms of additive statistics.

    Statistics are rows of one float64 array: adding an observation to a cluster is ``+=``,
    removing it is ``-=``, merging parts of the data is a sum, and a missing observation is a row of
    zeros. Families are immutable.

    A user-defined family needs `n_stats`, `statistics` and `log_normaliser`, and `log_base` where
    the base measure is not 1; the rest is inherited. With `sample_parameters` and
    `log_likelihood` as well, sampling is much faster, and predictions draw parameters instead of
    evaluating one predictive density per token. As a frozen dataclass it also supports
    ``to_dict`` and ``from_dict``.

    Attributes
    ----------
    name : str
        Name in files and on the command line; the class name unless set.
    kernel : str or None
        The compiled kernels that implement the family. None: samplers call its Python methods.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from scipy.special import gammaln
    >>> @dataclass(frozen=True)
    ... class Waiting(mc2.ConjugateFamily):  # times until something happens, at an unknown rate
    ...     shape: float = 1.0
    ...     rate: float = 1.0
    ...     n_stats = 2
    ...
    ...     def statistics(self, x):
    ...         return np.stack([np.ones(len(x)), np.asarray(x, float)], axis=-1)
    ...
    ...     def log_normaliser(self, stats):
    ...         shape = self.shape + stats[..., 0]
    ...         return gammaln(shape) - shape * np.log(self.rate + stats[..., 1])
    >>> np.exp(Waiting().log_predictive([1.0], np.zeros((1, 2))))  # before any data: 1 / (1 + x)²
    array([[0.25]])
    >>> Waiting().n_stats, Waiting().can_sample, Waiting().has_natural_parameters
    (2, False, False)
    >>> family = mc2.Bernoulli(1, 3)
    >>> family.n_dimensions, family.outcomes(), family.has_predictive
    (1, array([0., 1.]), False)
    >>> family.from_vectors(np.array([[1.0], [0.0]])), family.kernel_parameters()
    (array([1., 0.]), array([1., 3.]))
    >>> family.to_dict()
    {'family': 'bernoulli', 'a': 1.0, 'b': 3.0}
    >>> mc2.Bernoulli.from_dict(family.to_dict()) == family
    True
    >>> counts = mc2.Poisson(shape=1).filled(np.array([0.0, 2.0]))
    >>> counts, mc2.Poisson(shape=3).filled_without_data()
    (Poisson(shape=1.0, rate=1.0), Poisson(shape=3.0, rate=1.0))
    >>> counts.centred_statistics(np.array([[2.0], [5.0]]))
    array([[1., 2.],
           [1., 5.]])
    >>> counts.mean_observation(np.array([[3.0, 7.0]])), counts.predictive(np.zeros((1, 2)))[0].mean
    (array([[2.]]), array([1.]))
    >>> mc2.Gaussian(mean=0, shape=2, rate=8).mean_covariance(np.zeros((1, 3)))
    array([[[4.]]])
    >>> wide = mc2.MultivariateGaussian(mean=[0.0] * 40)
    >>> wide.is_wide, wide.cost
    (True, 100)
    """

    name: ClassVar[str]
    kernel: ClassVar[str | None] = None
    # The validator of each field, called as in `checks`; a field whose default is None may be None.
    field_checks: ClassVar[Mapping[str, Callable[[str, Any], Any]]] = {}

    def __post_init__(self) -> None:
        for name, check in self.field_checks.items():
            value = getattr(self, name)
            if value is not None or getattr(type(self), name) is not None:
                object.__setattr__(self, name, check(f"{name} of {type(self).__name__}", value))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        # A subclass may change the mathematics, so it does not inherit its parent's kernels.
        if "kernel" not in cls.__dict__:
            cls.kernel = None

    @property
    @abstractmethod
    def n_stats(self) -> int:
        """Number of statistics of an observation; may be a plain class attribute."""

    @abstractmethod
    def statistics(self, x: Any) -> Floats:
        """Return ``T(x)``, one row per observation: float64 (n, n_stats).

        Examples
        --------
        >>> mc2.Poisson().statistics([2.0, 5.0])
        array([[1., 2.],
               [1., 5.]])
        """

    @abstractmethod
    def log_normaliser(self, stats: Floats) -> Floats:
        """Return ``log Z`` of the posterior after statistics (..., n_stats): float64 (...).

        Examples
        --------
        >>> stats = mc2.Bernoulli().statistics([1.0, 1.0, 1.0, 0.0]).sum(axis=0, keepdims=True)
        >>> np.exp(mc2.Bernoulli().log_normaliser(stats)).round(2)  # B(1 + 3, 1 + 1)
        array([0.05])
        """

    def log_base(self, x: Any) -> Floats:
        """Return ``log h(x)``, float64 (n,); zero by default.

        Examples
        --------
        >>> np.exp(mc2.Poisson().log_base([0.0, 3.0])).round(3)  # 1 / x!
        array([1.   , 0.167])
        """
        return np.zeros(n_observations(x))

    def log_predictive(self, x: Any, stats: Floats) -> Floats:
        """Return the log-density of each observation in each cluster, parameters integrated out.

        Parameters
        ----------
        x : n observations
            In the numeric form of the family, without missing values.
        stats : float64 (n_clusters, n_stats)
            Statistics of each cluster. A row of zeros gives the prior predictive, the "new
            cluster" term of the Gibbs step.

        Returns
        -------
        float64 (n, n_clusters)

        Examples
        --------
        >>> stats = np.array([[0.0, 0.0], [4.0, 4.0]])  # no data; four times 1
        >>> np.exp(mc2.Bernoulli().log_predictive([1.0], stats)).round(2)
        array([[0.5 , 0.83]])
        """
        stats = np.atleast_2d(np.asarray(stats, np.float64))
        before = self.log_normaliser(stats)
        result = np.empty((n_observations(x), len(stats)))
        for part in self._chunks(x, stats.size):
            joined = stats + self.statistics(x[part])[:, None, :]
            result[part] = self.log_normaliser(joined) - before
        return result + self.log_base(x)[:, None]

    def log_marginal(self, stats: Floats | Integers) -> Floats:
        """Return the log marginal likelihood of data with statistics (..., n_stats): float64 (...).

        The base measure is not included: add ``log_base(x).sum()`` for the density of the data.

        Examples
        --------
        >>> stats = mc2.Bernoulli().statistics([1.0, 1.0, 1.0, 0.0]).sum(axis=0, keepdims=True)
        >>> np.exp(mc2.Bernoulli().log_marginal(stats)).round(2)
        array([0.05])
        """
        stats = np.asarray(stats, np.float64)
        return self.log_normaliser(stats) - self.log_normaliser(np.zeros((1, self.n_stats)))[0]

    def statistics_by_cluster(self, x: Any, labels: ArrayLike, n_clusters: int) -> Floats:
        """Return the sum of ``T(x)`` over the observations of each cluster.

        Parameters
        ----------
        x : n observations
        labels : int (n,)
            The cluster of each observation, 0 to ``n_clusters - 1``.
        n_clusters : int

        Returns
        -------
        float64 (n_clusters, n_stats)

        Examples
        --------
        >>> mc2.Poisson().statistics_by_cluster(np.array([2.0, 5.0, 1.0]), [0, 0, 1], n_clusters=2)
        array([[2., 7.],
               [1., 1.]])
        """
        labels = checked_labels(x, labels, n_clusters)
        total = np.zeros((n_clusters, self.n_stats))
        for part in self._chunks(x, self.n_stats):
            total += indicator_matrix(labels[part], n_clusters) @ self.statistics(x[part])
        return total

    def sample_parameters(self, stats: Floats, rng: Rng) -> Floats:
        """Draw the parameters ``φ`` of each cluster from their posterior.

        Parameters
        ----------
        stats : float64 (n_clusters, n_stats)
        rng : numpy.random.Generator

        Returns
        -------
        float64 (n_clusters, n_parameters)
            In a layout that is specific to the family; `log_likelihood` takes it.

        Examples
        --------
        >>> family = mc2.Gaussian(mean=0, rate=1)
        >>> family.sample_parameters(np.zeros((3, 3)), np.random.default_rng(0)).shape
        (3, 2)
        """
        raise self._missing("sample_parameters")

    def mean_parameters(self, stats: Floats) -> Floats:
        """Return the posterior mean of the parameters, in the layout of `sample_parameters`.

        Examples
        --------
        >>> family = mc2.Gaussian(mean=0, strength=1, rate=1)
        >>> family.mean_parameters(family.statistics([2.0, 2.0, 2.0]).sum(axis=0)).round(1)
        array([[1.5, 1.4]])
        """
        raise self._missing("mean_parameters")

    def log_likelihood(self, x: Any, parameters: Floats) -> Floats:
        """Return ``log F(x | φ)``, base measure included.

        Parameters
        ----------
        x : n observations
        parameters : float64 (n_clusters, n_parameters)
            From `sample_parameters` or `mean_parameters`.

        Returns
        -------
        float64 (n, n_clusters)

        Examples
        --------
        >>> np.exp(mc2.Bernoulli().log_likelihood([1.0, 0.0], np.log([[0.8, 0.2]]))).round(1)
        array([[0.8],
               [0.2]])
        """
        raise self._missing("log_likelihood")

    def natural_parameters(self, parameters: Floats) -> Floats:
        """Return the natural parameters, the coefficients of the statistics.

            log F(x | φ)  =  T(x) · natural(φ) + log h(x)

        Parameters
        ----------
        parameters : float64 (n_clusters, n_parameters)
            From `sample_parameters` or `mean_parameters`.

        Returns
        -------
        float64 (n_clusters, n_stats)

        Examples
        --------
        >>> mc2.Poisson().natural_parameters(np.log([[2.0]])).round(2)  # -2 + x ln 2
        array([[-2.  ,  0.69]])
        """
        raise self._missing("natural_parameters")

    @property
    def is_wide(self) -> bool:
        """Whether vectors have so many dimensions that matrix operations take most of the time."""
        return False

    @property
    def cost(self) -> int:
        """How much longer a sweep takes for an observation than for a word, approximately."""
        return 1

    @property
    def can_sample(self) -> bool:
        """Whether the family defines `sample_parameters` and `log_likelihood`."""
        return self._defines("sample_parameters", "log_normaliser") and self._defines(
            "log_likelihood", "statistics"
        )

    @property
    def has_natural_parameters(self) -> bool:
        """Whether the family defines `natural_parameters`, which a GPU requires of content."""
        return self._defines("natural_parameters", "statistics")

    @property
    def has_predictive(self) -> bool:
        """Whether the family itself defines `predictive`; a subclass must define its own."""
        return "predictive" in vars(type(self))

    def kernel_parameters(self) -> Floats:
        """Return the prior as one flat float64 array for kernels; by default the fields."""
        return np.array([filled_field(self, name) for name in self.field_checks], np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return the family as plain values that can be written as JSON."""
        names = _field_names(type(self))
        if names is None:
            raise self._missing("to_dict")
        return {"family": self.name, **{name: _plain(getattr(self, name)) for name in names}}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Return the family that `to_dict` described."""
        if not isinstance(values, Mapping):
            raise InputError(f"a family must be a mapping, got {type(values).__name__}")
        if values.get("family") != cls.name:
            raise InputError(f"family must be {cls.name!r}, got {values.get('family')!r}")
        fields = {field: value for field, value in values.items() if field != "family"}
        allowed = _field_names(cls) or []
        unknown = [str(field) for field in fields if field not in allowed]
        if unknown:
            raise InputError(f"fields of {cls.name!r} must be among {allowed}, got {unknown[0]!r}")
        try:
            return cls(**fields)
        except TypeError as error:
            raise InputError(
                f"the fields of the family {cls.name!r} are invalid: {error}"
            ) from None

    def _chunks(self, x: Any, entries_per_observation: int) -> Iterator[slice]:
        """Split the observations into chunks that depend on sizes alone, never on threads."""
        step = max(1, _ENTRIES_PER_CHUNK // max(1, entries_per_observation))
        for first in range(0, n_observations(x), step):
            yield slice(first, first + step)

    def _defines(self, method: str, source: str) -> bool:
        """Return whether ``method`` is overridden in the class of ``source`` or a subclass of it.

        A subclass that replaces ``source`` alone must not use its parent's ``method``: draws would
        come from the parent's posterior.
        """

        def position(name: str) -> int:
            return next(n for n, cls in enumerate(type(self).__mro__) if name in vars(cls))

        overridden = getattr(type(self), method) is not getattr(ConjugateFamily, method)
        return overridden and position(method) <= position(source)


def _field_names(family: type) -> list[str] | None:
    """Return the names of a dataclass's fields, or None if the class is not a dataclass."""
    if not dataclasses.is_dataclass(family):
        return None
    return [field.name for field in dataclasses.fields(family)]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Gamma):
        return dataclasses.asdict(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

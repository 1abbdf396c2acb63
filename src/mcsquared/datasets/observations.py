"""Draw observations from a family's likelihood, given its parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.datasets.tokens import count_matrix, draw_categories
from mcsquared.errors import InputError
from mcsquared.families import Bag, ConjugateFamily, MultivariateGaussian

Floats = NDArray[np.float64]
Labels = NDArray[np.integer]


def fill_from_nothing(family: ConjugateFamily, what: str) -> ConjugateFamily:
    """Return the family with every open field set to what it is when there are no data."""
    if getattr(family, "size", 1) is None:
        raise InputError(f"{what} has no size; the number of categories is wanted")
    if isinstance(family, MultivariateGaussian):
        if family.mean is None and family.scale is None:
            raise InputError(f"{what} has neither mean nor scale; one of them says its width")
        return family.filled(np.empty((0, family.width)))
    if isinstance(family, Bag):
        return family
    return family.filled(np.empty(0, dtype=np.int64))


def draw_observations(
    family: ConjugateFamily,
    parameters: Floats,
    label: Labels,
    rng: np.random.Generator,
    items_per_bag: NDArray[np.int64] | None = None,
) -> Any:
    """Draw one observation per label, in the numeric form of the family.

    Parameters
    ----------
    family : ConjugateFamily
        One of the package's own.
    parameters : float64 (n_clusters, n_parameters)
        From ``family.sample_parameters``.
    label : int (n,)
        The cluster each observation belongs to.
    items_per_bag : int64 (n,), optional
        How many items each bag holds: a bag's size is given, not modelled.
    """
    if isinstance(family, Bag):
        items = np.ones(label.size, np.int64) if items_per_bag is None else items_per_bag
        owner = np.repeat(np.arange(label.size), items)
        item = draw_categories(np.exp(parameters), label[owner], rng)
        return count_matrix(owner, item, (label.size, parameters.shape[1]))
    draw = _DRAW.get(family.name)
    if draw is None:
        raise InputError(f"nothing is known about how to draw from the family {family.name!r}")
    return draw(parameters, label, rng)


def _gaussian(parameters: Floats, label: Labels, rng: np.random.Generator) -> Floats:
    mean, precision = parameters[label].T
    return mean + rng.standard_normal(label.size) / np.sqrt(precision)


def _multivariate_gaussian(parameters: Floats, label: Labels, rng: np.random.Generator) -> Floats:
    # The layout is mean (d), precision (d × d): d + d² numbers.
    width = int((np.sqrt(1.0 + 4.0 * parameters.shape[1]) - 1.0) / 2.0 + 0.5)
    noise = rng.standard_normal((label.size, width))
    values = parameters[label, :width]
    roots = np.linalg.cholesky(parameters[:, width:].reshape(-1, width, width))
    order = np.argsort(label, kind="stable")
    bounds = np.searchsorted(label[order], np.arange(len(roots) + 1))
    for k, root in enumerate(roots):
        here = order[bounds[k] : bounds[k + 1]]
        # The precision is root rootᵀ, so rootᵀ y = noise gives y the covariance wanted.
        values[here] += np.linalg.solve(root.T, noise[here].T).T
    return values


def _categorical(parameters: Floats, label: Labels, rng: np.random.Generator) -> NDArray[np.int32]:
    return draw_categories(np.exp(parameters), label, rng)


def _bernoulli(parameters: Floats, label: Labels, rng: np.random.Generator) -> Floats:
    return (rng.random(label.size) < np.exp(parameters[label, 0])).astype(np.float64)


def _poisson(parameters: Floats, label: Labels, rng: np.random.Generator) -> Floats:
    return rng.poisson(np.exp(parameters[label, 0])).astype(np.float64)


_DRAW: dict[str, Callable[[Floats, Labels, np.random.Generator], Any]] = {
    "gaussian": _gaussian,
    "multivariate_gaussian": _multivariate_gaussian,
    "categorical": _categorical,
    "bernoulli": _bernoulli,
    "poisson": _poisson,
}

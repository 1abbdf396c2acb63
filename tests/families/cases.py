"""One filled family of each kind with data, for tests that hold for all of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    ConjugateFamily,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)

N_OBSERVATIONS = 12


@dataclass(frozen=True)
class Case:
    family: ConjugateFamily
    x: Any

    @property
    def labels(self):
        return np.arange(N_OBSERVATIONS) % 3

    def statistics_of_clusters(self):
        """Three clusters with data and an empty one."""
        return self.family.statistics_by_cluster(self.x, self.labels, 4)


def make_cases():
    rng = np.random.default_rng(20140621)
    n = N_OBSERVATIONS
    years = rng.normal(2003, 4, n)
    places = rng.normal([50, 8], [3, 1], (n, 2)) @ np.array([[1, 0.4], [0, 1]])
    tags = rng.poisson(0.8, (n, 5))
    tags[3] = 0
    tags[:, 4] = 0
    visits = rng.poisson(6, n).astype(float)
    return {
        "gaussian": Case(Gaussian().filled(years), years),
        "gaussian_given": Case(Gaussian(1990, 0.7, 1.3, 2.5).filled(years), years),
        "gaussian_off_centre": Case(Gaussian(2001, 0.7, 1.3, 2.5, origin=1990), years),
        "multivariate": Case(MultivariateGaussian().filled(places), places),
        "multivariate_given": Case(
            MultivariateGaussian([40, 10], 0.5, 1.5, [[2, 0.5], [0.5, 1]]).filled(places), places
        ),
        "one_dimension": Case(MultivariateGaussian().filled(years[:, None]), years[:, None]),
        "categorical": Case(Categorical(0.3, size=4), rng.integers(0, 3, n).astype(np.int32)),
        "one_category": Case(Categorical(0.3, size=1), np.zeros(n, np.int32)),
        "bag": Case(Bag(0.2).filled(sparse.csr_matrix(tags)), sparse.csr_matrix(tags)),
        "bag_of_one": Case(Bag(0.2, size=1), sparse.csr_matrix(tags[:, :1])),
        "bernoulli": Case(Bernoulli(0.5, 2), (rng.random(n) < 0.7).astype(float)),
        "poisson": Case(Poisson(2.5).filled(visits), visits),
    }


CASES = make_cases()

every_family = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())

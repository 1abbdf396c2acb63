"""A family of the user's own, as context and as content."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import gammaln

from mcsquared.errors import InputError
from mcsquared.families import (
    ConjugateFamily,
    Poisson,
)
from tests.estimator.small import COUNTS, N, arrays, check, model, rng


@dataclass(frozen=True)
class Visits(ConjugateFamily):
    """Counts with a gamma prior of their rate, as a user would write it."""

    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, float)
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats):
        shape, rate = 1.5 + stats[..., 1], 0.4 + stats[..., 0]
        return gammaln(shape) - shape * np.log(rate)

    def log_base(self, x):
        return -gammaln(np.asarray(x, float) + 1)


def test_an_own_family_serves_as_context():
    contexts = {"visits": np.where(np.arange(N) == 3, np.nan, rng.poisson(4, N))}
    own = check(model(contexts={"visits": Visits()}).fit(COUNTS, contexts=contexts), COUNTS)
    twin = model(contexts={"visits": Poisson(1.5, 0.4)}).fit(COUNTS, contexts=contexts)
    np.testing.assert_array_equal(own.labels_, twin.labels_)
    np.testing.assert_allclose(
        own.predict_proba(COUNTS, contexts=contexts), twin.predict_proba(COUNTS, contexts=contexts)
    )
    with pytest.raises(InputError, match="only the built-in families can be predicted"):
        own.predict_context(COUNTS, "visits")


def test_an_own_family_serves_as_content():
    X = arrays(1, lambda size: rng.poisson(4.0, size))
    own = model(content=Visits()).fit(X)
    twin = model(content=Poisson(1.5, 0.4)).fit(X)
    np.testing.assert_array_equal(own.posterior_.cluster_of_group, twin.posterior_.cluster_of_group)
    assert own.posterior_.trace["log_joint"].tolist() == pytest.approx(
        twin.posterior_.trace["log_joint"].tolist()
    )

    with pytest.raises(InputError, match="Visits does not define sample_parameters"):
        own.predict(X)


def test_an_own_family_that_draws_its_parameters_predicts():
    @dataclass(frozen=True)
    class DrawnVisits(Visits):
        def sample_parameters(self, stats, rng):
            return rng.gamma(1.5 + stats[..., 1], 1.0 / (0.4 + stats[..., 0]))[:, None]

        def log_likelihood(self, x, parameters):
            x, rate = np.asarray(x, float)[:, None], parameters[None, :, 0]
            return x * np.log(rate) - rate - gammaln(x + 1)

    X = arrays(1, lambda size: rng.poisson(4.0, size))
    fitted = check(model(content=DrawnVisits()).fit(X), X)
    assert fitted.n_features_in_ == 1
    assert np.isfinite(fitted.score(X))

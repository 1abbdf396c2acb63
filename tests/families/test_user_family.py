"""A family that a user writes in a few lines has everything that samplers need."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from mcsquared import families
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily, Gaussian


@dataclass(frozen=True)
class Waiting(ConjugateFamily):
    """Waiting times: exponential, with a gamma prior of the rate."""

    shape: float = 2.0
    rate: float = 1.0

    name = "waiting"
    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, float)
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats):
        shape, rate = self.shape + stats[..., 0], self.rate + stats[..., 1]
        return gammaln(shape) - shape * np.log(rate)


def test_a_family_of_three_functions_predicts():
    family, x = Waiting(), np.array([0.5, 2.0, 0.1])
    seen = family.statistics_by_cluster(x, [0, 0, 2], 3)
    np.testing.assert_allclose(seen, [[2, 2.5], [0, 0], [1, 0.1]])
    found = family.log_predictive(x, seen)
    for k, (n, total) in enumerate(seen):
        # The gamma mixture of exponentials is a Lomax distribution.
        expected = stats.lomax.logpdf(x, 2 + n, scale=1 + total)
        np.testing.assert_allclose(found[:, k], expected)
    marginal = family.log_marginal(seen)
    first = family.log_predictive(x[:1], np.zeros((1, 2)))[0, 0]
    second = family.log_predictive(x[1:2], family.statistics(x[:1]))[0, 0]
    np.testing.assert_allclose(marginal[0], first + second)


def test_a_family_of_three_functions_takes_the_generic_path():
    family = Waiting()
    assert family.kernel is None
    assert family.kernel_parameters().size == 0
    assert family.filled(np.ones(3)) is family
    np.testing.assert_array_equal(family.log_base([1.0, 2.0]), [0.0, 0.0])


@pytest.mark.parametrize("method", ["sample_parameters", "mean_parameters", "log_likelihood"])
def test_what_a_family_does_not_define_is_named(method):
    arguments = [np.zeros((1, 2)), np.random.default_rng(0)][: 1 if "mean" in method else 2]
    with pytest.raises(InputError, match=f"the family Waiting does not define {method}"):
        getattr(Waiting(), method)(*arguments)


def test_a_registered_family_is_read_back_by_its_name():
    described = json.loads(json.dumps(Waiting(3.0).to_dict()))
    assert described == {"family": "waiting", "shape": 3.0, "rate": 1.0}
    with pytest.raises(InputError, match=f"{', '.join(families.names())}, got 'waiting'"):
        families.from_dict(described)
    assert families.register(Waiting) is Waiting
    try:
        assert families.from_dict(described) == Waiting(3.0)
        assert families.by_name("waiting") == Waiting()
        families.register(Waiting)
    finally:
        families.registry._FAMILIES.pop("waiting")


def test_a_known_name_is_not_given_away():
    class Other(Waiting):
        name = "gaussian"

    with pytest.raises(
        InputError, match="name must be unique among families, got 'gaussian', which is taken"
    ):
        families.register(Other)
    assert families.by_name("gaussian") == Gaussian()


def test_a_changed_copy_of_a_built_in_family_is_not_handed_its_kernel():
    class Cautious(Gaussian):
        def log_base(self, x):
            return super().log_base(x) - 1.0

    assert Gaussian.kernel == "gaussian"
    assert Cautious.kernel is None
    assert Cautious.name == "Cautious"


def test_a_family_without_a_normaliser_cannot_be_made():
    class Half(ConjugateFamily):
        n_stats = 1

        def statistics(self, x):
            return np.ones((len(x), 1))

    with pytest.raises(TypeError, match="log_normaliser"):
        Half()


def test_a_family_that_is_no_dataclass_works_but_cannot_be_written():
    class Plain(ConjugateFamily):
        n_stats = 1

        def statistics(self, x):
            return np.ones((len(x), 1))

        def log_normaliser(self, stats):
            return -stats[..., 0]

    np.testing.assert_array_equal(Plain().log_predictive([1, 2], np.zeros((1, 1))), [[-1], [-1]])
    with pytest.raises(InputError, match="does not define to_dict"):
        Plain().to_dict()

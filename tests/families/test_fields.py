"""Fields: what is filled from data, what is refused, and in which words."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mcsquared import families
from mcsquared.errors import InputError
from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from tests.families.cases import CASES


def test_gaussian_fields_are_filled_from_the_data():
    x = np.array([1998.0, 2000.0, 2005.0])
    assert Gaussian().filled(x) == Gaussian(x.mean(), 0.1, 2.0, x.var(), x.mean())
    assert Gaussian(1990, rate=7).filled(x) == Gaussian(1990, 0.1, 2.0, 7, x.mean())


@pytest.mark.parametrize("x", [[], [0.1] * 7, [1e9 + 0.1] * 3])
def test_gaussian_data_without_spread_give_a_rate_of_one(x):
    filled = Gaussian().filled(np.array(x))
    assert filled.rate == 1.0
    assert filled.mean == filled.origin == (x[0] if x else 0.0)


def test_multivariate_fields_are_filled_from_the_data():
    x = np.array([[1.0, 5, 2], [3, 5, 4]])
    filled = MultivariateGaussian().filled(x)
    assert filled == MultivariateGaussian([2, 5, 3], 0.1, 5, np.diag([1.0, 1, 1]), [2, 5, 3])
    x[:, 0] *= 10
    assert MultivariateGaussian().filled(x).scale[0][0] == 100
    given = MultivariateGaussian([0, 0, 0], degrees=9, scale=2 * np.eye(3)).filled(x)
    assert (given.mean, given.degrees, given.scale[0]) == ((0, 0, 0), 9, (2, 0, 0))
    assert MultivariateGaussian().filled(x[:0]).scale == ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def test_the_prior_mean_of_a_poisson_is_that_of_the_data():
    assert Poisson(2).filled([1.0, 2, 6]).rate == pytest.approx(2 / 3)
    assert Poisson(2, 5).filled([1.0, 2, 6]).rate == 5
    assert Poisson().filled([]).rate == Poisson().filled([0.0, 0.0]).rate == 1.0


def test_the_size_of_a_bag_is_the_number_of_columns():
    assert Bag().filled(sparse.csr_matrix((3, 7), dtype=np.int32)).size == 7
    assert Bag(size=7).filled(sparse.csr_matrix((3, 7), dtype=np.int32)).size == 7


def test_a_bag_without_any_category_is_a_family_still():
    nothing = sparse.csr_matrix((2, 0), dtype=np.int32)
    family = Bag().filled(nothing)
    assert family.size == 1
    np.testing.assert_array_equal(family.log_predictive(nothing, np.zeros((1, 1))), 0.0)


def test_bags_may_have_duplicates_zeros_and_any_sparse_format():
    entries = (np.array([1, 2, 0, 1]), (np.array([0, 0, 1, 1]), np.array([1, 1, 0, 2])))
    untidy = sparse.coo_matrix(entries, shape=(2, 3))
    tidy = sparse.csr_matrix([[0, 3, 0], [0, 0, 1]])
    stats = np.array([[1.0, 2, 0]])
    expected = Bag(0.1, 3).log_predictive(tidy, stats)
    for x in (untidy, untidy.tocsc(), sparse.csr_array(tidy), tidy.toarray()):
        np.testing.assert_array_equal(Bag(0.1, 3).log_predictive(x, stats), expected)
    assert untidy.nnz == 4


def test_sparse_statistics_are_as_good_as_dense_ones():
    counts = np.array([[3, 0, 1], [0, 0, 0]])
    codes = np.array([0, 1])
    for family in (Categorical(0.2, 3), Bag(0.2, 3)):
        given = sparse.csr_matrix(counts, dtype=np.int32)
        np.testing.assert_allclose(family.log_marginal(given), family.log_marginal(counts))
        np.testing.assert_array_equal(family.mean_parameters(given), family.mean_parameters(counts))
    np.testing.assert_array_equal(
        Categorical(0.2, 3).log_predictive(codes, given),
        Categorical(0.2, 3).log_predictive(codes, counts),
    )


NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussian(strength=0), r"strength of Gaussian must be a positive number, got 0"),
        (lambda: Gaussian(shape=-1), r"shape of Gaussian must be a positive number, got -1"),
        (lambda: Gaussian(rate=NAN), "rate of Gaussian must be a positive number, got nan"),
        (lambda: Gaussian(mean="2000"), "mean of Gaussian must be a finite number, got '2000'"),
        (lambda: Gaussian(mean=True), "mean of Gaussian must be a finite number, got True"),
        (
            lambda: Gaussian(mean=10**400),
            "of Gaussian must be a finite number, got 1000000000000000000000000000000000000",
        ),
        (
            lambda: Gaussian(strength=None),
            "strength of Gaussian must be a positive number, got None",
        ),
        (
            lambda: Gaussian(origin=float("inf")),
            "origin of Gaussian must be a finite number, got inf",
        ),
        (
            lambda: Categorical(0),
            r"concentration of Categorical must be a positive number, got 0",
        ),
        (lambda: Categorical(size=0), "size of Categorical must be an integer >= 1, got 0"),
        (lambda: Bag(size=2.5), r"size of Bag must be an integer >= 1, got 2\.5"),
        (lambda: Bernoulli(a=-1), r"a of Bernoulli must be a positive number, got -1"),
        (lambda: Bernoulli(b=[1]), r"b of Bernoulli must be a positive number, got \[1\]"),
        (lambda: Poisson(rate=0), r"rate of Poisson must be a positive number, got 0"),
        (
            lambda: MultivariateGaussian(mean=3),
            r"must be a vector with at least one entry, got shape \(\)",
        ),
        (
            lambda: MultivariateGaussian(mean=[]),
            r"must be a vector with at least one entry, got shape \(0,\)",
        ),
        (
            lambda: MultivariateGaussian(mean=[1, NAN]),
            r"mean of MultivariateGaussian must contain finite numbers only, got \[",
        ),
        (
            lambda: MultivariateGaussian(mean=["a"]),
            r"mean of MultivariateGaussian must contain finite numbers only, got \[",
        ),
        (
            lambda: MultivariateGaussian(mean=[[1], [1, 2]]),
            r"mean of MultivariateGaussian must contain finite numbers only, got \[",
        ),
        (lambda: MultivariateGaussian(scale=[1, 2]), "must be a square matrix"),
        (
            lambda: MultivariateGaussian(scale=[[1, 2], [0, 1]]),
            "scale of MultivariateGaussian must be symmetric",
        ),
        (
            lambda: MultivariateGaussian(scale=[[1, 2], [2, 1]]),
            "scale of MultivariateGaussian must be positive definite",
        ),
        (
            lambda: MultivariateGaussian([1, 2], scale=[[1]]),
            "the dimensions of MultivariateGaussian must agree, got mean 2, scale 1",
        ),
        (
            lambda: MultivariateGaussian([1, 2], degrees=1),
            r"must be greater than the dimensions less one \(1\), got 1\.0",
        ),
        (
            lambda: MultivariateGaussian(degrees=1.5).filled(np.zeros((2, 3))),
            r"must be greater than the dimensions less one \(2\), got 1\.5",
        ),
    ],
)
def test_a_field_that_cannot_be_is_named(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Gaussian().filled([1.0, NAN]),
            "observations of Gaussian must be finite, got missing or infinite values",
        ),
        (
            lambda: Gaussian().filled([[1.0], [2.0]]),
            r"observations of Gaussian must be one number each, got shape \(2, 1\)",
        ),
        (
            lambda: Poisson().filled(3.0),
            r"observations of Poisson must be one number each, got shape \(\)",
        ),
        (
            lambda: Bernoulli().filled([[1.0]]),
            r"observations of Bernoulli must be one number each, got shape \(1, 1\)",
        ),
        (
            lambda: Gaussian().filled([-1e200, 1e200]),
            "observations of Gaussian must have a finite variance, got values from -1",
        ),
        (
            lambda: Gaussian().filled([-1.7e308, 1.7e308]),
            "observations of Gaussian must have a finite variance, got values from -1",
        ),
        (lambda: MultivariateGaussian().filled([[1.0, NAN]]), "missing or infinite"),
        (
            lambda: MultivariateGaussian().filled([1.0, 2.0]),
            r"observations of MultivariateGaussian must be rows of numbers, got shape \(2,\)",
        ),
        (
            lambda: MultivariateGaussian([1]).filled([[1.0, 2]]),
            r"mean of MultivariateGaussian must have the dimensions of the data \(2\), got 1",
        ),
        (
            lambda: MultivariateGaussian([1, 2]).statistics([[1.0]]),
            r"of MultivariateGaussian must be rows of 2 numbers, got shape \(1, 1\)",
        ),
        (
            lambda: Bernoulli().filled([0, 1, 2.0]),
            r"observations of Bernoulli must be 0 or 1, got 2\.0",
        ),
        (lambda: Bernoulli().filled([NAN]), "observations of Bernoulli must be 0 or 1, got nan"),
        (
            lambda: Poisson().filled([1.5]),
            r"observations of Poisson must be integers >= 0, got 1\.5",
        ),
        (
            lambda: Poisson().filled([-1.0]),
            r"observations of Poisson must be integers >= 0, got -1\.0",
        ),
        (lambda: Categorical().filled([0, 1]), "size of Categorical must be given, got None"),
        (
            lambda: Categorical(size=2).filled([0, 2]),
            "codes of Categorical must be between 0 and 1, got codes from 0 to 2",
        ),
        (lambda: Categorical(size=2).statistics([-1]), "codes from -1 to -1"),
        (
            lambda: Categorical(size=2).statistics([0.5]),
            "of Categorical must be a vector of integer codes, got float64 values of shape ",
        ),
        (
            lambda: Bag(size=2).filled(sparse.csr_matrix([[1, 0, 0]])),
            r"observations of Bag must have one column per category \(2\), got 3",
        ),
        (
            lambda: Bag().filled(sparse.csr_matrix([[-1, 0]])),
            r"counts of Bag must be integers >= 0, got -1\.0",
        ),
        (
            lambda: Bag().filled(sparse.csr_matrix([[0.5, 0]])),
            r"counts of Bag must be integers >= 0, got 0\.5",
        ),
    ],
)
def test_data_that_do_not_fit_the_family_are_named(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("family", "field"),
    [
        (Gaussian(), "mean"),
        (Gaussian(0), "rate"),
        (Poisson(), "rate"),
        (MultivariateGaussian([0, 0]), "scale"),
        (MultivariateGaussian([0, 0], scale=np.eye(2)), "degrees"),
    ],
)
def test_a_family_used_before_it_is_filled_says_so(family, field):
    with pytest.raises(
        InputError, match=f"{field} of {type(family).__name__} must be set, got None"
    ):
        family.log_normaliser(np.zeros((1, family.n_stats)))


@pytest.mark.parametrize("family", [MultivariateGaussian(), Categorical(), Bag()])
def test_the_number_of_statistics_is_asked_for_before_it_is_known(family):
    with pytest.raises(InputError, match="got None: pass it, or call"):
        _ = family.n_stats


def test_numbers_of_any_kind_become_plain_ones():
    family = Gaussian(np.float32(1), np.int64(2), 3, np.float64(4))
    assert {type(value) for value in (family.mean, family.strength, family.shape)} == {float}
    assert type(Bag(size=np.int32(3)).size) is int
    assert MultivariateGaussian(np.array([1, 2])).mean == (1.0, 2.0)


def test_names_lead_to_families():
    assert families.by_name("gaussian") == Gaussian()
    assert families.by_name("multivariate_gaussian") == MultivariateGaussian()
    expected = list(dict.fromkeys(case.family.name for case in CASES.values()))
    assert families.names()[: len(expected)] == expected  # user-defined ones follow
    with pytest.raises(InputError, match=f"{', '.join(families.names())}, got 'gauss'"):
        families.by_name("gauss")


FIELDS = [
    *("mean", "strength", "shape", "rate", "origin", "degrees"),
    *("scale", "concentration", "size", "a", "b", "other"),
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(
    name=st.sampled_from(families.names()) | json_values,
    fields=st.dictionaries(
        st.sampled_from(FIELDS),
        json_values | st.floats(1e-3, 10),
        max_size=3,
    ),
)
@settings(max_examples=300, deadline=None)
def test_a_wrong_description_of_a_family_raises_the_documented_error_only(name, fields):
    try:
        family = families.from_dict({"family": name, **fields})
    except InputError:
        return
    assert families.from_dict(json.loads(json.dumps(family.to_dict()))) == family


@pytest.mark.parametrize("values", [None, [], "gaussian", 3, {}, {"family": ["gaussian"]}])
def test_what_is_no_description_of_a_family_is_refused(values):
    with pytest.raises(InputError):
        families.from_dict(values)
    with pytest.raises(InputError):
        Gaussian.from_dict(values)


@pytest.mark.parametrize("value", [5e-324, 1e-31, 1e31, 1e39, 1e308])
@pytest.mark.parametrize(
    ("family", "field"),
    [
        (Categorical, "concentration"),
        (Bag, "concentration"),
        (Bernoulli, "a"),
        (Bernoulli, "b"),
        (Poisson, "shape"),
        (Gaussian, "strength"),
        (Gaussian, "shape"),
        (MultivariateGaussian, "strength"),
        (MultivariateGaussian, "degrees"),
    ],
)
def test_numbers_that_kernels_cannot_compute_with_are_refused(family, field, value):
    message = rf"{field} of {family.__name__} must be between 1e-30 and 1e\+30, got"
    with pytest.raises(InputError, match=message):
        family(**{field: value})


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Gaussian(mean=1e160), r"mean of Gaussian must be <= 1e\+150 in magnitude, got"),
        (lambda: Gaussian(rate=1e-310), r"rate of Gaussian must be between 1e-300 and 1e\+300"),
        (lambda: Poisson(rate=1e308), r"rate of Poisson must be between 1e-300 and 1e\+300"),
        (
            lambda: MultivariateGaussian(mean=[0, -1e160]),
            r"mean .* must be <= 1e\+150 in magnitude",
        ),
        (
            lambda: MultivariateGaussian(scale=[[1e305]]),
            r"scale .* must be <= 1e\+300 in magnitude",
        ),
        (lambda: Gaussian().filled([1e-160, 3e-160]), "must have a variance between 1e-300 and"),
    ],
)
def test_numbers_whose_squares_are_no_floats_are_refused(made, message):
    with pytest.raises(InputError, match=message):
        made()

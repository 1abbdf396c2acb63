"""Priors are checked, filled from the corpus, and survive JSON."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mcsquared as mc2
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Categorical, Gaussian, MultivariateGaussian, Poisson
from mcsquared.model.parameters import CONCENTRATIONS, Gamma
from mcsquared.model.priors import Priors
from tests.samplers.cases import every_case

WORDS = Corpus(np.eye(4, dtype=int), contexts={"x": [1.0, 2.0, 3.0, np.nan], "k": list("aabc")})
NUMBERS = Corpus([np.array([[1.0], [3.0]]), np.zeros((0, 1))])
POINTS = Corpus([np.array([[1.0, 2.0]]), np.array([[3.0, 6.0]])])


# Concentrations -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "1", None, True, 10**400])
@pytest.mark.parametrize("field", ["shape", "rate"])
def test_a_gamma_wants_positive_numbers(field, value):
    with pytest.raises(InputError, match=f"{field} of Gamma must be a positive number, got"):
        Gamma(**{field: value})


@pytest.mark.parametrize(("shape", "rate"), [(1e300, 1e-300), (1e-300, 1e300)])
def test_a_gamma_wants_a_mean_that_kernels_can_compute_with(shape, rate):
    with pytest.raises(InputError, match=r"the mean of Gamma.* must be between 1e-30 and 1e"):
        Gamma(shape, rate)


@pytest.mark.parametrize("name", CONCENTRATIONS)
@pytest.mark.parametrize("value", [5e-324, 1e-31, 1e31, 1e39])
def test_concentrations_that_kernels_cannot_compute_with_are_refused(name, value):
    message = rf"{name} must be between 1e-30 and 1e\+30, got"
    with pytest.raises(InputError, match=message):
        mc2.MC2(**{name: value}).fit([["ant"], ["bee"]])


def test_a_gamma_has_a_rate_and_not_a_scale():
    prior, rng = Gamma(3, 10), np.random.default_rng(0)
    assert prior.mean == pytest.approx(0.3)
    draws = [prior.sample(rng) for _ in range(20_000)]
    assert np.mean(draws) == pytest.approx(0.3, abs=0.005)
    assert np.var(draws) == pytest.approx(0.03, rel=0.1)


@pytest.mark.parametrize("name", ["alpha", "v", "eta", "lam"])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, -math.inf, "1", None, True, [1.0], 10**400])
def test_a_concentration_is_a_positive_number_or_a_gamma(name, value):
    with pytest.raises(InputError, match=f"{name} must be a positive number or a Gamma prior, got"):
        Priors.for_corpus(WORDS, **{name: value})


def test_only_lam_may_be_infinite():
    assert Priors.for_corpus(WORDS, lam=math.inf).lam == math.inf
    for name in ("alpha", "v", "eta"):
        with pytest.raises(InputError, match=f"{name} must be .*, got inf"):
            Priors.for_corpus(WORDS, **{name: math.inf})


def test_numbers_of_any_type_become_floats():
    priors = Priors.for_corpus(WORDS, alpha=np.int64(2), v=np.float32(0.5), eta=3)
    assert (priors.alpha, priors.v, priors.eta) == (2.0, 0.5, 3.0)
    assert type(priors.alpha) is float


def test_priors_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Priors.for_corpus(WORDS).alpha = 2.0


# Families -------------------------------------------------------------------------------------


def test_content_has_the_family_of_its_kind():
    assert Priors.for_corpus(WORDS).content == Categorical(0.05, size=4)
    assert Priors.for_corpus(WORDS, "categorical").content == Categorical(0.05, size=4)
    assert Priors.for_corpus(WORDS, Categorical(0.7)).content == Categorical(0.7, size=4)
    numbers = Priors.for_corpus(NUMBERS).content
    assert isinstance(numbers, Gaussian)
    assert (numbers.mean, numbers.rate) == (2.0, 1.0)
    points = Priors.for_corpus(POINTS).content
    assert isinstance(points, MultivariateGaussian)
    np.testing.assert_array_equal(points.mean, [2.0, 4.0])


def test_what_a_user_gives_is_left_as_it_is():
    content = Priors.for_corpus(NUMBERS, Gaussian(mean=7.0, shape=3.0)).content
    assert (content.mean, content.shape, content.rate) == (7.0, 3.0, 1.0)


def test_contexts_have_the_family_of_their_column_or_the_one_declared():
    families = Priors.for_corpus(WORDS).contexts
    assert [family.name for family in families.values()] == ["gaussian", "categorical"]
    assert families["x"].mean == 2.0
    assert families["k"] == Categorical(0.1, size=3)
    chosen = Priors.for_corpus(WORDS, contexts={"k": Categorical(2.0), "x": "auto"}).contexts
    assert list(chosen) == ["k", "x"]
    assert chosen["k"].concentration == 2.0
    assert Priors.for_corpus(WORDS, contexts={}).contexts == {}


def test_columns_come_in_the_form_of_their_families():
    counted = Corpus(np.eye(2, dtype=int), contexts={"n": [3, 4], "unused": [0.0, 1.0]})
    columns = Priors.for_corpus(counted, contexts={"n": "poisson"}).columns(counted)
    assert list(columns) == ["n"]
    assert columns["n"].kind == "count"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"contexts": "all"},
            "contexts must be 'auto' or a mapping from column to family, got 'all'",
        ),
        (
            {"contexts": ["x"]},
            r"contexts must be 'auto' or a mapping from column to family, got \['x'\]",
        ),
        (
            {"contexts": None},
            "contexts must be 'auto' or a mapping from column to family, got None",
        ),
        (
            {"contexts": {"year": "auto"}},
            r"contexts must name columns of the corpus \('x', 'k'\), got 'year'",
        ),
        ({"contexts": {"x": "normal"}}, r"contexts\['x'\]: family must be one of .*, got 'normal'"),
        ({"contexts": {"x": 3}}, r"contexts\['x'\] must be a family or the name of one, got 3"),
        (
            {"contexts": {"k": Poisson()}},
            "context 'k' must be integers >= 0 for the family 'poisson', got a category",
        ),
        ({"content": "normal"}, "content: family must be one of gaussian, .*, got 'normal'"),
        (
            {"content": Gaussian},
            r"must be a family or the name of one, got <class 'mcsquared\.families\.gaussian\.G",
        ),
        ({"content": Gaussian()}, "content must be 'categorical' for words, got 'gaussian'"),
    ],
)
def test_what_cannot_be_is_named(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        Priors.for_corpus(WORDS, **arguments)


# JSON -----------------------------------------------------------------------------------------


@every_case
def test_priors_survive_json(case):
    data = json.loads(json.dumps(case.priors.to_dict()))
    assert Priors.from_dict(data) == case.priors


@pytest.mark.parametrize("lam", [math.inf, 2.0, Gamma(1, 2)])
def test_an_infinite_concentration_survives_strict_json(lam):
    text = json.dumps(Priors.for_corpus(WORDS, lam=lam).to_dict(), allow_nan=False)
    assert Priors.from_dict(json.loads(text)).lam == lam


def paths_of(data, path=()):
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield (*path, key)
            yield from paths_of(value, (*path, key))


JSON = json.dumps(Priors.for_corpus(WORDS).to_dict())


@settings(max_examples=300, deadline=None)
@given(
    path=st.sampled_from(sorted(paths_of(json.loads(JSON)))),
    value=st.sampled_from([None, -1, 0, 2.5, "x", "", [], {}, [1], {"a": 1}, True, 1e400, "inf"]),
)
def test_other_json_is_an_input_error_or_priors(path, value):
    data = json.loads(JSON)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    try:
        priors = Priors.from_dict(data)
    except InputError:
        return
    assert Priors.from_dict(priors.to_dict()) == priors


@pytest.mark.parametrize("data", [None, [], 3, "priors", {}, {"content": {}}])
def test_what_are_no_priors_is_an_input_error(data):
    with pytest.raises(InputError):
        Priors.from_dict(data)

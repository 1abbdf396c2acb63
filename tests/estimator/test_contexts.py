"""Everything that contexts may be, from fit to prediction."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.families import (
    Categorical,
)
from tests.estimator.small import COUNTS, N, check, model, rng

DATES = np.datetime64("2001-01-31", "ns") + np.arange(N) * np.timedelta64(40, "D")
TYPED = {
    "year": np.where(np.arange(N) == 3, np.nan, 1990.0 + np.arange(N)),
    "age": np.arange(N),
    "open": np.arange(N) % 3 == 0,
    "place": [None if j == 5 else ["north", "south", "east"][j % 3] for j in range(N)],
    "tags": [[] if j == 2 else ["x", "y", "x"][: 1 + j % 3] for j in range(N)],
    "day": np.where(np.arange(N) == 4, np.datetime64("NaT"), DATES),
}
FAMILIES = ["gaussian", "gaussian", "bernoulli", "categorical", "bag", "gaussian"]


def with_library(library):
    plain = {name: list(column) for name, column in TYPED.items()}
    if library == "pandas":
        return pd.DataFrame(TYPED)
    if library == "polars":
        return pl.DataFrame(
            plain | {"day": pl.Series(TYPED["day"].astype("datetime64[us]"))}, strict=False
        )
    return TYPED


@pytest.mark.parametrize("library", ["dict", "pandas", "polars"])
def test_contexts_of_every_type_are_fitted_and_predicted(library):
    contexts = with_library(library)
    fitted = model().fit(COUNTS, contexts=contexts)
    families = fitted.posterior_.priors.contexts
    assert list(families) == list(TYPED)
    assert [family.name for family in families.values()] == FAMILIES
    check(fitted, COUNTS, contexts)
    check(fitted, COUNTS)
    for name in TYPED:
        table = fitted.posterior_.context_given_cluster(name)
        assert np.isfinite(table.to_numpy()).all()
        predicted = fitted.predict_context(COUNTS, name, contexts=contexts)
        assert set(predicted["group"]) == {str(j) for j in range(N)}


def test_contexts_of_every_library_give_the_same_draws():
    traces = [
        model().fit(COUNTS, contexts=with_library(library)).posterior_.trace["log_joint"].tolist()
        for library in ("dict", "pandas", "polars")
    ]
    np.testing.assert_allclose(traces[1], traces[0], rtol=1e-12)
    np.testing.assert_allclose(traces[2], traces[0], rtol=1e-12)


@pytest.mark.parametrize(
    "dates",
    [
        DATES,
        pd.Series(DATES),
        pd.Series(DATES).dt.tz_localize("UTC"),
        [date.date() for date in pd.to_datetime(DATES)],
        pl.Series(DATES.astype("datetime64[us]")),
    ],
    ids=["numpy", "pandas", "zone", "dates", "polars"],
)
def test_dates_come_back_as_dates(dates):
    fitted = model().fit(COUNTS, contexts={"day": dates})
    table = fitted.posterior_.context_given_cluster("day")
    assert table.index.dtype.kind == "M"
    assert table.index.min() <= pd.Timestamp("2001-02-01")
    assert table.index.max() >= pd.Timestamp("2002-04-01")
    assert fitted.posterior_.context_given_topic("day").index.dtype.kind == "M"
    predicted = fitted.predict_context(COUNTS[:2], "day")
    for name in ("mean", "lower", "upper"):
        assert predicted[name].dtype.kind == "M"
    assert (predicted["lower"] < predicted["mean"]).all()
    assert predicted["mean"].between("2000-01-01", "2004-01-01").all()
    assert fitted.predict(COUNTS, contexts={"day": dates}).shape == (N,)


def test_two_dimensional_numbers_are_vectors():
    place = rng.normal(size=(N, 2))
    place[4] = np.nan
    fitted = model().fit(COUNTS, contexts={"place": place})
    assert fitted.posterior_.priors.contexts["place"].name == "multivariate_gaussian"
    check(fitted, COUNTS, {"place": place})
    fitted.predict_context(COUNTS, "place")


def test_sparse_rows_are_bags():
    authors = sparse.csr_matrix(rng.poisson(0.5, (N, 4)))
    fitted = model().fit(COUNTS, contexts={"authors": authors})
    assert fitted.posterior_.priors.contexts["authors"].name == "bag"
    check(fitted, COUNTS, {"authors": authors})


def test_families_are_declared_by_name_or_object():
    chosen = {"age": "poisson", "open": "categorical", "place": Categorical(3.0)}
    fitted = model(contexts=chosen).fit(COUNTS, contexts=TYPED)
    families = fitted.posterior_.priors.contexts
    assert list(families) == ["age", "open", "place"]
    assert families["age"].name == "poisson"
    assert families["place"].concentration == 3.0
    check(fitted, COUNTS, TYPED)


def test_contexts_that_are_all_missing_say_nothing():
    nothing = {
        "number": [np.nan] * N,
        "none": [None] * N,
        "lists": [[]] * N,
        "date": np.full(N, np.datetime64("NaT", "ns")),
        "vector": np.full((N, 2), np.nan),
    }
    fitted = model().fit(COUNTS, contexts=nothing)
    check(fitted, COUNTS, nothing)
    plain = model().fit(COUNTS)
    np.testing.assert_array_equal(
        fitted.posterior_.cluster_of_group, plain.posterior_.cluster_of_group
    )
    check(fitted, COUNTS, {"none": ["a"] * N, "number": np.arange(N)})


@pytest.mark.parametrize("family", ["categorical", "bag"])
def test_a_declared_category_may_never_be_observed(family):
    fitted = model(contexts={"x": family}).fit(COUNTS, contexts={"x": [None] * N})
    check(fitted, COUNTS, {"x": ["a"] * N})
    assert fitted.predict_context(COUNTS, "x").empty


def test_contexts_may_be_missing_or_more_at_prediction():
    fitted = model().fit(COUNTS, contexts={"place": TYPED["place"], "age": TYPED["age"]})
    alone = fitted.predict_proba(COUNTS)
    for contexts in (
        {"other": TYPED["year"], "age": [np.nan] * N},
        {"place": ["elsewhere"] * N},
        {"place": [None] * N, "age": [np.nan] * N},
    ):
        np.testing.assert_allclose(fitted.predict_proba(COUNTS, contexts=contexts), alone)


def test_a_misspelt_context_is_refused_at_prediction():
    fitted = model().fit(COUNTS, contexts={"place": TYPED["place"], "year": TYPED["year"]})
    with pytest.raises(
        InputError, match="contexts must have the names used in training, got 'yaer' but no 'year'"
    ):
        fitted.predict(COUNTS, contexts={"place": TYPED["place"], "yaer": TYPED["year"]})
    with pytest.raises(
        InputError,
        match=r"contexts must have the names used in training, got 'Place' but no 'place'",
    ):
        fitted.predict_context(COUNTS, "year", contexts={"Place": TYPED["place"]})
    beside = {"place": TYPED["place"], "year": TYPED["year"], "years": TYPED["age"]}
    assert fitted.predict(COUNTS, contexts=beside).shape == (N,)


def test_a_context_is_no_evidence_for_itself():
    fitted = model().fit(COUNTS, contexts=TYPED)
    without = {name: column for name, column in TYPED.items() if name != "place"}
    pd.testing.assert_frame_equal(
        fitted.predict_context(COUNTS, "place", contexts=TYPED),
        fitted.predict_context(COUNTS, "place", contexts=without),
    )


def test_duplicate_columns_are_refused():
    frame = pd.DataFrame(np.zeros((N, 2)), columns=["x", "x"])
    with pytest.raises(InputError, match="'x'"):
        model().fit(COUNTS, contexts=frame)


@pytest.mark.parametrize(
    ("contexts", "parameters", "sentence"),
    [
        ({"x": np.zeros(N - 1)}, {}, r"context 'x' must have one row per group \(12\), got 11"),
        (
            pd.DataFrame({"x": np.zeros(N + 1)}),
            {},
            r"contexts must have one row per group \(12\), got 13",
        ),
        ({"x": [np.inf] * N}, {}, "'x'.*infinite"),
        ({"x": [object()] * N}, {}, "'x'"),
        (
            {"x": np.zeros(N)},
            {"contexts": {"y": "auto"}},
            r"contexts must name columns of the corpus \('x'\), got 'y'",
        ),
        ({"x": np.zeros(N)}, {"contexts": {"x": "normal"}}, r"contexts\['x'\].*'normal'"),
        (
            {"x": np.zeros(N)},
            {"contexts": {"x": "bag"}, "n_sweeps": 0},
            "n_sweeps must be an integer >= 1 or 'auto', got 0",
        ),
        (
            {"x": -np.ones(N)},
            {"contexts": {"x": "poisson"}},
            "context 'x' must be integers >= 0, got -1",
        ),
        (
            {"x": ["a"] * N},
            {"contexts": {"x": "gaussian"}},
            "context 'x' must be numbers or dates for the family 'gaussian', got a category",
        ),
        (
            {"x": np.zeros(N)},
            {"contexts": ["x"]},
            r"contexts must be 'auto' or a mapping from column to family, got \['x'\]",
        ),
        (
            {"x": np.zeros(N)},
            {"contexts": "all"},
            "contexts must be 'auto' or a mapping from column to family, got 'all'",
        ),
        (3, {}, "contexts"),
    ],
)
def test_contexts_that_cannot_be_are_one_sentence(contexts, parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        model(**parameters).fit(COUNTS, contexts=contexts)


def test_predict_context_wants_a_context_of_the_model():
    fitted = model().fit(COUNTS, contexts={"place": TYPED["place"]})
    message = r"name must be a context of this model \('place'\), got 'author'"
    with pytest.raises(InputError, match=message):
        fitted.predict_context(COUNTS, "author")


def test_dates_of_the_past_and_the_future_are_fitted():
    days = [datetime.date(1066, 10, 14), datetime.date(2999, 12, 31)] * (N // 2)
    fitted = model().fit(COUNTS, contexts={"day": days})
    assert fitted.posterior_.context_given_cluster("day").index.dtype.kind == "M"
    assert len(fitted.predict_context(COUNTS, "day")) == N

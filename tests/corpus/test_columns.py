"""Columns: storage, families, conversion, alignment, dates."""

import numpy as np
import pytest
from scipy import sparse

from mcsquared import families
from mcsquared.corpus import Column, Corpus
from mcsquared.corpus.columns.infer import column_from
from mcsquared.errors import InputError

NUMBER = column_from("x", [1.0, None, 3.0])
DATE = column_from("x", np.array(["2001-02-03", "NaT", "1999-12-31"], dtype="M8[D]"))
BOOLEAN = column_from("x", [True, None, False])
CATEGORY = column_from("x", ["b", None, "a"])
BAG = column_from("x", [["b", "b", "a"], [], ["a"]])
VECTOR = column_from("x", np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, 4.0]]))
EVERY = [NUMBER, DATE, BOOLEAN, CATEGORY, BAG, VECTOR]


@pytest.mark.parametrize("column", EVERY, ids=lambda column: column.kind)
def test_observations_are_the_observed_values_of_every_kind(column):
    np.testing.assert_array_equal(column.observed, [True, False, True])
    assert column.observations().shape[0] == 2
    assert len(column) == 3
    np.testing.assert_array_equal(column[np.array([1, 0])].observed, [False, True])
    assert column[np.array([1])].observations().shape[0] == 0
    assert f"{column.name}: {column.kind}, family" in column.describe()


@pytest.mark.parametrize("column", EVERY, ids=lambda column: column.kind)
def test_the_default_family_accepts_the_observations(column):
    family = column.default_family()
    assert column.accepts(family)
    assert column.convert_for(family) is column
    filled = column.fill_family(family)
    statistics = filled.statistics(column.observations())
    assert statistics.shape == (2, filled.n_stats)
    assert np.isfinite(statistics).all()
    nothing = column[np.array([1])]
    assert nothing.fill_family(family).statistics(nothing.observations()).shape[0] == 0


def test_a_family_of_another_size_is_refused():
    with pytest.raises(InputError, match=r"'x' must have size 2 \(its categories\), got 5"):
        CATEGORY.fill_family(families.Categorical(size=5))


def test_observations_have_the_numeric_form_of_their_family():
    assert CATEGORY.observations().dtype == np.int32
    assert isinstance(BAG.observations(), sparse.csr_matrix)
    np.testing.assert_array_equal(BAG.observations().toarray(), [[1, 2], [1, 0]])
    for column in (NUMBER, DATE, BOOLEAN, VECTOR):
        assert column.observations().dtype == np.float64
    np.testing.assert_array_equal(DATE.observations(), [11356.0, 10956.0])


CONVERSIONS = [
    (NUMBER, "categorical", "category", [0, -1, 1], ["1", "3"]),
    (BOOLEAN, "categorical", "category", [1, -1, 0], ["False", "True"]),
    (DATE, "categorical", "category", [1, -1, 0], ["1999-12-31", "2001-02-03"]),
    (NUMBER, "poisson", "count", [1.0, np.nan, 3.0], None),
    (BOOLEAN, "poisson", "count", [1.0, np.nan, 0.0], None),
    (BOOLEAN, "gaussian", "number", [1.0, np.nan, 0.0], None),
    (NUMBER, "multivariate_gaussian", "vector", [[1.0], [np.nan], [3.0]], None),
    (CATEGORY, "bag", "bag", [[0, 1], [0, 0], [1, 0]], ["a", "b"]),
    (column_from("x", [0, None, 1]), "bernoulli", "boolean", [0.0, np.nan, 1.0], None),
    (column_from("x", ["no", None, "Yes"]), "bernoulli", "boolean", [0.0, np.nan, 1.0], None),
    (column_from("x", [["a"], [], ["b"]]), "categorical", "category", [0, -1, 1], ["a", "b"]),
]


@pytest.mark.parametrize(("column", "family", "kind", "values", "categories"), CONVERSIONS)
def test_a_column_can_be_declared_another_family(column, family, kind, values, categories):
    converted = column.convert_for(families.by_name(family))
    assert converted.kind == kind
    found = converted.values.toarray() if kind == "bag" else converted.values
    np.testing.assert_array_equal(found, values)
    found = None if converted.categories is None else converted.categories.tolist()
    assert found == categories
    filled = converted.fill_family(families.by_name(family))
    assert filled.statistics(converted.observations()).shape == (2, filled.n_stats)


@pytest.mark.parametrize(
    ("column", "family", "message"),
    [
        (
            CATEGORY,
            "gaussian",
            "context 'x' must be numbers or dates for the family 'gaussian', got a category",
        ),
        (
            BAG,
            "gaussian",
            "context 'x' must be numbers or dates for the family 'gaussian', got a bag",
        ),
        (BAG, "categorical", "category per group for the family 'categorical', got a bag"),
        (
            VECTOR,
            "gaussian",
            "context 'x' must be numbers or dates for the family 'gaussian', got a vector",
        ),
        (CATEGORY, "multivariate_gaussian", "2-D"),
        (CATEGORY, "bernoulli", "booleans"),
        (NUMBER, "bernoulli", "booleans, or numbers 0 and 1"),
        (
            CATEGORY,
            "poisson",
            "context 'x' must be integers >= 0 for the family 'poisson', got a category",
        ),
        (column_from("x", [0.5]), "poisson", r"context 'x' must be integers >= 0, got 0\.5"),
        (column_from("x", [-1]), "poisson", "context 'x' must be integers >= 0, got -1"),
        (VECTOR, "bag", "lists of categories"),
    ],
)
def test_a_family_that_does_not_accept_the_column_is_refused(column, family, message):
    with pytest.raises(InputError, match=message):
        column.convert_for(families.by_name(family))


def test_a_user_defined_family_accepts_any_column():
    class Custom:
        name = "own"

    assert NUMBER.convert_for(Custom()) is NUMBER


def test_alignment_recodes_categories_and_drops_unseen_ones():
    aligned = CATEGORY.align(["c", "b"])
    np.testing.assert_array_equal(aligned.values, [1, -1, -1])
    assert aligned.categories.tolist() == ["c", "b"]
    aligned = BAG.align(["c", "b"])
    np.testing.assert_array_equal(aligned.values.toarray(), [[0, 2], [0, 0], [0, 0]])
    np.testing.assert_array_equal(aligned.observed, [True, False, False])
    with pytest.raises(
        InputError, match="context 'x' must be a category or a bag to be aligned, got a number"
    ):
        NUMBER.align(["a"])


@pytest.mark.parametrize("column", EVERY, ids=lambda column: column.kind)
def test_a_column_conforms_to_itself_and_an_empty_one_to_every_kind(column):
    same = column.conform(column)
    np.testing.assert_array_equal(same.observed, column.observed)
    nothing = column_from("x", [None, None, None]).conform(column)
    assert nothing.kind == column.kind
    assert not nothing.observed.any()
    assert nothing.n_categories == column.n_categories


@pytest.mark.parametrize(
    ("values", "reference", "found"),
    [
        ([1, 2], column_from("x", ["1", "3"]), [0, -1]),
        (["2001-02-04", None], DATE, [11357.0, np.nan]),
        ([1, 0], BOOLEAN, [1.0, 0.0]),
        ([True, False], NUMBER, [1.0, 0.0]),
        (["a", "zzz"], CATEGORY, [0, -1]),
        (["a", "zzz"], BAG, [[1, 0], [0, 0]]),
        (["a; b", "b,b"], BAG, [[1, 1], [0, 2]]),
        ([5, 6], column_from("x", [3]).convert_for("poisson"), [5.0, 6.0]),
        (["anything", "else"], column_from("x", [None]), [np.nan, np.nan]),
    ],
)
def test_new_data_are_converted_to_the_kind_of_training(values, reference, found):
    column = column_from("x", values).conform(reference)
    assert column.kind == reference.kind
    values = column.values.toarray() if column.kind == "bag" else column.values
    np.testing.assert_array_equal(values, found)


@pytest.mark.parametrize(
    ("values", "reference", "message"),
    [
        (["a"], NUMBER, "must be numbers or dates for the family 'gaussian', got a category"),
        (["a"], DATE, "context 'x' must be a date as in training, got a category"),
        (
            np.array(["2001"], dtype="M8[Y]"),
            NUMBER,
            "context 'x' must be a number as in training, got a date",
        ),
        (
            np.ones((1, 3)),
            VECTOR,
            "context 'x' must contain vectors of width 2 as in training, got 3",
        ),
        (np.ones((1, 3)), CATEGORY, "context 'x' must be a category as in training, got a vector"),
        (
            [1.5],
            column_from("x", [3]).convert_for("poisson"),
            r"context 'x' must be integers >= 0, got 1\.5",
        ),
    ],
)
def test_new_data_of_another_kind_are_refused(values, reference, message):
    with pytest.raises(InputError, match=message):
        column_from("x", values).conform(reference)


def test_dates_are_shown_as_dates_again():
    displayed = DATE.display(DATE.values)
    assert displayed.dtype == np.dtype("M8[ns]")
    expected = np.array(["2001-02-03", "NaT", "1999-12-31"], dtype="M8[ns]")
    np.testing.assert_array_equal(displayed, expected)
    assert NUMBER.display(NUMBER.values) is NUMBER.values


def test_times_are_restored_to_the_microsecond():
    times = np.array(["2014-06-21T12:34:56.789012", "1969-12-31T23:59:59.999999"], dtype="M8[us]")
    column = column_from("when", times)
    np.testing.assert_array_equal(column.display(column.values).astype("M8[us]"), times)


def test_dates_outside_the_range_of_nanoseconds_are_restored():
    days = np.array(["0001-01-01", "9999-12-31"], dtype="M8[D]")
    column = column_from("when", days)
    np.testing.assert_array_equal(column.display(column.values).astype("M8[D]"), days)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("x", "colour", [1.0]),
            r"the kind of context 'x' must be one of .*, got 'colour'",
        ),
        (("x", "number", [np.inf]), "infinite"),
        (("x", "number", [1e151]), r"context 'x' must be <= 1e\+150 in magnitude, got 1e\+151"),
        (("x", "boolean", [0.5]), r"context 'x' \(boolean\) must contain 0 and 1 only"),
        (("x", "count", [-1.0]), "integers >= 0"),
        (("x", "category", [2], ["a", "b"]), "must be from -1 to"),
        (("x", "category", [0], ["a", "a"]), "got duplicates"),
        (("x", "bag", sparse.csr_matrix([[0.5]])), "fractional"),
        (
            ("x", "bag", np.array([[1, 2]]), ["a"]),
            r"'x' must have one name per category \(2\), got 1",
        ),
        (("x", "vector", [1.0]), r"context 'x' \(vector\) must have 2 dimension\(s\), got 1"),
        (
            ("x", "vector", np.empty((2, 0))),
            "context 'x' must contain vectors of width >= 1, got 0",
        ),
        (
            ("x", "number", np.ones((2, 2))),
            r"context 'x' \(number\) must have 1 dimension\(s\), got 2",
        ),
    ],
)
def test_invalid_columns_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Column(*arguments)


@pytest.mark.parametrize("family", ["categorical", "bag", "bernoulli", "poisson"])
def test_a_declared_column_without_observations_is_not_described_as_a_number(family):
    column = Corpus(np.ones((2, 1), int), {"x": [None, None]}).contexts["x"]
    assert column.describe().endswith("(no observations: treated as numbers)")
    assert column.convert_for(family).describe().endswith("(no observations)")

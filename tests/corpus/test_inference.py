"""The kind of a column is inferred from its type, in pandas, polars, NumPy and lists."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mcsquared.corpus.columns.infer import column_from
from mcsquared.errors import InputError

UTC = datetime.UTC
DAY = datetime.date(2001, 1, 1)
DAYS = 11323.0  # from 1970-01-01 to that day
NAN = np.nan

NUMBERS = {
    "a list of integers": ([1, None, 3], [1, NAN, 3]),
    "a list of floats": ([1.5, NAN, 3], [1.5, NAN, 3]),
    "a range": (range(3), [0, 1, 2]),
    "a generator": ((i for i in range(2)), [0, 1]),
    "pandas integers": (pd.Series([1, 2]), [1, 2]),
    "pandas Int64": (pd.Series([1, None], dtype="Int64"), [1, NAN]),
    "a pandas array": (pd.array([1, None], dtype="Int64"), [1, NAN]),
    "pandas Float64": (pd.Series([1.5, None], dtype="Float64"), [1.5, NAN]),
    "pandas on arrow": (pd.Series([1, None], dtype="int64[pyarrow]"), [1, NAN]),
    "pandas sparse": (pd.Series(pd.arrays.SparseArray([0, 0, 1])), [0, 0, 1]),
    "pandas index": (pd.Index([5, 6]), [5, 6]),
    "pandas durations": (pd.Series(pd.to_timedelta([36, None], unit="h")), [1.5, NAN]),
    "objects that are numbers": (pd.Series([decimal.Decimal("1.5"), None, 2]), [1.5, NAN, 2]),
    "truth values among numbers": ([True, 2.5], [1, 2.5]),
    "fractions": ([fractions.Fraction(1, 4)], [0.25]),
    "polars integers": (pl.Series([1, None]), [1, NAN]),
    "polars floats": (pl.Series([1.5, None, NAN]), [1.5, NAN, NAN]),
    "polars decimals": (pl.Series([decimal.Decimal("1.5"), None]), [1.5, NAN]),
    "polars durations": (pl.Series([datetime.timedelta(days=2), None]), [2, NAN]),
    "polars large": (pl.Series([2**64 - 1], dtype=pl.UInt64), [2.0**64]),
    "an arrow array": (pa.array([1, None]), [1, NAN]),
    "a masked array": (np.ma.array([1, 2], mask=[False, True]), [1, NAN]),
    "half precision": (np.array([0.5], dtype=np.float16), [0.5]),
    "NumPy durations": (np.array([12], dtype="m8[h]"), [0.5]),
    "nothing at all": ([None, NAN, pd.NA, pd.NaT], [NAN] * 4),
    "polars nulls": (pl.Series([None, None]), [NAN, NAN]),
    "a string column without strings": (pd.Series([None, None], dtype="string"), [NAN, NAN]),
    "a category column without categories": (pd.Series([None], dtype="category"), [NAN]),
    "empty lists alone": ([[], None, [None]], [NAN] * 3),
}


@pytest.mark.parametrize(("values", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_become_numbers(values, expected):
    column = column_from("x", values)
    assert column.kind == "number"
    assert column.values.dtype == np.float64
    np.testing.assert_array_equal(column.values, expected)


def test_a_column_without_observations_has_a_note_that_it_is_treated_as_numbers():
    assert "no observations: treated as numbers" in column_from("x", [None]).describe()


DATES = {
    "NumPy days": (np.array(["2001-01-01", "NaT"], dtype="M8[D]"), [DAYS, NAN]),
    "NumPy years": (np.array(["2001"], dtype="M8[Y]"), [DAYS]),
    "pandas": (pd.Series(pd.to_datetime(["2001-01-01 12:00", None])), [DAYS + 0.5, NAN]),
    "pandas with a zone": (
        pd.Series(pd.to_datetime(["2001-01-01 01:00"])).dt.tz_localize("Europe/Berlin"),
        [DAYS],
    ),
    "a pandas index": (pd.date_range("2001-01-01", periods=2), [DAYS, DAYS + 1]),
    "pandas periods": (pd.Series(pd.period_range("2001-01", periods=2, freq="M")), [DAYS, 11354]),
    "pandas on arrow": (pd.Series([DAY, None], dtype=pd.ArrowDtype(pa.date32())), [DAYS, NAN]),
    "Python dates": ([DAY, None], [DAYS, NAN]),
    "Python moments": ([datetime.datetime(2001, 1, 1, 6), pd.NaT], [DAYS + 0.25, NAN]),
    "Python moments with a zone": (
        [datetime.datetime(2001, 1, 1, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=5)))],
        [DAYS],
    ),
    "objects of NumPy": ([np.datetime64("2001-01-01"), None], [DAYS, NAN]),
    "polars dates": (pl.Series([DAY, None]), [DAYS, NAN]),
    "polars moments": (pl.Series([datetime.datetime(2001, 1, 1, tzinfo=UTC), None]), [DAYS, NAN]),
    "only NaT": (pd.Series([pd.NaT, pd.NaT]), [NAN, NAN]),
    "before our era of nanoseconds": ([datetime.date(1, 1, 1)], [-719162]),
}


@pytest.mark.parametrize(("values", "expected"), DATES.values(), ids=DATES)
def test_dates_become_days_since_1970_in_utc(values, expected):
    column = column_from("x", values)
    assert column.kind == "date"
    np.testing.assert_array_equal(column.values, expected)


BOOLEANS = {
    "NumPy": np.array([True, False]),
    "pandas": pd.Series([True, None, False], dtype="boolean"),
    "pandas objects": pd.Series([True, NAN, False], dtype=object),
    "arrow": pd.Series([True, None, False], dtype="bool[pyarrow]"),
    "polars": pl.Series([True, None, False]),
    "a list": [np.True_, None, False],
}


@pytest.mark.parametrize("values", BOOLEANS.values(), ids=BOOLEANS)
def test_boolean_values_become_booleans(values):
    column = column_from("x", values)
    assert column.kind == "boolean"
    expected = [1, 0] if len(column) == 2 else [1, NAN, 0]
    np.testing.assert_array_equal(column.values, expected)


CATEGORIES = {
    "a list": (["b", None, "a"], ["a", "b"]),
    "NumPy": (np.array(["b", "c", "a"]), ["a", "b", "c"]),
    "NumPy bytes": (np.array([b"b", b"a"]), ["a", "b"]),
    "pandas objects": (pd.Series(["b", NAN, "a"]), ["a", "b"]),
    "pandas strings": (pd.Series(["b", pd.NA], dtype="string"), ["b"]),
    "polars strings": (pl.Series(["b", None]), ["b"]),
    "unused categories": (
        pd.Series(["b", None, "a"], dtype=pd.CategoricalDtype(["z", "b", "a"])),
        ["b", "a"],
    ),
    "categories that are numbers": (pd.Categorical([10, 2, 10]), ["2", "10"]),
    "polars categories": (pl.Series(["b", None], dtype=pl.Categorical), ["b"]),
    "a polars enum": (pl.Series(["b", "a"], dtype=pl.Enum(["z", "b", "a"])), ["b", "a"]),
    "an arrow dictionary": (pa.array(["b", None]).dictionary_encode(), ["b"]),
    "strings among numbers": (["a", 1, 1.0, None, 2.5], ["1", "2.5", "a"]),
    "intervals": (pd.cut(pd.Series([1.0, 9.0]), [0, 5, 10]), ["(0, 5]", "(5, 10]"]),
    "any script": (["😀", "Ωμέγα", "naïve"], ["naïve", "Ωμέγα", "😀"]),
}


@pytest.mark.parametrize(("values", "categories"), CATEGORIES.values(), ids=CATEGORIES)
def test_strings_and_categories_become_categories(values, categories):
    column = column_from("x", values)
    assert column.kind == "category"
    assert column.categories.tolist() == categories
    labels = [None if code < 0 else column.categories[code] for code in column.values]
    assert set(labels) - {None} == set(categories)


def test_a_mixed_column_has_a_note_that_it_is_treated_as_categories():
    assert "mixes numbers and strings" in column_from("x", ["a", 1]).describe()


BAGS = {
    "lists": ([["b", "a", "b"], None, []], [[1, 2], [0, 0], [0, 0]]),
    "lists with None inside": ([["b", None, "a"], [None]], [[1, 1], [0, 0]]),
    "tuples and sets": ([("a", "b"), {"a"}, frozenset("b")], [[1, 1], [1, 0], [0, 1]]),
    "counts by name": ([{"a": 2, "b": 1}, {}, {"b": None}], [[2, 1], [0, 0], [0, 0]]),
    "arrays": ([np.array(["a", "b"]), np.array([], dtype=object)], [[1, 1], [0, 0]]),
    "integers": (pd.Series([[1, 2], [2]]), [[1, 1], [0, 1]]),
    "a sparse matrix": (sparse.csr_array([[0, 2], [1, 0]]), [[0, 2], [1, 0]]),
    "sparse rows": ([sparse.csr_matrix([[3, 2]]), None], [[3, 2], [0, 0]]),
    "polars lists": (pl.Series([["a", None, "b"], None, []]), [[1, 1], [0, 0], [0, 0]]),
    "arrow lists": (pa.array([["a", "b"], None]), [[1, 1], [0, 0]]),
    "rows of strings": (np.array([["a", "b"], ["b", "b"]]), [[1, 1], [0, 2]]),
    "integral floats of different lengths": ([[1.0], [1.0, 2.0]], [[1, 0], [1, 1]]),
}


@pytest.mark.parametrize(("values", "counts"), BAGS.values(), ids=BAGS)
def test_lists_and_sparse_rows_become_bags(values, counts):
    column = column_from("x", values)
    assert column.kind == "bag"
    np.testing.assert_array_equal(column.values.toarray(), counts)
    assert column.categories.tolist() == sorted(column.categories)


VECTORS = {
    "a matrix": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "a matrix of integers": np.array([[1, 2], [3, 4]]),
    "fields": np.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)]),
    "lists of floats": pd.Series([[1.0, 2.0], [3.0, 4.0]]),
    "arrays of floats": pd.Series([np.array([1.0, 2.0]), np.array([3.0, 4.0])]),
    "polars arrays": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)),
    "polars lists of floats": pl.Series([[1.0, 2.0], [3.0, 4.0]]),
}


@pytest.mark.parametrize("values", VECTORS.values(), ids=VECTORS)
def test_two_dimensional_numbers_become_vectors(values):
    column = column_from("x", values)
    assert column.kind == "vector"
    np.testing.assert_array_equal(column.values, [[1, 2], [3, 4]])


def test_a_vector_with_a_missing_number_is_missing():
    for values in (np.array([[1.0, NAN], [3.0, 4.0]]), [[1.0, None], [3.0, 4.0]]):
        column = column_from("x", values)
        np.testing.assert_array_equal(column.values, [[NAN, NAN], [3, 4]])
        assert "1 rows with missing numbers" in column.describe()


BAD = {
    "a string": ("abc", "context 'year' must be a column of values, got str"),
    "a mapping": ({"a": 1}, "context 'year' must be a column of values, got dict"),
    "a set has no order": ({1, 2}, "context 'year' must be a column of values, got set"),
    "a number": (3, "context 'year' must be a column of values, got int"),
    "None": (None, "context 'year' must be a column of values, got NoneType"),
    "infinity": ([1.0, np.inf], "infinite"),
    "minus infinity in polars": (pl.Series([1.0, -np.inf]), "infinite"),
    "too large": ([1e151], "<= 1e\\+150 in magnitude"),
    "an integer too large": ([10**400], "too large"),
    "an infinite vector": (np.array([[1.0, np.inf]]), "infinite"),
    "complex numbers": (
        np.array([1j]),
        "must contain numbers, dates, booleans, strings or lists, got a complex",
    ),
    "times of day": (
        [datetime.time(1)],
        "must contain numbers, dates, booleans, strings or lists, got a time",
    ),
    "objects": (
        [object()],
        "must contain numbers, dates, booleans, strings or lists, got a object",
    ),
    "dates and text": (
        [DAY, "x"],
        "context 'year' must contain values of one kind, got dates and strings",
    ),
    "lists and text": (
        [["a"], "b"],
        "context 'year' must contain values of one kind, got lists and strings",
    ),
    "lists in lists": (
        [[["a"]]],
        "context 'year' must contain lists of categories, got lists inside lists",
    ),
    "three dimensions": (np.zeros((2, 2, 2)), "context 'year' must have 1 or 2 dimensions, got 3"),
    "no dimension": (np.array(3), "context 'year' must have 1 or 2 dimensions, got 0"),
    "bytes in another encoding": ([b"\xff"], "not UTF-8"),
    "bytes in lists": ([[b"\xff"]], "not UTF-8"),
    "ragged fractions": ([[0.5], [1.0, 2.0]], "different lengths"),
    "a negative count": (
        [{"a": -1}],
        "context 'year' must contain bags with integer counts >= 0, got -1",
    ),
    "a fractional count": (
        [{"a": 0.5}],
        r"context 'year' must contain bags with integer counts >= 0, got 0\.5",
    ),
    "a count that is text": (
        [{"a": "b"}],
        "context 'year' must contain bags with integer counts >= 0, got 'b'",
    ),
    "negative sparse rows": (sparse.csr_matrix([[-1]]), "negative count"),
    "fields that are text": (np.array([("a",)], dtype=[("a", "U1")]), "must have numeric fields"),
    "dates out of range": (np.array([300_000], dtype="M8[Y]"), "out of range"),
    "a moment out of range": (
        [datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5)))],
        "out of range",
    ),
    "matrices in rows": ([np.ones((2, 2))], "2 dimensions"),
}


@pytest.mark.parametrize(("values", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_a_context_is_refused_by_name(values, message):
    with pytest.raises(InputError, match=message) as caught:
        column_from("year", values)
    assert "context 'year'" in str(caught.value)

"""Frames: the role of each column, in pandas, polars and pyarrow."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mcsquared.corpus import Corpus, Vectors, Words
from mcsquared.errors import InputError

PAPERS = {
    "title": ["first", "second", "third"],
    "abstract": ["cats and dogs", "dogs, cows", None],
    "year": [2001, None, 2003],
    "authors": ["Ada Lovelace; Bob", "Eve", None],
    "tags": [["x", "y"], [], ["x"]],
    "when": [datetime.date(2001, 1, 2), None, datetime.date(2003, 4, 5)],
    "pages": [3, 4, 5],
    "weight": [0.5, 1.5, 2.5],
}
LIBRARIES = [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_corpus(library):
    corpus = Corpus.from_frame(
        library(PAPERS),
        text="abstract",
        contexts=["year", "authors", "tags", "when"],
        bags={"authors": ";"},
        group_names="title",
    )
    assert corpus.vocabulary.tolist() == ["and", "cats", "cows"]
    np.testing.assert_array_equal(corpus.tokens_per_group > 0, [True, True, False])
    assert corpus.group_names.tolist() == ["first", "second", "third"]
    kinds = {name: column.kind for name, column in corpus.contexts.items()}
    assert kinds == {"year": "number", "authors": "bag", "tags": "bag", "when": "date"}
    assert corpus.contexts["authors"].categories.tolist() == ["Ada Lovelace", "Bob", "Eve"]
    np.testing.assert_array_equal(corpus.contexts["authors"].observed, [True, True, False])


def test_without_contexts_there_are_none_and_one_may_be_a_string():
    frame = pd.DataFrame(PAPERS)
    assert Corpus.from_frame(frame, text="abstract").contexts == {}
    assert list(Corpus.from_frame(frame, text="abstract", contexts="year").contexts) == ["year"]


def test_an_index_names_the_groups_and_does_not_change_the_order_of_rows():
    frame = pd.DataFrame(PAPERS, index=[30, 10, 20])
    corpus = Corpus.from_frame(frame, text="abstract", contexts=["year"])
    assert corpus.group_names.tolist() == ["30", "10", "20"]
    np.testing.assert_array_equal(corpus.contexts["year"].values, [2001, np.nan, 2003])
    many = frame.set_index([["a", "a", "b"], [1, 2, 1]])
    names = Corpus.from_frame(many, text="abstract").group_names.tolist()
    assert names == ["a, 1", "a, 2", "b, 1"]


def test_a_text_column_may_hold_lists_of_words():
    for library in LIBRARIES:
        corpus = Corpus.from_frame(library(PAPERS), text="tags")
        assert corpus.vocabulary.tolist() == ["x", "y"]
        np.testing.assert_array_equal(corpus.tokens_per_group, [2, 0, 1])


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_integers_are_counts_and_those_of_floats_are_vectors(library):
    frame = library(PAPERS)
    counts = Corpus.from_frame(frame, content=["pages"], contexts=["year"])
    assert isinstance(counts.content, Words)
    assert counts.vocabulary.tolist() == ["pages"]
    np.testing.assert_array_equal(counts.content.counts.toarray(), [[3], [4], [5]])
    vectors = Corpus.from_frame(frame, content=["pages", "weight"])
    assert isinstance(vectors.content, Vectors)
    np.testing.assert_array_equal(vectors.content.values, [[3, 0.5], [4, 1.5], [5, 2.5]])


@pytest.mark.parametrize("library", LIBRARIES)
def test_without_text_and_content_all_other_columns_are_content(library):
    frame = library({"year": [1, 2], "name": ["a", "b"], "ant": [0, 1], "bee": [2, 0]})
    corpus = Corpus.from_frame(frame, contexts=["year"], group_names="name")
    assert corpus.vocabulary.tolist() == ["ant", "bee"]
    with pytest.raises(
        InputError,
        match=r"must consist of columns of numbers, got .* of frame; use Corpus.from_frame",
    ):
        Corpus.from_frame(frame, contexts=["year"])


def test_nullable_integers_without_missing_values_are_counts():
    frame = pd.DataFrame({"ant": pd.array([1, 2], dtype="Int64")})
    assert isinstance(Corpus.from_frame(frame).content, Words)
    with pytest.raises(InputError, match="NaN"):
        Corpus.from_frame(pd.DataFrame({"ant": pd.array([1, None], dtype="Int64")}))


@pytest.mark.parametrize(
    ("values", "separator", "categories"),
    [
        (["a; b", "b;;", " ; "], None, ["a", "b"]),
        (["Smith, J; Doe, A", "Roe, B"], None, ["Doe, A", "Roe, B", "Smith, J"]),
        (["a, b", "b"], None, ["a", "b"]),
        (["a, b|c", "b"], "|", ["a, b", "b", "c"]),
        (["a and b", "b"], " and ", ["a", "b"]),
        ([["a", "b"], ["b"]], ";", ["a", "b"]),
        ([1, 2], None, ["1", "2"]),
    ],
)
def test_strings_are_split_into_bags_where_that_is_declared(values, separator, categories):
    frame = pd.DataFrame({"text": ["some words"] * len(values), "authors": values})
    corpus = Corpus.from_frame(frame, "text", ["authors"], bags={"authors": separator})
    assert corpus.contexts["authors"].kind == "bag"
    assert corpus.contexts["authors"].categories.tolist() == categories


def test_bags_may_be_a_list_of_columns_and_may_hold_nothing():
    frame = pd.DataFrame({"text": ["aa bb", "cc"], "a": ["x;y", None], "b": [None, ""]})
    corpus = Corpus.from_frame(frame, "text", ["a", "b"], bags=["a", "b"])
    assert corpus.contexts["a"].categories.tolist() == ["x", "y"]
    assert not corpus.contexts["b"].observed.any()


FRAME = pd.DataFrame(PAPERS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"text": "abstrakt"},
            "text must name a column of frame, got 'abstrakt'; did you mean 'abstract'",
        ),
        (
            {"text": "abstract", "contexts": ["year,title"]},
            "got 'year,title'; pass 'year' and 'title' separately",
        ),
        ({"text": "q"}, "got 'q'; its columns are 'title', 'abstract'"),
        (
            {"text": "abstract", "contexts": ["yeer"]},
            "contexts must name a column of frame.*did you mean 'year'",
        ),
        (
            {"text": "abstract", "contexts": ["year", "year"]},
            "contexts must name each column once, got 'year' twice",
        ),
        ({"text": "abstract", "contexts": {"year": 1}}, "must be a list of column names"),
        ({"text": "abstract", "contexts": 5}, "must be a list of column names"),
        (
            {"text": "year"},
            "text must name a column of texts, got 'year', which contains numbers",
        ),
        (
            {"text": "when"},
            "text must name a column of texts, got 'when', which contains date values",
        ),
        (
            {"text": "abstract", "bags": {"authors": ";"}},
            r"bags must be contexts \(none\), got 'authors'",
        ),
        ({"text": "abstract", "contexts": ["authors"], "bags": {"authors": ""}}, "separator"),
        ({"text": "abstract", "contexts": ["authors"], "bags": {"authors": 3}}, "separator"),
        ({"text": "abstract", "content": ["pages"]}, "text and content must not both be given"),
        (
            {"content": ["title"]},
            r"must consist of columns of numbers, got .* of frame; use Corpus.from_frame",
        ),
        ({"content": []}, "at least one column of frame, got none"),
        ({"content": ["pages"], "min_df": 2}, "min_df must not be given without a text column"),
        (
            {"content": ["pages"], "vocabulary": ["x"]},
            "vocabulary must not be given without a text column",
        ),
        (
            {"text": "abstract", "group_names": "nam"},
            "group_names must name a column of frame, got 'nam'",
        ),
        (
            {"text": "abstract", "group_names": ["a"]},
            r"group_names must have one name per group \(3\), got 1",
        ),
    ],
)
def test_arguments_that_do_not_fit_the_frame_are_refused(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        Corpus.from_frame(FRAME, **arguments)
    assert "\n" not in str(caught.value)


def test_a_text_column_with_something_else_in_it_is_refused():
    with pytest.raises(InputError, match=r"column 't'\[1\] must be a string, got 3"):
        Corpus.from_frame(pd.DataFrame({"t": ["a text", 3]}), text="t")
    with pytest.raises(InputError, match="must contain at least one text, got only missing values"):
        Corpus.from_frame(pd.DataFrame({"t": [None, np.nan]}), text="t")


def test_two_columns_with_the_same_name_are_refused_only_if_they_are_used():
    frame = pd.DataFrame([["some text", 1, 2]], columns=["text", "a", "a"])
    assert len(Corpus.from_frame(frame, text="text")) == 1
    with pytest.raises(
        InputError,
        match="contexts must name a unique column, got 'a', which frame has several times",
    ):
        Corpus.from_frame(frame, text="text", contexts=["a"])
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(InputError, match="unique column names"):
        Corpus.from_frame(twice, content=["a"])


@pytest.mark.parametrize("frame", [None, "papers.csv", [1, 2], {"a": [1]}, np.ones((2, 2))])
def test_what_is_not_a_frame_is_refused(frame):
    with pytest.raises(InputError, match="must be a data frame"):
        Corpus.from_frame(frame, text="t")


def test_a_frame_without_rows_is_refused():
    for library in LIBRARIES:
        with pytest.raises(InputError, match="frame must have at least one group, got zero rows"):
            Corpus.from_frame(library({"t": []}), text="t")


def test_column_names_may_be_numbers_or_several_levels():
    frame = pd.DataFrame([["some text", 5]], columns=[0, 1])
    assert list(Corpus.from_frame(frame, text=0, contexts=[1]).contexts) == ["1"]
    frame.columns = pd.MultiIndex.from_tuples([("a", "text"), ("a", "year")])
    assert list(Corpus.from_frame(frame, "a text", ["a year"]).contexts) == ["a year"]


@pytest.mark.parametrize("missing", [False, True])
def test_integers_that_no_float_represents_exactly_are_numbers(missing, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    large = [2**60 + 1, None if missing else 3]
    table = pyarrow.table({"text": ["some words", "other words"], "number": large})
    parquet.write_table(table, tmp_path / "large.parquet")
    corpus = Corpus.read(tmp_path / "large.parquet", text="text", contexts=["number"])
    assert corpus.contexts["number"].values[0] == 2.0**60
    assert corpus.contexts["number"].observed.tolist() == [True, not missing]

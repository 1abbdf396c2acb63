"""The corpus: contexts, names, parts, splits, alignment to training, fingerprint."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mcsquared.corpus import Column, Corpus, Words
from mcsquared.errors import InputError

COUNTS = np.array([[1, 0, 2], [0, 3, 0], [0, 0, 0], [1, 1, 1]])
CONTEXTS = {
    "year": [2000, 2001, None, 2003],
    "authors": [["Ada", "Bob"], [], ["Ada"], ["Eve"]],
    "place": ["Rome", "Oslo", "Rome", None],
    "open": [True, False, None, True],
    "when": pd.to_datetime(["2001-02-03", None, "2002-01-01", "1999-01-01"]),
    "point": np.array([[0.0, 1.0], [2.0, 3.0], [np.nan, np.nan], [4.0, 5.0]]),
}
KINDS = ["number", "bag", "category", "boolean", "date", "vector"]


@pytest.fixture
def corpus():
    return Corpus(COUNTS, CONTEXTS, ["a", "b", "c", "d"], ["ant", "bee", "cat"])


@pytest.fixture
def vectors():
    return Corpus([np.full((j, 2), j) for j in range(4)], {"year": [1, 2, 3, 4]})


def test_contexts_come_from_a_dict_a_frame_of_pandas_or_polars(corpus):
    assert [column.kind for column in corpus.contexts.values()] == KINDS
    simple = {name: CONTEXTS[name] for name in ("year", "authors", "place", "open")}
    for make in (pd.DataFrame, pl.DataFrame, lambda columns: pl.LazyFrame(columns)):
        found = Corpus(COUNTS, make(simple)).contexts
        assert [column.kind for column in found.values()] == KINDS[:4]
        for name, column in found.items():
            assert isinstance(column, Column)
            np.testing.assert_array_equal(column.observed, corpus.contexts[name].observed)
    series = pd.Series([1, 2, 3, 4], name="year")
    assert Corpus(COUNTS, series).contexts["year"].kind == "number"


def test_the_description_says_which_family_a_context_becomes(corpus):
    description = corpus.describe()
    assert description.startswith("4 groups, 9 tokens, 3 words\n")
    for line in (
        "year: number, family gaussian, 3 of 4 observed, 2000 to 2003",
        "authors: bag, family bag, 3 of 4 observed, 3 categories",
        "when: date, family gaussian, 3 of 4 observed, 1999-01-01 to 2002-01-01",
        "point: vector, family multivariate_gaussian, 3 of 4 observed, width 2",
    ):
        assert line in description.split("\n")


def test_the_representation_is_one_line(corpus, vectors):
    expected = (
        "Corpus(4 groups, 9 tokens, 3 words, contexts: year, authors, place, open, when, point)"
    )
    assert repr(corpus) == expected
    assert repr(vectors) == "Corpus(4 groups, 6 vectors of width 2, contexts: year)"


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (pd.DataFrame({"year": [1, 2, 3]}), r"contexts must have one row per group \(4\), got 3"),
        (pl.DataFrame({"year": [1] * 5}), r"contexts must have one row per group \(4\), got 5"),
        ({"year": [1, 2, 3]}, r"context 'year' must have one row per group \(4\), got 3"),
        ({"year": []}, r"context 'year' must have one row per group \(4\), got 0"),
        ([1, 2, 3, 4], "contexts must be a data frame or a dict from name to column, got list"),
        (
            np.ones((4, 2)),
            "contexts must be a data frame or a dict from name to column, got ndarray",
        ),
        ("year", "contexts must be a data frame or a dict from name to column, got str"),
        (
            {"year": [1, 2, np.inf, 4]},
            r"context 'year' must contain finite numbers, got an infinite value \(inf\)",
        ),
        (
            pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]),
            "contexts must have unique column names, got 'a' twice",
        ),
    ],
)
def test_contexts_that_do_not_fit_are_refused(contexts, message):
    with pytest.raises(InputError, match=message):
        Corpus(COUNTS, contexts)


def test_group_names_are_given_or_taken_from_an_index_or_numbered():
    assert Corpus(COUNTS).group_names.tolist() == ["0", "1", "2", "3"]
    assert Corpus(COUNTS, group_names=[7, "b", 2.5, None]).group_names.tolist() == [
        "7",
        "b",
        "2.5",
        "None",
    ]
    frame = pd.DataFrame({"year": [1, 2, 3, 4]}, index=[9, 7, 5, 3])
    assert Corpus(COUNTS, frame).group_names.tolist() == ["9", "7", "5", "3"]
    assert Corpus(COUNTS, frame.reset_index(drop=True)).group_names.tolist() == list("0123")
    with pytest.raises(InputError, match=r"group_names must have one name per group \(4\), got 1"):
        Corpus(COUNTS, group_names=["a"])


def test_the_same_index_in_another_order_is_refused():
    content = pd.DataFrame(COUNTS, index=list("abcd"))
    contexts = pd.DataFrame({"year": [1, 2, 3, 4]}, index=list("dcba"))
    with pytest.raises(InputError, match="in another order"):
        Corpus(content, contexts)
    assert Corpus(content, contexts.loc[content.index]).group_names.tolist() == list("abcd")
    assert len(Corpus(content, contexts.reset_index(drop=True))) == 4


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_integers_is_counts_and_one_of_floats_is_vectors(library):
    corpus = Corpus(library({"ant": [1, 0], "bee": [0, 2]}))
    assert isinstance(corpus.content, Words)
    assert corpus.vocabulary.tolist() == ["ant", "bee"]
    assert Corpus(library({"x": [1.0, 0.0], "y": [0, 2]})).content.width == 2
    with pytest.raises(
        InputError,
        match=r"must consist of columns of numbers, got .* of content; use Corpus.from_frame",
    ):
        Corpus(library({"x": ["a", "b"]}))
    with pytest.raises(InputError, match="NaN"):
        Corpus(library({"x": [1, None]}))


def test_a_sparse_frame_of_pandas_is_counts():
    frame = pd.DataFrame.sparse.from_spmatrix(Corpus(COUNTS).content.counts, columns=list("xyz"))
    corpus = Corpus(frame)
    np.testing.assert_array_equal(corpus.content.counts.toarray(), COUNTS)
    assert corpus.vocabulary.tolist() == list("xyz")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        (np.array([True, False, False, True]), [0, 3]),
        ([True, False, False, True], [0, 3]),
        ([3, 0, 0], [3, 0, 0]),
        (np.array([-1]), [3]),
        (2, [2]),
        (np.array([1], dtype=np.uint8), [1]),
        (pd.Series([False, True, False, False]), [1]),
    ],
)
def test_parts_keep_content_contexts_and_names_together(corpus, vectors, rows, expected):
    part = corpus[rows]
    np.testing.assert_array_equal(part.content.counts.toarray(), COUNTS[expected])
    assert part.group_names.tolist() == [corpus.group_names[i] for i in expected]
    for name, column in part.contexts.items():
        np.testing.assert_array_equal(column.observed, corpus.contexts[name].observed[expected])
        assert column.n_categories == corpus.contexts[name].n_categories
    part = vectors[rows]
    np.testing.assert_array_equal(part.content.tokens_per_group, expected)
    np.testing.assert_array_equal(part.content.values[:, 0], np.repeat(expected, expected))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "at least one group"),
        (np.zeros(4, bool), "at least one group"),
        (np.ones(3, bool), r"a mask must have one entry per group \(4\), got 3"),
        ([4], "the index must be from -4 to 3, got 4"),
        ([-5], "the index must be from -4 to 3, got -5"),
        (
            [1.5],
            r"must be a slice, a mask or a 1-D array of integers, got type float64",
        ),
        ("year", "must be a slice, a mask or a 1-D array of integers"),
        ([[0, 1]], "2 dimension"),
        ([[0], [1, 2]], "the index must be a mask or an array of indices"),
        (slice(0, 0), "at least one group"),
        (slice("a", None), "slice"),
        ([10**30], "the index must be from -4 to 3"),
        (None, "must be a slice, a mask or a 1-D array of integers"),
    ],
)
def test_an_index_that_cannot_be_used_is_refused(corpus, rows, message):
    with pytest.raises(InputError, match=message):
        corpus[rows]


def test_a_split_partitions_the_groups_and_depends_on_the_seed_alone():
    corpus = Corpus(np.arange(200)[:, None], {"number": np.arange(200)})
    train, test = corpus.split(0.25, random_state=3)
    assert (len(train), len(test)) == (150, 50)
    together = np.concatenate([train.contexts["number"].values, test.contexts["number"].values])
    assert sorted(together) == list(range(200))
    for part in (train, test):
        numbers = part.contexts["number"].values
        assert (np.diff(numbers) > 0).all()
        np.testing.assert_array_equal(part.content.counts.toarray()[:, 0], numbers)
    again = corpus.split(0.25, random_state=3)[1]
    assert again.fingerprint() == test.fingerprint()
    assert corpus.split(0.25, random_state=4)[1].fingerprint() != test.fingerprint()
    assert len(corpus.split(7, random_state=np.random.default_rng(0))[1]) == 7
    assert len(corpus.split(7, random_state=np.random.RandomState(0))[1]) == 7
    assert len(corpus[:2].split(0.01)[1]) == 1


@pytest.mark.parametrize("test_size", [0, 4, -1, 1.0, 0.0, 1.5, np.nan, "half", None, True])
def test_a_split_that_leaves_a_side_empty_is_refused(corpus, test_size):
    with pytest.raises(InputError, match=r"test_size must .*, got"):
        corpus.split(test_size)


def test_one_group_cannot_be_split(corpus):
    with pytest.raises(InputError, match="1 group"):
        corpus[0].split(0.5)
    with pytest.raises(InputError, match="random_state must be an integer >= 0 or None, got 'x'"):
        corpus.split(0.5, random_state="x")


def test_contexts_can_be_replaced(corpus):
    replaced = corpus.with_contexts({"age": [1, 2, 3, 4]})
    assert list(replaced.contexts) == ["age"]
    assert list(corpus.with_contexts(None).contexts) == []
    assert list(corpus.contexts) == list(CONTEXTS)
    with pytest.raises(InputError, match=r"context 'age' must have one row per group \(4\), got 3"):
        corpus.with_contexts({"age": [1, 2, 3]})


def test_notes_describe_the_present_contexts(corpus):
    odd = corpus.with_contexts({"odd": ["a", 1, None, 2]})
    assert odd.notes == ["context odd: mixes numbers and strings: treated as categories"]
    assert odd[1:].notes == odd.notes
    assert odd.describe().count("mixes numbers and strings") == 1
    assert odd.with_contexts(None).notes == []


def test_alignment_gives_the_words_and_categories_of_training(corpus):
    new = Corpus.from_tokens(
        [["cat", "emu", "emu", "ant"], ["yak"]],
        {"place": ["Oslo", "Lima"], "authors": [["Eve", "Zoe"], ["Zoe"]], "extra": [1, 2]},
    )
    aligned = new.aligned_to(corpus.vocabulary, corpus.contexts)
    assert aligned.vocabulary.tolist() == corpus.vocabulary.tolist()
    np.testing.assert_array_equal(aligned.content.counts.toarray(), [[1, 0, 1], [0, 0, 0]])
    assert (aligned.dropped_words, aligned.dropped_tokens) == (2, 3)
    assert "2 words unseen in training were dropped (3 tokens)" in aligned.notes
    assert list(aligned.contexts) == list(corpus.contexts)
    for name, column in aligned.contexts.items():
        assert column.kind == corpus.contexts[name].kind
        if column.categories is not None:
            assert column.categories.tolist() == corpus.contexts[name].categories.tolist()
    np.testing.assert_array_equal(aligned.contexts["place"].values, [0, -1])
    np.testing.assert_array_equal(
        aligned.contexts["authors"].values.toarray(), [[0, 0, 1], [0] * 3]
    )
    assert not aligned.contexts["year"].observed.any()
    assert "context year is not in the data: missing in every group" in aligned.notes


def test_alignment_to_itself_changes_nothing(corpus, vectors):
    assert (
        corpus.aligned_to(corpus.vocabulary, corpus.contexts).fingerprint() == corpus.fingerprint()
    )
    assert vectors.aligned_to(None, vectors.contexts, 2).fingerprint() == vectors.fingerprint()


def test_words_and_vectors_do_not_align(corpus, vectors):
    with pytest.raises(InputError, match="content must contain words as in training, got vectors"):
        vectors.aligned_to(corpus.vocabulary)
    with pytest.raises(InputError, match="must contain vectors as in training, got words"):
        corpus.aligned_to(None)
    with pytest.raises(InputError, match="vectors of width 5 as in training, got 2"):
        vectors.aligned_to(None, width=5)


def test_the_fingerprint_changes_with_everything_a_model_uses(corpus, vectors):
    prints = {corpus.fingerprint(), vectors.fingerprint()}
    others = [
        Corpus(COUNTS, CONTEXTS, ["a", "b", "c", "d"]),
        Corpus(COUNTS, CONTEXTS, vocabulary=["ant", "bee", "cat"]),
        Corpus(COUNTS + 1, CONTEXTS, ["a", "b", "c", "d"], ["ant", "bee", "cat"]),
        corpus.with_contexts({}),
        corpus.with_contexts({**CONTEXTS, "year": [2000, 2001, 2002, 2003]}),
        corpus.with_contexts({**CONTEXTS, "authors": [["Ada"], [], ["Ada"], ["Eve"]]}),
        corpus.with_contexts({**CONTEXTS, "place": ["Rome", "Bonn", "Rome", None]}),
        corpus.with_contexts({("Year" if n == "year" else n): c for n, c in CONTEXTS.items()}),
        corpus[::-1],
        vectors[[0, 1, 2]],
    ]
    for other in others:
        assert other.fingerprint() not in prints
        prints.add(other.fingerprint())
    same = Corpus(COUNTS, CONTEXTS, ["a", "b", "c", "d"], ["ant", "bee", "cat"])
    assert same.fingerprint() == corpus.fingerprint()
    assert re.fullmatch("[0-9a-f]{64}", corpus.fingerprint())


def test_a_corpus_survives_pickling(corpus):
    assert pickle.loads(pickle.dumps(corpus)).fingerprint() == corpus.fingerprint()


def test_many_distinct_strings_are_accepted():
    names = [f"person {i}" for i in range(50_000)]
    corpus = Corpus(np.ones((50_000, 1), int), {"name": names})
    assert corpus.contexts["name"].n_categories == 50_000

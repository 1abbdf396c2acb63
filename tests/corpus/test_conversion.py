"""Input of fit and predict: anything that can be converted to a corpus."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus, Vectors, Words, as_corpus
from mcsquared.errors import InputError

COUNTS = np.array([[1, 0], [0, 2]])


@pytest.mark.parametrize(
    ("X", "kind", "n_tokens"),
    [
        (["one two", "three"], Words, 3),
        (("one two", "three"), Words, 3),
        (iter(["one two", "three"]), Words, 3),
        (np.array(["one two", "three"]), Words, 3),
        (np.array(["one two", None], dtype=object), Words, 2),
        ([None, "one two"], Words, 2),
        (pd.Series(["one two", "three"]), Words, 3),
        (pl.Series(["one two", "three"]), Words, 3),
        ([["one", "two"], ["three"]], Words, 3),
        ([[], ["three"]], Words, 1),
        (pd.Series([["one", "two"], ["three"]]), Words, 3),
        (np.array([["one", "two"], ["three", "four"]]), Words, 4),
        (COUNTS, Words, 3),
        (COUNTS.tolist(), Words, 3),
        (sparse.csr_array(COUNTS), Words, 3),
        (pd.DataFrame(COUNTS, columns=["a", "b"]), Words, 3),
        (pl.DataFrame(COUNTS, schema=["a", "b"]), Words, 3),
        (COUNTS.astype(float), Vectors, 2),
        (COUNTS.astype(float).astype(object), Vectors, 2),
        ([np.ones((2, 3)), np.ones((1, 3))], Vectors, 3),
    ],
)
def test_every_input_becomes_a_corpus(X, kind, n_tokens):
    corpus = as_corpus(X, {"year": [1, 2]})
    assert isinstance(corpus.content, kind)
    assert corpus.n_tokens == n_tokens
    assert list(corpus.contexts) == ["year"]


def test_columns_and_lists_of_passages_are_texts():
    texts = [f"The {j}th cat sat on the mat" for j in range(4)]
    for X in (
        np.array(texts).reshape(-1, 1),
        [[text, f"and bird {j} sang"] for j, text in enumerate(texts)],
    ):
        assert "0th" in as_corpus(X).vocabulary
    items = [["LED lamp E27 9 W", "cable 3 x 1.5"], ["LED lamp E27 9 W"] * 3]
    assert "LED lamp E27 9 W" in as_corpus(items).vocabulary  # baskets of repeated items
    new = as_corpus([["LED lamp E27 9 W"]], vocabulary=["LED lamp E27 9 W", "cable 3 x 1.5"])
    assert new.n_tokens == 1


def test_a_corpus_is_returned_unchanged_or_with_other_contexts():
    corpus = Corpus(COUNTS)
    assert as_corpus(corpus) is corpus
    assert list(as_corpus(corpus, {"year": [1, 2]}).contexts) == ["year"]


def test_content_can_be_declared():
    assert isinstance(as_corpus(COUNTS.astype(float), content="counts").content, Words)
    assert isinstance(as_corpus(COUNTS, content="vectors").content, Vectors)
    assert isinstance(as_corpus(sparse.csr_matrix(COUNTS), content="vectors").content, Vectors)
    frame = pd.DataFrame(COUNTS.astype(float), columns=["a", "b"])
    assert isinstance(as_corpus(frame, content="counts").content, Words)
    with pytest.raises(InputError, match="fractional"):
        as_corpus(COUNTS + 0.5, content="counts")


def test_the_vocabulary_of_a_model_is_kept():
    assert as_corpus(["b c", "bb"], vocabulary=["aa", "bb"]).content.counts.toarray().tolist() == [
        [0, 0],
        [0, 1],
    ]
    assert as_corpus([["bb"]], vocabulary=["aa", "bb"]).n_tokens == 1
    assert as_corpus(COUNTS, vocabulary=["aa", "bb"]).vocabulary.tolist() == ["aa", "bb"]
    with pytest.raises(InputError, match="X has 2 features, but the model is expecting 3 features"):
        as_corpus(COUNTS, vocabulary=["aa", "bb", "cc"])


@pytest.mark.parametrize(
    ("X", "content", "message"),
    [
        ("text", "auto", "content must be a list of texts, got a single text"),
        ({"a": [1]}, "auto", "content must .*, got"),
        (None, "auto", "content must .*, got"),
        (COUNTS, "words", "content must be one of 'auto', 'counts', 'vectors', got 'words'"),
        (
            Corpus(COUNTS),
            "vectors",
            r"content must contain vectors \(content='vectors'\), got counts",
        ),
        (
            Corpus(COUNTS.astype(float)),
            "counts",
            r"content must contain counts \(content='counts'\), got vectors",
        ),
        (
            Corpus(COUNTS),
            "words",
            "content must be one of 'auto', 'counts', 'vectors', got 'words'",
        ),
        (["one two"], "vectors", r"X must contain vectors \(content='vectors'\), got texts"),
        ([], "auto", "at least one group"),
        ([None, None], "auto", "content must .*, got"),
        ([np.ones((2, 2))], "counts", "list of 2-D arrays"),
        (np.array([b"x"]), "auto", "content must .*, got"),
    ],
)
def test_what_cannot_be_a_corpus_is_refused(X, content, message):
    with pytest.raises(InputError, match=message):
        as_corpus(X, content=content)


def test_empty_groups_are_accepted_if_the_vocabulary_is_known():
    for nothing in ([None, None], [[], None], ["", None]):
        corpus = as_corpus(nothing, vocabulary=["lion", "tiger"])
        assert corpus.tokens_per_group.tolist() == [0, 0]

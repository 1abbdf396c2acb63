"""Content: counts, vectors, and invalid input."""

import numpy as np
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus, Vectors, Words
from mcsquared.corpus.content import MAX_COUNT
from mcsquared.errors import InputError

COUNTS = np.array([[1, 0, 2], [0, 3, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        sparse.lil_matrix,
        lambda counts: sparse.csr_array(counts.astype(float)),
        lambda counts: counts.astype(np.uint8),
        lambda counts: counts.astype(object),
        lambda counts: counts.tolist(),
        lambda counts: list(counts),
    ],
)
def test_every_form_of_counts_gives_the_same_words(make):
    corpus = Corpus(make(COUNTS))
    assert isinstance(corpus.content, Words)
    counts = corpus.content.counts
    assert isinstance(counts, sparse.csr_matrix)
    assert counts.dtype == np.int32
    assert counts.has_canonical_format
    np.testing.assert_array_equal(counts.toarray(), COUNTS)
    assert (corpus.n_groups, corpus.n_tokens, corpus.n_words) == (3, 6, 3)
    np.testing.assert_array_equal(corpus.tokens_per_group, [3, 3, 0])
    assert corpus.tokens_per_group.dtype == np.int64


def test_a_boolean_matrix_counts_presence():
    assert Corpus(COUNTS > 0).n_tokens == 3


def test_duplicates_are_summed_without_overflow_and_zeros_are_not_stored():
    entries = np.full(5, 100, np.int8)
    matrix = sparse.coo_matrix((entries, (np.zeros(5, int), np.zeros(5, int))), shape=(2, 2))
    counts = Corpus(matrix).content.counts
    assert counts[0, 0] == 500
    explicit_zero = sparse.csr_matrix((np.array([0, 2]), ([0, 1], [0, 1])), shape=(2, 2))
    assert Corpus(explicit_zero).content.counts.nnz == 1


def test_the_given_matrix_is_not_modified():
    matrix = sparse.csr_matrix(COUNTS)
    corpus = Corpus(matrix)
    matrix.data[:] = 9
    assert corpus.n_tokens == 6


def test_the_total_of_large_counts_does_not_overflow():
    corpus = Corpus(np.full((2, 3), MAX_COUNT))
    assert corpus.n_tokens == 6 * MAX_COUNT
    np.testing.assert_array_equal(corpus.tokens_per_group, [3 * MAX_COUNT] * 2)


def test_a_dense_floating_matrix_is_one_vector_per_group_even_if_its_values_are_integers():
    corpus = Corpus(COUNTS.astype(float))
    assert isinstance(corpus.content, Vectors)
    np.testing.assert_array_equal(corpus.content.start, [0, 1, 2, 3])
    np.testing.assert_array_equal(corpus.content.values, COUNTS)
    assert corpus.n_words == 0
    assert corpus.vocabulary is None


def test_a_list_of_arrays_is_vectors_group_by_group():
    groups = [np.ones((2, 3)), np.zeros((0, 3)), np.full((1, 3), 7, dtype=int), []]
    content = Corpus(groups).content
    np.testing.assert_array_equal(content.start, [0, 2, 2, 3, 3])
    np.testing.assert_array_equal(content.values, [[1, 1, 1], [1, 1, 1], [7, 7, 7]])
    assert content.values.dtype == np.float64
    assert content.values.flags.c_contiguous
    np.testing.assert_array_equal(content.tokens_per_group, [2, 0, 1, 0])


def test_an_array_of_three_dimensions_is_one_matrix_of_vectors_per_group():
    content = Corpus(np.arange(12.0).reshape(2, 3, 2)).content
    np.testing.assert_array_equal(content.start, [0, 3, 6])
    assert content.width == 2


BAD = [
    (np.array([[1, -1]]), "negative count.*TF-IDF"),
    (sparse.csr_matrix([[0.0, -2.0]]), "negative count.*TF-IDF"),
    (sparse.csr_matrix([[0.5, 1.0]]), "fractional count.*TF-IDF"),
    (sparse.csr_matrix([[np.nan, 1.0]]), "NaN"),
    (sparse.csr_matrix([[np.inf, 1.0]]), "infinite"),
    (np.array([[np.nan, 1.0]]), "NaN"),
    (np.array([[np.inf, 1.0]]), "infinite"),
    (np.array([[1e200, 1.0]]), "<= 1e\\+150 in magnitude"),
    (np.array([[2**31, 1]]), "content must contain counts <= 2147483647, got 2147483648"),
    (np.array([[2**64 - 1, 1]], dtype=np.uint64), "must contain counts <= 2147483647"),
    (sparse.csr_matrix([[1e300, 1.0]]), "must contain counts <= 2147483647"),
    (
        [np.ones((1, 2)), np.ones((1, 3))],
        r"must contain vectors of one width, got 2 in content\[0\] and 3 in content\[1\]",
    ),
    ([np.ones((1, 2)), np.full((1, 2), np.nan)], "NaN"),
    (
        [np.ones((1, 2)), np.ones(2)],
        r"must be an array of shape \(number of tokens, width\), got 1 dimension\(s\)",
    ),
    ([np.ones(2), np.ones(3)], "different lengths"),
    ([[], []], "0 feature"),
    ([np.empty((0, 0))], "0 feature"),
    (np.empty((0, 3)), "at least one group"),
    (sparse.csr_matrix((0, 3)), "at least one group"),
    ([], "at least one group"),
    (np.empty((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required."),
    (sparse.csr_matrix((12, 0)), r"0 feature\(s\)"),
    (np.ones(3), "Reshape your data"),
    ([1.0, 2.0], "Reshape your data"),
    (np.array([[1j, 2.0]]), "Complex data not supported"),
    (sparse.csr_matrix([[1j, 2.0]]), "Complex data not supported"),
    (np.array([[{}, 1]], dtype=object), "content must contain numbers"),
    (np.array([["a", "b"]]), "content must contain numbers, got strings"),
    (np.array([["a", 1]], dtype=object), "content must contain numbers, got strings"),
    (["one text", "two"], "from_texts"),
    ([["one", "word"], ["two", "words"]], "from_tokens"),
    (np.zeros((1, 1, 1, 1)), "4-D"),
    ("a string", "content must be a list of texts, got a single text"),
    (3, "content must be a matrix of counts or a list of arrays, got int"),
    (None, "content must be a matrix of counts or a list of arrays, got NoneType"),
    (np.ma.array([[1, 2]], mask=[[0, 1]]), "masked"),
    (
        [[[1, 2], [3]], [[1]]],
        "must contain regular arrays",
    ),
    (np.array([[10**400, 1]], dtype=object), "not a number|too large"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_invalid_content_is_refused_in_one_sentence(content, message):
    with pytest.raises(InputError, match=message) as caught:
        Corpus(content)
    assert "\n" not in str(caught.value)


def test_an_invalid_sparse_matrix_is_refused():
    matrix = sparse.csr_matrix(COUNTS)
    matrix.indices[0] = 77
    with pytest.raises(InputError, match="not a valid sparse matrix"):
        Corpus(matrix)


def test_a_vocabulary_names_the_columns():
    corpus = Corpus(COUNTS, vocabulary=["ant", "bee", "cat"])
    assert corpus.vocabulary.tolist() == ["ant", "bee", "cat"]
    assert corpus.vocabulary.dtype == object
    assert Corpus(COUNTS).vocabulary.tolist() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (["a", "b"], r"vocabulary must have one name per word \(3\), got 2"),
        (["a", "b", "a"], "'a' twice"),
        ("abc", "list of names"),
        (5, "list of names"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(vocabulary, message):
    with pytest.raises(InputError, match=message):
        Corpus(COUNTS, vocabulary=vocabulary)


def test_vectors_have_no_vocabulary():
    with pytest.raises(InputError, match="vocabulary must be None if content contains vectors"):
        Corpus(COUNTS.astype(float), vocabulary=["a", "b", "c"])

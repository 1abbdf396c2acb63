"""Quality of topics by their top words: coherence (NPMI) and diversity."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.checks import check_integer
from mcsquared.errors import InputError
from mcsquared.posterior.tables import coherence, count_word_pairs


def count_codocuments(counts: sparse.spmatrix, top_words: ArrayLike) -> Int32s:
    """Count the groups that contain both words of each pair of top words of a topic.

    Parameters
    ----------
    counts : sparse matrix or array-like (n_groups, n_words)
        Word counts of each group; only whether a count is zero matters.
    top_words : int (n_topics, n_top)
        Indices of the words of each topic.

    Returns
    -------
    int32 (n_topics, n_top, n_top)
        The diagonal is the number of groups that contain the word.

    Examples
    --------
    >>> counts = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 1]])  # three groups, three words
    >>> mc2.evaluation.count_codocuments(counts, [[0, 1]])
    array([[[3, 2],
            [2, 2]]], dtype=int32)
    """
    words = _top_words(top_words)
    matrix = sparse.csr_matrix(counts)
    matrix.eliminate_zeros()
    if words.size and (words.min() < 0 or words.max() >= matrix.shape[1]):
        raise InputError(
            f"top_words must be between 0 and {matrix.shape[1] - 1}, "
            f"got {words.min()} to {words.max()}"
        )
    return count_word_pairs(matrix, words.astype(np.int32)).counts


def npmi_coherence(codocuments: ArrayLike, n_groups: int) -> Floats:
    """Return the coherence of each topic: mean normalised pointwise mutual information.

        NPMI(a, b) = log[ p(a, b) / (p(a) p(b)) ] / −log p(a, b),

    with probabilities as shares of groups, over the pairs of a topic's top words. It is 1 for
    words that occur only together, 0 for independent words and −1 for words that never co-occur.

    Parameters
    ----------
    codocuments : int (n_topics, n_top, n_top)
        From `count_codocuments`.
    n_groups : int
        Number of groups that were counted.

    Returns
    -------
    float64 (n_topics,)
        NaN for topics with fewer than two top words.

    Examples
    --------
    >>> counts = np.array([[1, 1, 0, 0], [2, 1, 0, 0], [0, 0, 1, 1], [0, 0, 3, 1]])
    >>> pairs = mc2.evaluation.count_codocuments(counts, [[0, 1], [0, 2]])
    >>> mc2.evaluation.npmi_coherence(pairs, n_groups=4).round(2)
    array([ 1., -1.])
    """
    pairs = np.asarray(codocuments)
    if pairs.ndim != 3 or pairs.shape[1] != pairs.shape[2]:
        raise InputError(f"codocuments must have shape (n_topics, n_top, n_top), got {pairs.shape}")
    check_integer("n_groups", n_groups, 1)
    if pairs.max(initial=0) > n_groups or pairs.min(initial=0) < 0:
        raise InputError(
            f"codocuments must be between 0 and n_groups ({n_groups}), "
            f"got {pairs.min()} to {pairs.max()}"
        )
    return coherence(pairs, n_groups)


def diversity(top_words: ArrayLike) -> float:
    """Return the share of distinct words among the top words of all topics, between 0 and 1.

    It is 1 if no two topics share a top word, and 1 / n_topics if all have the same top words; NaN
    without topics.

    Parameters
    ----------
    top_words : int (n_topics, n_top)
        Indices of the words of each topic.

    Examples
    --------
    >>> mc2.evaluation.diversity([[0, 1], [1, 2]])
    0.75
    """
    words = _top_words(top_words)
    return float(np.unique(words).size / words.size) if words.size else float("nan")


def _top_words(top_words: ArrayLike) -> Int64s:
    words = np.asarray(top_words)
    if words.ndim != 2 or (words.size and words.dtype.kind not in "iu"):
        raise InputError(
            "top_words must be word indices of shape (n_topics, n_top), "
            f"got shape {words.shape} and dtype {words.dtype}"
        )
    return words.astype(np.int64)

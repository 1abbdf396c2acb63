"""Whether the top words of topics occur together (NPMI), and whether topics differ (diversity)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mcsquared.errors import InputError

__all__ = ["count_codocuments", "diversity", "npmi_coherence"]


def count_codocuments(counts: sparse.spmatrix, top_words: ArrayLike) -> NDArray[np.int32]:
    """Count the groups that hold both of two top words of a topic.

    Parameters
    ----------
    counts : sparse (n_groups, n_words)
        Words of each group; only zero or not zero matters.
    top_words : int (n_topics, n_top)
        Indices of the words of each topic.

    Returns
    -------
    int32 (n_topics, n_top, n_top)
        The diagonal holds the number of groups with the word itself.
    """
    words = _top_words(top_words)
    matrix = sparse.csc_matrix(counts)
    if words.size and (words.min() < 0 or words.max() >= matrix.shape[1]):
        raise InputError(
            f"top_words holds {words.min()} to {words.max()},"
            f" but counts has {matrix.shape[1]} words"
        )
    used, position = np.unique(words, return_inverse=True)
    occurs = (matrix[:, used] != 0).astype(np.int32).tocsc()
    position = position.reshape(words.shape)
    together = np.empty((*words.shape, words.shape[1]), dtype=np.int32)
    for topic, columns in enumerate(position):
        chosen = occurs[:, columns]
        together[topic] = (chosen.T @ chosen).toarray()
    return together


def npmi_coherence(codocuments: ArrayLike, n_groups: int) -> NDArray[np.float64]:
    """Return the coherence of each topic: mean normalised pointwise mutual information.

        NPMI(a, b) = log[ p(a, b) / (p(a) p(b)) ] / −log p(a, b),

    with probabilities as shares of groups, over the pairs of a topic's top words. It is 1 for
    words that occur only together, 0 for independent ones and −1 for words that never meet.

    Parameters
    ----------
    codocuments : int (n_topics, n_top, n_top)
        From `count_codocuments`.
    n_groups : int
        Groups that were counted.

    Returns
    -------
    float64 (n_topics,)
        NaN for topics with fewer than two top words.
    """
    together = np.asarray(codocuments, dtype=np.float64)
    if together.ndim != 3 or together.shape[1] != together.shape[2]:
        raise InputError(
            f"codocuments has shape {together.shape}; (n_topics, n_top, n_top) is wanted"
        )
    if n_groups < 1 or together.max(initial=0.0) > n_groups or together.min(initial=0.0) < 0.0:
        raise InputError(f"codocuments must lie between 0 and n_groups, which is {n_groups}")
    first, second = np.triu_indices(together.shape[1], k=1)
    if first.size == 0:
        return np.full(len(together), np.nan)
    alone = np.diagonal(together, axis1=1, axis2=2) / n_groups
    joint = together[:, first, second] / n_groups
    expected = alone[:, first] * alone[:, second]

    score = np.full(joint.shape, -1.0)
    meets = joint > 0.0
    everywhere = joint == 1.0  # both words in all groups: they say nothing of each other
    usual = meets & ~everywhere
    score[usual] = np.log(joint[usual] / expected[usual]) / -np.log(joint[usual])
    score[everywhere] = 0.0
    return score.mean(axis=1)


def diversity(top_words: ArrayLike) -> float:
    """Return the share of different words among the top words of all topics, between 0 and 1.

    1 when no two topics share a top word; 1 / n_topics when all have the same ones.
    """
    words = _top_words(top_words)
    return float(np.unique(words).size / words.size) if words.size else float("nan")


def _top_words(top_words: ArrayLike) -> NDArray[np.int64]:
    words = np.asarray(top_words)
    if words.ndim != 2 or (words.size and words.dtype.kind not in "iu"):
        raise InputError(
            f"top_words has shape {words.shape} and type {words.dtype};"
            " word indices of shape (n_topics, n_top) are wanted"
        )
    return words.astype(np.int64)

"""Topic coherence: NPMI from the number of groups that contain both of two top words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class CoDocuments(NamedTuple):
    """The top words of each topic, and the number of groups that contain each pair of them.

    Parameters
    ----------
    words : int32 (n_topics, n_top)
        Word indices, most probable first.
    counts : int32 (n_topics, n_top, n_top)
        Groups with both words; the diagonal has the groups with the word itself.
    """

    words: NDArray[np.int32]
    counts: NDArray[np.int32]


def count_pairs(counts: sparse.csr_matrix, words: NDArray[np.int32]) -> CoDocuments:
    """Count the groups that contain both of two top words of a topic.

    Parameters
    ----------
    counts : csr_matrix (n_groups, n_words)
        Word counts of the training groups.
    words : int32 (n_topics, n_top)
    """
    used, column_of_word = np.unique(words, return_inverse=True)
    occurs = sparse.csc_matrix(counts[:, used])
    occurs.data = np.ones(len(occurs.data), np.int32)
    together = np.zeros((*words.shape, words.shape[1]), np.int32)
    for topic, columns in enumerate(column_of_word.reshape(words.shape)):
        chosen = occurs[:, columns]
        together[topic] = (chosen.T @ chosen).toarray()
    return CoDocuments(words, together)


def coherence(pairs: CoDocuments, n_groups: int, n_words: int) -> NDArray[np.float64]:
    """Return the mean normalised pointwise mutual information of each topic's top words.

        NPMI(a, b) = log[ p(a, b) / (p(a) p(b)) ] / −log p(a, b)

    with p the share of groups; −1 for words that never co-occur, 0 for words that are in all
    groups. NaN with fewer than two words.
    """
    together = pairs.counts[:, :n_words, :n_words] / n_groups
    first, second = np.triu_indices(together.shape[1], k=1)
    if len(first) == 0:
        return np.full(len(together), np.nan)
    alone = np.diagonal(together, axis1=1, axis2=2)
    both = together[:, first, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.log(both / (alone[:, first] * alone[:, second])) / -np.log(both)
    score = np.where(both == 0.0, -1.0, np.where(both == 1.0, 0.0, score))
    return score.mean(axis=1)

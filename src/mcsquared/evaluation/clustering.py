"""Agreement of a found clustering with the true classes of the same groups.

Labels can be of any type. All scores depend on the partitions only, not on the labels.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mcsquared.arrays import Int64s
from mcsquared.checks import check_choice
from mcsquared.errors import InputError
from mcsquared.posterior.consensus import contingency


class PairwiseScores(NamedTuple):
    """Precision, recall and F-score of pairs of groups in the same cluster.

    Examples
    --------
    >>> mc2.evaluation.pairwise_scores(["a", "a", "b"], [0, 0, 0]).recall
    1.0
    """

    precision: float
    recall: float
    f_score: float


def purity(truth: ArrayLike, found: ArrayLike) -> float:
    """Return the share of groups whose true class is the most frequent one of their cluster.

    It grows with the number of clusters, and is 1 if each group is its own cluster.

    Examples
    --------
    >>> mc2.evaluation.purity(["sea", "sea", "wood", "wood"], [0, 0, 0, 1])
    0.75
    """
    table = contingency(*_labels(truth, found))
    return float(table.max(axis=0).sum() / table.sum())


def nmi(truth: ArrayLike, found: ArrayLike, average: str = "arithmetic") -> float:
    """Return the normalised mutual information, between 0 and 1.

    Parameters
    ----------
    truth, found : array-like of shape (n_groups,)
    average : "arithmetic", "geometric", "min" or "max"
        Mean of the two entropies; the mutual information is divided by it.

    Examples
    --------
    >>> mc2.evaluation.nmi(["sea", "sea", "wood", "wood"], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import normalized_mutual_info_score

    check_choice("average", average, ("arithmetic", "geometric", "min", "max"))
    return float(normalized_mutual_info_score(*_labels(truth, found), average_method=average))


def rand_index(truth: ArrayLike, found: ArrayLike) -> float:
    """Return the share of pairs of groups on which both clusterings agree.

    Examples
    --------
    >>> mc2.evaluation.rand_index(["sea", "sea", "wood", "wood"], [0, 0, 0, 1])
    0.5
    """
    from sklearn.metrics import rand_score

    return float(rand_score(*_labels(truth, found)))


def adjusted_rand_index(truth: ArrayLike, found: ArrayLike) -> float:
    """Return the Rand index scaled so that independent clusterings have expectation 0.

    Examples
    --------
    >>> mc2.evaluation.adjusted_rand_index(["sea", "sea", "wood", "wood"], [0, 0, 0, 1])
    0.0
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_labels(truth, found)))


def pairwise_scores(truth: ArrayLike, found: ArrayLike) -> PairwiseScores:
    """Return precision, recall and F-score over pairs of groups.

    A pair is found if both groups are in one found cluster, and true if both are in one true
    class. A score of 0/0, without any true or any found pair, is defined as 1.

    Examples
    --------
    >>> precision, recall, f_score = mc2.evaluation.pairwise_scores(["a", "a", "b"], [0, 0, 0])
    >>> round(precision, 2), recall, f_score
    (0.33, 1.0, 0.5)
    """
    from sklearn.metrics import pair_confusion_matrix

    (_, only_found), (only_true, both) = pair_confusion_matrix(*_labels(truth, found)).tolist()
    precision = both / (both + only_found) if both + only_found else 1.0
    recall = both / (both + only_true) if both + only_true else 1.0
    if precision + recall == 0.0:
        return PairwiseScores(precision, recall, 0.0)
    return PairwiseScores(precision, recall, 2.0 * precision * recall / (precision + recall))


def pairwise_f_score(truth: ArrayLike, found: ArrayLike) -> float:
    """Return the harmonic mean of pairwise precision and recall (see `pairwise_scores`).

    Examples
    --------
    >>> mc2.evaluation.pairwise_f_score(["a", "a", "b"], [0, 0, 0])
    0.5
    """
    return pairwise_scores(truth, found).f_score


def variation_of_information(truth: ArrayLike, found: ArrayLike) -> float:
    """Return H(truth | found) + H(found | truth) in nats, a metric; 0 for equal partitions.

    Examples
    --------
    >>> mc2.evaluation.variation_of_information(["a", "a", "b"], [1, 1, 0])
    0.0
    """
    table = contingency(*_labels(truth, found)).tocoo()
    rows = np.asarray(table.sum(axis=1)).ravel()
    columns = np.asarray(table.sum(axis=0)).ravel()
    # Both logarithms are non-negative in every cell: there is no cancellation, and equal
    # partitions give exactly 0.
    distance = np.log(rows[table.row] / table.data) + np.log(columns[table.col] / table.data)
    return float((table.data * distance).sum() / table.data.sum())


def _labels(truth: ArrayLike, found: ArrayLike) -> tuple[Int64s, Int64s]:
    """Return both labellings as integers, after validation."""
    coded = []
    for name, labels in (("truth", truth), ("found", found)):
        array = np.asarray(labels)
        if array.ndim != 1:
            raise InputError(f"{name} must be one-dimensional, got shape {array.shape}")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"{name} must not contain missing labels, got NaN")
        if array.dtype.kind == "O":
            array = np.array([str(label) for label in array], dtype=str)
        coded.append(np.unique(array, return_inverse=True)[1].reshape(-1))
    if coded[0].size != coded[1].size:
        raise InputError(
            f"found must have as many labels as truth ({coded[0].size}), got {coded[1].size}"
        )
    if coded[0].size == 0:
        raise InputError("truth and found must have at least one label, got none")
    return coded[0], coded[1]

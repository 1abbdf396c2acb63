"""Match the topics of two draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.families import ConjugateFamily
from mcsquared.posterior.draws import ParameterDraw

Floats = NDArray[np.float64]


def match_topics(
    draw: ParameterDraw, reference: ParameterDraw, family: ConjugateFamily
) -> tuple[NDArray[np.int64], Floats]:
    """Return the topic of the reference matched to each topic of a draw, and their similarity.

    The assignment maximises the total similarity; unmatched topics have topic -1, similarity 0.

    Returns
    -------
    topic : int64 (n_topics,)
    similarity : float64 (n_topics,)
        From 0 (nothing in common) to 1 (equal).
    """
    from scipy.optimize import linear_sum_assignment

    similarity = topic_similarity(draw, reference, family)
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    # The assignment also pairs topics with nothing in common.
    alike = similarity[rows, columns] > 0.0
    rows, columns = rows[alike], columns[alike]
    topic = np.full(draw.n_topics, -1, np.int64)
    closeness = np.zeros(draw.n_topics)
    topic[rows], closeness[rows] = columns, similarity[rows, columns]
    return topic, closeness


def topic_similarity(
    draw: ParameterDraw, reference: ParameterDraw, family: ConjugateFamily
) -> Floats:
    """Return the similarity of the topics of two draws: float64 (n_topics, n_others).

    For words one minus the squared Hellinger distance of the observed shares, Σ_w √(p_w q_w); for
    vectors a Gaussian kernel of the distance of the means, in standard deviations of the means.
    """
    if sparse.issparse(draw.content_statistics):
        product = _root_shares(draw) @ _root_shares(reference).T
        return np.minimum(product.toarray(), 1.0)
    means, others = draw.content_means(family), reference.content_means(family)
    if not len(means) or not len(others):
        return np.zeros((len(means), len(others)))
    spread = np.concatenate([means, others]).std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    difference = (means[:, None, :] - others[None, :, :]) / scale
    return np.exp(-0.5 * np.square(difference).mean(axis=2))


def _root_shares(draw: ParameterDraw) -> sparse.csr_matrix:
    """Return the square root of each word's share of its topic, sparse."""
    counts = sparse.csr_matrix(draw.content_statistics, dtype=np.float64)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    shares = sparse.diags(1.0 / np.maximum(totals, 1.0)) @ counts
    return shares.sqrt().tocsr()

"""Report data of groups: probable clusters, topics, and positions on the maps."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Float32s, Floats, Int32s, Int64s
from mcsquared.corpus import Corpus, Words
from mcsquared.corpus.content import blocks_of_rows
from mcsquared.errors import InputError
from mcsquared.kernels.cpu.topic_table import TopicTable
from mcsquared.kernels.cpu.variational import fold_in_topics
from mcsquared.markup import shorten
from mcsquared.model.priors import vector_observations
from mcsquared.posterior import Posterior
from mcsquared.posterior.content import vector_likelihood
from mcsquared.posterior.membership import LikelyClusters
from mcsquared.prediction.groups import align
from mcsquared.prediction.parameters import word_table
from mcsquared.prediction.variational import full_table, n_passes
from mcsquared.report.layout import Discs, position_groups, topic_map
from mcsquared.report.packing import pack, pack_shares

TypicalGroups = list[list[tuple[int, float]]]  # (group, score) for each cluster or topic

N_TOPICS_OF_GROUP = 6
_MAX_NAME_LENGTH, _SHORT_NAME_LENGTH = 160, 70  # the shorter one if there are many groups
_MANY_GROUPS = 20_000
_LARGE = 1e9  # in place of an infinite λ: the tokens of a group do not change its topics
_FLOATS_PER_BATCH = 1 << 18  # in the largest table of a batch: 1 MB, which fits in the cache


def typical_groups(scores: Floats | Float32s, tokens: Int64s, limit: int) -> TypicalGroups:
    """Return the groups with the highest scores in each column; long groups win ties.

    ``scores`` is (n_groups, n_columns), ``tokens`` the length of each group.
    """
    lists = []
    # Short groups may consist of one topic by chance.
    reliability = tokens / (tokens + max(1.0, float(np.median(tokens)) / 4.0))
    for column in np.asarray(scores).T:
        weighted = column * reliability
        best = np.argpartition(-weighted, min(limit, len(weighted) - 1))[:limit]
        # The report lists the scores, so they must decrease.
        best = best[np.lexsort((best, -weighted[best], -np.round(column[best], 2)))]
        lists.append([(int(j), round(float(column[j]), 4)) for j in best if column[j] > 0])
    return lists


def group_data(
    posterior: Posterior,
    likely: LikelyClusters,
    discs: Discs,
    groups: Int64s,
    shares: Floats | Float32s,
    from_content: bool,
) -> dict[str, Any]:
    """Return the groups' part of the report, which lists ``groups``.

    ``shares`` are the topic shares of all groups, estimated from their content (``from_content``)
    or taken from their clusters.
    """
    labels, tokens = posterior.labels.astype(np.int64), posterior.tokens_per_group
    other = likely.second_choice(posterior.labels)
    points = position_groups(discs, labels, likely.confidence, other, np.log1p(tokens))
    limit = _SHORT_NAME_LENGTH if len(groups) > _MANY_GROUPS else _MAX_NAME_LENGTH
    top = _largest_columns(shares[groups, : posterior.n_listed_topics], N_TOPICS_OF_GROUP)
    data: dict[str, Any] = {
        "n": len(groups),
        "numbers": pack(groups) if len(groups) < posterior.n_groups else None,
        "names": [shorten(name, limit) for name in posterior.group_names[groups]],
        "cluster": pack(labels[groups]),
        "confidence": pack_shares(likely.confidence[groups]),
        "choice": pack(likely.choice[groups] + 1),
        "choice_probability": pack_shares(likely.probability[groups]),
        "tokens": pack(tokens[groups]),
        "topic": pack(top),
        "topic_share": pack_shares(np.take_along_axis(shares[groups], top, axis=1)),
        "group_shares": from_content,
        "maps": {"clusters": _packed_points(points[groups])},
    }
    if from_content:
        points = topic_map(shares[groups].astype(np.float64), posterior.seed % 2**31)
        data["maps"]["topics"] = _packed_points(points)
    return data


def _largest_columns(shares: NDArray[Any], limit: int) -> Int64s:
    """Return the columns with the largest entries of each row, largest first."""
    n_columns = shares.shape[1]
    best = np.tile(np.arange(n_columns), (len(shares), 1))
    if n_columns > limit:
        best = np.argpartition(-shares, limit - 1, axis=1)[:, :limit]
    order = np.argsort(-np.take_along_axis(shares, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1).astype(np.int64)


def _packed_points(points: Floats) -> dict[str, Any]:
    """Return coordinates as 16-bit integers, with the offset and scale to recover them."""
    low = points.min(axis=0)
    scale = float(np.ptp(points, axis=0).max()) or 1.0
    small = np.round((points - low) / scale * 65535.0).astype(np.uint16)
    x, y = small.T
    return {"x": pack(x), "y": pack(y), "low": low.tolist(), "scale": scale}


def group_topic_shares(posterior: Posterior, corpus: Corpus | None = None) -> Float32s:
    """Return the topic shares of the training groups: float32 (n_groups, n_topics).

    They are those of the representative draw, as in all other tables of topics; without a corpus,
    those of the groups' clusters. `MC2.transform` treats groups as new and sums over the clusters
    they may belong to, which takes minutes for large corpora; here the clusters are known.

    Topics are found by the kernel of `prediction.variational`, with the prior weights λ τ_k of the
    group's cluster k. If λ is infinite, the shares are the means of p(l_i = m | τ_k, w_i). Rows sum
    to 1. A group without tokens has the topic shares of its cluster.
    """
    draw = posterior.representative_draw
    weights = draw.topic_given_cluster()[:, posterior.topic_order].astype(np.float32)
    prior = weights[posterior.cluster_of_group[draw.index]]
    if corpus is None:
        return prior
    if corpus.n_groups != posterior.n_groups:
        raise InputError(
            f"corpus must have the {posterior.n_groups} training groups, got {corpus.n_groups}"
        )
    if not np.array_equal(corpus.tokens_per_group, posterior.tokens_per_group):
        raise InputError("corpus must have the training groups in order, got different lengths")
    corpus = align(posterior, corpus)
    result = prior.copy()
    if math.isinf(draw.lam) and isinstance(corpus.content, Words):
        _add_exact_shares(result, posterior, corpus.content.counts)
        return result
    scale = np.float32(_LARGE if math.isinf(draw.lam) else draw.lam)
    for groups, start, rows, counts, table in _batches(posterior, corpus):
        base = scale * prior[groups]
        expected, shared = np.empty_like(base), isinstance(corpus.content, Words)
        passes = np.full(len(base), 1)
        if not math.isinf(draw.lam):
            passes = n_passes(start, posterior.tokens_per_group[groups].astype(np.float64))
        fold_in_topics(start, rows, counts, table, base, passes, shared, expected)
        shares = expected if math.isinf(draw.lam) else expected + base
        total = shares.sum(axis=1, keepdims=True)
        np.divide(shares, total, out=result[groups], where=total > 0)
    return result


def _add_exact_shares(shares: Float32s, posterior: Posterior, counts: Any) -> None:
    """Replace the shares τ_k of groups with words by the means of p(l_i = m | τ_k, w_i)."""
    draw = posterior.representative_draw
    words = draw.content_means(posterior.priors.content)[posterior.topic_order]
    cluster_of_group = posterior.cluster_of_group[draw.index]
    sizes = np.asarray(counts.sum(axis=1)).ravel()
    for cluster in np.unique(cluster_of_group[sizes > 0]):
        groups = np.flatnonzero((cluster_of_group == cluster) & (sizes > 0))
        block = counts[groups]
        used = np.unique(block.indices)
        joint = shares[groups[0]][:, None] * words[:, used]
        given = joint / joint.sum(axis=0)
        shares[groups] = block[:, used] @ given.T / sizes[groups, None]


def _batches(
    posterior: Posterior, corpus: Corpus
) -> Iterator[tuple[slice, Int64s, Int32s, Float32s, TopicTable]]:
    """Yield groups with the bounds, rows and counts of their entries, and a table of likelihoods.

    An entry is a word of a group with its count, or one vector. All words are in one batch.
    """
    content: Any = corpus.content
    n_topics = posterior.n_topics
    if isinstance(content, Words):
        counts = content.counts
        statistics = posterior.representative_draw.content_statistics[posterior.topic_order]
        table = word_table(statistics, posterior.priors.content)
        occurrences = counts.data.astype(np.float32)
        start, rows = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
        yield slice(0, corpus.n_groups), start, rows, occurrences, table
        return
    observations: Any = vector_observations(corpus, posterior.priors.content)
    for first, last in blocks_of_rows(content.start, max(1, _FLOATS_PER_BATCH // max(n_topics, 1))):
        start = content.start[first : last + 1].astype(np.int64)
        likelihood = vector_likelihood(posterior, observations[start[0] : start[-1]])
        rows = np.arange(len(likelihood), dtype=np.int32)
        ones = np.ones(len(rows), np.float32)
        yield slice(first, last), start - start[0], rows, ones, full_table(likelihood)

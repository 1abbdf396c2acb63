"""Report data of groups: probable clusters, topics, and positions on the maps."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Float32s, Floats, Int64s
from mcsquared.corpus import Corpus, Words
from mcsquared.corpus.content import blocks_of_rows
from mcsquared.errors import InputError
from mcsquared.markup import shorten
from mcsquared.model.priors import vector_observations
from mcsquared.posterior import Posterior
from mcsquared.posterior.content import vector_likelihood
from mcsquared.posterior.membership import LikelyClusters
from mcsquared.posterior.tables import topic_given_group
from mcsquared.prediction.groups import align
from mcsquared.report.layout import Discs, place_groups, topic_map
from mcsquared.report.packing import pack, pack_shares

TypicalGroups = list[list[tuple[int, float]]]  # (group, score) for each cluster or topic

N_TOPICS_OF_GROUP = 6
_MAX_NAME_LENGTH, _SHORT_NAME_LENGTH = 160, 70  # the shorter one if there are many groups
_MANY_GROUPS = 20_000
_N_STEPS = 12  # steps of the fixed-point iteration
_FLOATS_PER_BATCH = 1 << 18  # in the largest table of a batch: 1 MB, which fits in the cache
_MIN_EVIDENCE = np.float32(1e-30)


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
    points = place_groups(discs, labels, likely.confidence, other, np.log1p(tokens))
    limit = _SHORT_NAME_LENGTH if len(groups) > _MANY_GROUPS else _MAX_NAME_LENGTH
    top = _largest_columns(shares[groups, : posterior.n_shown_topics], N_TOPICS_OF_GROUP)
    data: dict[str, Any] = {
        "n": len(groups),
        "numbers": pack(groups) if len(groups) < posterior.n_groups else None,
        "names": [shorten(name, limit) for name in posterior.group_names[groups]],
        "cluster": pack(labels[groups]),
        "confidence": pack_shares(likely.confidence[groups]),
        "choice": pack(likely.choice[groups] + 1),
        "choice_share": pack_shares(likely.share[groups]),
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

    Without a corpus, they are those of the groups' clusters, averaged over draws. `MC2.transform`
    treats groups as new and sums over the clusters they may belong to, which takes minutes for
    large corpora; for the training groups, a few fixed-point steps from the topic shares of their
    known clusters give the same result.

    With prior weights λ τ_k of the group's cluster k and tokens w, iterate

        θ_m  ∝  λ τ_km + Σ_i p(l_i = m | θ, w_i),    p(l_i = m | θ, w_i)  ∝  θ_m ψ_m(w_i)

    If λ is infinite, θ is τ_k and the shares are the means of p(l_i = m | τ_k, w_i). Rows sum to 1.
    A group without tokens has the topic shares of its cluster.
    """
    if corpus is None:
        total = topic_given_group(posterior, np.float32)
        sums = total.sum(axis=1, keepdims=True)
        return np.divide(total, sums, out=total, where=sums > 0)
    if corpus.n_groups != posterior.n_groups:
        raise InputError(
            f"corpus must have the {posterior.n_groups} training groups, got {corpus.n_groups}"
        )
    if not np.array_equal(corpus.tokens_per_group, posterior.tokens_per_group):
        raise InputError("corpus must have the training groups in order, got different lengths")
    corpus = align(posterior, corpus)
    draw = posterior.representative_draw
    weights = draw.topic_given_cluster()[:, posterior.topic_order].astype(np.float32)
    prior = weights[posterior.cluster_of_group[draw.index]]
    result = prior.copy()
    for groups, group, counts, likelihood in _batches(posterior, corpus):
        result[groups] = _fixed_point(prior[groups], draw.lam, group, counts, likelihood)
    return result


def _batches(
    posterior: Posterior, corpus: Corpus
) -> Iterator[tuple[slice, Int64s, Float32s, Float32s]]:
    """Yield the slice of groups of each batch, and the group, count and likelihood of each entry.

    An entry is a word of a group with its count, or one vector. Groups are numbered per batch.
    """
    content: Any = corpus.content
    words = isinstance(content, Words)
    start = content.counts.indptr if words else content.start
    n_topics = posterior.n_topics
    batch_size = max(1, _FLOATS_PER_BATCH // max(n_topics, 1))
    word_likelihood = np.ascontiguousarray(posterior.components.T, np.float32) if words else None
    observations: Any = None if words else vector_observations(corpus, posterior.priors.content)
    for first, last in blocks_of_rows(start, batch_size):
        entries = slice(int(start[first]), int(start[last]))
        group = np.repeat(np.arange(last - first), np.diff(start[first : last + 1]))
        if word_likelihood is not None:
            counts = content.counts.data[entries].astype(np.float32)
            likelihood = word_likelihood[content.counts.indices[entries]]
        else:
            counts = np.ones(len(group), np.float32)
            likelihood = vector_likelihood(posterior, observations[entries])
        if len(group):
            yield slice(first, last), group, counts, likelihood


def _fixed_point(
    prior: Float32s, lam: float, group: Int64s, counts: Float32s, likelihood: Float32s
) -> Float32s:
    """Return the shares of the groups of a batch; a group without entries keeps its prior."""
    n_groups = len(prior)
    entry = np.arange(len(group))
    sums = sparse.csr_matrix((counts.copy(), (group, entry)), shape=(n_groups, len(group)))
    tokens = np.asarray(sums.sum(axis=1), np.float32).reshape(-1, 1)
    infinite = not np.isfinite(lam)
    shares = prior
    for _ in range(1 if infinite else _N_STEPS):
        evidence = np.einsum("im,im->i", shares[group], likelihood)
        # Entries without support in any topic are ignored. Dividing the counts avoids a table of
        # normalised probabilities, which would take most of the time.
        has_evidence = evidence > _MIN_EVIDENCE
        sums.data = np.divide(counts, evidence, out=np.zeros_like(counts), where=has_evidence)
        expected_counts = shares * np.asarray(sums @ likelihood, np.float32)
        if infinite:
            shares = np.where(tokens > 0, expected_counts / np.maximum(tokens, 1.0), prior)
        else:
            shares = (np.float32(lam) * prior + expected_counts) / (np.float32(lam) + tokens)
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)

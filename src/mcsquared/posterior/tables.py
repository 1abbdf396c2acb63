"""Tables of topics, clusters and representative groups; coherence of topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.checks import check_integer
from mcsquared.errors import InputError
from mcsquared.posterior.consensus import contingency
from mcsquared.posterior.contexts import context_of, context_statistics
from mcsquared.posterior.membership import cluster_stability, group_confidence

if TYPE_CHECKING:
    from mcsquared.posterior.draws import ParameterDraw
    from mcsquared.posterior.posterior import Posterior


N_MAIN_TOPICS = 3  # of a cluster


def top_words(posterior: Posterior, n_words: int) -> Int32s:
    """Return the indices of each topic's most probable words: int32 (n_topics, n_words)."""
    probability = posterior.components
    n_words = min(n_words, probability.shape[1])
    top = np.empty((len(probability), n_words), np.int32)
    for row, weights in zip(top, probability, strict=True):  # row by row to save memory
        row[:] = np.argsort(-weights, kind="stable")[:n_words]
    return top


def topic_table(posterior: Posterior, n_words: int, names: list[str]) -> pd.DataFrame:
    """Return one row per topic; see `Posterior.topics`."""
    n_words = check_integer("n_words", n_words, 1)
    frame = pd.DataFrame({"topic": np.arange(posterior.n_topics), "name": names})
    frame["weight"], frame["n_tokens"] = token_share_of_topic(posterior), posterior.tokens_of_topic
    if posterior.vocabulary is None:
        means = posterior.components
        frame["mean"] = [np.array2string(mean, precision=4, separator=", ") for mean in means]
    else:
        words, pairs = top_words(posterior, n_words), posterior.codocument
        occurs = np.take_along_axis(posterior.words_in_topic, words.astype(np.int64), axis=1)
        frame["words"] = [
            ", ".join(posterior.vocabulary[row[in_topic]])
            for row, in_topic in zip(words, occurs, strict=True)
        ]
        n_top, n_groups = words.shape[1], posterior.n_groups
        counted = None if pairs is None else pairs.counts[:, :n_top, :n_top]
        frame["coherence"] = np.nan if counted is None else coherence(counted, n_groups)
        counts = np.bincount(words.ravel(), minlength=1)
        frame["diversity"] = (counts[words] == 1).mean(axis=1) if words.size else np.nan
        frame.attrs["diversity"] = float((counts > 0).sum() / words.size) if words.size else np.nan
    frame["stability"] = posterior.topic_stability
    return frame


def token_share_of_topic(posterior: Posterior) -> Floats:
    """Return each topic's share of all tokens: float64 (n_topics,)."""
    return posterior.tokens_of_topic / max(posterior.tokens_of_topic.sum(), 1)


def cluster_table(posterior: Posterior, names: list[str]) -> pd.DataFrame:
    """Return one row per cluster: its size, stability, main topics, and a value per context."""
    sizes = np.bincount(posterior.labels)
    table: dict[str, Any] = {
        "cluster": np.arange(posterior.n_clusters),
        "name": names,
        "n_groups": sizes,
        "n_tokens": posterior.tokens_of_cluster,
        "share": sizes / posterior.n_groups,
        "stability": cluster_stability(posterior, group_confidence(posterior)),
        "topics": list(map(_main_topics, posterior.token_shares)),
    }
    for name in posterior.priors.contexts:
        summary = _context_summary(posterior, name)
        if summary is not None:
            table[name if name not in table else f"{name}_context"] = summary
    return pd.DataFrame(table)


def _main_topics(shares: Floats) -> str:
    order = np.argsort(-shares, kind="stable")[:N_MAIN_TOPICS]
    return ", ".join(f"{topic} ({shares[topic]:.0%})" for topic in order)


def _context_summary(posterior: Posterior, name: str) -> Any:
    """Return the mean or the most probable value of a context in each cluster, if there is one."""
    column, family = context_of(posterior, name)
    statistics = context_statistics(posterior, name)
    mean = family.mean_observation(statistics)
    if mean is not None and column.categories is not None:
        return column.categories[mean.argmax(axis=1)] if column.n_categories else None
    if mean is None or mean.shape[1] != 1:
        return None
    return column.display(mean[:, 0])


def representative_groups(
    posterior: Posterior, topic: int | None, cluster: int | None, n_groups: int
) -> pd.DataFrame:
    """Return the groups most typical of a cluster or a topic: group, name, score, n_tokens."""
    if (topic is None) == (cluster is None):
        found = "neither" if topic is None else "both"
        raise InputError(
            f"representative_groups requires exactly one of topic and cluster, got {found}"
        )
    n_groups = check_integer("n_groups", n_groups, 1)
    if cluster is not None:
        _check_id("cluster", cluster, posterior.n_clusters)
        candidates = np.flatnonzero(posterior.labels == cluster)
        score = group_confidence(posterior)[candidates]
    else:
        _check_id("topic", topic, posterior.n_topics)
        candidates = np.arange(posterior.n_groups)
        by_draw = [
            weight * shares[posterior.cluster_of_group[draw.index], topic]
            for weight, draw, shares in aligned_shares(posterior)
        ]
        score = np.mean(by_draw, axis=0)
    tokens = posterior.tokens_per_group[candidates]
    order = np.lexsort((candidates, -tokens, -np.round(score, 12)))[:n_groups]
    chosen = candidates[order]
    names = posterior.group_names[chosen]
    table = {"group": chosen, "name": names, "score": score[order], "n_tokens": tokens[order]}
    return pd.DataFrame(table)


def _check_id(argument: str, value: Any, n: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < n:
        raise InputError(f"{argument} must be an integer in 0..{n - 1}, got {value!r}")


def align_topics(values: Floats, topic: Int64s, n_topics: int, fill: float = 0.0) -> Floats:
    """Map a draw's topics, the last axis, to the first ``n_topics`` of the posterior's topics.

    ``topic`` is the draw's entry of `Posterior.topic_alignment` or `counterparts`, -1 for unmatched
    topics, which are dropped. Topics without a match in the draw have the value ``fill``.
    """
    aligned = np.full((*values.shape[:-1], n_topics), fill)
    chosen = (topic >= 0) & (topic < n_topics)
    aligned[..., topic[chosen]] = values[..., chosen]
    return aligned


def aligned_shares(posterior: Posterior) -> Iterator[tuple[float, ParameterDraw, Floats]]:
    """Yield weight, draw and topic shares (draw.n_clusters, n_topics) of draws with parameters."""
    draws = (posterior.parameter_weights, posterior.parameters, posterior.topic_alignment)
    for weight, draw, topic in zip(*draws, strict=True):
        shares = align_topics(draw.topic_given_cluster(), topic, posterior.n_topics)
        yield float(weight), draw, shares


def topic_given_group(posterior: Posterior) -> Floats:
    """Return the topic shares of each group's clusters, averaged over draws: (n_groups, n_topics).

    Rows sum to less than 1 if topics of some draws are unmatched.
    """
    total = np.zeros((posterior.n_groups, posterior.n_topics))
    for weight, draw, shares in aligned_shares(posterior):
        total += weight * shares[posterior.cluster_of_group[draw.index]]
    return total / len(posterior.parameters)


def cluster_given_topic(posterior: Posterior) -> Floats:
    """Return each cluster's share of each topic's tokens: float64 (n_clusters, n_topics)."""
    tokens = posterior.tokens_of_cluster[:, None] * posterior.token_shares
    totals = tokens.sum(axis=0)
    uniform = np.full_like(tokens, 1.0 / max(posterior.n_clusters, 1))
    return np.divide(tokens, totals, out=uniform, where=totals > 0)


def token_weights(posterior: Posterior, draw: ParameterDraw) -> Floats:
    """Return the share of each consensus cluster's tokens in each cluster of a draw.

    For consensus clusters without tokens, groups are counted. Shape (n_clusters, draw.n_clusters).
    """
    empty = posterior.tokens_of_cluster == 0
    weight = np.where(empty[posterior.labels], 1.0, posterior.tokens_per_group)
    cluster_of_group = posterior.cluster_of_group[draw.index]
    both = contingency(posterior.labels, cluster_of_group, weight, draw.n_clusters).toarray()
    return both / both.sum(axis=1, keepdims=True)


class CoDocuments(NamedTuple):
    """The top words of each topic, and the number of groups that contain each pair of them."""

    words: Int32s  # indices, most probable first, (n_topics, n_top)
    counts: Int32s  # (n_topics, n_top, n_top); diagonal: groups with the word


def count_word_pairs(counts: sparse.csr_matrix, words: Int32s) -> CoDocuments:
    """Count the groups that contain both words of each pair of top words of a topic.

    ``counts`` are the word counts of the groups, ``words`` the top words: int32 (n_topics, n_top).
    """
    used, column_of_word = np.unique(words, return_inverse=True)
    occurs = sparse.csc_matrix(counts[:, used])
    occurs.data = np.ones(len(occurs.data), np.int32)
    pair_counts = np.zeros((*words.shape, words.shape[1]), np.int32)
    for topic, columns in enumerate(column_of_word.reshape(words.shape)):
        chosen = occurs[:, columns]
        pair_counts[topic] = (chosen.T @ chosen).toarray()
    return CoDocuments(words, pair_counts)


def coherence(counts: NDArray[Any], n_groups: int) -> Floats:
    """Return the mean NPMI of each topic's top words; see `mcsquared.evaluation.npmi_coherence`.

    ``counts`` are those of `CoDocuments`. Words that are in all groups have an NPMI of 0.
    """
    shares = counts / n_groups
    first, second = np.triu_indices(shares.shape[1], k=1)
    if len(first) == 0:
        return np.full(len(shares), np.nan)
    word_shares, pair_shares = np.diagonal(shares, axis1=1, axis2=2), shares[:, first, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(pair_shares / (word_shares[:, first] * word_shares[:, second])) / -np.log(
            pair_shares
        )
    npmi = np.where(pair_shares == 0.0, -1.0, np.where(pair_shares == 1.0, 0.0, npmi))
    return npmi.mean(axis=1)

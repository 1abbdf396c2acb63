"""Tables of topics, of clusters and of the groups that show them best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.families import Bag, Categorical
from mcsquared.posterior.codocuments import coherence
from mcsquared.posterior.contexts import context_of, context_statistics
from mcsquared.posterior.means import location, topic_given_draw_cluster

if TYPE_CHECKING:
    import pandas as pd

    from mcsquared.posterior.posterior import Posterior

__all__ = ["cluster_table", "membership", "representative_groups", "top_words", "topic_table"]

Floats = NDArray[np.float64]

_TOPICS_SHOWN = 3


def top_words(posterior: Posterior, n_words: int) -> NDArray[np.int32]:
    """Return the numbers of each topic's most probable words: int32 (n_topics, n_words)."""
    probability = posterior.components
    n_words = min(n_words, probability.shape[1])
    top = np.empty((len(probability), n_words), np.int32)
    for row, weights in zip(top, probability, strict=True):  # one by one: they may be very many
        row[:] = np.argsort(-weights, kind="stable")[:n_words]
    return top


def topic_table(posterior: Posterior, n_words: int) -> pd.DataFrame:
    """Return a row per topic: topic, weight, words or means, coherence, diversity, stability."""
    import pandas as pd

    _check_count("n_words", n_words)
    tokens = posterior.tokens_of_topic
    table: dict[str, Any] = {
        "topic": np.arange(posterior.n_topics),
        "weight": tokens / max(tokens.sum(), 1),
        "n_tokens": tokens,
    }
    if posterior.vocabulary is None:
        means = posterior.components
        table["mean"] = [np.array2string(mean, precision=4, separator=", ") for mean in means]
        table["stability"] = posterior.topic_stability
        return pd.DataFrame(table)
    words = top_words(posterior, n_words)
    table["words"] = [", ".join(posterior.vocabulary[row]) for row in words]
    table["coherence"] = _coherence(posterior, words.shape[1])
    counts = np.bincount(words.ravel(), minlength=1)
    table["diversity"] = (counts[words] == 1).mean(axis=1) if words.size else np.nan
    table["stability"] = posterior.topic_stability
    frame = pd.DataFrame(table)
    frame.attrs["diversity"] = float((counts > 0).sum() / words.size) if words.size else np.nan
    return frame


def _coherence(posterior: Posterior, n_words: int) -> Floats:
    if posterior.codocument is None:
        return np.full(posterior.n_topics, np.nan)
    return coherence(posterior.codocument, posterior.n_groups, n_words)


def cluster_table(posterior: Posterior) -> pd.DataFrame:
    """Return a row per cluster: its size, stability, main topics, and its contexts in one word."""
    import pandas as pd

    sizes = np.bincount(posterior.labels, minlength=posterior.n_clusters)
    table: dict[str, Any] = {
        "cluster": np.arange(posterior.n_clusters),
        "n_groups": sizes,
        "n_tokens": posterior.tokens_of_cluster,
        "share": sizes / posterior.n_groups,
        "stability": _cluster_stability(posterior),
        "topics": [_main_topics(row) for row in posterior.topic_given_cluster.to_numpy()],
    }
    for name in posterior.priors.contexts:
        summary = _summary(posterior, name)
        if summary is not None:
            table[name if name not in table else f"{name}_context"] = summary
    return pd.DataFrame(table)


def _main_topics(shares: Floats) -> str:
    order = np.argsort(-shares, kind="stable")[:_TOPICS_SHOWN]
    return ", ".join(f"{topic} ({shares[topic]:.0%})" for topic in order)


def _summary(posterior: Posterior, name: str) -> Any:
    """Return the mean or the most probable value of a context in each cluster, None: no such."""
    column, family = context_of(posterior, name)
    statistics = context_statistics(posterior, name)
    if isinstance(family, Categorical | Bag):
        best = family.mean_parameters(statistics).argmax(axis=1)
        if column.categories is None or len(column.categories) == 0:
            return None
        return column.categories[best]
    mean = location(family, statistics)
    if mean is None or mean.shape[1] != 1:
        return None
    return column.display(mean[:, 0])


def membership(posterior: Posterior) -> Floats:
    """Return how firmly each group belongs to its cluster: float64 (n_groups,).

    The mean share, over the draws, of the cluster's other groups that are together with it.
    """
    labels = posterior.labels
    sizes = np.bincount(labels)
    total = np.zeros(posterior.n_groups)
    for draw in posterior.cluster_of_group:
        pairs = labels.astype(np.int64) * (int(draw.max()) + 1) + draw
        _, inverse, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        total += counts[inverse] - 1
    others = np.maximum(sizes[labels] - 1, 1) * len(posterior.cluster_of_group)
    return np.where(sizes[labels] > 1, total / others, 1.0)


def _cluster_stability(posterior: Posterior) -> Floats:
    """Return the mean probability that two groups of a cluster are together."""
    labels = posterior.labels
    total = np.bincount(labels, weights=membership(posterior), minlength=posterior.n_clusters)
    return total / np.bincount(labels, minlength=posterior.n_clusters)


def representative_groups(
    posterior: Posterior, topic: int | None, cluster: int | None, n_groups: int
) -> pd.DataFrame:
    """Return the groups that show a cluster, or a topic, best: group, name, score, n_tokens."""
    import pandas as pd

    if (topic is None) == (cluster is None):
        raise InputError("representative_groups wants either a topic or a cluster")
    _check_count("n_groups", n_groups)
    if cluster is not None:
        _check_id("cluster", cluster, posterior.n_clusters)
        candidates = np.flatnonzero(posterior.labels == cluster)
        score = membership(posterior)[candidates]
    else:
        _check_id("topic", topic, posterior.n_topics)
        candidates = np.arange(posterior.n_groups)
        score = _topic_shares(posterior, int(topic))  # type: ignore[arg-type]
    tokens = posterior.tokens_per_group[candidates]
    order = np.lexsort((candidates, -tokens, -np.round(score, 12)))[:n_groups]
    chosen = candidates[order]
    return pd.DataFrame(
        {
            "group": chosen,
            "name": posterior.group_names[chosen],
            "score": score[order],
            "n_tokens": tokens[order],
        }
    )


def _topic_shares(posterior: Posterior, topic: int) -> Floats:
    """Return the share of a topic in each group's cluster, averaged over the aligned draws."""
    total = np.zeros(posterior.n_groups)
    for draw, aligned in zip(posterior.parameters, posterior.topic_alignment, strict=True):
        share = topic_given_draw_cluster(draw)[:, aligned == topic].sum(axis=1)
        total += share[posterior.cluster_of_group[draw.draw]]
    return total / len(posterior.parameters)


def _check_count(argument: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{argument} is {value!r}, but a whole number from 1 on is wanted")


def _check_id(argument: str, value: Any, n: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < n:
        raise InputError(f"{argument} is {value!r}, but a whole number from 0 to {n - 1} is wanted")


def token_weights(posterior: Posterior, labels: NDArray[np.int32], n_rows: int) -> Floats:
    """Return the share of each consensus cluster's tokens in each cluster of a draw.

    Groups without tokens count only in clusters where no group has any.
    """
    tokens = posterior.tokens_per_group.astype(np.float64)
    empty = posterior.tokens_of_cluster == 0
    weight = np.where(empty[posterior.labels], 1.0, tokens)
    both = sparse.coo_matrix(
        (weight, (posterior.labels, labels)), shape=(posterior.n_clusters, n_rows)
    ).toarray()
    return both / both.sum(axis=1, keepdims=True)

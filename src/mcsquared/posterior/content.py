"""What the groups of each cluster contain: their topics, and the words that most of them have."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from mcsquared.arrays import Bools, Float32s, Floats, Int32s, Int64s
from mcsquared.corpus import Corpus, Words
from mcsquared.families.numerics import indicator_matrix
from mcsquared.model.priors import vector_observations

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

N_LISTED_WORDS = 40  # of a cluster
N_ALTERNATIVES = 4  # words, one of which is in at least half of the groups of a cluster
_N_STEPS = 40  # of EM for the topic shares of a cluster
_MAX_ENTRIES = 50_000  # of a cluster in EM
_MIN_PROBABILITY = 1e-30
# An item is characteristic of a cluster if at least this many times as common there as overall.
MIN_LIFT = 1.1


class ClusterContent(NamedTuple):
    """Content of the clusters of the consensus, computed from their own groups."""

    topic_tokens: Floats  # expected tokens, (n_clusters, n_topics)
    words: Int32s  # characteristic of the groups of a cluster, (n_clusters, n_listed); -1: none
    n_groups: Int32s  # groups of the cluster with each of these words, (n_clusters, n_listed)
    alternatives: Int32s  # see `_alternatives`, (n_clusters, N_ALTERNATIVES); -1: none


def cluster_content(posterior: Posterior, corpus: Corpus) -> ClusterContent:
    """Return the content of each cluster, given the training corpus."""
    words = np.zeros((posterior.n_clusters, 0), np.int32)
    n_groups = words
    alternatives = no_alternatives(posterior.n_clusters)
    if isinstance(corpus.content, Words):
        counts = corpus.content.counts
        words, n_groups = common_items(posterior.labels, counts, N_LISTED_WORDS)
        n_with_word = np.bincount(counts.indices, minlength=counts.shape[1])
        for k, listed in enumerate(words):
            groups, listed = np.flatnonzero(posterior.labels == k), listed[listed >= 0]
            if len(listed) and 2 * n_groups[k].max() < len(groups):
                occurs = counts[groups][:, listed].toarray() > 0
                lift = occurs.mean(axis=0) * corpus.n_groups / n_with_word[listed]
                chosen = listed[_alternatives(occurs, lift)]
                alternatives[k, : len(chosen)] = chosen
    return ClusterContent(_topic_tokens(posterior, corpus), words, n_groups, alternatives)


def no_alternatives(n_clusters: int) -> Int32s:
    """Return the alternatives of clusters that have none."""
    return np.full((n_clusters, N_ALTERNATIVES), -1, np.int32)


def _alternatives(occurs: Bools, lift: Floats) -> list[int]:
    """Return a few words such that half of the groups contain one of them, or an empty list.

    The next word is that of most groups that contain none yet, weighted by the logarithm of its
    lift, or unweighted if that does not suffice. ``occurs`` is (n_groups, n_words).
    """
    for weight in (np.log(np.maximum(lift, 1.0)), (lift > MIN_LIFT).astype(float)):
        chosen: list[int] = []
        while len(chosen) < N_ALTERNATIVES:
            without = ~occurs[:, chosen].any(axis=1)
            chosen.append(int((occurs[without].sum(axis=0) * weight).argmax()))
            if 2 * occurs[:, chosen].any(axis=1).sum() >= len(occurs):
                return chosen
    return []


def common_items(labels: Int32s, counts: sparse.csr_matrix, limit: int) -> tuple[Int32s, Int32s]:
    """Return the items that characterise the groups of each cluster; a group counts once.

    Items have the largest p log(p / q), where p and q are the shares of the cluster's and of all
    groups that have the item. The item of most groups is always included. ``counts`` are (n_groups,
    n_items). Returns the items, -1 if there are fewer than ``limit``, and the number of the
    cluster's groups that have them: both int32 (n_clusters, limit).
    """
    sizes = np.bincount(labels)
    occurs = sparse.csr_matrix(
        (np.ones(len(counts.data), np.int32), counts.indices, counts.indptr), counts.shape
    )
    groups_with_item = sparse.csr_matrix(indicator_matrix(labels, len(sizes)) @ occurs)
    overall = np.asarray(groups_with_item.sum(axis=0)).ravel() / max(len(labels), 1)
    items = np.full((len(sizes), limit), -1, np.int32)
    n_groups = np.zeros((len(sizes), limit), np.int32)
    for k, size in enumerate(sizes):
        row = slice(groups_with_item.indptr[k], groups_with_item.indptr[k + 1])
        item, n_with_item = groups_with_item.indices[row], groups_with_item.data[row]
        if not len(item):
            continue
        share = n_with_item / max(size, 1)
        gain = share * np.log(share / overall[item])
        gain[share.argmax()] = np.inf
        best = np.lexsort((item, -gain))[:limit]
        items[k, : len(best)], n_groups[k, : len(best)] = item[best], n_with_item[best]
    return items, n_groups


def _topic_tokens(posterior: Posterior, corpus: Corpus) -> Floats:
    """Return the expected tokens of each topic in each cluster: (n_clusters, n_topics).

    The topic shares of a cluster maximise the likelihood of its tokens given the topics, by EM.
    """
    shares = posterior.token_shares
    tokens = posterior.tokens_of_cluster
    if isinstance(corpus.content, Words):
        table = sparse.csr_matrix(
            indicator_matrix(posterior.labels, posterior.n_clusters) @ corpus.content.counts
        )
        likelihood = np.ascontiguousarray(posterior.components.T, np.float32)
        for k, row in enumerate(pairwise(table.indptr)):
            entries = _thinned(*row)
            counts = table.data[entries].astype(np.float32)
            shares[k] = _mixture_shares(likelihood[table.indices[entries]], counts, shares[k])
    else:
        observations = vector_observations(corpus, posterior.priors.content)
        order = np.argsort(np.repeat(posterior.labels, posterior.tokens_per_group), kind="stable")
        for k, row in enumerate(pairwise(np.concatenate([[0], np.cumsum(tokens)]))):
            entries = order[_thinned(*row)]
            likelihood = vector_likelihood(posterior, observations[entries])
            shares[k] = _mixture_shares(likelihood, np.ones(len(entries), np.float32), shares[k])
    return tokens[:, None] * shares


def _thinned(first: int, last: int) -> Int64s:
    """Return entries first..last - 1, at most `_MAX_ENTRIES` of them, evenly spaced."""
    return np.arange(first, last, max(1, -(-(last - first) // _MAX_ENTRIES)))


def _mixture_shares(likelihood: Float32s, counts: Float32s, start: Floats) -> Floats:
    """Return the shares of a mixture that maximise the likelihood of counted entries."""
    if not len(counts) or not counts.any():
        return start
    # A share of zero would never grow.
    shares = (start + 1e-3 / len(start)).astype(np.float32)
    for _ in range(_N_STEPS):
        evidence = np.maximum(likelihood @ shares, _MIN_PROBABILITY)
        shares = shares * (likelihood.T @ (counts / evidence))
        shares /= max(float(shares.sum()), _MIN_PROBABILITY)
    return shares.astype(np.float64)


def vector_likelihood(posterior: Posterior, observations: Any) -> Float32s:
    """Return the density of vectors in every topic, up to a factor per row."""
    statistics = np.asarray(posterior.representative_draw.content_statistics)
    logs = posterior.priors.content.log_predictive(observations, statistics)
    logs = logs[:, posterior.topic_order]
    highest = logs.max(axis=1, keepdims=True, initial=-np.inf)
    return np.exp(logs - highest).astype(np.float32)

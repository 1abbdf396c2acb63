"""Topic shares of the training groups: from their content, or from the draws alone.

`MC2.transform` treats groups as new and sums over the clusters they may belong to, which takes
minutes for large corpora. For the training groups, a few fixed-point steps from the topic weights
of their known clusters give the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.corpus import Words
from mcsquared.errors import InputError
from mcsquared.posterior.tables import topic_given_group

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import Posterior

Floats32 = NDArray[np.float32]

N_STEPS = 12
_MAX_BATCH = 1 << 18  # numbers in the largest table of a batch: 1 MB, which fits in the cache
_MIN_PROBABILITY = np.float32(1e-30)


def shares_from_draws(posterior: Posterior) -> Floats32:
    """Return the topic shares of each group's clusters, averaged over draws; rows sum to 1."""
    total = topic_given_group(posterior, np.float32)
    sums = total.sum(axis=1, keepdims=True)
    return np.divide(total, sums, out=total, where=sums > 0)


def group_topic_shares(posterior: Posterior, corpus: Corpus) -> Floats32:
    """Return the topic shares of the content of the training groups.

    With prior weights λ τ_k of the group's cluster k and tokens w, iterate

        θ_m  ∝  λ τ_km + Σ_i p(l_i = m | θ, w_i),    p(l_i = m | θ, w_i)  ∝  θ_m ψ_m(w_i)

    If λ is infinite, θ is τ_k and the shares are the means of p(l_i = m | τ_k, w_i).

    Returns
    -------
    float32 (n_groups, n_topics)
        Rows sum to 1. A group without tokens has the topic weights of its cluster.
    """
    from mcsquared.prediction.alignment import align

    _check_same(posterior, corpus)
    corpus = align(posterior, corpus)
    draw = posterior.representative_draw
    weights = draw.topic_given_cluster()[:, posterior.topic_order].astype(np.float32)
    prior = weights[posterior.cluster_of_group[draw.draw]]
    result = prior.copy()
    for groups, group, counts, likelihood in _batches(posterior, corpus):
        result[groups] = _fixed_point(prior[groups], draw.lam, group, counts, likelihood)
    return result


def _check_same(posterior: Posterior, corpus: Corpus) -> None:
    if corpus.n_groups != posterior.n_groups:
        raise InputError(
            f"corpus must have the {posterior.n_groups} training groups, got {corpus.n_groups}"
        )
    if not np.array_equal(corpus.tokens_per_group, posterior.tokens_per_group):
        raise InputError(
            "corpus must have the training groups in the same order, got other group lengths"
        )


def _batches(
    posterior: Posterior, corpus: Corpus
) -> Iterator[tuple[slice, NDArray[np.int64], Floats32, Floats32]]:
    """Yield batches of groups; for their entries the group, the count, and ψ of every topic.

    An entry is a word of a group with its count, or one vector. Groups are relative to the batch.
    """
    content: Any = corpus.content
    words = isinstance(content, Words)
    start = content.counts.indptr if words else content.start
    n_topics = posterior.n_topics
    batch_size = max(1, _MAX_BATCH // max(n_topics, 1))
    psi = np.ascontiguousarray(posterior.components.T, np.float32) if words else None
    begin = 0
    while begin < corpus.n_groups:
        end = int(np.searchsorted(start, start[begin] + batch_size, side="right")) - 1
        end = min(max(end, begin + 1), corpus.n_groups)
        entries = slice(int(start[begin]), int(start[end]))
        group = np.repeat(np.arange(end - begin), np.diff(start[begin : end + 1]))
        if psi is not None:
            counts = content.counts.data[entries].astype(np.float32)
            likelihood = psi[content.counts.indices[entries]]
        else:
            counts = np.ones(len(group), np.float32)
            likelihood = _vector_likelihood(posterior, corpus, entries)
        if len(group):
            yield slice(begin, end), group, counts, likelihood
        begin = end


def _vector_likelihood(posterior: Posterior, corpus: Corpus, entries: slice) -> Floats32:
    """Return the density of vectors in every topic, up to a factor per row."""
    from mcsquared.model.priors import vector_observations

    family = posterior.priors.content
    observations = vector_observations(corpus, family)[entries]
    statistics = np.asarray(posterior.representative_draw.content_statistics)
    logs = family.log_predictive(observations, statistics)[:, posterior.topic_order]
    return np.exp(logs - logs.max(axis=1, keepdims=True)).astype(np.float32)


def _fixed_point(
    prior: Floats32, lam: float, group: NDArray[np.int64], counts: Floats32, likelihood: Floats32
) -> Floats32:
    """Return the shares of the groups of a batch; a group without entries keeps its prior."""
    from scipy import sparse

    n_groups = len(prior)
    entry = np.arange(len(group))
    sums = sparse.csr_matrix((counts.copy(), (group, entry)), shape=(n_groups, len(group)))
    tokens = np.asarray(sums.sum(axis=1), np.float32).reshape(-1, 1)
    infinite = not np.isfinite(lam)
    theta = prior
    for _ in range(1 if infinite else N_STEPS):
        evidence = np.einsum("im,im->i", theta[group], likelihood)
        # Entries without support in any topic are ignored. Dividing the counts avoids a table of
        # normalised probabilities, which would take most of the time.
        known = evidence > _MIN_PROBABILITY
        sums.data = np.divide(counts, evidence, out=np.zeros_like(counts), where=known)
        found = theta * np.asarray(sums @ likelihood, np.float32)
        if infinite:
            theta = np.where(tokens > 0, found / np.maximum(tokens, 1.0), prior)
        else:
            theta = (np.float32(lam) * prior + found) / (np.float32(lam) + tokens)
    return theta / np.maximum(theta.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)

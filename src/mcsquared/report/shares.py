"""Topic shares of each group of training, quickly: its cluster is known and held fixed.

`MC2.transform` treats groups as new and sums over the clusters they may belong to, which takes
minutes where there are many. For a page about the groups of the fit a few steps of a fixed point
from the topic weights of their own clusters say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.corpus import Words
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import Posterior

__all__ = ["own_shares"]

Floats32 = NDArray[np.float32]

N_STEPS = 12
_NUMBERS = 1 << 18  # in the largest table of a part: 1 MB, which the caches of a core hold
_LEAST = np.float32(1e-30)


def own_shares(posterior: Posterior, corpus: Corpus) -> Floats32:
    """Return the topic shares of the groups that the model was fitted to.

    With prior weights λ τ_k of the group's cluster k and tokens w, steps of

        θ_m  ∝  λ τ_km + Σ_i p(l_i = m | θ, w_i),    p(l_i = m | θ, w_i)  ∝  θ_m ψ_m(w_i)

    Where λ is infinite θ is τ_k, and the shares are the means of p(l_i = m | τ_k, w_i).

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
    for groups, place, counts, likelihood in _parts(posterior, corpus):
        result[groups] = _fixed_point(prior[groups], draw.lam, place, counts, likelihood)
    return result


def _check_same(posterior: Posterior, corpus: Corpus) -> None:
    if corpus.n_groups != posterior.n_groups:
        raise InputError(
            f"corpus has {corpus.n_groups} groups, but the model was fitted to {posterior.n_groups}"
        )
    if not np.array_equal(corpus.tokens_per_group, posterior.tokens_per_group):
        raise InputError(
            "corpus has groups of other lengths than those that the model was fitted to, "
            "but the same groups in the same order are wanted"
        )


def _parts(
    posterior: Posterior, corpus: Corpus
) -> Iterator[tuple[slice, NDArray[np.int64], Floats32, Floats32]]:
    """Yield groups, and for their entries the place of the group, how often, and ψ in every topic.

    An entry is a word of a group with its count, or one vector.
    """
    content: Any = corpus.content
    words = isinstance(content, Words)
    start = content.counts.indptr if words else content.start
    n_topics = posterior.n_topics
    most = max(1, _NUMBERS // max(n_topics, 1))
    psi = np.ascontiguousarray(posterior.components.T, np.float32) if words else None
    begin = 0
    while begin < corpus.n_groups:
        end = int(np.searchsorted(start, start[begin] + most, side="right")) - 1
        end = min(max(end, begin + 1), corpus.n_groups)
        entries = slice(int(start[begin]), int(start[end]))
        place = np.repeat(np.arange(end - begin), np.diff(start[begin : end + 1]))
        if psi is not None:
            counts = content.counts.data[entries].astype(np.float32)
            likelihood = psi[content.counts.indices[entries]]
        else:
            counts = np.ones(len(place), np.float32)
            likelihood = _of_vectors(posterior, corpus, entries)
        if len(place):
            yield slice(begin, end), place, counts, likelihood
        begin = end


def _of_vectors(posterior: Posterior, corpus: Corpus, entries: slice) -> Floats32:
    """Return the density of vectors in every topic, each row up to a factor."""
    from mcsquared.model.priors import vector_observations

    family = posterior.priors.content
    observations = vector_observations(corpus, family)[entries]
    statistics = np.asarray(posterior.representative_draw.content_statistics)
    logs = family.log_predictive(observations, statistics)[:, posterior.topic_order]
    return np.exp(logs - logs.max(axis=1, keepdims=True)).astype(np.float32)


def _fixed_point(
    prior: Floats32, lam: float, place: NDArray[np.int64], counts: Floats32, likelihood: Floats32
) -> Floats32:
    """Return the shares of a part's groups; a group without entries keeps its prior."""
    from scipy import sparse

    n_groups = len(prior)
    entry = np.arange(len(place))
    sums = sparse.csr_matrix((counts.copy(), (place, entry)), shape=(n_groups, len(place)))
    tokens = np.asarray(sums.sum(axis=1), np.float32).reshape(-1, 1)
    infinite = not np.isfinite(lam)
    theta = prior
    for _ in range(1 if infinite else N_STEPS):
        chance = np.einsum("im,im->i", theta[place], likelihood)
        # An entry that no topic of the group explains says nothing of them. Dividing the counts
        # spares a table of normalised chances, which would take most of the time.
        sums.data = np.divide(counts, chance, out=np.zeros_like(counts), where=chance > _LEAST)
        found = theta * np.asarray(sums @ likelihood, np.float32)
        if infinite:
            theta = np.where(tokens > 0, found / np.maximum(tokens, 1.0), prior)
        else:
            theta = (np.float32(lam) * prior + found) / (np.float32(lam) + tokens)
    return theta / np.maximum(theta.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)

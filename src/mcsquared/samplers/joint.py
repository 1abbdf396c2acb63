"""The joint density of assignments, data and weights: what the trace shows and tests compare with.

    log p(z, l, x, w, ε | α, v, η) =
        K log α + Σ_k ln Γ(n_k) + ln Γ(α) − ln Γ(α + J)
      + Σ_k Σ_contexts log marginal(x of the observed groups in k)
      + Σ_k [ ln Γ(v) − ln Γ(v + c_k) + Σ_m (ln Γ(v ε_m + c_km) − ln Γ(v ε_m)) ]
      + Σ_m log marginal(content of m)
      + M log η + (η − 1) log ε_new − Σ_m log ε_m

Base measures of the data are left out: they are the same for every assignment.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from mcsquared.kernels.cpu.tables import log_joint_of_words
from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.state import Counts, State

__all__ = ["log_joint"]


def log_joint(state: State, observations: Observations, priors: Priors) -> float:
    """Return log p(z, l, x, w, ε | α, v, η), up to the data's base measures."""
    counts = state.counts
    occupied = counts.groups_in_cluster > 0
    groups = counts.groups_in_cluster[occupied].astype(np.float64)
    alpha, n_groups = state.alpha, observations.n_groups
    total = len(groups) * math.log(alpha) + gammaln(groups).sum()
    total += gammaln(alpha) - gammaln(alpha + n_groups)
    total += _log_contexts(state, observations, occupied)
    if observations.n_tokens:
        total += _log_topics(state, counts, occupied) + _log_content(counts, observations, priors)
    return float(total)


def _log_contexts(state: State, observations: Observations, occupied: np.ndarray) -> float:
    counts, total = state.counts, 0.0
    start = observations.dense.stat_start
    for c, family in enumerate(observations.dense_families):
        statistics = counts.context_statistics[occupied, start[c] : start[c + 1]]
        total += float(family.log_marginal(statistics).sum())
    first = 0
    for family in observations.bag_families:
        categories = counts.category_counts[occupied, first : first + family.n_stats]
        total += float(family.log_marginal(categories.astype(np.float64)).sum())
        first += family.n_stats
    for generic in observations.generic_contexts:
        statistics = np.zeros((len(occupied), generic.family.n_stats))
        np.add.at(statistics, state.cluster_of_group, generic.statistics)
        total += float(generic.family.log_marginal(statistics[occupied]).sum())
    return total


def _log_topics(state: State, counts: Counts, occupied: np.ndarray) -> float:
    active = counts.tokens_in_topic > 0
    prior = state.v * state.topic_weights[active]
    held = counts.topics_in_cluster[occupied][:, active]
    tokens = counts.tokens_in_cluster[occupied]
    total = float((gammaln(state.v) - gammaln(state.v + tokens)).sum())
    total += float((gammaln(prior + held) - gammaln(prior)).sum())
    n_topics, eta = int(active.sum()), state.eta
    total += n_topics * math.log(eta) + (eta - 1.0) * float(state.log_unused[0])
    return total - float(np.log(state.topic_weights[active]).sum())


def _log_content(counts: Counts, observations: Observations, priors: Priors) -> float:
    active = counts.tokens_in_topic > 0
    if observations.n_words:
        beta, size = priors.content.kernel_parameters()
        tokens = counts.tokens_in_topic[active]
        total = float((gammaln(size * beta) - gammaln(size * beta + tokens)).sum())
        return total + float(log_joint_of_words(counts.words_in_topic, beta))
    return float(priors.content.log_marginal(counts.topic_statistics[active]).sum())

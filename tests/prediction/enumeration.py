"""Groups that vary inside their cluster, by summing over all clusters and topics."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from mcsquared.families import Categorical
from mcsquared.prediction.parameters import ModelParameters


@dataclass
class Sums:
    """What is known of one group, exactly."""

    probability: float  # p(w)
    cluster: np.ndarray  # p(z = k | w)
    topics: np.ndarray  # E[θ_m | w]


def summed(likelihood: np.ndarray, prior: np.ndarray, tau: np.ndarray, lam: float) -> Sums:
    """Sum p(z) p(l | z) p(w | l) over all z and l; ``likelihood`` is (n_tokens, n_topics)."""
    n_clusters, n_topics = tau.shape
    n_tokens = len(likelihood)
    cluster, topics = np.zeros(n_clusters), np.zeros(n_topics)
    for k in range(n_clusters):
        for labels in product(range(n_topics), repeat=n_tokens):
            counts = np.zeros(n_topics)
            weight = prior[k]
            for i, m in enumerate(labels):
                weight *= (counts[m] + lam * tau[k, m]) / (i + lam) * likelihood[i, m]
                counts[m] += 1
            cluster[k] += weight
            topics += weight * (counts + lam * tau[k]) / (n_tokens + lam)
    total = cluster.sum()
    return Sums(total, cluster / total, topics / total)


def small_parameters(
    lam: float, n_words: int = 4, seed: int = 0, key: tuple = (1, 2)
) -> ModelParameters:
    """Three clusters, the last of them new, and three topics, the last of them unused."""
    rng = np.random.default_rng(seed)
    return ModelParameters(
        log_weight_of_cluster=np.log([0.5, 0.3, 0.2]),
        log_topic_given_cluster=np.log(
            [[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.3, 0.4]],
        ),
        content_parameters=np.log(rng.dirichlet(np.full(n_words, 0.5), 3)),
        family=Categorical(0.5, size=n_words),
        n_clusters=2,
        n_topics=2,
        lam=lam,
        key=key,
    )

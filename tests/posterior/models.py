"""Small posteriors with every kind of context, for words and for vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from mcsquared.corpus import Corpus, Words
from mcsquared.model.priors import Priors, vector_observations
from mcsquared.posterior import ParameterDraw, Posterior

N_CLUSTERS, N_TOPICS, N_WORDS = 3, 4, 12


def all_contexts(rng: np.random.Generator, truth: np.ndarray) -> dict[str, Any]:
    """Return one context of each kind that distinguishes the clusters, with missing values."""
    n = len(truth)
    year = 2000.0 + 5 * truth + rng.normal(size=n)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * truth + rng.integers(0, 20, n), "D")
    contexts: dict[str, Any] = {
        "year": np.where(rng.random(n) < 0.1, np.nan, year),
        "day": day,
        "place": [None if j % 7 == 0 else f"place{k}" for j, k in enumerate(truth)],
        "tags": [[f"tag{k}", "common"] if j % 5 else [] for j, k in enumerate(truth)],
        "flag": [bool(k == 0) for k in truth],
        "where": np.column_stack([truth * 3.0, -truth * 1.0]) + rng.normal(size=(n, 2)),
        "visits": rng.poisson(2 + 5 * truth),
    }
    return contexts


def make_posterior(
    seed: int = 0,
    n_groups: int = 30,
    n_draws: int = 12,
    vectors: bool = False,
    noise: float = 0.1,
    contexts: bool = True,
    lam: float = np.inf,
) -> tuple[Posterior, Corpus, np.ndarray]:
    """Return a posterior whose draws vary around a known partition, with its corpus."""
    rng = np.random.default_rng(seed)
    truth = np.sort(np.arange(n_groups) % N_CLUSTERS)
    tokens = rng.integers(5, 15, n_groups)
    tokens[0] = 0
    share = 0.1 + 10 * np.eye(N_CLUSTERS, N_TOPICS)
    share /= share.sum(axis=1, keepdims=True)
    topic = [rng.choice(N_TOPICS, n, p=share[k]) for n, k in zip(tokens, truth, strict=True)]
    columns = all_contexts(rng, truth) if contexts else None
    if vectors:
        content: Any = [3.0 * t[:, None] + rng.normal(size=(len(t), 2)) for t in topic]
        content[0] = np.zeros((0, 2))
    else:
        words = [3 * t + rng.integers(0, 3, len(t)) for t in topic]
        content = np.array([np.bincount(w, minlength=N_WORDS) for w in words])
    vocabulary = None if vectors else [f"wört{w}" for w in range(N_WORDS)]
    corpus = Corpus(content, columns, vocabulary=vocabulary)
    families = {name: column.default_family() for name, column in corpus.contexts.items()}
    if contexts:
        families["visits"] = "poisson"
    priors = Priors.for_corpus(corpus, contexts=families)
    draws, parameters = [], []
    for t in range(n_draws):
        z = np.where(rng.random(n_groups) < noise, rng.integers(0, N_CLUSTERS, n_groups), truth)
        z[:N_CLUSTERS] = np.arange(N_CLUSTERS)  # no cluster is empty
        z = rng.permutation(N_CLUSTERS)[z].astype(np.int32)
        draws.append(z)
        if t % 3 == 0:
            names = rng.permutation(N_TOPICS)
            parameters.append(_parameters(t, z, topic, names, corpus, priors, lam))
    posterior = Posterior(
        priors=priors,
        group_names=corpus.group_names,
        vocabulary=None if vectors else corpus.vocabulary,
        contexts=priors.columns(corpus),
        tokens_per_group=corpus.tokens_per_group,
        cluster_of_group=np.array(draws, np.int32),
        chain_of_draw=np.repeat(np.array([0, 1], np.int32), [n_draws // 2, n_draws - n_draws // 2]),
        sweep_of_draw=np.arange(n_draws, dtype=np.int32),
        trace=make_trace(rng, n_draws),
        parameters=parameters,
        word_frequency=None if vectors else np.asarray(content.sum(axis=0), np.int64),
        document_frequency=None if vectors else np.asarray((content > 0).sum(axis=0), np.int64),
        seed=seed,
        notes=["a note"],
        source={"text": "abstract"},
    )
    if isinstance(corpus.content, Words):
        posterior.attach_codocuments(corpus.content.counts)
        posterior.attach_content(corpus)
    return posterior, corpus, truth


def make_trace(rng: np.random.Generator, n_draws: int, thin: int = 5) -> pd.DataFrame:
    """Return a trace of two chains with 20 sweeps of burn-in."""
    n_sweeps = 20 + thin * (n_draws // 2)
    parts = []
    for chain in range(2):
        sweep = np.arange(1, n_sweeps + 1)
        parts.append(
            pd.DataFrame(
                {
                    "sweep": sweep,
                    "chain": chain,
                    "kept": (sweep > 20) & ((sweep - 20) % thin == 0),
                    "n_clusters": rng.integers(2, 5, n_sweeps),
                    "n_topics": rng.integers(3, 6, n_sweeps),
                    "log_joint": rng.normal(-1000, 10, n_sweeps),
                    "alpha": rng.gamma(1, 1, n_sweeps),
                    "v": rng.gamma(1, 10, n_sweeps),
                    "eta": 1.0,
                    "lam": np.inf,
                    "seconds": 0.01,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _parameters(
    draw: int,
    z: np.ndarray,
    topic: list[np.ndarray],
    names: np.ndarray,
    corpus: Corpus,
    priors: Priors,
    lam: float,
) -> ParameterDraw:
    """Return the counts of a draw in which topic m has the label ``names[m]``."""
    flat = names[np.concatenate(topic)]
    cluster = np.repeat(z, [len(row) for row in topic])
    table = np.zeros((N_CLUSTERS, N_TOPICS), np.int32)
    np.add.at(table, (cluster, flat), 1)
    content: Any
    if isinstance(corpus.content, Words):
        words = np.arange(N_WORDS)
        content = np.zeros((N_TOPICS, N_WORDS), np.int32)
        # Topic m generates the words 3m, 3m + 1 and 3m + 2.
        content[names[words // 3], words] = np.asarray(corpus.content.counts.sum(axis=0)).ravel()
        content = sparse.csr_matrix(content)
    else:
        x = vector_observations(corpus, priors.content)
        content = priors.content.statistics_by_cluster(x, flat, N_TOPICS)
    weights = np.full(N_TOPICS, 0.9 / N_TOPICS)
    concentrations = {"alpha": 1.0, "v": 2.0, "eta": 1.5, "lam": lam}
    return ParameterDraw(
        index=draw,
        topics_in_cluster=sparse.csr_matrix(table),
        content_statistics=content,
        topic_weights=weights,
        unused_weight=0.1,
        **concentrations,
        # One table for every three tokens, and for a remainder.
        tables_in_cluster=None if np.isinf(lam) else sparse.csr_matrix((table + 2) // 3),
    )

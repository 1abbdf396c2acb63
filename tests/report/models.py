"""Models for reports: public data sets if available, hostile names, very many groups."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mcsquared as mc2
from mcsquared.corpus import Column, Corpus
from mcsquared.model.priors import Priors
from mcsquared.posterior import ParameterDraw, Posterior

ROOT = Path(__file__).resolve().parents[2]

# Each would have an effect if it were interpreted as markup, script or a template.
HOSTILE = (
    "<script>window.harmed = 1</script>",
    "</script><script>window.harmed = 2</script>",
    "<img src=x onerror='window.harmed = 3'>",
    "\"><svg onload='window.harmed = 4'>",
    "' onmouseover='window.harmed = 5' x='",
    "<!--<script>",
    "]]><style>body { display: none }</style>",
    "javascript:window.harmed=6",
    "={{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;&amp;",
    "two\u2028lines\u2029here",
    "@${window.harmed = 7}`",
    "\\u003cscript\\u003e",
    "half \ud800 a pair",
)


def set_folder() -> str:
    """Return the folder of the data sets: MCSQUARED_DATA, or shared/data next to the checkout."""
    return os.environ.get("MCSQUARED_DATA") or str(ROOT.parent / "shared" / "data")


def load(name: str, n_groups: int) -> Corpus:
    """Return the first groups of a public data set, or skip the test."""
    try:
        corpus = getattr(mc2.datasets, f"load_{name}")(set_folder()).corpus
    except mc2.InputError as error:
        pytest.skip(f"a data set is missing: {error}")
    return corpus[np.arange(min(n_groups, corpus.n_groups))]


def fitted(corpus: Corpus, **options: Any) -> mc2.MC2:
    """Return a model after very few sweeps."""
    settings: dict[str, Any] = {"n_sweeps": 12, "burn_in": 4, "thin": 2, "max_topics": 12}
    model = mc2.MC2(random_state=0, progress=False, **{**settings, **options})
    with warnings.catch_warnings():
        # The bound is meant to be reached, so that the report mentions it.
        warnings.filterwarnings("ignore", "max_topics=12 was reached")
        return model.fit(corpus)


def hostile_corpus() -> Corpus:
    """Return groups, words, contexts and values whose names contain markup."""
    rng = np.random.default_rng(0)
    n = 4 * len(HOSTILE)
    names = [HOSTILE[j % len(HOSTILE)] + (f" {j}" if j >= len(HOSTILE) else "") for j in range(n)]
    counts = rng.poisson(1.0, (n, len(HOSTILE))) + np.eye(n, len(HOSTILE), dtype=int)
    contexts = {
        HOSTILE[2]: [HOSTILE[j % 5] for j in range(n)],
        HOSTILE[1]: [[HOSTILE[j % 14], HOSTILE[(j + 3) % 14]] for j in range(n)],
        HOSTILE[3]: rng.normal(size=n),
    }
    return Corpus(counts, contexts, group_names=names, vocabulary=list(HOSTILE))


def large_posterior(n_groups: int) -> Posterior:
    """Return a posterior of very many groups in 120 clusters, with three contexts."""
    rng = np.random.default_rng(0)
    n_clusters, n_topics, n_words, n_draws = 120, 80, min(10_000, n_groups // 2), 60
    truth = np.sort(rng.choice(n_clusters, n_groups, p=rng.dirichlet(np.full(n_clusters, 2.0))))
    order = np.argsort(-np.bincount(truth, minlength=n_clusters), kind="stable")
    rank = np.empty(n_clusters, np.int64)
    rank[order] = np.arange(n_clusters)
    truth = rng.permutation(rank[truth])
    rows = np.repeat(np.arange(n_groups), 4)
    tags = (np.repeat(truth, 4) * 30 + rng.integers(0, 60, len(rows))) % 4000
    matrix = sparse.csr_matrix((np.ones(len(rows), np.int32), (rows, tags)), (n_groups, 4000))
    contexts = {
        "year": Column("year", "number", 1980 + truth % 40 + rng.normal(0, 3, n_groups)),
        "place": _named("place", "category", ((truth * 3) % 200).astype(np.int32), 200),
        "tags": _named("tags", "bag", matrix, 4000),
    }
    names = np.array([f"record {j} of ward {truth[j]}" for j in range(n_groups)], dtype=object)
    words = sparse.csr_matrix((n_groups, n_words), dtype=np.int32)
    vocabulary = [f"word{w}" for w in range(n_words)]
    corpus = Corpus(words, contexts, group_names=names, vocabulary=vocabulary)
    priors = replace(Priors.for_corpus(corpus), lam=10.0)
    moved = rng.random((n_draws, n_groups)) < 0.1
    draws = np.where(moved, (truth + rng.integers(1, 3, (n_draws, n_groups))) % n_clusters, truth)
    topics = rng.dirichlet(np.full(n_words, 0.02), n_topics)
    posterior = Posterior(
        priors=priors,
        group_names=names,
        vocabulary=corpus.vocabulary,
        contexts=priors.columns(corpus),
        tokens_per_group=rng.integers(50, 500, n_groups),
        cluster_of_group=draws.astype(np.int32),
        chain_of_draw=np.zeros(n_draws, np.int32),
        sweep_of_draw=np.arange(n_draws, dtype=np.int32),
        trace=_trace(rng, n_clusters, n_topics),
        parameters=[_draw(rng, d, n_clusters, topics) for d in range(0, n_draws, 12)],
        word_frequency=np.full(n_words, 50),
        document_frequency=np.full(n_words, 40),
    )
    # The consensus is stored in a model file; a report does not compute it.
    posterior.__dict__["labels"] = truth.astype(np.int32)
    return posterior


def _named(name: str, kind: str, values: Any, n: int) -> Column:
    return Column(name, kind, values, np.array([f"{name} {i}" for i in range(n)], dtype=object))


def _trace(rng: np.random.Generator, n_clusters: int, n_topics: int) -> pd.DataFrame:
    n = 300
    return pd.DataFrame(
        {
            "sweep": np.arange(n),
            "chain": 0,
            "kept": np.arange(n) >= 60,
            "n_clusters": n_clusters,
            "n_topics": n_topics,
            "log_joint": rng.normal(size=n),
            "alpha": rng.gamma(1, 1, n),
            "seconds": 1.0,
        }
    )


def _draw(rng: np.random.Generator, draw: int, n_clusters: int, topics: Any) -> ParameterDraw:
    n_topics = len(topics)
    tokens = rng.poisson(rng.gamma(0.2, 2000.0, (n_clusters, n_topics))) + 1
    weights = rng.dirichlet(np.ones(n_topics + 1))
    return ParameterDraw(
        index=draw,
        topics_in_cluster=sparse.csr_matrix(tokens.astype(np.int32)),
        content_statistics=sparse.csr_matrix(rng.poisson(topics * 50_000).astype(np.int32)),
        topic_weights=weights[:-1],
        unused_weight=float(weights[-1]),
        alpha=1.0,
        v=10.0,
        eta=1.0,
        lam=10.0,
        tables_in_cluster=sparse.csr_matrix(((tokens + 8) // 9).astype(np.int32)),
    )

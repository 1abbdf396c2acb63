"""Fit and score MC2 and topic models, as all experiments on real data do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import mcsquared as mc2

from .running import Setting

__all__ = ["COLUMNS", "LAMS", "agreement", "fit_mc2", "fit_topics", "perplexities", "sizes"]

# λ = ∞ is the paper's model; "learnt" is the default, in which groups vary within their cluster.
LAMS: dict[str, Any] = {"inf": float("inf"), "learnt": mc2.Gamma(1, 0.1)}
N_SWEEPS, BURN_IN = 600, 100
# In the order of the tables; every row starts with all of them, so that the order does not depend
# on the first model.
COLUMNS = dict.fromkeys(
    ("exact", "exact_few", "left_to_right", "completion", "printed", "n_clusters", "n_topics")
)


def fit_mc2(
    corpus: mc2.Corpus,
    contexts: Mapping[str, str],
    lam: str,
    seed: int,
    setting: Setting,
    n_sweeps: int = N_SWEEPS,
    burn_in: int = BURN_IN,
    **options: Any,
) -> mc2.MC2:
    """Return a fitted MC2 that uses these contexts; an empty mapping means no contexts."""
    model = mc2.MC2(
        contexts=dict(contexts),
        lam=LAMS[lam],
        n_sweeps=setting.sweeps(n_sweeps),
        burn_in=setting.sweeps(burn_in),
        n_jobs=setting.n_jobs,
        random_state=seed,
        progress=False,
        **options,
    )
    return model.fit(corpus)


def fit_topics(
    model_class: Any,
    corpus: mc2.Corpus,
    seed: int,
    setting: Setting,
    **options: Any,
) -> Any:
    """Return a fitted topic model without clusters: `HDP`, `NPTOT` or the like."""
    model = model_class(
        n_sweeps=setting.sweeps(N_SWEEPS),
        burn_in=setting.sweeps(BURN_IN),
        random_state=seed,
        progress=False,
        **options,
    )
    return model.fit(corpus)


def sizes(model: Any) -> dict[str, float]:
    """Return the numbers of clusters and topics in use, averaged over the stored draws."""
    trace = model.posterior_.trace if isinstance(model, mc2.MC2) else model.trace_
    stored = trace[trace["kept"]]
    names = [name for name in ("n_clusters", "n_topics") if name in stored]
    return {name: float(stored[name].mean()) for name in names}


def perplexities(model: Any, held_out: mc2.Corpus, n_few: int) -> dict[str, float]:
    """Return every perplexity of held-out words that the model supports, without contexts.

    ``exact`` and ``left_to_right`` are the same probability of whole groups, computed or estimated.
    The estimate is slow, so it uses ``n_few`` of the groups; ``exact_few`` is comparable with it.
    """
    # Evenly spaced, because a split keeps the order of the groups, which is often chronological.
    spaced = np.linspace(0, held_out.n_groups - 1, min(n_few, held_out.n_groups))
    few = held_out[spaced.round().astype(int)]
    methods = {"completion": ("completion", held_out)}
    if isinstance(model, mc2.MC2) and model.lam == LAMS["inf"]:
        methods |= {
            "exact": ("exact", held_out),
            "exact_few": ("exact", few),
            "printed": ("printed", held_out),
        }
    else:
        methods["left_to_right"] = ("left_to_right", few)
    return {name: model.perplexity(groups, method) for name, (method, groups) in methods.items()}


def agreement(truth: Any, found: Any) -> dict[str, float]:
    """Return the number of clusters found, and the paper's four measures of agreement."""
    score = mc2.evaluation
    return {
        "n_clusters": len(np.unique(found)),
        "purity": score.purity(truth, found),
        "nmi": score.nmi(truth, found),
        "rand_index": score.rand_index(truth, found),
        "f_score": score.pairwise_f_score(truth, found),
    }

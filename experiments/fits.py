"""Fit MC2 and the topic models, and score them, in the way that all experiments on real data do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import mcsquared as mc2

from .running import Setting

__all__ = ["COLUMNS", "LAMS", "agreement", "fit_mc2", "fit_topics", "perplexities", "sizes"]

# λ = ∞ is the paper's model; "learnt" is our default, in which groups vary inside their cluster.
LAMS: dict[str, Any] = {"inf": float("inf"), "learnt": mc2.Gamma(1, 0.1)}
N_SWEEPS, BURN_IN = 600, 100
# In the order of the tables; rows begin with all of them, so that this order does not depend on
# which model comes first.
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
    """Return a fitted MC2 that uses these contexts, none where the mapping is empty."""
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
    kind: Any,
    corpus: mc2.Corpus,
    seed: int,
    setting: Setting,
    **options: Any,
) -> Any:
    """Return a fitted topic model without clusters: `HDP`, `NPTOT` or the like."""
    model = kind(
        n_sweeps=setting.sweeps(N_SWEEPS),
        burn_in=setting.sweeps(BURN_IN),
        random_state=seed,
        progress=False,
        **options,
    )
    return model.fit(corpus)


def sizes(model: Any) -> dict[str, float]:
    """Return the numbers of clusters and topics in use, averaged over the kept draws."""
    trace = model.posterior_.trace if isinstance(model, mc2.MC2) else model.trace_
    kept = trace[trace["kept"]]
    names = [name for name in ("n_clusters", "n_topics") if name in kept]
    return {name: float(kept[name].mean()) for name in names}


def perplexities(model: Any, held_out: mc2.Corpus, n_few: int) -> dict[str, float]:
    """Return every perplexity of held-out words that the model has; contexts are not used.

    ``exact`` and ``left_to_right`` are the same probability, of whole groups, where it is a sum
    and where it must be estimated. The estimate takes long, so it is for ``n_few`` of the groups,
    and ``exact_few`` is there to compare it with.
    """
    # Evenly spaced, because a split keeps the order of the groups, which often is that of time.
    spaced = np.linspace(0, held_out.n_groups - 1, min(n_few, held_out.n_groups))
    few = held_out[spaced.round().astype(int)]
    asked = {"completion": ("completion", held_out)}
    if isinstance(model, mc2.MC2) and model.lam == LAMS["inf"]:
        asked |= {
            "exact": ("exact", held_out),
            "exact_few": ("exact", few),
            "printed": ("printed", held_out),
        }
    else:
        asked["left_to_right"] = ("left_to_right", few)
    return {name: model.perplexity(groups, method) for name, (method, groups) in asked.items()}


def agreement(truth: Any, found: Any) -> dict[str, float]:
    """Return how many clusters were found, and the paper's four measures of how they agree."""
    score = mc2.evaluation
    return {
        "n_clusters": len(np.unique(found)),
        "purity": score.purity(truth, found),
        "nmi": score.nmi(truth, found),
        "rand_index": score.rand_index(truth, found),
        "f_score": score.pairwise_f_score(truth, found),
    }

"""Clusters of images by contexts alone: a comparison that is not in the paper.

The methods that figure 5 compares with MC2 use the visual words only. Whether MC2 gains from words
and contexts together is a different question from whether contexts are informative. This experiment
runs k-means, with 10 to 40 clusters, on the contexts alone and on words and contexts together (each
with the same total variance), and the Dirichlet process mixture of the contexts, to which MC2
reduces without content (theorem 4). Data sets, splits and measures are those of ``images``.
"""

from __future__ import annotations

from typing import Any

import mcsquared as mc2

from .fits import BURN_IN, N_SWEEPS, agreement
from .images import KEYS, Images, features, load_split, over_cluster_numbers, row_keys
from .running import Setting

__all__ = ["KEYS", "SEEDS", "TITLE", "figures", "run"]

TITLE = "Agreement of clusters by contexts alone, and by words and contexts, with known classes"
SEEDS = 4


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Cluster one split of each data set by its contexts, and by words and contexts."""
    rows: list[dict[str, Any]] = []
    for name in setting.sets("labelme8", "wiki_crossmodal"):
        images = load_split(name, seed, setting)
        used = "+".join(images.contexts)
        found = _mixture(images, seed, setting).labels_
        rows.append(
            {"set": name}
            | row_keys("DP mixture of contexts", used)
            | agreement(images.truth, found)
        )
        both = features(images.training, list(images.contexts))
        n_words = images.training.content.counts.shape[1]
        for method, columns in (
            ("k-means of contexts", both[:, n_words:]),
            ("k-means of words and contexts", both),
        ):
            model_class = mc2.baselines.KMeans
            for row in over_cluster_numbers(
                method, model_class, columns, images, seed, setting, used
            ):
                rows.append({"set": name} | row)
    return rows


def _mixture(images: Images, seed: int, setting: Setting) -> mc2.baselines.DPMixture:
    return mc2.baselines.DPMixture(
        contexts=dict(images.contexts),
        n_sweeps=setting.sweeps(N_SWEEPS),
        burn_in=setting.sweeps(BURN_IN),
        n_jobs=setting.n_jobs,
        random_state=seed,
        progress=False,
    ).fit(images.training)


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """Return no figures."""
    return {}

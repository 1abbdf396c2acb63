"""What contexts alone tell about the classes of images: a comparison that the paper does not make.

The methods that its figure 5 puts beside MC2 see the visual words and nothing else. Whether MC2
gains from looking at words and contexts together is another question than whether contexts are
telling. So here are k-means, with 10 to 40 clusters, of the contexts alone and of words and
contexts side by side (each with the same variance in all), and the Dirichlet process mixture of the
contexts, which MC2 is without content (theorem 4). Sets, splits and measures are those of
``images``.
"""

from __future__ import annotations

from typing import Any

import mcsquared as mc2

from .fits import BURN_IN, N_SWEEPS, agreement
from .images import KEYS, Images, features, load_split, over_numbers, row_of
from .running import Setting

__all__ = ["KEYS", "SEEDS", "TITLE", "figures", "run"]

TITLE = "Agreement of clusters by contexts alone, and by words and contexts, with known classes"
SEEDS = 4


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Cluster one split of each set by its contexts, and by everything."""
    rows: list[dict[str, Any]] = []
    for name in setting.sets("labelme8", "wiki_crossmodal"):
        images = load_split(name, seed, setting)
        used = "+".join(images.contexts)
        found = _mixture(images, seed, setting).labels_
        rows.append(
            {"set": name} | row_of("DP mixture of contexts", used) | agreement(images.truth, found)
        )
        both = features(images.training, list(images.contexts))
        n_words = images.training.content.counts.shape[1]
        for method, columns in (
            ("k-means of contexts", both[:, n_words:]),
            ("k-means of words and contexts", both),
        ):
            kind = mc2.baselines.KMeans
            for row in over_numbers(method, kind, columns, images, seed, setting, used):
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
    """Return none: the table is short."""
    return {}

"""The data sets of the experiments, one line each.

To add one, write a reader that returns a `mcsquared.datasets.DataSet` and add one line to ``SETS``:
the reader, the contexts with their families, and the label with the known classes (without it, only
perplexities can be computed). ``mc2 reproduce table1 --set NAME`` and the other experiments on real
data can then use it. At tiny scale a synthetic data set with the same contexts and label is used,
so that the line can be tested without the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mcsquared as mc2
from mcsquared.datasets import DataSet

__all__ = ["SETS", "Entry", "entry", "load", "synthetic"]


@dataclass(frozen=True)
class Entry:
    """The reader, contexts and label of a data set.

    Attributes
    ----------
    read : callable
        Takes a folder, or None for that of MCSQUARED_DATA; returns a `DataSet`.
    contexts : dict from column to family name
        As for `mcsquared.MC2`.
    label : str, optional
        The entry of ``DataSet.labels`` with the known class of each group.
    """

    read: Callable[[Path | None], DataSet]
    contexts: Mapping[str, str]
    label: str | None = None


data = mc2.datasets
# Thirteen animals among the concepts of NUS-WIDE; the paper does not list its thirteen.
ANIMALS = ["antlers", "bear", "birds", "cat", "cow", "dog", "elk"]
ANIMALS += ["fish", "fox", "horses", "tiger", "whales", "zebra"]
SETS = {
    "nips12": Entry(data.load_nips, {"year": "gaussian", "authors": "bag", "title": "bag"}),
    "labelme8": Entry(data.load_labelme, {"tags": "bag"}, "label"),
    "wiki_crossmodal": Entry(data.load_wiki, {"article": "multivariate_gaussian"}, "label"),
    "ungdc": Entry(data.load_un, {"year": "gaussian", "country": "categorical"}),
    "poliblog5k": Entry(data.load_poliblog, {"day": "gaussian"}, "blog"),
    "reuters21578": Entry(data.load_reuters, {"day": "gaussian", "places": "bag"}),
    # The data sets of the paper, if available.
    "pnas": Entry(data.load_pnas, {"year": "gaussian"}),
    "nus_wide": Entry(partial(data.load_nus_wide, concepts=ANIMALS), {"tags": "bag"}, "label"),
}


def entry(name: str) -> Entry:
    """Return the entry of a data set."""
    if name not in SETS:
        raise mc2.InputError(f"data set must be one of {', '.join(SETS)}, got {name!r}")
    return SETS[name]


def load(name: str, folder: Path | None = None) -> DataSet:
    """Read a data set; an error names missing files and their source."""
    try:
        return entry(name).read(folder)
    except mc2.InputError as error:
        raise mc2.InputError(f"data set {name} cannot be read: {error}") from None


def synthetic(name: str, groups_per_cluster: int = 12, tokens_per_group: int = 40) -> DataSet:
    """Draw a small data set with the contexts and the label of a real one: four letter clusters.

    Contexts depend on the clusters with noise. Results on it say nothing about the real data set.
    """
    known = entry(name)
    truth = data.letters(groups_per_cluster, tokens_per_group, random_state=0)
    cluster = truth.cluster_of_group
    rng = np.random.default_rng(0)
    contexts = {
        column: _draw_context(family, cluster, rng) for column, family in known.contexts.items()
    }
    names = [f"{name} {j}" for j in range(cluster.size)]
    corpus = mc2.Corpus(
        truth.corpus.content.counts,
        contexts,
        group_names=names,
        vocabulary=list(truth.corpus.vocabulary),
    )
    labels = {} if known.label is None else {known.label: np.array([f"class{k}" for k in cluster])}
    return DataSet(corpus, labels)


def _draw_context(family: str, cluster: np.ndarray, rng: np.random.Generator) -> Any:
    """Draw values of a family, depending on the cluster of each group."""
    if family == "gaussian":  # integers, like years
        return np.round(rng.normal(1990.0 + 3.0 * cluster, 1.5))
    if family == "multivariate_gaussian":
        return rng.normal(cluster[:, None], 0.5, size=(cluster.size, 3))
    shape = (cluster.size, 3)
    noisy = np.where(rng.random(shape) < 0.8, cluster[:, None], rng.integers(4, size=shape))
    drawn = 3 * noisy + rng.integers(3, size=shape)
    if family == "bag":
        return [[f"item{code}" for code in row] for row in drawn]
    if family == "categorical":
        return [f"value{code}" for code in drawn[:, 0]]
    raise mc2.InputError(
        f"family of a synthetic context must be gaussian, multivariate_gaussian, bag or "
        f"categorical, got {family!r}"
    )

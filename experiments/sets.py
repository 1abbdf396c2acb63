"""The data sets that experiments run on: a line each.

To add one, write a reader that returns a `mcsquared.datasets.DataSet` and put one line into
``SETS``: the reader, the contexts with their families, and the label that holds the known classes
(none: only perplexities can be computed). ``mc2 reproduce table1 --set NAME`` then runs on it, as
do the other experiments on real data, and at tiny scale a stand-in with the same contexts and
label is drawn, so that the line is tested without any file.
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

__all__ = ["SETS", "Entry", "entry", "load", "stand_in"]


@dataclass(frozen=True)
class Entry:
    """What the experiments know of a data set.

    Attributes
    ----------
    read : callable
        Takes a folder, or None for the one that MCSQUARED_DATA names; returns a `DataSet`.
    contexts : dict from column to family name
        As `mcsquared.MC2` takes it.
    label : str, optional
        The entry of ``DataSet.labels`` with the known class of each group.
    """

    read: Callable[[Path | None], DataSet]
    contexts: Mapping[str, str]
    label: str | None = None


data = mc2.datasets
# Thirteen animals among the concepts of NUS-WIDE; the paper does not name its own thirteen.
ANIMALS = ["antlers", "bear", "birds", "cat", "cow", "dog", "elk"]
ANIMALS += ["fish", "fox", "horses", "tiger", "whales", "zebra"]
SETS = {
    "nips12": Entry(data.load_nips, {"year": "gaussian", "authors": "bag", "title": "bag"}),
    "labelme8": Entry(data.load_labelme, {"tags": "bag"}, "label"),
    "wiki_crossmodal": Entry(data.load_wiki, {"article": "multivariate_gaussian"}, "label"),
    "ungdc": Entry(data.load_un, {"year": "gaussian", "country": "categorical"}),
    "poliblog5k": Entry(data.load_poliblog, {"day": "gaussian"}, "blog"),
    "reuters21578": Entry(data.load_reuters, {"day": "gaussian", "places": "bag"}),
    # The paper's own, for those who have them.
    "pnas": Entry(data.load_pnas, {"year": "gaussian"}),
    "nus_wide": Entry(partial(data.load_nus_wide, concepts=ANIMALS), {"tags": "bag"}, "label"),
}


def entry(name: str) -> Entry:
    """Return the line of a set."""
    if name not in SETS:
        raise mc2.InputError(f"the set is {name!r}; one of {', '.join(SETS)} is wanted")
    return SETS[name]


def load(name: str, folder: Path | None = None) -> DataSet:
    """Read a set; what is absent is named, with where it comes from."""
    try:
        return entry(name).read(folder)
    except mc2.InputError as error:
        raise mc2.InputError(f"the set {name} cannot be read: {error}") from None


def stand_in(name: str, groups_per_cluster: int = 12, tokens_per_group: int = 40) -> DataSet:
    """Draw a small set with the contexts and the label of a real one: four clusters of letters.

    Contexts follow the clusters with noise, so that every method finds something; nothing that
    is measured on it says anything about the real set.
    """
    line = entry(name)
    truth = data.letters(groups_per_cluster, tokens_per_group, random_state=0)
    cluster = truth.cluster_of_group
    rng = np.random.default_rng(0)
    contexts = {
        column: _draw_context(family, cluster, rng) for column, family in line.contexts.items()
    }
    names = [f"{name} {j}" for j in range(cluster.size)]
    corpus = mc2.Corpus(
        truth.corpus.content.counts,
        contexts,
        group_names=names,
        vocabulary=list(truth.corpus.vocabulary),
    )
    labels = {} if line.label is None else {line.label: np.array([f"class{k}" for k in cluster])}
    return DataSet(corpus, labels)


def _draw_context(family: str, cluster: np.ndarray, rng: np.random.Generator) -> Any:
    """Draw values that a column of this family may have, around the cluster of each group."""
    if family == "gaussian":  # whole numbers, as years are
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
    raise mc2.InputError(f"no stand-in has a context of the family {family!r}")

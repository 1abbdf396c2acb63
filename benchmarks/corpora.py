"""Corpora of the benchmarks: public data sets, or a simulated corpus similar to NIPS."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from benchmarks.measure import ROOT
from benchmarks.settings import Settings

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.datasets import DataSet

ENVIRONMENT = "MCSQUARED_DATA"
N_GROUPS, N_WORDS, TOKENS_PER_GROUP, N_AUTHORS = 1_740, 13_649, 1_320, 2_037


def data_folder(file: str = "nips12.npz") -> Path | None:
    """Return the folder that contains a file: MCSQUARED_DATA, or ../shared/data."""
    named = os.environ.get(ENVIRONMENT)
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if (folder / file).is_file() else None


def name_of_corpus(settings: Settings) -> str:
    """Return the name of the corpus, and why it is not NIPS if it is not."""
    if settings.simulated:
        return "simulated"
    if data_folder() is None:
        return f"simulated (no nips12.npz in {ENVIRONMENT})"
    return "NIPS"


@cache
def corpus_for(settings: Settings) -> Corpus:
    """Return NIPS, or a simulated corpus similar to it."""
    if name_of_corpus(settings) != "NIPS":
        return simulated_corpus(settings.scale, settings.seed)
    from mcsquared import datasets

    return share_of(datasets.load_nips(data_folder()).corpus, settings.scale, settings.seed)


@cache
def speeches_for(settings: Settings) -> Corpus | None:
    """Return the UN speeches with year and country; None if they are not available."""
    folder = None if settings.simulated else data_folder("ungdc.npz")
    if folder is None:
        return None
    from mcsquared import datasets

    return share_of(datasets.load_un(folder).corpus, settings.scale, settings.seed)


def scenes_for(settings: Settings) -> DataSet | None:
    """Return the labelled images with their tags; None if they are not available."""
    folder = None if settings.simulated else data_folder("labelme8.npz")
    if folder is None:
        return None
    from mcsquared import datasets

    scenes = datasets.load_labelme(folder)
    chosen = _chosen(scenes.corpus.n_groups, settings.scale, settings.seed)
    labels = {name: label[chosen] for name, label in scenes.labels.items()}
    return datasets.DataSet(scenes.corpus[chosen], labels)


def held_out(corpus: Corpus, random_state: int) -> tuple[Corpus, Corpus]:
    """Return training groups and a held-out tenth, with the vocabulary of the training groups.

    Words that do not occur in training are dropped: some packages ignore them, others smooth them.
    """
    train, test = corpus.split(0.1, random_state=random_state)
    seen = np.unique(train.content.counts.indices)
    train = train.aligned_to(train.vocabulary[seen], train.contexts)
    return train, test.aligned_to(train.vocabulary, train.contexts)


def simulated_corpus(scale: float = 1.0, seed: int = 0) -> Corpus:
    """Return a corpus similar to NIPS: 80 topics, 25 clusters, years, authors, varying lengths.

    The numbers of clusters and topics are fixed, unlike in draws from the model's prior, so every
    seed gives the same amount of work.
    """
    from mcsquared.corpus import Corpus

    rng = np.random.default_rng(seed)
    n_groups = max(int(N_GROUPS * scale), 10)
    n_words = max(int(N_WORDS * scale**0.5), 100)
    words = rng.dirichlet(np.full(n_words, 0.02), size=80)
    words_of_cluster = rng.dirichlet(np.full(80, 0.1), size=25) @ words
    cluster = rng.integers(25, size=n_groups)
    length = rng.lognormal(np.log(TOKENS_PER_GROUP), 0.3, n_groups).astype(int)
    counts = sparse.vstack(
        [
            sparse.csr_matrix(rng.multinomial(length[j], words_of_cluster[cluster[j]]))
            for j in range(n_groups)
        ]
    )
    contexts = {
        "year": np.round(1993 + 3 * rng.normal(size=25)[cluster] + rng.normal(size=n_groups)),
        "authors": _authors(cluster, max(int(N_AUTHORS * scale), 50), rng),
    }
    return Corpus(counts, contexts)


def _authors(cluster: np.ndarray, n_authors: int, rng: np.random.Generator) -> list[list[str]]:
    """Return two authors per group; those of a cluster are from a tenth of all authors."""
    pool = n_authors // 10
    first = rng.integers(n_authors, size=25)[cluster]
    chosen = (first[:, None] + rng.integers(pool, size=(len(cluster), 2))) % n_authors
    return [[f"author {number}" for number in row] for row in chosen]


def share_of(corpus: Corpus, share: float, seed: int = 0) -> Corpus:
    """Return a random share of the groups, in their original order."""
    return corpus if share == 1.0 else corpus[_chosen(corpus.n_groups, share, seed)]


def split_groups(corpus: Corpus, parts: int, seed: int = 0) -> Corpus:
    """Return the same tokens in more groups: each group is split at random into equal parts."""
    from mcsquared.corpus import Corpus

    counts = corpus.content.counts
    rng = np.random.default_rng(seed)
    word = np.repeat(counts.indices, counts.data)
    group = np.repeat(np.arange(corpus.n_groups), corpus.tokens_per_group)
    part = group * parts + rng.integers(parts, size=len(group))
    shape = (corpus.n_groups * parts, corpus.n_words)
    counts = sparse.csr_matrix((np.ones(len(word), np.int32), (part, word)), shape=shape)
    source = np.repeat(np.arange(corpus.n_groups), parts)
    contexts = {name: column[source] for name, column in corpus.contexts.items()}
    return Corpus(counts, contexts, vocabulary=corpus.vocabulary)


def _chosen(n_groups: int, share: float, seed: int) -> np.ndarray:
    chosen = np.random.default_rng(seed).permutation(n_groups)[: round(n_groups * share)]
    return np.sort(chosen)

"""What is benchmarked on: public sets where they are at hand, else a simulated corpus like NIPS."""

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

__all__ = [
    "corpus_for",
    "cut_groups",
    "data_folder",
    "held_out",
    "name_of_corpus",
    "scenes_for",
    "share_of",
    "simulated_corpus",
    "speeches_for",
]

ENVIRONMENT = "MCSQUARED_DATA"
N_GROUPS, N_WORDS, TOKENS_PER_GROUP, N_AUTHORS = 1_740, 13_649, 1_320, 2_037


def data_folder(file: str = "nips12.npz") -> Path | None:
    """Return the folder with a file: MCSQUARED_DATA, or shared/data beside the checkout."""
    named = os.environ.get(ENVIRONMENT)
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if (folder / file).is_file() else None


def name_of_corpus(settings: Settings) -> str:
    """Say which corpus the settings mean, and why it is not NIPS where it is not."""
    if settings.simulated:
        return "simulated"
    if data_folder() is None:
        return f"simulated ({ENVIRONMENT} names no folder with nips12.npz)"
    return "NIPS"


@cache
def corpus_for(settings: Settings) -> Corpus:
    """Return the corpus that the settings mean: NIPS, or one like it."""
    if name_of_corpus(settings) != "NIPS":
        return simulated_corpus(settings.scale, settings.seed)
    from mcsquared import datasets

    return share_of(datasets.load_nips(data_folder()).corpus, settings.scale, settings.seed)


@cache
def speeches_for(settings: Settings) -> Corpus | None:
    """Return the UN speeches, with year and country; None where they are not at hand."""
    folder = None if settings.simulated else data_folder("ungdc.npz")
    if folder is None:
        return None
    from mcsquared import datasets

    return share_of(datasets.load_un(folder).corpus, settings.scale, settings.seed)


def scenes_for(settings: Settings) -> DataSet | None:
    """Return the labelled images, with their tags; None where they are not at hand."""
    folder = None if settings.simulated else data_folder("labelme8.npz")
    if folder is None:
        return None
    from mcsquared import datasets

    scenes = datasets.load_labelme(folder)
    chosen = _chosen(scenes.corpus.n_groups, settings.scale, settings.seed)
    labels = {name: label[chosen] for name, label in scenes.labels.items()}
    return datasets.DataSet(scenes.corpus[chosen], labels)


def held_out(corpus: Corpus, random_state: int) -> tuple[Corpus, Corpus]:
    """Return training groups and the tenth held out, in the words of the training groups.

    A word that training has not seen has no topic in some packages and a smoothed one in others:
    it is nobody's.
    """
    train, test = corpus.split(0.1, random_state=random_state)
    seen = np.unique(train.content.counts.indices)
    train = train.aligned_to(train.vocabulary[seen], train.contexts)
    return train, test.aligned_to(train.vocabulary, train.contexts)


def simulated_corpus(scale: float = 1.0, seed: int = 0) -> Corpus:
    """Return a corpus like NIPS: 80 topics, 25 clusters, years and authors, lengths that vary.

    Clusters and topics are fixed in number, unlike draws from the model's own prior, so that every
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
    """Return two authors a group; those of a cluster come from a tenth of all."""
    pool = n_authors // 10
    first = rng.integers(n_authors, size=25)[cluster]
    chosen = (first[:, None] + rng.integers(pool, size=(len(cluster), 2))) % n_authors
    return [[f"author {number}" for number in row] for row in chosen]


def share_of(corpus: Corpus, share: float, seed: int = 0) -> Corpus:
    """Return a share of the groups, chosen at random, in their order."""
    return corpus if share == 1.0 else corpus[_chosen(corpus.n_groups, share, seed)]


def cut_groups(corpus: Corpus, pieces: int, seed: int = 0) -> Corpus:
    """Return the same tokens in more groups: each is cut at random into equal pieces."""
    from mcsquared.corpus import Corpus

    counts = corpus.content.counts
    rng = np.random.default_rng(seed)
    word = np.repeat(counts.indices, counts.data)
    group = np.repeat(np.arange(corpus.n_groups), corpus.tokens_per_group)
    piece = group * pieces + rng.integers(pieces, size=len(group))
    shape = (corpus.n_groups * pieces, corpus.n_words)
    cut = sparse.csr_matrix((np.ones(len(word), np.int32), (piece, word)), shape=shape)
    owner = np.repeat(np.arange(corpus.n_groups), pieces)
    contexts = {name: column[owner] for name, column in corpus.contexts.items()}
    return Corpus(cut, contexts, vocabulary=corpus.vocabulary)


def _chosen(n_groups: int, share: float, seed: int) -> np.ndarray:
    chosen = np.random.default_rng(seed).permutation(n_groups)[: round(n_groups * share)]
    return np.sort(chosen)

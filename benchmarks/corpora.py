"""What is benchmarked on: the NIPS set where it is at hand, else a simulated corpus of its size."""

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

__all__ = ["corpus_for", "data_folder", "name_of_corpus", "share_of", "simulated_corpus"]

ENVIRONMENT = "MCSQUARED_DATA"
N_GROUPS, N_WORDS, TOKENS_PER_GROUP, N_AUTHORS = 1_740, 13_649, 1_320, 2_037


def data_folder() -> Path | None:
    """Return the folder with the NIPS set: MCSQUARED_DATA, or shared/data beside the checkout."""
    named = os.environ.get(ENVIRONMENT)
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if (folder / "nips12.npz").is_file() else None


def name_of_corpus(settings: Settings) -> str:
    """Say which corpus the settings mean, and why it is not NIPS where it is not."""
    if settings.simulated:
        return "simulated"
    if data_folder() is None:
        return f"simulated ({ENVIRONMENT} names no folder with nips12.npz)"
    return "NIPS"


@cache
def corpus_for(settings: Settings) -> Corpus:
    """Return the corpus that the settings mean."""
    if name_of_corpus(settings) != "NIPS":
        return simulated_corpus(settings.scale, settings.seed)
    from mcsquared import datasets

    return datasets.load_nips(data_folder()).corpus


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
    if share == 1.0:
        return corpus
    n_groups = round(corpus.n_groups * share)
    chosen = np.random.default_rng(seed).permutation(corpus.n_groups)[:n_groups]
    return corpus[np.sort(chosen)]

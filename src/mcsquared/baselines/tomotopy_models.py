"""Models of the package tomotopy on the tokens of a corpus, sweep by sweep."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from mcsquared.baselines.checks import check_positive
from mcsquared.checks import check_jobs, check_whole
from mcsquared.corpus import Words
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from scipy import sparse

    from mcsquared.corpus import Corpus

__all__ = ["SCHEDULE", "Chain", "check_schedule", "import_tomotopy"]

Floats = NDArray[np.float64]

SCHEDULE = {"n_topics": 1, "n_sweeps": 1, "burn_in": 0, "keep_parameters": 1}


def import_tomotopy() -> Any:
    """Return the package, or say how to get it."""
    try:
        import tomotopy
    except ImportError as error:
        raise ImportError(
            "this baseline needs the package tomotopy: pip install 'mcsquared[baselines]'"
        ) from error
    return tomotopy


def check_schedule(model: Any) -> None:
    """Refuse parameters of a model that no chain can run with."""
    for name, least in SCHEDULE.items():
        check_whole(name, getattr(model, name), least)
    for name in ("alpha", "concentration"):
        check_positive(name, getattr(model, name))
    if model.burn_in >= model.n_sweeps:
        raise InputError(
            f"n_sweeps={model.n_sweeps} with burn_in={model.burn_in} keeps no draw, "
            "but at least one is wanted"
        )
    check_jobs(model.n_jobs)


class Chain:
    """A model of tomotopy at work on a corpus, all words weighing the same.

    Parameters
    ----------
    model : tomotopy.LDAModel, or one derived from it
        Without documents yet. Groups without words are left out: it does not take them.
    corpus : Corpus
    n_jobs : int, optional
    features : csr_matrix (n_groups, n_features), optional
        What is known of each group: its features are where a row is not zero.
    """

    def __init__(
        self,
        model: Any,
        corpus: Corpus,
        n_jobs: int | None = None,
        features: sparse.csr_matrix | None = None,
    ) -> None:
        assert isinstance(corpus.content, Words)
        if corpus.n_tokens == 0:
            raise InputError("X has no words at all, but topics need some")
        counts = corpus.content.counts
        self.model, self.n_words = model, corpus.n_words
        self.n_workers = max(1, effective_n_jobs(n_jobs))
        # Words go by their number: the model sorts them in an order of its own.
        names = np.array([str(number) for number in range(self.n_words)], dtype=object)
        for j in np.flatnonzero(np.diff(counts.indptr)):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            tokens = np.repeat(names[counts.indices[row]], counts.data[row]).tolist()
            if features is None:
                model.add_doc(tokens)
            else:
                held = features.indices[features.indptr[j] : features.indptr[j + 1]]
                model.add_doc(tokens, multi_metadata=[str(number) for number in held])

    def run(self, n_sweeps: int, burn_in: int, n_kept: int) -> Iterator[int]:
        """Sweep, and yield the number of sweeps done whenever a draw is to be kept."""
        kept = np.unique(np.linspace(burn_in, n_sweeps, min(n_kept, n_sweeps - burn_in) + 1)[1:])
        done = 0
        for sweep in np.ceil(kept).astype(int).tolist():
            with warnings.catch_warnings():
                # That several workers do not repeat themselves: our documentation says so.
                warnings.simplefilter("ignore", RuntimeWarning)
                self.model.train(sweep - done, workers=self.n_workers)
            done = sweep
            yield sweep

    def word_given_topic(self) -> Floats:
        """Return ψ as it is now: float64 (n_topics, n_words), in the order of the corpus.

        A word of the vocabulary that no group of training has gets what the prior gives it.
        """
        used = np.array([int(word) for word in self.model.used_vocabs])
        psi = np.full((self.model.k, self.n_words), self.model.eta, np.float64)
        for m in range(self.model.k):
            psi[m, used] = self.model.get_topic_word_dist(m, normalize=False)
        return psi / psi.sum(axis=1, keepdims=True)

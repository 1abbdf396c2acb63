"""Align new groups with the vocabulary and the context categories of training."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from mcsquared.corpus import Vectors
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import Posterior

SIMILARITY_CUTOFF = 0.7  # of `difflib`: "yaer" and "years" are this similar to "year"


def align(posterior: Posterior, corpus: Corpus) -> Corpus:
    """Return the corpus with the vocabulary and the context categories of training.

    Words unseen in training are dropped, categories unseen in training become missing values, and
    contexts unknown to the model are ignored.
    """
    width = posterior.priors.content.n_dimensions
    return corpus.aligned_to(posterior.vocabulary, posterior.contexts, width)


def check_names(posterior: Posterior, corpus: Corpus) -> None:
    """Raise an error for context names that look misspelt, which would otherwise be ignored.

    Additional contexts are allowed. A name counts as misspelt if it is unknown to the model and
    similar to a context that the corpus lacks.
    """
    known, found = list(posterior.contexts), list(corpus.contexts)
    lacking = [str(name) for name in known if name not in found]
    for name in found:
        similar = get_close_matches(str(name), lacking, n=1, cutoff=SIMILARITY_CUTOFF)
        if name not in known and similar:
            raise InputError(
                f"contexts must use the names of training, got {name!r} but no {similar[0]!r}"
            )


def check_width(posterior: Posterior, corpus: Corpus, n_features: int) -> None:
    """Raise an error if vectors have another width than in training; Python families accept any."""
    if posterior.priors.content.kernel is None or not isinstance(corpus.content, Vectors):
        return
    width = corpus.content.width
    if width != n_features:
        raise InputError(
            f"X has {width} features, but MC2 is expecting {n_features} features as input"
        )

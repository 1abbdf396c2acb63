"""New groups in the words and categories of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mcsquared.corpus import Words
from mcsquared.errors import InputError
from mcsquared.families import MultivariateGaussian

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import Posterior

__all__ = ["aligned"]


def aligned(posterior: Posterior, corpus: Corpus) -> Corpus:
    """Return the corpus in the words and context categories of training.

    Words unseen in training are dropped, categories unseen in training are missing, contexts that
    the model does not know are not looked at. A corpus that fits already is returned as it is.
    """
    words = isinstance(corpus.content, Words)
    if words != (posterior.vocabulary is not None):
        found, wanted = ("words", "vectors") if words else ("vectors", "words")
        raise InputError(f"the corpus holds {found}, but the model was fitted to {wanted}")
    family = posterior.priors.content
    if isinstance(family, MultivariateGaussian) and corpus.content.width != family.width:
        raise InputError(
            f"the corpus holds vectors of {corpus.content.width} numbers, "
            f"but the model was fitted to vectors of {family.width}"
        )
    if _fits(posterior, corpus):
        return corpus
    return corpus.aligned_to(posterior.vocabulary, posterior.contexts)


def _fits(posterior: Posterior, corpus: Corpus) -> bool:
    if posterior.vocabulary is not None and not np.array_equal(
        posterior.vocabulary, corpus.vocabulary
    ):
        return False
    for name, reference in posterior.contexts.items():
        column = corpus.contexts.get(name)
        if column is None:
            continue
        if column.kind != reference.kind:
            return False
        if reference.categories is not None and not np.array_equal(
            reference.categories, column.categories
        ):
            return False
    return True

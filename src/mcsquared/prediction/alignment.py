"""New groups in the words and categories of training."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.corpus import Vectors, Words
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import Posterior

__all__ = ["aligned", "check_names", "check_width"]


CLOSE = 0.7  # as `difflib` measures it: "yaer" and "years" are this close to "year"


def aligned(posterior: Posterior, corpus: Corpus) -> Corpus:
    """Return the corpus in the words and context categories of training.

    Words unseen in training are dropped, categories unseen in training are missing, contexts that
    the model does not know are not looked at. A corpus that fits already is returned as it is.
    """
    words = isinstance(corpus.content, Words)
    if words != (posterior.vocabulary is not None):
        found, wanted = ("words", "vectors") if words else ("vectors", "words")
        raise InputError(f"the corpus holds {found}, but the model was fitted to {wanted}")
    family, content = posterior.priors.content, corpus.content
    if isinstance(content, Vectors) and family.n_dimensions not in (None, content.width):
        raise InputError(
            f"the corpus holds vectors of {content.width} numbers, "
            f"but the model was fitted to vectors of {family.n_dimensions}"
        )
    if _fits(posterior, corpus):
        return corpus
    return corpus.aligned_to(posterior.vocabulary, posterior.contexts)


def check_names(posterior: Posterior, corpus: Corpus) -> None:
    """Refuse contexts under names that look misspelt, which would say nothing without a word.

    Other columns may stand beside those of the model. A name is taken for misspelt if it is like
    one that the model knows and the corpus lacks.
    """
    known, found = list(posterior.contexts), list(corpus.contexts)
    lacking = [name for name in known if name not in found]
    for name in found:
        like = get_close_matches(str(name), map(str, lacking), n=1, cutoff=CLOSE)
        if name not in known and like:
            raise InputError(
                f"contexts has {name!r}, which the model does not know, and lacks {like[0]!r}"
            )


def check_width(posterior: Posterior, corpus: Corpus, n_features: int) -> None:
    """Refuse vectors of another width than those of training; a user's own family may take any."""
    if posterior.priors.content.kernel is None or not isinstance(corpus.content, Vectors):
        return
    width = corpus.content.width
    if width != n_features:
        raise InputError(
            f"X has {width} features, but MC2 is expecting {n_features} features as input"
        )


def _fits(posterior: Posterior, corpus: Corpus) -> bool:
    if not _same_names(posterior.vocabulary, corpus.vocabulary):
        return False
    for name, reference in posterior.contexts.items():
        column = corpus.contexts.get(name)
        if column is None:
            continue
        if column.kind != reference.kind:
            return False
        if not _same_names(reference.categories, column.categories):
            return False
    return True


def _same_names(wanted: NDArray[Any] | None, found: NDArray[Any] | None) -> bool:
    if wanted is None or found is None:
        return wanted is None
    return np.array_equal(wanted, found)

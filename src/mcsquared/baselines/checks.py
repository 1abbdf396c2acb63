"""What baselines ask of their parameters and of the corpora they are given."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mcsquared.corpus import Corpus, as_corpus
from mcsquared.errors import InputError

__all__ = ["check_positive", "words_of"]


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number, or refuse the parameter ``name``."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not number or not 0.0 < float(value) < float("inf"):
        raise InputError(f"{name} is {value!r}, but a positive number is wanted")
    return float(value)


def words_of(X: Any, contexts: Any = None, vocabulary: Any = None) -> Corpus:
    """Return ``X`` as a corpus of words; in the words of training, where those are given."""
    corpus = as_corpus(X, contexts, content="counts", vocabulary=vocabulary)
    found: Any = corpus.vocabulary
    if vocabulary is None or np.array_equal(found, vocabulary):
        return corpus
    return corpus.aligned_to(vocabulary, corpus.contexts)

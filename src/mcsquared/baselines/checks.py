"""What baselines ask of their parameters and of the corpora they are given."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mcsquared.corpus import Corpus, as_corpus
from mcsquared.errors import InputError

__all__ = ["as_seed", "check_positive", "check_whole", "is_whole", "words_of"]


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number; True and False are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def check_whole(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least ``least``, or refuse the parameter ``name``."""
    if not is_whole(value) or value < least:
        raise InputError(f"{name} is {value!r}, but a whole number of at least {least} is wanted")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number, or refuse the parameter ``name``."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not number or not 0.0 < float(value) < float("inf"):
        raise InputError(f"{name} is {value!r}, but a positive number is wanted")
    return float(value)


def as_seed(random_state: Any) -> int:
    """Return the seed that MC2 would take: a number stands for itself.

    So a baseline and an MC2 of the same ``random_state`` are scored on the same halves of groups.
    """
    if is_whole(random_state) and 0 <= random_state < 2**32:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError:
        raise InputError(
            f"random_state is {random_state!r}, but None, a RandomState or a whole number from 0 "
            "to 4294967295 is wanted"
        ) from None


def words_of(X: Any, contexts: Any = None, vocabulary: Any = None) -> Corpus:
    """Return ``X`` as a corpus of words; in the words of training, where those are given."""
    corpus = as_corpus(X, contexts, content="counts", vocabulary=vocabulary)
    found: Any = corpus.vocabulary
    if vocabulary is None or np.array_equal(found, vocabulary):
        return corpus
    return corpus.aligned_to(vocabulary, corpus.contexts)

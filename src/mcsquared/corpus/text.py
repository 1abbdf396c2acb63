"""Words from texts and from tokens: which words count, and how many are left out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus.content import Words, words_from_counts
from mcsquared.corpus.missing import as_list, is_missing
from mcsquared.errors import InputError

__all__ = [
    "CountedWords",
    "count_texts",
    "count_tokens",
    "frequent_words",
    "missing_note",
    "outside_note",
    "rare_note",
    "take_limits",
    "vectorize",
    "word_list",
]

_MANY_TEXTS = 100  # above this, a word in a single text is more often a typing error than a word


@dataclass(frozen=True, eq=False)
class CountedWords:
    """Words, and what was left out of them.

    Parameters
    ----------
    words : Words
    dropped_words, dropped_tokens : int
        Number of different words left out, and of their occurrences.
    notes : tuple of str
        What a user should know, one sentence each.
    """

    words: Words
    dropped_words: int = 0
    dropped_tokens: int = 0
    notes: tuple[str, ...] = ()


def count_texts(
    texts: Iterable[Any], vocabulary: Sequence[str] | None = None, **vectorizer: Any
) -> CountedWords:
    """Count the words of texts with scikit-learn's ``CountVectorizer``.

    Parameters
    ----------
    texts : iterable of str
        A missing text (None, NaN) is a group without content.
    vocabulary : sequence of str, optional
        Count these words alone.
    **vectorizer
        Arguments of ``CountVectorizer``. ``min_df`` is 2 above 100 texts, else 1; ``max_df`` is
        0.5, unless that would leave no word at all.
    """
    listed, n_missing = _strings(texts)
    if n_missing == len(listed) and vocabulary is None:
        raise InputError("texts are all missing, but at least one string is wanted")
    notes = missing_note(n_missing, len(listed))
    limits = take_limits(vectorizer)
    counts, names = vectorize(listed, vectorizer, may_be_empty=vocabulary is not None)
    if vocabulary is not None:
        return _restricted(counts, names, word_list(vocabulary), notes)
    in_texts = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    total = np.asarray(counts.sum(axis=0)).ravel()
    keep, remarks = frequent_words(in_texts, total, len(listed), limits)
    return _kept(counts, names, keep, notes + remarks)


def missing_note(n_missing: int, n_texts: int) -> list[str]:
    """Return what there is to say about texts that are missing."""
    if not n_missing:
        return []
    return [f"{n_missing} of {n_texts} texts are missing: groups without content"]


def take_limits(vectorizer: dict[str, Any]) -> dict[str, Any]:
    """Take those arguments of ``CountVectorizer`` out that are about all texts together."""
    return {name: vectorizer.pop(name, None) for name in ("min_df", "max_df", "max_features")}


def frequent_words(
    in_texts: NDArray[np.int64], total: NDArray[np.int64], n_texts: int, limits: dict[str, Any]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which words are kept, and what there is to say about it.

    Parameters
    ----------
    in_texts, total : int64 (n_words,)
        In how many texts a word is, and how often; words in alphabetical order.
    n_texts : int
    limits : dict
        ``min_df``, ``max_df`` and ``max_features``, None where not given.
    """
    min_df, max_df = limits["min_df"], limits["max_df"]
    notes = []
    if min_df is None:
        min_df = 2 if n_texts > _MANY_TEXTS else 1
    keep = _between(in_texts, min_df, 0.5 if max_df is None else max_df, n_texts)
    if max_df is None and not keep.any():
        keep = _between(in_texts, min_df, 1.0, n_texts)
        notes.append("every word is in more than half of the texts, so frequent words are kept")
    keep = _most_common(total, keep, limits["max_features"])
    if not keep.any():
        raise InputError(
            f"texts: no word is left of {len(keep)} (min_df={min_df}, max_df={max_df}); "
            "texts with words, or wider limits, are wanted"
        )
    return keep, notes


def count_tokens(tokens: Iterable[Any], vocabulary: Sequence[str] | None = None) -> CountedWords:
    """Count tokens that somebody else has cut, one sequence of words per group."""
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        raise InputError(
            f"tokens is {type(tokens).__name__}, but a list of lists of words is wanted"
        )
    code_of: dict[str, int] = {}
    codes: list[int] = []
    start = [0]
    for j, group in enumerate(as_list(tokens)):
        codes.extend(code_of.setdefault(word, len(code_of)) for word in _group_tokens(j, group))
        start.append(len(codes))
    if len(start) == 1:
        raise InputError("tokens has zero groups, but at least one is wanted")
    found = np.array(list(code_of), dtype=object)
    shape = (len(start) - 1, len(found))
    counts = sparse.csr_matrix(
        (np.ones(len(codes), np.int64), codes, start), shape=shape, dtype=np.int64
    )
    counts.sum_duplicates()
    if vocabulary is not None:
        return _restricted(counts, found, word_list(vocabulary), [])
    if not code_of:
        raise InputError("tokens has no word in any group, but at least one is wanted")
    order = np.argsort(found)
    return CountedWords(words_from_counts(counts[:, order], found[order]))


def _strings(texts: Iterable[Any]) -> tuple[list[str], int]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"texts is {type(texts).__name__}, but a list of strings is wanted")
    listed, n_missing = [], 0
    for j, text in enumerate(as_list(texts)):
        if isinstance(text, str):
            listed.append(str(text))
        elif is_missing(text):
            listed.append("")
            n_missing += 1
        else:
            raise InputError(
                f"texts[{j}] is {type(text).__name__} ({text!r:.40}), but a string is wanted"
            )
    if not listed:
        raise InputError("texts has zero groups, but at least one is wanted")
    return listed, n_missing


def vectorize(
    texts: list[str], arguments: dict[str, Any], may_be_empty: bool
) -> tuple[sparse.csr_matrix, NDArray[np.object_]]:
    """Return the counts and the names of all words of texts, those in alphabetical order."""
    from sklearn.feature_extraction.text import CountVectorizer

    try:
        vectorizer = CountVectorizer(**{**arguments, "dtype": np.int64})
        counts = vectorizer.fit_transform(texts)
        return sparse.csr_matrix(counts), vectorizer.get_feature_names_out().astype(object)
    except ValueError as error:
        if "empty vocabulary" in str(error):
            if may_be_empty:  # with words known beforehand, groups without any are groups still
                return sparse.csr_matrix((len(texts), 0), dtype=np.int64), np.empty(0, object)
            raise InputError(
                "texts: there is no word of two letters or more in any text, but at least one is "
                "wanted"
            ) from error
        raise InputError(f"texts cannot be counted: {error}") from error
    except (TypeError, AttributeError, re.error) as error:
        raise InputError(
            f"texts cannot be counted with these vectorizer arguments: {error}"
        ) from error


def _between(
    in_texts: NDArray[np.int64], min_df: Any, max_df: Any, n_texts: int
) -> NDArray[np.bool_]:
    """Return which words are in enough and not in too many texts."""
    low, high = (
        _limit(value, name, n_texts) for value, name in ((min_df, "min_df"), (max_df, "max_df"))
    )
    return (in_texts >= low) & (in_texts <= high)


def _limit(value: Any, name: str, n_texts: int) -> float:
    if isinstance(value, int | np.integer) and value >= 0 and not isinstance(value, bool):
        return float(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0.0 <= float(value) <= 1.0:
        return float(value) * n_texts
    raise InputError(
        f"{name} is {value!r}, but a number of texts (integer) or a share (0.0 to 1.0) is wanted"
    )


def _most_common(
    total: NDArray[np.int64], keep: NDArray[np.bool_], limit: Any
) -> NDArray[np.bool_]:
    if limit is None:
        return keep
    if isinstance(limit, bool) or not isinstance(limit, Integral) or int(limit) < 1:
        raise InputError(f"max_features is {limit!r}, but a whole number from 1 is wanted")
    candidates = np.flatnonzero(keep)
    # A stable sort: of equally frequent words the alphabetically first ones stay.
    chosen = candidates[np.argsort(-total[candidates], kind="stable")[: int(limit)]]
    kept = np.zeros_like(keep)
    kept[chosen] = True
    return kept


def _kept(
    counts: sparse.csr_matrix, names: NDArray[np.object_], keep: NDArray[np.bool_], notes: list[str]
) -> CountedWords:
    words = words_from_counts(counts[:, np.flatnonzero(keep)], names[keep])
    dropped_words = int((~keep).sum())
    dropped_tokens = int(counts.data.sum()) - words.n_tokens
    notes = notes + rare_note(dropped_words, len(names), dropped_tokens, int(counts.data.sum()))
    return CountedWords(words, dropped_words, dropped_tokens, tuple(notes))


def _restricted(
    counts: sparse.csr_matrix, names: NDArray[np.object_], vocabulary: list[str], notes: list[str]
) -> CountedWords:
    """Return the counts of a given vocabulary; other words are dropped and counted."""
    code_of = {word: code for code, word in enumerate(vocabulary)}
    found = np.array([name in code_of for name in names], dtype=bool)
    old = np.flatnonzero(found)
    new = [code_of[name] for name in names[old]]
    place = sparse.csr_matrix(
        (np.ones(len(old), np.int64), (old, new)),
        shape=(len(names), len(vocabulary)),
        dtype=np.int64,
    )
    words = words_from_counts(counts @ place, vocabulary)
    dropped_words = int((~found).sum())
    dropped_tokens = int(counts.data.sum()) - words.n_tokens
    notes = notes + outside_note(dropped_words, dropped_tokens)
    return CountedWords(words, dropped_words, dropped_tokens, tuple(notes))


def rare_note(dropped_words: int, n_words: int, dropped_tokens: int, n_tokens: int) -> list[str]:
    """Return what there is to say about words that the limits of frequency leave out."""
    if not dropped_words:
        return []
    return [
        f"{dropped_words} of {n_words} words were dropped as too rare or too frequent "
        f"({dropped_tokens} of {n_tokens} tokens)"
    ]


def outside_note(dropped_words: int, dropped_tokens: int) -> list[str]:
    """Return what there is to say about words that a given vocabulary leaves out."""
    if not dropped_words:
        return []
    return [f"{dropped_words} words outside the vocabulary were dropped ({dropped_tokens} tokens)"]


def word_list(vocabulary: Any) -> list[str]:
    """Return a vocabulary as a list of strings."""
    if isinstance(vocabulary, str | bytes) or not isinstance(vocabulary, Iterable):
        raise InputError(f"vocabulary is {vocabulary!r:.40}, but a list of words is wanted")
    return [str(word) for word in vocabulary]


def _group_tokens(j: int, group: Any) -> Iterable[str]:
    if is_missing(group):
        return []
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        raise InputError(
            f"tokens[{j}] is {type(group).__name__}, but a list of words is wanted "
            "(Corpus.from_texts cuts texts)"
        )
    words = []
    for word in group:
        if isinstance(word, str):
            words.append(str(word))
        elif isinstance(word, int | np.integer) and type(word) is not bool:
            words.append(str(int(word)))
        else:
            raise InputError(f"tokens[{j}] holds {word!r:.40}, but words (strings) are wanted")
    return words

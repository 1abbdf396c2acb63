"""Convert the input of ``fit`` and ``predict`` to a corpus."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.corpus.columns.values import is_missing
from mcsquared.corpus.content import Words
from mcsquared.corpus.corpus import Corpus
from mcsquared.corpus.disk import ParquetFolder
from mcsquared.corpus.rows import check_same_order
from mcsquared.corpus.sources.arrays import content_from
from mcsquared.corpus.sources.frames import frame_content, is_frame
from mcsquared.corpus.sources.words import joined_passages
from mcsquared.errors import InputError


def as_corpus(
    X: Any,
    contexts: Any = None,
    content: str = "auto",
    vocabulary: Sequence[str] | None = None,
    text_options: Mapping[str, Any] | None = None,
) -> Corpus:
    """Convert texts, tokens, a matrix, a list of arrays or a frame of numbers to a corpus.

    Parameters
    ----------
    X : Corpus, list of str, list of lists of str, sparse or dense matrix, list of arrays, or frame
    contexts : frame or dict of columns, optional
        If ``X`` is a corpus, they replace its contexts.
    content : {"auto", "counts", "vectors"}
        What a matrix contains; "auto" is explained in `Corpus`.
    vocabulary : sequence of str, optional
        The words of a model: only these are counted in texts and tokens; a matrix must have one
        column per word.
    text_options : dict, optional
        Arguments of `Corpus.from_texts` for texts.

    Examples
    --------
    >>> mc2.corpus.as_corpus([["ant", "bee"], ["car"]], {"year": [1990, None]})
    Corpus(2 groups, 3 tokens, 3 words, contexts: year)
    """
    if isinstance(X, Corpus):
        content_from(X.content, content)
        return X if contexts is None else X.with_contexts(contexts)
    if isinstance(X, ParquetFolder):
        raise InputError(f"X must be a corpus in memory, got {X!r}: use Corpus.read")
    if isinstance(X, Iterator):
        X = list(X)
    kind = _text_or_tokens(X)
    if kind is None and vocabulary is not None and _has_only_empty_groups(X):
        kind = "tokens"
    if kind == "tokens" and (joined := joined_passages(X, vocabulary)) is not None:
        X, kind = joined, "texts"
    if kind is not None:
        if content == "vectors":
            raise InputError(f"X must contain vectors (content='vectors'), got {kind}")
        if kind == "texts":
            return Corpus.from_texts(X, contexts, vocabulary=vocabulary, **(text_options or {}))
        return Corpus.from_tokens(X, contexts, vocabulary=vocabulary)
    if is_frame(X):
        check_same_order(X, contexts)
        converted, names = frame_content(X, content)
        return Corpus(converted, contexts, names)
    converted = content_from(X, content)
    if vocabulary is not None and isinstance(converted, Words):
        if converted.n_words != len(vocabulary):
            raise InputError(
                f"X has {converted.n_words} features, but the model is expecting {len(vocabulary)} "
                "features as input"
            )
        converted = content_from(converted.counts, vocabulary=vocabulary)
    return Corpus(converted, contexts)


def _has_only_empty_groups(X: Any) -> bool:
    return isinstance(X, list | tuple) and all(
        group is None or (isinstance(group, list | tuple) and not group) for group in X
    )


def _text_or_tokens(X: Any) -> str | None:
    """Return "texts" or "tokens", judging by the first entries of X; None if X is neither."""
    if (
        isinstance(X, str | bytes | Mapping)
        or sparse.issparse(X)
        or not isinstance(X, Iterable)
        or is_frame(X)
    ):
        return None
    if isinstance(X, np.ndarray) and (X.ndim != 1 or X.dtype.kind not in "OU"):
        return "tokens" if X.ndim == 2 and X.dtype.kind == "U" else None
    for entry in X:
        if isinstance(entry, str):
            return "texts"
        if is_missing(entry) or sparse.issparse(entry):
            continue
        if not isinstance(entry, Iterable) or isinstance(entry, bytes | Mapping):
            return None
        first = next(iter(entry), None)
        if isinstance(first, str):
            return "tokens"
        if first is not None:
            return None
    return None

"""Count the words of texts and tokens in batches; filter and sort the words at the end."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.arrays import Bools, Int32s, Int64s, Objects
from mcsquared.checks import check_integer, is_integer
from mcsquared.corpus.buffers import (
    Buffer,
    LabelEncoder,
    RowRange,
    RowsBuffer,
    Storage,
    recode_rows,
)
from mcsquared.corpus.columns.builder import Batch
from mcsquared.corpus.columns.values import as_list, is_missing
from mcsquared.corpus.content import MAX_COUNT, Words, row_offsets, words_from_counts
from mcsquared.corpus.sources.words import (
    character_pairs,
    detect_function_words,
    emoji_note,
    is_function_ngram,
    plain_text,
    repeated_line_note,
    storable_options,
    unspaced_language,
    uses_character_pairs,
    vectorizer_arguments,
)
from mcsquared.errors import InputError, input_errors
from mcsquared.markup import plural

_SAMPLE_LENGTH = 1 << 22  # characters used to detect the language, if the first texts are long
_MANY_TEXTS = 100  # above this, a word that occurs in a single text is often a misprint


@dataclass(frozen=True, eq=False)
class BufferedWords:
    """Word counts of each group, in buffers."""

    rows: RowsBuffer  # words and counts of each group, sorted by word
    lengths: Buffer  # number of tokens of each group, int32
    vocabulary: Objects
    # (n_words,): number of occurrences of each word, and number of groups that contain it
    word_frequency: Int64s
    document_frequency: Int64s
    # Number of distinct words that were dropped, and of their occurrences.
    dropped_words: int
    dropped_tokens: int
    notes: list[str]  # notes on how the data were read, one sentence each
    options: dict[str, Any] = field(default_factory=dict)  # how texts were split into words

    def read(self, *ranges: RowRange) -> Words:
        """Return the words of the groups in half-open ranges (first, last)."""
        return Words(self.rows.matrix(len(self.vocabulary), *ranges), self.vocabulary)

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all groups."""
        return int(self.word_frequency.sum())

    @property
    def parts(self) -> list[RowsBuffer]:
        """The buffers that a fingerprint depends on."""
        return [self.rows]

    def without_rows(self) -> "BufferedWords":
        """Return the words without groups."""
        return replace(self, rows=RowsBuffer(Storage(), "words"))


def count_texts(
    texts: Iterable[Any],
    vocabulary: Sequence[str] | None = None,
    argument: str = "texts",
    **vectorizer: Any,
) -> BufferedWords:
    """Count the words of texts; see `Corpus.from_texts`. ``argument`` is their name in errors."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"{argument} must be a list of strings, got {type(texts).__name__}")
    listed: list[str | None] = []
    for j, text in enumerate(as_list(texts)):
        if not isinstance(text, str) and not is_missing(text):
            raise InputError(f"{argument}[{j}] must be a string, got {text!r:.40}")
        listed.append(str(text) if isinstance(text, str) else None)
    if not listed:
        raise InputError(f"{argument} must contain at least one group, got none")
    builder = WordsBuilder(Storage(), argument, vocabulary, vectorizer=vectorizer)
    builder.add_texts(listed)
    return builder.finish()


def count_tokens(tokens: Iterable[Any], vocabulary: Sequence[str] | None = None) -> BufferedWords:
    """Count tokens, one sequence of words per group."""
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        raise InputError(f"tokens must be a list of lists of words, got {type(tokens).__name__}")
    groups = as_list(tokens)
    if not groups:
        raise InputError("tokens must contain at least one group, got none")
    builder = WordsBuilder(Storage(), "tokens", vocabulary, has_counts=False)
    builder.add_tokens(_group_tokens(j, group) for j, group in enumerate(groups))
    return builder.finish()


def _group_tokens(j: int, group: Any) -> list[str]:
    if is_missing(group):
        return []
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        raise InputError(
            f"tokens[{j}] must be a list of words, got {type(group).__name__} "
            "(Corpus.from_texts splits texts into words)"
        )
    words = []
    for word in group:
        if isinstance(word, str):
            words.append(str(word))
        elif isinstance(word, int | np.integer) and type(word) is not bool:
            words.append(str(int(word)))
        else:
            raise InputError(f"tokens[{j}] must contain words (strings), got {word!r:.40}")
    return words


class WordsBuilder:
    """Builds word counts from batches; `finish` assigns the final codes of words.

    Only the words of ``vocabulary`` are counted, if it is given. Integer codes refer to
    ``words_of_codes``; by default, and if all of these words are integers, the codes themselves are
    the words. ``vectorizer`` are arguments of ``CountVectorizer`` for texts, and ``argument`` is
    the name of the content in errors.
    """

    def __init__(
        self,
        storage: Storage,
        argument: str,
        vocabulary: Any = None,
        words_of_codes: Any = None,
        has_counts: bool = True,
        vectorizer: dict[str, Any] | None = None,
    ) -> None:
        self._storage, self._argument = storage, argument
        self._vocabulary = None if vocabulary is None else _checked_vocabulary(vocabulary)
        self._words_of_codes = None if words_of_codes is None else _word_list(words_of_codes)
        if self._words_of_codes and all(w.isascii() and w.isdigit() for w in self._words_of_codes):
            self._words_of_codes = None
        options = vectorizer or {}
        self.options = storable_options(options)
        self._drops_function_words = options.get("stop_words", "auto") == "auto"
        self._vectorizer = vectorizer_arguments(options)
        self._language: str | None = None
        self._text_notes: list[str] = []
        self._requested, self._has_pairs = options, False
        self._limits = {
            name: self._vectorizer.pop(name, None) for name in ("min_df", "max_df", "max_features")
        }
        self._encoder = LabelEncoder(storage.budget)
        self._raw = RowsBuffer(storage, "raw words", has_counts)
        self._pending: list[str | None] = []  # texts that are not yet counted
        self._word_frequency = np.zeros(0, np.int64)
        self._document_frequency: Int64s | None = None
        self._n_missing = 0

    def add_texts(self, texts: list[str | None]) -> None:
        """Split and count the texts of consecutive groups.

        The first ones are counted once there are enough of them to detect the language, which then
        does not depend on the batches.
        """
        self._n_missing += sum(text is None for text in texts)
        self._pending += texts
        if self._raw.n_rows or sample_of_texts(self._pending)[1]:
            self._count_pending()
            return
        with self._vectorizer_errors():
            self._analyzer()  # reports invalid arguments with the first batch

    def _count_pending(self) -> None:
        """Split and count the texts that were added and not yet counted."""
        texts, self._pending = self._pending, []
        if self._raw.n_rows == 0:
            sample = sample_of_texts(texts)[0]
            self._language = unspaced_language(sample)
            found = (emoji_note(sample, self._requested), repeated_line_note(texts))
            self._text_notes = [note for note in found if note is not None]
            self._has_pairs = uses_character_pairs(self._requested, self._language)
            if self._has_pairs:
                self.options = self.options | {"character_pairs": True}
        with self._vectorizer_errors():
            analyze = self._analyzer()
            lengths, entries = self._encoder.codes_of_groups(analyze(text or "") for text in texts)
        start = row_offsets(lengths)
        shape = (len(texts), len(self._encoder))
        counts = sparse.csr_matrix((np.ones(len(entries), np.int32), entries, start), shape)
        counts.sum_duplicates()
        if self._vectorizer.get("binary"):
            counts.data.fill(1)
        before = self._document_frequency
        before = self._word_frequency[:0] if before is None else before
        self._document_frequency = self._add_counts(before, counts.indices, None)
        self._append(np.diff(counts.indptr), counts.indices, counts.data)

    @contextmanager
    def _vectorizer_errors(self) -> Iterator[None]:
        failure = f"{self._argument} cannot be counted"
        errors = (TypeError, AttributeError, re.error)
        with (
            input_errors(failure, ValueError),
            input_errors(f"{failure} with these vectorizer arguments", *errors),
        ):
            yield

    def _analyzer(self) -> Callable[[str], Iterable[str]]:
        """Return the function that splits a text into words."""
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(**self._vectorizer)
        try:
            vectorizer.fit([])  # the arguments are checked only here
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
        analyze: Callable[[str], Iterable[str]] = vectorizer.build_analyzer()
        if any(callable(value) for value in self._vectorizer.values()):
            return analyze
        if self._has_pairs:
            return lambda text: character_pairs(analyze(plain_text(text)))
        return lambda text: analyze(plain_text(text))

    def add_tokens(self, groups: Iterable[list[str]]) -> None:
        """Append the words of consecutive groups."""
        self._append(*self._encoder.codes_of_groups(groups), None)

    def add_batch(self, batch: Batch, is_coded: bool = False, n_missing: int = 0) -> None:
        """Append a batch of bags of words; if ``is_coded``, their labels are integers."""
        labels = batch.labels
        if is_coded and self._words_of_codes is not None:
            labels = [_word_of_code(self._words_of_codes, int(label)) for label in labels]
        self._n_missing += n_missing
        self._append(batch.lengths, self._encoder.codes(labels)[batch.values], batch.counts)

    def _append(self, lengths: Any, codes: Int32s, counts: Any) -> None:
        self._word_frequency = self._add_counts(self._word_frequency, codes, counts)
        self._raw.append(lengths, codes, counts)

    def _add_counts(self, total: Int64s, codes: Int32s, counts: Any) -> Int64s:
        # Sums of integers below 2⁵³ are exact in float64.
        seen = np.bincount(codes, weights=counts, minlength=len(self._encoder)).astype(np.int64)
        seen[: len(total)] += total
        return seen

    def finish(self) -> BufferedWords:
        """Filter and sort the words, and return the content."""
        if self._pending:
            self._count_pending()
        n_groups, vocabulary = self._raw.n_rows, self._vocabulary
        if self._n_missing == n_groups and vocabulary is None:
            raise InputError(
                f"{self._argument} must contain at least one text, got only missing values"
            )
        notes = []
        if self._document_frequency is not None and self._n_missing:
            notes.append(f"{self._n_missing} of {n_groups} texts are missing and have no content")
        if self._language is not None and "tokenizer" not in self._vectorizer:
            notes.append(
                f"the texts are in {self._language}, which has no spaces between words: "
                + (
                    "pairs of characters are counted instead; to count words, "
                    if self._has_pairs
                    else ""
                )
                + "split the texts with a tokenizer of this language and use Corpus.from_tokens, "
                "or a text column of words separated by spaces"
            )
        if vocabulary is None:
            notes += self._text_notes
        if vocabulary is not None:
            code_of = {word: code for code, word in enumerate(vocabulary)}
            new_code = np.array([code_of.get(w, -1) for w in self._encoder.labels()], np.int32)
        else:
            vocabulary, new_code = self._select_words(n_groups, notes)
        kept = new_code >= 0
        word_frequency = np.zeros(len(vocabulary), np.int64)
        word_frequency[new_code[kept]] = self._word_frequency[kept]
        dropped_words = int((~kept).sum())
        dropped_tokens = int(self._word_frequency.sum() - word_frequency.sum())
        if dropped_words and self._vocabulary is not None:
            were = "was" if dropped_words == 1 else "were"
            notes.append(
                f"{plural(dropped_words, 'word')} outside the vocabulary {were} dropped "
                f"({plural(dropped_tokens, 'token')})"
            )
        rows, lengths, document_frequency = self._recode(new_code, len(vocabulary))
        counts = (word_frequency, document_frequency, dropped_words, dropped_tokens)
        return BufferedWords(rows, lengths, vocabulary, *counts, notes, self.options)

    def _select_words(self, n_groups: int, notes: list[str]) -> tuple[Objects, Int32s]:
        """Return the words to keep, and the final code of each provisional code."""
        names, position = self._encoder.sorted()
        if not len(names):
            hint = " (by default, two or more alphanumeric characters)"
            what = "word" + ("" if self._document_frequency is None else hint)
            raise InputError(f"{self._argument} must contain at least one {what}, got none")
        if self._document_frequency is None:
            return names, position
        order = np.argsort(position)
        frequencies = self._document_frequency[order], self._word_frequency[order]
        keep = np.ones(len(names), bool)
        if self._drops_function_words and n_groups > _MANY_TEXTS:
            keep = _content_words(names, frequencies[1], notes)
        within_limits = _frequency_mask(*frequencies, n_groups, self._limits, notes, self._argument)
        dropped = keep & ~within_limits
        if dropped.any():
            n_tokens = frequencies[1].sum()
            notes.append(
                f"{dropped.sum()} of {len(names)} words were dropped by min_df, max_df or "
                f"max_features ({frequencies[1][dropped].sum()} of {n_tokens} tokens)"
            )
        keep &= within_limits
        new_code = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        return names[keep], new_code[position]

    def _recode(self, new_code: Int32s, n_words: int) -> tuple[RowsBuffer, Buffer, Int64s]:
        rows = RowsBuffer(self._storage, "words")
        lengths = self._storage.buffer("lengths", np.int32)
        document_frequency = np.zeros(n_words, np.int64)
        for block in recode_rows(self._raw, new_code, n_words, rows, "content"):
            n_tokens = np.asarray(block.sum(axis=1)).ravel()
            if (largest := n_tokens.max(initial=0)) > MAX_COUNT:
                raise InputError(f"a group must have <= {MAX_COUNT} tokens, got {largest}")
            lengths.append(n_tokens)
            document_frequency += np.bincount(block.indices, minlength=n_words)
        return rows, lengths, document_frequency


def sample_of_texts(texts: list[str | None]) -> tuple[list[str | None], bool]:
    """Return the texts used to detect the language, and whether they are enough."""
    n_characters = 0
    for i, text in enumerate(texts[:_MANY_TEXTS]):
        n_characters += len(text or "")
        if n_characters >= _SAMPLE_LENGTH:
            return texts[: i + 1], True
    return texts[:_MANY_TEXTS], len(texts) >= _MANY_TEXTS


def _content_words(names: Any, frequency: Int64s, notes: list[str]) -> Bools:
    """Return the mask of the words that are not function words of the languages of the texts."""
    words_of = detect_function_words(names, frequency)
    drop = is_function_ngram(names, set().union(*words_of.values()))
    if words_of:
        languages = " and ".join(map(str.capitalize, words_of))
        examples = ", ".join(names[np.argsort(-frequency * drop, kind="stable")[:5]])
        notes.append(
            f"{int(drop.sum())} {languages} function words ({examples}, ...) were dropped, "
            f"{frequency[drop].sum() / frequency.sum():.0%} of the tokens; stop_words=None "
            "(--stop-words none in mc2 fit) keeps them"
        )
    return ~drop


def _frequency_mask(
    document_frequency: Int64s,
    word_frequency: Int64s,
    n_texts: int,
    limits: Any,
    notes: list[str],
    argument: str,
) -> Bools:
    """Return the mask of the words that ``min_df``, ``max_df`` and ``max_features`` keep."""
    min_df, max_df = limits["min_df"], limits["max_df"]
    if min_df is None:
        min_df = 2 if n_texts > _MANY_TEXTS else 1
    enough = document_frequency >= _document_limit(min_df, "min_df", n_texts)
    upper = 0.5 if max_df is None else max_df
    keep = enough & (document_frequency <= _document_limit(upper, "max_df", n_texts))
    if max_df is None and not keep.any():
        keep = enough & (document_frequency <= n_texts)
        notes.append("every word is in more than half of the texts, so frequent words are kept")
    limit = limits["max_features"]
    if limit is not None:
        limit = check_integer("max_features", limit, 1)
        candidates = np.flatnonzero(keep)
        # Stable, so that equally frequent words are kept in alphabetical order.
        chosen = candidates[np.argsort(-word_frequency[candidates], kind="stable")[:limit]]
        keep = np.isin(np.arange(len(keep)), chosen)
    if not keep.any():
        raise InputError(
            f"{argument}: none of {len(keep)} words remain (min_df={min_df}, max_df={max_df}); "
            "try a lower min_df or a higher max_df"
        )
    return keep


def _document_limit(value: Any, name: str, n_texts: int) -> float:
    if is_integer(value) and value >= 0:
        return float(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0.0 <= float(value) <= 1.0:
        return float(value) * n_texts
    raise InputError(
        f"{name} must be an integer >= 0 (number of texts) or a float in [0, 1] (share of texts), "
        f"got {value!r}"
    )


def _word_list(vocabulary: Any) -> list[str]:
    if isinstance(vocabulary, str | bytes) or not isinstance(vocabulary, Iterable):
        raise InputError(f"vocabulary must be a list of words, got {vocabulary!r:.40}")
    return [str(word) for word in vocabulary]


def _checked_vocabulary(vocabulary: Any) -> Objects:
    words = _word_list(vocabulary)
    return words_from_counts(sparse.csr_matrix((1, len(words)), dtype=np.int32), words).vocabulary


def _word_of_code(words: list[str], code: int) -> str:
    if not 0 <= code < len(words):
        raise InputError(
            f"must contain codes below {len(words)}, the number of words in vocabulary, got {code}"
        )
    return words[code]

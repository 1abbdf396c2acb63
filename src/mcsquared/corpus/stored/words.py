"""The content of a corpus on disk: words numbered as they appear, then in their final order."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus.content import LARGEST_COUNT, words_from_counts
from mcsquared.corpus.stored.codebook import Codebook, Room, settled
from mcsquared.corpus.stored.flat import FlatFile, RowsFile
from mcsquared.corpus.text import (
    frequent_words,
    missing_note,
    outside_note,
    rare_note,
    take_limits,
    vectorize,
    word_list,
)
from mcsquared.errors import InputError

__all__ = ["StoredWords", "WordsWriter"]


@dataclass(frozen=True, eq=False)
class StoredWords:
    """Counts of words per group, in files.

    Parameters
    ----------
    rows : RowsFile
        Words and counts of each group, sorted by word.
    lengths : FlatFile
        Tokens of each group, int32.
    vocabulary : ndarray of object (n_words,)
    word_frequency, document_frequency : int64 (n_words,)
        How often a word occurs, and in how many groups.
    dropped_words, dropped_tokens : int
    notes : tuple of str
    """

    rows: RowsFile
    lengths: FlatFile
    vocabulary: NDArray[np.object_]
    word_frequency: NDArray[np.int64]
    document_frequency: NDArray[np.int64]
    dropped_words: int
    dropped_tokens: int
    notes: tuple[str, ...]


class WordsWriter:
    """Takes the content of batch after batch; `finish` gives every word its final place.

    Parameters
    ----------
    folder : Path
    room : Room
        For different words.
    column : str
        What errors call the content.
    vocabulary : sequence of str, optional
        Count these words alone.
    words_of_codes : sequence of str, optional
        What the numbers in lists of codes stand for; by default, and where all of these are numbers
        themselves, numbers are words.
    counted : bool
        Whether entries come with counts.
    vectorizer : dict
        Arguments of ``CountVectorizer`` for texts.
    """

    def __init__(
        self,
        folder: Path,
        room: Room,
        column: str,
        vocabulary: Any,
        words_of_codes: Any,
        counted: bool,
        vectorizer: dict[str, Any],
    ) -> None:
        self._folder, self._column = folder, column
        self._wanted = None if vocabulary is None else _checked_vocabulary(vocabulary)
        self._words_of_codes = None if words_of_codes is None else word_list(words_of_codes)
        if self._words_of_codes is not None and all(map(_is_digits, self._words_of_codes)):
            self._words_of_codes = None
        self._vectorizer = dict(vectorizer)
        self._limits = take_limits(self._vectorizer)
        self._book = Codebook(room)
        self._raw = RowsFile(folder, "raw words", counted)
        self._total = np.zeros(0, np.int64)
        self._in_texts: NDArray[np.int64] | None = None
        self._n_missing = 0

    def add_texts(self, texts: list[str | None]) -> None:
        """Cut and count the texts of consecutive groups."""
        self._n_missing += sum(text is None for text in texts)
        listed = ["" if text is None else text for text in texts]
        counts, names = vectorize(listed, self._vectorizer, may_be_empty=True)
        codes = self._book.codes(names)[counts.indices]
        in_texts = np.zeros(0, np.int64) if self._in_texts is None else self._in_texts
        self._in_texts = self._added(in_texts, codes[counts.data > 0], None)
        self._append(np.diff(counts.indptr), codes, counts.data)

    def add_entries(self, entries: Any, coded: bool, n_missing: int) -> None:
        """Take the words of consecutive groups; ``coded``: their labels are numbers."""
        labels = entries.labels
        if coded and self._words_of_codes is not None:
            labels = [_word(self._words_of_codes, int(label)) for label in labels]
        self._n_missing += n_missing
        self._append(entries.lengths, self._book.codes(labels)[entries.codes], entries.counts)

    def _append(self, lengths: Any, codes: NDArray[np.int32], counts: Any) -> None:
        self._total = self._added(self._total, codes, counts)
        if self._raw.counts is not None and counts is None:
            counts = np.ones(len(codes), np.int32)
        self._raw.append(lengths, codes, counts)

    def _added(
        self, total: NDArray[np.int64], codes: NDArray[np.int32], counts: Any
    ) -> NDArray[np.int64]:
        # Sums of whole numbers below 2⁵³ are exact in floating numbers too.
        seen = np.bincount(codes, weights=counts, minlength=len(self._book)).astype(np.int64)
        seen[: len(total)] += total
        return seen

    # -------------------------------------------------------------------------- the end

    def finish(self) -> StoredWords:
        """Order and filter the words, and write the content again in its final form."""
        n_groups = self._raw.n_rows
        if self._n_missing == n_groups and self._wanted is None:
            raise InputError(
                f"text names the column {self._column!r}, in which every text is missing"
            )
        notes = missing_note(self._n_missing, n_groups) if self._in_texts is not None else []
        if self._wanted is not None:
            vocabulary, place = self._wanted, self._places_in(self._wanted)
        else:
            vocabulary, place, remarks = self._frequent(n_groups)
            notes += remarks
        kept = place >= 0
        n_all, n_kept = int(self._total.sum()), int(self._total[kept].sum())
        dropped_words, dropped_tokens = int((~kept).sum()), n_all - n_kept
        if self._wanted is not None:
            notes += outside_note(dropped_words, dropped_tokens)
        else:
            notes += rare_note(dropped_words, len(kept), dropped_tokens, n_all)
        rows, lengths, in_groups = self._settle(place, len(vocabulary))
        total = np.zeros(len(vocabulary), np.int64)
        total[place[kept]] = self._total[kept]
        return StoredWords(
            rows, lengths, vocabulary, total, in_groups, dropped_words, dropped_tokens, tuple(notes)
        )

    def _places_in(self, vocabulary: Iterable[str]) -> NDArray[np.int32]:
        code_of = {word: code for code, word in enumerate(vocabulary)}
        return np.array([code_of.get(name, -1) for name in self._book.names()], np.int32)

    def _frequent(self, n_groups: int) -> tuple[NDArray[np.object_], NDArray[np.int32], list[str]]:
        """Return the words that are kept, the place of each provisional code, and remarks."""
        names, place = self._book.in_order()
        if self._in_texts is None:
            if not len(names):
                raise InputError("tokens has no word in any group, but at least one is wanted")
            return names, place, []
        if not len(names):
            raise InputError(
                "texts: there is no word of two letters or more in any text, but at least one is "
                "wanted"
            )
        in_texts, total = np.empty_like(self._in_texts), np.empty_like(self._total)
        in_texts[place], total[place] = self._in_texts, self._total
        keep, remarks = frequent_words(in_texts, total, n_groups, self._limits)
        new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        return names[keep], new[place], remarks

    def _settle(
        self, place: NDArray[np.int32], n_words: int
    ) -> tuple[RowsFile, FlatFile, NDArray[np.int64]]:
        rows = RowsFile(self._folder, "words")
        lengths = FlatFile(self._folder / "lengths", np.int32)
        in_groups = np.zeros(n_words, np.int64)
        for n_rows, row_of, codes, counts in settled(self._raw, place, n_words, rows, "content"):
            tokens = np.bincount(row_of, weights=counts, minlength=n_rows)
            if tokens.max(initial=0) > LARGEST_COUNT:
                raise InputError(
                    f"a group has {tokens.max():.0f} tokens, but at most {LARGEST_COUNT} are "
                    "possible"
                )
            lengths.append(tokens)
            in_groups += np.bincount(codes, minlength=n_words)
        return rows, lengths, in_groups


def _checked_vocabulary(vocabulary: Any) -> NDArray[np.object_]:
    words = word_list(vocabulary)
    return words_from_counts(sparse.csr_matrix((1, len(words)), dtype=np.int32), words).vocabulary


def _word(words: list[str], code: int) -> str:
    if not 0 <= code < len(words):
        raise InputError(f"holds the code {code}, but vocabulary has {len(words)} words, from 0")
    return words[code]


def _is_digits(word: str) -> bool:
    return word.isascii() and word.isdigit()

"""Corpora on disk, parts of which are read into memory."""

import os
import shutil
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Int64s
from mcsquared.corpus.buffers import RowsBuffer, Run, Storage
from mcsquared.corpus.columns.builder import BufferedColumn
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.content import object_array
from mcsquared.corpus.corpus import Corpus
from mcsquared.corpus.rows import row_index
from mcsquared.corpus.sources.texts import BufferedWords
from mcsquared.corpus.summary import fingerprint, size_line
from mcsquared.errors import InputError, input_errors

_BLOCK_NAMES = 2**16


class DiskCorpus:
    """A corpus in files of a scratch folder; `ParquetFolder.open` makes one.

    Memory use depends on the number of words and categories, not on that of groups. The folder is
    removed by `close`, at the end of a ``with`` block, and at the latest when the program ends.

    Attributes
    ----------
    folder : Path
        The scratch folder; everything in it is removed with it.
    memory : int
        Bytes that the whole program may use.
    vocabulary : ndarray of object, shape (n_words,)
    word_frequency, document_frequency : ndarray of int64, shape (n_words,)
        How often a word occurs, and in how many groups.
    contexts : dict from str to Column
        Columns without rows: names, kinds, categories, notes.
    notes : list of str
        Remarks on how the data were read, one sentence each.
    dropped_words, dropped_tokens : int
        Number of distinct words that were left out, and of their occurrences.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> Path("folder").mkdir()
    >>> papers = pd.DataFrame({"tokens": [["ant", "bee"], ["bee"], []], "year": [1990, None, 2000]})
    >>> papers.to_parquet("folder/one.parquet")
    >>> disk = mc2.ParquetFolder("folder").open()
    >>> disk
    DiskCorpus(3 groups, 3 tokens, 2 words, contexts: year)
    >>> disk.n_groups, disk.n_tokens, disk.n_words, disk.document_frequency.tolist()
    (3, 3, 2, [1, 2])
    >>> disk[0:2].contexts["year"].values
    array([1990.,   nan])
    >>> disk.lengths(0, 3), disk.group_name(2), disk.fingerprint() == disk[0:3].fingerprint()
    (array([2, 1, 0]), '2', True)
    >>> print(disk.describe())
    3 groups, 3 tokens, 2 words
    year: number, family gaussian, 2 of 3 observed, 1990 to 2000
    >>> disk.close()
    >>> disk.folder.exists()
    False
    """

    def __init__(
        self,
        folder: Path,
        memory: int,
        words: BufferedWords,
        columns: dict[str, BufferedColumn],
        names: RowsBuffer | None,
    ) -> None:
        self.folder, self.memory = folder, memory
        self._words, self._names = words, names
        references = {name: column.reference for name, column in columns.items()}
        no_rows = RowsBuffer(Storage(), "words")
        self._empty = shared = Corpus(replace(words, rows=no_rows), references)  # for all parts
        self.contexts: dict[str, Column] = shared.contexts
        self._columns = {
            name: replace(column, reference=self.contexts[name]) for name, column in columns.items()
        }
        self.n_groups: int = words.rows.n_rows
        self.n_tokens = int(words.word_frequency.sum())
        self.vocabulary: NDArray[np.object_] = words.vocabulary
        self.n_words: int = len(self.vocabulary)
        self.word_frequency = words.word_frequency
        self.document_frequency = words.document_frequency
        self.notes: list[str] = shared.notes
        self.dropped_words, self.dropped_tokens = shared.dropped_words, shared.dropped_tokens
        self._fingerprint: str | None = None
        self._remove: Any = weakref.finalize(self, _remove, folder, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process reads the files, but does not remove them.
        return {**self.__dict__, "_remove": None}

    def __len__(self) -> int:
        return self.n_groups

    def __repr__(self) -> str:
        return f"DiskCorpus({size_line(self)}, contexts: {', '.join(self.contexts) or 'none'})"

    def __enter__(self) -> "DiskCorpus":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the scratch folder; further calls have no effect."""
        if self._remove is not None:
            self._remove()

    def __getitem__(self, rows: Any) -> Corpus:
        """Return the corpus of some groups: a slice ``first:last``, or an array of few indices."""
        runs = list(_runs(rows, self.n_groups))
        contexts = {name: column.read(*runs) for name, column in self._columns.items()}
        return self._empty._with(self._words.read(*runs), contexts, self._group_names(*runs))

    def lengths(self, first: int, last: int) -> Int64s:
        """Return the number of tokens of the groups ``first:last``, int64."""
        found: Int64s = self._words.lengths.read((first, last)).astype(np.int64)
        return found

    def group_name(self, index: int) -> str:
        """Return the name of one group."""
        if not 0 <= index < self.n_groups:
            raise InputError(f"the index must be from 0 to {self.n_groups - 1}, got {index}")
        return str(self._group_names((index, index + 1))[0])

    def _group_names(self, *runs: Run) -> NDArray[np.object_]:
        if self._names is None:
            return object_array([str(j) for first, last in runs for j in range(first, last)])
        return object_array(self._names.strings(*runs))

    def describe(self) -> str:
        """Return one line for the content and one per context; see `Corpus.describe`."""
        contexts = [column.describe(self.n_groups) for column in self._columns.values()]
        return "\n".join([size_line(self), *contexts, *self._words.notes])

    def fingerprint(self) -> str:
        """Return the SHA-256 that the corpus would have in memory; see `Corpus.fingerprint`."""
        if self._fingerprint is None:
            columns = self._columns.values()
            blocks = range(0, self.n_groups, _BLOCK_NAMES)
            self._fingerprint = fingerprint(
                [self._words.rows],
                self.vocabulary,
                ((column.reference, column.values) for column in columns),
                (self._group_names((j, min(j + _BLOCK_NAMES, self.n_groups))) for j in blocks),
            )
        return self._fingerprint


class SampledCorpus(Corpus):
    """Some groups of a corpus on disk, in memory.

    Parameters
    ----------
    source : DiskCorpus
    groups : int64
        The groups in memory, in increasing order.
    """

    def __init__(self, source: DiskCorpus, groups: Int64s) -> None:
        self.__dict__.update(source[groups].__dict__)
        self.source, self.groups = source, groups

    @property
    def word_frequency(self) -> Int64s:
        """Number of occurrences of each word in all groups on disk."""
        return self.source.word_frequency


def _remove(folder: Path, process: int) -> None:
    # A forked process has the object too, but does not own the folder.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _runs(rows: Any, n_groups: int) -> Iterator[Run]:
    """Yield (first, last) of consecutive groups."""
    if isinstance(rows, slice) and rows.step in (None, 1):
        with input_errors(f"the slice {rows} is not valid", TypeError):
            first, last, _ = rows.indices(n_groups)
        if first >= last:
            raise InputError("the index must select at least one group, got none")
        yield first, last
        return
    index = row_index(rows, n_groups)
    ends = np.flatnonzero(np.diff(index) != 1) + 1
    for run in np.split(index, ends):
        yield int(run[0]), int(run[-1]) + 1

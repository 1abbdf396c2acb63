"""Corpora larger than memory: folders of Parquet files, and the scratch files made from them."""

import copy
import errno
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from mcsquared.arrays import Int32s, Int64s, Objects
from mcsquared.corpus.buffers import RowRange, RowsBuffer
from mcsquared.corpus.columns.builder import BufferedColumn
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.content import Vectors, Words, object_array
from mcsquared.corpus.corpus import Corpus
from mcsquared.corpus.disk_levels import DiskLevels
from mcsquared.corpus.levels import Level, describe_levels, level_parts
from mcsquared.corpus.rows import row_index
from mcsquared.corpus.sources.texts import BufferedWords
from mcsquared.corpus.sources.vectors import BufferedVectors
from mcsquared.corpus.summary import fingerprint, size_line
from mcsquared.errors import InputError, import_optional, input_errors
from mcsquared.locks import try_lock

_NAMES_PER_BLOCK = 2**16
_BYTES_OF_PREFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BYTES_OF_PREFIX |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_MIN_MEMORY = 10**6
_FOLDER_PREFIX, _LOCK_NAME = "mcsquared-", ".lock"  # of scratch folders, and of a file in each


class DiskCorpus:
    """A corpus in files of a scratch folder, as returned by `ParquetFolder.open`.

    Memory use depends on the number of words and categories, not on the number of groups. The
    folder is removed by `close`, at the end of a ``with`` block, or when the program ends.

    Attributes
    ----------
    folder : Path
        The scratch folder.
    memory : int
        Memory limit of the whole process, in bytes.
    content : Words or Vectors
        Content without groups.
    vocabulary : ndarray of object, shape (n_words,)
        None for vectors, like the two frequencies.
    word_frequency, document_frequency : ndarray of int64, shape (n_words,)
        Number of occurrences of each word, and number of groups that contain it.
    contexts : dict from str to Column
        Columns without rows: names, kinds, categories, notes.
    levels : tuple of Level
        Levels above groups, without the units of the groups; see `parents`.
    notes : list of str
        Notes on how the data were read, one sentence each.
    dropped_words, dropped_tokens : int
        Numbers of distinct words that were dropped and of their tokens.

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
    >>> papers.assign(venue=["A", "B", "A"]).to_parquet("folder/one.parquet")
    >>> with mc2.ParquetFolder("folder", levels=["venue"]).open() as disk:
    ...     disk.parents()
    array([0, 1, 0], dtype=int32)
    """

    def __init__(
        self,
        folder: Path,
        memory: int,
        content: BufferedWords | BufferedVectors,
        columns: dict[str, BufferedColumn],
        names: RowsBuffer | None,
        disk_levels: DiskLevels | None,
    ) -> None:
        self.folder, self.memory, self._disk_levels = folder, memory, disk_levels
        self._content, self._names = content, names
        references = {name: column.reference for name, column in columns.items()}
        # Every corpus that `__getitem__` reads copies the vocabulary and notes of this one.
        self._empty = shared = Corpus(content.without_rows(), references)
        self.content: Words | Vectors = shared.content
        self.contexts: dict[str, Column] = shared.contexts
        self._columns = {
            name: replace(column, reference=self.contexts[name]) for name, column in columns.items()
        }
        self.n_groups: int = content.rows.n_rows
        self.n_tokens: int = content.n_tokens
        self.vocabulary: Objects | None = content.vocabulary
        self.n_words: int = shared.n_words
        self.word_frequency = content.word_frequency
        self.document_frequency = content.document_frequency
        self.levels: tuple[Level, ...] = disk_levels.levels if disk_levels else ()
        shared.notes += disk_levels.notes if disk_levels else []
        self.notes: list[str] = shared.notes
        self.dropped_words, self.dropped_tokens = shared.dropped_words, shared.dropped_tokens
        self._fingerprint: str | None = None
        self._finalizer: Any = weakref.finalize(self, _remove_folder, folder, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process reads the files, but does not remove them.
        return {**self.__dict__, "_finalizer": None}

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
        if self._finalizer is not None:
            self._finalizer()

    def __getitem__(self, rows: Any) -> Corpus:
        """Read the groups selected by a slice, a mask or an array of indices into memory."""
        ranges = list(_row_ranges(rows, self.n_groups))
        contexts = {name: column.read(*ranges) for name, column in self._columns.items()}
        part = self._empty._with_data(
            self._content.read(*ranges), contexts, self._group_names(*ranges)
        )
        part.levels = self._read_levels(*ranges)
        return part

    def _read_levels(self, *ranges: RowRange) -> tuple[Level, ...]:
        return self._disk_levels.read(*ranges) if self._disk_levels else ()

    def parents(self) -> Int32s:
        """Return the unit of every group at the lowest level above groups, -1 for none: int32."""
        return self._read_levels((0, self.n_groups))[0].parent_of_child

    def lengths(self, first: int, last: int) -> Int64s:
        """Return the number of tokens of the groups ``first:last``, int64."""
        return self._content.lengths.read((first, last)).astype(np.int64)

    def group_name(self, index: int) -> str:
        """Return the name of one group."""
        if not 0 <= index < self.n_groups:
            raise InputError(f"index must be from 0 to {self.n_groups - 1}, got {index}")
        return str(self._group_names((index, index + 1))[0])

    def _group_names(self, *ranges: RowRange) -> Objects:
        if self._names is None:
            return object_array([str(j) for first, last in ranges for j in range(first, last)])
        return object_array(self._names.strings(*ranges))

    def describe(self) -> str:
        """Return lines on the content, on each context and level, and notes on the content."""
        contexts = [column.describe(self.n_groups) for column in self._columns.values()]
        levels = describe_levels(self._read_levels((0, self.n_groups)))
        return "\n".join([size_line(self), *contexts, *levels, *self._content.notes])

    def fingerprint(self) -> str:
        """Return the SHA-256 that the corpus would have in memory; see `Corpus.fingerprint`."""
        if self._fingerprint is None:
            columns = [(column.reference, column.values) for column in self._columns.values()]
            starts = range(0, self.n_groups, _NAMES_PER_BLOCK)
            ends = (min(j + _NAMES_PER_BLOCK, self.n_groups) for j in starts)
            blocks = map(self._group_names, zip(starts, ends, strict=True))
            levels = level_parts(self._read_levels((0, self.n_groups)))
            self._fingerprint = fingerprint(
                [*self._content.parts, *levels.parents],
                self.vocabulary,
                [*columns, *levels.columns],
                chain(blocks, levels.names),
            )
        return self._fingerprint


class SampledCorpus(Corpus):
    """A sample of the groups of a corpus on disk, in memory: ``groups``, in increasing order."""

    def __init__(self, source: DiskCorpus, groups: Int64s) -> None:
        self.__dict__.update(source[groups].__dict__)
        self.source, self.groups = source, groups

    @property
    def word_frequency(self) -> Int64s | None:
        """Number of occurrences of each word in all groups on disk; None for vectors."""
        return self.source.word_frequency


_LOCK_DESCRIPTORS: dict[Path, int] = {}  # of the scratch folders that this process has locked


def _remove_folder(folder: Path, process_id: int) -> None:
    # A forked process has a copy of the object, but does not own the folder.
    if os.getpid() == process_id:
        shutil.rmtree(folder, ignore_errors=True)
        if folder in _LOCK_DESCRIPTORS:
            os.close(_LOCK_DESCRIPTORS.pop(folder))


def _remove_abandoned(parent: Path) -> None:
    """Remove scratch folders that killed processes have left, which no process has locked."""
    with suppress(OSError):
        for folder in parent.glob(f"{_FOLDER_PREFIX}*"):
            with suppress(OSError), open(folder / _LOCK_NAME, "rb") as lock:
                if folder not in _LOCK_DESCRIPTORS and try_lock(lock.fileno()):
                    shutil.rmtree(folder, ignore_errors=True)


def _row_ranges(rows: Any, n_groups: int) -> Iterator[RowRange]:
    """Yield (first, last) of each run of consecutive groups."""
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


class ParquetFolder:
    """A folder of Parquet files with one row per group: a corpus that may exceed memory.

    The files are read in the order of their names; names that begin with "." or "_" are skipped.
    `MC2.fit` opens the folder itself.

    Parameters
    ----------
    path : path
        The folder, or a single Parquet file.
    text : str or pair of str, optional
        The column of the content: texts, lists of words, lists of integer codes (indices into
        ``vocabulary`` if given, else the words themselves), maps from word to count, lists of
        vectors, or one vector per group (a list of floats); or a pair of columns, with lists of
        words and lists of their counts. By default the first of these that exists: "tokens",
        "text", "words" with "counts", "counts", "vectors".
    content : list of str, optional
        Columns of numbers to use instead of ``text``: the coordinates of one vector per group. At
        least one must contain floats.
    contexts : "all", None, str or list of str
        Columns that are contexts; "all" means every remaining column.
    bags : dict from column to separator, optional
        Contexts whose strings contain several categories; see `Corpus.from_frame`.
    levels : str or list of str, optional
        Columns that name the unit of each group, such as its country, the lowest level first; see
        `Corpus.from_frame`. The units of all levels must fit into memory.
    level_contexts : dict from str to data frame, optional
        Contexts of the units of each level, with a row per unit.
    group_names : str, optional
        The column of group names; by default "0", "1", ...
    vocabulary : sequence of str, optional
        Count only these words; None for vectors.
    memory : str or number
        Memory limit of the whole process during a fit, such as "2GB" or "500 MiB". The distinct
        words and the distinct categories of the contexts must fit.
    scratch : path, optional
        Folder in which `open` creates the scratch folder. It needs about 12 bytes for each distinct
        word of a group (twice that while it is written) and 8 for each number. By default the
        system's temporary directory, which must not be memory-backed (tmpfs).
    **vectorizer
        Arguments of ``CountVectorizer`` for texts; see `Corpus.from_texts`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> Path("papers").mkdir()
    >>> for year in (1990, 2000):
    ...     papers = pd.DataFrame({"tokens": [["ant", "bee"], ["car"]], "year": [year, None]})
    ...     papers.to_parquet(f"papers/{year}.parquet")
    >>> folder = mc2.ParquetFolder("papers", memory="500MB")
    >>> folder
    ParquetFolder('papers')
    >>> mapping = folder.check()
    >>> with folder.open() as disk:
    ...     print(disk)
    DiskCorpus(4 groups, 6 tokens, 3 words, contexts: year)

    Vectors, several per group:

    >>> Path("images").mkdir()
    >>> images = pd.DataFrame({"vectors": [[[0.5, 1.0], [0.4, 1.1]], [[5.0, 9.0]], []]})
    >>> images.to_parquet("images/one.parquet")
    >>> with mc2.ParquetFolder("images").open() as disk:
    ...     print(disk, disk.lengths(0, 3))
    DiskCorpus(3 groups, 3 vectors of width 2, contexts: none) [2 1 0]
    """

    def __init__(
        self,
        path: str | PathLike[str],
        text: str | Sequence[str] | None = None,
        contexts: Sequence[str] | str | None = "all",
        *,
        content: Sequence[str] | str | None = None,
        bags: Mapping[str, str | None] | Sequence[str] | None = None,
        levels: Sequence[str] | str | None = None,
        level_contexts: Mapping[str, Any] | None = None,
        group_names: str | None = None,
        vocabulary: Sequence[str] | None = None,
        memory: str | float = "2GB",
        scratch: str | PathLike[str] | None = None,
        **vectorizer: Any,
    ) -> None:
        message = f"path must be the path of a folder or a Parquet file, got {path!r:.60}"
        with input_errors(message, TypeError):
            self.path = Path(path)
        self.text, self.content, self.contexts, self.bags = text, content, contexts, bags
        self.levels, self.level_contexts = levels, level_contexts
        self.group_names, self.vocabulary = group_names, vocabulary
        # The words of integer codes; `counted_in` replaces `vocabulary`, but not these.
        self.words_of_codes = vocabulary
        self.memory = parse_bytes(memory)
        self.scratch = scratch
        self.vectorizer = vectorizer

    def __repr__(self) -> str:
        return f"ParquetFolder({str(self.path)!r})"

    def open(self) -> DiskCorpus:
        """Read the files once into a scratch folder and return the corpus.

        The scratch folder is removed if reading fails; one that a killed process left is removed
        by the next call.

        Examples
        --------
        >>> disk = folder.open()
        >>> disk[2:4].group_names.tolist()
        ['2', '3']
        >>> disk.close()
        """
        mapping = self.check()
        from mcsquared.corpus.sources.parquet import read_folder

        scratch = self._scratch()
        try:
            return read_folder(self, mapping, scratch)
        except BaseException as error:
            _remove_folder(scratch, os.getpid())
            if isinstance(error, OSError):
                raise _disk_error(scratch, error) from error
            raise

    def check(self) -> Any:
        """Check the metadata of the files and return the mapping of their columns."""
        import_optional("pyarrow", "pyarrow", "reading Parquet files")
        from mcsquared.corpus.sources.parquet import map_columns

        return map_columns(self)

    def counted_in(self, vocabulary: Sequence[str] | None) -> "ParquetFolder":
        """Return a copy that counts only the words of ``vocabulary``, such as those of a model.

        Examples
        --------
        >>> with folder.counted_in(["bee"]).open() as disk:
        ...     disk.n_tokens
        2
        """
        other = copy.copy(self)
        other.vocabulary = vocabulary
        return other

    def _scratch(self) -> Path:
        parent = tempfile.gettempdir() if self.scratch is None else self.scratch
        message = f"scratch must be a writable folder, got {str(parent)!r}"
        with input_errors(message, OSError, TypeError, ValueError):
            _remove_abandoned(Path(parent))
            folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=self.scratch))
            descriptor = os.open(folder / _LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
            try_lock(descriptor)
        _LOCK_DESCRIPTORS[folder] = descriptor
        return folder


def _disk_error(scratch: Path, error: OSError) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"scratch: the disk of {scratch.parent} is full")
    return InputError(f"scratch: {scratch} cannot be written to ({error})")


def parse_bytes(memory: Any) -> int:
    """Return a size in bytes, from a number or a string such as "2GB" or "500 MiB"."""
    n_bytes = None
    if isinstance(memory, str):
        match = _SIZE.fullmatch(memory)
        prefix = match[2].lower() if match else ""
        if match and prefix in _BYTES_OF_PREFIX:
            with suppress(ValueError):  # such as 1.2.3
                n_bytes = float(match[1]) * _BYTES_OF_PREFIX[prefix]
    elif isinstance(memory, Real):
        n_bytes = float(memory)
    if n_bytes is None or not _MIN_MEMORY <= n_bytes < 2**62:
        raise InputError(f"memory must be a size of at least 1 MB, such as '2GB', got {memory!r}")
    return int(n_bytes)

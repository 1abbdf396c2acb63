"""Read the files of public data sets: npz archives and text files."""

import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Bools, Int64s, Objects
from mcsquared.corpus import Column, Corpus
from mcsquared.errors import InputError, input_errors
from mcsquared.families.dirichlet import count_matrix

FOLDER_VARIABLE = "MCSQUARED_DATA"
LINES_PER_CHUNK = 20_000  # lines of a wide table parsed at once before conversion to sparse

Folder = str | PathLike[str] | None


def find_file(folder: Folder, name: str, source: str, layout: str, gzipped: bool = False) -> Path:
    """Return the path of a data file, or raise an error that names its source and layout.

    The default folder is that of the environment variable MCSQUARED_DATA. If ``gzipped``, a file
    with the suffix ``.gz`` is accepted as well.
    """
    root = os.fspath(folder) if folder is not None else os.environ.get(FOLDER_VARIABLE, "")
    hint = f"the data set is {source}; the file contains {layout} (see docs/data.md)"
    if not root:
        raise InputError(
            f"folder must be given because {FOLDER_VARIABLE} is not set; "
            f"it must contain the file {name}: {hint}"
        )
    for path in (Path(root) / name, Path(root) / f"{name}.gz"):
        if path.is_file() and (gzipped or path.name == Path(name).name):
            return path
    raise InputError(f"folder {str(root)!r} has no file {name}: {hint}")


class Archive:
    """An ``.npz`` file with the word counts of a corpus and arrays about its groups.

    Pickled objects are not loaded, and every array is checked. The parameters are those of
    `find_file`.
    """

    def __init__(self, folder: Folder, name: str, source: str, layout: str) -> None:
        counts = "a CSR matrix of word counts (data, indices, indptr, shape), vocab"
        path = find_file(folder, name, source, f"{counts}, {layout}")
        self.name = path.name
        try:
            with np.load(path, allow_pickle=False) as opened:
                self._arrays = {key: opened[key] for key in opened.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise InputError(f"file {path.name} cannot be read as an npz file: {error}") from error
        except AttributeError as error:  # np.load returns a bare array for a .npy file
            raise InputError(f"file {path.name} must be an npz file of several arrays") from error
        self.counts = self._matrix("")
        self.n_groups = self.counts.shape[0]
        self.vocabulary = list(self.strings("vocab", self.counts.shape[1]))

    def array(self, name: str, length: int | None = None) -> NDArray:
        """Return one array, which must have ``length`` rows, by default one per group."""
        array = self._array(name)
        length = self.n_groups if length is None else length
        if array.ndim == 0 or len(array) != length:
            raise InputError(
                f"array {name!r} of {self.name} must have {length} rows, got shape {array.shape}"
            )
        return array

    def strings(self, name: str, length: int | None = None) -> Objects:
        """Return one array as Python strings."""
        return np.array([str(value) for value in self.array(name, length)], dtype=object)

    def numbers(self, name: str) -> Column:
        """Return an array as a context of numbers."""
        return Column(name, "number", self.array(name).astype(np.float64))

    def bag(self, name: str, categories: str) -> Column:
        """Return the CSR matrix with the prefix ``name_`` as a bag.

        ``categories`` is the array of column names; columns with the same name are summed.
        """
        matrix = self._matrix(f"{name}_")
        if matrix.shape[0] != self.n_groups:
            raise InputError(
                f"matrix {name}_data of {self.name} must have {self.n_groups} rows, "
                f"got {matrix.shape[0]}"
            )
        return merged_bag(name, matrix, self.strings(categories, matrix.shape[1]))

    def classes(self) -> Objects:
        """Return the class name of each group, from ``label`` and ``class_names``."""
        label, names = self.array("label"), self._array("class_names").astype(str).astype(object)
        outside = label.size and not 0 <= label.min() <= label.max() < names.size
        if label.dtype.kind not in "iu" or outside:
            raise InputError(f"array 'label' of {self.name} must contain indices into class_names")
        return names[label]

    def corpus(self, contexts: dict[str, Any], names: Any = None) -> Corpus:
        """Return the word counts with these contexts and group names as a corpus."""
        return Corpus(self.counts, contexts, group_names=names, vocabulary=self.vocabulary)

    def _array(self, name: str) -> NDArray:
        if name not in self._arrays:
            raise InputError(f"file {self.name} has no array {name!r}")
        return self._arrays[name]

    def _matrix(self, prefix: str) -> sparse.csr_matrix:
        data, indices, indptr, shape = (
            self._array(prefix + part) for part in ("data", "indices", "indptr", "shape")
        )
        message = f"matrix {prefix}data of {self.name} must be in CSR form"
        with input_errors(message, TypeError, ValueError, OverflowError):
            matrix = sparse.csr_matrix(
                (data.astype(np.int32), indices.astype(np.int32), indptr.astype(np.int64)),
                shape=tuple(int(size) for size in shape),
            )
            matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Open a plain or gzipped text file; read errors are raised as `InputError`."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    errors = (OSError, EOFError, ValueError, OverflowError, zlib.error)
    with (
        input_errors(f"file {path.name} cannot be read", *errors),
        opener(path, "rt", encoding="utf-8", errors="replace") as opened,
    ):
        yield opened


def read_lines(path: Path, limit: int | None = None) -> list[str]:
    """Return the first ``limit`` lines of a file, stripped; trailing empty lines are dropped."""
    with _opened(path) as opened:
        lines = [line.strip() for line in islice(opened, limit)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _integer_chunks(path: Path, n_header: int = 0) -> Iterator[Int64s]:
    """Yield the rows of a table of integers separated by white space, in chunks."""
    with _opened(path) as opened:
        for _ in range(n_header):
            next(opened, None)
        try:
            for chunk in pd.read_csv(
                opened, sep=r"\s+", header=None, dtype=np.int64, chunksize=LINES_PER_CHUNK
            ):
                yield chunk.to_numpy()
        except pd.errors.EmptyDataError:
            return


def read_integers(path: Path, n_columns: int, n_header: int = 0) -> Int64s:
    """Return a table of integers separated by white space: int64 (n_rows, n_columns).

    The first ``n_header`` lines are skipped.
    """
    chunks = list(_integer_chunks(path, n_header))
    if not chunks:
        return np.zeros((0, n_columns), np.int64)
    _check_columns(path, chunks[0].shape[1], n_columns)
    return np.concatenate(chunks)


def read_counts(path: Path, n_columns: int | None, keep: Bools) -> sparse.csr_matrix:
    """Return a table of counts, one line per group, as a csr_matrix of int32.

    ``keep`` is a mask of the lines to return; the file must have as many lines as the mask, of
    ``n_columns`` counts each unless this is None.
    """
    chunks: list[sparse.csr_matrix] = []
    n_lines = 0
    for chunk in _integer_chunks(path):
        chosen = keep[n_lines : n_lines + len(chunk)]
        n_lines += len(chunk)
        if n_lines > len(keep):
            break
        chunks.append(sparse.csr_matrix(chunk[chosen]))
    if not chunks or n_lines != len(keep):
        raise InputError(
            f"file {path.name} must have {len(keep)} lines, got {n_lines}"
            + (" or more" if n_lines > len(keep) else "")
        )
    counts = sparse.vstack(chunks, format="csr")
    if n_columns is not None:
        _check_columns(path, counts.shape[1], n_columns)
    if counts.nnz and (counts.data.min() < 0 or counts.data.max() > np.iinfo(np.int32).max):
        invalid = counts.data.min() if counts.data.min() < 0 else counts.data.max()
        raise InputError(f"file {path.name} must contain counts, got {invalid}")
    return counts.astype(np.int32)


def _check_columns(path: Path, found: int, expected: int) -> None:
    if found != expected:
        raise InputError(f"file {path.name} must have {expected} numbers per line, got {found}")


def merged_bag(name: str, matrix: sparse.csr_matrix, names: Sequence[str] | Objects) -> Column:
    """Return a bag column from counts (n_groups, n_names); sum columns with the same name.

    Some files list a category twice, such as "sky" in labelme8.
    """
    code = {category: i for i, category in enumerate(dict.fromkeys(names))}
    columns = np.array([code[category] for category in names], np.int64)
    merge = count_matrix(np.arange(len(names)), columns, (len(names), len(code)))
    return Column(name, "bag", matrix @ merge, np.array(list(code), dtype=object))


def title_words(title: str) -> list[str]:
    """Return the lower-case words of a title, of three letters or more, without stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = re.findall(r"[a-z]{3,}", title.lower())
    return [word for word in words if word not in ENGLISH_STOP_WORDS]

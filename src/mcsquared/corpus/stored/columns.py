"""The contexts of a corpus on disk: pieces of a column put together."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.corpus.columns import Column, code_label, description
from mcsquared.corpus.inference import nothing_observed
from mcsquared.corpus.stored.codebook import Codebook, Room, settled
from mcsquared.corpus.stored.entries import Entries, Piece, split_entries
from mcsquared.corpus.stored.flat import FlatFile, RowsFile, Run, StringsFile
from mcsquared.errors import InputError

__all__ = ["ColumnWriter", "StoredColumn"]

_WORDING = {
    "number": "numbers",
    "boolean": "truth values",
    "date": "dates",
    "duration": "durations",
    "category": "text",
    "unsplit": "text",
    "bag": "lists",
    "floats": "lists of floating numbers",
    "vector": "vectors",
}
_FLAT = ("number", "boolean", "date", "duration")


@dataclass(frozen=True, eq=False)
class StoredColumn:
    """A context in files.

    Parameters
    ----------
    reference : Column
        Without rows: name, kind, categories and note.
    values : FlatFile or RowsFile
    """

    reference: Column
    values: Any

    def read(self, *runs: Run) -> Column:
        """Return the column of some groups, those of runs (first, last)."""
        if self.reference.kind == "bag":
            values = self.values.matrix(self.reference.n_categories, *runs)
        else:
            values = self.values.read(*runs)
            if self.reference.kind == "vector":
                values = values.reshape(len(values), -1)
        return self._with(values)

    def _with(self, values: Any) -> Column:
        part = copy(self.reference)  # what all groups share was checked when it was made
        object.__setattr__(part, "values", values)
        return part

    def describe(self, n_groups: int) -> str:
        """Return the line that `Column.describe` would return for all groups."""
        has_ends = self.reference.kind in ("number", "date", "boolean")
        n_observed, ends = 0, np.array([np.nan, np.nan])
        for run in self.values.blocks():
            observed = self.read(run).observations()
            n_observed += observed.shape[0]
            if has_ends and len(observed):
                ends = np.array(
                    [np.fmin(ends[0], observed.min()), np.fmax(ends[1], observed.max())]
                )
        return description(self._with(ends) if has_ends else self.reference, n_observed, n_groups)


class ColumnWriter:
    """Takes the pieces of one context, batch after batch.

    Parameters
    ----------
    folder : Path
    room : Room
        For different categories.
    stem : str
        What the names of its files begin with.
    name : str
        Of the context.
    """

    def __init__(self, folder: Path, room: Room, stem: str, name: str) -> None:
        self._folder, self._room, self._stem, self._name = folder, room, stem, name
        self._store: Any = None
        self._sort = ""
        self._place = ""  # the file in which the sort was met
        self._pending = 0  # groups before the first observation
        self._unobserved: Piece | None = None
        self._partly = 0

    def add(self, piece: Piece, place: str) -> None:
        """Take the context of consecutive groups; ``place`` is the file they come from."""
        self._partly += piece.partly
        if not piece.observed:
            self._unobserved = self._unobserved or piece
            self._add_missing(piece.n_rows)
            return
        if self._store is None:
            self._open(piece)
            self._place = place
        elif piece.sort != self._sort:
            if {piece.sort, self._sort} != {"number", "boolean"}:
                raise InputError(
                    f"context {self._name!r} holds {_WORDING[self._sort]} in {self._place}, but "
                    f"{_WORDING[piece.sort]} in {place}; values of one kind are wanted"
                )
            self._sort = "number"
        try:
            self._store.add(piece)
        except InputError as error:
            raise InputError(f"context {self._name!r} {error} ({place})") from error

    def _add_missing(self, n_rows: int) -> None:
        if self._store is None:
            self._pending += n_rows
        else:
            self._store.fill(n_rows)

    def _open(self, piece: Piece) -> None:
        make = {"category": _Codes, "bag": _Bags, "floats": _Lists, "unsplit": _Unsplit}
        self._sort = piece.sort
        if piece.sort == "vector":
            self._store = _Vectors(self._folder, self._stem, piece.values.shape[1])
        else:
            self._store = make.get(piece.sort, _Flat)(self._folder, self._room, self._stem)
        self._store.fill(self._pending)

    def finish(self) -> StoredColumn:
        """Decide the kind, give categories their final order, and return the column."""
        finished: StoredColumn | None = None
        if self._store is not None:
            finished = self._store.finish(self._name, self._sort)
            if finished is None:
                self._pending = self._store.n_rows
        finished = finished or self._nothing()
        if not self._partly:
            return finished
        return replace(
            finished, reference=replace(finished.reference, note=_partly_note(self._partly))
        )

    def _nothing(self) -> StoredColumn:
        """Return a column without observations: of the kind its type says, or a number."""
        piece = self._unobserved
        sort = "number" if piece is None or self._store is not None else piece.sort
        store: Any
        if piece is not None and sort == "vector":
            store = _Vectors(self._folder, self._stem, piece.values.shape[1])
        else:
            store = _Flat(self._folder, self._room, self._stem)
        store.fill(self._pending)
        finished: StoredColumn = store.finish(self._name, sort if sort == "date" else "number")
        if sort in ("date", "vector"):
            return finished
        return StoredColumn(nothing_observed(self._name, 0), finished.values)


# ------------------------------------------------------------------------------ one per sort


class _Flat:
    """Numbers, dates, truth values, durations."""

    def __init__(self, folder: Path, room: Room, stem: str) -> None:
        self._file = FlatFile(folder / f"{stem}.values", np.float64)

    def add(self, piece: Piece) -> None:
        self._file.append(piece.values)

    def fill(self, n_rows: int) -> None:
        self._file.fill(np.nan, n_rows)

    def finish(self, name: str, sort: str) -> StoredColumn:
        note = "durations are counted in days" if sort == "duration" else ""
        kind = "number" if sort == "duration" else sort
        return StoredColumn(Column(name, kind, np.zeros(0), note=note), self._file)


class _Vectors:
    """Vectors of a type that says their width."""

    def __init__(self, folder: Path, stem: str, width: int) -> None:
        self._file = FlatFile(folder / f"{stem}.values", np.float64, width)

    def add(self, piece: Piece) -> None:
        if piece.values.shape[1] != self._file.width:
            raise InputError(
                f"holds vectors of width {piece.values.shape[1]} and {self._file.width}, but one "
                "width is wanted"
            )
        self._file.append(piece.values)

    def fill(self, n_rows: int) -> None:
        self._file.fill(np.nan, n_rows)

    def finish(self, name: str, sort: str) -> StoredColumn:
        return StoredColumn(Column(name, "vector", np.zeros((0, self._file.width))), self._file)


def _partly_note(partly: int) -> str:
    return f"{partly} rows miss some of their numbers and count as missing" if partly else ""


class _Codes:
    """Categories: codes in the order of their appearance, put in order at the end."""

    def __init__(self, folder: Path, room: Room, stem: str) -> None:
        self._file = FlatFile(folder / f"{stem}.values", np.int32)
        self._book = Codebook(room)

    def add(self, piece: Piece) -> None:
        codes = np.append(self._book.codes(piece.labels or []), np.int32(-1))
        self._file.append(codes[piece.values])

    def fill(self, n_rows: int) -> None:
        self._file.fill(-1, n_rows)

    def finish(self, name: str, sort: str) -> StoredColumn:
        categories, place = self._book.in_order()
        self._file.rewrite(np.append(place, np.int32(-1)))
        return StoredColumn(Column(name, "category", np.zeros(0, np.int32), categories), self._file)


class _Bags:
    """Several categories per group."""

    def __init__(self, folder: Path, room: Room, stem: str) -> None:
        self._folder, self._room, self._stem = folder, room, stem
        self._raw = RowsFile(folder, f"{stem}.raw")
        self._book = Codebook(room)

    def add(self, piece: Piece) -> None:
        entries = piece.entries
        assert entries is not None
        codes = self._book.codes(entries.labels)[entries.codes]
        counts = np.ones(len(codes), np.int32) if entries.counts is None else entries.counts
        self._raw.append(entries.lengths, codes, counts)

    def fill(self, n_rows: int) -> None:
        self._raw.fill(n_rows)

    def finish(self, name: str, sort: str) -> StoredColumn:
        categories, place = self._book.in_order()
        rows = RowsFile(self._folder, self._stem)
        for _ in settled(self._raw, place, len(categories), rows, f"context {name!r}"):
            pass
        empty = sparse.csr_matrix((0, len(categories)), dtype=np.int32)
        return StoredColumn(Column(name, "bag", empty, categories), rows)


class _Unsplit:
    """Strings that hold several categories; what separates them is known at the end."""

    def __init__(self, folder: Path, room: Room, stem: str) -> None:
        self._folder, self._room, self._stem = folder, room, stem
        self._strings = StringsFile(folder, f"{stem}.strings")
        self._separator = ","

    @property
    def n_rows(self) -> int:
        return self._strings.rows.n_rows

    def add(self, piece: Piece) -> None:
        assert piece.lengths is not None
        if (piece.values == ord(";")).any():  # no other character of UTF-8 has this byte
            self._separator = ";"
        self._strings.append(piece.lengths, piece.values)

    def fill(self, n_rows: int) -> None:
        self._strings.rows.fill(n_rows)

    def finish(self, name: str, sort: str) -> StoredColumn | None:
        rows = self._strings.rows
        bags, observed = _Bags(self._folder, self._room, self._stem), False
        for first, last in rows.blocks():
            texts = self._strings.read((first, last))
            entries = split_entries(np.arange(len(texts)), texts, self._separator)
            observed = observed or bool(entries.labels)
            bags.add(Piece("bag", len(texts), True, entries=entries))
        rows.remove()
        return bags.finish(name, sort) if observed else None


class _Lists:
    """Lists of floating numbers: vectors if all have one length, else bags of whole numbers."""

    def __init__(self, folder: Path, room: Room, stem: str) -> None:
        self._folder, self._room, self._stem = folder, room, stem
        self._rows = RowsFile(folder, f"{stem}.lists", counted=False, dtype=np.float64)
        self._widths: set[int] = set()
        self._observed = self._fractional = False

    @property
    def n_rows(self) -> int:
        return self._rows.n_rows

    def add(self, piece: Piece) -> None:
        assert piece.lengths is not None
        if len(self._widths) < 2:
            self._widths.update(np.unique(piece.lengths[piece.lengths > 0]).tolist())
        seen = piece.values[~np.isnan(piece.values)]
        self._observed = self._observed or bool(len(seen))
        self._fractional = self._fractional or bool((seen != np.floor(seen)).any())
        self._rows.append(piece.lengths, piece.values)

    def fill(self, n_rows: int) -> None:
        self._rows.fill(n_rows)

    def finish(self, name: str, sort: str) -> StoredColumn | None:
        if not self._observed:
            return None
        if len(self._widths) == 1:
            return self._vectors(name, self._widths.pop())
        if self._fractional:
            raise InputError(
                f"context {name!r} holds lists of fractional numbers of different lengths, "
                "but vectors of one width, or lists of categories, are wanted"
            )
        return self._bags(name, sort)

    def _blocks(self) -> Iterator[tuple[Any, Any]]:
        for first, last in self._rows.blocks():
            start, values, _ = self._rows.read((first, last))
            yield np.diff(start), values
        self._rows.remove()

    def _vectors(self, name: str, width: int) -> StoredColumn:
        file = FlatFile(self._folder / f"{self._stem}.values", np.float64, width)
        partly = 0
        for lengths, values in self._blocks():
            found = np.full((len(lengths), width), np.nan)
            found[lengths > 0] = values.reshape(-1, width)
            broken = np.isnan(found).any(axis=1)
            partly += int((broken & ~np.isnan(found).all(axis=1)).sum())
            found[broken] = np.nan
            file.append(Column(name, "vector", found).values)
        note = "lists of floating numbers of one length: taken for vectors"
        note += f"; {_partly_note(partly)}" if partly else ""
        return StoredColumn(Column(name, "vector", np.zeros((0, width)), note=note), file)

    def _bags(self, name: str, sort: str) -> StoredColumn:
        bags = _Bags(self._folder, self._room, self._stem)
        for lengths, values in self._blocks():
            known = ~np.isnan(values)
            row_of = np.repeat(np.arange(len(lengths)), lengths)[known]
            distinct, codes = np.unique(values[known], return_inverse=True)
            labels = [code_label(value) for value in distinct.tolist()]
            kept = np.bincount(row_of, minlength=len(lengths))
            bags.add(Piece("bag", len(kept), True, entries=Entries(kept, codes, labels)))
        return bags.finish(name, sort)

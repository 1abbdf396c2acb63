"""How a file becomes a corpus: at the fit as the options say, later as it was at the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.cli.columns import ContextOption
from mcsquared.cli.guard import complain
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcsquared.corpus import Column, Corpus, ParquetFolder
    from mcsquared.estimator import MC2

__all__ = ["FileOptions", "read_for_fit", "read_for_model", "remember_reading"]


@dataclass(frozen=True)
class FileOptions:
    """Which file is read, and which of its columns are not contexts.

    Parameters
    ----------
    path : Path
    text : str, optional
        The column of texts; None: that of the fit.
    names : str, optional
        The column of the groups' names; None: they are numbered.
    encoding : str
        Of a text file.
    memory : str
        The limit of a folder of Parquet files.
    """

    path: Path
    text: str | None = None
    names: str | None = None
    encoding: str = "utf-8"
    memory: str = "2GB"

    @property
    def is_folder(self) -> bool:
        """Whether the groups are in a folder of Parquet files."""
        return self.path.is_dir()

    def folder(self, contexts: Any, bags: Mapping[str, str | None]) -> ParquetFolder:
        """Return the folder, of which nothing is read yet."""
        from mcsquared.corpus import ParquetFolder

        return ParquetFolder(
            self.path,
            self.text,
            contexts,
            bags=bags,
            group_names=self.names,
            memory=self.memory,
        )

    def read(self, text: str, **options: Any) -> Corpus:
        """Read the file; ``options`` go to `Corpus.read`."""
        from mcsquared.corpus import Corpus

        return Corpus.read(
            self.path, text=text, group_names=self.names, encoding=self.encoding, **options
        )


def read_for_fit(file: FileOptions, contexts: list[ContextOption]) -> Corpus | ParquetFolder:
    """Read the groups that a model will be fitted to, each context in the form of its family.

    A folder is not read here: the fit reads it.
    """
    bags = {context.name: context.separator for context in contexts if context.family == "bag"}
    if file.is_folder:
        folder = file.folder([context.name for context in contexts], bags)
        folder.check()
        return folder
    if file.text is None:
        from mcsquared.corpus.readers import read_table

        there = ", ".join(read_table(file.path, encoding=file.encoding).columns)
        raise InputError(
            f"--text is not given, but the column that holds the text is wanted: "
            f"{file.path} has {there}"
        )
    corpus = file.read(file.text, contexts=[context.name for context in contexts], bags=bags)
    columns = dict(corpus.contexts)
    for context in contexts:
        if context.family != "auto":
            columns[context.name] = columns[context.name].as_family(context.family)
    return corpus.with_contexts(columns)


def read_for_model(
    model: MC2, file: FileOptions, labels: str | None = None, *, known: bool = False
) -> Corpus:
    """Read groups for a fitted model; a context that the file does not have is missing.

    Parameters
    ----------
    labels : str, optional
        A further column, read like a context.
    known : bool
        The groups are those of the fit, which said itself what it left out.
    """
    from mcsquared.corpus.readers import read_table

    if file.is_folder:
        raise InputError(f"{file.path} is a folder, but a file is wanted here")
    text = file.text or text_column(model)
    columns: dict[str, Column] = model.posterior_.contexts
    present = read_table(file.path, encoding=file.encoding).columns
    for name in columns:
        if name not in present:
            complain(f"note: {file.path} has no column {name!r}: that context is missing")
    contexts = [name for name in columns if name in present]
    separators = bag_separators(model)
    bags = {
        name: separators.get(name, likely_separator(columns[name]))
        for name in contexts
        if columns[name].kind == "bag"
    }
    if labels is not None and labels not in contexts:
        if labels not in present:
            raise InputError(f"--labels names the column {labels!r}, which {file.path} lacks")
        contexts.append(labels)
    # Which words count was settled at the fit: what is rare or frequent here says nothing.
    corpus = file.read(text, contexts=contexts, bags=bags, vocabulary=model.posterior_.vocabulary)
    for note in () if known else corpus.notes:
        complain(f"note: {note}")
    spelled = {
        name: spelled_as_known(corpus.contexts[name], present[name], reference.categories)
        for name, reference in columns.items()
        if name in contexts and reference.kind == "category"
    }
    return corpus.with_contexts({**corpus.contexts, **spelled})


def corpora_for_model(model: MC2, file: FileOptions) -> Iterator[Corpus]:
    """Read groups for a fitted model: a file at once, a folder in parts."""
    if not file.is_folder:
        yield read_for_model(model, file)
        return
    from mcsquared.fitting.disk import folder_batches

    text = file.text or model.posterior_.source.get(_TEXT)
    folder = replace(file, text=text).folder("all", bag_separators(model))
    yield from folder_batches(folder, model.posterior_.vocabulary)


def spelled_as_known(column: Column, fields: Any, known: Any) -> Column:
    """Return a column of categories that are spelled as they were at the fit.

    A file of few groups may hold "007" alone, which reads as the number 7, where the fit met
    "A12" beside it and took both for names.
    """
    from mcsquared.corpus import Column

    if column.kind in ("category", "bag", "vector") or not isinstance(fields, list):
        return column
    read = column.as_family("categorical")
    names = () if read.categories is None else read.categories
    labels = [names[code] if code >= 0 else None for code in read.values.astype(int)]
    spelled = [field.strip() if isinstance(field, str) else None for field in fields]
    at_fit = set(() if known is None else known)
    values = [
        there if there in at_fit else label for there, label in zip(spelled, labels, strict=True)
    ]
    categories = sorted({value for value in values if value is not None})
    code_of = {value: code for code, value in enumerate(categories)}
    codes = np.array([code_of.get(value, -1) for value in values], dtype=np.int32)
    return Column(column.name, "category", codes, np.array(categories, dtype=object))


# What of the options of a fit must be known again: keys of the posterior's ``source``.
_TEXT = "text"
_SEPARATOR = "separator:"


def remember_reading(model: MC2, text: str | None, contexts: list[ContextOption]) -> None:
    """Note in a fitted model where its texts came from and how its bags were split."""
    separators = {
        f"{_SEPARATOR}{option.name}": option.separator for option in contexts if option.separator
    }
    model.posterior_.source = separators if text is None else {_TEXT: text, **separators}


def text_column(model: MC2) -> str:
    """Return the column that the model's texts came from."""
    if _TEXT in model.posterior_.source:
        return model.posterior_.source[_TEXT]
    raise InputError(
        "the model was not made by `mc2 fit`, so its column of texts is not known: "
        "--text COLUMN is wanted"
    )


def bag_separators(model: MC2) -> dict[str, str]:
    """Return the separators that the fit was told, by column."""
    return {
        name.removeprefix(_SEPARATOR): separator
        for name, separator in model.posterior_.source.items()
        if name.startswith(_SEPARATOR)
    }


def likely_separator(bag: Column) -> str | None:
    """Return what separates the members of a bag whose separator the fit was not told.

    A member with a "," in its name shows that the bag was not split there ("Nguyen, Vu").
    """
    members = () if bag.categories is None else tuple(bag.categories)
    return ";" if any("," in member for member in members) else None

"""Read files and folders: for a fit by the options, for a model as at its fit.

A context is named ``year``, ``year:gaussian`` or ``authors:bag:|`` on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsquared import families
from mcsquared.cli.guard import complain
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcsquared.corpus import Column, Corpus, ParquetFolder
    from mcsquared.corpus.sources.frames import Table
    from mcsquared.estimator import MC2


@dataclass(frozen=True)
class ContextOption:
    """One ``--context``.

    Parameters
    ----------
    name : str
        The column.
    family : str
        Name of a family, or "auto": by the type of the column.
    separator : str, optional
        Between the categories of a bag. None: ";", or "," where there is none.
    """

    name: str
    family: str = "auto"
    separator: str | None = None


def parse_contexts(options: list[str]) -> list[ContextOption]:
    """Parse all ``--context`` options.

    >>> parse_contexts(["year", "authors:bag:|"])[1]
    ContextOption(name='authors', family='bag', separator='|')
    """
    parsed = [parse_context(option) for option in options]
    names = [option.name for option in parsed]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--context must name each column once, got {name!r} twice")
    return parsed


def parse_context(option: str) -> ContextOption:
    """Parse one ``--context``; a column with ":" in its name needs a family after it."""
    name, _, separator = option.partition(":bag:")
    if name and separator:
        return ContextOption(name, "bag", separator)
    name, colon, family = option.rpartition(":")
    if not colon:
        name, family = option, "auto"
    elif name and family:
        try:
            families.by_name(family)
        except InputError as error:
            raise InputError(f"--context {option!r}: {error}") from None
    if not name or not family:
        raise InputError(f"--context must be COLUMN or COLUMN:FAMILY, got {option!r}")
    return ContextOption(name, family)


@dataclass(frozen=True)
class FileOptions:
    """A file or folder, and the columns of its text and names.

    Parameters
    ----------
    path : Path
    text : str, optional
        The column of texts. None: that of the fit.
    names : str, optional
        The column of the groups' names. None: they are numbered.
    encoding : str
        Of a text file.
    memory : str
        Memory limit for a folder of Parquet files.
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
        """Return the folder, without reading it."""
        from mcsquared.corpus import ParquetFolder

        return ParquetFolder(
            self.path,
            self.text,
            contexts,
            bags=bags,
            group_names=self.names,
            memory=self.memory,
        )

    def table(self) -> Table:
        """Read the file."""
        from mcsquared.corpus.sources.files import read_table

        if self.is_folder:
            raise InputError(f"{self.path} must be a file, got a folder")
        return read_table(self.path, encoding=self.encoding)


def read_for_fit(file: FileOptions, contexts: list[ContextOption]) -> Corpus | ParquetFolder:
    """Read the groups for a fit, each context in the form of its family.

    A folder is checked only: the fit reads it.
    """
    from mcsquared.corpus import Corpus
    from mcsquared.families.registry import kinds_of

    names = [context.name for context in contexts]
    bags = {
        context.name: context.separator for context in contexts if "bag" in kinds_of(context.family)
    }
    if file.is_folder:
        folder = file.folder(names, bags)
        folder.check()
        return folder
    table = file.table()
    if file.text is None:
        raise InputError(
            f"--text must name the column of the text, one of {', '.join(table.columns)}"
        )
    corpus = Corpus.from_frame(table, file.text, names, bags=bags, group_names=file.names)
    columns = dict(corpus.contexts)
    for context in contexts:
        if context.family != "auto":
            columns[context.name] = columns[context.name].convert_for(context.family)
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
        Whether the groups are those of the fit, whose notes were printed then.
    """
    from mcsquared.corpus import Corpus

    table = file.table()
    columns: dict[str, Column] = model.posterior_.contexts
    for name in columns:
        if name not in table.columns:
            complain(f"note: {file.path} has no column {name!r}: that context is missing")
    contexts = [name for name in columns if name in table.columns]
    separators = bag_separators(model)
    bags = {
        name: separators.get(name, likely_separator(columns[name]))
        for name in contexts
        if columns[name].kind == "bag"
    }
    if labels is not None and labels not in contexts:
        if labels not in table.columns:
            raise InputError(f"--labels must name a column of {file.path}, got {labels!r}")
        contexts.append(labels)
    corpus = Corpus.from_frame(
        table,
        file.text or text_column(model),
        contexts,
        bags=bags,
        group_names=file.names,
        vocabulary=model.posterior_.vocabulary,  # type: ignore[arg-type]
    )
    for note in () if known else corpus.notes:
        complain(f"note: {note}")
    spelled = {
        name: spelled_as_known(corpus.contexts[name], table.columns[name], reference.categories)
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
    """Return a column of categories spelled as at the fit.

    A file of few groups may hold "007" alone, which reads as the number 7, where the fit had "A12"
    beside it and took both for names.
    """
    from mcsquared.corpus.columns.infer import column_from
    from mcsquared.families.registry import family_for_kind

    if column.kind in ("category", "bag", "vector") or not isinstance(fields, list):
        return column
    read = column.convert_for(family_for_kind("category"))
    names = [*(() if read.categories is None else read.categories), None]
    spelled = [field.strip() if isinstance(field, str) else None for field in fields]
    at_fit = set(() if known is None else known)
    values = [
        field if field in at_fit else names[code]
        for field, code in zip(spelled, read.values.astype(int), strict=True)
    ]
    return column_from(column.name, values)


# Keys of the posterior's ``source``, which stores how the file of the fit was read.
_TEXT = "text"
_SEPARATOR = "separator:"


def remember_reading(model: MC2, text: str | None, contexts: list[ContextOption]) -> None:
    """Store in a fitted model the column of its texts and the separators of its bags."""
    separators = {
        f"{_SEPARATOR}{option.name}": option.separator for option in contexts if option.separator
    }
    model.posterior_.source = separators if text is None else {_TEXT: text, **separators}


def text_column(model: MC2) -> str:
    """Return the column that the model's texts came from."""
    if _TEXT in model.posterior_.source:
        return model.posterior_.source[_TEXT]
    raise InputError("--text must be given for a model that was not made by `mc2 fit`")


def bag_separators(model: MC2) -> dict[str, str]:
    """Return the separators given at the fit, by column."""
    return {
        name.removeprefix(_SEPARATOR): separator
        for name, separator in model.posterior_.source.items()
        if name.startswith(_SEPARATOR)
    }


def likely_separator(bag: Column) -> str | None:
    """Return the separator of a bag for which the fit was given none.

    A category with a "," in its name shows that the bag was not split there ("Nguyen, Vu").
    """
    names = () if bag.categories is None else tuple(bag.categories)
    return ";" if any("," in name for name in names) else None

"""Read files and folders for a fit or for a fitted model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from mcsquared import families
from mcsquared.cli.guard import print_message
from mcsquared.cli.levels import known_levels, read_level_contexts, with_levels_of_model
from mcsquared.corpus import Column, Corpus, ParquetFolder
from mcsquared.corpus.columns.column import distinct_note
from mcsquared.corpus.columns.infer import column_from
from mcsquared.corpus.columns.values import as_list
from mcsquared.corpus.sources import files
from mcsquared.corpus.sources.frames import Table
from mcsquared.corpus.sources.words import function_words, joined_passages
from mcsquared.errors import InputError, input_errors
from mcsquared.estimator import MC2
from mcsquared.families.registry import class_for_kind, kinds_of
from mcsquared.fitting.disk import folder_batches

_MAX_LISTED_WORDS = 200  # of a group in a report
# Keys of `Posterior.source`, which records how the training file was read.
_TEXT_KEY = "text"
_SEPARATOR_KEY = "separator:"
_GROUP_KEY, _VALUE_KEY = "group", "value"  # of a file with one row per token


@dataclass(frozen=True)
class ContextOption:
    """A ``--context`` option: ``year``, ``year:gaussian`` or ``authors:bag:|``."""

    name: str
    family: str = "auto"  # or the name of a family; "auto" depends on the type of the column
    separator: str | None = None  # between the items of a bag; None: detected


def parse_contexts(options: list[str]) -> list[ContextOption]:
    """Parse all ``--context`` options.

    >>> parse_contexts(["year", "authors:bag:|"])[1]
    ContextOption(name='authors', family='bag', separator='|')
    """
    parsed = [_parse_context(option) for option in options]
    names = [option.name for option in parsed]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--context must name each column once, got {name!r} twice")
    return parsed


def _parse_context(option: str) -> ContextOption:
    """Parse one ``--context``; a column with ":" in its name must be followed by a family."""
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
            raise InputError(
                f"--context {option!r}: {error}; if the name of the column contains ':', add the "
                f"family, such as '{option}:categorical'"
            ) from None
    if not name or not family:
        raise InputError(f"--context must be COLUMN or COLUMN:FAMILY, got {option!r}")
    return ContextOption(name, family)


@dataclass(frozen=True)
class FileOptions:
    """A file, or a folder of Parquet files, and how to read it."""

    path: Path
    text: str | None = None  # column of the content; None: as in the fit
    names: str | None = None  # column of the names of the groups; None: groups are numbered
    encoding: str | None = None  # encoding of a text file; None: detected
    memory: str = "2GB"  # memory limit for a folder
    text_options: Mapping[str, Any] = field(default_factory=dict)  # for `Corpus.from_texts`
    separator: str | None = None  # of the fields of a CSV file; None: detected
    group: str | None = None  # column of the groups of a file with one row per token
    value: tuple[str, ...] = ()  # columns of the words or numbers of such a file
    levels: tuple[str, ...] = ()  # columns of the levels above groups, the lowest first
    level_contexts: tuple[str, ...] = ()  # LEVEL=FILE[:COLUMNS]

    @property
    def is_folder(self) -> bool:
        """Whether the groups are in a folder of Parquet files."""
        return self.path.is_dir()

    def folder(
        self, contexts: Any, bags: Mapping[str, str | None], level_contexts: Any = None
    ) -> ParquetFolder:
        """Return the folder, without reading it."""
        options: Any = {"bags": bags, "group_names": self.names, "memory": self.memory}
        options |= {"levels": list(self.levels), "level_contexts": level_contexts}
        return ParquetFolder(self.path, self.text, contexts, **options, **self.text_options)

    def table(self) -> Table:
        """Read the file."""
        if self.is_folder:
            raise InputError(f"{self.path} must be a file, got a folder")
        return files.read_table(self.path, encoding=self.encoding, sep=self.separator)


def parse_text_options(
    stop_words: str | None,
    min_df: str | None,
    max_df: str | None,
    ngrams: int | None,
    token_pattern: str | None,
    lowercase: bool,
    keep: list[str] | None,
) -> dict[str, Any]:
    """Return arguments of `Corpus.from_texts`, given the options of ``mc2 fit``."""
    options = {
        "min_df": min_df and _document_frequency("--min-df", min_df),
        "max_df": max_df and _document_frequency("--max-df", max_df),
        "ngrams": ngrams,
        "token_pattern": token_pattern,
        "lowercase": None if lowercase else False,
        "keep": keep or None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return given if stop_words is None else given | {"stop_words": _stop_words(stop_words)}


def _document_frequency(option: str, text: str) -> int | float:
    """Return a number of texts, or a share: ``5`` or ``0.5``."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise InputError(f"{option} must be a number of texts or a share, got {text!r}") from None


def _stop_words(given: str) -> Any:
    """Return None for "none", the name of a language, or the words of a file."""
    if given == "none":
        return None
    path = Path(given)
    if not path.is_file():
        if given != "auto":
            function_words(given)  # raises an error for an unknown language
        return given
    with input_errors(f"--stop-words {given} cannot be read", OSError, UnicodeError):
        return path.read_text(encoding="utf-8").lower().split()


def read_for_fit(file: FileOptions, contexts: list[ContextOption]) -> Corpus | ParquetFolder:
    """Read the groups for a fit, with contexts in the form that their families expect.

    A folder is only checked; the fit reads it.
    """
    names = [context.name for context in contexts]
    bags = {c.name: c.separator for c in contexts if "bag" in kinds_of(c.family)}
    level_contexts = read_level_contexts(file.level_contexts, file.levels)
    if file.levels and file.group is not None:
        raise InputError("--level requires a file with one row per group, got --long")
    if file.group is not None and bool(file.value) == (file.text is not None):
        found = "both" if file.value else "neither"
        raise InputError(f"--long requires either --value or --text, got {found}")
    if file.value and file.group is None:
        raise InputError("--value requires --long GROUP, the column of the groups")
    if file.is_folder:
        if file.group is not None:
            raise InputError("--long requires a file, got a folder, which has one row per group")
        folder = file.folder(names, bags, level_contexts)
        folder.check()
        return folder
    table = file.table()
    if file.text is None and file.group is None:
        raise InputError(_missing_text(table))
    if file.group is None:
        options: Any = {"group_names": file.names, **file.text_options}
        options |= {"levels": list(file.levels), "level_contexts": level_contexts}
        corpus = Corpus.from_frame(table, file.text, names, bags=bags, **options)
    else:
        value = list(file.value) or None
        corpus = Corpus.from_long(
            table, file.group, value, file.text, names, bags=bags, **file.text_options
        )
    columns = dict(corpus.contexts)
    for context in contexts:
        if context.name not in columns:  # a context of a level
            continue
        if not columns[context.name].observed.any():
            del columns[context.name]
            corpus.notes.append(f"the context {context.name!r} is not used, because it is empty")
        elif context.family == "auto" and columns[context.name].is_distinct:
            corpus.notes.append(distinct_note(columns.pop(context.name)))
        elif context.family != "auto":
            columns[context.name] = columns[context.name].convert_for(context.family)
    return corpus.with_contexts(columns)


def _missing_text(table: Table) -> str:
    """Return the error for a missing ``--text``: the columns, and the likely one."""
    for note in table.notes:
        print_message(f"note: {note}")
    message = f"--text must be one of {', '.join(table.columns)}, got none"
    longest = table.longest_texts()
    if longest is not None:
        return f"{message}; the longest texts are in {longest!r}"
    return f"{message}; for a file with one row per word, use --long GROUP --value COLUMN instead"


def read_for_model(
    model: MC2, file: FileOptions, labels: str | None = None, *, training: Any = None
) -> Corpus:
    """Read groups for a fitted model; contexts without a column in the file are missing.

    ``labels`` is a further column to read like a context. ``training`` is the table of the training
    groups if it has been read: notes on them are not printed, because the fit printed them.
    """
    table = file.table() if training is None else training
    columns: dict[str, Column] = model.posterior_.contexts
    for name in columns:
        if name not in table.columns:
            near = get_close_matches(name, set(table.columns) - set(columns), n=1)
            hint = f" (is it {near[0]!r}?)" if near else ""
            note = f"{file.path} has no column {name!r}{hint}, so this context is missing"
            print_message(f"note: {note}")
    levels = known_levels(model.posterior_, file.path, table.columns)
    columns = columns | levels.contexts_in(table)
    contexts = [name for name in columns if name in table.columns]
    separators = _bag_separators(model)
    bags = {
        name: separators.get(name, separator_of_items(columns[name]))
        for name in contexts
        if columns[name].kind == "bag"
    }
    if labels is not None and labels not in contexts:
        if labels not in table.columns:
            raise InputError(f"--labels must name a column of {file.path}, got {labels!r}")
        contexts.append(labels)
    source = model.posterior_.source
    text = file.text or source.get(_TEXT_KEY)
    if _GROUP_KEY in source:
        value = [name for name in source.get(_VALUE_KEY, "").split(",") if name] or None
        arguments = (source[_GROUP_KEY], value, text, contexts)
        return Corpus.from_long(table, *arguments, bags=bags, **model.posterior_.text_options)
    if text is None:
        raise InputError("--text must be given for a model that was not fitted by `mc2 fit`")
    vocabulary: Any = model.posterior_.vocabulary
    options: Any = {"bags": bags, "group_names": file.names, "vocabulary": vocabulary}
    corpus = Corpus.from_frame(table, text, contexts, **options, **model.posterior_.text_options)
    spelled = {
        name: _spelled_as_trained(corpus.contexts[name], table.columns[name], reference.categories)
        for name, reference in columns.items()
        if name in corpus.contexts and reference.kind == "category"
    }
    notes = corpus.notes
    corpus = corpus.with_contexts({**corpus.contexts, **spelled})
    level_contexts = levels.read_contexts(file.level_contexts)
    if levels.names:
        corpus = with_levels_of_model(corpus, levels, table, level_contexts, labels)
        notes = [*notes, *levels.notes(corpus)]
    for note in notes if training is None else ():
        print_message(f"note: {note}")
    return corpus


def texts_for_model(model: MC2, file: FileOptions, table: Any, corpus: Corpus) -> list[Any] | None:
    """Return the text of each group; for a file with one row per word, its words, one per line."""
    vocabulary, source = model.posterior_.vocabulary, model.posterior_.source
    text = file.text or source.get(_TEXT_KEY)
    if vocabulary is None or (text is None) == (_GROUP_KEY not in source):
        return None
    if text is None:
        content: Any = corpus.content
        return [_listed_words(row, vocabulary) for row in content.counts]
    texts = as_list(table.raw(text, "text"))
    return joined_passages(texts) or texts


def _listed_words(row: Any, vocabulary: Any) -> str:
    """Return the most frequent words of a group, such as "lamp ×2", one per line."""
    chosen = np.argsort(-row.data, kind="stable")[:_MAX_LISTED_WORDS]
    words = ((vocabulary[row.indices[i]], row.data[i]) for i in chosen)
    return "\n".join(f"{word} ×{n}" if n > 1 else str(word) for word, n in words)


def corpora_for_model(model: MC2, file: FileOptions) -> Iterator[Corpus]:
    """Read groups for a fitted model: a file at once, a folder in batches."""
    if not file.is_folder:
        yield read_for_model(model, file)
        return
    from mcsquared.corpus.sources.parquet import parquet_files, schemas

    _, schema, _ = next(schemas(parquet_files(file.path)))
    levels = known_levels(model.posterior_, file.path, schema.names)
    level_contexts = levels.known_contexts(levels.read_contexts(file.level_contexts))
    text = file.text or model.posterior_.source.get(_TEXT_KEY)
    text_options = model.posterior_.text_options
    as_trained = replace(file, text=text, text_options=text_options, levels=tuple(levels.names))
    folder = as_trained.folder("all", _bag_separators(model), level_contexts)
    yield from folder_batches(folder, model.posterior_.vocabulary)


def _spelled_as_trained(column: Column, fields: Any, known: Any) -> Column:
    """Return a column of categories spelled as in the training data.

    A file of few groups may contain only "007", which is read as the number 7, although the
    training data also contained "A12" and both were categories.
    """
    if column.kind in ("category", "bag", "vector") or not isinstance(fields, list):
        return column
    converted = column.convert_for(class_for_kind("category"))
    # A missing value has code -1, which selects the last entry.
    names = [*(() if converted.categories is None else converted.categories), None]
    spelled = [field.strip() if isinstance(field, str) else None for field in fields]
    trained = set(() if known is None else known)
    values = [
        field if field in trained else names[code]
        for field, code in zip(spelled, converted.values.astype(int), strict=True)
    ]
    return column_from(column.name, values)


def store_source(model: MC2, file: FileOptions, contexts: list[ContextOption]) -> None:
    """Store the columns of the content and the separators of bags, to read further files."""
    source = {f"{_SEPARATOR_KEY}{c.name}": c.separator for c in contexts if c.separator}
    value = ",".join(file.value) or None
    columns = {_TEXT_KEY: file.text, _GROUP_KEY: file.group, _VALUE_KEY: value}
    source |= {key: column for key, column in columns.items() if column is not None}
    model.posterior_.source |= source


def _bag_separators(model: MC2) -> dict[str, str]:
    """Return the separators that were given to the fit, by column."""
    source = model.posterior_.source.items()
    return {k.removeprefix(_SEPARATOR_KEY): v for k, v in source if k.startswith(_SEPARATOR_KEY)}


def separator_of_items(bag: Column) -> str | None:
    """Return the separator of a bag if none was given to the fit.

    An item that contains a comma ("Nguyen, Vu") shows that the bag was split at ";".
    """
    names = () if bag.categories is None else tuple(bag.categories)
    return ";" if any("," in name for name in names) else None

"""How a file becomes a corpus: at the fit as the options say, later as it was at the fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsquared.cli.columns import ContextOption
from mcsquared.cli.guard import complain
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from mcsquared.corpus import Column, Corpus
    from mcsquared.estimator import MC2

__all__ = ["FileOptions", "read_for_fit", "read_for_model", "remember_text_column"]


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
    """

    path: Path
    text: str | None = None
    names: str | None = None
    encoding: str = "utf-8"

    def read(self, text: str, **options: Any) -> Corpus:
        """Read the file; ``options`` go to `Corpus.read`."""
        from mcsquared.corpus import Corpus

        return Corpus.read(
            self.path, text=text, group_names=self.names, encoding=self.encoding, **options
        )


def read_for_fit(file: FileOptions, contexts: list[ContextOption]) -> Corpus:
    """Read the groups that a model will be fitted to, each context in the form of its family."""
    assert file.text is not None
    bags = {context.name: context.separator for context in contexts if context.family == "bag"}
    corpus = file.read(file.text, contexts=[context.name for context in contexts], bags=bags)
    columns = dict(corpus.contexts)
    for context in contexts:
        if context.family != "auto":
            columns[context.name] = columns[context.name].as_family(context.family)
    return corpus.with_contexts(columns)


def read_for_model(model: MC2, file: FileOptions, labels: str | None = None) -> Corpus:
    """Read new groups for a fitted model; a context that the file does not have is missing.

    Parameters
    ----------
    labels : str, optional
        A further column, read like a context.
    """
    from mcsquared.corpus.readers import read_table

    text = file.text or text_column(model)
    columns: dict[str, Column] = model.posterior_.contexts
    present = read_table(file.path, encoding=file.encoding).columns
    for name in columns:
        if name not in present:
            complain(f"note: {file.path} has no column {name!r}: that context is missing")
    contexts = [name for name in columns if name in present]
    bags = {name: separator(columns[name]) for name in contexts if columns[name].kind == "bag"}
    if labels is not None and labels not in contexts:
        contexts.append(labels)
    # Which words count was settled at the fit: what is rare or frequent here says nothing.
    return file.read(text, contexts=contexts, bags=bags, min_df=1, max_df=1.0)


# The model file has a place for notes on how the data were read; this one is read again.
_TEXT_NOTE = "text column: "


def remember_text_column(model: MC2, text: str) -> None:
    """Note in a fitted model which column its texts came from."""
    notes = model.posterior_.notes
    notes[:] = [note for note in notes if not note.startswith(_TEXT_NOTE)]
    notes.append(f"{_TEXT_NOTE}{text}")


def text_column(model: MC2) -> str:
    """Return the column that the model's texts came from."""
    for note in model.posterior_.notes:
        if note.startswith(_TEXT_NOTE):
            return note.removeprefix(_TEXT_NOTE)
    raise InputError(
        "the model was not made by `mc2 fit`, so its column of texts is not known: "
        "--text COLUMN is wanted"
    )


def separator(bag: Column) -> str | None:
    """Return what separates the members of a bag that new data must be split like.

    A member with a "," in its name shows that the bag was not split there ("Nguyen, Vu").
    """
    members = () if bag.categories is None else tuple(bag.categories)
    return ";" if any("," in member for member in members) else None

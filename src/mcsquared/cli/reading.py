"""How a file becomes a corpus: at the fit as the options say, later as it was at the fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mcsquared.cli.columns import ContextOption
from mcsquared.errors import InputError

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.estimator import MC2

__all__ = ["Reading", "read_like_training"]


@dataclass(frozen=True)
class Reading:
    """Which columns of a file are read, and how; a model remembers it for the next file.

    Parameters
    ----------
    text : str
        The column of texts.
    contexts : list of str
        The columns of contexts.
    bags : dict of str to str or None
        What separates the members of each bag; None: ";", or "," where there is none.
    """

    text: str
    contexts: list[str] = field(default_factory=list)
    bags: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def of_options(cls, text: str, contexts: list[ContextOption]) -> Reading:
        """Return the reading that the options of the command line describe."""
        return cls(
            text,
            [context.name for context in contexts],
            {context.name: context.separator for context in contexts if context.family == "bag"},
        )

    def read(self, file: Path, **vectorizer: object) -> Corpus:
        """Read a file; ``vectorizer`` goes to the counting of words."""
        from mcsquared.corpus import Corpus

        return Corpus.read(
            file, text=self.text, contexts=self.contexts, bags=self.bags, **vectorizer
        )

    def remember(self, model: MC2) -> None:
        """Write the reading into a fitted model."""
        model.posterior_.source = asdict(self)

    @classmethod
    def of_model(cls, model: MC2, text: str | None = None) -> Reading:
        """Return the reading of the corpus that the model was fitted to.

        Parameters
        ----------
        text : str, optional
            The column of texts, where it has another name than at the fit.
        """
        source = model.posterior_.source
        if not source:
            # Fitted in Python, where the file's columns had other names or there was no file.
            if text is None:
                raise InputError(
                    "the model was not fitted by `mc2 fit`, so the column of texts is not known: "
                    "--text COLUMN is wanted"
                )
            columns = model.posterior_.contexts
            bags: dict[str, str | None] = {
                name: None for name, column in columns.items() if column.kind == "bag"
            }
            return cls(text, list(columns), bags)
        return cls(text or source["text"], source["contexts"], source["bags"])


def read_like_training(
    model: MC2, file: Path, text: str | None, more: tuple[str, ...] = ()
) -> Corpus:
    """Read new groups for a fitted model.

    Parameters
    ----------
    text : str, optional
        The column of texts, where it has another name than at the fit.
    more : tuple of str
        Further columns to read as contexts.
    """
    reading = Reading.of_model(model, text)
    contexts = [*reading.contexts, *(name for name in more if name not in reading.contexts)]
    # Which words count was settled at the fit: what is rare or frequent here says nothing.
    return Reading(reading.text, contexts, reading.bags).read(file, min_df=1, max_df=1.0)

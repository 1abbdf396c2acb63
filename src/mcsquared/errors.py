"""Errors that users see: one sentence with the argument, the requirement and what was found."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = ["InputError", "ModelFileError"]


# Quoted strings of any length: if short ones were skipped, the text between two would match.
_QUOTE = re.compile(r"""(?<!\w)(['"])((?:\\.|(?!\1).)*)\1""", re.DOTALL)
_LONG_NUMBER = re.compile(r"(\d{90})\d{11,}")  # more than a hundred digits


def _shorten(quote: re.Match[str]) -> str:
    mark, text = quote.groups()
    return quote[0] if len(text) <= 100 else f"{mark}{text[:90]}...{mark}"


class _ShortMessageError(ValueError):
    """Base class of errors whose messages quote at most a hundred characters of any value."""

    def __init__(self, message: object = "", *arguments: object) -> None:
        short = _QUOTE.sub(_shorten, str(message))
        super().__init__(_LONG_NUMBER.sub(r"\1...", short), *arguments)


class InputError(_ShortMessageError):
    """Invalid data or an invalid argument.

    Examples
    --------
    >>> try:
    ...     mc2.MC2(n_sweeps=0).fit([["ant", "bee"]])
    ... except mc2.InputError as error:
    ...     print(error)
    n_sweeps must be an integer >= 1 or 'auto', got 0
    """


class ModelFileError(_ShortMessageError):
    """A model file or checkpoint that cannot be read, written or used.

    Examples
    --------
    >>> with open("notes.mc2", "w") as file:
    ...     _ = file.write("not a model")
    >>> try:
    ...     mc2.MC2.load("notes.mc2")
    ... except mc2.ModelFileError as error:
    ...     print(error)
    notes.mc2 ...
    """


@contextmanager
def input_errors(message: str, *types: type[Exception]) -> Iterator[None]:
    """Raise errors of these types as an `InputError` that begins with the message."""
    try:
        yield
    except InputError:
        raise
    except types as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{message}: {reason}") from error


class MissingPackageError(InputError, ImportError):
    """An optional package that is not installed."""


def import_optional(module: str, requirement: str, purpose: str) -> Any:
    """Import a module of an optional package, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} requires {module.split('.')[0]}, which cannot be imported ({error}): "
            f"pip install '{requirement}'"
        ) from error

"""Contexts as the command line names them: ``year``, ``year:gaussian``, ``authors:bag:|``."""

from dataclasses import dataclass

from mcsquared import families
from mcsquared.errors import InputError

__all__ = ["ContextOption", "parse_contexts"]


@dataclass(frozen=True)
class ContextOption:
    """One ``--context``.

    Parameters
    ----------
    name : str
        The column.
    family : str
        A family's name, or "auto": by the type of the column.
    separator : str, optional
        What stands between the members of a bag; None: ";", or "," where there is none.
    """

    name: str
    family: str = "auto"
    separator: str | None = None


def parse_contexts(options: list[str]) -> list[ContextOption]:
    """Read every ``--context``; a column may be named once.

    >>> parse_contexts(["year", "authors:bag:|"])[1]
    ContextOption(name='authors', family='bag', separator='|')
    """
    parsed = [parse_context(option) for option in options]
    names = [option.name for option in parsed]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--context names the column {name!r} twice, but once is wanted")
    return parsed


def parse_context(option: str) -> ContextOption:
    """Read one ``--context``; a column whose own name holds ":" needs its family behind it."""
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
        raise InputError(f"--context is {option!r}, but COLUMN or COLUMN:FAMILY is wanted")
    return ContextOption(name, family)

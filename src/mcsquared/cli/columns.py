"""Contexts as the command line names them: ``year``, ``year:gaussian``, ``authors:bag:|``."""

from dataclasses import dataclass

from mcsquared import families
from mcsquared.errors import InputError


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

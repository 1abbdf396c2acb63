"""What a user sees when something goes wrong: one sentence, an exit code, no traceback."""

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from mcsquared.errors import InputError, ModelFileError

__all__ = ["BAD_INPUT", "INTERRUPTED", "clear_errors", "complain"]

BAD_INPUT = 2
INTERRUPTED = 130  # what shells report for a command ended by Ctrl-C


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn errors that a user can mend into one sentence on standard error.

    An error of any other kind is a fault of this package and keeps its traceback.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except (InputError, ModelFileError) as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except BrokenPipeError:
            # The reader (`head`, say) has seen enough; nothing more may be flushed to it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            complain(_system_sentence(error))
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError:
            complain("there is not enough memory for this run")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            complain("interrupted; nothing was written")
            raise typer.Exit(INTERRUPTED) from None


def complain(sentence: str) -> None:
    """Print one sentence to standard error."""
    typer.echo(f"mc2: {' '.join(sentence.split())}", err=True)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    """Show a warning as a note: where in the package it arose is of no use here."""
    complain(f"note: {message}")


def _system_sentence(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        reason = "no room is left on the disk"
    else:
        reason = (error.strerror or str(error) or type(error).__name__).lower()
    return f"{error.filename}: {reason}" if error.filename else reason

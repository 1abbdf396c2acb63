"""Errors of the command line: one sentence and an exit code, no traceback."""

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from mcsquared.errors import InputError, ModelFileError

BAD_INPUT = 2
INTERRUPTED = 130  # exit code of commands ended by Ctrl-C


@contextmanager
def readable_errors() -> Iterator[None]:
    """Print errors that a user can correct as one sentence to standard error.

    Other errors are bugs and keep their traceback.
    """
    with warnings.catch_warnings():
        # Warnings are printed as notes, without their location in the package.
        warnings.showwarning = lambda message, *_args, **_kwargs: print_message(f"note: {message}")
        try:
            yield
        except (InputError, ModelFileError) as error:
            print_message(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except BrokenPipeError:
            # The reader, such as `head`, has closed the pipe: discard further output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            reason = (error.strerror or str(error) or type(error).__name__).lower()
            reason = "no space left on the disk" if error.errno == errno.ENOSPC else reason
            print_message(f"{error.filename}: {reason}" if error.filename else reason)
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError:
            print_message("not enough memory")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            print_message("interrupted; nothing was written")
            raise typer.Exit(INTERRUPTED) from None


def print_message(sentence: str) -> None:
    """Print a one-line message to standard error."""
    typer.echo(f"mc2: {' '.join(sentence.split())}", err=True)


def check_output(out: Path, *inputs: Path) -> None:
    """Reject an output file that cannot be written or is also an input."""
    from mcsquared.storage import check_target

    check_target(out)
    for path in inputs:
        if out.exists() and path.exists() and os.path.samefile(path, out):
            raise InputError(f"--out must differ from the input files, got {str(out)!r}")

"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mcsquared.storage.files import check_target

__all__ = ["write_text"]


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a text file beside its place and move it there when it is complete.

    Parameters
    ----------
    text : str, or parts of it as they come
    """
    target = check_target(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with open(part, "x", encoding="utf-8", newline="") as stream:
            for part_of_text in (text,) if isinstance(text, str) else text:
                stream.write(part_of_text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
    except OSError as error:
        # The system names the part, if anything; the user knows the file by its own name.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        # After success the part has become the target, and there is nothing to remove.
        with suppress(OSError):
            part.unlink()

"""Locks of files: one run at a time writes to a file.

The system releases a lock when its process ends, however it ends, so no lock is ever stale. Where
there are none (Windows, some network file systems), files are not locked.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mcsquared.errors import ModelFileError

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a path for the run; raise `ModelFileError` if another run has locked it."""
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    descriptor = _open_locked(lock)
    if descriptor is None:
        raise ModelFileError(f"{path} is in use by another run: choose another file, or wait")
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # before the lock is released, so that it is not another run's
        os.close(descriptor)


def _open_locked(lock: Path) -> int | None:
    """Return a locked descriptor, or None if another run has locked the file."""
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise ModelFileError(f"{lock} cannot be created: {error.strerror}") from error
        if not try_lock(descriptor):
            os.close(descriptor)
            return None
        # The run that held the lock may have deleted the file in between.
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        os.close(descriptor)

"""Cache of compiled kernels, which also works if the package and the home folder are read-only.

Kernels are read from the cache folder and from the folder of their source, where
``python -m mcsquared.compile`` puts them when an image is built. They are written to the first of
these folders that is writable: ``MCSQUARED_CACHE``, those that numba uses (``NUMBA_CACHE_DIR``, the
folder of the source, the user's cache), and a temporary one. If no folder is writable, or the disk
is full, kernels are compiled in each process.
"""

import hashlib
import os
import stat
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

try:
    from numba.core.caching import InTreeCacheLocator
except ImportError:  # numba 0.60
    from numba.core.caching import _InTreeCacheLocator as InTreeCacheLocator

VARIABLE = "MCSQUARED_CACHE"
ANNOUNCEMENT = "mcsquared: compiling kernels before the first fit (one to two minutes, only once)"
announced: list[bool] = []  # not empty once a kernel was not found in the cache
_MIN_CACHED = 5  # kernels; with fewer in the cache, compilation is announced


class FolderLocator(InTreeCacheLocator):
    """Base class of locators of a folder that does not depend on the kernel."""

    def __init__(self, py_func, py_file):
        super().__init__(py_func, py_file)
        folder = self.folder()
        if folder is None:
            raise OSError("no such folder")
        self._cache_path = os.path.join(folder, self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func, py_file):
        """Return a locator, or None if the folder cannot be used."""
        with suppress(OSError):
            return super().from_function(py_func, py_file)
        return None

    @staticmethod
    def folder():
        """Return the path of the folder, or None."""
        raise NotImplementedError


class ChosenFolder(FolderLocator):
    """The folder chosen by the user."""

    @staticmethod
    def folder():
        """Return the folder named by the environment."""
        return os.environ.get(VARIABLE) or None


class TemporaryFolder(FolderLocator):
    """A private folder in the directory of temporary files."""

    @staticmethod
    def folder():
        """Return the folder, unless other users could write to it: its files are executed."""
        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = Path(tempfile.gettempdir()) / f"mcsquared-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        is_private = os.name == "nt" or (status.st_uid == user and not status.st_mode & 0o077)
        return folder if stat.S_ISDIR(status.st_mode) and is_private else None


class ReadOnlyFolder(InTreeCacheLocator):
    """The folder of the source, even if it is not writable."""

    def ensure_cache_path(self):
        """Do nothing: kernels are only read from this folder."""


class KernelCacheImpl(CompileResultCacheImpl):
    """The folders in which the kernels of this package, and of no other, are cached."""

    _locator_classes = (
        ChosenFolder,
        *CompileResultCacheImpl._locator_classes,
        TemporaryFolder,
        ReadOnlyFolder,
    )


class CacheFile(IndexDataCacheFile):
    """The cache files of a kernel; damaged files are replaced.

    The name of a file depends on the key of its version. Numba uses consecutive numbers, which
    two processes that compile at the same time may both assign; one would then load the version of
    the other.
    """

    def save(self, key, data):
        """Save a compiled version, then its name in the index."""
        name = self._data_name(int(hashlib.sha256(repr(key).encode()).hexdigest()[:12], 16))
        self._save_data(name, data)
        overloads = self._load_index()
        if overloads.get(key) != name:
            self._save_index({**overloads, key: name})

    def _load_index(self):
        with suppress(Exception):  # pickle raises errors of many types
            return super()._load_index()
        return {}


class KernelCache(FunctionCache):
    """Compiled versions of a kernel, in the cache folder and next to its source."""

    _impl_class = KernelCacheImpl

    def __init__(self, py_func):
        super().__init__(py_func)
        source = InTreeCacheLocator(py_func, py_func.__code__.co_filename)
        identity = (self._impl.filename_base, self._impl.locator.get_source_stamp())
        self._cache_file = CacheFile(self.cache_path, *identity)
        self._shipped = CacheFile(source.get_cache_path(), *identity)

    def _load_overload(self, sig, target_context):
        key = self._index_key(sig, target_context.codegen())
        for file in (self._cache_file, self._shipped):
            with suppress(Exception):
                data = file.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        self._announce()
        return None

    def _announce(self):
        """Announce once that kernels are being compiled, if the cache is almost empty."""
        cached = list(Path(self.cache_path).glob("*.nbi"))
        if not announced and len(cached) < _MIN_CACHED:
            print(ANNOUNCEMENT, file=sys.stderr, flush=True)
        announced.append(True)

    def save_overload(self, sig, data):
        """Save a compiled version; warn if that is not possible."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warnings.warn(
                f"compiled kernels cannot be cached ({error.strerror or error}), so every "
                f"process compiles them: set {VARIABLE} to a writable folder",
                stacklevel=2,
            )
        else:
            if isinstance(self._impl.locator, TemporaryFolder):
                warnings.warn(
                    f"compiled kernels are cached in {TemporaryFolder.folder()}: set {VARIABLE} to "
                    "a permanent folder",
                    stacklevel=2,
                )


def njit(*, cache, **options):
    """Compile a function with ``numba.njit``; its cache is a `KernelCache`."""

    def decorate(function):
        dispatcher = numba.njit(**options)(function)
        if cache and not numba.config.DISABLE_JIT:
            dispatcher._cache = KernelCache(function)
        return dispatcher

    return decorate

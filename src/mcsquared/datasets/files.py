"""Find and open the files of public data sets: named folders, clear words when one is absent."""

import os
import zipfile
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError

__all__ = ["ENVIRONMENT", "Archive", "find_file"]

ENVIRONMENT = "MCSQUARED_DATA"

Folder = str | PathLike[str] | None


def find_file(folder: Folder, name: str, source: str, layout: str) -> Path:
    """Return the path of a data file, or say where the set comes from and what the file holds.

    Parameters
    ----------
    folder : path, optional
        None: the folder that the environment variable MCSQUARED_DATA names.
    name : str
        The file in it.
    source, layout : str
        Where the set comes from, and what the file must hold.
    """
    where = os.fspath(folder) if folder is not None else os.environ.get(ENVIRONMENT, "")
    hint = f"the set is {source}, and the file holds {layout} (see docs/data.md)"
    if not where:
        raise InputError(
            f"folder is not given and the environment variable {ENVIRONMENT} is not set;"
            f" a folder with {name} is wanted: {hint}"
        )
    path = Path(where) / name
    if not path.is_file():
        raise InputError(f"folder {str(where)!r} has no file {name}: {hint}")
    return path


class Archive:
    """The arrays of one ``.npz`` file, each checked when it is taken; nothing is unpickled.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with np.load(path, allow_pickle=False) as opened:
                self._arrays = {name: opened[name] for name in opened.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise InputError(f"file {path.name} cannot be read as an npz file: {error}") from error
        except AttributeError as error:  # np.load returns a bare array for a .npy file
            raise InputError(f"file {path.name} is not an npz file of several arrays") from error

    def array(self, name: str, length: int | None = None) -> NDArray:
        """Return one array; ``length`` is the number of rows it must have."""
        if name not in self._arrays:
            raise InputError(f"file {self.path.name} holds no array {name!r}")
        array = self._arrays[name]
        if length is not None and (array.ndim == 0 or len(array) != length):
            raise InputError(
                f"array {name!r} of {self.path.name} has shape {array.shape},"
                f" but {length} rows are wanted"
            )
        return array

    def strings(self, name: str, length: int | None = None) -> NDArray[np.object_]:
        """Return one array of strings, as Python strings."""
        return np.array([str(value) for value in self.array(name, length)], dtype=object)

    def matrix(self, prefix: str = "") -> sparse.csr_matrix:
        """Return a CSR matrix of counts stored as data, indices, indptr and shape: int32."""
        data, indices, indptr, shape = (
            self.array(prefix + part) for part in ("data", "indices", "indptr", "shape")
        )
        try:
            matrix = sparse.csr_matrix(
                (data.astype(np.int32), indices.astype(np.int32), indptr.astype(np.int64)),
                shape=tuple(int(size) for size in shape),
            )
            matrix.check_format(full_check=True)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the matrix {prefix}data of {self.path.name} is not in CSR form: {error}"
            ) from error
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

"""Atomic writing of files, and the format of models and checkpoints.

Models and checkpoints are safetensors files with JSON in their metadata and no pickle. The metadata
contains four strings: ``schema`` (an integer), ``kind`` (what the file is), ``meta`` (JSON) and
``sha256``, a digest of the kind, the JSON and every tensor's name, type, shape and bytes. A file is
written next to its target and renamed when it is complete, so that a reader finds the old file or
the new one, never a mixture.

Files are not trusted: every array is checked for its type, its shape and the range of its values,
and sizes are taken from the arrays themselves, never from numbers in the file.
"""

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Objects
from mcsquared.errors import InputError, ModelFileError
from mcsquared.locks import try_lock

SCHEMA = 1
MAX_FLOAT = float(np.finfo(np.float64).max)
# Errors raised for values of the wrong type or range: JSON may contain anything, and families
# validate their own fields.
DATA_ERRORS = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RecursionError,
)

PathLike = str | os.PathLike[str]
Tensors = dict[str, NDArray[Any]]

_TYPE_NAMES = {
    "bool": "BOOL",
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (32, 64)},
}
_name_of = cache(attrgetter("name"))  # NumPy computes the name of a dtype each time

# Parsing JSON may need twenty times its size in memory; large data belong in tensors.
_MAX_META = 32 * 2**20

_REASONS = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is exceeded",
    errno.EFBIG: "the file is larger than allowed",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "its name is too long",
}


def write_file(
    path: PathLike, kind: str, tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> None:
    """Atomically write tensors and JSON to one file.

    ``kind`` is what the file is, such as "model"; `read_file` checks it. If the file cannot be
    written, an existing file is unchanged, and `ModelFileError` is raised.
    """
    text = json.dumps(meta, separators=(",", ":"))
    _check_length(path, text)
    arrays = {name: _plain(name, tensor) for name, tensor in tensors.items()}
    # Wide types come first, so that every tensor is aligned to its own width.
    arrays = dict(sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])))
    header = _header(kind, text, arrays)
    target = check_target(path)
    try:
        with _replacing(target) as stream:
            _write_all(stream, header, arrays)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {_reason(error)}") from error


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Atomically write a text file, given one string or several parts."""
    target = check_target(path)
    try:
        with _replacing(target) as stream:
            for part in (text,) if isinstance(text, str) else text:
                stream.write(part.encode())
    except OSError as error:
        # The message contains the target instead of the temporary file.
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a temporary file that replaces ``target`` once it is on the disk."""
    _remove_stale_files(target)
    temporary, stream = _open_temporary(target)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
        _flush_folder(target.parent)
    finally:
        # After success the temporary file has become the target.
        with suppress(OSError):
            temporary.unlink()


def _open_temporary(target: Path) -> tuple[Path, BinaryIO]:
    """Create a temporary file next to the target, and lock it as long as it is open."""
    while True:
        temporary = _temporary_path(target)
        stream = open(temporary, "xb")  # noqa: SIM115
        if try_lock(stream.fileno()) and temporary.exists():
            return temporary, stream
        stream.close()  # another process has deleted the file before it was locked


def read_file(
    path: PathLike, kind: str, mapped: str | None = None
) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and the JSON of a file written by `write_file`.

    Tensors whose names contain ``mapped`` are not read into memory, but mapped from the file.
    Raises `ModelFileError` if the file is missing, damaged, of another version or of another kind.
    """
    metadata, tensors = _load(path, mapped)
    if not {"schema", "kind", "meta", "sha256"} <= metadata.keys():
        raise ModelFileError(f"{path} is a safetensors file that was not written by mcsquared")
    if metadata["schema"] != str(SCHEMA):
        raise ModelFileError(
            f"{path} must have schema version {SCHEMA}, got {metadata['schema'][:20]!r}"
        )
    if metadata["kind"] != kind:
        raise ModelFileError(f"{path} must be of kind {kind!r}, got {metadata['kind'][:40]!r}")
    if metadata["sha256"] != _digest(kind, metadata["meta"], tensors):
        raise ModelFileError(f"{path} is damaged: its contents do not match their SHA-256")
    return tensors, _parse_meta(path, metadata["meta"])


def check_path(path: object) -> None:
    """Raise `InputError` unless the argument is a path."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be a string or a Path, got {path!r:.60}")


def check_target(path: PathLike) -> Path:
    """Return the path with links resolved; raise `ModelFileError` if no file can be written to it.

    Called before a long run, so that the run does not fail at its end.
    """
    check_path(path)
    try:
        target = Path(os.path.realpath(path))
        obstacle = _obstacle(target)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be written: {_reason(error)}") from error
    if obstacle:
        raise ModelFileError(f"{path} cannot be written: {obstacle}")
    return target


def _obstacle(target: Path) -> str | None:
    """Return the reason why no file can be written to ``target``, or None."""
    folder = target.parent
    if not folder.exists():
        return f"its folder {folder} does not exist"
    if not folder.is_dir():
        return f"{folder} is not a folder"
    # Renaming a file to the name of a device or a pipe would replace it.
    if target.exists() and not target.is_file():
        return "it exists and is not an ordinary file"
    if target.exists() and not os.access(target, os.W_OK):
        return "the existing file is read-only"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"its folder {folder} is read-only"
    with suppress(AttributeError, OSError, ValueError):  # not every system has a limit
        if len(os.fsencode(_temporary_path(target).name)) > os.pathconf(folder, "PC_NAME_MAX"):
            return "its name is too long"
    return None


def _temporary_path(target: Path) -> Path:
    """Return the path of a temporary file in the folder of the target."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")


def _plain(name: str, tensor: NDArray[Any]) -> NDArray[Any]:
    """Return the tensor in C order and little-endian."""
    array = np.asarray(tensor, order="C")
    if _name_of(array.dtype) not in _TYPE_NAMES:
        raise TypeError(f"tensor {name!r} has dtype {array.dtype}, which is not supported")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _header(kind: str, text: str, arrays: Tensors) -> bytes:
    """Return the header of the file; tensors follow it in the order of ``arrays``."""
    digest = _digest(kind, text, arrays)
    entries: dict[str, Any] = {
        "__metadata__": {"schema": str(SCHEMA), "kind": kind, "sha256": digest, "meta": text}
    }
    start = 0
    for name, array in arrays.items():
        entries[name] = {
            "dtype": _TYPE_NAMES[_name_of(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [start, start + array.nbytes],
        }
        start += array.nbytes
    encoded = json.dumps(entries, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    return len(encoded).to_bytes(8, "little") + encoded


def _digest(kind: str, text: str, tensors: Tensors) -> str:
    """Return the SHA-256 of kind, JSON and tensors, independent of the order of tensors."""
    digest = hashlib.sha256()
    for part in (kind, text):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(repr((name, _name_of(tensor.dtype), tensor.shape)).encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _bytes(array: NDArray[Any]) -> memoryview:
    """Return the array's bytes without copying them."""
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def _write_all(stream: BinaryIO, header: bytes, arrays: Tensors) -> None:
    stream.write(header)
    for array in arrays.values():
        stream.write(_bytes(array))


def _flush_folder(folder: Path) -> None:
    """Flush the renaming itself to the disk, where the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_stale_files(target: Path) -> None:
    """Remove temporary files of the target that killed processes left: those without a lock."""
    prefix, suffix = f".{target.name}.", ".part"
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            middle = entry.name[len(prefix) : -len(suffix)]
            if entry.name == f"{prefix}{middle}{suffix}" and len(middle) == 12:
                with open(entry.path, "rb") as stream:
                    if try_lock(stream.fileno()):
                        os.unlink(entry.path)


def _load(path: PathLike, mapped: str | None) -> tuple[dict[str, str], Tensors]:
    """Return the metadata and tensors of a safetensors file, whatever it contains."""
    from safetensors import safe_open

    check_path(path)
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} does not exist") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {_reason(error)}") from error
    if not regular:
        raise ModelFileError(f"{path} is not an ordinary file")
    try:
        with safe_open(os.fspath(path), framework="np") as stream:
            metadata = stream.metadata() or {}
            names = list(stream.keys())
            to_map = [name for name in names if mapped and mapped in name]
            to_read = [name for name in names if name not in to_map]
            tensors = {name: np.array(stream.get_tensor(name)) for name in to_read}
        if to_map:
            tensors |= _map(path, to_map)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {_reason(error)}") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} does not fit into memory") from error
    # safetensors raises errors of many types.
    except Exception as error:
        raise ModelFileError(f"{path} is not a model file, or is damaged") from error
    unknown = [name for name, tensor in tensors.items() if tensor.dtype.name not in _TYPE_NAMES]
    if unknown:
        raise ModelFileError(f"{path} has a tensor of an unsupported type: {unknown[0]!r}")
    return metadata, tensors


def _map(path: PathLike, names: list[str]) -> Tensors:
    """Return tensors mapped from a safetensors file, whose header has been validated."""
    dtypes = {text: np.dtype(name) for name, text in _TYPE_NAMES.items()}
    with open(path, "rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header, content = json.loads(stream.read(size)), np.memmap(path, np.uint8, "r", 8 + size)
    tensors = {}
    for name in names:
        first, last = header[name]["data_offsets"]
        part = content[first:last].view(dtypes[header[name]["dtype"]])
        tensors[name] = part.reshape(header[name]["shape"])
    return tensors


def _parse_meta(path: PathLike, text: str) -> dict[str, Any]:
    """Return the JSON object in the metadata."""
    _check_length(path, text)
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} has metadata that is not valid JSON") from error
    if not isinstance(meta, dict):
        raise ModelFileError(f"{path} has metadata that is not a JSON object")
    return meta


def _check_length(path: PathLike, text: str) -> None:
    if (n := len(text)) > _MAX_META:
        raise ModelFileError(f"metadata of {path} must have <= {_MAX_META} characters, got {n}")


def _reason(error: Exception) -> str:
    """Return the reason for an error of the operating system."""
    if isinstance(error, OSError):
        reason = _REASONS.get(error.errno or 0)
        return reason or (error.strerror or str(error)).lower()
    return str(error)


def pack_strings(name: str, strings: Iterable[str]) -> Tensors:
    """Return strings as concatenated UTF-8 bytes and the end of each string."""
    # Lone surrogates, from file names and broken encodings, are preserved.
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return {f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{name}.ends": ends}


def pack_csr(name: str, matrix: sparse.csr_matrix | NDArray[Any]) -> Tensors:
    """Return a matrix of counts as the three arrays of a CSR matrix, sorted and without zeros."""
    matrix = sparse.csr_matrix(matrix, dtype=np.int64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    is_wide = matrix.data.max(initial=0) > np.iinfo(np.int32).max
    return {
        f"{name}.indptr": matrix.indptr.astype(np.int64),
        f"{name}.indices": matrix.indices.astype(np.int32),
        f"{name}.data": matrix.data.astype(np.int64 if is_wide else np.int32),
    }


class Reader:
    """Reader of the tensors of a file, which validates each of them."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._tensors = tensors

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def array(
        self,
        name: str,
        dtype: type,
        shape: tuple[int | None, ...],
        low: float | None = None,
        high: float | None = None,
    ) -> NDArray[Any]:
        """Return a tensor of this type and shape (None: any size), with values in [low, high].

        With a bound, NaN is rejected as well.
        """
        if name not in self._tensors:
            raise ModelFileError(f"the array {name!r} is missing")
        tensor = self._tensors[name]
        expected = tuple("any" if size is None else size for size in shape)
        matches = tensor.ndim == len(shape) and all(
            size in ("any", actual) for size, actual in zip(expected, tensor.shape, strict=True)
        )
        if tensor.dtype != np.dtype(dtype) or not matches:
            raise ModelFileError(
                f"the array {name!r} must be {np.dtype(dtype)} of shape {expected}, "
                f"got {tensor.dtype} of shape {tensor.shape}"
            )
        if tensor.size:
            # Comparisons with NaN are false, so NaN fails any bound.
            above = low is None or bool(tensor.min() >= low)
            below = high is None or bool(tensor.max() <= high)
            if not (above and below):
                raise ModelFileError(
                    f"the values of the array {name!r} must be between "
                    f"{'-inf' if low is None else low} and {'inf' if high is None else high}"
                )
        return tensor

    def strings(self, name: str, n: int | None = None) -> Objects:
        """Return an object array of ``n`` strings (None: any number)."""
        content = self.array(f"{name}.bytes", np.uint8, (None,))
        ends = self.array(f"{name}.ends", np.int64, (n,), 0, content.size)
        last = int(ends[-1]) if ends.size else 0
        if last != content.size or (np.diff(ends) < 0).any():
            raise ModelFileError(f"the offsets of the strings {name!r} are inconsistent")
        data, start = content.tobytes(), 0
        strings = np.empty(len(ends), dtype=object)
        for i, end in enumerate(ends.tolist()):
            try:
                strings[i] = data[start:end].decode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                raise ModelFileError(f"the strings {name!r} are not UTF-8") from error
            start = end
        return strings

    def csr(self, name: str, n_rows: int, n_columns: int) -> sparse.csr_matrix:
        """Return a sparse matrix of positive counts, int32 or int64 (n_rows, n_columns)."""
        counts = self._tensors.get(f"{name}.data")
        is_wide = counts is not None and counts.dtype == np.int64
        data = self.array(f"{name}.data", np.int64 if is_wide else np.int32, (None,), 1)
        indices = self.array(f"{name}.indices", np.int32, (data.size,), 0, n_columns - 1)
        indptr = self.array(f"{name}.indptr", np.int64, (n_rows + 1,), 0, data.size)
        steps = np.diff(indptr)
        if indptr[0] != 0 or indptr[-1] != data.size or (steps < 0).any():
            raise ModelFileError(f"the offsets of the sparse array {name!r} are inconsistent")
        row = np.repeat(np.arange(steps.size), steps)
        if ((np.diff(indices) <= 0) & (np.diff(row) == 0)).any():
            raise ModelFileError(f"the indices of the sparse array {name!r} are not sorted")
        return sparse.csr_matrix((data, indices, indptr), shape=(steps.size, n_columns))

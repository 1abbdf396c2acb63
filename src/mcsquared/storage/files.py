"""Files written completely or not at all, and the format of models and checkpoints.

Models and checkpoints are safetensors files with JSON in their metadata and no pickle. The metadata
contains four strings: ``schema`` (an integer), ``kind`` (what the file is), ``meta`` (JSON) and
``sha256``, a digest of the kind, the JSON and every tensor's name, type, shape and bytes. A file is
written next to its target and renamed when it is complete, so that a reader finds the old file or
the new one, never a mixture.
"""

import errno
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import ModelFileError

SCHEMA = 1

PathLike = str | os.PathLike[str]
Tensors = dict[str, NDArray[Any]]

_TYPE_NAMES = {
    "bool": "BOOL",
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (32, 64)},
}

# Parsing JSON may need twenty times its size in memory; large data belong in tensors.
_LONGEST_META = 32 * 2**20

# Temporary files of killed processes are removed once they are this old.
_STALE_SECONDS = 600.0

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
    """Write tensors and JSON to one file, completely or not at all.

    ``kind`` is what the file is, such as "model"; `read_file` checks it. Raises `ModelFileError` if
    the file cannot be written; an existing file is unchanged then.
    """
    text = json.dumps(meta, separators=(",", ":"))
    if len(text) > _LONGEST_META:
        raise ModelFileError(
            f"meta of {path} must have at most {_LONGEST_META} characters, got {len(text)}"
        )
    arrays = {name: _plain(name, tensor) for name, tensor in tensors.items()}
    # Wide types come first, so that every tensor is aligned to its own width.
    arrays = dict(sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])))
    header = _header(kind, text, arrays)
    target = check_target(path)
    try:
        _remove_stale_parts(target)
        with _replacing(target) as stream:
            _write_all(stream, header, arrays)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {_reason(error)}") from error


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a text file, given as one string or in parts, completely or not at all."""
    target = check_target(path)
    try:
        with _replacing(target) as stream:
            for part in (text,) if isinstance(text, str) else text:
                stream.write(part.encode())
    except OSError as error:
        # The error names the temporary file, if any; the user knows the target.
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a temporary file that replaces ``target`` once it is on the disk."""
    part = _part_of(target)
    try:
        with open(part, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
        _flush_folder(target.parent)
    finally:
        # After success the temporary file has become the target.
        with suppress(OSError):
            part.unlink()


def read_file(path: PathLike, kind: str) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and the JSON of a file that `write_file` wrote, verified.

    Raises `ModelFileError` if it is missing, damaged, of another version or of another kind.
    """
    metadata, tensors = _load(path)
    if not {"schema", "kind", "meta", "sha256"} <= metadata.keys():
        raise ModelFileError(f"{path} is a safetensors file that was not written by mcsquared")
    if metadata["schema"] != str(SCHEMA):
        raise ModelFileError(
            f"{path} must have schema version {SCHEMA}, got {metadata['schema'][:20]!r}"
        )
    if metadata["kind"] != kind:
        raise ModelFileError(
            f"{path} must be a file of kind {kind!r}, got {metadata['kind'][:40]!r}"
        )
    if metadata["sha256"] != _digest(kind, metadata["meta"], tensors):
        raise ModelFileError(f"{path} is damaged: its contents do not match their SHA-256")
    return tensors, _parsed(path, metadata["meta"])


def check_target(path: PathLike) -> Path:
    """Return the path that a file would be written to; raise `ModelFileError` if it cannot be.

    Called before long runs. Links are followed.
    """
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
    # Renaming a file to the name of a device or a pipe would replace that.
    if target.exists() and not target.is_file():
        return "it exists and is not an ordinary file"
    if target.exists() and not os.access(target, os.W_OK):
        return "the existing file is read-only"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"its folder {folder} is read-only"
    with suppress(AttributeError, OSError, ValueError):  # not every system has a limit
        if len(os.fsencode(_part_of(target).name)) > os.pathconf(folder, "PC_NAME_MAX"):
            return "its name is too long"
    return None


def _part_of(target: Path) -> Path:
    """Return the name of the temporary file, in the folder of the target."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")


def _plain(name: str, tensor: NDArray[Any]) -> NDArray[Any]:
    """Return the tensor in C order and little-endian."""
    array = np.asarray(tensor, order="C")
    if array.dtype.name not in _TYPE_NAMES:
        raise TypeError(f"tensor {name!r} has dtype {array.dtype}, which files do not support")
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
            "dtype": _TYPE_NAMES[array.dtype.name],
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
        digest.update(repr((name, tensor.dtype.name, tensor.shape)).encode())
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


def _remove_stale_parts(target: Path) -> None:
    """Remove old temporary files of the same target, left by killed processes."""
    prefix, suffix = f".{target.name}.", ".part"
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            middle = entry.name[len(prefix) : -len(suffix)]
            if entry.name == f"{prefix}{middle}{suffix}" and len(middle) == 12:
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if age > _STALE_SECONDS:
                    os.unlink(entry.path)


def _load(path: PathLike) -> tuple[dict[str, str], Tensors]:
    """Return metadata and tensors; the bytes may be anything."""
    from safetensors import safe_open

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
            tensors = {name: np.array(stream.get_tensor(name)) for name in stream.keys()}  # noqa: SIM118
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {_reason(error)}") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} does not fit into memory") from error
    # The errors of the reader are of many types.
    except Exception as error:
        raise ModelFileError(f"{path} is not a model file, or is truncated: {error}") from error
    unknown = [name for name, tensor in tensors.items() if tensor.dtype.name not in _TYPE_NAMES]
    if unknown:
        raise ModelFileError(f"{path} has a tensor of an unsupported type: {unknown[0]!r}")
    return metadata, tensors


def _parsed(path: PathLike, text: str) -> dict[str, Any]:
    """Return the JSON object in the metadata."""
    if len(text) > _LONGEST_META:
        raise ModelFileError(
            f"metadata of {path} must have at most {_LONGEST_META} characters, got {len(text)}"
        )
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} has metadata that is not valid JSON") from error
    if not isinstance(meta, dict):
        raise ModelFileError(f"{path} has metadata that is not a JSON object")
    return meta


def _reason(error: Exception) -> str:
    """Return the error of the operating system in plain words."""
    if isinstance(error, OSError):
        known = _REASONS.get(error.errno or 0)
        return known or (error.strerror or str(error)).lower()
    return str(error)

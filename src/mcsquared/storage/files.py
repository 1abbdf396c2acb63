"""One file format for models and checkpoints: safetensors, JSON in its metadata, no pickle.

The metadata holds four strings: ``schema`` (a whole number), ``kind`` (what the file is),
``meta`` (JSON) and ``sha256``, a digest of the kind, the JSON and every tensor's name, type,
shape and bytes. A file is written beside its target and moved there when it is complete, so
that a reader meets the old file or the new one and nothing between.
"""

import errno
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import ModelFileError

__all__ = ["SCHEMA", "check_target", "read_file", "write_file"]

SCHEMA = 1

Tensors = dict[str, NDArray[Any]]

_TYPE_NAMES = {
    "bool": "BOOL",
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float32": "F32",
    "float64": "F64",
}

# A reader of JSON may need some twenty times its text in memory; what is large belongs in tensors.
_LONGEST_META = 32 * 2**20

# Parts of files that a killed process left behind are removed once they are this old.
_STALE_SECONDS = 600.0

_REASONS = {
    errno.ENOSPC: "there is no room left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file is larger than allowed here",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "its name is too long",
}


def write_file(
    path: str | os.PathLike[str],
    kind: str,
    tensors: Mapping[str, NDArray[Any]],
    meta: Mapping[str, Any],
) -> None:
    """Write tensors and JSON to one file, complete or not at all.

    Parameters
    ----------
    path
        Where the file goes; an older file there stays until the new one is complete.
    kind
        What the file is, "posterior" say; `read_file` asks for it again.
    tensors
        Boolean, integer or floating arrays by name.
    meta
        Anything JSON can say; small, since whatever is large belongs in tensors.

    Raises
    ------
    ModelFileError
        If the file cannot be written; nothing is left behind and an older file is as it was.
    """
    text = json.dumps(meta, separators=(",", ":"))
    if len(text) > _LONGEST_META:
        raise ModelFileError(
            f"meta of {path} takes {len(text)} characters, but at most {_LONGEST_META} are possible"
        )
    arrays = {name: _plain(name, tensor) for name, tensor in tensors.items()}
    header = _header(kind, text, arrays)
    target = check_target(path)
    part = _part_of(target)
    try:
        _remove_stale_parts(target)
        with open(part, "xb") as stream:
            _write_all(stream, header, arrays)
        os.replace(part, target)
        _flush_folder(target.parent)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {_reason(error)}") from error
    finally:
        # After success the part has become the target, and there is nothing to remove.
        with suppress(OSError):
            part.unlink()


def read_file(path: str | os.PathLike[str], kind: str) -> tuple[Tensors, dict[str, Any]]:
    """Read a file that `write_file` wrote, and check that it is whole.

    Parameters
    ----------
    path
        The file.
    kind
        What it must be; a file of another kind is refused.

    Returns
    -------
    tensors : dict of str to ndarray
    meta : dict

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, of another version or of another kind.
    """
    file = _existing(path)
    metadata, tensors = _load(path, file)
    if not {"schema", "kind", "meta", "sha256"} <= metadata.keys():
        raise ModelFileError(f"{path} is a safetensors file, but not one that mcsquared wrote")
    schema = metadata["schema"]
    if schema != str(SCHEMA):
        raise ModelFileError(
            f"{path} has schema version {schema[:20]!r}, but this mcsquared reads version {SCHEMA}"
        )
    if metadata["kind"] != kind:
        raise ModelFileError(
            f"{path} is a file of kind {metadata['kind'][:40]!r}, but {kind!r} is wanted"
        )
    if metadata["sha256"] != _digest(kind, metadata["meta"], tensors):
        raise ModelFileError(
            f"{path} is damaged: its contents do not match their SHA-256; a fresh copy is wanted"
        )
    return tensors, _parsed(path, metadata["meta"])


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path a file would be written to, or say in one sentence why it cannot be.

    Cheap enough to be asked before hours of sampling; links are followed.
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
    """Say what stands in the way of a file at `target`, if anything does."""
    folder = target.parent
    if not folder.exists():
        return f"its folder {folder} does not exist"
    if not folder.is_dir():
        return f"{folder} is not a folder"
    # Moving a file over a device or a pipe would replace it: never what is meant.
    if target.exists() and not target.is_file():
        return "it exists and is not an ordinary file"
    if target.exists() and not os.access(target, os.W_OK):
        return "the file there is read-only"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"its folder {folder} is read-only"
    with suppress(AttributeError, OSError, ValueError):  # not every system tells its limit
        if len(os.fsencode(_part_of(target).name)) > os.pathconf(folder, "PC_NAME_MAX"):
            return "its name is too long"
    return None


def _part_of(target: Path) -> Path:
    """Return a name for the file while it is being written, beside where it goes."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")


def _plain(name: str, tensor: NDArray[Any]) -> NDArray[Any]:
    """Return the tensor in C order and little-endian, as the file holds it."""
    array = np.asarray(tensor, order="C")
    if array.dtype.name not in _TYPE_NAMES:
        raise TypeError(f"tensor {name!r} has dtype {array.dtype}, which model files cannot hold")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _header(kind: str, text: str, arrays: Tensors) -> bytes:
    """Return the first bytes of the file, and put `arrays` in the order of their bytes."""
    # Wide types first keeps every tensor aligned to its own width.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    ordered = {name: arrays.pop(name) for name in names}
    arrays.update(ordered)
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
    """Return the SHA-256 of everything a file says, whatever the order of its tensors."""
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
    """Write everything and wait until the disk has it."""
    stream.write(header)
    for array in arrays.values():
        stream.write(_bytes(array))
    stream.flush()
    os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the move itself outlast a power failure, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_stale_parts(target: Path) -> None:
    """Remove what killed writers of the same target left behind, but no live writer's part."""
    prefix, suffix = f".{target.name}.", ".part"
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            middle = entry.name[len(prefix) : -len(suffix)]
            if entry.name == f"{prefix}{middle}{suffix}" and len(middle) == 12:
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if age > _STALE_SECONDS:
                    os.unlink(entry.path)


def _existing(path: str | os.PathLike[str]) -> Path:
    """Return the path of an ordinary file that is there to be read."""
    file = Path(path)
    try:
        mode = file.stat().st_mode
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} does not exist") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {_reason(error)}") from error
    if not stat.S_ISREG(mode):
        raise ModelFileError(f"{path} is not an ordinary file, so it cannot be a model file")
    return file


def _load(path: str | os.PathLike[str], file: Path) -> tuple[dict[str, str], Tensors]:
    """Return the metadata and the tensors, whatever the bytes may be."""
    from safetensors import safe_open

    try:
        with safe_open(str(file), framework="np") as stream:
            metadata = stream.metadata() or {}
            tensors = {name: np.array(stream.get_tensor(name)) for name in stream.keys()}  # noqa: SIM118
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {_reason(error)}") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} is too large for this machine's memory") from error
    # The bytes may be anything, and the reader's own errors are of many types.
    except Exception as error:
        raise ModelFileError(f"{path} is not a model file, or not a whole one: {error}") from error
    unknown = [name for name, tensor in tensors.items() if tensor.dtype.name not in _TYPE_NAMES]
    if unknown:
        raise ModelFileError(f"{path} holds a tensor of a type no model file has: {unknown[0]!r}")
    return metadata, tensors


def _parsed(path: str | os.PathLike[str], text: str) -> dict[str, Any]:
    """Return the JSON object in the metadata."""
    if len(text) > _LONGEST_META:
        raise ModelFileError(f"{path} has metadata of {len(text)} characters, which is too long")
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} has metadata that is not valid JSON") from error
    if not isinstance(meta, dict):
        raise ModelFileError(f"{path} has metadata that is not a JSON object")
    return meta


def _reason(error: Exception) -> str:
    """Say in plain words what the operating system answered."""
    if isinstance(error, OSError):
        known = _REASONS.get(error.errno or 0)
        return known or (error.strerror or str(error)).lower()
    return str(error)

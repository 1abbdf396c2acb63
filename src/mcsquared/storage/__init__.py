"""Models and checkpoints to disk and back: safetensors and JSON, no pickle."""

from mcsquared.storage.files import SCHEMA, check_target, read_file, write_file
from mcsquared.storage.posteriors import pack_posterior, unpack_posterior

__all__ = [
    "SCHEMA",
    "check_target",
    "pack_posterior",
    "read_file",
    "unpack_posterior",
    "write_file",
]

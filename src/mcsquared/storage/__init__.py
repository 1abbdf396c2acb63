"""Models and checkpoints on disk: safetensors and JSON, no pickle."""

from mcsquared.locks import locked
from mcsquared.storage.files import SCHEMA, check_target, read_file, write_file, write_text
from mcsquared.storage.models import pack_posterior, unpack_posterior

__all__ = [
    "SCHEMA",
    "check_target",
    "locked",
    "pack_posterior",
    "read_file",
    "unpack_posterior",
    "write_file",
    "write_text",
]

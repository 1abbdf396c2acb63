"""Models and checkpoints to disk and back: safetensors and JSON, no pickle."""

from mcsquared.storage.files import SCHEMA, check_target, read_file, write_file

__all__ = ["SCHEMA", "check_target", "read_file", "write_file"]

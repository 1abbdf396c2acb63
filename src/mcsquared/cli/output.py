"""Files that are written whole or not at all."""

from mcsquared.storage import write_text

__all__ = ["write_text"]

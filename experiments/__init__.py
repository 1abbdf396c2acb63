"""The paper's experiments, one module each: ``mc2 reproduce NAME`` runs and renders them.

Every module uses the public API of mcsquared alone. `running` documents what a module must define.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from mcsquared import InputError

__all__ = ["NAMES", "find"]

NAMES = (
    "letters",
    "table1",
    "images",
    "contexts-alone",
    "missing",
    "topic-over-time",
    "length",
    "correlation",
)


def find(name: str) -> ModuleType:
    """Return the module of an experiment."""
    if name not in NAMES:
        raise InputError(f"experiment must be one of {', '.join(NAMES)}, got {name!r}")
    return import_module(f"{__name__}.{name.replace('-', '_')}")

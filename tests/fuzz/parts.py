"""Some cases of one target, run in a process of their own."""

import tempfile
from pathlib import Path

from tests.fuzz import kills, targets


def failures(name, first, n_cases):
    with tempfile.TemporaryDirectory() as folder:
        if name.startswith("kills"):
            where = name.partition("-")[2] or "memory"
            return kills.run(where, Path(folder), first, n_cases)
        return targets.run(name, Path(folder), first, n_cases)

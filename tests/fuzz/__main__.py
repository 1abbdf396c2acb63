"""Fuzz files: ``python -m tests.fuzz [--cases N] [--first N] [target ...]``."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz import kills
from tests.fuzz.targets import TARGETS, run

KILLS = ["kills", "kills-disk", "kills-workers"]
DEFAULT_CASES = {"models": 10_000, "checkpoints": 10_000}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("targets", nargs="*", default=[*TARGETS, *KILLS], metavar="target")
parser.add_argument("--cases", type=int, help="per target (10,000; tables: 2,000; kills: 200, 20)")
parser.add_argument("--first", type=int, default=0, help="number of the first case")
arguments = parser.parse_args()
failures = 0
with tempfile.TemporaryDirectory() as folder:
    for name in arguments.targets:
        if name.startswith("kills"):
            where = name.partition("-")[2] or "memory"
            n_kills = arguments.cases or (200 if where == "memory" else 20)
            failures += kills.run(Path(folder), n_kills, n_kills // 2, where=where)
            continue
        n_cases = arguments.cases or DEFAULT_CASES.get(name, 2_000)
        failures += run(name, Path(folder), arguments.first, n_cases)
sys.exit(failures > 0)

"""Fuzz files: ``python -m tests.fuzz [--cases N] [--first N] [target ...]``."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz import kills
from tests.fuzz.targets import TARGETS, run

DEFAULT_CASES = {"models": 10_000, "checkpoints": 10_000}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("targets", nargs="*", default=[*TARGETS, "kills"], metavar="target")
parser.add_argument("--cases", type=int, help="per target (10,000; tables: 2,000; kills: 200)")
parser.add_argument("--first", type=int, default=0, help="number of the first case")
arguments = parser.parse_args()
failures = 0
with tempfile.TemporaryDirectory() as folder:
    for name in arguments.targets:
        if name == "kills":
            n_kills = arguments.cases or 200
            failures += kills.run(Path(folder), n_kills, n_kills // 2)
            continue
        n_cases = arguments.cases or DEFAULT_CASES.get(name, 2_000)
        failures += run(name, Path(folder), arguments.first, n_cases)
sys.exit(failures > 0)

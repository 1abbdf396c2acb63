"""Fuzz files: ``python -m tests.fuzz [--cases N] [--first N] [--jobs N] [target ...]``.

Cases are numbered, and each depends on its number alone. Several jobs divide them.
"""

import argparse
import itertools
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from tests.fuzz.parts import failures

CASES = {"models": 10_000, "checkpoints": 10_000, "kills": 200, "kills-disk": 20}
CASES |= {"kills-workers": 20, "csv": 2_000, "jsonl": 2_000, "parquet": 2_000}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=[*CASES], metavar="target")
    parser.add_argument("--cases", type=int, help="per target (10,000; tables: 2,000; kills: 200)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes that divide the cases")
    arguments = parser.parse_args()
    parts = []
    for name in arguments.targets:
        n_cases = arguments.cases or CASES[name]
        bounds = np.linspace(0, n_cases, arguments.jobs + 1).astype(int) + arguments.first
        parts += [(name, int(a), int(b - a)) for a, b in itertools.pairwise(bounds) if b > a]
    # A process for each part: a fork of one that has run a target would inherit its threads.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, spawn, max_tasks_per_child=1) as pool:
        return sum(pool.map(failures, *zip(*parts, strict=True)))


if __name__ == "__main__":
    sys.exit(main() > 0)

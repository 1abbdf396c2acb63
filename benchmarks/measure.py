"""CPU-seconds, spread and peak memory: the only places where a clock or a gauge is read."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

__all__ = [
    "ROOT",
    "Timing",
    "cpu_seconds",
    "cpu_seconds_of_command",
    "peak_megabytes",
    "run_job",
    "side_by_side",
]

Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parents[1]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return what ``work`` costs in CPU-seconds of this process, all its threads together."""
    began = time.process_time()
    work()
    return time.process_time() - began


@dataclass
class Timing:
    """The same work timed several times."""

    seconds: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """Note one more run of the work."""
        self.seconds.append(seconds)

    @property
    def median(self) -> float:
        """The figure to quote."""
        return median(self.seconds)

    @property
    def least(self) -> float:
        """The run that was disturbed least."""
        return min(self.seconds)

    @property
    def most(self) -> float:
        """The run that was disturbed most."""
        return max(self.seconds)


def peak_megabytes() -> float:
    """Return the most memory this process has held, in MB of 10^6 bytes.

    On Linux ``ru_maxrss`` also remembers the program that started this one; the kernel's own
    high-water mark of the present program does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def run_job(
    job: str, environment: Mapping[str, str] | None = None, /, **arguments: Any
) -> dict[str, Any]:
    """Run a job of `benchmarks.jobs` in a fresh process and return what it reports."""
    command = [sys.executable, "-m", "benchmarks.jobs", job, json.dumps(arguments)]
    finished = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"the job {job} failed:\n{finished.stderr[-2000:]}")
    return json.loads(finished.stdout.splitlines()[-1])


def side_by_side(work: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Call a function of a module once for each tuple, in as many processes as there are cores.

    For work whose result counts, not its time.
    """
    workers = min(os.cpu_count() or 1, len(calls))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, *zip(*calls, strict=True)))


def cpu_seconds_of_command(command: list[str]) -> tuple[float, float]:
    """Return CPU-seconds and wall seconds of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall

"""Measure CPU-seconds, wall seconds and peak memory."""

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
from statistics import mean, median
from typing import Any, TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU-seconds of ``work`` in this process, over all threads."""
    began = time.process_time()
    work()
    return time.process_time() - began


@dataclass
class Timing:
    """Repeated timings of the same work."""

    seconds: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """Add the seconds of one run."""
        self.seconds.append(seconds)

    @property
    def median(self) -> float:
        """Median of all runs."""
        return median(self.seconds)

    @property
    def mean(self) -> float:
        """Mean of all runs."""
        return mean(self.seconds)

    @property
    def fastest(self) -> float:
        """Fastest run."""
        return min(self.seconds)

    @property
    def slowest(self) -> float:
        """Slowest run."""
        return max(self.seconds)


def peak_megabytes() -> float:
    """Return the peak memory of this process in MB (10^6 bytes).

    On Linux ``ru_maxrss`` is inherited from the parent process; ``VmHWM`` is not.
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
    """Run a job of `benchmarks.jobs` in a new process and return its report."""
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
        raise RuntimeError(f"job {job} failed:\n{finished.stderr[-2000:]}")
    return json.loads(finished.stdout.splitlines()[-1])


def run_parallel(work: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
    """Call a module-level function once per tuple, with one process per core.

    Not for work that is timed.
    """
    processes = min(os.cpu_count() or 1, len(calls))
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, *zip(*calls, strict=True)))


def cpu_seconds_of_command(command: list[str]) -> tuple[float, float]:
    """Return CPU-seconds and wall seconds of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall

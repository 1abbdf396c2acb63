"""Run an experiment over several seeds and return a complete record of the run.

An experiment is a module of this package with

``TITLE : str``
    One line: what is measured, and the table or figure of the paper.
``KEYS : tuple of str``
    The columns that identify a row ("set", "method", "contexts", "lam", ...). Their values are
    strings or round numbers; λ is "inf" or "learnt". Every other number in a row is a measure, and
    is summarised over seeds by mean and standard error.
``SEEDS : int``
    Default number of seeds at full scale.
``run(seed, setting) -> list of dict``
    The rows of one seed: flat and JSON-compatible (NumPy numbers are converted). Text that is
    neither key nor measure is reported for the first seed.
``figures(record) -> dict from str to matplotlib Figure``
    Made from the record alone, so that figures can be redrawn from the JSON file. The file is
    ``figures/NAME-KEY.png``. May return an empty dict.

Additional data of figures are stored by ``setting.keep(name, values)``: arrays or lists, rounded to
four digits, of the first seed only; ``record["arrays"][name]`` has them as lists.

``run`` uses ``setting.sweeps(600)`` for numbers of sweeps (a twentieth at tiny scale),
``setting.choose(full, tiny)`` for other choices by scale, ``setting.n_jobs`` threads,
``setting.sets("labelme8", "wiki_crossmodal")`` for the data sets (these, or those of ``--set``),
``setting.load(name)`` to load a data set and ``setting.entry(name)`` for its contexts and label.
Models are fitted with ``progress=False``.

A record, as written to ``results/NAME.json``, has: experiment, title, command, scale, seeds,
machine, versions, date, seconds (wall), keys, rows (with their seed), summary, paper (the rows of
`paper_numbers.json` for this experiment), arrays. A row of the summary has the keys, and
``{"mean", "standard_error", "n"}`` for every measure.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mcsquared import InputError
from mcsquared.datasets import DataSet

from . import find, sets
from .summary import paper_numbers, plain, rounded, summarise

__all__ = ["Outcome", "Setting", "record_text", "run_experiment", "run_seed", "versions"]

SCALES = ("full", "tiny")
PACKAGES = ("mcsquared", "numpy", "scipy", "numba", "scikit-learn", "pandas", "tomotopy")


@dataclass(frozen=True)
class Setting:
    """The settings of a run.

    Parameters
    ----------
    scale : "full" or "tiny"
        Tiny: a few sweeps on synthetic data, to check that the code runs.
    data : path, optional
        The folder of the real data sets; by default the value of MCSQUARED_DATA.
    n_jobs : int
        Cores for one seed.
    chosen_sets : tuple of str
        Data sets requested by the user; if empty, those of the experiment.
    """

    scale: str = "full"
    data: Path | None = None
    n_jobs: int = 1
    chosen_sets: tuple[str, ...] = ()
    arrays: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise InputError(f"scale must be one of {', '.join(SCALES)}, got {self.scale!r}")
        for name in self.chosen_sets:
            sets.entry(name)

    @property
    def tiny(self) -> bool:
        """Whether the run only checks that the code runs."""
        return self.scale == "tiny"

    def choose(self, full: Any, tiny: Any) -> Any:
        """Return ``full`` or ``tiny`` by scale."""
        return tiny if self.tiny else full

    def sweeps(self, n_sweeps: int) -> int:
        """Return the number of sweeps; at tiny scale a twentieth of it, at least one.

        Sweeps and burn-in are scaled by the same factor, so that some draws remain.
        """
        return self.choose(n_sweeps, max(1, n_sweeps // 20))

    def sets(self, *names: str) -> tuple[str, ...]:
        """Return the data sets requested by the user, or ``names`` by default."""
        return self.chosen_sets or names

    def load(self, name: str) -> DataSet:
        """Return a real data set, or at tiny scale a synthetic one with the same columns."""
        return sets.synthetic(name) if self.tiny else sets.load(name, self.data)

    def entry(self, name: str) -> sets.Entry:
        """Return the contexts of a data set with their families, and its label."""
        return sets.entry(name)

    def keep(self, name: str, values: Any) -> None:
        """Store an array, or a list of words, for figures."""
        self.arrays[name] = rounded(values)


@dataclass(frozen=True)
class Outcome:
    """The result of one seed; ``ended`` is in seconds since the start of the run."""

    seed: int
    rows: list[dict[str, Any]]
    arrays: dict[str, Any]
    seconds: float
    ended: float = 0.0


def run_seed(name: str, seed: int, setting: Setting) -> Outcome:
    """Run one seed of an experiment with at most ``setting.n_jobs`` threads."""
    from threadpoolctl import threadpool_limits

    setting = replace(setting, arrays={})
    began = time.perf_counter()
    with threadpool_limits(setting.n_jobs):
        rows = find(name).run(seed, setting)
    seconds = time.perf_counter() - began
    return Outcome(seed, [{"seed": seed, **plain(row)} for row in rows], setting.arrays, seconds)


def run_experiment(
    name: str,
    setting: Setting,
    seeds: Sequence[int],
    n_jobs: int = 1,
    command: str = "",
    report: Callable[[Outcome], None] | None = None,
    earlier: Sequence[Outcome] = (),
) -> dict[str, Any]:
    """Run an experiment over seeds and return its record.

    Parameters
    ----------
    n_jobs : int
        Total number of cores: seeds run in parallel processes, which share the rest as threads.
    command : str
        The command line, for the record.
    report : callable, optional
        Called with the outcome of each seed, in the order of the seeds.
    earlier : sequence of Outcome
        Outcomes of an interrupted run; their seeds are not run again.
    """
    module = find(name)
    remaining = [seed for seed in seeds if seed not in {outcome.seed for outcome in earlier}]
    n_processes = max(1, min(n_jobs, len(remaining)))
    shared = replace(setting, n_jobs=max(1, n_jobs // n_processes))
    outcomes = list(earlier)
    began = time.perf_counter() - max((outcome.ended for outcome in earlier), default=0.0)
    for outcome in _outcomes(name, shared, remaining, n_processes):
        outcomes.append(replace(outcome, ended=time.perf_counter() - began))
        if report is not None:
            report(outcomes[-1])
    seconds = time.perf_counter() - began
    outcomes.sort(key=lambda outcome: outcome.seed)
    rows = [row for outcome in outcomes for row in outcome.rows]
    return {
        "experiment": name,
        "title": module.TITLE,
        "command": command,
        "scale": setting.scale,
        "seeds": list(seeds),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {n_jobs} used",
        "versions": versions(),
        "seconds": round(seconds, 1),
        "seconds_by_seed": [round(outcome.seconds, 1) for outcome in outcomes],
        "keys": list(module.KEYS),
        "rows": rows,
        "summary": summarise(rows, module.KEYS),
        "paper": paper_numbers(name),
        "arrays": outcomes[0].arrays if outcomes else {},
    }


def _outcomes(
    name: str, setting: Setting, seeds: Sequence[int], n_processes: int
) -> Iterator[Outcome]:
    if n_processes == 1:
        yield from (run_seed(name, seed, setting) for seed in seeds)
        return
    # Spawned, because a forked process inherits the locks of numba's threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, mp_context=context) as pool:
        runs = [pool.submit(run_seed, name, seed, setting) for seed in seeds]
        try:
            for run in runs:
                yield run.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def record_text(record: dict[str, Any]) -> str:
    """Return a record as JSON with one row per line, for readable diffs."""
    lines = [f"{json.dumps(key)}: {_format(value)}" for key, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _format(value: Any) -> str:
    """Return JSON with one row per line for lists of rows, and on one line otherwise."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the relevant packages."""
    return {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"

"""Run an experiment over seeds and write down all that a reader needs to judge it.

An experiment is a module of this package with

``TITLE : str``
    One line: what is measured, and which table or figure of the paper it belongs to.
``KEYS : tuple of str``
    The columns that say what a row is about ("set", "method", "contexts", "lam", ...). Their
    values are strings or round numbers; λ is "inf" or "learnt". Every other number in a row is a
    measure, and is summarised over seeds as mean and standard error.
``SEEDS : int``
    Seeds at full scale unless the user says otherwise.
``run(seed, setting) -> list of dict``
    The rows of one seed: flat, JSON-able (numpy numbers are turned into plain ones). Text that is
    neither key nor measure may stand in a row; it is stored and shown for the first seed.
``figures(record) -> dict from str to matplotlib Figure``
    Drawn from the record alone, so that a figure can be drawn again from its JSON file. The file
    is ``figures/NAME-KEY.png``. May return an empty dict.

What a figure needs beyond rows goes through ``setting.keep(name, values)``: arrays or lists,
rounded to four digits, of the first seed only; ``record["arrays"][name]`` has them as lists.

In ``run``, a number of sweeps is written ``setting.sweeps(600)`` (a twentieth at tiny scale), a
choice between scales ``setting.choose(full, tiny)``, threads ``setting.n_jobs``, the sets to run
on ``setting.sets("labelme8", "wiki_crossmodal")`` (these, or those the user names by ``--set``),
a set ``setting.load(name)`` and its line in the table of sets ``setting.entry(name)``. Models are
fitted with ``progress=False``.

A record, as written to ``results/NAME.json``: experiment, title, command, scale, seeds, machine,
versions, date, seconds (wall), keys, rows (with their seed), summary, paper (the rows of
`paper_numbers.json` for this experiment), arrays. A row of the summary has the keys, and for
every measure ``{"mean", "standard_error", "n"}``.
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
    """What an experiment may know of the run it is part of.

    Parameters
    ----------
    scale : "full" or "tiny"
        Tiny: a handful of sweeps on simulated stand-ins; it shows that the code runs.
    data : path, optional
        The folder of the real sets; None: the one that MCSQUARED_DATA names.
    n_jobs : int
        Cores for one seed.
    chosen_sets : tuple of str
        Sets that the user asked for; empty: those of the experiment.
    """

    scale: str = "full"
    data: Path | None = None
    n_jobs: int = 1
    chosen_sets: tuple[str, ...] = ()
    arrays: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise InputError(f"scale is {self.scale!r}; one of {', '.join(SCALES)} is wanted")
        for name in self.chosen_sets:
            sets.entry(name)

    @property
    def tiny(self) -> bool:
        """Whether this run only shows that the code runs."""
        return self.scale == "tiny"

    def choose(self, full: Any, tiny: Any) -> Any:
        """Return the first at full scale, the second at tiny scale."""
        return tiny if self.tiny else full

    def sweeps(self, n_sweeps: int) -> int:
        """Return a number of sweeps; at tiny scale a twentieth of it, and one at least.

        All sweeps and burn-in shrink alike, so that draws are left to keep.
        """
        return self.choose(n_sweeps, max(1, n_sweeps // 20))

    def sets(self, *names: str) -> tuple[str, ...]:
        """Return the sets to run on: those the user asked for, or else these."""
        return self.chosen_sets or names

    def load(self, name: str) -> DataSet:
        """Return a real set, or at tiny scale a simulated stand-in for it."""
        return sets.stand_in(name) if self.tiny else sets.load(name, self.data)

    def entry(self, name: str) -> sets.Entry:
        """Return the line of a set: its contexts with their families, and its label."""
        return sets.entry(name)

    def keep(self, name: str, values: Any) -> None:
        """Keep an array, or a list of words, for figures."""
        self.arrays[name] = rounded(values)


@dataclass(frozen=True)
class Outcome:
    """What one seed gave; ``ended``: seconds after the beginning of the run."""

    seed: int
    rows: list[dict[str, Any]]
    arrays: dict[str, Any]
    seconds: float
    ended: float = 0.0


def run_seed(name: str, seed: int, setting: Setting) -> Outcome:
    """Run one seed of an experiment, on no more cores than the setting allows."""
    from threadpoolctl import threadpool_limits

    own = replace(setting, arrays={})
    began = time.perf_counter()
    with threadpool_limits(own.n_jobs):
        rows = find(name).run(seed, own)
    seconds = time.perf_counter() - began
    return Outcome(seed, [{"seed": seed, **plain(row)} for row in rows], own.arrays, seconds)


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
        Cores in all: seeds run side by side in processes, and share what is left as threads.
    command : str
        What the user typed, for the record.
    report : callable, optional
        Told the outcome of each seed as it ends, in the order of the seeds.
    earlier : sequence of Outcome
        Seeds that an interrupted run had done; they are not run again.
    """
    module = find(name)
    left = [seed for seed in seeds if seed not in {outcome.seed for outcome in earlier}]
    n_processes = max(1, min(n_jobs, len(left)))
    shared = replace(setting, n_jobs=max(1, n_jobs // n_processes))
    outcomes = list(earlier)
    began = time.perf_counter() - max((outcome.ended for outcome in earlier), default=0.0)
    for outcome in _outcomes(name, shared, left, n_processes):
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
    """Return a record as JSON with a row a line, so that changes can be read."""
    lines = [f"{json.dumps(key)}: {_lay_out(value)}" for key, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lay_out(value: Any) -> str:
    """Write lists of rows with a row a line, everything else in one line."""
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
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"

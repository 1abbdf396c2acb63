"""Progress of a run: bars on a terminal, a few lines on other streams, or nothing."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO

from mcsquared.errors import InputError

if TYPE_CHECKING:
    from rich.progress import TaskID

N_LINES = 10  # plain lines per run
MIN_SECONDS = 2.0  # between plain lines in mode "auto": a short run prints none
FIRST_PAUSE = 10.0  # seconds without a line before an extra one; doubles each time
WINDOW = 50  # sweeps over which the speed is measured


@dataclass(eq=False)
class Progress:
    """Callback that displays progress, speed and remaining time.

    In mode "auto" it draws a bar on a terminal; on other streams it prints a few lines unless the
    run is short. True prints them for short runs too; False displays nothing.
    """

    n_sweeps: int  # of each chain, burn-in included; grows with each stage of a run in stages
    n_chains: int = 1
    n_tokens: int = 0  # resampled by one sweep of one chain
    mode: Literal["auto"] | bool = "auto"
    stream: TextIO | None = None  # by default standard error
    deadline: float = math.inf  # a value of time.monotonic() at which the run ends

    def __post_init__(self) -> None:
        if self.mode not in ("auto", True, False):
            raise InputError(f"progress must be 'auto', True or False, got {self.mode!r}")
        self._display: _Bars | _Lines | None = None
        self._done: dict[int, int] = {}
        self._times: deque[float] = deque(maxlen=WINDOW + 1)
        self._lock = threading.Lock()  # chains may report from several threads

    def __enter__(self) -> Progress:
        if self.mode is False:
            return self
        stream = self.stream if self.stream is not None else sys.stderr
        if getattr(stream, "isatty", bool)():
            self._display = _Bars(stream, self.n_sweeps, self.n_chains)
        else:
            min_wait = MIN_SECONDS if self.mode == "auto" else 0.0
            self._display = _Lines(stream, self.n_sweeps, self.n_chains, min_wait)
        return self

    def __exit__(self, *exception: object) -> None:
        display, self._display = self._display, None
        if isinstance(display, _Bars):
            display.bars.stop()

    def __call__(self, info: Any) -> None:
        """Display one sweep, given as a `SweepInfo` or an object with the same attributes."""
        with self._lock:
            if self._display is None:
                return
            if getattr(info, "n_sweeps", self.n_sweeps) != self.n_sweeps:
                self.n_sweeps = info.n_sweeps
                self._display.extend(self.n_sweeps)
            # Earlier sweeps of a resumed chain count as done, but not towards the speed.
            self._done[info.chain] = info.sweep
            self._times.append(time.monotonic())
            done = sum(self._done.values())
            self._display.show(info, done, self._times[-1], self._summary(info, done))

    def _summary(self, info: Any, done: int) -> str:
        parts = [f"{info.n_clusters} clusters", f"{info.n_topics} topics"]
        elapsed = self._times[-1] - self._times[0]
        if elapsed > 0:
            sweeps_per_second = (len(self._times) - 1) / elapsed
            if self.n_tokens:
                parts.append(f"{_format_number(sweeps_per_second * self.n_tokens)} tokens/s")
            left = (self.n_sweeps * self.n_chains - done) / sweeps_per_second
            left = min(left, max(self.deadline - self._times[-1], 0.0))
            parts.append(f"{_format_duration(left)} left")
        return ", ".join(parts)


class _Bars:
    """One bar per chain, drawn by rich."""

    def __init__(self, stream: TextIO, n_sweeps: int, n_chains: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self.n_sweeps = n_sweeps
        self.n_chains = n_chains
        self.tasks: dict[int, TaskID] = {}
        self.bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[summary]}"),
            console=Console(file=stream),
        )
        self.bars.start()

    def extend(self, n_sweeps: int) -> None:
        self.n_sweeps = n_sweeps
        for task in self.tasks.values():
            self.bars.update(task, total=n_sweeps)

    def show(self, info: Any, done: int, now: float, summary: str) -> None:
        if info.chain not in self.tasks:
            label = "sweeps" if self.n_chains == 1 else f"chain {info.chain + 1}"
            self.tasks[info.chain] = self.bars.add_task(label, total=self.n_sweeps, summary="")
        self.bars.update(self.tasks[info.chain], completed=info.sweep, summary=summary)


class _Lines:
    """A plain line for every tenth of the run, and extra lines if a tenth takes long."""

    def __init__(self, stream: TextIO, n_sweeps: int, n_chains: int, min_wait: float) -> None:
        self.stream = stream
        self.n_total = n_sweeps * n_chains
        self.n_chains = n_chains
        self.min_wait = min_wait
        self.last_time = time.monotonic()
        self.last_tenth = 0
        self.pause = FIRST_PAUSE

    def extend(self, n_sweeps: int) -> None:
        before, self.n_total = self.n_total, n_sweeps * self.n_chains
        if self.last_tenth:
            print(
                f"not converged after {before} sweeps: continuing to {self.n_total}",
                file=self.stream,
                flush=True,
            )
        self.last_tenth = self.last_tenth * before // self.n_total

    def show(self, info: Any, done: int, now: float, summary: str) -> None:
        tenth = done * N_LINES // max(self.n_total, 1)
        waited = now - self.last_time
        if waited >= self.pause:
            self.pause *= 2
        elif tenth == self.last_tenth or waited < self.min_wait:
            return
        self.last_tenth, self.last_time = tenth, now
        print(f"sweep {done} of {self.n_total}: {summary}", file=self.stream, flush=True)


def _format_number(number: float) -> str:
    """Format a number with three digits and a unit prefix.

    >>> _format_number(1_234_567.0), _format_number(950.0)
    ('1.23 M', '950')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def _format_duration(seconds: float) -> str:
    """Format a duration as hours, minutes and seconds.

    >>> _format_duration(75), _format_duration(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

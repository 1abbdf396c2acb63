"""Interleave runs by CPU-seconds, so that a busy machine slows all of them equally."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Clock:
    """CPU-seconds of one run; `tick` lets the other runs catch up.

    Each run has a thread, and only one of them is active at a time, so the CPU-seconds of the
    process are those of the active run.
    """

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self._scheduler, self._name = scheduler, name

    def tick(self) -> float:
        """Let other runs catch up; return the CPU-seconds of this run."""
        self._scheduler.charge(self._name)
        self._scheduler.switch(self._name)
        return self._scheduler.used[self._name]

    def reset(self) -> None:
        """Set the CPU-seconds to zero at the end of the preparation."""
        self._scheduler.charge(self._name)
        self._scheduler.used[self._name] = 0.0
        self._scheduler.switch(self._name)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the enclosed work from the CPU-seconds."""
        self._scheduler.charge(self._name)
        yield
        self._scheduler.began = time.process_time()


class Scheduler:
    """The CPU-seconds of all runs; the run with the fewest is active."""

    def __init__(self, names: list[str]) -> None:
        self.used = dict.fromkeys(names, 0.0)
        self.began = time.process_time()
        self._running = list(names)
        self._active: str | None = names[0]
        self._changed = threading.Condition()

    def charge(self, name: str) -> None:
        """Add the CPU-seconds since the run became active."""
        now = time.process_time()
        self.used[name] += now - self.began
        self.began = now

    def switch(self, name: str) -> None:
        """Activate the run with the fewest CPU-seconds; return when that is this run."""
        with self._changed:
            self._activate_next()
        self.wait(name)

    def wait(self, name: str) -> None:
        """Wait until this run is active."""
        with self._changed:
            self._changed.wait_for(lambda: self._active == name)
            self.began = time.process_time()

    def finish(self, name: str) -> None:
        """Remove a run; the others continue."""
        with self._changed:
            self._running.remove(name)
            self._activate_next()

    def _activate_next(self) -> None:
        self._active = min(self._running, key=self.used.__getitem__, default=None)
        self._changed.notify_all()


def run_interleaved(runs: Mapping[str, Callable[[Clock], T]]) -> dict[str, T]:
    """Complete all runs, interleaved, and return their results."""
    scheduler = Scheduler(list(runs))

    def complete(name: str) -> T:
        try:
            scheduler.wait(name)
            return runs[name](Clock(scheduler, name))
        finally:
            scheduler.finish(name)

    with ThreadPoolExecutor(len(runs)) as pool:
        futures = {name: pool.submit(complete, name) for name in runs}
        return {name: future.result() for name, future in futures.items()}

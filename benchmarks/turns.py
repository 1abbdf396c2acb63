"""Runs that take turns by CPU-seconds, so that a busy machine slows all of them alike."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["Clock", "run_in_turns"]

Result = TypeVar("Result")


class Clock:
    """CPU-seconds of one run; `tick` lets the others catch up.

    Each run has a thread, and one of them moves at a time, so the CPU-seconds of the process are
    those of the run that moves.
    """

    def __init__(self, table: Table, name: str) -> None:
        self._table, self._name = table, name

    def tick(self) -> float:
        """Return the CPU-seconds used so far, once it is this run's turn again."""
        self._table.charge(self._name)
        self._table.hand_over(self._name)
        return self._table.used[self._name]

    def reset(self) -> None:
        """Forget what was used so far: preparing is over."""
        self._table.charge(self._name)
        self._table.used[self._name] = 0.0
        self._table.hand_over(self._name)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do something that is no part of the run."""
        self._table.charge(self._name)
        yield
        self._table.began = time.process_time()


class Table:
    """Who has used how much, and whose turn it is: of those present, who has used least."""

    def __init__(self, names: list[str]) -> None:
        self.used = dict.fromkeys(names, 0.0)
        self.began = time.process_time()
        self._present = list(names)
        self._turn: str | None = names[0]
        self._changed = threading.Condition()

    def charge(self, name: str) -> None:
        """Charge a run for its turn."""
        now = time.process_time()
        self.used[name] += now - self.began
        self.began = now

    def hand_over(self, name: str) -> None:
        """Let the run go that has used least, and come back when that is this one."""
        with self._changed:
            self._choose()
        self.wait(name)

    def wait(self, name: str) -> None:
        """Wait for this run's turn."""
        with self._changed:
            self._changed.wait_for(lambda: self._turn == name)
            self.began = time.process_time()

    def leave(self, name: str) -> None:
        """End a run; the others go on without it."""
        with self._changed:
            self._present.remove(name)
            self._choose()

    def _choose(self) -> None:
        self._turn = min(self._present, key=self.used.__getitem__, default=None)
        self._changed.notify_all()


def run_in_turns(runs: Mapping[str, Callable[[Clock], Result]]) -> dict[str, Result]:
    """Run all to their ends and return what they return."""
    table = Table(list(runs))

    def go(name: str) -> Result:
        try:
            table.wait(name)
            return runs[name](Clock(table, name))
        finally:
            table.leave(name)

    with ThreadPoolExecutor(len(runs)) as pool:
        futures = {name: pool.submit(go, name) for name in runs}
        return {name: future.result() for name, future in futures.items()}

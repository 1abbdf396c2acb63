"""Threads that share the chunks of a step. What is drawn does not depend on how many there are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["ONE", "Workers", "add_in_order"]

PARTS = 6  # for each thread: whoever is done first takes the next


class Workers:
    """A number of threads. Kernels hold no lock of the interpreter, so that they run at once.

    The thread that asks is one of them: to wake another takes as long as a small step.

    Parameters
    ----------
    n : int
        With 1 everything runs in the thread that asks.
    """

    def __init__(self, n: int = 1) -> None:
        self.n = n
        self._pool = ThreadPoolExecutor(n - 1) if n > 1 else None

    def map(
        self,
        n_chunks: int,
        run: Callable[[int, int], Any],
        begin: int = 0,
        n_parts: int = PARTS,
    ) -> list[Any]:
        """Call ``run(first, last)`` for shares of the chunks in the threads; return the results.

        Results come in the order of the chunks, which are numbered from ``begin`` on.

        Parameters
        ----------
        n_parts : int
            Shares for each thread: few, where a share costs something of itself.
        """
        if self._pool is None:
            return [run(begin, begin + n_chunks)]
        bounds = begin + np.linspace(0, n_chunks, n_parts * self.n + 1).round().astype(int)
        parts = [(int(first), int(last)) for first, last in pairwise(bounds) if first < last]
        results: list[Any] = [None] * len(parts)
        left = iter(range(len(parts)))  # `next` is one step of the interpreter: no part goes twice

        def work() -> None:
            for part in left:
                results[part] = run(*parts[part])

        others = [self._pool.submit(work) for _ in range(min(self.n, len(parts)) - 1)]
        try:
            work()
        finally:
            for other in others:
                if not other.cancel():
                    other.result()
        return results

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


ONE = Workers()


def add_in_order(chunks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Add the sums of chunks one after another: the order decides how a sum is rounded."""
    return functools.reduce(np.add, chunks, np.zeros(()))

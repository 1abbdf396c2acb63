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

FINEST = 256  # no share is less than this part of all
GUIDED = 2  # a share is what is left, divided by so many for each thread: the last ones are small


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
        n_parts: int | None = None,
        is_small: bool = False,
    ) -> list[Any]:
        """Call ``run(first, last)`` for shares of the chunks in the threads; return the results.

        Results come in the order of the chunks, which are numbered from ``begin`` on. Whoever is
        done first takes the next share.

        Parameters
        ----------
        n_parts : int, optional
            Shares for each thread: few, where a share costs something of itself. By default they
            become smaller towards the end, so that nobody waits long for the last.
        is_small : bool
            To wake the other threads would take longer than all there is to do.
        """
        if is_small:
            return [run(begin, begin + n_chunks)]
        return self.begin(n_chunks, run, begin, n_parts)()

    def begin(
        self,
        n_chunks: int,
        run: Callable[[int, int], Any],
        begin: int = 0,
        n_parts: int | None = None,
    ) -> Callable[[], list[Any]]:
        """Let the other threads begin with what `map` does; return what ends it.

        In the meantime the thread that asks does something else, and what it asks of the others
        then waits until they are done, or it does that alone. To end it, it takes its part of the
        shares that are left. Without other threads, nothing is done before.
        """
        if self._pool is None:
            return lambda: [run(begin, begin + n_chunks)]
        shares = self._guided(n_chunks) if n_parts is None else self._even(n_chunks, n_parts)
        parts = [(begin + first, begin + last) for first, last in pairwise(shares) if first < last]
        results: list[Any] = [None] * len(parts)
        left = iter(range(len(parts)))  # `next` is one step of the interpreter: no part goes twice

        def work() -> None:
            for part in left:
                results[part] = run(*parts[part])

        others = [self._pool.submit(work) for _ in range(min(self.n, len(parts)) - 1)]

        def end() -> list[Any]:
            try:
                work()
            finally:
                for other in others:
                    if not other.cancel():
                        other.result()
            return results

        return end

    def _even(self, n_chunks: int, n_parts: int) -> list[int]:
        n_shares = n_parts * self.n
        return [n_chunks * share // n_shares for share in range(n_shares + 1)]

    def _guided(self, n_chunks: int) -> list[int]:
        bounds, least = [0], max(1, n_chunks // FINEST)
        while (left := n_chunks - bounds[-1]) > 0:
            bounds.append(bounds[-1] + min(max(-(-left // (GUIDED * self.n)), least), left))
        return bounds

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

"""A thread pool for the chunks of a step; draws do not depend on the number of threads."""

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# Nanoseconds to start a thread and hand it its shares, most of them holding the GIL: an estimate
# from the speed-ups of NIPS (λ = ∞) with 8 and 16 threads.
THREAD_COST = 100_000.0
GUIDED = 2  # guided scheduling: a share is 1 / (2 n_threads) of the remaining chunks,
MAX_SHARES = 256  # but at least 1 / 256 of all chunks


class Workers(ThreadPoolExecutor):
    """Threads that are joined at the end of a block, unless Ctrl-C or SIGTERM ends it."""

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self.shutdown(wait=kind is None or issubclass(kind, Exception))


class ThreadPool:
    """At most ``n`` threads, the calling one included; kernels release the GIL.

    A step that takes W nanoseconds on one thread takes about W / n + n c on n threads, where c is
    `THREAD_COST`. It uses √(W / c) threads, which minimises this sum: further threads would make
    it slower.
    """

    def __init__(self, n: int = 1) -> None:
        self.n = n
        self._pool = Workers(n - 1) if n > 1 else None

    def map(
        self,
        n_chunks: int,
        run: Callable[[int, int], Any],
        first_chunk: int = 0,
        even: bool = False,
        work: float = math.inf,
    ) -> list[Any]:
        """Call ``run(first, last)`` for shares of the chunks; return the results in chunk order.

        Parameters
        ----------
        even : bool
            Whether every thread has one share of the same size, for steps with a fixed cost per
            share. By default shares shrink towards the end, so that threads finish together.
        work : float
            Nanoseconds that all chunks take on one thread, roughly; see `n_for`.
        """
        return self.begin(n_chunks, run, first_chunk, even, work)()

    def begin(
        self,
        n_chunks: int,
        run: Callable[[int, int], Any],
        first_chunk: int = 0,
        even: bool = False,
        work: float = math.inf,
    ) -> Callable[[], list[Any]]:
        """Start `map` in the other threads; return a function that finishes it.

        The calling thread can do other work in between. When it calls that function, it takes its
        part of the remaining shares; without other threads, it does all the work.
        """
        n = self.n_for(work)
        if self._pool is None or n == 1:
            return lambda: [run(first_chunk, first_chunk + n_chunks)]
        bounds = first_chunk + np.array(_even(n_chunks, n) if even else _guided(n_chunks, n))
        shares = [(first, last) for first, last in pairwise(bounds.tolist()) if first < last]
        results: list[Any] = [None] * len(shares)
        left = iter(range(len(shares)))  # `next` is atomic: no share is taken twice

        def take_shares() -> None:
            for share in left:
                results[share] = run(*shares[share])

        others = [self._pool.submit(take_shares) for _ in range(min(n, len(shares)) - 1)]

        def end() -> list[Any]:
            try:
                take_shares()
            finally:
                for other in others:
                    if not other.cancel():
                        other.result()
            return results

        return end

    def n_for(self, work: float) -> int:
        """Return the number of threads for a step of ``work`` nanoseconds on one thread."""
        return max(round(min(self.n, math.sqrt(work / THREAD_COST))), 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if self._pool is not None:
            self._pool.__exit__(kind, *exception)


SINGLE_THREAD = ThreadPool()


def _even(n_chunks: int, n_shares: int) -> list[int]:
    return [n_chunks * share // n_shares for share in range(n_shares + 1)]


def _guided(n_chunks: int, n_threads: int) -> list[int]:
    bounds, least = [0], max(1, n_chunks // MAX_SHARES)
    while (left := n_chunks - bounds[-1]) > 0:
        bounds.append(bounds[-1] + min(max(-(-left // (GUIDED * n_threads)), least), left))
    return bounds


def join_chunks(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the chunks of all parts in one array; a single part, mostly zeros, is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def add_in_order(chunks: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Add the sums of chunks in chunk order, which determines how the total is rounded."""
    left = iter(chunks)
    total = np.zeros(()) + next(left, np.zeros(()))  # 0 + (−0) = 0
    for chunk in left:
        total += chunk
    return total

"""A thread pool for the chunks of a step; draws do not depend on the number of threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

GUIDED = 2  # guided scheduling: a share is 1 / (2 n_threads) of the remaining chunks,
FINEST = 256  # but at least 1 / 256 of all chunks


class Workers(ThreadPoolExecutor):
    """Threads that are joined at the end of a block, unless Ctrl-C or SIGTERM ends it."""

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self.shutdown(wait=kind is None or issubclass(kind, Exception))


class ThreadPool:
    """A fixed number of threads, the calling one included; kernels release the GIL.

    Parameters
    ----------
    n : int
        With 1, everything runs in the calling thread.
    """

    def __init__(self, n: int = 1) -> None:
        self.n = n
        self._pool = Workers(n - 1) if n > 1 else None

    def map(
        self,
        n_chunks: int,
        run: Callable[[int, int], Any],
        begin: int = 0,
        n_parts: int | None = None,
        is_small: bool = False,
    ) -> list[Any]:
        """Call ``run(first, last)`` for shares of the chunks; return the results in chunk order.

        Parameters
        ----------
        begin : int
            Number of the first chunk.
        n_parts : int, optional
            Shares per thread, for steps with a fixed cost per share. By default shares shrink
            towards the end, so that threads finish together.
        is_small : bool
            Run in the calling thread, because starting others would take longer.
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
        """Start `map` in the other threads; return a function that finishes it.

        The calling thread can do other work in between. When it calls that function, it takes its
        part of the remaining shares; without other threads, it does all the work.
        """
        if self._pool is None:
            return lambda: [run(begin, begin + n_chunks)]
        shares = self._guided(n_chunks) if n_parts is None else self._even(n_chunks, n_parts)
        parts = [(begin + first, begin + last) for first, last in pairwise(shares) if first < last]
        results: list[Any] = [None] * len(parts)
        left = iter(range(len(parts)))  # `next` is atomic: no part is taken twice

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

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if self._pool is not None:
            self._pool.__exit__(kind, *exception)


SINGLE_THREAD = ThreadPool()


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

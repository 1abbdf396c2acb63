"""A thread pool for the chunks of a step; draws do not depend on the number of threads."""

import atexit
import math
import os
import time
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Self

import numpy as np

from mcsquared.arrays import Floats

# Nanoseconds to start a thread and hand it its shares, most of them holding the GIL. A pool begins
# with this estimate and measures it.
THREAD_COST = 100_000.0
LOWEST_COST, HIGHEST_COST = 0.2, 3.0  # of a pool, relative to `THREAD_COST`
# Weights of the last step in the running means of the cost of a thread, and of the work of a step.
COST_WEIGHT, WORK_WEIGHT = 0.05, 0.3
GUIDED = 2  # guided scheduling: a share is 1 / (2 n_threads) of the remaining chunks,
MAX_SHARES = 256  # but at least 1 / 256 of all chunks


def n_threads_for(n_jobs: int | None) -> int:
    """Return the number of threads of a fit: at most `MAX_SHARES` or one per core, if more."""
    from joblib import effective_n_jobs

    return max(1, min(effective_n_jobs(n_jobs), max(MAX_SHARES, os.cpu_count() or 1)))


class Workers(ThreadPoolExecutor):
    """Threads that are joined at the end of a block, unless Ctrl-C or SIGTERM ends it."""

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self.shutdown(wait=kind is None or issubclass(kind, Exception))


class SharedStep:
    """A step whose shares are taken by several threads, each share by one of them.

    ``run`` takes the first chunk of a share, and the one after its last; ``n_threads`` includes the
    calling thread.
    """

    def __init__(
        self, run: Callable[[int, int], Any], shares: list[tuple[int, int]], n_threads: int = 1
    ) -> None:
        self.run, self.shares, self.n_threads = run, shares, n_threads
        self.results: list[Any] = [None] * len(shares)
        self.nanoseconds = [0] * len(shares)  # CPU time of every share
        self._remaining = iter(range(len(shares)))  # `next` is atomic: no share is taken twice
        self._lock, self._n_working, self._is_over = Lock(), 0, False
        self._workers_done = Lock()  # released when the last worker ends, if `end` waits for it
        self._error: BaseException | None = None
        self._workers_done.acquire()

    def take_shares(self) -> None:
        """Take shares until none is left."""
        for share in self._remaining:
            started = time.thread_time_ns()
            self.results[share] = self.run(*self.shares[share])
            self.nanoseconds[share] = time.thread_time_ns() - started

    def run_in_worker(self) -> None:
        """Take shares in a worker thread, unless the step is over."""
        with self._lock:
            is_late = self._is_over
            self._n_working += not is_late
        if is_late:
            return
        try:
            self.take_shares()
        except BaseException as error:  # raised by `end` in the calling thread
            self._error = error
        with self._lock:
            self._n_working -= 1
            if self._is_over and self._n_working == 0:
                self._workers_done.release()

    def end(self) -> None:
        """Take the remaining shares, and wait for the other threads."""
        try:
            self.take_shares()
        finally:
            with self._lock:
                self._is_over, others_work = True, self._n_working > 0
            if others_work:
                self._workers_done.acquire()
        if self._error is not None:
            raise self._error


class StepThreads:
    """Daemon threads that run the steps of a queue; they start when a step needs them."""

    def __init__(self) -> None:
        self._steps, self._threads = SimpleQueue[SharedStep | None](), list[Thread]()

    def submit(self, step: SharedStep, n: int) -> None:
        """Run a step in up to ``n`` threads, as soon as they are idle."""
        if not self._threads:
            # Steps that are under way when the interpreter exits are finished first.
            atexit.register(self.stop)
        with suppress(RuntimeError):  # the system has no more threads: fewer do the work
            while len(self._threads) < n:
                thread = Thread(target=self._work, daemon=True)
                thread.start()
                self._threads.append(thread)
        for _ in range(min(n, len(self._threads))):
            self._steps.put(step)

    def _work(self) -> None:
        while (step := self._steps.get()) is not None:
            step.run_in_worker()
            del step  # it refers to arrays

    def stop(self, wait: bool = True) -> None:
        """End all threads after the steps that were submitted; join them if ``wait``."""
        for _ in self._threads:
            self._steps.put(None)
        if wait:
            atexit.unregister(self.stop)
            for thread in self._threads:
                thread.join()
            self._threads = []


class ThreadPool:
    """At most ``n`` threads, the calling one included; kernels release the GIL.

    A thread starts when the first step needs it.

    A step that takes W nanoseconds on one thread takes about W / n + n c on n threads. It uses
    √(W / c) threads, which minimises this sum: further threads would make it slower. W is estimated
    by the caller and, from its second call on, from the CPU time that the step took; c begins as
    `THREAD_COST` and follows the wall time of steps.
    """

    def __init__(self, n: int = 1) -> None:
        self.n = min(n, MAX_SHARES)
        self._workers = StepThreads() if n > 1 else None
        self._relative_cost = 1.0  # c, relative to `THREAD_COST`
        self._relative_work: dict[Hashable, float] = {}  # W relative to its estimate, by step

    def map(
        self,
        n_chunks: int,
        run: Callable[[int, int], Any],
        first_chunk: int = 0,
        even: bool = False,
        work: float = math.inf,
        name: Hashable = None,
    ) -> list[Any]:
        """Call ``run(first, last)`` for shares of the chunks; return the results in chunk order.

        If ``even``, every thread has one share of the same size, for steps with a fixed cost per
        share. By default shares shrink towards the end, so that threads finish together. ``work``
        is an estimate of the nanoseconds on one thread. Steps with the same name, by default those
        with the same ``run``, have the same relation of work to its estimate.
        """
        if self._workers is None:
            return [run(first_chunk, first_chunk + n_chunks)]
        started = time.perf_counter_ns()
        step = self._begin(n_chunks, run, work, first_chunk, even, name)
        step.end()
        self._measure(step, work, name, time.perf_counter_ns() - started)
        return step.results

    def begin(
        self, n_chunks: int, run: Callable[[int, int], Any], work: float = math.inf
    ) -> Callable[[], list[Any]]:
        """Start `map` in the other threads; return a function that finishes it.

        The calling thread can do other work in between. When it calls that function, it takes its
        part of the remaining shares; without other threads, it does all the work.
        """
        step = self._begin(n_chunks, run, work)

        def end() -> list[Any]:
            step.end()
            self._measure(step, work)
            return step.results

        return end

    def n_for(self, work: float, name: Hashable = None) -> int:
        """Return the number of threads for a step of ``work`` nanoseconds on one thread."""
        if (relative := self._relative_work.get(name)) is not None:
            work = relative * (1.0 if math.isinf(work) else work)
        cost = self._relative_cost * THREAD_COST
        return max(round(min(self.n, math.sqrt(work / cost))), 1)

    def _begin(
        self,
        n_chunks: int,
        run: Callable[[int, int], Any],
        work: float,
        first_chunk: int = 0,
        even: bool = False,
        name: Hashable = None,
    ) -> SharedStep:
        n = min(self.n_for(work, _name_of(run, name)), n_chunks)
        if self._workers is None or n <= 1:
            return SharedStep(run, [(first_chunk, first_chunk + n_chunks)])
        bounds = first_chunk + np.array(_even(n_chunks, n) if even else _guided(n_chunks, n))
        shares = [(first, last) for first, last in pairwise(bounds.tolist()) if first < last]
        step = SharedStep(run, shares, max(min(n, len(shares)), 1))
        self._workers.submit(step, step.n_threads - 1)
        return step

    def _measure(
        self, step: SharedStep, work: float, name: Hashable = None, wall: float | None = None
    ) -> None:
        """Measure W of a step and, given its wall time, c."""
        name = _name_of(step.run, name)
        if self._workers is None or name is None:
            return
        measured, n = max(sum(step.nanoseconds), 1.0), step.n_threads
        relative = measured if math.isinf(work) else measured / max(work, 1.0)
        before = self._relative_work.get(name, relative)
        self._relative_work[name] = before + WORK_WEIGHT * (relative - before)
        if wall is not None and n > 1:
            cost = max(wall - measured / n, 0.0) / n / THREAD_COST
            cost = min(max(cost, LOWEST_COST), HIGHEST_COST)
            self._relative_cost += COST_WEIGHT * (cost - self._relative_cost)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if self._workers is not None:
            self._workers.stop(wait=kind is None or issubclass(kind, Exception))


def _name_of(run: Callable[..., Any], name: Hashable) -> Hashable:
    """Return the name of a step, by default its code; None if it has neither."""
    return getattr(run, "__code__", None) if name is None else name


SINGLE_THREAD = ThreadPool()


def _even(n_chunks: int, n_shares: int) -> list[int]:
    return [n_chunks * share // n_shares for share in range(n_shares + 1)]


def _guided(n_chunks: int, n_threads: int) -> list[int]:
    bounds, least = [0], max(1, n_chunks // MAX_SHARES)
    while (left := n_chunks - bounds[-1]) > 0:
        bounds.append(bounds[-1] + min(max(-(-left // (GUIDED * n_threads)), least), left))
    return bounds


def join_chunks(parts: list[Floats]) -> Floats:
    """Return the chunks of all parts in one array; a single part, mostly zeros, is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def add_in_order(chunks: Iterable[Floats]) -> Floats:
    """Add the sums of chunks in chunk order, which determines how the total is rounded."""
    left = iter(chunks)
    total = np.zeros(()) + next(left, np.zeros(()))  # 0 + (−0) = 0
    for chunk in left:
        total += chunk
    return total

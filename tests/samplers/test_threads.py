"""Threads that share the chunks of a step: every chunk is processed once, results in order."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from mcsquared.samplers import threads as pools
from mcsquared.samplers.threads import MAX_SHARES, ThreadPool

N_CHUNKS = 1000


def chunks(results: list[range]) -> list[int]:
    return [chunk for part in results for chunk in part]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_chunks", [0, 1, 3, N_CHUNKS])
def test_every_chunk_goes_once_and_results_are_in_order(n_threads: int, n_chunks: int) -> None:
    with ThreadPool(n_threads) as threads:
        for even in (False, True):
            assert chunks(threads.map(n_chunks, range, 7, even)) == list(range(7, 7 + n_chunks))


def test_a_step_uses_the_number_of_threads_that_is_fastest(monkeypatch) -> None:
    monkeypatch.setattr(pools, "THREAD_COST", cost := 100_000.0)
    threads = ThreadPool(16)
    for work in (1.0, 1e5, 4e5, 3e6, 1e7, 1e9, float("inf")):
        found = threads.n_for(work)
        times = {n: min(work, 1e15) / n + n * cost for n in range(1, 17)}
        assert times[found] <= 1.01 * min(times.values())
    assert [threads.n_for(work) for work in (1e5, 1e7, 1e9)] == [1, 10, 16]


def test_no_more_threads_start_than_a_step_has_shares() -> None:
    before = threading.active_count()
    with ThreadPool(1_000_000) as threads:
        assert threads.map(3, lambda first, last: last - first) == [1, 1, 1]
        assert threading.active_count() <= before + 2
        assert sum(threads.map(2_000_000, lambda first, last: last - first, even=True)) == 2_000_000
        assert threading.active_count() <= before + MAX_SHARES
    assert threading.active_count() == before


def test_a_step_goes_on_with_the_threads_that_the_system_has(monkeypatch) -> None:
    start, started = threading.Thread.start, []

    def limited(self: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)
    for n_left in (2, 0):
        with ThreadPool(8) as threads:
            for _ in range(3):
                assert chunks(threads.map(N_CHUNKS, range)) == list(range(N_CHUNKS))
        assert len(started) == 2, f"{n_left} threads were left"


@pytest.mark.parametrize(("n_jobs", "n_threads"), [(None, 1), (1, 1), (3, 3), (10**6, MAX_SHARES)])
def test_a_fit_has_a_limited_number_of_threads(n_jobs, n_threads, monkeypatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert pools.n_threads_for(n_jobs) == n_threads
    monkeypatch.setattr("os.cpu_count", lambda: 1000)
    assert pools.n_threads_for(10**6) == 1000


def test_a_tiny_step_stays_in_the_calling_thread(monkeypatch) -> None:
    monkeypatch.setattr(pools, "THREAD_COST", 100_000.0)
    asking = threading.get_ident()
    with ThreadPool(4) as threads:
        for even in (False, True):
            found = threads.map(N_CHUNKS, lambda *_: threading.get_ident(), 0, even, work=1e5)
            assert found == [asking]
            assert len(threads.map(N_CHUNKS, range, 0, even, work=1e9)) >= 4


def test_other_threads_begin_while_the_one_that_asks_does_something_else() -> None:
    begun = threading.Event()

    def run(first: int, last: int) -> range:
        begun.set()
        return range(first, last)

    with ThreadPool(2) as threads:
        end = threads.begin(N_CHUNKS, run)
        assert begun.wait(timeout=60)
        assert chunks(end()) == list(range(N_CHUNKS))


def test_nothing_is_done_before_the_end_without_other_threads() -> None:
    shares = []
    with ThreadPool(1) as threads:
        end = threads.begin(N_CHUNKS, lambda first, last: shares.append((first, last)))
        assert shares == []
        end()
    assert shares == [(0, N_CHUNKS)]


def test_a_step_in_between_does_not_wait_for_what_was_begun() -> None:
    between = threading.Event()

    def wait(first: int, last: int) -> range:
        assert between.wait(timeout=60), "the step in between waits for this one"
        return range(first, last)

    with ThreadPool(2) as threads:
        end = threads.begin(N_CHUNKS, wait)
        assert chunks(threads.map(N_CHUNKS, range)) == list(range(N_CHUNKS))
        between.set()
        assert chunks(end()) == list(range(N_CHUNKS))


def test_an_error_in_another_thread_arrives_at_the_end() -> None:
    asking = threading.get_ident()
    failed = threading.Event()

    def run(first: int, last: int) -> None:
        if threading.get_ident() == asking:
            assert failed.wait(timeout=60)
            return
        failed.set()
        raise MemoryError("of another thread")

    with ThreadPool(2) as threads:
        end = threads.begin(N_CHUNKS, run)
        with pytest.raises(MemoryError, match="of another thread"):
            end()


def test_the_number_of_threads_follows_the_measured_time_of_a_step(monkeypatch) -> None:
    monkeypatch.setattr(pools, "THREAD_COST", 100_000.0)

    def quick(first: int, last: int) -> int:
        return last - first

    def slow(first: int, last: int) -> int:
        began = time.thread_time_ns()
        while time.thread_time_ns() - began < 2_000 * (last - first):
            pass
        return last - first

    with ThreadPool(4) as threads:
        for run, work, as_estimated in ((quick, 1e9, False), (slow, 1e5, True), (slow, 1e9, False)):
            name = (run.__name__, work)
            assert (len(threads.map(N_CHUNKS, run, work=work, name=name)) == 1) is as_estimated
            assert sum(threads.map(N_CHUNKS, run, work=work, name=name)) == N_CHUNKS
        assert threads.n_for(1e9, ("quick", 1e9)) == 1
        assert threads.n_for(1e5, ("slow", 1e5)) == 4
        assert threads.n_for(1e9, ("slow", 1e9)) == 4


def test_a_pool_learns_what_a_thread_costs(monkeypatch) -> None:
    monkeypatch.setattr(pools, "THREAD_COST", 100_000.0)
    monkeypatch.setattr(pools, "COST_WEIGHT", 1.0)
    with ThreadPool(4) as threads:
        before = threads.n_for(1e6)
        # Sleeping takes wall time, but no CPU time: threads seem to start late.
        threads.map(4, lambda *_: time.sleep(0.05), even=True)
        assert threads.n_for(1e6) < before


def test_a_pool_that_is_not_closed_does_not_keep_the_interpreter_from_exiting() -> None:
    code = """
from mcsquared.samplers.threads import MAX_SHARES, ThreadPool
threads = ThreadPool(3)
print(sum(threads.map(1000, lambda first, last: last - first)))
end = threads.begin(1000, lambda first, last: last - first)
"""
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.strip() == "1000"

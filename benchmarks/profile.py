"""Milliseconds of every step of a sweep, by number of threads: ``python -m benchmarks.profile``.

A chain starts at random, as in `benchmarks.contenders.blocked`. All numbers of threads take the
same sweeps in turn, so that a busy machine slows all of them. Steps that begin in other threads
are counted where the calling thread waits for them. One thread alone is measured in CPU time.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import wraps
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.contenders import BlockedFinite, BlockedInfinite
from benchmarks.corpora import corpus_for, speeches_for
from benchmarks.settings import Settings

if TYPE_CHECKING:
    from benchmarks.contenders.blocked import Blocked

ENGINES = {"finite": BlockedFinite, "inf": BlockedInfinite}
WHOLE = "whole sweep"

Milliseconds = dict[int, dict[str, list[float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=("nips", "speeches"))
    parser.add_argument("lam", choices=ENGINES)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=(1,))
    parser.add_argument("--first-sweep", type=int, default=0, help="number before the first one")
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--sweeps", type=int, default=10)
    given = parser.parse_args()
    settings = replace(Settings(), n_topics=given.topics)
    corpus = (corpus_for if given.data == "nips" else speeches_for)(settings)
    assert corpus is not None, "the data set was not found"
    chain = ENGINES[given.lam](corpus, settings)
    chain.state.sweep = given.first_sweep
    found = profile(chain, given.threads, given.warm_up, given.sweeps)
    print("step".ljust(28), *(f"{n:>9}" for n in given.threads))
    for step in found[given.threads[0]]:
        if max(fmean(found[n][step]) for n in given.threads) >= 0.05:
            print(step.ljust(28), *(f"{fmean(found[n][step]):9.2f}" for n in given.threads))


def profile(chain: Blocked, numbers: list[int], n_dropped: int, n_sweeps: int) -> Milliseconds:
    """Return milliseconds by number of threads and step, one for every sweep.

    Every number of threads sweeps from the same states. They are CPU time if the only number is 1.
    """
    from mcsquared.samplers.backends.local import LocalBackend
    from mcsquared.samplers.threads import ThreadPool
    from mcsquared.samplers.types import Key

    clock = time.process_time if max(numbers) == 1 else time.perf_counter
    found: Milliseconds = {n: defaultdict(list) for n in numbers}
    states = {n: copy.deepcopy(chain.state) for n in numbers}
    with ExitStack() as stack:
        # One pool for all sweeps, as in a fit: it measures how many threads pay.
        pools = {n: stack.enter_context(ThreadPool(n)) for n in numbers}
        for number in range(-n_dropped, n_sweeps):
            for n in numbers:
                spent: dict[str, float] = defaultdict(float)
                steps = tuple(timed(step, spent, clock) for step in chain.sampler.steps)
                sampler = replace(chain.sampler, steps=steps)
                backend = LocalBackend(chain.observations, chain.priors, pools[n])
                backend.load_labels(states[n], Key(chain.seed, 0, 0))
                given = (states[n], chain.observations, chain.priors, chain.seed, 0, chain.bounds)
                sampler.sweep(*given, backend=backend)
                spent[WHOLE] = sum(spent.values())
                if number >= 0:
                    for step, milliseconds in spent.items():
                        found[n][step].append(milliseconds)
    return found


def timed(
    step: Callable[[Any], None], spent: dict[str, float], clock: Callable[[], float]
) -> Callable[[Any], None]:
    """Return the step; it adds its milliseconds to ``spent``."""

    @wraps(step)
    def wrapper(sweep: Any) -> None:
        began = clock()
        step(sweep)
        spent[step.__name__] += 1e3 * (clock() - began)

    return wrapper


if __name__ == "__main__":
    main()

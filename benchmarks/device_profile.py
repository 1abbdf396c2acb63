"""Milliseconds of every kernel of a sweep on a GPU: ``python -m benchmarks.device_profile``.

Documents are simulated like those of the largest benchmark, 141,000 words in 200 topics and 100
clusters. The host waits for every kernel, so that the sum is larger than the time of a sweep. The
kernels themselves can be examined with ``ncu python -m benchmarks.device_profile``.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from functools import partial, wraps
from statistics import median
from typing import Any

N_CLUSTERS, N_TOPICS, N_WORDS, TOKENS_PER_GROUP = 100, 200, 141_000, 89

spent: dict[str, list[float]] = defaultdict(list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000_000)
    parser.add_argument("--sweeps", type=int, default=10)
    given = parser.parse_args()
    time_kernels()
    from benchmarks.questions import device
    from benchmarks.simulation import simulate
    from mcsquared.samplers.backends.cuda.backend import CudaBackend
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
    from mcsquared.state import Bounds

    sizes = (given.tokens // TOKENS_PER_GROUP, given.tokens, N_WORDS, N_CLUSTERS, N_TOPICS)
    drawn = simulate(*sizes)
    some = (drawn.corpus, drawn.observations, N_CLUSTERS, N_TOPICS, (0.0, 0.0))
    case = device.Case("simulated", *some)
    for start, lam in zip(device.starts(case, 0), device.LAMS, strict=True):
        spent.clear()
        observations = start.observations
        corpus = DeviceCorpus(observations, lam == device.FINITE)
        make = partial(CudaBackend, observations, start.priors, corpus)
        each = device.run_chain(start, given.sweeps, 0, Bounds(N_CLUSTERS, N_TOPICS), make)
        late = each[len(each) // 2 :]
        print(f"{lam}: {1e3 * median(late):.2f} ms per sweep, with waits for every kernel")
        for name, seconds in sorted(spent.items(), key=lambda item: -sum(item[1])):
            late = seconds[len(seconds) // 2 :]
            per_sweep = 1e3 * median(late) * len(seconds) / given.sweeps
            print(f"  {name:40} {per_sweep:9.3f}")


def time_kernels() -> None:
    """Make every kernel wait until it has ended; must precede the import of kernels."""
    from numba import cuda

    from mcsquared.kernels.cuda import launch

    original = launch._launcher

    def launcher(*arguments: Any, **options: Any) -> Any:
        def decorate(function: Any) -> Any:
            run = original(*arguments, **options)(function)
            name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

            @wraps(function)
            def wrapper(*given: Any) -> None:
                cuda.synchronize()
                began = time.perf_counter()
                run(*given)
                cuda.synchronize()
                spent[name.removesuffix(".<locals>.kernel")].append(time.perf_counter() - began)

            return wrapper

        return decorate

    launch._launcher = launcher


if __name__ == "__main__":
    main()

"""Whether a corpus that is copied to a GPU in shards is copied while the GPU sweeps."""

from __future__ import annotations

import copy
import math
import time
from statistics import median
from typing import Any, NamedTuple

from benchmarks.questions import device
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

N_PASSES = 5  # over the shards without a sweep
MAX_RATIO = 1.2  # of a sweep in shards to the longer of its parts, if they overlap


class Measurement(NamedTuple):
    """Median seconds of a sweep and of the copies alone, and the number of shards."""

    sweep: float
    copies: float
    shards: int
    n_bytes: int


def run(settings: Settings) -> Result:
    machine, case = device.describe_or_raise(), device.simulated_140m(settings)
    rows: list[tuple[Cell, ...]] = []
    targets = []
    for start, lam in zip(device.starts(case, settings.seed), device.LAMS, strict=True):
        resident = _measure(case, start, settings, None)
        streamed = _measure(case, start, settings, resident.n_bytes // 2)
        parts = (resident.sweep, streamed.copies)
        times = [1e3 * seconds for seconds in (*parts, sum(parts), streamed.sweep)]
        rows.append((case.name, lam, streamed.shards, *times))
        ratio = streamed.sweep / max(parts)
        targets.append(Target(f"{case.name}, {lam}", ratio, MAX_RATIO, False, "times the longer"))
    return Result(
        title="A corpus that is copied to a GPU in shards, sweep by sweep",
        columns=(
            "corpus",
            "λ",
            "shards",
            "on the GPU, ms",
            "copies, ms",
            "sum, ms",
            "streamed, ms",
        ),
        rows=rows,
        targets=targets,
        notes=[
            "Median milliseconds of a sweep over a corpus that stays on the GPU, of copying all "
            "shards and labels without a sweep, their sum, and of a sweep over the same corpus "
            "with half of the memory that it needs. If copies and kernels overlap, the last is "
            "near the longer of the first two.",
        ],
        machine=machine,
    )


def _measure(
    case: device.Case, start: device.Start, settings: Settings, max_bytes: int | None
) -> Measurement:
    """Time the sweeps of a chain, and copies of its shards."""
    from mcsquared.samplers.backends.cuda.backend import CudaBackend
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
    from mcsquared.state import Bounds

    priors, observations, state = start
    corpus = DeviceCorpus(observations, not math.isinf(state.lam), max_bytes)
    backends = []

    def make_backend(threads: Any) -> CudaBackend:
        backends.append(CudaBackend(observations, priors, corpus, threads))
        return backends[-1]

    start = start._replace(state=copy.deepcopy(state))
    bounds = Bounds(case.clusters, case.topics)
    each = device.run_chain(start, settings.device_sweeps, settings.seed, bounds, make_backend)
    copies = []
    for _ in range(N_PASSES):
        began, shards = time.perf_counter(), 0
        for _ in backends[0].groups.shards():
            shards += 1
        copies.append(time.perf_counter() - began)
    sweep = median(each[settings.device_warm_up :])
    return Measurement(sweep, median(copies), shards, corpus.n_bytes)

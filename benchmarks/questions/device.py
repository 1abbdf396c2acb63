"""Time of a whole sweep on a GPU, compared with the limits of memory and instructions."""

from __future__ import annotations

import copy
import gc
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.corpora import corpus_for, name_of_corpus, speeches_for
from benchmarks.limits import BYTES_PER_SECOND, INSTRUCTIONS_PER_SECOND, Work
from benchmarks.machine import describe_device
from benchmarks.measure import Timing
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target, Unavailable

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.model.priors import Priors
    from mcsquared.observations import Observations
    from mcsquared.state import Bounds, State

INFINITE, FINITE = LAMS = ("λ = ∞", "λ finite")
MAX_MINUTES = 10.0  # for all sweeps of the largest corpus, including start and end


class Case(NamedTuple):
    """A corpus, its bounds on clusters and topics, and the target milliseconds for each λ."""

    name: str
    corpus: Corpus
    observations: Observations | None  # None: made from the corpus
    clusters: int
    topics: int
    limits: tuple[float, float]
    truth: np.ndarray | None = None


class Start(NamedTuple):
    """The initial state of a chain."""

    priors: Priors
    observations: Observations
    state: State


class Measurement(NamedTuple):
    """The measurement of one corpus and one λ; ``seconds`` are those of the whole run."""

    timing: Timing
    work: Work
    clusters: int
    topics: int
    gigabytes: float
    seconds: float


def run(settings: Settings) -> Result:
    n_sweeps, n_dropped = settings.device_sweeps, settings.device_warm_up
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    machine = describe_or_raise()
    for case in _cases(settings):
        for start, lam, limit in zip(starts(case, settings.seed), LAMS, case.limits, strict=True):
            measured = _measure(case, start, n_sweeps, n_dropped, settings.seed)
            rows.append(_row(case, lam, measured))
            targets.append(_target(case, lam, measured, limit))
    note = f"{n_sweeps - n_dropped} sweeps each, after {n_dropped} that are not timed."
    return _result("Milliseconds per whole sweep on a GPU", rows, targets, [note], machine)


def run_large(settings: Settings) -> Result:
    short, n_sweeps = settings.device_large_timed, settings.device_large_sweeps
    rows, targets, machine = [], [], describe_or_raise()
    case = _large(settings)
    began = time.perf_counter()
    infinite, finite = starts(case, settings.seed)
    seconds = time.perf_counter() - began
    for start, lam, n, limit in zip(
        (infinite, finite), LAMS, (short, n_sweeps), case.limits, strict=True
    ):
        measured = _measure(case, start, n, n // 6, settings.seed)
        rows.append(_row(case, lam, measured))
        targets.append(_target(case, lam, measured, limit))
    whole = seconds + measured.seconds
    what = f"{case.name}, {FINITE}, {n_sweeps} sweeps, including start and end"
    targets.append(Target(what, whole / 60, MAX_MINUTES, False, "minutes"))
    notes = [
        f"{INFINITE}: {short} sweeps; {FINITE}: {n_sweeps}; the first sixth is not timed.",
        f"{FINITE}: {whole:.0f} s from a corpus in memory to the stored draws, including random "
        f"labels ({seconds:.0f} s on one core) and {n_sweeps} sweeps; NMI with the "
        f"simulated clusters {_agreement(case.truth, finite.state):.2f}.",
    ]
    return _result("A large corpus on a GPU", rows, targets, notes, machine)


def _result(
    title: str,
    rows: list[tuple[Cell, ...]],
    targets: list[Target],
    notes: list[str],
    machine: dict[str, str],
) -> Result:
    return Result(
        title=title,
        columns=(
            "corpus",
            "λ",
            "groups",
            "M tokens",
            "clusters",
            "topics",
            "ms per sweep",
            "fastest",
            "bytes, ms",
            "rows, ms",
            "instructions, ms",
            "GB",
            "mean",
        ),
        rows=rows,
        targets=targets,
        notes=[
            "Wall-clock time of all work of a fit per sweep, including the log joint of the trace: "
            "median and fastest, and the mean in the last column. If λ is finite, every fifth "
            "sweep also splits and merges clusters, on one thread of the host (up to 20 million "
            "tokens). Labels start at random. Clusters and topics are the numbers in use, up to "
            "the bounds; the year is a context if the corpus has one.",
            f"Limits: bytes that must be moved, each once, at {BYTES_PER_SECOND / 1e12:.1f} TB/s "
            "(data sheet of the H200); rows of ψ that are read per token (λ finite), or of "
            "mixtures per word (λ = ∞), at the same rate and without any cache; unavoidable "
            f"instructions of 32 threads, at {INSTRUCTIONS_PER_SECOND / 1e12:.2f} × 10¹² per "
            "second (132 multiprocessors with four schedulers each, at 1.98 GHz). They are "
            "computed in `benchmarks/limits.py`. GB is the GPU memory in use.",
            *notes,
        ],
        machine=machine,
    )


def _target(case: Case, lam: str, measured: Measurement, limit: float) -> Target:
    what = f"{case.name}, {lam}, one sweep"
    return Target(what, 1e3 * measured.timing.median, limit, False, "ms")


def describe_or_raise() -> dict[str, str]:
    """Describe the GPU; raise Unavailable if there is none."""
    machine = describe_device()
    if machine is None:
        raise Unavailable(_unavailable_reason())
    return machine


def _unavailable_reason() -> str:
    try:
        from mcsquared.kernels.cuda.memory import unavailable_reason
    except ImportError as error:
        return f"numba-cuda is not installed ({error})"
    return unavailable_reason() or "numba's CUDA simulator is enabled"


def _cases(settings: Settings) -> Iterator[Case]:
    """Yield the corpora of `run` one by one."""
    nips = corpus_for(settings)
    yield Case(name_of_corpus(settings), nips, None, 30, 150, (3.5, 4.0))
    speeches = speeches_for(settings)
    if speeches is not None:
        yield Case("UN speeches", speeches, None, 30, 150, (5.0, 7.0))
    yield simulated_140m(settings)


def simulated_140m(settings: Settings) -> Case:
    """Return simulated documents with 140 million tokens."""
    return _simulated("140 M tokens", (1_400_000, 140_000_000, 50_000), (30.0, 60.0), settings)


def _large(settings: Settings) -> Case:
    sizes = (8_200_000, 730_000_000, 141_000)
    return _simulated("730 M tokens", sizes, (100.0, 240.0), settings)


def _simulated(
    name: str, sizes: tuple[int, int, int], limits: tuple[float, float], settings: Settings
) -> Case:
    """Return documents with 100 clusters and 200 topics; sizes are groups, tokens and words."""
    from benchmarks.simulation import simulate

    scaled = [max(int(size * settings.scale), 10) for size in sizes]
    drawn = simulate(*scaled, 100, 200, settings.seed)
    observed = drawn.observations
    return Case(f"{name}, simulated", drawn.corpus, observed, 100, 200, limits, drawn.clusters)


def starts(case: Case, seed: int) -> tuple[Start, Start]:
    """Return initial states with the same random labels: for λ = ∞ and for λ finite."""
    from mcsquared.model.parameters import Gamma
    from mcsquared.model.priors import Priors
    from mcsquared.observations import observe
    from mcsquared.samplers.init.assignments import blocked_state

    contexts = {"year": "gaussian"} if "year" in case.corpus.contexts else {}
    finite = Priors.for_corpus(case.corpus, contexts=contexts, lam=Gamma(1, 0.1))
    observations = case.observations or observe(case.corpus, finite)
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, case.clusters, observations.n_groups)
    topics = rng.integers(0, case.topics, observations.n_tokens, dtype=np.int32)
    state = blocked_state(observations, finite, clusters, topics, rng)
    # Counts are computed once: the largest corpus has 730 million tokens.
    infinite = replace(
        state,
        topic_of_token=state.topic_of_token[:0],
        lam=math.inf,
        tables_in_cluster=None,
        counts=copy.copy(state.counts),
    )
    shared = Priors.for_corpus(case.corpus, contexts=contexts, lam=math.inf)
    return Start(shared, observations, infinite), Start(finite, observations, state)


def _measure(case: Case, start: Start, n_sweeps: int, n_dropped: int, seed: int) -> Measurement:
    """Run a chain and time its sweeps after the first ``n_dropped``."""
    from numba import cuda

    from mcsquared.samplers.backends.cuda.backend import CudaBackend
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
    from mcsquared.state import Bounds

    gc.collect()
    cuda.current_context().deallocations.clear()
    priors, observations, state = start
    groups_vary, backends = not math.isinf(state.lam), []
    began = time.perf_counter()
    corpus = DeviceCorpus(observations, groups_vary)

    def make_backend(threads: Any) -> CudaBackend:
        backends.append(CudaBackend(observations, priors, corpus, threads))
        return backends[-1]

    each = run_chain(start, n_sweeps, seed, Bounds(case.clusters, case.topics), make_backend)
    seconds = time.perf_counter() - began
    free, total = cuda.current_context().get_memory_info()
    entries = len(observations.layout.words_of_group.column)
    sizes = (observations.n_groups, observations.n_tokens, entries, observations.n_words)
    return Measurement(
        timing=Timing(each[n_dropped:]),
        work=Work(*sizes, *backends[0].buffers.slots, groups_vary),
        clusters=state.n_clusters,
        topics=state.n_topics,
        gigabytes=(total - free) / 1e9,
        seconds=seconds,
    )


def run_chain(
    start: Start, n_sweeps: int, seed: int, bounds: Bounds, make_backend: Any
) -> list[float]:
    """Run a chain as a fit does; return the seconds of each sweep."""
    from mcsquared.chain import ChainRun, Runner, RunSettings
    from mcsquared.schedule import Schedule

    priors, observations, state = start
    run, burn_in = ChainRun.of_state(0, state), 5 * n_sweeps // 6
    schedule = Schedule(n_sweeps, burn_in, max((n_sweeps - burn_in) // 2, 1), 1)
    settings = RunSettings(priors=priors, schedule=schedule, seed=seed, bounds=bounds)
    Runner(observations, settings, make_backend=make_backend).run([run])
    return list(run.trace["seconds"])


def _agreement(truth: np.ndarray | None, state: State) -> float:
    """Return the NMI of the clusters with the true ones, for a sample of the groups."""
    from mcsquared import evaluation

    assert truth is not None
    sample = np.random.default_rng(0).choice(len(truth), min(len(truth), 100_000), replace=False)
    return float(evaluation.nmi(truth[sample], state.cluster_of_group[sample]))


def _row(case: Case, lam: str, measured: Measurement) -> tuple[Cell, ...]:
    milliseconds = 1e3 * measured.timing.median, 1e3 * measured.timing.fastest
    return (
        case.name,
        lam,
        measured.work.groups,
        measured.work.tokens / 1e6,
        measured.clusters,
        measured.topics,
        *milliseconds,
        *measured.work.milliseconds,
        measured.gigabytes,
        1e3 * measured.timing.mean,
    )

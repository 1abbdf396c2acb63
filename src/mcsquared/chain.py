"""The run loop: burn-in, thinning, callbacks, checkpoints, stopping."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.callbacks import STOP_CHAIN
from mcsquared.kernels.cpu.tables import sparse_columns
from mcsquared.model.parameters import NAMES, Concentrations, values_of
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.sweep import SAMPLERS
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Key
from mcsquared.state import NO_BOUNDS, Bounds, State

TRACE = ("sweep", "chain", "kept", "n_clusters", "n_topics", "log_joint", *NAMES, "seconds")


@dataclass(frozen=True)
class Schedule:
    """Number of sweeps, which draws are kept, and which of those store parameters."""

    n_sweeps: int  # burn-in included
    burn_in: int
    thin: int  # every thin-th sweep after the burn-in is kept
    keep_parameters: int  # kept draws of all chains that store parameters, evenly spaced in each
    n_chains: int = 1

    @property
    def n_kept(self) -> int:
        """Number of kept draws of a complete chain."""
        return (self.n_sweeps - self.burn_in) // self.thin

    def is_kept(self, sweep: int) -> bool:
        """Return whether the draw after ``sweep`` sweeps is kept."""
        return sweep > self.burn_in and (sweep - self.burn_in) % self.thin == 0

    def stores_parameters(self, kept: int, chain: int = 0) -> bool:
        """Return whether kept draw number ``kept`` of a chain stores parameters.

        The first kept draw does, if any does, so that an interrupted run has topics.
        """
        share, left = divmod(self.keep_parameters, self.n_chains)
        n_stored = min(share + (chain < left), self.n_kept)
        return kept in np.linspace(0, self.n_kept - 1, n_stored).round().astype(int)


@dataclass(frozen=True, kw_only=True)
class SweepInfo(Concentrations):
    """Summary of a sweep, passed to callbacks; ``sweep`` counts from 1."""

    chain: int
    sweep: int
    n_sweeps: int
    burn_in: int
    kept: bool
    n_clusters: int
    n_topics: int
    log_joint: float
    seconds: float
    n_tokens: int


# A callback returns True to stop all chains, or STOP_CHAIN to stop the chain of the sweep.
Callback = Callable[[SweepInfo], bool | str | None]


@dataclass
class ChainRun:
    """One chain: its state, trace and kept draws."""

    chain: int
    state: State
    first_sweep: int = 0  # sweeps done before this run, by an earlier fit
    trace: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TRACE})
    cluster_of_group: list[Int32s] = field(default_factory=list)
    sweep_of_draw: list[int] = field(default_factory=list)
    parameters: list[ParameterDraw] = field(default_factory=list)
    # Copies the labels from the backend to the state.
    save_labels: Callable[[], None] = field(default=lambda: None, repr=False)

    @property
    def sweeps_done(self) -> int:
        """Number of sweeps of this run."""
        return self.state.sweep - self.first_sweep

    def keep(self, store_parameters: bool, observations: Observations) -> Int32s:
        """Keep the current draw, with clusters and topics numbered 0, 1, ... without gaps.

        Returns the number of each cluster slot: int32 (cluster slots,).
        """
        counts = self.state.counts
        clusters = np.flatnonzero(counts.groups_in_cluster)
        number = np.zeros(len(counts.groups_in_cluster), np.int32)
        number[clusters] = np.arange(len(clusters))
        if store_parameters:
            self.parameters.append(
                parameter_draw(self.state, clusters, len(self.cluster_of_group), observations)
            )
        self.cluster_of_group.append(number[self.state.cluster_of_group])
        self.sweep_of_draw.append(self.sweeps_done)
        return number

    def record(self, info: SweepInfo) -> None:
        """Add a row to the trace."""
        for name in TRACE:
            self.trace[name].append(getattr(info, name))


def parameter_draw(
    state: State, clusters: Int64s, index: int, observations: Observations
) -> ParameterDraw:
    """Return the counts and weights of a state, sparse and without empty slots."""
    counts = state.counts
    topics = np.flatnonzero(counts.tokens_in_topic)
    content: sparse.csr_matrix | Floats
    if observations.n_words:
        start, word, n = sparse_columns(counts.words_in_topic, topics)
        content = sparse.csr_matrix((n, word, start), shape=(len(topics), observations.n_words))
    else:
        content = counts.topic_statistics[topics].copy()
    return ParameterDraw(
        index=index,
        topics_in_cluster=sparse.csr_matrix(counts.topics_in_cluster[np.ix_(clusters, topics)]),
        tables_in_cluster=None
        if state.tables_in_cluster is None
        else sparse.csr_matrix(state.tables_in_cluster[np.ix_(clusters, topics)]),
        content_statistics=content,
        topic_weights=state.topic_weights[topics].copy(),
        unused_weight=math.exp(float(state.log_unused[0])),
        **values_of(state),
    )


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of all chains of a fit."""

    priors: Priors
    schedule: Schedule
    seed: int
    bounds: Bounds = NO_BOUNDS
    callbacks: Sequence[Callback] = ()
    n_threads: int = 1
    sampler: str = "blocked"


@dataclass(frozen=True)
class Runner:
    """Runs the chains of one fit.

    Chains run in parallel, each with an equal share of the threads. Draws do not depend on the
    number of threads. ``save`` is called with a chain after every sweep, and once more with True
    when it ends. ``make_backend`` returns the backend of a chain, given its threads; the default is
    `LocalBackend`. With any other backend, chains run one after another.
    """

    observations: Observations
    settings: RunSettings
    save: Callable[[ChainRun, bool], None] | None = None
    make_backend: Callable[[ThreadPool], Backend] | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, runs: list[ChainRun]) -> bool:
        """Run every chain to the end of the schedule; return True if Ctrl-C was pressed."""
        n_parallel = 1 if self.make_backend else min(self.settings.n_threads, len(runs))
        run_chain = partial(self._run_chain, n_threads=self.settings.n_threads // n_parallel)
        with stop_on_interrupt(self.stop) as interrupted:
            if n_parallel == 1:
                for run in runs:
                    run_chain(run)
            else:
                with ThreadPoolExecutor(max_workers=n_parallel) as pool:
                    futures = [pool.submit(run_chain, run) for run in runs]
                    # Without a timeout, Ctrl-C would not reach the main thread.
                    while wait(futures, timeout=0.2).not_done:
                        if any(future.done() and future.exception() for future in futures):
                            self.stop.set()
                    for future in futures:
                        future.result()
        return interrupted.is_set()

    def _run_chain(self, run: ChainRun, n_threads: int) -> None:
        """Sweep until the schedule ends, a callback stops the chain or Ctrl-C is pressed."""
        settings = self.settings
        local = partial(LocalBackend, self.observations, settings.priors)
        with ThreadPool(n_threads) as threads:
            backend = (self.make_backend or local)(threads)
            backend.load_labels(run.state, Key(settings.seed, run.chain, run.state.sweep))
            run.save_labels = lambda: backend.save_labels(run.state)
            self._run_sweeps(run, backend)
            run.save_labels()
        self._save(run, True)
        run.save_labels = lambda: None  # releases the backend's memory on a GPU or a cluster

    def _run_sweeps(self, run: ChainRun, backend: Backend) -> None:
        if self._had_ended(run):
            return
        settings, schedule = self.settings, self.settings.schedule
        chain = (settings.priors, settings.seed, run.chain, settings.bounds, backend)
        sweep = SAMPLERS[settings.sampler].sweep
        while run.sweeps_done < schedule.n_sweeps and not self.stop.is_set():
            began = time.perf_counter()
            sweep(run.state, self.observations, *chain)
            kept = schedule.is_kept(run.sweeps_done)
            info = self._info(run, kept, began)
            run.record(info)
            if kept:
                number = len(run.cluster_of_group)
                stored = schedule.stores_parameters(number, run.chain)
                backend.save_labels(run.state, clusters_only=not stored)
                backend.store_draw(run.keep(stored, self.observations))
            self._save(run, False)
            # Every callback is called after every sweep, even if an earlier one stops the run.
            answers = [callback(info) for callback in settings.callbacks]
            if any(answer and answer != STOP_CHAIN for answer in answers):
                self.stop.set()
            if STOP_CHAIN in answers:
                return

    def _save(self, run: ChainRun, ended: bool) -> None:
        if self.save is not None:
            self.save(run, ended)

    def _had_ended(self, run: ChainRun) -> bool:
        """Pass the trace of a resumed chain to the callbacks; return True if one stopped it."""
        if not run.sweeps_done:
            return False
        callbacks, burn_in = self.settings.callbacks, self.settings.schedule.burn_in
        listeners = [c.resume_chain for c in callbacks if hasattr(c, "resume_chain")]
        answers = [resume(run.chain, run.trace, burn_in) for resume in listeners]
        return any(answers)  # only now: every callback must receive the trace

    def _info(self, run: ChainRun, kept: bool, began: float) -> SweepInfo:
        state = run.state
        return SweepInfo(
            chain=run.chain,
            sweep=run.sweeps_done,
            n_sweeps=self.settings.schedule.n_sweeps,
            burn_in=self.settings.schedule.burn_in,
            kept=kept,
            n_clusters=state.n_clusters,
            n_topics=state.n_topics,
            log_joint=state.log_joint,
            **values_of(state),
            seconds=time.perf_counter() - began,
            n_tokens=self.observations.n_tokens,
        )


@contextmanager
def stop_on_interrupt(stop: threading.Event) -> Iterator[threading.Event]:
    """Stop the run after the current sweep on Ctrl-C, and immediately on a second one.

    Only the main thread of a program receives Ctrl-C; in other threads this has no effect.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    previous = signal.getsignal(signal.SIGINT)

    def ask_to_stop(number: int, frame: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        stop.set()

    # Only Python's default handler is replaced, not one installed by the caller.
    is_default = previous is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, ask_to_stop)
    try:
        yield interrupted
    finally:
        if is_default:
            signal.signal(signal.SIGINT, previous)

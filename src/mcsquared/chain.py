"""The run loop: stages, kept draws, callbacks, checkpoints, stopping."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mcsquared.arrays import Int32s
from mcsquared.callbacks import STOP_CHAIN
from mcsquared.errors import InputError
from mcsquared.model.parameters import CONCENTRATIONS, Concentrations, values_of
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.posterior.convergence import Assessment, assess
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.posterior.from_state import compact_types, parameter_draw
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.overflow import likely_cause
from mcsquared.samplers.sweep import SAMPLERS
from mcsquared.samplers.threads import ThreadPool, Workers
from mcsquared.samplers.types import Key
from mcsquared.schedule import Schedule, StagedSchedule, share_of_chain
from mcsquared.signals import StopSignals
from mcsquared.state import NO_BOUNDS, Bounds, State, count_words

TRACE = (
    "sweep",
    "chain",
    "kept",
    "n_clusters",
    "n_topics",
    "log_joint",
    *CONCENTRATIONS,
    "seconds",
)

LEVEL_TRACE = ("n_types", "alpha", "v")  # of every level above groups
# Shortest run of a chain, its start included, as a multiple of the time that the start takes; it
# applies if a time limit may leave out chains.
MIN_TIME_PER_START = 3.0


@dataclass(frozen=True, kw_only=True)
class SweepInfo(Concentrations):
    """Summary of a sweep, passed to callbacks; ``sweep`` counts from 1.

    With ``n_sweeps="auto"``, ``n_sweeps`` and ``burn_in`` are those of the current stage, and draws
    that are kept may be dropped by a later stage.
    """

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
    """One chain: its state, trace and kept draws. It starts when its state is first used."""

    chain: int
    start: Callable[[], State] = field(repr=False)
    first_sweep: int = 0  # sweeps done before this run, by an earlier fit
    trace: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TRACE})
    # Clusters of the groups in each kept draw, and the sweep of this run after which it was kept.
    cluster_of_group: list[Int32s] = field(default_factory=list)
    sweep_of_draw: list[int] = field(default_factory=list)
    # Parameters of the draws that store them.
    parameters: list[ParameterDraw] = field(default_factory=list)
    # Types of the units of every level above groups in each draw; n_types, alpha and v by sweep.
    types_of_units: list[list[Int32s]] = field(default_factory=list)
    level_trace: list[list[tuple[float, ...]]] = field(default_factory=list)
    # Position of each draw among all draws stored so far, including those dropped later.
    row_of_draw: list[int] = field(default_factory=list)
    n_stored: int = 0
    # Whether a callback has ended the chain; None until the trace has been passed to the callbacks.
    has_ended: bool | None = None
    # Copies the labels from the backend to the state.
    save_labels: Callable[[], None] = field(default=lambda: None, repr=False)
    # Labels and stored draws of all groups, if the corpus is on disk.
    label_files: Callable[[], dict[str, NDArray[Any]]] = field(default=dict, repr=False)

    @classmethod
    def of_state(cls, chain: int, state: State, first_sweep: int = 0) -> ChainRun:
        """Return a chain that has started."""
        run = cls(chain, lambda: state, first_sweep)
        assert run.state is state  # using the cached property starts the chain
        return run

    @cached_property
    def state(self) -> State:
        """The state of the chain."""
        return self.start()

    @property
    def has_started(self) -> bool:
        """Whether the chain has a state."""
        return "state" in self.__dict__

    @property
    def sweeps_done(self) -> int:
        """Number of sweeps of this run."""
        return self.state.sweep - self.first_sweep if self.has_started else 0

    def keep(self, store_parameters: bool, observations: Observations) -> Int32s:
        """Keep the current draw, with clusters and topics numbered 0, 1, ... without gaps.

        Returns the new number of each cluster slot: int32 (cluster slots,).
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
        self.types_of_units.append(
            [compact_types(level)[level.type_of_unit] for level in self.state.levels]
        )
        self.sweep_of_draw.append(self.sweeps_done)
        self.row_of_draw.append(self.n_stored)
        self.n_stored += 1
        return number

    def drop_last_draw(self) -> None:
        """Drop the last draw, which has no parameters."""
        lists = (self.cluster_of_group, self.sweep_of_draw, self.row_of_draw, self.types_of_units)
        for kept in lists:
            kept.pop()

    def drop_draws(self, schedule: StagedSchedule) -> None:
        """Drop the draws and parameters that are not kept after the current number of sweeps."""
        now, sweeps = self.sweeps_done, self.sweep_of_draw
        kept = schedule.draws_after(sweeps, now)
        stored = [sweeps[draw.index] for draw in self.parameters]
        still_stored = set(schedule.parameters_after(stored, now, self.chain))
        if len(kept) == len(sweeps) and len(still_stored) == len(stored):
            return
        for sweep in set(sweeps) - set(kept):
            self.trace["kept"][sweep - 1] = False
        index = {sweep: i for i, sweep in enumerate(kept)}
        chosen = [i for i, sweep in enumerate(sweeps) if sweep in index]
        self.parameters = [
            replace(draw, index=index[sweep])
            for draw, sweep in zip(self.parameters, stored, strict=True)
            if sweep in still_stored
        ]
        self.cluster_of_group = [self.cluster_of_group[i] for i in chosen]
        self.row_of_draw = [self.row_of_draw[i] for i in chosen]
        self.types_of_units = [self.types_of_units[i] for i in chosen]
        self.sweep_of_draw = kept

    def record(self, info: SweepInfo) -> None:
        """Add a row to the trace."""
        for name in TRACE:
            self.trace[name].append(getattr(info, name))
        levels = self.state.levels
        if levels:
            self.level_trace.append(
                [(int((level.units_in_type > 0).sum()), level.alpha, level.v) for level in levels]
            )


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of all chains of a fit."""

    priors: Priors
    schedule: Schedule | StagedSchedule
    seed: int
    bounds: Bounds = NO_BOUNDS
    callbacks: Sequence[Callback] = ()
    n_threads: int = 1
    sampler: str = "blocked"


@dataclass(frozen=True)
class Runner:
    """Runs the chains of one fit.

    Chains run in parallel, each with an equal share of the threads. Draws do not depend on the
    number of threads. ``save`` is called with a chain and False after every sweep, and with the
    chain and True when it ends a stage. ``make_backend`` returns the backend of a chain, given its
    threads; the default is `LocalBackend`. With any other backend, chains run one after another.
    ``deadline`` is a value of ``time.monotonic()`` after which no further sweep is started, and no
    further chain if their number is chosen automatically.
    """

    observations: Observations
    settings: RunSettings
    save: Callable[[ChainRun, bool], None] | None = None
    make_backend: Callable[[ThreadPool], Backend] | None = None
    deadline: float = math.inf
    signals: StopSignals = field(default_factory=StopSignals)
    out_of_time: threading.Event = field(default_factory=threading.Event)

    @property
    def n_parallel(self) -> int:
        """Number of chains that run at the same time."""
        if self.make_backend:
            return 1
        return min(self.settings.n_threads, self.settings.schedule.n_chains)

    def run(self, runs: list[ChainRun]) -> None:
        """Run every chain to the end of the schedule, or until a signal or a callback stops it."""
        schedule = self.settings.schedule
        with self.signals.listen(include_sigterm=self.save is not None):
            for stage in schedule.stages():
                if any(run.sweeps_done > stage for run in runs):
                    continue  # a resumed run: its chains had not converged at this stage
                self._run_stage(runs, stage)
                stopped = self.signals.stop.is_set() or self.out_of_time.is_set()
                if stopped or all(run.has_ended for run in runs):
                    break
                if schedule.is_staged and assess_chains(runs).converged:
                    break

    def _run_stage(self, runs: list[ChainRun], stage: int) -> None:
        """Run every chain to ``stage`` sweeps."""
        n_parallel = self.n_parallel
        n_rounds = -(-len(runs) // n_parallel)

        def run_chain(number: int) -> None:
            # Chains that run later get an equal share of the remaining time.
            now = time.monotonic()
            share = (self.deadline - now) / (n_rounds - number // n_parallel)
            n_threads = self.settings.n_threads // n_parallel
            self._run_chain(runs[number], n_threads, stage, now + share)

        if n_parallel == 1:
            for number in range(len(runs)):
                run_chain(number)
            return
        with Workers(n_parallel) as pool:
            futures = [pool.submit(run_chain, number) for number in range(len(runs))]

            def stop_after_errors() -> None:
                if any(future.done() and future.exception() for future in futures):
                    self.signals.stop.set()

            self.signals.wait(futures, stop_after_errors)
            for future in futures:
                future.result()

    def _run_chain(self, run: ChainRun, n_threads: int, stage: int, deadline: float) -> None:
        """Sweep until the stage or the time ends, or a callback or Ctrl-C stops the chain."""
        if run.has_ended or (self._is_stopping and not run.has_started):
            return
        settings, began = self.settings, time.monotonic()
        is_needed = run.chain == 0 or run.has_started
        if self._may_leave_out_chains and not is_needed and began > self.deadline:
            self.out_of_time.set()
            return
        local = partial(LocalBackend, self.observations, settings.priors)
        with ThreadPool(n_threads) as threads:
            backend = (self.make_backend or local)(threads)
            self.signals.call(self._prepare, run)
            backend.load_labels(run.state, Key(settings.seed, run.chain, run.state.sweep))
            run.save_labels = lambda: backend.save_labels(run.state)
            run.label_files = backend.label_files
            if self._may_leave_out_chains:
                end = began + MIN_TIME_PER_START * (time.monotonic() - began)
                deadline = max(deadline, min(end, self.deadline))
            self._run_sweeps(run, backend, stage, deadline)
            run.save_labels()
            self._save(run, True)
            if self.out_of_time.is_set():
                # Not in the checkpoint: a resumed run keeps the draws of its schedule.
                self._keep_last(run, backend)
        # Releases the backend's memory on a GPU or a cluster.
        run.save_labels, run.label_files = lambda: None, dict
        has_labels = self.make_backend is None and not math.isinf(run.state.lam)
        if settings.schedule.n_chains > 1 and has_labels:
            # The largest array of a waiting chain; `_prepare` counts again.
            run.state.counts.words_in_topic = np.zeros((0, 0), np.int32)

    @property
    def _is_stopping(self) -> bool:
        """Whether the run is ending, so that no further chain starts: a start can take minutes."""
        return self.make_backend is None and self.signals.stop.is_set()

    @property
    def _may_leave_out_chains(self) -> bool:
        """Whether the time limit may reduce the number of chains, which the user did not choose."""
        schedule = self.settings.schedule
        is_chosen = isinstance(schedule, StagedSchedule) and schedule.choose_chains
        return is_chosen and self.make_backend is None and math.isfinite(self.deadline)

    def _prepare(self, run: ChainRun) -> None:
        """Start a chain; count the words of its topics if these counts were released."""
        counts, n_words = run.state.counts, self.observations.n_words
        if n_words and not len(counts.words_in_topic):
            counts.words_in_topic = count_words(
                self.observations, run.state.topic_of_token, len(run.state.topic_weights)
            )

    def _run_sweeps(self, run: ChainRun, backend: Backend, stage: int, deadline: float) -> None:
        if run.has_ended is None:
            run.has_ended = self._had_ended(run)
        while not run.has_ended and run.sweeps_done < stage and not self.signals.stop.is_set():
            if time.monotonic() > deadline and run.sweeps_done:
                self.out_of_time.set()
                return
            self._sweep(run, backend, stage)

    def _sweep(self, run: ChainRun, backend: Backend, stage: int) -> None:
        """Sweep once; keep and save the draw, and call the callbacks."""
        settings, schedule = self.settings, self.settings.schedule
        started = time.perf_counter()
        self._resample(run, backend)
        kept = schedule.is_kept(run.sweeps_done)
        info = self._info(run, kept, stage, started)
        run.record(info)
        if kept:
            stored = schedule.stores_parameters(run.sweeps_done, run.chain)
            backend.save_labels(run.state, clusters_only=not stored)
            backend.store_draw(run.keep(stored, self.observations))
        if isinstance(schedule, StagedSchedule):
            run.drop_draws(schedule)
        self._save(run, False)
        # Every callback is called after every sweep, even if an earlier one stops the run.
        results = [callback(info) for callback in settings.callbacks]
        if any(result and result != STOP_CHAIN for result in results):
            self.signals.stop.set()
        run.has_ended = STOP_CHAIN in results

    def _resample(self, run: ChainRun, backend: Backend) -> None:
        """Run the steps of a sweep; raise `InputError` if numbers overflow."""
        settings, state, observations = self.settings, run.state, self.observations
        arguments = (settings.priors, settings.seed, run.chain, settings.bounds, backend)
        try:
            self.signals.call(SAMPLERS[settings.sampler].sweep, state, observations, *arguments)
            if not math.isfinite(state.log_joint):
                raise FloatingPointError(f"its log joint is {state.log_joint}")
        except FloatingPointError as error:
            cause = likely_cause(state, observations, settings.priors)
            raise InputError(
                f"chain {run.chain} stopped in sweep {state.sweep}, because {error}; "
                f"the likely cause is {cause}"
            ) from error

    def _keep_last(self, run: ChainRun, backend: Backend) -> None:
        """Keep the last draw with its parameters if the chain has no such draw."""
        schedule = self.settings.schedule
        share = share_of_chain(schedule.keep_parameters, schedule.n_chains, run.chain)
        if run.parameters or (run.cluster_of_group and not share):
            return
        if run.trace["kept"][-1]:  # without parameters
            run.drop_last_draw()
        backend.store_draw(run.keep(True, self.observations))
        run.trace["kept"][-1] = True

    def _save(self, run: ChainRun, ended: bool) -> None:
        if self.save is not None:
            self.save(run, ended)

    def _had_ended(self, run: ChainRun) -> bool:
        """Pass the trace of a resumed chain to the callbacks; return True if one stopped it."""
        if not run.sweeps_done:
            return False
        callbacks, schedule = self.settings.callbacks, self.settings.schedule
        listeners = [c.resume_chain for c in callbacks if hasattr(c, "resume_chain")]
        burn_in = schedule.burn_in_of(schedule.stage_of(run.sweeps_done))
        results = [resume(run.chain, run.trace, burn_in) for resume in listeners]
        return any(results)  # only now: every callback must receive the trace

    def _info(self, run: ChainRun, kept: bool, stage: int, started: float) -> SweepInfo:
        state = run.state
        return SweepInfo(
            chain=run.chain,
            sweep=run.sweeps_done,
            n_sweeps=stage,
            burn_in=self.settings.schedule.burn_in_of(stage),
            kept=kept,
            n_clusters=state.n_clusters,
            n_topics=state.n_topics,
            log_joint=state.log_joint,
            **values_of(state),
            seconds=time.perf_counter() - started,
            n_tokens=self.observations.n_tokens,
        )


def trace_of(runs: Sequence[ChainRun]) -> pd.DataFrame:
    """Return the traces of all chains: one row per sweep and chain."""
    # Joined as lists: empty frames of chains that never started would change column types.
    return pd.DataFrame({name: [x for run in runs for x in run.trace[name]] for name in TRACE})


def assess_chains(runs: Sequence[ChainRun]) -> Assessment:
    """Assess the convergence of chains that are running or have ended."""
    draws = [np.array(run.cluster_of_group, np.int32) for run in runs if run.cluster_of_group]
    return assess(trace_of(runs), draws)

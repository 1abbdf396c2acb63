"""Fit a corpus: initial states, chains, checkpoint, and the posterior of the kept draws."""

from __future__ import annotations

import dataclasses
import json
import math
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mcsquared.arrays import Int32s
from mcsquared.chain import ChainRun, Runner, RunSettings, assess_chains, trace_of
from mcsquared.checkpoint import Checkpoint
from mcsquared.corpus import Corpus, Words
from mcsquared.corpus.disk import SampledCorpus
from mcsquared.errors import InputError
from mcsquared.evaluation.stacking import stack_chains
from mcsquared.fitting import checks, disk
from mcsquared.markup import range_of
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations, observe
from mcsquared.observations.disk import DiskObservations
from mcsquared.posterior import Posterior
from mcsquared.posterior.convergence import assess_posterior
from mcsquared.posterior.diagnostics import MAX_RHAT
from mcsquared.posterior.levels import units_of_runs
from mcsquared.posterior.posterior import TEXT_OPTIONS
from mcsquared.progress import Progress
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.backends.cuda import cuda_backend
from mcsquared.samplers.backends.sharded import write_label_files
from mcsquared.samplers.sweep import SAMPLERS
from mcsquared.samplers.threads import ThreadPool
from mcsquared.signals import TERMINATED
from mcsquared.storage import check_target, locked

if TYPE_CHECKING:
    from mcsquared.state import State

StopReason = Literal["interrupted", "out of time"]

# Returns a function that creates the backend of a chain, given its threads.
BackendFactory = Callable[[Observations, Priors], Callable[[ThreadPool], Backend]]


@dataclass(frozen=True)
class FitResult:
    """The posterior, and the last state of every chain."""

    posterior: Posterior
    states: list[State]
    stopped: StopReason | None = None  # why the run ended before the end of its schedule
    labels: Int32s | None = None  # of all groups, if the posterior has only a sample


@dataclass(frozen=True, kw_only=True)
class Fit(RunSettings):
    """The settings of a fit, validated by the estimator.

    ``backend`` creates the backend of each chain; the default depends on the corpus and the device.
    """

    init: str
    progress: Any
    checkpoint: str | None
    checkpoint_every: float | None = None
    device: str = "cpu"
    backend: BackendFactory | None = None
    max_seconds: float = math.inf

    def run(self, corpus: Corpus, states: Sequence[State] = ()) -> FitResult:
        """Run the chains, continuing from the ``states`` of an earlier fit if there are any."""
        if self.checkpoint is None:
            return self._run(corpus, states)
        check_target(self.checkpoint)
        with locked(self.checkpoint):
            return self._run(corpus, states)

    def _run(self, corpus: Corpus, states: Sequence[State]) -> FitResult:
        deadline = time.monotonic() + self.max_seconds
        observations = self._observe(corpus)
        make_backend = self._make_backend(observations)  # first, so that errors are raised early
        first_stage = next(self.schedule.stages())
        sizes = (first_stage, self.schedule.n_chains, observations.n_tokens)
        progress = Progress(*sizes, self.progress, deadline=deadline)
        checkpoint = self._checkpoint(corpus)
        runs = self._runs(observations, checkpoint, states)
        settings = dataclasses.replace(self, callbacks=[*self.callbacks, progress])
        save = checkpoint.save if checkpoint else None
        runner = Runner(observations, settings, save, make_backend, deadline)
        with progress:
            runner.run(runs)
        stopped = self._stop_reason(runner, runs)
        notes = [*self._notes(runs), *self._convergence_notes(runs, runner, stopped)]
        states = [run.state for run in runs if run.has_started]
        del observations, make_backend, runner  # as large as the corpus, and no longer needed
        if not isinstance(corpus, SampledCorpus):
            return FitResult(self._posterior(corpus, runs, notes), states, stopped)
        sampled = [disk.drop_unsampled_clusters(run) for run in runs]
        posterior = self._posterior(corpus, sampled, notes)
        n_groups = corpus.source.n_groups
        if corpus.n_groups < n_groups:
            posterior.n_fitted = n_groups
            note = (
                f"fitted to {n_groups:,} groups; results are shown for a random sample "
                f"of {corpus.n_groups:,}"
            )
            posterior.notes.insert(len(corpus.notes), note)  # convergence stays last
        return FitResult(posterior, states, stopped, disk.labels_of_all(corpus, runs, posterior))

    def _stop_reason(self, runner: Runner, runs: list[ChainRun]) -> StopReason | None:
        """Return why the run ended early; raise an error if it has no draw to return."""
        interrupted = runner.signals.received is not None
        if runner.signals.received is signal.SIGTERM:
            raise SystemExit(TERMINATED)
        if not any(run.parameters for run in runs):
            if interrupted:
                raise KeyboardInterrupt
            raise InputError(
                "a callback stopped the run before a draw was kept: "
                f"burn_in is {self.schedule.burn_in_of(next(self.schedule.stages()))}"
            )
        if interrupted:
            done = [run.sweeps_done for run in runs]
            span = range_of(min(done), max(done))
            kept = sum(len(run.cluster_of_group) for run in runs)
            warnings.warn(
                f"interrupted after {span} {self._of_all_sweeps()}: "
                f"the posterior holds the {kept} draws kept so far",
                stacklevel=7,
            )
            end = next(self.schedule.stages())
            ended = [run.has_ended or run.sweeps_done == end for run in runs]
            return None if all(ended) and not self.schedule.is_staged else "interrupted"
        return "out of time" if runner.out_of_time.is_set() else None

    def _of_all_sweeps(self) -> str:
        schedule = self.schedule
        return "sweeps" if schedule.is_staged else f"of {next(schedule.stages())} sweeps"

    def _convergence_notes(
        self, runs: list[ChainRun], runner: Runner, stopped: StopReason | None
    ) -> list[str]:
        """Return notes on time and convergence; warn of a run that has not converged."""
        if self.schedule.is_staged:
            assessment = assess_chains(runs)
            note, converged = assessment.summary(runner.n_parallel), assessment.converged
        elif stopped == "out of time":
            done = min(run.sweeps_done for run in runs)
            sweeps, converged = self._of_all_sweeps(), False
            note = f"max_seconds={self.max_seconds:g} ended the run after {done} {sweeps}"
            if done <= self.schedule.burn_in_of(done):
                note += ", before the end of the burn-in: the posterior has only the last draw"
        else:
            return []
        if not converged:
            warnings.warn(note, ConvergenceWarning, stacklevel=7)
        return [note]

    def _observe(self, corpus: Corpus) -> Observations:
        if corpus.source is None:
            checks.check_memory(corpus.n_tokens, checks.physical_memory())
        else:
            checks.check_blocked("a corpus larger than memory", self.sampler)
        observations = observe(corpus, self.priors)
        checks.check_levels(observations, self.sampler)
        return observations

    def _make_backend(self, observations: Observations) -> Callable[[ThreadPool], Backend] | None:
        """Return a function that creates the backend of a chain, or None for the default."""
        if self.backend is not None:
            return self.backend(observations, self.priors)
        if isinstance(observations, DiskObservations):
            return disk.disk_backend(observations, self.priors, self.device)
        if self.device == "cpu":
            return None
        return cuda_backend(observations, self.priors)

    def _checkpoint(self, corpus: Corpus) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        identity = {
            "corpus": (corpus.source or corpus).fingerprint(),
            "priors": self.priors.to_dict(),
            "seed": self.seed,
            "init": self.init,
            "sampler": self.sampler,
            "max_clusters": self.bounds.clusters,
            "max_topics": self.bounds.topics,
            **self.schedule.identity(),
        }
        return Checkpoint(self.checkpoint, identity, self.checkpoint_every)

    def _runs(
        self, observations: Observations, checkpoint: Checkpoint | None, states: Sequence[State]
    ) -> list[ChainRun]:
        """Return all chains: saved ones, continuations of earlier states, or new ones."""
        saved = checkpoint.load(observations, self.priors, self.sampler) if checkpoint else {}
        if checkpoint and states:
            # A warm start continues from the states in memory, not from the file.
            saved = {}
            checkpoint.clear()
        runs = []
        for chain in range(self.schedule.n_chains):
            if chain in saved:
                runs.append(saved[chain])
            elif chain < len(states):
                state = states[chain]
                runs.append(ChainRun.of_state(chain, state, state.sweep))
            else:
                arguments = (observations, self.priors, self.seed, chain, self.init)
                start = SAMPLERS[self.sampler].start
                runs.append(ChainRun(chain, partial(start, *arguments, bounds=self.bounds)))
        return runs

    def _posterior(self, corpus: Corpus, runs: list[ChainRun], notes: list[str]) -> Posterior:
        parameters, first = [], 0
        for run in runs:
            parameters += [
                dataclasses.replace(draw, index=draw.index + first) for draw in run.parameters
            ]
            first += len(run.cluster_of_group)
        posterior = Posterior(
            priors=self.priors,
            group_names=corpus.group_names,
            vocabulary=corpus.vocabulary,
            contexts=self.priors.columns(corpus),
            tokens_per_group=corpus.tokens_per_group,
            cluster_of_group=np.array([z for run in runs for z in run.cluster_of_group], np.int32),
            chain_of_draw=np.repeat(
                np.array([run.chain for run in runs], np.int32),
                [len(run.cluster_of_group) for run in runs],
            ),
            sweep_of_draw=np.array([s for run in runs for s in run.sweep_of_draw], np.int32),
            trace=trace_of(runs),
            parameters=parameters,
            word_frequency=corpus.word_frequency,
            document_frequency=corpus.document_frequency,
            seed=self.seed,
            notes=[*corpus.notes, *notes],
            units=units_of_runs(
                corpus,
                self.priors,
                [types for run in runs for types in run.types_of_units],
                [row for run in runs for row in run.level_trace],
            ),
            source={TEXT_OPTIONS: json.dumps(dict(corpus.text_options))}
            if corpus.text_options
            else {},
        )
        if len(runs) > 1:
            posterior = _with_weights(posterior, corpus)
        if isinstance(corpus.content, Words):
            posterior.attach_codocuments(corpus.content.counts)
        posterior.attach_content(corpus)
        if len(runs) > 1 and not self.schedule.is_staged:
            _report_disagreement(posterior)
        return posterior

    def _notes(self, runs: list[ChainRun]) -> list[str]:
        notes = []
        for name, bound in (("clusters", self.bounds.clusters), ("topics", self.bounds.topics)):
            largest = max(max(run.trace[f"n_{name}"], default=0) for run in runs)
            if bound is not None and largest >= bound:
                notes.append(f"max_{name}={bound} was reached: the data may support more {name}")
                warnings.warn(notes[-1], stacklevel=7)
        longest = max(run.sweeps_done for run in runs)
        expected = longest if self.schedule.is_staged else next(self.schedule.stages())
        notes += [
            f"chain {run.chain} ended after {run.sweeps_done} of {expected} sweeps"
            for run in runs
            if run.sweeps_done < expected
        ]
        if self.sampler == "blocked":
            notes += _truncation([run for run in runs if run.has_started])
        return notes


class EarlierFit:
    """A fit that a warm start may continue."""

    def __init__(self, fit: Fit, corpus: Corpus, states: list[State]) -> None:
        self._fit = dataclasses.replace(fit, backend=None)  # a backend may hold a Dask client
        self._fingerprint, self._states = corpus.fingerprint(), states
        # Groups in memory of a corpus on disk; empty if all are.
        self.groups = corpus.groups if isinstance(corpus, SampledCorpus) else np.zeros(0, np.int64)
        self._labels = disk.labels_on_disk(corpus, len(states))

    def states_for(self, fit: Fit, corpus: Corpus) -> list[State]:
        """Return the states of the chains; corpus, priors and sampler must be the same."""
        same = self._fit.priors.to_dict() == fit.priors.to_dict()
        if self._fingerprint != corpus.fingerprint() or not same:
            raise InputError(
                "corpus and priors must be those of the last fit with warm_start=True, "
                "got different ones"
            )
        if fit.sampler != self._fit.sampler:
            raise InputError(
                "sampler must be that of the last fit with warm_start=True "
                f"({self._fit.sampler!r}), got {fit.sampler!r}"
            )
        if isinstance(corpus, SampledCorpus):
            for chain, labels in enumerate(self._labels):
                write_label_files(corpus.source.folder, chain, labels)
        return self._states


def _truncation(runs: list[ChainRun]) -> list[str]:
    """Return a note on the largest truncation and the most slots that were occupied."""
    if not runs:
        return []
    slots = np.max([run.state.counts.topics_in_cluster.shape for run in runs], axis=0)
    clusters, topics = (
        max(max(run.trace[name], default=0) for run in runs) for name in ("n_clusters", "n_topics")
    )
    return [
        f"the truncation was extended to {slots[0]} clusters and {slots[1]} topics; "
        f"at most {clusters} and {topics} were occupied"
    ]


def _with_weights(posterior: Posterior, corpus: Corpus) -> Posterior:
    """Return the posterior with lower weights for chains in clearly worse modes, and a note."""
    if not assess_posterior(posterior).disagree:
        return posterior
    weights = stack_chains(posterior, corpus)
    if weights is None:
        return posterior
    equal = posterior.chain_weights
    lower = [str(chain) for chain in range(len(equal)) if weights[chain] < 0.5 * equal[chain]]
    what = f"chain {lower[0]} predicts" if len(lower) == 1 else f"chains {', '.join(lower)} predict"
    note = "the chains are weighted by their predictions: " + ", ".join(
        f"{weight:.2f}" for weight in weights
    )
    if lower:
        note += f"; {what} the groups clearly worse than the others"
    notes = [*corpus.notes, note, *posterior.notes[len(corpus.notes) :]]  # convergence stays last
    return dataclasses.replace(posterior, chain_weights=weights, notes=notes)


def _report_disagreement(posterior: Posterior) -> None:
    """Warn, and add a note, if the chains disagree."""
    diagnostics = posterior.diagnostics()
    high = diagnostics[diagnostics["rhat"] > MAX_RHAT]
    if high.empty:
        return
    listed = ", ".join(f"{row.scalar} {row.rhat:.2f}" for row in high.itertuples())
    note = f"the chains disagree: R-hat is above {MAX_RHAT} for {listed}; run more sweeps"
    posterior.notes.append(note)
    warnings.warn(note, ConvergenceWarning, stacklevel=8)

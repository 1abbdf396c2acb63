"""From a corpus to a posterior: priors, starts, chains, checkpoint, and what was kept."""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.chain import TRACE, Callback, ChainRun, Schedule, run_chains
from mcsquared.checkpoint import Checkpoint, saved_seed
from mcsquared.checks import as_seed, check_jobs, check_whole
from mcsquared.corpus import Corpus, Words
from mcsquared.errors import InputError
from mcsquared.observations import Observations, observe
from mcsquared.posterior import Posterior
from mcsquared.posterior.advice import LARGEST_RHAT
from mcsquared.priors import Priors
from mcsquared.progress import Progress
from mcsquared.samplers import blocked, collapsed
from mcsquared.samplers.blocked import Place
from mcsquared.samplers.blocked.device import Device, DeviceCorpus, check_device
from mcsquared.samplers.starts import check_init
from mcsquared.samplers.workers import Workers
from mcsquared.state import Bounds

if TYPE_CHECKING:
    from mcsquared.state import State

__all__ = [
    "Fit",
    "FitResult",
    "Places",
    "check_memory",
    "check_sampler",
    "checked_schedule",
    "elsewhere",
    "seed_from",
]

SAMPLERS = ("auto", "collapsed", "blocked")
DEVICES = ("cpu", "cuda")
Places = Callable[[Observations, Priors], Callable[[Workers], Place]]
_ELSEWHERE: ContextVar[Places | None] = ContextVar("elsewhere", default=None)
BYTES_PER_TOKEN = 32  # at the least, as measured: a run that needs more than all memory is killed


@contextmanager
def elsewhere(places: Places) -> Iterator[None]:
    """Let fits in this block have their groups where ``places`` says, on a cluster for one."""
    token = _ELSEWHERE.set(places)
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


@dataclass(frozen=True)
class FitResult:
    """What a fit leaves: the posterior, and where its chains stand."""

    posterior: Posterior
    states: list[State]


@dataclass(frozen=True)
class Fit:
    """The settings of a fit, validated by the estimator."""

    priors: Priors
    schedule: Schedule
    n_threads: int
    seed: int
    bounds: Bounds
    init: str
    sampler: str
    callbacks: Sequence[Callback]
    progress: Any
    checkpoint: str | None
    device: str = "cpu"

    def run(self, corpus: Corpus, states: Sequence[State] = ()) -> FitResult:
        """Run the chains, from ``states`` where an earlier fit left some."""
        check_memory(corpus.n_tokens, physical_memory())
        observations = observe(corpus, self.priors)
        places = self._places(observations)  # first: what cannot be there is refused at once
        progress = Progress(
            self.schedule.n_sweeps, self.schedule.n_chains, observations.n_tokens, self.progress
        )
        checkpoint = self._checkpoint(corpus)
        runs = self._runs(observations, checkpoint, states)
        with progress:
            interrupted = run_chains(
                runs,
                observations,
                self.priors,
                self.schedule,
                self.seed,
                self.bounds,
                [*self.callbacks, progress],
                self.n_threads,
                self.sampler,
                checkpoint.save if checkpoint else None,
                places,
            )
        kept = sum(len(run.cluster_of_group) for run in runs)
        usable = any(run.parameters for run in runs)
        if interrupted and not usable:
            raise KeyboardInterrupt
        if not usable:
            raise InputError(
                "a callback stopped the run before a draw was kept: "
                f"burn_in is {self.schedule.burn_in}"
            )
        if interrupted:
            done = min(run.sweeps_done for run in runs)
            warnings.warn(
                f"interrupted after {done} of {self.schedule.n_sweeps} sweeps: "
                f"the posterior holds the {kept} draws kept so far",
                stacklevel=4,
            )
        posterior = self._posterior(corpus, runs)
        return FitResult(posterior, [run.state for run in runs])

    def _places(self, observations: Observations) -> Callable[[Workers], Place] | None:
        """Return what makes the places of chains, if groups are not in this process's memory."""
        elsewhere = _ELSEWHERE.get()
        if elsewhere is not None:
            return elsewhere(observations, self.priors)
        if self.device == "cpu":
            return None
        check_device(observations)
        on_device = DeviceCorpus(observations, varies=self.priors.lam != math.inf)
        return partial(Device, observations, self.priors, on_device)

    def _checkpoint(self, corpus: Corpus) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        identity = {
            "corpus": corpus.fingerprint(),
            "priors": self.priors.to_dict(),
            "seed": self.seed,
            "init": self.init,
            "sampler": self.sampler,
            "max_clusters": self.bounds.clusters,
            "max_topics": self.bounds.topics,
            **dataclasses.asdict(self.schedule),
        }
        return Checkpoint(self.checkpoint, identity)

    def _runs(
        self, observations: Observations, checkpoint: Checkpoint | None, states: Sequence[State]
    ) -> list[ChainRun]:
        saved = checkpoint.load(observations, self.priors, self.sampler) if checkpoint else {}
        if checkpoint and states:
            # A warm start goes on from where it stands in memory, also past what the file holds.
            saved = {}
            checkpoint.forget()
        runs = []
        for chain in range(self.schedule.n_chains):
            if chain in saved:
                runs.append(saved[chain])
            elif chain < len(states):
                state = states[chain]
                runs.append(ChainRun(chain, state, first_sweep=state.sweep))
            else:
                start = collapsed.start if self.sampler == "collapsed" else blocked.start
                state = start(
                    observations, self.priors, self.seed, chain, self.init, bounds=self.bounds
                )
                runs.append(ChainRun(chain, state))
        return runs

    def _posterior(self, corpus: Corpus, runs: list[ChainRun]) -> Posterior:
        import pandas as pd

        parameters, first = [], 0
        for run in runs:
            parameters += [
                dataclasses.replace(draw, draw=draw.draw + first) for draw in run.parameters
            ]
            first += len(run.cluster_of_group)
        # By lists: frames of chains that never began would spoil the types of the columns.
        trace = {name: [value for run in runs for value in run.trace[name]] for name in TRACE}
        content = corpus.content
        counts = content.counts if isinstance(content, Words) else None
        posterior = Posterior(
            priors=self.priors,
            group_names=corpus.group_names,
            vocabulary=None if counts is None else corpus.vocabulary,
            contexts=self.priors.columns(corpus),
            tokens_per_group=corpus.tokens_per_group,
            cluster_of_group=np.array([z for run in runs for z in run.cluster_of_group], np.int32),
            chain_of_draw=np.repeat(
                np.array([run.chain for run in runs], np.int32),
                [len(run.cluster_of_group) for run in runs],
            ),
            sweep_of_draw=np.array([s for run in runs for s in run.sweep_of_draw], np.int32),
            trace=pd.DataFrame(trace),
            parameters=parameters,
            word_frequency=None if counts is None else _column_sums(counts.data, counts),
            document_frequency=None
            if counts is None
            else _column_sums(np.ones(counts.nnz, np.int64), counts),
            seed=self.seed,
            notes=[*corpus.notes, *self._notes(runs)],
        )
        if counts is not None:
            posterior.attach_codocuments(counts)
        if len(runs) > 1:
            _report_disagreement(posterior)
        return posterior

    def _notes(self, runs: list[ChainRun]) -> list[str]:
        notes = []
        for name, bound in (("clusters", self.bounds.clusters), ("topics", self.bounds.topics)):
            most = max(max(run.trace[f"n_{name}"], default=0) for run in runs)
            if bound is not None and most >= bound:
                notes.append(
                    f"max_{name}={bound} was reached: the data may hold more {name} than that"
                )
                warnings.warn(notes[-1], stacklevel=5)
        notes += [
            f"chain {run.chain} ended after {run.sweeps_done} of {self.schedule.n_sweeps} sweeps"
            for run in runs
            if run.sweeps_done < self.schedule.n_sweeps
        ]
        if self.sampler == "blocked":
            notes += [_truncation(run) for run in runs]
        return notes


def _truncation(run: ChainRun) -> str:
    """Say how much room a chain has made for clusters and topics, and how much it has used."""
    slots = run.state.counts.topics_in_cluster.shape
    most = [max(run.trace[name], default=0) for name in ("n_clusters", "n_topics")]
    return (
        f"chain {run.chain} has grown its truncation to {slots[0]} clusters and {slots[1]} topics; "
        f"in use were {most[0]} and {most[1]} at most"
    )


def _report_disagreement(posterior: Posterior) -> None:
    """Note and warn when chains differ more among themselves than chance allows."""
    table = posterior.diagnostics()
    apart = table[table["rhat"] > LARGEST_RHAT]
    if apart.empty:
        return
    worst = ", ".join(f"{row.scalar} {row.rhat:.2f}" for row in apart.itertuples())
    note = f"the chains disagree: R-hat is above {LARGEST_RHAT} for {worst}; run more sweeps"
    posterior.notes.append(note)
    warnings.warn(note, stacklevel=5)


def _column_sums(values: np.ndarray, counts: Any) -> np.ndarray:
    return np.bincount(counts.indices, weights=values, minlength=counts.shape[1]).astype(np.int64)


def check_sampler(sampler: object, device: object, lam: object) -> str:
    """Return the sampler that a fit will use; refuse what does not exist."""
    if sampler not in SAMPLERS:
        raise InputError(
            f"sampler is {sampler!r}, but one of {', '.join(map(repr, SAMPLERS))} is wanted"
        )
    if device not in DEVICES:
        raise InputError(f"device is {device!r}, but 'cpu' or 'cuda' is wanted")
    if sampler != "collapsed":
        return "blocked"
    if device != "cpu":
        raise InputError("device is 'cuda', but the collapsed sampler is for device='cpu' alone")
    if not (isinstance(lam, float | int) and lam == math.inf):
        raise InputError(
            f"lam is {lam!r}, but the collapsed sampler is for lam=inf, the paper's model; "
            "sampler='blocked' takes any lam"
        )
    return "collapsed"


def checked_schedule(model: Any) -> Schedule:
    """Check every parameter of an estimator that is not a prior, before anything is done."""
    check_sampler(model.sampler, model.device, model.lam)
    for name, least in (
        ("n_sweeps", 1),
        ("burn_in", 0),
        ("thin", 1),
        ("n_chains", 1),
        ("keep_parameters", 1),
    ):
        check_whole(name, getattr(model, name), least)
    for name in ("max_clusters", "max_topics"):
        if getattr(model, name) is not None:
            check_whole(name, getattr(model, name), 1)
    check_jobs(model.n_jobs)
    if not isinstance(model.callbacks, Iterable) or not all(map(callable, model.callbacks)):
        raise InputError(f"callbacks is {model.callbacks!r}, but a list of callables is wanted")
    if not isinstance(model.checkpoint, str | os.PathLike | None):
        raise InputError(f"checkpoint is {model.checkpoint!r}, but a path is wanted")
    check_init(model.init)
    schedule = Schedule(
        int(model.n_sweeps),
        int(model.burn_in),
        int(model.thin),
        int(model.keep_parameters),
        int(model.n_chains),
    )
    if schedule.n_kept < 1:
        raise InputError(
            f"n_sweeps={model.n_sweeps} with burn_in={model.burn_in} and thin={model.thin} keeps "
            "no draw, but at least one is wanted: raise n_sweeps or lower burn_in"
        )
    return schedule


def seed_from(random_state: Any, checkpoint: str | os.PathLike[str] | None) -> int:
    """Return a seed of 32 bits: the same for the same ``random_state``.

    Without one, a run that finds its checkpoint goes on with the seed it has begun with.
    """
    if random_state is None and checkpoint is not None:
        random_state = saved_seed(checkpoint)
    return as_seed(random_state)


def check_memory(n_tokens: int, memory: float) -> None:
    """Refuse a corpus whose tokens, one by one, do not fit into so many bytes."""
    needed = BYTES_PER_TOKEN * n_tokens
    if needed > memory:
        raise InputError(
            f"content holds {n_tokens:,} tokens, which need some {needed / 1e9:.0f} GB, but this "
            f"machine has {memory / 1e9:.0f} GB: counts are numbers of tokens, so scale down what "
            "was measured rather than counted, or take fewer groups"
        )


def physical_memory() -> float:
    """Return the bytes of this machine's memory; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf

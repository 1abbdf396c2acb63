"""What a fit asks of an estimator's parameters and of the machine, before anything is done."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

from mcsquared.chain import Schedule
from mcsquared.checkpoint import saved_seed
from mcsquared.checks import as_seed, check_jobs, check_whole
from mcsquared.errors import InputError
from mcsquared.samplers.init.starts import check_init

__all__ = ["check_memory", "check_sampler", "checked_schedule", "physical_memory", "seed_from"]

SAMPLERS = ("auto", "collapsed", "blocked")
DEVICES = ("cpu", "cuda")
BYTES_PER_TOKEN = 32  # at the least, as measured: a run that needs more than all memory is killed


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
        raise InputError(f"callbacks must be a list of callables, got {model.callbacks!r}")
    if not isinstance(model.checkpoint, str | os.PathLike | None):
        raise InputError(f"checkpoint must be a path, got {model.checkpoint!r}")
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

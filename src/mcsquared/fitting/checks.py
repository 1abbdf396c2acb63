"""Checks of an estimator's parameters and of the available memory, before a fit starts."""

import math
import os
from collections.abc import Iterable
from typing import Any

from mcsquared.checkpoint import saved_seed
from mcsquared.checks import (
    as_seed,
    check_choice,
    check_integer,
    check_jobs,
    check_positive,
    is_integer,
)
from mcsquared.errors import InputError
from mcsquared.observations import Observations
from mcsquared.samplers.content.python_families import integrated_families
from mcsquared.samplers.init.starts import check_init
from mcsquared.schedule import BURN_IN, MAX_SWEEPS, THIN, Schedule, StagedSchedule

SAMPLER_NAMES = ("auto", "collapsed", "blocked")
DEVICES = ("cpu", "cuda")
BYTES_PER_TOKEN = 32  # lower bound, measured
MINIMA = {"n_sweeps": 1, "burn_in": 0, "thin": 1, "n_chains": 1}
MEANING_OF_AUTO = {
    "burn_in": "the first half of the sweeps is discarded",
    "thin": "about 100 draws are kept",
}


def check_sampler(sampler: object, device: object, lam: object) -> str:
    """Return the sampler that a fit will use; raise `InputError` for an invalid combination."""
    check_choice("sampler", sampler, SAMPLER_NAMES)
    check_choice("device", device, DEVICES)
    if sampler != "collapsed":
        return "blocked"
    if device != "cpu":
        raise InputError("device must be 'cpu' for the collapsed sampler, got 'cuda'")
    if not (isinstance(lam, float | int) and lam == math.inf):
        raise InputError(
            "lam must be inf, the paper's model, for the collapsed sampler "
            f"(sampler='blocked' takes any lam), got {lam!r}"
        )
    return "collapsed"


def check_levels(observations: Observations, sampler: str) -> None:
    """Raise `InputError` for settings that levels above groups or backgrounds do not support."""
    if observations.background_columns:
        check_blocked("contexts with a background", sampler)
    if not observations.levels:
        return
    check_blocked("a corpus with levels above groups", sampler)
    if observations.effect_values is not None:
        raise InputError("effects must be empty for a corpus with levels above groups")
    for family in integrated_families(observations):
        raise InputError(
            "a corpus with levels above groups requires families with sample_parameters and "
            f"log_likelihood, got {type(family).__name__}"
        )


def check_blocked(reason: str, sampler: str) -> None:
    """Raise `InputError` unless the sampler is "blocked"; ``reason`` is what requires it."""
    if sampler != "blocked":
        raise InputError(f"sampler must be 'blocked' for {reason}, got {sampler!r}")


def checked_schedule(model: Any) -> Schedule | StagedSchedule:
    """Check the parameters that control a run, not the model; return the schedule."""
    check_sampler(model.sampler, model.device, model.lam)
    keep_parameters = check_integer("keep_parameters", model.keep_parameters, 1)
    for name in ("max_clusters", "max_topics"):
        if getattr(model, name) is not None:
            check_integer(name, getattr(model, name), 1)
    for name in ("max_seconds", "checkpoint_every"):
        if getattr(model, name) is not None:
            check_positive(name, getattr(model, name))
    check_jobs(model.n_jobs)
    if not isinstance(model.callbacks, Iterable) or not all(map(callable, model.callbacks)):
        raise InputError(f"callbacks must be a list of callables, got {model.callbacks!r}")
    if not isinstance(model.checkpoint, str | os.PathLike | None):
        raise InputError(f"checkpoint must be a path, got {model.checkpoint!r}")
    check_init(model.init)
    sweeps = {
        name: _number(name, getattr(model, name), minimum) for name, minimum in MINIMA.items()
    }
    n_chains = sweeps["n_chains"] or 1
    if sweeps["n_sweeps"] is None:
        for name, meaning in MEANING_OF_AUTO.items():
            if sweeps[name] is not None:
                raise InputError(
                    f"{name} must be 'auto' if n_sweeps is 'auto' ({meaning}), "
                    f"got {getattr(model, name)!r}"
                )
        limit = MAX_SWEEPS if model.max_seconds is None else None
        return StagedSchedule(keep_parameters, n_chains, limit, sweeps["n_chains"] is None)
    numbers = (sweeps["n_sweeps"], sweeps["burn_in"], sweeps["thin"])
    return _fixed_schedule(*numbers, keep_parameters, n_chains)


def _number(name: str, value: Any, minimum: int) -> int | None:
    """Return a number of sweeps or chains, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    if not is_integer(value) or value < minimum:
        raise InputError(f"{name} must be an integer >= {minimum} or 'auto', got {value!r}")
    return check_integer(name, value, minimum)


def _fixed_schedule(
    n_sweeps: int, burn_in: int | None, thin: int | None, keep_parameters: int, n_chains: int
) -> Schedule:
    """Return the schedule of a fixed number of sweeps; None: the default for this number."""
    if burn_in is None:
        burn_in = BURN_IN if n_sweeps >= BURN_IN + (thin or THIN) else n_sweeps // 2
    if thin is None:
        thin = THIN if n_sweeps - burn_in >= THIN else 1
    schedule = Schedule(n_sweeps, burn_in, thin, keep_parameters, n_chains)
    if schedule.n_kept < 1:
        raise InputError(
            f"n_sweeps={n_sweeps} with burn_in={burn_in} and thin={thin} keeps no draw: raise "
            "n_sweeps or lower burn_in"
        )
    return schedule


def seed_from(random_state: Any, checkpoint: str | os.PathLike[str] | None) -> int:
    """Return a 32-bit seed from ``random_state`` or, if that is None, from the checkpoint."""
    if random_state is None and checkpoint is not None:
        random_state = saved_seed(checkpoint)
    return as_seed(random_state)


def check_memory(n_tokens: int, memory: float) -> None:
    """Raise an error if the tokens of a corpus do not fit into ``memory`` bytes."""
    needed = BYTES_PER_TOKEN * n_tokens
    if needed > memory:
        raise InputError(
            f"content must fit into memory ({memory / 1e9:.0f} GB), got {n_tokens:,} tokens, which "
            f"need about {needed / 1e9:.0f} GB: counts are numbers of tokens, so scale down values "
            "that are measurements, or use fewer groups"
        )


def physical_memory() -> float:
    """Return the memory of this machine in bytes; infinite if unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf

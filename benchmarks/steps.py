"""Measure the CPU-seconds of the steps of a blocked sweep by wrapping their functions."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pkgutil import resolve_name
from typing import Any

# Functions of `mcsquared.samplers.blocked` and the step that each belongs to.
STEP_OF = {
    ("psi.Psi", "variates"): "ψ",
    ("psi.Psi", "times_words"): "ψ",
    ("words", "draw_clusters"): "clusters",
    ("words", "place_members"): "clusters",
    ("words", "draw_topics"): "topics",
    ("words", "visit_all_topics"): "topics",
    ("words", "visit_own_topics"): "topics",
    # Without the nested steps: the rest is counting words.
    ("words", "move_members_given"): "counts",
    ("place", "count_groups"): "counts",
}


@contextmanager
def timed_steps() -> Iterator[dict[str, float]]:
    """Yield CPU-seconds by step, to which all sweeps in the context are added.

    Timing whole sweeps alone could not separate terms that grow together.
    """
    seconds: dict[str, float] = defaultdict(float)
    nested = [0.0]  # CPU-seconds of steps nested in the current one
    originals = []
    for (where, name), step in STEP_OF.items():
        owner = resolve_name(f"mcsquared.samplers.blocked.{where}")
        originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, _timed(getattr(owner, name), step, seconds, nested))
    try:
        yield seconds
    finally:
        for owner, name, function in originals:
            setattr(owner, name, function)


def _timed(
    function: Callable[..., Any], step: str, seconds: dict[str, float], nested: list[float]
) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*arguments: Any) -> Any:
        nested.append(0.0)
        began = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent = time.process_time() - began
            seconds[step] += spent - nested.pop()
            nested[-1] += spent

    return wrapper

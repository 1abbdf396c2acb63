"""Measure the CPU-seconds of the steps of a blocked sweep by wrapping their functions."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pkgutil import resolve_name
from typing import Any

# Functions of `mcsquared.samplers` and the step that each belongs to.
STEP_OF = {
    ("steps.psi", "draw_gamma_rows"): "ψ",
    ("steps.psi", "add_columns"): "ψ",
    ("steps.globals", "scale_psi"): "ψ",
    ("content.words", "draw_clusters_and_topics"): "clusters",
    ("content.groups", "resample_varying_groups"): "clusters",
    ("steps.groups", "draw_cells"): "topics",
    ("content.words", "draw_from_all_topics"): "topics",
    ("content.words", "draw_group_topics_first"): "topics",
    # Without the nested steps: the rest is counting words.
    ("content.words", "draw_topics"): "counts",
    ("content.groups", "sum_by_cluster"): "counts",
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
        owner = resolve_name(f"mcsquared.samplers.{where}")
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

"""CPU-seconds of the steps of a blocked sweep, by clocks around the functions that do them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any

__all__ = ["clocked_steps"]

# Functions by their modules in `mcsquared.samplers.blocked`, and the step that each belongs to.
STEP_OF = {
    ("words", "draw_words"): "ψ",
    ("words", "draw_psi"): "ψ",
    ("words", "draw_clusters"): "clusters",
    ("words", "place_members"): "clusters",
    ("words", "draw_topics"): "topics",
    ("words", "visit_all_topics"): "topics",
    ("words", "visit_own_topics"): "topics",
    # Without the steps inside of it: what is left is counting words.
    ("words", "move_members_given"): "counts",
    ("place", "count_groups"): "counts",
}


@contextmanager
def clocked_steps() -> Iterator[dict[str, float]]:
    """Yield CPU-seconds by step, to which sweeps add as long as this lasts.

    From whole sweeps alone, terms that grow together could not be told apart.
    """
    seconds: dict[str, float] = defaultdict(float)
    inside = [0.0]  # CPU-seconds of steps that end inside of the one at hand
    before = []
    for (module_name, name), step in STEP_OF.items():
        module = import_module(f"mcsquared.samplers.blocked.{module_name}")
        before.append((module, name, getattr(module, name)))
        setattr(module, name, _clocked(getattr(module, name), step, seconds, inside))
    try:
        yield seconds
    finally:
        for module, name, function in before:
            setattr(module, name, function)


def _clocked(
    function: Callable[..., Any], step: str, seconds: dict[str, float], inside: list[float]
) -> Callable[..., Any]:
    @wraps(function)
    def timed(*arguments: Any) -> Any:
        inside.append(0.0)
        began = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent = time.process_time() - began
            seconds[step] += spent - inside.pop()
            inside[-1] += spent

    return timed

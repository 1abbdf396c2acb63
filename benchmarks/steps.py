"""CPU-seconds of the steps of a blocked sweep, by clocks around the functions that do them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pkgutil import resolve_name
from typing import Any

__all__ = ["clocked_steps"]

# Functions by where `mcsquared.samplers.blocked` has them, and the step that each belongs to.
STEP_OF = {
    ("psi.Psi", "variates"): "ψ",
    ("psi.Psi", "times_words"): "ψ",
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
    for (where, name), step in STEP_OF.items():
        owner = resolve_name(f"mcsquared.samplers.blocked.{where}")
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, _clocked(getattr(owner, name), step, seconds, inside))
    try:
        yield seconds
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


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

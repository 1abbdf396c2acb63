"""CPU-seconds of the steps of a blocked sweep, by clocks around the functions that do them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

__all__ = ["clocked_steps"]

# Functions of `mcsquared.samplers.blocked.words` and the step that each belongs to.
STEP_OF = {
    "draw_words": "ψ",
    "draw_psi": "ψ",
    "draw_clusters": "clusters",
    "place_members": "clusters",
    "draw_topics": "topics",
    "visit_all_topics": "topics",
    "visit_own_topics": "topics",
    "move_members_given": "counts",  # without the steps inside: what is left is counting words
}


@contextmanager
def clocked_steps() -> Iterator[dict[str, float]]:
    """Yield CPU-seconds by step, to which sweeps add as long as this lasts.

    From whole sweeps alone, terms that grow together could not be told apart.
    """
    from mcsquared.samplers.blocked import words

    seconds: dict[str, float] = defaultdict(float)
    inside = [0.0]  # CPU-seconds of steps that end inside of the one at hand
    before = {name: getattr(words, name) for name in STEP_OF}
    for name, step in STEP_OF.items():
        setattr(words, name, _clocked(before[name], step, seconds, inside))
    try:
        yield seconds
    finally:
        for name, function in before.items():
            setattr(words, name, function)


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

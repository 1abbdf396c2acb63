"""The seeds of a run that has not ended: a file with a line each, so that none is run twice.

The first line says which run it is; the seeds of another one (another scale, other sets, other
versions) are not taken over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .running import Outcome, Setting, versions

__all__ = ["Unfinished"]


class Unfinished:
    """The outcomes of an experiment so far, in a file beside where its results will be."""

    def __init__(self, path: Path, name: str, setting: Setting) -> None:
        self.path = path
        self._outcomes: list[Outcome] = []
        self._about = json.dumps(
            {
                "experiment": name,
                "scale": setting.scale,
                "sets": list(setting.chosen_sets),
                "versions": versions(),
            }
        )

    def read(self, seeds: Sequence[int]) -> list[Outcome]:
        """Take over the outcomes of these seeds that are there, none if they are of another run."""
        if self.path.is_file():
            about, *lines = self.path.read_text(encoding="utf-8").splitlines() or [""]
            if about == self._about:
                found = [Outcome(**json.loads(line)) for line in lines]
                self._outcomes = [outcome for outcome in found if outcome.seed in seeds]
        return list(self._outcomes)

    def add(self, outcome: Outcome) -> None:
        """Write down one more seed; the file is never half-written."""
        self._outcomes.append(outcome)
        lines = [json.dumps(asdict(each), ensure_ascii=False) for each in self._outcomes]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.with_suffix(".new")
        whole.write_text("\n".join([self._about, *lines]) + "\n", encoding="utf-8")
        whole.replace(self.path)

    def remove(self) -> None:
        """Take the file away, once the results are written."""
        self.path.unlink(missing_ok=True)

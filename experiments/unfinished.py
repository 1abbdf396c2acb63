"""Store the finished seeds of a running experiment, one per line, so that it can be resumed.

The first line identifies the run; seeds of a different run (scale, data sets or versions) are
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .running import Outcome, Setting, versions

__all__ = ["FinishedSeeds"]


class FinishedSeeds:
    """The outcomes of the finished seeds, in a file next to the results."""

    def __init__(self, path: Path, name: str, setting: Setting) -> None:
        self.path = path
        self._outcomes: list[Outcome] = []
        self._header = json.dumps(
            {
                "experiment": name,
                "scale": setting.scale,
                "sets": list(setting.chosen_sets),
                "versions": versions(),
            }
        )

    def read(self, seeds: Sequence[int]) -> list[Outcome]:
        """Return the stored outcomes of these seeds, none if they are from a different run."""
        if self.path.is_file():
            header, *lines = self.path.read_text(encoding="utf-8").splitlines() or [""]
            if header == self._header:
                found = [Outcome(**json.loads(line)) for line in lines]
                self._outcomes = [outcome for outcome in found if outcome.seed in seeds]
        return list(self._outcomes)

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of a seed; the file is replaced atomically."""
        self._outcomes.append(outcome)
        lines = [json.dumps(asdict(each), ensure_ascii=False) for each in self._outcomes]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".new")
        temporary.write_text("\n".join([self._header, *lines]) + "\n", encoding="utf-8")
        temporary.replace(self.path)

    def remove(self) -> None:
        """Delete the file after the results are written."""
        self.path.unlink(missing_ok=True)

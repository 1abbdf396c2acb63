"""MALLET's LDA (Java), one thread; ``MCSQUARED_MALLET`` is its folder or its program.

MALLET runs in its own process and cannot be stopped between sweeps: the time of a sweep is the
difference of two runs, divided by the number of sweeps between them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import cpu_seconds_of_command

if TYPE_CHECKING:
    from benchmarks.scoring import TopicModel
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

ENVIRONMENT = "MCSQUARED_MALLET"
SWEEPS = (10, 20, 50, 100, 200, 400, 800)  # sweeps of the runs of a curve


def program() -> str:
    """Return the path of MALLET's program; raise ImportError if it cannot be run."""
    named = os.environ.get(ENVIRONMENT)
    if not named:
        raise ImportError(f"{ENVIRONMENT} is not set to the folder or program of MALLET")
    if shutil.which("java") is None:
        raise ImportError("java is not installed")
    path = Path(named)
    path = path / "bin" / "mallet" if path.is_dir() else path
    if not os.access(path, os.X_OK):
        raise ImportError(f"{ENVIRONMENT} must contain bin/mallet, got {named}")
    return str(path)


class Mallet:
    """MALLET's train-topics; hyper-parameters are optimised every ten sweeps, as recommended."""

    name = "MALLET LDA"
    slow = True

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        self.program, self.settings, self.n_words = program(), settings, corpus.n_words
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self._seconds_of_sweep: float | None = None
        counts = corpus.content.counts
        with (self.folder / "groups.txt").open("w", encoding="utf-8") as lines:
            for j in range(corpus.n_groups):
                row = slice(counts.indptr[j], counts.indptr[j + 1])
                words = np.repeat(counts.indices[row], counts.data[row])
                lines.write(f"{j} x {' '.join(f'w{word}' for word in words)}\n")
        cpu_seconds_of_command(
            [
                *(self.program, "import-file", "--keep-sequence", "--token-regex", r"\S+"),
                *("--input", str(self.folder / "groups.txt")),
                *("--output", str(self.folder / "groups.mallet")),
            ]
        )

    def train(self, sweeps: int) -> float:
        """Train from scratch and write topics and alpha to the folder; return the CPU-seconds."""
        command = [self.program, "train-topics", "--input", str(self.folder / "groups.mallet")]
        options = {
            "num-topics": self.settings.n_topics,
            "num-iterations": sweeps,
            "beta": self.settings.beta,
            "num-threads": 1,
            "optimize-interval": 10,
            "optimize-burn-in": 0,
            "random-seed": self.settings.seed + 1,  # 0 means the clock
            "topic-word-weights-file": self.folder / "weights.txt",
            "output-topic-keys": self.folder / "keys.txt",
        }
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        return cpu_seconds_of_command(command)[0]

    def sweep(self) -> dict[str, float]:
        """Return the mean time of the sweeps after the warm-up."""
        if self._seconds_of_sweep is None:
            few, more = self.settings.warm_up, self.settings.sweeps
            self._seconds_of_sweep = (self.train(few + more) - self.train(few)) / more
        return {"sweep": self._seconds_of_sweep}

    def size(self) -> dict[str, int]:
        """Return the given number of topics."""
        return {"topics": self.settings.n_topics}

    def curve(self, seconds: float) -> list[tuple[float, TopicModel]]:
        """Return (CPU-seconds, model) of runs of increasing length, up to ``seconds``.

        The cost of a run without sweeps (Java, reading, writing) is subtracted.
        """
        idle = self.train(0)
        points: list[tuple[float, TopicModel]] = []
        for sweeps in SWEEPS:
            used = max(self.train(sweeps) - idle, 0.0)
            points.append((used, self.snapshot()))
            if used >= seconds:
                break
        return points

    def snapshot(self) -> TopicModel:
        """Return the topics and alpha of the last run."""
        from benchmarks.scoring import TopicModel

        n_topics = self.settings.n_topics
        weights = np.zeros((n_topics, self.n_words))
        with (self.folder / "weights.txt").open(encoding="utf-8") as lines:
            for line in lines:
                topic, word, weight = line.split("\t")
                weights[int(topic), int(word[1:])] = float(weight)
        alpha = np.zeros(n_topics)
        with (self.folder / "keys.txt").open(encoding="utf-8") as lines:
            for line in lines:
                topic, value = line.split("\t")[:2]
                alpha[int(topic)] = float(value)
        words = weights / weights.sum(axis=1, keepdims=True)
        return TopicModel(words.astype(np.float32), alpha)

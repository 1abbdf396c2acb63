"""Helpers of the command-line tests: a small table of papers, and functions to run commands."""

from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner, Result

from mcsquared.cli import app

SUBJECTS = {
    "neural": ["neuron", "spike", "cortex", "visual", "cell", "response", "synapse", "signal"],
    "kernel": ["kernel", "margin", "vector", "bound", "convex", "support", "loss", "risk"],
}
AUTHORS = {"neural": ["Ann", "Bob", "Cleo"], "kernel": ["Dan", "Eva", "Fay"]}
YEARS = {"neural": 1990, "kernel": 2000}


def papers(n_papers: int = 40, seed: int = 0) -> pd.DataFrame:
    """Draw papers of two subjects: texts, years and authors with missing values, a true class."""
    rng = np.random.default_rng(seed)
    rows = []
    for j in range(n_papers):
        subject = list(SUBJECTS)[j % 2]
        authors = rng.choice(AUTHORS[subject], size=rng.integers(1, 3), replace=False)
        rows.append(
            {
                "abstract": " ".join(rng.choice(SUBJECTS[subject], size=20)),
                "year": YEARS[subject] + int(rng.integers(-2, 3)) if j % 7 else None,
                "authors": "; ".join(authors) if j % 5 else None,
                "subject": subject,
            }
        )
    return pd.DataFrame(rows)


def invoke(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fit_command(file: Path, out: Path, *more: object) -> list[object]:
    """Return the arguments of a short fit with two contexts."""
    return [
        *("fit", file, "--text", "abstract", "--context", "year", "--context", "authors:bag"),
        *("--out", out, "--sweeps", 30, "--burn-in", 10, "--thin", 2, *more),
    ]


def rejected(result: Result) -> str:
    """Check that a command failed because of invalid input, and return its error message."""
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    messages = [line for line in result.stderr.splitlines() if line.startswith("mc2: ")]
    sentences = [line for line in messages if not line.startswith("mc2: note:")]
    assert len(sentences) == 1, result.stderr
    assert result.stderr.splitlines()[-1] == sentences[0]
    return sentences[0]

"""Length: every size and context, and the figure."""

import numpy as np
import pytest

from experiments import length
from experiments.running import Setting, run_experiment


@pytest.fixture(scope="module")
def record():
    return run_experiment("length", Setting("tiny"), [0])


def test_every_size_is_scored_with_every_context(record):
    assert len(record["summary"]) == len(length.CONTEXTS) * 4
    assert all(-1e-9 <= row["nmi"] <= 1.0 for row in record["rows"])


def test_the_figure_has_the_mean_over_seeds(record):
    panel = length.figures(record)["nmi"].axes[0]
    drawn = np.asarray(panel.lines[0].get_ydata(), dtype=float)
    rows = [row for row in record["rows"] if (row["context"], row["n_groups"]) == ("none", 20)]
    np.testing.assert_allclose(drawn, [row["nmi"] for row in rows])

"""Compiling ahead: what follows, from a fit to predictions, finds every kernel in the cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mcsquared

FIT = """
import math
import os
import sys
from functools import partial
import numpy as np
from numba.core import event
import mcsquared as mc2

letters = mc2.datasets.letters(n_groups_per_cluster=5, random_state=0).corpus
points = np.random.default_rng(0).normal(size=(9, 3))
with event.install_recorder("numba:compile") as recorder:
    for content in (letters, points):
        for lam in (mc2.MC2().lam, math.inf):
            settings = {"n_sweeps": 60, "burn_in": 2, "thin": 1, "n_jobs": 2, "random_state": 0}
            model = mc2.MC2(lam=lam, progress=False, **settings).fit(content)
            path = os.path.join(sys.argv[1], "model.mc2")
            model.save(path)
            for used in (model, mc2.MC2.load(path)):
                for method in ("predict", "transform", "perplexity", "score"):
                    getattr(used, method)(content)
    units = letters.with_contexts({"unit": list("abcd" * 5)}).with_levels("unit")
    mc2.MC2(progress=False, **settings).fit(units)
    del settings["thin"], settings["n_jobs"]
    mc2.baselines.MGCTM(2, 2, 2, **settings).fit(letters).predict(letters)
    for model in (mc2.baselines.HDP, partial(mc2.baselines.NPTOT, "position")):
        model(progress=False, **settings).fit(letters).transform(letters)
print(sorted({entry.data["dispatcher"].py_func.__name__ for _, entry in recorder.buffer}))
"""


@pytest.mark.slow  # compiles all kernels
def test_nothing_is_left_to_compile_after_compiling_ahead(tmp_path):
    # A copy without compiled kernels: those of the package may come from other tests.
    package = Path(mcsquared.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "src" / "mcsquared", ignore=ignored)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    run("-m", "mcsquared.compile")
    assert run("-c", FIT, str(tmp_path)) == "[]"

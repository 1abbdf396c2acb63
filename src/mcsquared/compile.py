"""Compile every kernel ahead of the first fit: ``python -m mcsquared.compile``.

Numba compiles a kernel when it is first used and keeps the result beside the source. That takes
twenty seconds and a hundred megabytes, once: better in an image or at set-up than in a run.
"""

from __future__ import annotations

import numpy as np

from mcsquared.corpus import Corpus
from mcsquared.estimator import MC2

__all__ = ["compile_kernels"]


def compile_kernels() -> None:
    """Fit the smallest corpora that need each kernel."""
    rng = np.random.default_rng(0)
    contexts = {"year": [1.0, 2.0, 3.0, None], "tags": [["a", "b"], ["a"], None, ["b"]]}
    words = Corpus(rng.poisson(2.0, (4, 6)), contexts)
    vectors = [rng.normal(size=(3, 2)) for _ in range(4)]
    for content in (words, vectors):
        MC2(n_sweeps=6, burn_in=2, thin=1, random_state=0, progress=False).fit(content)


if __name__ == "__main__":
    compile_kernels()

"""The GPU's kernels in numba's simulator, in a process of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

NAMES = ("cuda", "cuda_disk", "cuda_effects", "cuda_levels", "cuda_moves")
TESTS = [str(Path(__file__).with_name(f"test_{name}.py")) for name in NAMES]


@pytest.mark.slow
def test_the_kernels_of_the_gpu_pass_their_tests_in_the_simulator():
    pytest.importorskip("numba.cuda")
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *TESTS]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    passed = re.search(r"(\d+) passed", run.stdout)
    assert run.returncode == 0, run.stdout[-4000:]
    assert passed
    assert "skipped" not in run.stdout

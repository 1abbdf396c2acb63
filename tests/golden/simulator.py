"""Run kernels in numba's CUDA simulator as fast as the tests of the kernels do."""

from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def one_thread_at_a_time():
    """Let the simulator's threads take turns, which is several times as fast as all at once."""
    from tests.kernels.in_turn import Block

    with patch("numba.cuda.simulator.kernel.BlockManager", Block):
        yield

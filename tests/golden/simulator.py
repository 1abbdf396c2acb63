"""Run kernels in numba's CUDA simulator as the tests of the kernels do."""

from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def one_thread_at_a_time():
    """Run the simulator's threads one after another, several times as fast as all at once."""
    from tests.kernels.sequential_block import SequentialBlock

    with patch("numba.cuda.simulator.kernel.BlockManager", SequentialBlock):
        yield

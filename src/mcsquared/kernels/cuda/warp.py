"""What the 32 threads of a warp tell one another, all of them at once.

Numba's simulator, which runs kernels where there is no GPU, knows no such exchange: there the
threads of a block, one warp then, leave their values in a list and wait for each other.
"""

from threading import current_thread

from numba import cuda, int32, uint32
from numba.core import config

__all__ = [
    "N_WARPS",
    "SIMULATED",
    "THREADS",
    "first_of",
    "largest",
    "meet",
    "running_sum",
    "shuffle",
    "vote",
]

SIMULATED = bool(config.ENABLE_CUDASIM)
N_WARPS = 1 if SIMULATED else 4
THREADS = 32 * N_WARPS  # of a block
ALL = 0xFFFFFFFF

if SIMULATED:
    left = [0] * 32  # blocks run one after another

    # Plain functions: a simulated device function has `cuda` only until another thread returns
    # from it.
    def here():
        """Return this thread's number."""
        return current_thread().threadIdx.x

    def meet():
        """Wait until all threads have written what they write."""
        current_thread().syncthreads()

    def shuffle(value, source):
        """Return the value of another thread."""
        left[here()] = value
        meet()
        found = left[source & 31]
        meet()
        return found

    def from_before(value, distance):
        """Return the value of the thread so many before; the own one where there is none."""
        return shuffle(value, max(here() - distance, 0))

    def from_across(value, distance):
        """Return the value of the thread whose number differs in one bit."""
        return shuffle(value, here() ^ distance)

    def vote(yes):
        """Return a bit of each thread's answer."""
        left[here()] = yes
        meet()
        votes = sum(1 << i for i in range(32) if left[i])
        meet()
        return votes

    def first_of(votes):
        """Return the first thread whose bit is set."""
        return (int(votes) & -int(votes)).bit_length() - 1

else:

    @cuda.jit(device=True)
    def shuffle(value, source):
        """Return the value of another thread."""
        return cuda.shfl_sync(ALL, value, source)

    @cuda.jit(device=True)
    def from_before(value, distance):
        """Return the value of the thread so many before; the own one where there is none."""
        return cuda.shfl_up_sync(ALL, value, distance)

    @cuda.jit(device=True)
    def from_across(value, distance):
        """Return the value of the thread whose number differs in one bit."""
        return cuda.shfl_xor_sync(ALL, value, distance)

    @cuda.jit(device=True)
    def vote(yes):
        """Return a bit of each thread's answer."""
        return uint32(cuda.ballot_sync(ALL, yes))

    @cuda.jit(device=True)
    def first_of(votes):
        """Return the first thread whose bit is set."""
        return cuda.ffs(int32(votes)) - int32(1)

    @cuda.jit(device=True)
    def meet():
        """Wait until all threads have written what they write."""
        cuda.syncwarp()


@cuda.jit(device=True)
def running_sum(value, thread):
    """Return the sum of the values of this thread and those before it."""
    other = from_before(value, 1)
    if thread >= 1:
        value += other
    other = from_before(value, 2)
    if thread >= 2:
        value += other
    other = from_before(value, 4)
    if thread >= 4:
        value += other
    other = from_before(value, 8)
    if thread >= 8:
        value += other
    other = from_before(value, 16)
    if thread >= 16:
        value += other
    return value


@cuda.jit(device=True)
def largest(value):
    """Return the largest value of all threads."""
    value = max(value, from_across(value, 16))
    value = max(value, from_across(value, 8))
    value = max(value, from_across(value, 4))
    value = max(value, from_across(value, 2))
    return max(value, from_across(value, 1))

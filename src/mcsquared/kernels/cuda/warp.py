"""Exchange of values between the 32 threads of a warp.

Numba's simulator has no warp intrinsics. In the simulator a block is one warp, and its threads
exchange values through a list, with barriers.
"""

from threading import current_thread

from numba import cuda, int32, int64, uint32

from mcsquared.kernels.cuda.launch import N_WARPS, SIMULATED

ALL_THREADS = 0xFFFFFFFF

if SIMULATED:
    values = [0] * 32  # shared by all blocks, which run one after another

    # Plain functions, because a simulated device function loses its global `cuda` as soon as
    # another thread returns from it.
    def thread_of_warp():
        """Return the number of this thread in its warp."""
        return int32(current_thread().threadIdx.x)

    def warp_of_block():
        """Return the number of this warp in its block."""
        return 0

    def warp_of_grid():
        """Return the number of this warp in the grid."""
        return int64(current_thread().blockIdx.x)

    def syncwarp():
        """Wait for all threads of the warp."""
        current_thread().syncthreads()

    def shuffle(value, source):
        """Return the value of thread ``source``."""
        values[thread_of_warp()] = value
        syncwarp()
        found = values[source & 31]
        syncwarp()
        return found

    def shuffle_up(value, distance):
        """Return the value of the thread ``distance`` before, or this thread's if there is none."""
        return shuffle(value, max(thread_of_warp() - distance, 0))

    def shuffle_xor(value, mask):
        """Return the value of the thread whose number is this thread's XOR ``mask``."""
        return shuffle(value, thread_of_warp() ^ mask)

    def ballot(predicate):
        """Return a bit mask of the threads for which ``predicate`` holds."""
        values[thread_of_warp()] = predicate
        syncwarp()
        mask = sum(1 << i for i in range(32) if values[i])
        syncwarp()
        return mask

    def ffs(mask):
        """Return the position of the lowest bit set, counted from 0; -1 if there is none."""
        return (int(mask) & -int(mask)).bit_length() - 1

else:

    @cuda.jit(device=True)
    def thread_of_warp():
        """Return the number of this thread in its warp."""
        return int32(cuda.threadIdx.x & 31)

    @cuda.jit(device=True)
    def warp_of_block():
        """Return the number of this warp in its block."""
        return cuda.threadIdx.x // 32

    @cuda.jit(device=True)
    def warp_of_grid():
        """Return the number of this warp in the grid."""
        return int64(cuda.blockIdx.x) * N_WARPS + cuda.threadIdx.x // 32

    @cuda.jit(device=True)
    def syncwarp():
        """Wait for all threads of the warp."""
        cuda.syncwarp()

    @cuda.jit(device=True)
    def shuffle(value, source):
        """Return the value of thread ``source``."""
        return cuda.shfl_sync(ALL_THREADS, value, source)

    @cuda.jit(device=True)
    def shuffle_up(value, distance):
        """Return the value of the thread ``distance`` before, or this thread's if there is none."""
        return cuda.shfl_up_sync(ALL_THREADS, value, distance)

    @cuda.jit(device=True)
    def shuffle_xor(value, mask):
        """Return the value of the thread whose number is this thread's XOR ``mask``."""
        return cuda.shfl_xor_sync(ALL_THREADS, value, mask)

    @cuda.jit(device=True)
    def ballot(predicate):
        """Return a bit mask of the threads for which ``predicate`` holds."""
        return uint32(cuda.ballot_sync(ALL_THREADS, predicate))

    @cuda.jit(device=True)
    def ffs(mask):
        """Return the position of the lowest bit set, counted from 0; -1 if there is none."""
        return cuda.ffs(int32(mask)) - int32(1)


@cuda.jit(device=True)
def running_sum(value, thread):
    """Return the sum of the values of this thread and all threads before it."""
    other = shuffle_up(value, 1)
    if thread >= 1:
        value += other
    other = shuffle_up(value, 2)
    if thread >= 2:
        value += other
    other = shuffle_up(value, 4)
    if thread >= 4:
        value += other
    other = shuffle_up(value, 8)
    if thread >= 8:
        value += other
    other = shuffle_up(value, 16)
    if thread >= 16:
        value += other
    return value


@cuda.jit(device=True)
def warp_max(value):
    """Return the maximum over all threads of the warp."""
    value = max(value, shuffle_xor(value, 16))
    value = max(value, shuffle_xor(value, 8))
    value = max(value, shuffle_xor(value, 4))
    value = max(value, shuffle_xor(value, 2))
    return max(value, shuffle_xor(value, 1))


@cuda.jit(device=True)
def count_topics(n_slots, first, last, topic_of_token, count):
    """Count the topics of tokens ``first:last`` in this warp's row of the shared ``count``."""
    thread, warp = thread_of_warp(), warp_of_block()
    for m in range(thread, n_slots, 32):
        count[warp, m] = 0
    syncwarp()
    for i in range(first + thread, last, 32):
        cuda.atomic.add(count, (warp, int32(topic_of_token[i])), 1)
    syncwarp()

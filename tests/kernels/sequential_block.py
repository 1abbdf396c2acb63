"""Run the threads of numba's CUDA simulator one after another, several times as fast.

The simulator starts all threads of a block at once and polls each of them for barriers. Here a
thread runs until it reaches a barrier, then wakes the next one: when it runs again, all others have
reached the barrier too. The order of the threads is shuffled for every block, so that a kernel that
relies on an order fails.
"""

import random
from threading import Lock

from numba.cuda.simulator import kernel

ORDER = random.Random(0)


class SequentialThread(kernel.BlockThread):
    """A thread that waits for its turn."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.turn = Lock()
        self.turn.acquire()

    def run(self):
        self.turn.acquire()
        if not self.abort:
            super().run()
        self._manager.leave(self)

    def syncthreads(self):
        self._manager.next_after(self).turn.release()
        self.turn.acquire()
        if self.abort:
            raise RuntimeError("another thread has failed")


class SequentialBlock(kernel.BlockManager):
    """Replaces ``numba.cuda.simulator.kernel.BlockManager``."""

    def run(self, grid_point, *arguments):
        x, y, z = self._block_dim
        positions = [(a, b, c) for a in range(x) for b in range(y) for c in range(z)]
        ORDER.shuffle(positions)
        common = (lambda: self._f(*arguments), self, grid_point)
        self.threads = [SequentialThread(*common, at, self._debug) for at in positions]
        self.failure, self.done = None, Lock()
        self.done.acquire()
        for thread in self.threads:
            thread.start()
        self.threads[0].turn.release()
        self.done.acquire()
        if self.failure:
            raise self.failure[0].with_traceback(self.failure[1])

    def next_after(self, thread):
        """Return the thread that runs after ``thread``."""
        return self.threads[(self.threads.index(thread) + 1) % len(self.threads)]

    def leave(self, thread):
        """Remove a thread that has ended, and wake the next one."""
        if thread.exception and not self.failure:
            self.failure = thread.exception
            for other in self.threads:
                other.abort = True
        follower = self.next_after(thread)
        self.threads.remove(thread)
        (follower.turn if self.threads else self.done).release()

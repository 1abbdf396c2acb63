"""Threads of numba's CUDA simulator one after another: several times as fast as all at once.

The simulator lets all threads of a block run at once and asks each of them over and over whether it
waits. Here a thread runs until it waits, then wakes the next: when its turn comes again, all others
have come as far. In which order they run is drawn anew for every block, so that a kernel that
relies on one fails.
"""

import random
from threading import Lock

from numba.cuda.simulator import kernel

__all__ = ["Block"]

ORDER = random.Random(0)


class Turn(kernel.BlockThread):
    """A thread that runs when it is its turn."""

    def __init__(self, *given):
        super().__init__(*given)
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


class Block(kernel.BlockManager):
    """Takes the place of ``numba.cuda.simulator.kernel.BlockManager``."""

    def run(self, grid_point, *arguments):
        x, y, z = self._block_dim
        places = [(a, b, c) for a in range(x) for b in range(y) for c in range(z)]
        ORDER.shuffle(places)
        given = (lambda: self._f(*arguments), self, grid_point)
        self.threads = [Turn(*given, place, self._debug) for place in places]
        self.failure, self.done = None, Lock()
        self.done.acquire()
        for thread in self.threads:
            thread.start()
        self.threads[0].turn.release()
        self.done.acquire()
        if self.failure:
            raise self.failure[0].with_traceback(self.failure[1])

    def next_after(self, thread):
        """Return whose turn it is after a thread's."""
        return self.threads[(self.threads.index(thread) + 1) % len(self.threads)]

    def leave(self, thread):
        """Let a thread go that has come to its end."""
        if thread.exception and not self.failure:
            self.failure = thread.exception
            for other in self.threads:
                other.abort = True
        follower = self.next_after(thread)
        self.threads.remove(thread)
        (follower.turn if self.threads else self.done).release()

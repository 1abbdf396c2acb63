"""Signals that end a run: Ctrl-C, and SIGTERM, which schedulers send before they kill a job."""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

from mcsquared.samplers.threads import Workers

SECONDS_BETWEEN_CHECKS = 0.2
TERMINATED = 128 + signal.SIGTERM  # exit code


class StopSignals:
    """Stop a run after its current sweep on Ctrl-C or SIGTERM, and at once on a second signal.

    Only the main thread of a program receives signals; in other threads this has no effect. Python
    handles them between two instructions of that thread, so compiled code runs in others.
    ``stop`` is set by the first signal, ``received`` is that signal.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.received: signal.Signals | None = None
        self._is_announced = False
        self._pool: Workers | None = None

    @contextmanager
    def listen(self, include_sigterm: bool) -> Iterator[None]:
        """Handle signals; SIGTERM only if there is something to save at the end of the sweep.

        Only default handlers are replaced, not those of the caller.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler}
        if include_sigterm:
            handlers[signal.SIGTERM] = signal.SIG_DFL
        replaced = {n: handler for n, handler in handlers.items() if signal.getsignal(n) is handler}
        with Workers(1) as self._pool:
            try:
                for number in replaced:
                    signal.signal(number, self._receive)
                yield
            finally:
                for number, handler in replaced.items():
                    signal.signal(number, handler)

    def _receive(self, number: int, frame: object) -> None:
        if self.received is None:
            self.received = signal.Signals(number)
            self.stop.set()
        elif number == signal.SIGTERM:
            raise SystemExit(TERMINATED)
        else:
            raise KeyboardInterrupt

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function, in another thread if this one is the main thread."""
        if self._pool is None or threading.current_thread() is not threading.main_thread():
            function(*arguments)
            return
        future = self._pool.submit(function, *arguments)
        self.wait([future])
        future.result()

    def wait(self, futures: Sequence[Future[Any]], check: Callable[[], None] | None = None) -> None:
        """Wait for futures; call ``check`` from time to time."""
        while wait(futures, timeout=SECONDS_BETWEEN_CHECKS).not_done:
            if check is not None:
                check()
            if self.received and not self._is_announced:
                self._is_announced = True
                warnings.warn(
                    "the run stops after the current sweep, or at once on a second signal",
                    stacklevel=2,
                )

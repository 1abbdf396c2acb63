"""Fits on a cluster of machines: Dask's workers hold the groups, and only counts travel.

In every sweep the globals go out to all workers and the counts of each come back; their sizes do
not depend on the number of groups. The draws are those of one machine for the same seed, whatever
the number of workers.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mcsquared.errors import InputError
from mcsquared.fitting import elsewhere
from mcsquared.fitting.stored import shards_for
from mcsquared.observations import Observations
from mcsquared.observations.stored import StoredObservations
from mcsquared.priors import Priors
from mcsquared.samplers.blocked import Key
from mcsquared.samplers.blocked.shards import Globals, Shards, Sums, move_shard
from mcsquared.samplers.blocked.spreading import Labels
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

if TYPE_CHECKING:
    from mcsquared.estimator import MC2

__all__ = ["connect", "fit"]

SWEEPS_BETWEEN_COPIES = 20  # of labels, from which a shard goes on whose worker was lost
SECONDS_BETWEEN_LOOKS = 2.0  # whether a worker that has not answered is still there
SECONDS_TO_CONNECT = 20
LONGEST_WAIT = 300.0  # seconds for a worker to come, when all are lost


def fit(model: MC2, corpus: Any, *, client: Any, contexts: Any = None) -> MC2:
    """Fit a model with its groups on the workers of a Dask cluster, and return it.

    Parameters
    ----------
    model : MC2
        With ``device="cpu"`` and the blocked sampler; chains run one after another.
    corpus : Corpus, or what `MC2.fit` takes
    client : distributed.Client
        Of any cluster; its workers need mcsquared.
    contexts : frame or dict of columns, optional

    Examples
    --------
    >>> from distributed import Client
    >>> texts = ["ants and bees", "bees, ants, bees", "a car, a van", "vans and cars"]
    >>> quick = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0)
    >>> with Client(n_workers=2, processes=False, dashboard_address=None) as client:
    ...     model = mc2.distributed.fit(quick, texts, client=client)
    >>> bool((model.labels_ == quick.fit(texts).labels_).all())
    True
    """
    _check(model, client)

    def places(observations: Observations, priors: Priors) -> Any:
        return partial(OnCluster, observations, priors, client)

    with elsewhere(places):
        return model.fit(corpus, contexts=contexts)


def connect(address: str) -> Any:
    """Return a client of the Dask scheduler at an address; one clear sentence where none is.

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster:
    ...     with mc2.distributed.connect(cluster.scheduler_address) as client:
    ...         len(client.nthreads())
    2
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            f"a cluster is wanted, but Dask is not installed ({error}): "
            "pip install 'mcsquared[cluster]'"
        ) from error
    try:
        return Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"cluster is {address!r}, but no Dask scheduler answers there: {error}"
        ) from error


def _check(model: MC2, client: Any) -> None:
    if not all(hasattr(client, name) for name in ("submit", "scatter", "nthreads")):
        raise InputError(f"client is {client!r}, but a distributed.Client is wanted")
    if not client.nthreads():
        raise InputError("client has no workers, but one at least is wanted: wait for them first")
    if model.device != "cpu" or model.sampler == "collapsed":
        raise InputError(
            f"the model has device={model.device!r} and sampler={model.sampler!r}, but a cluster "
            "takes device='cpu' and the blocked sampler"
        )


class Held(NamedTuple):
    """Where a shard is, and the futures of its observations and labels."""

    worker: str
    shard: Any
    labels: Any


class OnCluster(Shards):
    """Shards that Dask's workers hold, each with the labels of its groups.

    A worker that is lost takes its shards along: they are sent to another one with the last labels
    that were copied home, and go through the sweeps since then again, to the same draws.

    Attributes
    ----------
    bytes_of_sweep : int
        Sent and received in the last sweep, all workers together.
    """

    def __init__(
        self, observations: Observations, priors: Priors, client: Any, workers: Workers = ONE
    ) -> None:
        super().__init__(observations, priors, _n_shards(observations, client), workers)
        self.client = client
        self.bytes_of_sweep = 0

    def put(self, state: State, key: Key) -> None:
        """Deal out shards and labels."""
        super().put(state, key)
        self._since: list[Globals] = []
        alive = sorted(self.client.nthreads())
        self._held = [
            self._send(number, alive[number % len(alive)]) for number in range(self.n_shards)
        ]

    def _send(self, number: int, worker: str) -> Held:
        """Send a shard and its labels, as last copied home, to a worker."""
        return Held(worker, *self._scatter(worker, self.shard(number), self.labels[number]))

    def _scatter(self, worker: str, *parts: Any) -> list[Any]:
        """Send some things to a worker. OSError: it has just been lost."""
        try:
            # As a list: of a tuple, Dask would send the parts.
            return self.client.scatter(list(parts), workers=[worker], hash=False)
        except (KeyError, TimeoutError) as error:  # how the scheduler says it in that moment
            raise OSError(f"worker {worker} is lost") from error

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Collect the labels."""
        self._copy_home()
        super().fetch(state, clusters_only)

    def _copy_home(self) -> None:
        """Copy the labels of all shards, so that sweeps before this one may be forgotten."""
        for number in range(self.n_shards):
            future = self._held[number].labels
            while (found := self._wait(number, future)) is None:
                self._replay(number)
                future = self._held[number].labels
            self.labels[number] = found
        self._since = []

    def move_all(self, given: Globals) -> Iterator[Sums]:
        """Have every shard moved; return what each sends back, in their order."""
        self._since.append(given)
        alive, told = set(self.client.nthreads()), {}
        for worker in alive & {held.worker for held in self._held}:
            with suppress(OSError):
                (told[worker],) = self._scatter(worker, given)
        asked = [
            self._submit(number, told[held.worker]) if held.worker in told else None
            for number, held in enumerate(self._held)
        ]
        self.bytes_of_sweep = _n_bytes(given) * len(told)
        for number, future in enumerate(asked):
            while (sums := self._wait(number, future)) is None:
                future = self._replay(number)
            self.bytes_of_sweep += _n_bytes(sums)
            yield sums
        if len(self._since) >= SWEEPS_BETWEEN_COPIES:
            self._copy_home()

    def _submit(self, number: int, given: Any) -> Any:
        """Ask for a move where the shard is; return its sums to come."""
        held, submit = self._held[number], self.client.submit
        here = {"workers": [held.worker], "pure": False}
        moved = submit(move_shard, held.shard, held.labels, given, **here)
        labels = submit(_first, moved, **here)
        self._held[number] = held._replace(labels=labels)
        return submit(_second, moved, **here)

    def _wait(self, number: int, future: Any) -> Any:
        """Return what a worker was asked for, None if the worker was lost."""
        from distributed import CancelledError, KilledWorker

        while future is not None:
            try:
                return future.result(timeout=SECONDS_BETWEEN_LOOKS)
            except (CancelledError, KilledWorker):
                return None
            except TimeoutError:
                if self._held[number].worker not in self.client.nthreads():
                    return None
        return None

    def _replay(self, number: int) -> Any:
        """Send a shard anew and let it go through the sweeps since the last copy of its labels.

        Returns the sums of the last of them, to come.
        """
        ends = time.monotonic() + LONGEST_WAIT
        while True:
            alive = sorted(self.client.nthreads())
            try:
                if not alive:
                    raise OSError("the cluster has lost all of its workers")
                return self._go_through(number, alive[number % len(alive)])
            except OSError:  # lost as well, or not known to be lost yet: others may come
                if time.monotonic() > ends:
                    raise
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def _go_through(self, number: int, worker: str) -> Any:
        """Send a shard to a worker, and all globals since its labels were copied home."""
        self._held[number] = self._send(number, worker)
        sums = None
        for given in self._since:
            (told,) = self._scatter(worker, given)
            sums = self._submit(number, told)
        return sums


def _n_shards(observations: Observations, client: Any) -> int:
    """Return how many shards there are: one a worker, more where a part is all that fits here."""
    n_workers = len(client.nthreads())
    if not isinstance(observations, StoredObservations):
        return n_workers
    # The same number for each: all workers are busy as long as the others are.
    return -(-shards_for(observations) // n_workers) * n_workers


def _n_bytes(sent: Any) -> int:
    """Return how many bytes something takes on the wire. Arrays are measured, not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(sent, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def _first(pair: tuple[Labels, Sums]) -> Labels:
    return pair[0]


def _second(pair: tuple[Labels, Sums]) -> Sums:
    return pair[1]

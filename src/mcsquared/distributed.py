"""Fits on a cluster of machines: Dask's workers hold the groups, and only counts travel.

In every sweep the globals go out to all workers and the counts of each come back; their sizes do
not depend on the number of groups. The draws are those of one machine for the same seed, whatever
the number of workers.
"""

from __future__ import annotations

import math
import os
import pickle
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared import __version__
from mcsquared.corpus import ParquetFolder
from mcsquared.errors import InputError
from mcsquared.fitting import elsewhere
from mcsquared.fitting.disk import shards_for
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers.blocked import Key
from mcsquared.samplers.blocked.device import missing_gpu
from mcsquared.samplers.blocked.shards import Globals, Shards, Sums, move_shard
from mcsquared.samplers.blocked.spreading import Labels
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

if TYPE_CHECKING:
    from mcsquared.estimator import MC2

__all__ = ["connect", "fit"]

SWEEPS_BETWEEN_COPIES = 20  # of labels, from which a shard goes on whose worker was lost
MOST_BYTES_KEPT = 200_000_000  # of the globals of these sweeps: fewer sweeps where they are large
SECONDS_BETWEEN_LOOKS = 2.0  # whether a worker that has not answered is still there
SECONDS_TO_CONNECT = 20
SECONDS_FOR_OTHERS = 5.0  # to come, when all workers are lost, before this process goes on alone
MOST_LOSSES = 8  # of workers by a shard in a sweep: it may be what they are lost by


def fit(model: MC2, corpus: Any, *, client: Any, contexts: Any = None) -> MC2:
    """Fit a model with its groups on the workers of a Dask cluster, and return it.

    Parameters
    ----------
    model : MC2
        With the blocked sampler; chains run one after another. With ``device="cuda"`` every worker
        moves its groups on its GPU; draws are then the same up to rounding.
    corpus : Corpus, or what `MC2.fit` takes, or the path of a folder of Parquet files
        A path is taken for ``ParquetFolder(path)``: its columns by their names, 2 GB of memory
        here. Workers hold all of it together.
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
    if isinstance(corpus, str | os.PathLike):
        corpus = ParquetFolder(corpus)

    def places(observations: Observations, priors: Priors) -> Any:
        return partial(OnCluster, observations, priors, client, device=model.device)

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
    except TypeError as error:  # what Dask raises for TLS without certificates
        raise InputError(
            f"cluster is {address!r}, but Dask's configuration names no certificates: {error}"
        ) from error


def _check(model: MC2, client: Any) -> None:
    if not all(hasattr(client, name) for name in ("submit", "scatter", "nthreads")):
        raise InputError(f"client is {client!r}, but a distributed.Client is wanted")
    if client.asynchronous or client.status != "running":
        how = "asynchronous" if client.asynchronous else client.status
        raise InputError(f"client is {how}, but one that is connected and waits is wanted")
    if model.sampler == "collapsed":
        raise InputError("sampler is 'collapsed', but a cluster takes the blocked one")
    _check_workers(client)
    if model.device == "cuda":
        _check_gpus(client)


def _check_workers(client: Any) -> None:
    """Refuse workers that are not there, or have another mcsquared than this process."""
    # A function that every Python has: what cannot be imported cannot be sent by name.
    asked = (resolve_name, "mcsquared:__version__")
    versions = client.run(*asked, on_error="return")
    if not versions:
        raise InputError("client has no workers, but one at least is wanted: wait for them first")
    try:
        versions["the scheduler"] = client.run_on_scheduler(*asked)  # it reads what tasks call
    except ImportError as error:
        versions["the scheduler"] = error
    for where, version in versions.items():
        if version != __version__:
            found = f"fails ({version})" if isinstance(version, Exception) else f"is {version}"
            raise InputError(f"mcsquared {found} at {where}, but {__version__} is wanted, as here")


def _check_gpus(client: Any) -> None:
    """Refuse workers that have no GPU."""
    for worker, reason in client.run(missing_gpu).items():
        if reason is not None:
            raise InputError(f"device is 'cuda', but worker {worker} can use no GPU: {reason}")


class Held(NamedTuple):
    """Where a shard is, and the futures of its observations and labels.

    Of observations that a worker has put on its GPU, where that is asked for.
    """

    worker: str
    shard: Any
    labels: Any


NOBODY = Held("", None, None)
LABELS, SUMS = 0, 1  # what a shard may be asked for, as `move_shard` returns them


class OnCluster(Shards):
    """Shards that Dask's workers hold, each with the labels of its groups.

    A worker that is lost takes its shards along: they are sent to another one with the last labels
    that were copied home, and go through the sweeps since then again, to the same draws. While
    there is no worker at all, shards go through their sweeps in this process.

    Parameters
    ----------
    client : distributed.Client
    device : {"cpu", "cuda"}
        What workers move their groups with.

    Attributes
    ----------
    bytes_of_sweep : int
        Sent and received in the last sweep, all workers together.
    """

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        client: Any,
        workers: Workers = ONE,
        device: str = "cpu",
    ) -> None:
        super().__init__(observations, priors, _n_shards(observations, client), workers)
        self.device = device
        self.client = client
        self.bytes_of_sweep = 0
        self._held = [NOBODY] * self.n_shards
        self._alone = False

    def put(self, state: State, key: Key) -> None:
        """Deal out shards, to workers that do not have theirs yet, and labels."""
        super().put(state, key)
        self._since: list[Globals] = []  # the copies of labels
        self._gone_through = [0] * self.n_shards  # of them, in the copies
        alive = _alive(self.client)
        before, self._held = self._held, [NOBODY] * self.n_shards
        for number, held in enumerate(before if alive else ()):
            worker = alive[number % len(alive)]
            with suppress(OSError):
                if held.worker == worker:
                    (labels,) = self._scatter(worker, self.labels[number])
                    self._held[number] = held._replace(labels=labels)
                else:
                    self._held[number] = self._send(number, worker)

    def _send(self, number: int, worker: str) -> Held:
        """Send a shard and its labels, as last copied home, to a worker."""
        shard, labels = self._scatter(worker, self.shard(number), self.labels[number])
        if self.device == "cuda":
            given = (shard, self.priors)
            shard = self.client.submit(_on_gpu, *given, workers=[worker], pure=False)
        return Held(worker, shard, labels)

    def _scatter(self, worker: str, *parts: Any) -> list[Any]:
        """Send some things to a worker. OSError: it has just been lost."""
        try:
            # As a list: of a tuple, Dask would send the parts.
            return self.client.scatter(list(parts), workers=[worker], hash=False)
        except (KeyError, TimeoutError) as error:  # how the scheduler says it in that moment
            raise OSError(f"worker {worker} is lost") from error

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Collect the labels; where clusters are all that is wanted, they travel without topics."""
        if clusters_only and not self.is_stored:
            state.cluster_of_group = np.concatenate(
                [self._clusters(number) for number in range(self.n_shards)]
            )
            return
        self._copy_home()
        super().fetch(state, clusters_only)

    def _clusters(self, number: int) -> NDArray[np.int32]:
        """Return the clusters of a shard's groups as they are now."""
        if self._gone_through[number] == len(self._since):
            return self.labels[number].clusters
        held, future = self._held[number], None
        if held is not NOBODY:
            future = self.client.submit(_first, held.labels, workers=[held.worker], pure=False)
        found = self._told(number, future, LABELS)
        return found.clusters if isinstance(found, Labels) else found

    def _copy_home(self) -> None:
        """Copy the labels of all shards, so that sweeps before this one may be forgotten."""
        for number in range(self.n_shards):
            if self._gone_through[number] < len(self._since):
                self.labels[number] = self._told(number, self._held[number].labels, LABELS)
                self._gone_through[number] = len(self._since)
        self._since, self._gone_through = [], [0] * self.n_shards

    def move_all(self, given: Globals) -> Iterator[Sums]:
        """Have every shard moved; return what each sends back, in their order."""
        self._since.append(given)
        alive, told = set(_alive(self.client)), {}
        for worker in alive & {held.worker for held in self._held}:
            with suppress(OSError):
                (told[worker],) = self._scatter(worker, given)
        asked = [
            self._submit(number, told[held.worker]) if held.worker in told else None
            for number, held in enumerate(self._held)
        ]
        self.bytes_of_sweep = _n_bytes(given) * len(told)
        for number, future in enumerate(asked):
            sums = self._told(number, future, SUMS)
            self.bytes_of_sweep += _n_bytes(sums)
            yield sums
        kept = len(self._since)
        if kept >= SWEEPS_BETWEEN_COPIES or kept * _n_bytes(given) > MOST_BYTES_KEPT:
            self._copy_home()

    def _submit(self, number: int, given: Any) -> Any:
        """Ask for a move where the shard is; return its sums to come."""
        held, submit = self._held[number], self.client.submit
        here = {"workers": [held.worker], "pure": False}
        move = _move_on_gpu if self.device == "cuda" else move_shard
        moved = submit(move, held.shard, held.labels, given, **here)
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
                if self._held[number].worker not in _alive(self.client):
                    return None
        return None

    def _told(self, number: int, future: Any, which: int) -> Any:
        """Return what a shard was asked for, its labels or its sums.

        It is sent anew as long as its worker is lost, and moved here where there is no other.
        """
        for _ in range(MOST_LOSSES):
            if (found := self._wait(number, future)) is not None:
                return found
            if not (alive := self._others()):
                return self._move_here(number)[which]
            future = self._replay(number, alive[number % len(alive)])[which]
        raise InputError(
            f"client has lost {MOST_LOSSES} workers one after another that held shard {number + 1} "
            f"of {self.n_shards}, but workers with room for it are wanted: give each more memory, "
            "or take more workers"
        )

    def _others(self) -> list[str]:
        """Return the workers; where the last one has just been lost, wait a while for others."""
        ends = time.monotonic() + (0.0 if self._alone else SECONDS_FOR_OTHERS)
        while not (alive := _alive(self.client)) and time.monotonic() < ends:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        if not alive and not self._alone:
            warnings.warn(
                "the cluster has lost all of its workers: this process goes on alone, to the same "
                "draws, until others come",
                stacklevel=2,
            )
        self._alone = not alive
        return alive

    def _replay(self, number: int, worker: str) -> tuple[Any, Any]:
        """Send a shard to a worker and let it go through the sweeps since its labels were copied.

        Returns labels and sums to come; None for both if that worker is lost as well.
        """
        sums = None
        try:
            self._held[number] = self._send(number, worker)
            for given in self._since[self._gone_through[number] :]:
                (told,) = self._scatter(worker, given)
                sums = self._submit(number, told)
        except OSError:  # the scheduler may not know yet
            time.sleep(SECONDS_BETWEEN_LOOKS)
            return None, None
        return self._held[number].labels, sums

    def _move_here(self, number: int) -> tuple[Labels, Sums | None]:
        """Let a shard go through the sweeps since its labels were copied, in this process."""
        shard, labels, sums = self.shard(number), self.labels[number], None
        for given in self._since[self._gone_through[number] :]:
            labels, sums = move_shard(shard, labels, given, self.workers)
        self.labels[number], self._held[number] = labels, NOBODY
        self._gone_through[number] = len(self._since)
        return labels, sums


def _alive(client: Any) -> list[str]:
    """Return the workers that are there; none where the scheduler is gone."""
    if client.status == "closed":  # as a client does by itself some time after that
        return []
    try:
        return sorted(client.nthreads())
    except OSError:
        return []


def _n_shards(observations: Observations, client: Any) -> int:
    """Return how many shards there are: one a worker, more where a part is all that fits here."""
    n_workers = max(len(_alive(client)), 1)  # all may have been lost since the last chain
    if not isinstance(observations, DiskObservations):
        return n_workers
    # The same number for each: all workers are busy as long as the others are.
    return -(-shards_for(observations) // n_workers) * n_workers


def _n_bytes(sent: Any) -> int:
    """Return how many bytes something takes on the wire. Arrays are measured, not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(sent, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def _on_gpu(shard: Observations, priors: Priors) -> Any:
    """Put a shard on the GPU of the worker that this runs on; it stays there."""
    from mcsquared.samplers.blocked.device import DeviceCorpus
    from mcsquared.samplers.blocked.device.shard import ShardThere

    return ShardThere(DeviceCorpus(shard, varies=priors.lam != math.inf), priors)


def _move_on_gpu(there: Any, labels: Labels, given: Globals) -> tuple[Labels, Sums]:
    """Move the groups of a shard that is on a GPU, see `move_shard`."""
    moved: tuple[Labels, Sums] = there.move_shard(labels, given)
    return moved


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]

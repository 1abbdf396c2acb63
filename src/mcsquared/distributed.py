"""Fits on a cluster of machines: Dask workers hold the groups, and only counts are sent.

In every sweep each worker receives the globals and returns the sums over its groups; their sizes do
not depend on the number of groups. With the same seed, the draws are those of a single machine, for
any number of workers.
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
from operator import attrgetter, itemgetter
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcsquared import __version__
from mcsquared.arrays import Int32s
from mcsquared.corpus import ParquetFolder
from mcsquared.errors import InputError, import_optional, input_errors
from mcsquared.fitting.disk import shards_for
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers.backends.cuda import check_families, missing_gpu
from mcsquared.samplers.backends.sharded import ShardedBackend, sweep_shard
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import GroupFunction, Key, Labels
from mcsquared.state import State

if TYPE_CHECKING:
    from mcsquared.estimator import MC2

__all__ = ["connect", "fit"]

SWEEPS_BETWEEN_COPIES = 20  # of labels, from which a shard continues when its worker is lost
MAX_BYTES_OF_GLOBALS = 200_000_000  # between copies: large globals cause earlier copies
SECONDS_BETWEEN_CHECKS = 2.0  # of whether a worker that has not responded is still alive
SECONDS_TO_CONNECT = 20
SECONDS_FOR_NEW_WORKERS = 5.0  # to join when all are lost, before this process sweeps the shards
MAX_LOSSES = 8  # workers lost in a row by one shard, which may be the cause


def fit(model: MC2, corpus: Any, *, client: Any, contexts: Any = None) -> MC2:
    """Fit a model with its groups on the workers of a Dask cluster, and return it.

    Parameters
    ----------
    model : MC2
        Its sampler must be blocked; chains run one after another. With ``device="cuda"`` every
        worker uses its GPU; draws are then the same up to rounding.
    corpus : Corpus, or what `MC2.fit` takes, or the path of a folder of Parquet files
        A path is short for ``ParquetFolder(path)``, with its default columns and memory limit. The
        corpus must fit into the memory of all workers together.
    client : distributed.Client
        Client of any Dask cluster whose workers have mcsquared installed.
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

    def backend(observations: Observations, priors: Priors) -> Any:
        return partial(DaskBackend, observations, priors, client, device=model.device)

    return model._fit(corpus, contexts, backend)


def connect(address: str) -> Any:
    """Return a client of the Dask scheduler at an address.

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster:
    ...     with mc2.distributed.connect(cluster.scheduler_address) as client:
    ...         len(client.nthreads())
    2
    """
    distributed = import_optional("distributed", "mcsquared[cluster]", "a cluster")
    message = f"cluster must be the address of a Dask scheduler, got {address!r}"
    # Dask raises TypeError for TLS without certificates.
    certificates = f"cluster {address!r} requires certificates in Dask's configuration"
    with (
        input_errors(message, OSError, TimeoutError, ValueError),
        input_errors(certificates, TypeError),
    ):
        client = distributed.Client(address, timeout=SECONDS_TO_CONNECT)
    return client


def _check(model: MC2, client: Any) -> None:
    if not all(hasattr(client, name) for name in ("submit", "scatter", "nthreads")):
        raise InputError(f"client must be a distributed.Client, got {client!r}")
    if client.asynchronous or client.status != "running":
        status = "asynchronous" if client.asynchronous else client.status
        raise InputError(f"client must be connected and synchronous, got one that is {status}")
    if model.sampler == "collapsed":
        raise InputError("sampler must be 'blocked' on a cluster, got 'collapsed'")
    _check_workers(client)
    if model.device == "cuda":
        _check_gpus(client)


def _check_workers(client: Any) -> None:
    """Raise an error if there are no workers, or if they have another version of mcsquared."""
    # A function of the standard library: workers without mcsquared can run it.
    call = (resolve_name, "mcsquared:__version__")
    versions = client.run(*call, on_error="return")
    if not versions:
        raise InputError("client must have at least one worker, got none: wait for workers first")
    try:
        versions["the scheduler"] = client.run_on_scheduler(*call)  # which unpickles tasks
    except ImportError as error:
        versions["the scheduler"] = error
    for where, version in versions.items():
        if version != __version__:
            found = f"an error ({version})" if isinstance(version, Exception) else version
            raise InputError(
                f"mcsquared at {where} must be {__version__}, as on the client, got {found}"
            )


def _check_gpus(client: Any) -> None:
    """Raise an error if a worker has no GPU."""
    for worker, reason in client.run(missing_gpu).items():
        if reason is not None:
            raise InputError(f"device 'cuda' requires a GPU on worker {worker}: {reason}")


class ShardHandle(NamedTuple):
    """The worker that holds a shard, and the futures of its observations and labels.

    With ``device="cuda"`` the observations are on the GPU of the worker.
    """

    worker: str
    shard: Any
    labels: Any


UNASSIGNED = ShardHandle("", None, None)
LABELS, RESULT = 0, 1  # positions in the pair that a `GroupFunction` returns


class DaskBackend(ShardedBackend):
    """Shards on Dask workers, each with the labels of its groups.

    When a worker is lost, its shards are sent to another one with the labels that were last copied
    to this process, and what was done since then is repeated, to the same draws. While there is no
    worker at all, shards are swept in this process.

    Parameters
    ----------
    client : distributed.Client
    device : {"cpu", "cuda"}
        Device on which workers sweep their groups.

    Attributes
    ----------
    bytes_of_sweep : int
        Bytes sent and received by all workers in the last sweep.
    """

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        client: Any,
        threads: ThreadPool = SINGLE_THREAD,
        device: str = "cpu",
    ) -> None:
        super().__init__(observations, priors, _n_shards(observations, client), threads)
        if device == "cuda":
            check_families(observations)
        self.device = device
        self.client = client
        self.bytes_of_sweep = 0
        self._handles = [UNASSIGNED] * self.n_shards
        self._is_local = False

    def load_labels(self, state: State, key: Key) -> None:
        """Send labels to the workers, and shards to those that do not have theirs yet."""
        super().load_labels(state, key)
        self._calls: list[tuple[GroupFunction, Any]] = []  # since labels were copied
        self._n_done = [0] * self.n_shards  # of these calls, in the copied labels
        alive = _alive(self.client)
        before, self._handles = self._handles, [UNASSIGNED] * self.n_shards
        for number, handle in enumerate(before if alive else ()):
            worker = alive[number % len(alive)]
            with suppress(OSError):
                if handle.worker == worker:
                    (labels,) = self._scatter(worker, self.labels[number])
                    self._handles[number] = handle._replace(labels=labels)
                else:
                    self._handles[number] = self._send(number, worker)

    def _send(self, number: int, worker: str) -> ShardHandle:
        """Send a shard and its labels, as last copied, to a worker."""
        shard, labels = self._scatter(worker, self.shard(number), self.labels[number])
        if self.device == "cuda":
            shard = self.client.submit(_to_device, shard, self.priors, workers=[worker], pure=False)
        return ShardHandle(worker, shard, labels)

    def _scatter(self, worker: str, *parts: Any) -> list[Any]:
        """Send objects to a worker. Raises OSError if the worker has just been lost."""
        try:
            # In a list: Dask would scatter the elements of a tuple such as Labels.
            return self.client.scatter(list(parts), workers=[worker], hash=False)
        except (KeyError, TimeoutError) as error:  # raised by the scheduler in that case
            raise OSError(f"worker {worker} is lost") from error

    def save_labels(self, state: State, clusters_only: bool = False) -> None:
        """Collect the labels from the workers, without topics if only clusters are needed."""
        if clusters_only and not self.on_disk:
            state.cluster_of_group = np.concatenate(
                [self._clusters(number) for number in range(self.n_shards)]
            )
            return
        self._copy_labels()
        super().save_labels(state, clusters_only)

    def _clusters(self, number: int) -> Int32s:
        """Return the current clusters of a shard's groups."""
        if self._n_done[number] == len(self._calls):
            return self.labels[number].cluster_of_group
        handle, future = self._handles[number], None
        if handle is not UNASSIGNED:
            future = self.client.submit(
                attrgetter("cluster_of_group"), handle.labels, workers=[handle.worker], pure=False
            )
        found = self._result(number, future, LABELS)
        return found.cluster_of_group if isinstance(found, Labels) else found

    def _copy_labels(self) -> None:
        """Copy the labels of all shards to this process; earlier sweeps need not be repeated."""
        for number in range(self.n_shards):
            if self._n_done[number] < len(self._calls):
                self.labels[number] = self._result(number, self._handles[number].labels, LABELS)
                self._n_done[number] = len(self._calls)
        self._calls, self._n_done = [], [0] * self.n_shards

    def map_shards(self, function: GroupFunction, argument: Any) -> Iterator[Any]:
        """Have the workers apply a function to all shards; yield its results in shard order."""
        self._calls.append((function, argument))
        alive, sent = set(_alive(self.client)), {}
        for worker in alive & {handle.worker for handle in self._handles}:
            with suppress(OSError):
                (sent[worker],) = self._scatter(worker, argument)
        futures = [
            self._submit(number, function, sent[handle.worker]) if handle.worker in sent else None
            for number, handle in enumerate(self._handles)
        ]
        n_bytes, is_sweep = _n_bytes(argument), function is sweep_shard
        self.bytes_of_sweep = n_bytes * len(sent) + (0 if is_sweep else self.bytes_of_sweep)
        for number, future in enumerate(futures):
            result = self._result(number, future, RESULT)
            self.bytes_of_sweep += _n_bytes(result)
            yield result
        if is_sweep:
            n_sweeps = sum(called is sweep_shard for called, _ in self._calls)
            if n_sweeps >= SWEEPS_BETWEEN_COPIES or n_sweeps * n_bytes > MAX_BYTES_OF_GLOBALS:
                self._copy_labels()

    def _submit(self, number: int, function: GroupFunction, argument: Any) -> Any:
        """Submit a call to the worker that holds a shard; return the future of its result."""
        handle = self._handles[number]
        submit = partial(self.client.submit, workers=[handle.worker], pure=False)
        call = _call_on_device if self.device == "cuda" else _call
        returned = submit(call, function, handle.shard, handle.labels, argument)
        self._handles[number] = handle._replace(labels=submit(itemgetter(LABELS), returned))
        return submit(itemgetter(RESULT), returned)

    def _wait(self, number: int, future: Any) -> Any:
        """Return the result of a future, None if its worker was lost."""
        from distributed import CancelledError, KilledWorker

        while future is not None:
            try:
                return future.result(timeout=SECONDS_BETWEEN_CHECKS)
            except (CancelledError, KilledWorker):
                return None
            except TimeoutError:
                if self._handles[number].worker not in _alive(self.client):
                    return None
        return None

    def _result(self, number: int, future: Any, which: int) -> Any:
        """Return the labels of a shard, or the result of the last call.

        When its worker is lost, the calls are repeated on another worker, or in this process if
        there is none.
        """
        for _ in range(MAX_LOSSES):
            if (found := self._wait(number, future)) is not None:
                return found
            if not (alive := self._wait_for_workers()):
                return self._call_locally(number)[which]
            future = self._replay(number, alive[number % len(alive)])[which]
        raise InputError(
            f"client lost {MAX_LOSSES} workers in a row that held shard {number + 1} of "
            f"{self.n_shards}: use more workers, or workers with more memory"
        )

    def _wait_for_workers(self) -> list[str]:
        """Return the workers that are alive; if all were just lost, wait for new ones."""
        deadline = time.monotonic() + (0.0 if self._is_local else SECONDS_FOR_NEW_WORKERS)
        while not (alive := _alive(self.client)) and time.monotonic() < deadline:
            time.sleep(SECONDS_BETWEEN_CHECKS)
        if not alive and not self._is_local:
            warnings.warn(
                "the cluster has lost all of its workers: the fit continues in this process, with "
                "the same draws, until new workers join",
                stacklevel=2,
            )
        self._is_local = not alive
        return alive

    def _replay(self, number: int, worker: str) -> tuple[Any, Any]:
        """Send a shard to a worker and repeat the calls since its labels were copied.

        Returns futures of labels and result; None for both if that worker is lost as well.
        """
        result = None
        try:
            self._handles[number] = self._send(number, worker)
            for function, argument in self._calls[self._n_done[number] :]:
                (sent,) = self._scatter(worker, argument)
                result = self._submit(number, function, sent)
        except OSError:  # the scheduler may not know yet
            time.sleep(SECONDS_BETWEEN_CHECKS)
            return None, None
        return self._handles[number].labels, result

    def _call_locally(self, number: int) -> tuple[Any, Any]:
        """Repeat the calls of a shard since its labels were copied, in this process."""
        shard, labels, result = self.shard(number), self.labels[number], None
        for function, argument in self._calls[self._n_done[number] :]:
            labels, result = function(shard, labels, argument, self.threads)
        self.labels[number], self._handles[number] = labels, UNASSIGNED
        self._n_done[number] = len(self._calls)
        return labels, result


def _alive(client: Any) -> list[str]:
    """Return the workers that are alive; none if the scheduler is gone."""
    if client.status == "closed":  # a client closes some time after its scheduler
        return []
    try:
        return sorted(client.nthreads())
    except OSError:
        return []


def _n_shards(observations: Observations, client: Any) -> int:
    """Return the number of shards: one per worker, or more if one would not fit into memory."""
    n_workers = max(len(_alive(client)), 1)  # all may have been lost since the last chain
    if not isinstance(observations, DiskObservations):
        return n_workers
    # The same number for each worker, so that all finish together.
    return -(-shards_for(observations) // n_workers) * n_workers


def _n_bytes(sent: Any) -> int:
    """Return the serialised size of an object in bytes. Arrays are measured, not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(sent, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def _to_device(shard: Observations, priors: Priors) -> Any:
    """Copy a shard to the GPU of the worker that runs this; it stays in GPU memory."""
    from mcsquared.samplers.backends.cuda.backend import DeviceShard
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus

    return DeviceShard(DeviceCorpus(shard, groups_vary=priors.lam != math.inf), priors)


def _call(function: GroupFunction, shard: Observations, labels: Any, argument: Any) -> Any:
    """Apply a function to a shard, in the thread of the worker that runs this."""
    return function(shard, labels, argument, SINGLE_THREAD)


def _call_on_device(function: GroupFunction, shard: Any, labels: Any, argument: Any) -> Any:
    """Apply a function to a shard that is on a GPU; only sweeps run there."""
    if function is sweep_shard:
        return shard.sweep_shard(labels, argument)
    return _call(function, shard.observations, labels, argument)

"""A backend whose shards are on Dask workers: one shard, or several, on each.

Arguments are sent to one worker and forwarded from worker to worker, and sums are added on the way
back, both along a tree. The tree is one of tasks: Dask moves their inputs between the workers.
"""

import pickle
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from itertools import groupby, pairwise
from operator import attrgetter
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from mcsquared.arrays import Int32s
from mcsquared.distributed import wire
from mcsquared.distributed import worker as tasks
from mcsquared.errors import InputError
from mcsquared.fitting.disk import shards_for
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers.backends.cuda import check_families
from mcsquared.samplers.backends.sharded import ShardedBackend, sweep_shard
from mcsquared.samplers.steps.groups import clear_closed_slots
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Globals, GroupFunction, Key, Sums, Sweep
from mcsquared.state import State

FAN_OUT = 4  # workers to which a worker forwards arguments, and whose sums it adds
MAX_IN_TASK = 50_000  # bytes of an argument that is sent with every task instead
SWEEPS_BETWEEN_COPIES = 20  # of labels, from which a shard continues when its worker is lost
MAX_BYTES_OF_CALLS = 200_000_000  # kept in this process: large globals cause earlier copies
SECONDS_BETWEEN_CHECKS = 2.0  # of whether a worker that has not responded is still alive
SECONDS_FOR_NEW_WORKERS = 5.0  # to join when all are lost, before this process sweeps the shards
MAX_LOSSES = 8  # workers lost in a row by one shard, which may be the cause


class ShardHandle(NamedTuple):
    """The worker that holds a shard, the future of its observations, and that of the last call.

    With ``device="cuda"`` the observations are on the GPU of the worker.
    """

    worker: str
    shard: Any
    returned: Any


class Call(NamedTuple):
    """A function that is applied to all shards, its argument, and the counts for ψ or None."""

    function: GroupFunction
    argument: Any
    content: Any
    n_bytes: int


UNASSIGNED = ShardHandle("", None, None)


class Lost(Enum):
    """Replaces a result if a worker on which it depends was lost; None is a valid result."""

    WORKER = "worker"


class DaskBackend(ShardedBackend):
    """Shards on Dask workers, each with the labels of its groups.

    When a worker is lost, its shards are sent to another one with the labels that were last copied
    to this process, and what was done since then is repeated, to the same draws. Sums that it was
    adding are added in this process. As long as no worker is alive, shards are swept here.
    ``device`` is that of the workers, and ``bytes_of_sweep`` the number of bytes that all workers
    sent and received in the last sweep.
    """

    _inputs: dict[str, tuple[Any, Any]]  # of a call that is not finished, by worker
    _before: list[ShardHandle]  # handles before the same call

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
        self._caller = tasks.Caller(threads)
        self._sent_content: tuple[str, dict[str, Any]] = ("", {})  # sweep_id, and future by worker
        self._release_inputs()

    def load_labels(self, state: State, key: Key) -> None:
        """Send labels to the workers, and shards to those that do not have theirs yet."""
        super().load_labels(state, key)
        self._calls: list[Call] = []  # since labels were copied
        self._n_done = [0] * self.n_shards  # of these calls, in the copied labels
        alive = _alive(self.client)
        before, self._handles = self._handles, [UNASSIGNED] * self.n_shards
        for number, handle in enumerate(before if alive else ()):
            worker = self._worker_of(number, alive)
            with suppress(OSError):
                if handle.worker == worker:
                    (labels,) = self._scatter(worker, tasks.Returned(self.labels[number], None))
                    self._handles[number] = handle._replace(returned=labels)
                else:
                    self._handles[number] = self._send(number, worker)

    def _worker_of(self, number: int, alive: list[str]) -> str:
        """Return the worker for a shard. Consecutive shards are on the same worker."""
        return alive[number * min(len(alive), self.n_shards) // self.n_shards]

    def _send(self, number: int, worker: str) -> ShardHandle:
        """Send a shard and its labels, as last copied, to a worker."""
        parts = (self.shard(number), tasks.Returned(self.labels[number], None))
        shard, labels = self._scatter(worker, *parts)
        if self.device == "cuda":
            shard = self._submit(worker, tasks.to_device, shard, self.priors)
        return ShardHandle(worker, shard, labels)

    def _scatter(self, worker: str, *parts: Any) -> list[Any]:
        """Send objects to a worker. Raises OSError if the worker has just been lost."""
        try:
            # In a list: Dask would scatter the elements of a tuple such as Labels.
            return self.client.scatter(list(parts), workers=[worker], hash=False)
        except (KeyError, TimeoutError) as error:  # raised by the scheduler in that case
            raise OSError(f"worker {worker} is lost") from error

    def _submit(self, worker: str, function: Any, *arguments: Any) -> Any:
        """Submit a task to a worker; return its future."""
        return self.client.submit(function, *arguments, workers=[worker], pure=False)

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
        return self._result(number, "labels.cluster_of_group")

    def _copy_labels(self) -> None:
        """Copy the labels of all shards to this process; earlier sweeps need not be repeated."""
        for number in range(self.n_shards):
            if self._n_done[number] < len(self._calls):
                self.labels[number] = self._result(number, "labels")
                self._n_done[number] = len(self._calls)
        self._calls, self._n_done = [], [0] * self.n_shards

    def draw_globals(self, sweep: Sweep) -> Globals:
        """Draw the globals; every worker draws the ψ of words itself, from counts."""
        if not self.observations.n_words:
            return super().draw_globals(sweep)
        return wire.globals_with_counts(sweep)

    def sweep_groups(self, globals_: Globals) -> Sums:
        """Draw the topics and clusters of all groups; return their sums."""
        self.bytes_of_sweep = 0
        sums = Sums(**self.sum_groups(sweep_shard, globals_))
        if sums.cell_counts is not None:
            cells = tasks.CellCounts(globals_, wire.pack_array(sums.cell_counts), self.n_shards)
            drawn = self.sum_groups(tasks.draw_part_of_cells, cells)
            is_open = globals_.weights.topic_weights > 0.0
            clear_closed_slots(drawn["topics_in_cluster"], drawn["words_in_topic"], is_open)
            sums = replace(sums, **drawn)
        self._copy_old_labels()
        return sums

    def _copy_old_labels(self) -> None:
        """Copy labels if there were many sweeps, or large globals, since they were last copied."""
        n_sweeps = sum(call.function is sweep_shard for call in self._calls)
        n_bytes = sum(call.n_bytes for call in self._calls)
        if n_sweeps >= SWEEPS_BETWEEN_COPIES or n_bytes > MAX_BYTES_OF_CALLS:
            self._copy_labels()

    def sum_groups(self, function: GroupFunction, argument: Any) -> dict[str, Any]:
        """Have the workers apply a function to all shards and add its sums."""
        self._begin_call(function, argument)
        if UNASSIGNED not in self._handles:
            by_worker = groupby(self._handles, attrgetter("worker"))
            nodes = [(worker, [one.returned for one in handles]) for worker, handles in by_worker]
            collected = self._wait(self._collect(nodes), {worker for worker, _ in nodes})
            if collected is not Lost.WORKER:
                self._release_inputs()
                self.bytes_of_sweep += collected.n_bytes
                return wire.unpack(collected.sums)
        self._repair()  # a worker was lost; the results of others are still there
        results = [self._result(number, "result") for number in range(self.n_shards)]
        return wire.unpack(wire.add_packed(results))

    def _collect(self, nodes: list[tuple[str, list[Any]]]) -> Any:
        """Submit the sum over all shards; return its future.

        ``nodes`` are workers and what their shards have returned, in shard order. The first worker
        adds the sums of the others.
        """
        (worker, returned), *others = nodes
        parts = [self._collect(others[first:last]) for first, last in _parts(len(others))]
        return self._submit(worker, tasks.collect, returned, parts)

    def map_shards(self, function: GroupFunction, argument: Any) -> Iterator[Any]:
        """Have the workers apply a function to all shards; yield its results in shard order."""
        self._begin_call(function, argument)
        for number in range(self.n_shards):
            result = self._result(number, "result")
            yield wire.unpack(result) if isinstance(result, dict) else result
        self._release_inputs()

    def _begin_call(self, function: GroupFunction, argument: Any) -> None:
        """Submit a call for all shards that are on a worker."""
        content, rest = wire.split_content(argument)
        self._calls.append(Call(function, rest, content, wire.n_bytes_of((rest, content))))
        alive = set(_alive(self.client))
        workers = [handle.worker for handle in self._handles if handle.worker in alive]
        workers = list(dict.fromkeys(workers))
        sent, contents = self._broadcast(rest, workers), self._broadcast_content(content, workers)
        self._inputs = {w: (sent[w], contents[w]) for w in sent if w in contents}
        self._before = self._handles
        self._handles = [
            self._call(number, handle, function, *self._inputs[handle.worker])
            if handle.worker in self._inputs
            else UNASSIGNED
            for number, handle in enumerate(self._before)
        ]

    def _repair(self) -> None:
        """Repeat the last call where its arguments have not arrived: a lost worker has them."""
        alive, inputs, before = _alive(self.client), self._inputs, self._before
        self._release_inputs()
        self._sent_content = ("", {})
        for number, handle in enumerate(self._handles):
            sent_before = inputs.get(handle.worker, ())
            if handle.worker not in alive:
                self._handles[number] = UNASSIGNED
            elif any(getattr(one, "status", "finished") != "finished" for one in sent_before):
                self._handles[number] = UNASSIGNED
                function, argument, content, _ = self._calls[-1]
                with suppress(OSError):
                    sent = self._scatter(handle.worker, argument, content)
                    self._handles[number] = self._call(number, before[number], function, *sent)

    def _release_inputs(self) -> None:
        """Drop references to the inputs of the last call, so that workers release them."""
        self._inputs, self._before = {}, []

    def _call(
        self, number: int, handle: ShardHandle, function: GroupFunction, argument: Any, content: Any
    ) -> ShardHandle:
        """Submit a call for one shard."""
        arguments = (handle.shard, handle.returned, argument, content, number)
        returned = self._submit(handle.worker, tasks.call, function, *arguments)
        return handle._replace(returned=returned)

    def _broadcast_content(self, content: Any, workers: list[str]) -> dict[str, Any]:
        """Send the counts for ψ to the workers, once per sweep."""
        if content is None:
            return dict.fromkeys(workers)
        if self._sent_content[0] != content.sweep_id:
            self._sent_content = (content.sweep_id, {})
        sent = self._sent_content[1]
        sent |= self._broadcast(content, [worker for worker in workers if worker not in sent])
        return sent

    def _broadcast(self, sent: Any, workers: list[str]) -> dict[str, Any]:
        """Send an object to one worker, which forwards it; return its future, by worker.

        A small object is returned in pickled form instead, to be sent with every task.
        """
        n_bytes = wire.n_bytes_of(sent)
        self.bytes_of_sweep += n_bytes * len(workers)
        if n_bytes <= MAX_IN_TASK:
            return dict.fromkeys(workers, pickle.dumps(sent))
        for first in range(len(workers)):
            with suppress(OSError):
                return self._forward(workers[first:], self._scatter(workers[first], sent)[0])
        return {}

    def _forward(self, workers: list[str], future: Any) -> dict[str, Any]:
        """Forward an object from the first worker to the others; return its future, by worker."""
        futures, others = {workers[0]: future}, workers[1:]
        for first, last in _parts(len(others)):
            received = self._submit(others[first], tasks.forward, future)
            futures |= self._forward(others[first:last], received)
        return futures

    def _wait(self, future: Any, workers: set[str]) -> Any:
        """Return the result of a future, or `Lost.WORKER` if one of these workers was lost."""
        from distributed import CancelledError, KilledWorker

        if future is None:
            return Lost.WORKER
        # `result` with a time limit would leave cycles of frames that keep the future.
        is_done = Event()
        future.add_done_callback(lambda _: is_done.set())
        while not is_done.wait(SECONDS_BETWEEN_CHECKS):
            if not workers <= set(_alive(self.client)):
                return Lost.WORKER
        try:
            return future.result()
        except (CancelledError, KilledWorker):
            return Lost.WORKER

    def _result(self, number: int, name: str) -> Any:
        """Return labels, clusters or the result that the last call returned for a shard.

        When its worker is lost, the calls are repeated on another worker, or in this process if
        there is none.
        """
        get = attrgetter(name)
        for _ in range(MAX_LOSSES):
            while (handle := self._handles[number]) is not UNASSIGNED:
                future = self._submit(handle.worker, get, handle.returned)
                result = self._wait(future, {handle.worker, *self._inputs})
                if result is not Lost.WORKER:
                    return result
                if not self._inputs:
                    break
                self._repair()
            if not (alive := self._wait_for_workers()):
                return get(self._call_locally(number))
            self._handles[number] = self._replay(number, self._worker_of(number, alive))
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

    def _replay(self, number: int, worker: str) -> ShardHandle:
        """Send a shard to a worker and repeat the calls since its labels were copied.

        Returns `UNASSIGNED` if that worker is lost as well.
        """
        try:
            handle = self._send(number, worker)
            for function, argument, content, _ in self._calls[self._n_done[number] :]:
                sent = self._scatter(worker, argument, content)
                handle = self._call(number, handle, function, *sent)
        except OSError:  # the scheduler may not have noticed yet
            time.sleep(SECONDS_BETWEEN_CHECKS)
            return UNASSIGNED
        return handle

    def _call_locally(self, number: int) -> tasks.Returned:
        """Repeat the calls of a shard since its labels were copied, in this process."""
        shard, returned = self.shard(number), tasks.Returned(self.labels[number], None)
        for function, argument, content, _ in self._calls[self._n_done[number] :]:
            returned = self._caller(function, shard, returned.labels, argument, content, number)
        self.labels[number], self._handles[number] = returned.labels, UNASSIGNED
        self._n_done[number] = len(self._calls)
        return returned


def _parts(n: int) -> list[tuple[int, int]]:
    """Divide n workers into at most `FAN_OUT` parts of about equal size."""
    n_parts = min(FAN_OUT, n)
    return list(pairwise(n * part // n_parts for part in range(n_parts + 1) if n_parts))


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

"""Functions that run on the workers: calls on a shard, and sums of their results."""

import math
import pickle
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from mcsquared.corpus.content import row_offsets
from mcsquared.distributed import wire
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.layout import Entries, word_chunks
from mcsquared.samplers.backends.sharded import sweep_shard
from mcsquared.samplers.steps.groups import count_dtype, draw_topics_of_cells
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Cells, Globals, GroupFunction, Labels, Sums


class Returned(NamedTuple):
    """The new labels of a shard and the result of a call; sums are packed."""

    labels: Any
    result: Any


class Collected(NamedTuple):
    """Packed sums over the shards of some workers, and the bytes sent to add them."""

    sums: dict[str, Any]
    n_bytes: int


class CellCounts(NamedTuple):
    """Argument of `draw_part_of_cells`."""

    globals: Globals
    cells: wire.PackedCounts  # tokens by word and cluster, over all shards
    n_parts: int
    # The words are divided into as many parts as there are shards.
    part: int = 0


class Caller:
    """Calls functions on the shards of a process, one at a time and with all its threads.

    ψ is drawn from its counts once per sweep and kept until the next one, for all shards.
    """

    def __init__(self, threads: ThreadPool) -> None:
        self.threads = threads
        self._lock = Lock()
        self._sweep_id = ""  # of the ψ that was drawn last
        self._drawn: tuple[Any, Any] = (None, None)

    def __call__(
        self,
        function: GroupFunction,
        shard: Any,
        labels: Any,
        argument: Any,
        content: wire.PsiCounts | None,
        number: int,
    ) -> Returned:
        """Apply a function to the shard with this number."""
        with self._lock:
            if content is not None:
                argument = self._with_psi(argument, content)
            if isinstance(argument, CellCounts):
                argument = argument._replace(part=number)
            if isinstance(shard, Observations):
                labels, result = function(shard, labels, argument, self.threads)
            elif function is sweep_shard:
                labels, result = shard.sweep_shard(labels, argument)
            else:  # only sweeps run on a GPU
                labels, result = function(shard.observations, labels, argument, self.threads)
        return Returned(labels, wire.pack(result) if isinstance(result, Sums | dict) else result)

    def _with_psi(self, argument: Any, content: wire.PsiCounts) -> Any:
        globals_ = argument if isinstance(argument, Globals) else argument.globals
        if self._sweep_id != content.sweep_id:
            self._drawn = (None, None)  # releases the memory first
            self._drawn = content.draw(globals_, self.threads)
            self._sweep_id = content.sweep_id
        psi, shares = self._drawn
        return wire.with_globals(argument, replace(globals_, content=psi, scaled_shares=shares))


_CALLERS: WeakKeyDictionary[Any, Caller] = WeakKeyDictionary()
_LOCK = Lock()


def call(function: GroupFunction, shard: Any, before: Returned, *sent: Any) -> Returned:
    """Apply a function to a shard, with all threads of the worker that runs this.

    ``sent`` are the other arguments of a `Caller`; small ones are pickled.
    """
    from distributed import get_worker

    worker = get_worker()
    with _LOCK:
        if worker not in _CALLERS:
            _CALLERS[worker] = Caller(ThreadPool(worker.state.nthreads))
        caller = _CALLERS[worker]
    arguments = (pickle.loads(one) if isinstance(one, bytes) else one for one in sent)
    return caller(function, shard, before.labels, *arguments)


def collect(returned: list[Returned], others: list[Collected]) -> Collected:
    """Add the sums of the shards of a worker, and those collected by the workers after it."""
    sums = wire.add_packed([part.result for part in returned] + [other.sums for other in others])
    return Collected(sums, wire.n_bytes_of(sums) + sum(other.n_bytes for other in others))


def forward(sent: Any) -> Any:
    """Return an object: the worker that runs this receives it from another one."""
    return sent


def to_device(shard: Observations, priors: Priors) -> Any:
    """Copy a shard to the GPU of the worker that runs this; it stays in GPU memory."""
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
    from mcsquared.samplers.backends.cuda.device_shard import DeviceShard

    return DeviceShard(DeviceCorpus(shard, groups_vary=priors.lam != math.inf), priors)


def draw_part_of_cells(
    observations: Observations, labels: Labels, argument: CellCounts, threads: ThreadPool
) -> tuple[Labels, dict[str, Any]]:
    """Draw the topics of the (cluster, word) cells of a part of the words, for λ = ∞.

    The result has counts of words and topics, 0 for other words, and of clusters and topics.
    """
    counts, globals_ = wire.unpack_array(argument.cells), argument.globals
    word_start = row_offsets(counts.sum(axis=1, dtype=np.int64))
    chunks = word_chunks(word_start)
    first, last = (
        (len(chunks) - 1) * p // argument.n_parts for p in (argument.part, argument.part + 1)
    )
    bounds = chunks[first : last + 1]
    rows = sparse.csr_matrix(counts[bounds[0] : bounds[-1]])
    n_after = len(counts) - int(bounds[-1])
    start = np.pad(rows.indptr.astype(np.int64), (int(bounds[0]), n_after), mode="edge")
    entries = Entries(start, rows.indices.astype(np.int32, copy=False), rows.data)
    cells = Cells(entries, np.arange(counts.shape[1], dtype=np.int32))
    n_slots = globals_.scaled_shares.shape[1]
    words = np.zeros((len(counts), n_slots), count_dtype(int(word_start[-1])))
    topics = draw_topics_of_cells(cells, word_start, bounds, globals_, threads, words)
    return labels, {"topics_in_cluster": topics, "words_in_topic": words}

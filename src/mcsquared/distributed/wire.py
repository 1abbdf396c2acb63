"""What is sent over the network: packed counts, and ψ as the counts that it is drawn from."""

import pickle
import uuid
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mcsquared.arrays import CountArray
from mcsquared.kernels.cpu.packing import pack_counts, unpack_counts
from mcsquared.samplers.steps.globals import begin_word_content, draw_without_content
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Globals, Key, Sums, Sweep, add_sums, fields_of

MIN_PACKED = 1024  # elements: smaller arrays are sent as they are


class PackedCounts(NamedTuple):
    """An array of counts, as packed by `pack_counts` without zeros at both ends of the bitmap."""

    shape: tuple[int, ...]
    first: int  # byte of the bitmap
    bitmap: Any
    small: Any
    large: Any


def pack(sums: dict[str, Any] | Sums) -> dict[str, Any]:
    """Return sums with their large arrays of counts packed."""
    return {name: _pack_array(value) for name, value in fields_of(sums).items()}


def unpack(sums: dict[str, Any]) -> dict[str, Any]:
    """Return sums with their arrays of counts unpacked, and writable unlike received ones."""
    return {
        name: unpack_array(value)
        if isinstance(value, PackedCounts)
        else np.require(value, requirements="W")
        for name, value in sums.items()
        if value is not None
    }


def _pack_array(value: Any) -> Any:
    is_array = isinstance(value, np.ndarray) and value.dtype.kind == "i"
    if not is_array or value.size < MIN_PACKED or value.min() < 0:
        return value
    packed = pack_array(value)
    n_bytes = packed.bitmap.nbytes + packed.small.nbytes + packed.large.nbytes
    return packed if n_bytes < value.nbytes else value


def pack_array(counts: CountArray) -> PackedCounts:
    """Return an array of counts, int32 or int64, in its packed form."""
    bitmap, small, large = pack_counts(counts.reshape(-1))
    used = np.flatnonzero(bitmap)
    first, last = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
    return PackedCounts(counts.shape, first, bitmap[first:last].copy(), small, large)


def unpack_array(packed: PackedCounts) -> CountArray:
    """Return the counts of a packed array."""
    cells = np.zeros(packed.shape, packed.large.dtype)
    parts = (packed.bitmap, packed.small, packed.large)
    unpack_counts(*parts, packed.first, cells.reshape(-1))
    return cells


def add_packed(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Add packed sums of consecutive groups; the total is packed as well."""
    return parts[0] if len(parts) == 1 else pack(add_sums(map(unpack, parts)))


class PsiCounts(NamedTuple):
    """The counts from which every worker draws the same ψ, and the key of the random numbers."""

    sweep_id: str  # different for every sweep of every chain
    words: PackedCounts  # counts of words and topics (n_words, topic slots)
    beta: float
    key: Key

    def draw(self, globals_: Globals, threads: ThreadPool) -> tuple[Any, Any]:
        """Return ``content`` and ``scaled_shares`` of the globals."""
        words = unpack_array(self.words)
        finish = begin_word_content(words, self.beta, self.key, threads)
        return finish(globals_.weights, globals_.lam)


def globals_with_counts(sweep: Sweep) -> Globals:
    """Draw the globals, with counts in place of ψ: these are packed, and smaller."""
    words = pack_array(sweep.state.counts.words_in_topic)
    content = PsiCounts(uuid.uuid4().hex, words, sweep.priors.beta, sweep.key)
    return replace(draw_without_content(sweep), content=content)


def split_content(argument: Any) -> tuple[Any, Any]:
    """Return the counts for ψ in an argument, or None, and the argument without them."""
    globals_ = argument if isinstance(argument, Globals) else getattr(argument, "globals", None)
    if globals_ is None or not isinstance(globals_.content, PsiCounts):
        return None, argument
    return globals_.content, with_globals(argument, replace(globals_, content=None))


def with_globals(argument: Any, globals_: Globals) -> Any:
    """Return an argument with other globals."""
    return globals_ if isinstance(argument, Globals) else argument._replace(globals=globals_)


def n_bytes_of(sent: Any) -> int:
    """Return the serialised size of an object in bytes. Arrays are measured, not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(sent, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)

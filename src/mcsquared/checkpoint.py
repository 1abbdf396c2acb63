"""Checkpoints of running chains, from which an interrupted run resumes with the same draws."""

import os
import threading
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mcsquared.arrays import Floats, Int64s, Integers
from mcsquared.chain import LEVEL_TRACE, TRACE, ChainRun
from mcsquared.errors import ModelFileError
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers.backends.sharded import LABEL_DTYPES, write_label_files
from mcsquared.storage import check_target, read_file, write_file
from mcsquared.storage.files import DATA_ERRORS, Reader, Tensors
from mcsquared.storage.states import pack_draw, pack_state, unpack_draw, unpack_state

KIND = "checkpoint"
SECONDS_BETWEEN_WRITES = 20.0
LABELS = "labels."  # prefix of the labels of a corpus on disk, which may not fit into memory
LABEL_TYPES = [(name, dtype.type) for name, dtype in LABEL_DTYPES.items()]
INTEGER_COLUMNS = ("sweep", "chain", "n_clusters", "n_topics")  # of the trace


class Checkpoint:
    """The checkpoint file of one run.

    ``identity`` is JSON data that must be equal in a resumed run: corpus, priors, seed, schedule.
    ``seconds`` is the minimum time between two writes; the end of a stage is always written.
    """

    def __init__(
        self, path: str | Path, identity: Mapping[str, Any], seconds: float | None = None
    ) -> None:
        self.path = Path(path)
        self.identity = dict(identity)
        self.seconds = SECONDS_BETWEEN_WRITES if seconds is None else seconds
        self._parts: dict[int, tuple[Tensors, dict[str, Any]]] = {}  # packed chains, by chain
        self._written: dict[int, float] = {}  # time of the last write, by chain
        self._lock = threading.Lock()  # chains save from several threads
        check_target(self.path)

    def save(self, run: ChainRun, ended: bool) -> None:
        """Write the chain if it has ended a stage or was last written at least ``seconds`` ago."""
        now = time.monotonic()
        if not ended and now - self._written.setdefault(run.chain, now) < self.seconds:
            return
        run.save_labels()
        part = pack_chain(run)
        if part is None:
            return
        with self._lock:
            self._parts[run.chain] = part
            tensors: Tensors = {}
            for chain_tensors, _ in self._parts.values():
                tensors |= chain_tensors
            chains = {str(chain): meta for chain, (_, meta) in self._parts.items()}
            meta = {"identity": self.identity, "chains": chains}
            try:
                write_file(self.path, KIND, tensors, meta)
            except ModelFileError as error:  # e.g. a full disk, which may have space again later
                warnings.warn(f"{error}; the run continues", stacklevel=2)
        self._written[run.chain] = time.monotonic()

    def load(self, observations: Observations, priors: Priors, sampler: str) -> dict[int, ChainRun]:
        """Return the chains in the file; none if there is no file yet."""
        if not self.path.exists():
            return {}
        tensors, meta = read_file(self.path, KIND, mapped=LABELS)
        self._check_identity(meta.get("identity"))
        try:
            chains = {int(chain): part for chain, part in meta["chains"].items()}
            runs = {
                chain: unpack_chain(chain, tensors, part, observations, priors, sampler)
                for chain, part in chains.items()
            }
        except DATA_ERRORS as error:
            raise ModelFileError(
                f"checkpoint {self.path} does not contain a chain of this run: {error}"
            ) from error
        with self._lock:
            # A chain that has ended is not saved again, but must stay in the file.
            self._parts = {chain: (_of_chain(tensors, chain), chains[chain]) for chain in runs}
        return runs

    def clear(self) -> None:
        """Discard the loaded chains, so that later writes omit them."""
        with self._lock:
            self._parts = {}

    def _check_identity(self, identity: object) -> None:
        if not isinstance(identity, dict):
            raise ModelFileError(f"checkpoint {self.path} has no identity")
        for name, expected in self.identity.items():
            if identity.get(name) != expected:
                other = {"corpus": "another corpus", "priors": "other priors"}.get(
                    name, f"{name}={identity.get(name)!r}, not {expected!r}"
                )
                raise ModelFileError(
                    f"checkpoint {self.path} was written for {other}: "
                    "choose another file, or remove this one to start over"
                )


def saved_seed(path: str | os.PathLike[str]) -> int | None:
    """Return the seed of the run that wrote a checkpoint; None if there is no file."""
    if not Path(path).exists():
        return None
    identity = read_file(path, KIND)[1].get("identity")
    seed = identity.get("seed") if isinstance(identity, dict) else None
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ModelFileError(f"checkpoint {path} has no valid seed")
    return seed


def saved_groups(path: str | os.PathLike[str] | None, n_groups: int) -> Int64s | None:
    """Return the groups that the run of a checkpoint sampled from a corpus on disk.

    Empty if the run had read the whole corpus into memory; None if there is no checkpoint.
    """
    if path is None or not Path(path).exists():
        return None
    tensors = read_file(path, KIND, mapped=LABELS)[0]
    name = next((name for name in tensors if name.endswith(f".{LABELS}sample")), None)
    if name is None:
        return np.zeros(0, np.int64)
    groups = Reader(tensors).array(name, np.int64, (None,), 0, n_groups - 1)
    if not len(groups) or (np.diff(groups) <= 0).any():
        raise ModelFileError(f"checkpoint {path} has an invalid sample of groups")
    return groups


def pack_chain(run: ChainRun) -> tuple[Tensors, dict[str, Any]] | None:
    """Return a chain as tensors and JSON; None before the first sweep if the corpus is on disk."""
    state, chain, labels = run.state, run.chain, run.label_files()
    if labels and not state.sweep:
        return None
    tensors, meta = pack_state(state, on_disk=bool(labels))
    tensors |= {f"{LABELS}{name}": array for name, array in labels.items()}
    tensors |= {
        "trace": np.array([run.trace[name] for name in TRACE], np.float64).reshape(len(TRACE), -1),
        "kept": np.array(run.cluster_of_group, np.int32).reshape(-1, len(state.cluster_of_group)),
        "sweep_of_draw": np.array(run.sweep_of_draw, np.int64),
        "row_of_draw": np.array(run.row_of_draw, np.int64),
    }
    for i, level in enumerate(state.levels):
        kept = [types[i] for types in run.types_of_units]
        n_units = len(level.type_of_unit)
        tensors[f"kept_types.{i}"] = np.array(kept, np.int32).reshape(-1, n_units)
        rows = [row[i] for row in run.level_trace]
        tensors[f"level_trace.{i}"] = np.array(rows, np.float64).reshape(-1, len(LEVEL_TRACE))
    for i, draw in enumerate(run.parameters):
        tensors |= pack_draw(f"parameters.{i}", draw)
    meta |= {"first_sweep": run.first_sweep, "n_parameters": len(run.parameters)}
    return {f"{chain}.{name}": array for name, array in tensors.items()}, meta


def unpack_chain(
    chain: int,
    tensors: Tensors,
    meta: Mapping[str, Any],
    observations: Observations,
    priors: Priors,
    sampler: str,
) -> ChainRun:
    """Return the chain that `pack_chain` packed, after validation."""
    prefix = f"{chain}."
    tensors = {
        name.removeprefix(prefix): array for name, array in _of_chain(tensors, chain).items()
    }
    state = unpack_state(tensors, meta, observations, priors, sampler)
    run = ChainRun.of_state(chain, state, int(meta["first_sweep"]))
    reader, n_groups = Reader(tensors), observations.n_groups
    if not 0 <= run.first_sweep <= state.sweep < 2**32:
        raise ValueError("its number of sweeps is invalid")
    trace = reader.array("trace", np.float64, (len(TRACE), run.sweeps_done))
    integers = trace[[TRACE.index(name) for name in INTEGER_COLUMNS]]
    if not (np.isfinite(integers).all() and (np.abs(integers) < 2**53).all()):
        raise ValueError("its trace has invalid integers")
    if not np.isfinite(trace[TRACE.index("log_joint")]).all():
        raise ValueError("its log joint is not finite")
    sweeps = reader.array("sweep_of_draw", np.int64, (None,), 1, run.sweeps_done)
    shape = (len(sweeps), len(state.cluster_of_group))
    kept = reader.array("kept", np.int32, shape, 0, n_groups - 1)
    run.trace = {name: _as_list(name, row) for name, row in zip(TRACE, trace, strict=True)}
    run.cluster_of_group = list(kept)
    run.sweep_of_draw = [int(sweep) for sweep in sweeps.tolist()]
    run.row_of_draw, run.n_stored = list(range(len(kept))), len(kept)
    draws: list[Integers] = list(kept)
    if isinstance(observations, DiskObservations):
        draws = _restore_labels(run, reader, observations)
    _read_levels(run, reader, observations)
    if not 0 <= int(meta["n_parameters"]) <= len(kept):
        raise ValueError("it has more stored parameters than draws")
    n_words = observations.n_words or None
    run.parameters = [
        unpack_draw(reader, f"parameters.{i}", draws, priors, n_words, observations.n_tokens)
        for i in range(int(meta["n_parameters"]))
    ]
    return run


def _of_chain(tensors: Tensors, chain: int) -> Tensors:
    return {name: array for name, array in tensors.items() if name.startswith(f"{chain}.")}


def _restore_labels(
    run: ChainRun, reader: Reader, observations: DiskObservations
) -> list[Integers]:
    """Write the label files of a corpus on disk; return the clusters of all groups in each draw."""
    n_groups = observations.n_groups
    draws = reader.array(f"{LABELS}draws", np.uint16, (None,))
    run.n_stored = len(draws) // n_groups
    n_kept = len(run.cluster_of_group)
    rows = reader.array("row_of_draw", np.int64, (n_kept,), 0, run.n_stored - 1)
    sample = reader.array(f"{LABELS}sample", np.int64, (len(observations.sample),))
    if len(draws) % n_groups or not np.array_equal(sample, observations.sample):
        raise ValueError("its draws are not those of this corpus")
    labels = {name: reader.array(f"{LABELS}{name}", dtype, (None,)) for name, dtype in LABEL_TYPES}
    write_label_files(observations.source.folder, run.chain, labels)
    run.row_of_draw = rows.tolist()
    return [draws[row * n_groups : (row + 1) * n_groups] for row in run.row_of_draw]


def _read_levels(run: ChainRun, reader: Reader, observations: Observations) -> None:
    """Set the kept types and the trace of the levels above groups."""
    kept, traces = [], []
    for i, units in enumerate(observations.levels):
        shape = (len(run.cluster_of_group), units.n_units)
        kept.append(reader.array(f"kept_types.{i}", np.int32, shape, 0, units.n_units - 1))
        shape = (run.sweeps_done, len(LEVEL_TRACE))
        traces.append(reader.array(f"level_trace.{i}", np.float64, shape, 0.0))
    run.types_of_units = [[types[d] for types in kept] for d in range(len(run.cluster_of_group))]
    if traces:
        run.level_trace = [
            [tuple(trace[s].tolist()) for trace in traces] for s in range(run.sweeps_done)
        ]


def _as_list(name: str, row: Floats) -> list[Any]:
    if name in INTEGER_COLUMNS:
        return row.astype(np.int64).tolist()
    return (row != 0).tolist() if name == "kept" else row.tolist()

"""Chains to disk and back while they run: a run that stopped goes on as if it never had."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.chain import TRACE, ChainRun
from mcsquared.errors import ModelFileError
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.storage import check_target, read_file, write_file
from mcsquared.storage.arrays import Reader
from mcsquared.storage.draws import pack_draw, unpack_draw
from mcsquared.storage.states import pack_state, unpack_state

__all__ = ["Checkpoint", "saved_seed"]

KIND = "checkpoint"
SECONDS_BETWEEN = 20.0
WHOLE = ("sweep", "chain", "n_clusters", "n_topics")  # columns of the trace that count

Tensors = dict[str, NDArray[Any]]


class Checkpoint:
    """A file that follows the chains of one run.

    Parameters
    ----------
    path : path
    identity : mapping
        What must be the same for a run to go on: corpus, priors, seed, schedule. JSON-able.
    seconds : float, optional
        Least time between two writes, SECONDS_BETWEEN by default; the end of a chain is always
        written.
    """

    def __init__(
        self, path: str | Path, identity: Mapping[str, Any], seconds: float | None = None
    ) -> None:
        self.path = Path(path)
        self.identity = dict(identity)
        self.seconds = SECONDS_BETWEEN if seconds is None else seconds
        self._parts: dict[int, tuple[Tensors, dict[str, Any]]] = {}
        self._written: dict[int, float] = {}
        self._lock = threading.Lock()  # chains save from threads of their own
        check_target(self.path)

    def save(self, run: ChainRun, ended: bool) -> None:
        """Write where the chain stands, if it ended or the last time is long enough ago."""
        now = time.monotonic()
        if not ended and now - self._written.setdefault(run.chain, now) < self.seconds:
            return
        run.save_labels()
        part = pack(run)
        with self._lock:
            self._parts[run.chain] = part
            tensors: Tensors = {}
            for chain_tensors, _ in self._parts.values():
                tensors |= chain_tensors
            chains = {str(chain): meta for chain, (_, meta) in self._parts.items()}
            write_file(self.path, KIND, tensors, {"identity": self.identity, "chains": chains})
        self._written[run.chain] = time.monotonic()

    def load(self, observations: Observations, priors: Priors, sampler: str) -> dict[int, ChainRun]:
        """Return the chains that the file holds; none if there is no file yet."""
        if not self.path.exists():
            return {}
        tensors, meta = read_file(self.path, KIND)
        self._check_identity(meta.get("identity"))
        try:
            chains = {int(chain): part for chain, part in meta["chains"].items()}
            runs = {
                chain: unpack(chain, tensors, part, observations, priors, sampler)
                for chain, part in chains.items()
            }
        except (
            KeyError,
            IndexError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            MemoryError,
        ) as error:
            raise ModelFileError(
                f"checkpoint {self.path} does not hold a chain of this run: {error}"
            ) from error
        with self._lock:
            # A chain that has ended is not saved again, but stays in the file.
            self._parts = {chain: pack(run) for chain, run in runs.items()}
        return runs

    def forget(self) -> None:
        """Leave what was loaded out of what is written from now on."""
        with self._lock:
            self._parts = {}

    def _check_identity(self, found: object) -> None:
        if not isinstance(found, dict):
            raise ModelFileError(f"checkpoint {self.path} does not say what it belongs to")
        for name, wanted in self.identity.items():
            if found.get(name) != wanted:
                what = {"corpus": "another corpus", "priors": "other priors"}.get(
                    name, f"{name}={found.get(name)!r}, not {wanted!r}"
                )
                raise ModelFileError(
                    f"checkpoint {self.path} was written for {what}: "
                    "name another file, or remove this one to start anew"
                )


def saved_seed(path: str | os.PathLike[str]) -> int | None:
    """Return the seed of the run that a checkpoint belongs to; None if there is no file."""
    if not Path(path).exists():
        return None
    identity = read_file(path, KIND)[1].get("identity")
    seed = identity.get("seed") if isinstance(identity, dict) else None
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ModelFileError(f"checkpoint {path} does not say which seed it belongs to")
    return seed


def pack(run: ChainRun) -> tuple[Tensors, dict[str, Any]]:
    """Return a chain as tensors and JSON."""
    state, chain = run.state, run.chain
    tensors, meta = pack_state(state)
    tensors |= {
        "trace": np.array([run.trace[name] for name in TRACE], np.float64).reshape(len(TRACE), -1),
        "kept": np.array(run.cluster_of_group, np.int32).reshape(-1, len(state.cluster_of_group)),
        "sweep_of_draw": np.array(run.sweep_of_draw, np.int64),
    }
    for i, draw in enumerate(run.parameters):
        tensors |= pack_draw(f"parameters.{i}", draw)
    meta |= {"first_sweep": run.first_sweep, "n_parameters": len(run.parameters)}
    return {f"{chain}.{name}": array for name, array in tensors.items()}, meta


def unpack(
    chain: int,
    tensors: Tensors,
    meta: Mapping[str, Any],
    observations: Observations,
    priors: Priors,
    sampler: str,
) -> ChainRun:
    """Return the chain that `pack` took apart."""
    prefix = f"{chain}."
    own = {name[len(prefix) :]: array for name, array in tensors.items() if name.startswith(prefix)}
    state = unpack_state(own, meta, observations, priors, sampler)
    run = ChainRun(chain=chain, state=state, first_sweep=int(meta["first_sweep"]))
    reader, n_groups = Reader(own), observations.n_groups
    if not 0 <= run.first_sweep <= state.sweep < 2**32:
        raise ValueError("it stands at a sweep that cannot be")
    trace = reader.array("trace", np.float64, (len(TRACE), run.sweeps_done))
    whole = trace[[TRACE.index(name) for name in WHOLE]]
    if not (np.isfinite(whole).all() and (np.abs(whole) < 2**53).all()):
        raise ValueError("its trace is not of the sweeps that it has done")
    sweeps = reader.array("sweep_of_draw", np.int64, (None,), 1, run.sweeps_done)
    kept = reader.array("kept", np.int32, (len(sweeps), n_groups), 0, n_groups - 1)
    run.trace = {name: _plain(name, row) for name, row in zip(TRACE, trace, strict=True)}
    run.cluster_of_group = list(kept)
    run.sweep_of_draw = [int(sweep) for sweep in sweeps.tolist()]
    if not 0 <= int(meta["n_parameters"]) <= len(kept):
        raise ValueError("its stored parameters are not as many as its draws allow")
    n_words = observations.n_words or None
    run.parameters = [
        unpack_draw(
            reader,
            f"parameters.{i}",
            kept,
            observations.content_family,
            n_words,
            observations.n_tokens,
        )
        for i in range(int(meta["n_parameters"]))
    ]
    return run


def _plain(name: str, row: NDArray[np.float64]) -> list[Any]:
    if name in WHOLE:
        return row.astype(np.int64).tolist()
    return (row != 0).tolist() if name == "kept" else row.tolist()

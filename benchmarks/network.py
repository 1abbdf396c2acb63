"""Bytes and seconds of a sweep on an emulated network: ``python -m benchmarks.network``.

Every worker is a process with one thread in a Linux network namespace of its own; all are connected
through a bridge, and every link has a bandwidth of 1 Gbit/s in each direction (`tc`, token bucket).
The client, with the scheduler, has another namespace. Root is required; the namespaces are removed
at the end.

Bytes are those that the network interfaces count. The processes share the cores of this machine, so
the seconds of a sweep are modelled: CPU-seconds of the slowest worker and of the client, bytes of
the busiest interface at 1 Gbit/s, and 0.2 ms for every message that another one waits for.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mcsquared import Gamma

PREFIX, SUBNET, PORT = "mc2net", "10.77.0", 8786
BANDWIDTH = 125e6  # bytes per second: 1 Gbit/s
LATENCY = 0.0002
RATE = ("tbf", "rate", "1gbit", "burst", "256kb", "latency", "50ms")
WARM_UP_SWEEPS = 20  # in this process: counts are those of a chain that has found its topics
FIRST_SWEEP = 200  # of the measured ones: splits and merges take place in every fifth
N_CLUSTERS, N_TOPICS = 30, 100
LAMS = {"inf": math.inf, "finite": Gamma(1, 0.1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=("nips", "speeches"))
    parser.add_argument("--workers", type=int, nargs="+", default=(2, 4, 8))
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--states", type=Path, help="folder that stores the states to start from")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        measure(given)
        return
    with network(max(given.workers)):
        run(given)


def command(*arguments: object) -> None:
    """Run a command; raise an error if it fails."""
    subprocess.run(list(map(str, arguments)), check=True)


@contextmanager
def network(n_workers: int) -> Iterator[None]:
    """Create the namespaces of a client and some workers, and remove them at the end."""
    names = [f"{PREFIX}{number}" for number in range(n_workers + 1)]
    bridge = f"{PREFIX}-bridge"
    try:
        for name in (bridge, *names):
            command("ip", "netns", "add", name)
            command("ip", "-n", name, "link", "set", "lo", "up")
        command("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
        command("ip", "-n", bridge, "link", "set", "br0", "up")
        for number, name in enumerate(names):
            port, peer = f"port{number}", ("peer", "name", "eth0", "netns", name)
            command("ip", "-n", bridge, "link", "add", port, "type", "veth", *peer)
            command("ip", "-n", bridge, "link", "set", port, "master", "br0", "up")
            command("ip", "-n", name, "addr", "add", f"{SUBNET}.{number + 1}/24", "dev", "eth0")
            command("ip", "-n", name, "link", "set", "eth0", "up")
            command("tc", "-n", bridge, "qdisc", "add", "dev", port, "root", *RATE)
            command("tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", *RATE)
        yield
    finally:
        for name in (*names, bridge):
            subprocess.run(["ip", "netns", "del", name], check=False)


def run(given: argparse.Namespace) -> None:
    """Run the client and the workers in their namespaces; the client prints the results."""
    n_workers = max(given.workers)
    inside = [["ip", "netns", "exec", f"{PREFIX}{n}", sys.executable] for n in range(n_workers + 1)]
    # No nanny: the process that is measured is the one that is started.
    worker = ["-m", "distributed.cli.dask_worker", f"tcp://{SUBNET}.1:{PORT}", "--no-nanny"]
    worker += ["--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
    client = ["-m", "benchmarks.network", *sys.argv[1:], "--inside"]
    processes = [subprocess.Popen(inside[0] + client)]
    processes += [subprocess.Popen(of + worker, stderr=subprocess.DEVNULL) for of in inside[1:]]
    try:
        processes[0].wait()
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def counters() -> tuple[float, int, int]:
    """Return the CPU-seconds of this process, and the bytes that its interface got and sent."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    fields = next(line for line in lines if "eth0:" in line).partition(":")[2].split()
    return time.process_time(), int(fields[0]), int(fields[8])


class FirstWorkers:
    """A client restricted to some of its workers."""

    def __init__(self, client: Any, n_workers: int) -> None:
        self._client, self._n_workers = client, n_workers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def nthreads(self) -> dict[str, int]:
        """Return the number of threads of each worker."""
        return dict(sorted(self._client.nthreads().items())[: self._n_workers])


def measure(given: argparse.Namespace) -> None:
    """Sweep on some of the workers, with both λ; print medians of bytes and seconds."""
    from distributed import Client, LocalCluster

    where = {"host": f"{SUBNET}.1", "scheduler_port": PORT, "dashboard_address": None}
    with LocalCluster(n_workers=0, **where) as cluster, Client(cluster) as client:
        chains = [prepared(given, lam) for lam in LAMS]
        client.wait_for_workers(max(given.workers), timeout=600)
        for chain in chains:
            for n_workers in given.workers:
                found = medians(chain, FirstWorkers(client, n_workers), given.sweeps)
                print(json.dumps({"data": given.data, "lam": chain.lam, **found}), flush=True)


def medians(chain: Chain, client: Any, n_sweeps: int) -> dict[str, Any]:
    """Return medians over sweeps without moves, and those of a sweep with moves if λ is finite."""
    from mcsquared.distributed import DaskBackend
    from mcsquared.samplers.types import Key

    chain.state = pickle.loads(chain.start)
    backend = DaskBackend(chain.observations, chain.priors, client)
    backend.load_labels(chain.state, Key(0, 0, 0))
    chain.state.sweep = FIRST_SWEEP  # the next ones have no moves, except for every fifth
    chain.sweep(backend)  # compiles kernels
    rows: dict[str, list[Any]] = {"plain": [], "moves": []}
    n_moves = 1 if chain.lam == "finite" else 0
    while len(rows["plain"]) < n_sweeps or len(rows["moves"]) < n_moves:
        before, began = counters_of_all(client), time.perf_counter()
        chain.sweep(backend)
        seconds, spent = time.perf_counter() - began, counters_of_all(client) - before
        has_moves = chain.state.sweep % 5 == 0 and n_moves
        rows["moves" if has_moves else "plain"].append((seconds, *summary(spent)))
    names = ("wall", "worker_cpu", "client_cpu", "megabytes", "busiest")
    found = {kind: np.median(part, axis=0).round(4).tolist() for kind, part in rows.items() if part}
    by_name = {kind: dict(zip(names, part, strict=True)) for kind, part in found.items()}
    return {"workers": len(client.nthreads()), "shards": backend.n_shards, **by_name}


def counters_of_all(client: Any) -> Any:
    """Return `counters` of the client and of every worker, float64 (n_workers + 1, 3)."""
    by_worker = client.run(counters)
    return np.array([counters(), *(by_worker[worker] for worker in sorted(by_worker))])


def summary(spent: Any) -> tuple[float, ...]:
    """Return CPU-seconds, megabytes in total and megabytes of the busiest interface."""
    cpu, received, sent = spent.T
    busiest = float(np.maximum(received, sent).max())
    return float(cpu[1:].max()), float(cpu[0]), float(sent.sum()) / 1e6, busiest / 1e6


class Chain:
    """A chain with a fixed number of clusters and topics."""

    start: bytes  # its state after the first sweeps

    def __init__(self, corpus: Any, contexts: dict[str, str], lam: str) -> None:
        from mcsquared import Priors
        from mcsquared.observations import observe
        from mcsquared.samplers.steps.collapsed import collapsed_step
        from mcsquared.samplers.sweep import BLOCKED
        from mcsquared.state import Bounds

        chosen = {} if LAMS[lam] is None else {"lam": LAMS[lam]}
        self.sampler, self.bounds = BLOCKED.without(collapsed_step), Bounds(N_CLUSTERS, N_TOPICS)
        self.priors = Priors.for_corpus(corpus, contexts=contexts, **chosen)
        self.observations = observe(corpus, self.priors)
        self.lam = lam
        self.state: Any = None

    def first_sweeps(self) -> bytes:
        """Start in this process; return the state."""
        first = (self.observations, self.priors, 0, 0, "random", N_CLUSTERS, N_TOPICS)
        self.state = self.sampler.start(*first, bounds=self.bounds)
        for _ in range(WARM_UP_SWEEPS):
            self.sweep()
        return pickle.dumps(self.state)

    def sweep(self, backend: Any = None) -> None:
        """Do one sweep."""
        given = (self.state, self.observations, self.priors, 0, 0, self.bounds)
        self.sampler.sweep(*given, backend=backend)


def prepared(given: argparse.Namespace, lam: str) -> Chain:
    """Return a chain after its first sweeps, from a file if there is one."""
    from mcsquared import datasets

    load, contexts = datasets.load_un, {"year": "gaussian", "country": "categorical"}
    if given.data == "nips":
        load, contexts = datasets.load_nips, {"year": "gaussian", "authors": "bag"}
    chain = Chain(load().corpus, contexts, lam)
    path = given.states and given.states / f"{given.data}-{lam}.pickle"
    chain.start = path.read_bytes() if path and path.exists() else chain.first_sweeps()
    if path:
        path.write_bytes(chain.start)
    return chain


if __name__ == "__main__":
    main()

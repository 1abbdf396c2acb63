"""Jobs that are measured in a separate process: ``python -m benchmarks.jobs NAME ARGUMENTS``.

Each job returns a small dict, which is printed as JSON on the last line together with the peak
memory and the CPU-seconds of the whole process.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.measure import cpu_seconds, peak_megabytes
from benchmarks.settings import Settings


def import_module(module: str) -> dict[str, Any]:
    importlib.import_module(module)
    heavy = ("numba", "sklearn", "pandas", "scipy", "numpy")
    return {"loaded": [name for name in heavy if name in sys.modules]}


def import_name(module: str, name: str) -> dict[str, Any]:
    getattr(importlib.import_module(module), name)
    return {}


def load(settings: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.corpora import corpus_for
    from mcsquared import MC2

    corpus = corpus_for(Settings.from_dict(settings))
    return {"n_tokens": corpus.n_tokens, "estimator": MC2.__name__}


def fit(settings: dict[str, Any], compiled: bool = False) -> dict[str, Any]:
    """Fit with years and authors through the public API, then compute labels and topics.

    If ``compiled``, kernels are not read from the cache.
    """
    if compiled:
        ignore_compiled_kernels()
    from benchmarks.corpora import corpus_for
    from mcsquared import MC2

    chosen = Settings.from_dict(settings)
    corpus = corpus_for(chosen)
    loaded = peak_megabytes()
    model = MC2(
        contexts={"year": "gaussian", "authors": "bag"},
        n_sweeps=chosen.fit_sweeps,
        burn_in=chosen.fit_sweeps // 2,
        thin=1,
        random_state=chosen.seed,
        progress=False,
    )
    began = time.perf_counter()
    seconds = cpu_seconds(lambda: model.fit(corpus))
    wall, fitted = time.perf_counter() - began, peak_megabytes()
    model.posterior_.topics()
    return {
        "loaded_megabytes": loaded,
        "fitted_megabytes": fitted,
        "fit_cpu_seconds": seconds,
        "fit_wall_seconds": wall,
        "clusters": model.n_clusters_,
        "topics": model.n_topics_,
    }


def ignore_compiled_kernels() -> None:
    """Compile all kernels in this process; must precede their import."""
    from mcsquared.kernels.caching import KernelCache

    KernelCache._load_overload = lambda *_: None
    KernelCache.save_overload = lambda *_: None


def fit_large(settings: dict[str, Any], engine: str) -> dict[str, Any]:
    """Fit the UN speeches on two threads with bounded topics and clusters."""
    from benchmarks.corpora import speeches_for
    from benchmarks.engines import ENGINES, estimator

    chosen = Settings.from_dict(settings)
    corpus = speeches_for(chosen)
    model = estimator(
        ENGINES[engine],
        n_sweeps=chosen.large_sweeps,
        burn_in=chosen.large_sweeps // 2,
        max_topics=chosen.large_topics,
        max_clusters=chosen.large_clusters,
        n_jobs=2,
        random_state=chosen.seed,
    )
    began = time.perf_counter()
    seconds = cpu_seconds(lambda: model.fit(corpus))
    trace = model.posterior_.trace
    return {
        "fit_cpu_seconds": seconds,
        "fit_wall_seconds": time.perf_counter() - began,
        "clusters": int(trace["n_clusters"].median()),
        "topics": int(trace["n_topics"].median()),
        "n_tokens": corpus.n_tokens,
    }


def write_folder(path: str, n_groups: int, seed: int) -> dict[str, Any]:
    """Write simulated groups to Parquet files, and their true clusters next to the folder."""
    import numpy as np

    from benchmarks import folders

    began = time.perf_counter()
    truth = folders.write_folder(Path(path), n_groups, seed)
    np.save(f"{path}.npy", truth)
    size = sum(file.stat().st_size for file in Path(path).iterdir())
    return {"wall_seconds": time.perf_counter() - began, "megabytes": size / 1e6}


def fit_folder(settings: dict[str, Any], engine: str, path: str) -> dict[str, Any]:
    """Fit a folder on two threads with a memory limit, and compare with the truth."""
    import numpy as np

    from benchmarks.engines import DEVICE_ENGINES, ENGINES
    from mcsquared import MC2, ParquetFolder, evaluation

    chosen = Settings.from_dict(settings)
    seconds: list[float] = []
    model = MC2(
        **(ENGINES | DEVICE_ENGINES)[engine],
        n_sweeps=chosen.folder_sweeps,
        burn_in=chosen.folder_sweeps // 2,
        thin=1,
        max_topics=chosen.folder_topics,
        max_clusters=chosen.folder_clusters,
        n_jobs=2,
        random_state=chosen.seed,
        progress=False,
        callbacks=[lambda info: seconds.append(info.seconds)],
    )
    began = time.perf_counter()
    cpu = cpu_seconds(lambda: model.fit(ParquetFolder(path, memory=chosen.folder_memory)))
    return {
        "fitted_megabytes": peak_megabytes(),  # before the scores, which need more memory
        "fit_cpu_seconds": cpu,
        "fit_wall_seconds": time.perf_counter() - began,
        "sweep_seconds": float(np.median(seconds)),
        "n_groups": len(model.labels_),
        "n_tokens": int(model.posterior_.word_frequency.sum()),
        "clusters": model.n_clusters_,
        "nmi": float(evaluation.nmi(np.load(f"{path}.npy"), model.labels_)),
    }


def sweep_contender(settings: dict[str, Any], name: str) -> dict[str, Any]:
    """Do as many sweeps of one contender as the fits do."""
    from benchmarks.contenders import ALL
    from benchmarks.corpora import corpus_for

    chosen = Settings.from_dict(settings)
    contender = next(one for one in ALL if one.name == name)(corpus_for(chosen), chosen)
    for _ in range(chosen.fit_sweeps):
        contender.sweep()
    return contender.size()


def consensus(
    n_groups: int, n_draws: int, n_clusters: int, moved: float, seed: int
) -> dict[str, Any]:
    """Compute the consensus of draws in which each group is moved with probability ``moved``."""
    import numpy as np

    from mcsquared.posterior.consensus import consensus as best_partition

    rng = np.random.default_rng(seed)
    truth = rng.integers(n_clusters, size=n_groups, dtype=np.int32)
    draws = np.empty((n_draws, n_groups), np.int32)
    for draw in draws:
        other = rng.integers(n_clusters, size=n_groups, dtype=np.int32)
        draw[:] = np.where(rng.random(n_groups) < moved, other, truth)
    best_partition(draws[:, :200])  # compiles
    before = peak_megabytes()
    began, cpu_began = time.perf_counter(), time.process_time()
    labels = best_partition(draws)
    agreement = np.zeros((n_clusters, labels.max() + 1))
    np.add.at(agreement, (truth, labels), 1)
    return {
        "consensus_cpu_seconds": time.process_time() - cpu_began,
        "consensus_wall_seconds": time.perf_counter() - began,
        "before_megabytes": before,
        "clusters": int(labels.max()) + 1,
        "purity": float(agreement.max(axis=0).sum() / n_groups),
    }


JOBS = {
    job.__name__: job
    for job in (
        import_module,
        import_name,
        load,
        fit,
        fit_large,
        write_folder,
        fit_folder,
        sweep_contender,
        consensus,
    )
}


def main() -> None:
    name, arguments = sys.argv[1], json.loads(sys.argv[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = JOBS[name](**arguments)
    report |= {"peak_megabytes": peak_megabytes(), "cpu_seconds": time.process_time()}
    print(json.dumps(report))


if __name__ == "__main__":
    main()

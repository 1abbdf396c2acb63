"""Peak memory and time of a fit of Parquet files larger than the memory limit."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks import engines
from benchmarks.machine import describe_device
from benchmarks.measure import run_job
from benchmarks.settings import Settings
from benchmarks.tables import Result, Target
from mcsquared.corpus.disk import parse_bytes


def run(settings: Settings) -> Result:
    chosen = {"settings": asdict(settings)}
    limit = parse_bytes(settings.folder_memory) / 1e6
    names = [*engines.ENGINES, *(engines.DEVICE_ENGINES if describe_device() else ())]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "groups"
        folder.mkdir()
        written = run_job(
            "write_folder", path=str(folder), n_groups=settings.folder_groups, seed=settings.seed
        )
        fits = {
            engine: run_job("fit_folder", engine=engine, path=str(folder), **chosen)
            for engine in names
        }
    one = next(iter(fits.values()))
    return Result(
        title=f"Parquet files with {one['n_groups'] / 1e6:g} million groups, larger than memory",
        columns=("engine", "peak MB", "fit, wall s", "CPU-s", "s per sweep", "clusters", "NMI"),
        rows=[
            (
                engine,
                fit["fitted_megabytes"],
                fit["fit_wall_seconds"],
                fit["fit_cpu_seconds"],
                fit["sweep_seconds"],
                fit["clusters"],
                fit["nmi"],
            )
            for engine, fit in fits.items()
        ],
        targets=[
            Target(f"{engine}: peak memory", fit["fitted_megabytes"], limit, False, "MB")
            for engine, fit in fits.items()
            if engine in engines.ENGINES
        ],
        notes=[
            f"{one['n_tokens'] / 1e6:.0f} million tokens with a number and a category per "
            f"group, {written['megabytes']:.0f} MB of Parquet; "
            f'`ParquetFolder(path, memory="{settings.folder_memory}")`, {settings.folder_sweeps} '
            f"sweeps on two threads, at most {settings.folder_topics} topics and "
            f"{settings.folder_clusters} clusters (true numbers: 50 and 20).",
            "Peak memory of the whole process, from its start to the end of `fit`. With a GPU it "
            "includes that of the CUDA driver, and has no target.",
        ],
    )

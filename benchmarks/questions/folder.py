"""Whether a corpus that is larger than memory is fitted below its limit."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks import ours
from benchmarks.measure import run_job
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Target
from mcsquared.corpus.stored.folder import bytes_of

__all__ = ["ask"]


def ask(settings: Settings) -> Answer:
    chosen = {"settings": asdict(settings)}
    limit = bytes_of(settings.folder_memory) / 1e6
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "groups"
        folder.mkdir()
        written = run_job(
            "write_folder", path=str(folder), n_groups=settings.folder_groups, seed=settings.seed
        )
        fits = {
            engine: run_job("fit_folder", engine=engine, path=str(folder), **chosen)
            for engine in ours.ENGINES
        }
    one = next(iter(fits.values()))
    return Answer(
        title=f"Parquet files with {one['n_groups'] / 1e6:g} million groups, larger than memory",
        columns=("what", "peak MB", "fit, wall s", "CPU-s", "a sweep, s", "clusters", "NMI"),
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
        ],
        notes=[
            f"{one['n_tokens'] / 1e6:.0f} million tokens with a number and a category for every "
            f"group, {written['megabytes']:.0f} MB of Parquet; "
            f'`ParquetFolder(path, memory="{settings.folder_memory}")`, {settings.folder_sweeps} '
            f"sweeps on two threads, at most {settings.folder_topics} topics and "
            f"{settings.folder_clusters} clusters (50 and 20 are true).",
            "Peak memory is that of the whole process, from its start to the end of `fit`.",
        ],
    )

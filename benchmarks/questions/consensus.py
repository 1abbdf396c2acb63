"""Cost of the consensus of many draws of many groups."""

from __future__ import annotations

from benchmarks.measure import run_job
from benchmarks.settings import Settings
from benchmarks.tables import Result, Target

MOVED = {"95% of groups unchanged": 0.05, "75% of groups unchanged": 0.25}
LIMIT = 60.0  # CPU-seconds


def run(settings: Settings) -> Result:
    rows, targets = [], []
    for what, moved in MOVED.items():
        report = run_job(
            "consensus",
            n_groups=settings.consensus_groups,
            n_draws=settings.consensus_draws,
            n_clusters=settings.n_clusters,
            moved=moved,
            seed=settings.seed,
        )
        seconds = report["consensus_cpu_seconds"]
        rows.append(
            (
                what,
                seconds,
                report["consensus_wall_seconds"],
                report["peak_megabytes"],
                report["peak_megabytes"] - report["before_megabytes"],
                report["clusters"],
                report["purity"],
            )
        )
        targets.append(Target(f"consensus, {what}", seconds, LIMIT, False, "CPU-s"))
    size = f"{settings.consensus_groups:,} groups × {settings.consensus_draws} draws"
    return Result(
        title=f"Consensus of {size}",
        columns=("draws", "CPU-s", "wall s", "peak MB", "added MB", "clusters", "purity"),
        rows=rows,
        targets=targets,
        notes=[
            f"{settings.n_clusters} true clusters; in each draw the other groups are in random "
            "clusters. Purity is relative to the truth."
        ],
    )

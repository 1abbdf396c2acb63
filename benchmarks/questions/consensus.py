"""What one partition for many draws of many groups costs."""

from __future__ import annotations

from benchmarks.measure import run_job
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Target

__all__ = ["ask"]

MOVED = {"95% of the groups stay": 0.05, "75% of the groups stay": 0.25}
LIMIT = 60.0


def ask(settings: Settings) -> Answer:
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
    return Answer(
        title=f"Consensus of {size}",
        columns=("draws", "CPU-s", "wall s", "peak MB", "of it ours", "clusters", "purity"),
        rows=rows,
        targets=targets,
        notes=[
            f"{settings.n_clusters} true clusters; in each draw a group that does not stay is in "
            "a cluster at random. Purity is against the truth."
        ],
    )

"""How long and how large a run is; every question reads the same settings."""

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Sizes of a run; the defaults are those of the committed table.

    Parameters
    ----------
    n_topics, n_clusters : int
        What every contender starts with.
    beta : float
        Dirichlet prior of the words of a topic, for every contender: mcsquared's own default. At
        tomotopy's and MALLET's default of 0.01 LDA foretells NIPS worse.
    warm_up : int
        Sweeps before any is timed: the first compiles, and those from a random start cost less or
        more than later ones.
    sweeps : int
        Timed sweeps of each contender, one after the other in turn.
    slow_warm_up, slow_sweeps : int
        The same for contenders that would take all the time.
    growth_warm_up, growth_sweeps, scaling_sweeps : int
        The same where many sizes are timed.
    fit_sweeps : int
        Sweeps of the whole fits whose memory is measured.
    compile_anew : bool
        Whether one of these fits compiles its kernels.
    large_sweeps, large_topics, large_clusters : int
        The fit of the UN speeches whose memory and time are measured.
    folder_groups, folder_memory, folder_sweeps, folder_topics, folder_clusters
        The fit of Parquet files that do not fit in memory.
    quality_seconds : float
        CPU-seconds of training for each curve of held-out perplexity.
    split_seconds : float
        CPU-seconds of training for each fit of each split of NIPS.
    n_splits : int
    peer_topics : tuple of int
        Numbers of topics that a user of LDA would try; the last also bounds ours.
    scene_sweeps, scene_seeds : int
        Fits of the labelled images.
    letter_starts, identifiable_starts, identifiable_sweeps : int
        Fits of the letters.
    pairs, pair_seconds
        Pairs of runs on one thread and on two, and what each of a pair takes at the least.
    device_sweeps, device_warm_up : int
        Sweeps on a GPU, and how many of them are not timed.
    device_large_sweeps, device_large_timed : int
        Sweeps of the large corpus: λ finite, and λ = ∞.
    consensus_groups, consensus_draws : int
    repeats : int
        How often a command is started to time it.
    simulated : bool
        Use a simulated corpus even where the data are at hand.
    scale : float
        Size of corpora against the whole ones.
    """

    n_topics: int = 100
    n_clusters: int = 30
    beta: float = 0.05
    warm_up: int = 50
    sweeps: int = 15
    slow_warm_up: int = 3
    slow_sweeps: int = 3
    growth_warm_up: int = 10
    growth_sweeps: int = 7
    scaling_sweeps: int = 9
    fit_sweeps: int = 20
    compile_anew: bool = True
    large_sweeps: int = 200
    large_topics: int = 150
    large_clusters: int = 50
    folder_groups: int = 20_000_000
    folder_memory: str = "1GB"
    folder_sweeps: int = 10
    folder_topics: int = 60
    folder_clusters: int = 30
    quality_seconds: float = 60.0
    split_seconds: float = 30.0
    n_splits: int = 3
    peer_topics: tuple[int, ...] = (50, 100, 150)
    scene_sweeps: int = 300
    scene_seeds: int = 5
    letter_starts: int = 20
    identifiable_starts: int = 10
    identifiable_sweeps: int = 2_000
    pairs: int = 5
    pair_seconds: float = 5.0
    device_sweeps: int = 160
    device_warm_up: int = 100
    device_large_sweeps: int = 600
    device_large_timed: int = 60
    consensus_groups: int = 100_000
    consensus_draws: int = 100
    repeats: int = 7
    simulated: bool = False
    scale: float = 1.0
    seed: int = 0

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Settings":
        """Return what `dataclasses.asdict` and JSON made a dict of."""
        return cls(**{**record, "peer_topics": tuple(record["peer_topics"])})

    def quick(self) -> "Settings":
        """Return settings that end in two or three minutes and say little about anything."""
        return replace(
            self,
            warm_up=2,
            sweeps=3,
            slow_warm_up=1,
            slow_sweeps=1,
            growth_warm_up=1,
            growth_sweeps=2,
            scaling_sweeps=2,
            fit_sweeps=5,
            compile_anew=False,
            large_sweeps=12,
            folder_groups=200_000,
            folder_sweeps=4,
            quality_seconds=1.5,
            split_seconds=1.0,
            n_splits=1,
            peer_topics=(20, 40),
            scene_sweeps=20,
            scene_seeds=1,
            letter_starts=2,
            identifiable_starts=1,
            identifiable_sweeps=50,
            pairs=2,
            pair_seconds=0.2,
            device_sweeps=12,
            device_warm_up=6,
            device_large_sweeps=12,
            device_large_timed=12,
            consensus_groups=10_000,
            repeats=2,
            scale=0.05,
        )

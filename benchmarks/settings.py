"""Lengths and sizes of a run, shared by all benchmarks."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Lengths and sizes of a run; the defaults are those of the committed results.

    Parameters
    ----------
    n_topics, n_clusters : int
        Initial numbers for every contender.
    beta : float
        Dirichlet prior of the words of a topic, for every contender: the default of mcsquared. With
        0.01, the default of tomotopy and MALLET, LDA predicts NIPS worse.
    warm_up : int
        Sweeps before the timed ones: the first compiles, and the cost of sweeps after a random
        start differs from that of later ones.
    sweeps : int
        Timed sweeps of each contender, interleaved.
    slow_warm_up, slow_sweeps : int
        The same for slow contenders.
    growth_warm_up, growth_sweeps, scaling_sweeps : int
        The same for benchmarks of many sizes.
    fit_sweeps : int
        Sweeps of the fits whose memory is measured.
    measure_compilation : bool
        Whether to repeat one of these fits without cached kernels.
    large_sweeps, large_topics, large_clusters : int
        The fit of the UN speeches whose memory and time are measured.
    folder_groups, folder_memory, folder_sweeps, folder_topics, folder_clusters
        The fit of Parquet files larger than memory.
    quality_seconds : float
        CPU-seconds of training for each curve of held-out perplexity.
    split_seconds : float
        CPU-seconds of training for each fit of each split of NIPS.
    n_splits : int
    peer_topics : tuple of int
        Numbers of topics of LDA; the last is the upper bound for mcsquared.
    quality_topics : tuple of int
        The same for the curves of held-out perplexity.
    many_topics : tuple of int
        Larger numbers of topics whose sweeps are timed.
    scene_sweeps, scene_seeds : int
        Fits of the labelled images.
    seeds : int
        Fits of each data set whose clusters are compared with each other.
    predicted_sweeps : int
        Sweeps of the fits whose predictions of contexts are compared with other methods.
    whole_sweeps, whole_topics, whole_seeds, whole_groups : int
        The fits of whole data sets whose predictions of contexts are scored: sweeps, upper bound of
        the topics, splits, and the largest number of held-out groups.
    relevance_sweeps, relevance_seeds : int
        Fits with contexts that are unrelated to the clusters.
    unrelated_seeds, unrelated_chains, unrelated_sweeps : int
        Fits of several chains with and without unrelated columns.
    start_groups, start_chains, start_sweeps : int
        UN speeches that are clustered from different starts, chains and sweeps of each fit.
    n_number_sizes, number_starts, number_sweeps : int
        Simulated corpora with known numbers of clusters and topics, and fits of each.
    letter_starts, identifiable_starts, identifiable_sweeps : int
        Fits of the letters.
    level_starts, level_sweeps : int
        Fits of simulated groups with a level above them.
    un_share : float
        Share of the UN speeches that are fitted with countries as a level.
    un_chains, un_sweeps, un_seeds : int
        These fits.
    type_sweeps, un_topics, un_warm_up : int
        Sweeps of the speeches whose types are sampled from several starts, the largest number of
        topics there and in the sweeps whose cost is compared, and the sweeps before those.
    related_sweeps, related_seeds : int
        Fits of related models to the labelled images.
    pairs, pair_seconds, thread_warm_up
        Runs on every number of threads, the minimum seconds of each, and the sweeps before them.
    device_sweeps, device_warm_up : int
        Sweeps on a GPU, and the number of untimed ones.
    device_large_sweeps, device_large_timed : int
        Sweeps of the large corpus: λ finite, and λ = ∞.
    consensus_groups, consensus_draws : int
    repeats : int
        Number of timed runs of a command.
    simulated : bool
        Use a simulated corpus even if the data are available.
    scale : float
        Share of the groups of each corpus.
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
    measure_compilation: bool = True
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
    quality_topics: tuple[int, ...] = (50, 100, 150, 300, 500)
    many_topics: tuple[int, ...] = (300, 500)
    scene_sweeps: int = 300
    scene_seeds: int = 5
    seeds: int = 5
    predicted_sweeps: int = 120
    whole_sweeps: int = 100
    whole_topics: int = 150
    whole_seeds: int = 2
    whole_groups: int = 400
    relevance_sweeps: int = 100
    relevance_seeds: int = 3
    unrelated_seeds: int = 3
    unrelated_chains: int = 4
    unrelated_sweeps: int = 40
    start_groups: int = 3_000
    start_chains: int = 8
    start_sweeps: int = 100
    n_number_sizes: int = 3
    number_starts: int = 10
    number_sweeps: int = 400
    letter_starts: int = 20
    identifiable_starts: int = 10
    identifiable_sweeps: int = 2_000
    level_starts: int = 10
    level_sweeps: int = 80
    un_share: float = 0.25
    un_chains: int = 8
    un_sweeps: int = 40
    type_sweeps: int = 300
    un_topics: int = 50
    un_seeds: int = 2
    un_warm_up: int = 12
    related_sweeps: int = 60
    related_seeds: int = 1
    pairs: int = 5
    pair_seconds: float = 5.0
    thread_warm_up: int = 100
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
        """Return the settings from a dict that was stored as JSON."""
        lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
        return cls(**{**record, **lists})

    def quick(self) -> "Settings":
        """Return settings for a run of two or three minutes, whose figures are not meaningful."""
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
            measure_compilation=False,
            large_sweeps=12,
            folder_groups=200_000,
            folder_sweeps=4,
            quality_seconds=1.5,
            split_seconds=1.0,
            n_splits=1,
            peer_topics=(20, 40),
            quality_topics=(20, 40),
            many_topics=(150,),
            scene_sweeps=20,
            scene_seeds=1,
            seeds=2,
            predicted_sweeps=8,
            whole_sweeps=8,
            whole_topics=40,
            whole_seeds=1,
            whole_groups=20,
            relevance_sweeps=4,
            relevance_seeds=1,
            unrelated_seeds=2,
            unrelated_chains=2,
            unrelated_sweeps=4,
            start_groups=100,
            start_chains=2,
            start_sweeps=10,
            n_number_sizes=1,
            number_starts=2,
            number_sweeps=40,
            letter_starts=2,
            identifiable_starts=1,
            identifiable_sweeps=50,
            level_starts=1,
            level_sweeps=10,
            un_chains=2,
            un_sweeps=6,
            type_sweeps=6,
            un_seeds=1,
            un_warm_up=2,
            related_sweeps=6,
            pairs=2,
            pair_seconds=0.2,
            thread_warm_up=5,
            device_sweeps=12,
            device_warm_up=6,
            device_large_sweeps=12,
            device_large_timed=12,
            consensus_groups=10_000,
            repeats=2,
            scale=0.05,
        )

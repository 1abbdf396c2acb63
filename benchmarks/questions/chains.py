"""Agreement of the consensus of disjoint sets of chains, by the number of chains in a set."""

from __future__ import annotations

import warnings
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.corpora import data_folder, share_of
from benchmarks.measure import cpu_seconds, run_parallel
from benchmarks.questions.agreement import SETS
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_CHAINS = 60
SIZES = (1, 2, 4, 8, 16, 30)
N_SWEEPS, THIN = 40, 10
N_SPLITS = 3  # of the chains into two sets


class ChainDraws(NamedTuple):
    """The kept draws of one chain, int32 (n_draws, n_groups), and its CPU-seconds."""

    draws: NDArray[np.int32]
    seconds: float


def run(settings: Settings) -> Result:
    available = [name for name, source in SETS.items() if data_folder(source.file) is not None]
    calls = [(name, seed, settings) for name in available for seed in range(N_CHAINS)]
    chains = dict(zip(calls, run_parallel(_fit, calls), strict=True)) if calls else {}
    rows: list[tuple[Cell, ...]] = []
    for name in available:
        selected = [chain for call, chain in chains.items() if call[0] == name]
        draws = [chain.draws for chain in selected]
        rows.append(
            (
                name,
                mean(_rand_index(chain[0], chain[-1]) for chain in draws),
                mean(_rand_index(one[-1], other[-1]) for one, other in combinations(draws, 2)),
                *(_agreement(draws, size) for size in SIZES),
                mean(chain.seconds for chain in selected),
            )
        )
    missing = [name for name in SETS if name not in available]
    return Result(
        title="Agreement of the consensus of several chains",
        columns=(
            "data set",
            "draws of one chain",
            "draws of two chains",
            *(f"{size} chain{'s' if size > 1 else ''}" for size in SIZES),
            "CPU-s per chain",
        ),
        rows=rows,
        notes=[
            f"{N_CHAINS} chains with the seeds 0 to {N_CHAINS - 1}, {N_SWEEPS} sweeps, every "
            f"{THIN}th draw of the second half, all contexts of the data set, other parameters "
            "at their defaults. Adjusted Rand index between the first and the last draw of a "
            "chain, between the last draws of two chains, and between the consensus of two "
            f"disjoint sets of as many chains, mean of {N_SPLITS} random choices.",
            *[f"{name} was skipped: the data set was not found." for name in missing],
        ],
    )


def _agreement(draws: list[NDArray[np.int32]], size: int) -> float:
    """Return the mean agreement of the consensus of two disjoint random sets of chains."""
    from mcsquared.posterior.consensus import consensus

    rng = np.random.default_rng(size)
    values = []
    for _ in range(N_SPLITS):
        order = rng.permutation(len(draws))
        both = (order[:size], order[size : 2 * size])
        values.append(
            _rand_index(*(consensus(np.concatenate([draws[c] for c in half])) for half in both))
        )
    return mean(values)


def _rand_index(one: NDArray[np.int32], other: NDArray[np.int32]) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(one, other))


def _fit(name: str, seed: int, settings: Settings) -> ChainDraws:
    from mcsquared import MC2, datasets

    source = SETS[name]
    data = getattr(datasets, source.loader)(data_folder(source.file))
    corpus = share_of(data.corpus, settings.scale, settings.seed)
    schedule = {"n_sweeps": N_SWEEPS, "burn_in": N_SWEEPS // 2, "thin": THIN}
    model = MC2(**schedule, random_state=seed, progress=False, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seconds = cpu_seconds(lambda: model.fit(corpus))
    return ChainDraws(model.posterior_.cluster_of_group, seconds)

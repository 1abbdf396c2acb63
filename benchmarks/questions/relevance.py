"""Contexts that tell nothing about the clusters: identifiers, random categories, permuted tags."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.corpora import data_folder
from benchmarks.measure import run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target, Unavailable

if TYPE_CHECKING:
    from mcsquared.corpus import Column

NONE, TRUE, JUNK = "none", "true", "true, identifiers, random categories"
SINGLE, BAGS = "every item in a random group", "those of another group"
UNRELATED = "identifier", "random"  # columns
N_RANDOM = 300  # random categories
MAX_CHANGE, MAX_RELEVANCE, SLACK = 0.01, 0.05, 0.02
MIN_AGREEMENT = {"labelme8": 0.59}  # of version 0.1.0, with the true context


class Source(NamedTuple):
    """A data set with classes, the context in question, and the ways to permute it."""

    file: str
    loader: str
    context: str
    classes: str
    permuted: tuple[str, ...]


SETS = {
    "labelme8": Source("labelme8.npz", "load_labelme", "tags", "label", (SINGLE, BAGS)),
    "reuters21578": Source("reuters21578.npz", "load_reuters", "places", "topics", (SINGLE,)),
}


class Fitted(NamedTuple):
    """Agreement with the classes, number of clusters, and relevance by context.

    ``chain_agreement`` is the agreement of the last draw of every chain.
    """

    agreement: float
    n_clusters: int
    relevance: dict[str, float]
    chain_agreement: tuple[float, ...] = ()


def run(settings: Settings) -> Result:
    """Compare contexts whose items are permuted with none."""
    available = available_sets(settings)
    calls = [
        (name, case, seed, settings)
        for name in available
        for case in (NONE, *SETS[name].permuted)
        for seed in range(settings.relevance_seeds)
    ]
    fits = dict(zip(calls, run_parallel(fit_once, calls), strict=True))
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    for name in available:
        found = {
            case: [fits[call] for call in calls if call[:2] == (name, case)]
            for case in (NONE, *SETS[name].permuted)
        }
        rows += [(name, case, *row_of(fitted, name)) for case, fitted in found.items()]
        without, moved = (mean(one.agreement for one in found[case]) for case in (NONE, SINGLE))
        what = f"{name}, change of AMI by permuted items"
        targets.append(Target(what, abs(moved - without), SLACK, False, ""))
    return Result(
        "Contexts whose items are permuted",
        ("data set", "context", "AMI", "lowest", "highest", "clusters", "relevance"),
        rows,
        targets=targets,
        notes=[
            f"Means over {settings.relevance_seeds} seeds; {settings.relevance_sweeps} sweeps of "
            "one chain, half of them burn-in. AMI: adjusted mutual information of clusters and "
            "classes, which are not used for fitting (scenes of images; topics of newswires that "
            "have exactly one). The context: tags of images, places of newswires. "
            f"'{SINGLE}': all items of all groups are permuted, so that they carry no "
            f"information; '{BAGS}': the items of a group stay together, and form clusters of "
            "their own that the content does not share.",
        ],
    )


def available_sets(settings: Settings) -> list[str]:
    """Return the names of the data sets on this machine."""
    found = [] if settings.simulated else [name for name in SETS if data_folder(SETS[name].file)]
    if not found:
        raise Unavailable("none of the data sets was found")
    return found


def row_of(fitted: list[Fitted], name: str) -> tuple[Cell, ...]:
    """Return the figures of one case."""
    scores = [one.agreement for one in fitted]
    clusters = mean(float(one.n_clusters) for one in fitted)
    return mean(scores), min(scores), max(scores), clusters, relevances(fitted, name)[0]


def relevances(fitted: list[Fitted], name: str) -> list[Cell]:
    """Return the mean relevance of the context, identifiers and random categories, if used."""
    return [
        mean(one.relevance[key] for one in fitted) if key in fitted[0].relevance else None
        for key in (SETS[name].context, *UNRELATED)
    ]


def run_unrelated(settings: Settings) -> Result:
    """Compare the consensus of several chains with and without unrelated columns."""
    available, seeds = available_sets(settings), range(settings.unrelated_seeds)
    calls = [
        (name, case, seed, settings)
        for name in available
        for seed in seeds
        for case in (TRUE, JUNK)
    ]
    fits = dict(zip(calls, run_parallel(fit_chains, calls), strict=True))
    rows: list[tuple[Cell, ...]] = []
    targets = []
    for name in available:
        without, junk = (
            [fits[name, case, seed, settings] for seed in seeds] for case in (TRUE, JUNK)
        )
        rows += [
            (name, TRUE, *consensus_row(without), *relevances(without, name)),
            (name, JUNK, *consensus_row(junk), *relevances(junk, name)),
            (name, "difference", *differences(without, junk), None, None, None),
        ]
        targets += targets_of_consensus(name, without, junk)
    columns = ("data set", "context", "AMI", "s.e.", "AMI of single draws", "s.e.", "clusters")
    return Result(
        "Unrelated columns and the consensus of several chains",
        (*columns, "relevance", "of identifiers", "of random categories"),
        rows,
        targets=targets,
        notes=[
            f"{settings.unrelated_seeds} fits each, with {settings.unrelated_chains} chains of "
            f"{settings.unrelated_sweeps} sweeps, half of them burn-in. AMI: adjusted mutual "
            "information of `labels_`, the consensus of all chains, with the classes; of single "
            "draws: that of the last draw of every chain. Differences are paired by seed for the "
            "consensus, and unpaired for single draws. The context is as in the table above; "
            f"identifiers are unique, and there are {N_RANDOM} random categories.",
            *(f"{name} was left out." for name in SETS if name not in available),
        ],
    )


def targets_of_consensus(name: str, without: list[Fitted], junk: list[Fitted]) -> list[Target]:
    """Return the figures of the consensus of one data set that have a bound."""
    agreement = mean(one.agreement for one in without)
    change = abs(mean(one.agreement for one in junk) - agreement)
    what = f"{name}, change of AMI of the consensus by unrelated columns"
    found = max(mean(one.relevance[column] for one in junk) for column in UNRELATED)
    targets = [
        Target(what, change, MAX_CHANGE, False, ""),
        Target(f"{name}, relevance of unrelated columns", found, MAX_RELEVANCE, False, ""),
    ]
    if name in MIN_AGREEMENT:
        what = f"{name}, AMI of the consensus with the true context"
        targets.append(Target(what, agreement, MIN_AGREEMENT[name], True, ""))
    return targets


def consensus_row(fitted: list[Fitted]) -> tuple[Cell, ...]:
    """Return means over fits, with standard errors."""
    scores = [one.agreement for one in fitted]
    single = [score for one in fitted for score in one.chain_agreement]
    clusters = mean(float(one.n_clusters) for one in fitted)
    return mean(scores), standard_error(scores), mean(single), standard_error(single), clusters


def differences(without: list[Fitted], junk: list[Fitted]) -> tuple[Cell, ...]:
    """Return the differences of the figures of `consensus_row`, with standard errors."""
    paired = [b.agreement - a.agreement for a, b in zip(without, junk, strict=True)]
    rows = np.array([consensus_row(without), consensus_row(junk)], float)
    single, clusters = rows[1, [2, 4]] - rows[0, [2, 4]]
    return mean(paired), standard_error(paired), single, float(np.hypot(*rows[:, 3])), clusters


def standard_error(values: list[float]) -> float:
    """Return the standard error of a mean; nan for one value."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def fit_once(name: str, case: str, seed: int, settings: Settings) -> Fitted:
    """Fit one chain."""
    return fit(name, case, seed, settings.relevance_sweeps, 1)


def fit_chains(name: str, case: str, seed: int, settings: Settings) -> Fitted:
    """Fit several chains."""
    return fit(name, case, seed, settings.unrelated_sweeps, settings.unrelated_chains)


def fit(name: str, case: str, seed: int, n_sweeps: int, n_chains: int) -> Fitted:
    """Fit one data set with the contexts of one case."""
    from sklearn.metrics import adjusted_mutual_info_score

    from mcsquared import MC2, datasets

    source = SETS[name]
    data = getattr(datasets, source.loader)(data_folder(source.file))
    classes = data.labels[source.classes]
    scored = np.array([label != "" and "|" not in label for label in classes])
    contexts = contexts_of(case, data.corpus.contexts[source.context], seed)
    model = MC2(
        contexts={context: family for context, (_, family) in contexts.items()},
        n_sweeps=n_sweeps,
        burn_in=n_sweeps // 2,
        n_chains=n_chains,
        n_jobs=1,
        random_state=seed,
        progress=False,
    )
    corpus = data.corpus.with_contexts({key: values for key, (values, _) in contexts.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(corpus)
    posterior = model.posterior_
    last = np.flatnonzero(np.diff(posterior.chain_of_draw, append=-1))
    score, *chain_agreement = (
        float(adjusted_mutual_info_score(classes[scored], labels[scored]))
        for labels in (model.labels_, *posterior.cluster_of_group[last])
    )
    relevance = posterior.relevance().set_index("context")["mean"].to_dict()
    return Fitted(score, model.n_clusters_, relevance, tuple(chain_agreement))


def contexts_of(case: str, column: Column, seed: int) -> dict[str, tuple[Any, str]]:
    """Return values and family of every context of a case, by name."""
    rng, bags = np.random.default_rng(seed), items_of(column)
    permute: dict[str, Callable[[], list[list[Any]]]] = {
        TRUE: lambda: bags,
        JUNK: lambda: bags,
        SINGLE: lambda: shuffled(bags, rng),
        BAGS: lambda: [bags[j] for j in rng.permutation(len(bags))],
    }
    contexts: dict[str, tuple[Any, str]] = {}
    if case in permute:
        contexts[column.name] = permute[case](), "bag"
    if case == JUNK:
        random = rng.integers(0, N_RANDOM, len(bags))
        identifier, category = UNRELATED
        contexts[identifier] = [f"id {j}" for j in range(len(bags))], "categorical"
        contexts[category] = [f"category {i}" for i in random], "categorical"
    return contexts


def items_of(column: Column) -> list[list[Any]]:
    """Return the items of every group."""
    matrix, names = column.values, column.categories
    return [
        [names[i] for i, n in zip(row.indices, row.data, strict=True) for _ in range(int(n))]
        for row in matrix
    ]


def shuffled(bags: list[list[Any]], rng: np.random.Generator) -> list[list[Any]]:
    """Return bags of the same sizes, filled with the items of all bags in random order."""
    items = [item for bag in bags for item in bag]
    left = iter([items[i] for i in rng.permutation(len(items))])
    return [[next(left) for _ in bag] for bag in bags]

"""Contexts of held-out groups of whole data sets, predicted with and without effects."""

from __future__ import annotations

import time
import warnings
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.corpora import data_folder
from benchmarks.questions.predicted_methods import N_FIRST, TASKS, Task, score
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target, Unavailable

if TYPE_CHECKING:
    from mcsquared import MC2
    from mcsquared.corpus import Corpus

HELD_OUT = 0.1  # the split of `mc2 reproduce topic-over-time`
CLUES, EFFECTS = "clues", "effects"
SETS = {"UN speeches": TASKS[:2], "NIPS": TASKS[2:3]}
MIN_FIRST = {"UN speeches": 0.4, "NIPS": 0.15}
MIN_AMONG = {"UN speeches": 0.75}
MIN_NEAR, COVERAGE, MAX_INCREASE = 0.75, (0.85, 0.95), 0.3


class Scored(NamedTuple):
    """Figures of one fit; those of numbers are None if the data set has no number to predict."""

    first: Cell
    among: Cell
    near: Cell
    median_error: Cell
    inside: Cell
    width: Cell
    perplexity: float
    perplexity_given: float
    n_groups: int
    seconds: float


def run(settings: Settings) -> Result:
    sets = {
        name: tasks
        for name, tasks in SETS.items()
        if not settings.simulated and data_folder(tasks[0].file)
    }
    if not sets:
        raise Unavailable("none of the data sets was found")
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    for name, tasks in sets.items():
        found: dict[str, list[Scored]] = {CLUES: [], EFFECTS: []}
        for seed in range(settings.whole_seeds):
            for kind in found:
                found[kind].append(fit_and_score(tasks, kind, seed, settings))
                rows.append((name, kind, seed, *found[kind][-1]))
        targets += targets_of(name, found)
    columns = ("data set", "contexts", "seed", "first", f"among {N_FIRST}", "near", "median error")
    columns += ("90% interval", "width", "perplexity", "contexts given", "held out", "CPU-s")
    return Result(
        "Contexts of held-out groups of whole data sets",
        columns,
        rows,
        targets=targets,
        notes=[
            f"{HELD_OUT:.0%} of the groups are held out at random; at most "
            f"{settings.whole_groups} of them, evenly spaced, are predicted. "
            f"{settings.whole_sweeps} sweeps, half of them burn-in, one chain, at most "
            f"{settings.whole_topics} topics. UN speeches: "
            "country (given text and year) and year (given text and country); NIPS: authors "
            "(given text and year). 'first' and 'among' are shares of the held-out groups one of "
            f"whose values is the first or among the first {N_FIRST} predictions; groups none of "
            "whose values occurs in training are left out. 'near': the predicted year is within 5 "
            "years. '90% interval': share of the groups whose year it contains, with its mean "
            "width in years.",
            "Perplexity of the completion of these groups, contexts not used and contexts given. "
            "The last column is the CPU time of the fit, on one thread.",
        ],
    )


def targets_of(name: str, found: dict[str, list[Scored]]) -> list[Target]:
    """Return the figures of one data set that have a bound, means over seeds."""
    effects, pairs = found[EFFECTS], zip(found[EFFECTS], found[CLUES], strict=True)

    def average(field: str) -> float:
        return mean(getattr(one, field) for one in effects)

    increase = 100.0 * (mean(effect.perplexity / clue.perplexity for effect, clue in pairs) - 1.0)
    targets = [
        Target(f"{name}, first prediction right", average("first"), MIN_FIRST[name], True, ""),
        Target(f"{name}, increase of perplexity by effects", increase, MAX_INCREASE, False, "%"),
    ]
    if name in MIN_AMONG:
        what = f"{name}, right value among {N_FIRST}"
        targets.insert(1, Target(what, average("among"), MIN_AMONG[name], True, ""))
    if effects[0].near is not None:
        inside, what = average("inside"), f"{name}, 90% intervals of the year contain it"
        near = f"{name}, year within 5 years"
        targets.append(Target(near, average("near"), MIN_NEAR, True, ""))
        targets += [Target(what, inside, at, at < 0.9, "") for at in COVERAGE]
    return targets


def fit_and_score(tasks: tuple[Task, ...], kind: str, seed: int, settings: Settings) -> Scored:
    """Fit the training groups of one split and score the predictions for held-out ones."""
    corpus = tasks[0].load()
    if settings.scale < 1.0:
        corpus = corpus.split(settings.scale, random_state=0)[1]
    train, test = corpus.split(HELD_OUT, random_state=seed)
    spaced = np.linspace(0, test.n_groups - 1, min(test.n_groups, settings.whole_groups))
    test, began = test[spaced.astype(int)], time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds that bind, and of short fits
        model = fit(train, kind, seed, settings)
        seconds = time.process_time() - began
        who, when = score_tasks(model, train, test, tasks)
        perplexity = model.perplexity(test)
        given = model.perplexity(test, given_contexts=True)
    return Scored(*who, *when, perplexity, given, test.n_groups, seconds)


def fit(train: Corpus, kind: str, seed: int, settings: Settings) -> MC2:
    """Fit one chain."""
    from mcsquared import MC2

    return MC2(
        effects=list(train.contexts) if kind == EFFECTS else [],
        n_sweeps=settings.whole_sweeps,
        burn_in=settings.whole_sweeps // 2,
        max_topics=settings.whole_topics,
        n_chains=1,
        n_jobs=1,
        random_state=seed,
        progress=False,
    ).fit(train)


def score_tasks(
    model: MC2, train: Corpus, test: Corpus, tasks: tuple[Task, ...]
) -> tuple[list[Cell], list[Cell]]:
    """Return the figures of the category or bag, and those of the number."""
    who: list[Cell] = [None] * 2
    when: list[Cell] = [None] * 4
    for task in tasks:
        if test.contexts[task.context].kind == "number":
            found = model.predict_context(test, task.context)[["mean", "lower", "upper"]]
            bounds = found.to_numpy(float)
            _, _, error, near, inside, _ = score(bounds, train, test, task)
            when = [near, error, inside, float((bounds[:, 2] - bounds[:, 1]).mean())]
        else:
            frame = model.predict_context(test, task.context, top=N_FIRST)
            ranked = frame["value"].to_numpy().reshape(test.n_groups, -1)
            who = list(score(ranked, train, test, task)[:2])
    return who, when

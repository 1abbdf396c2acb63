"""Contexts of held-out groups, predicted by mcsquared and by other models, on parts of the data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import regressions
from benchmarks.corpora import data_folder
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Unavailable

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

EFFECTS, CLUES = "mcsquared, effects", "mcsquared, clusters only"
UNITS = "mcsquared, as a level above groups"
N_TOPICS = 100  # of LDA and DMR, and the upper bound for mcsquared
N_FIRST = 5
LEVEL = "90% interval"

COLUMNS = (
    "context",
    "method",
    "first",
    f"among {N_FIRST}",
    "median error",
    "near",
    LEVEL,
    "held out",
    "CPU-s",
)


@dataclass(frozen=True)
class Task:
    """A context to be predicted from the content and the other contexts of a corpus.

    ``near`` is the error below which a number counts as near; ``names_units`` says whether the
    values are also predicted as units of a level above groups.
    """

    title: str
    file: str
    context: str
    load: Callable[[], Corpus]
    n_training: int
    n_held_out: int
    near: float | None = None
    names_units: bool = False


def load_speeches() -> Corpus:
    from mcsquared import datasets

    return datasets.load_un(data_folder("ungdc.npz")).corpus


def load_papers() -> Corpus:
    from mcsquared import datasets

    papers = datasets.load_nips(data_folder("nips12.npz")).corpus
    return papers.with_contexts({name: papers.contexts[name] for name in ("year", "authors")})


def load_newswires() -> Corpus:
    from mcsquared import datasets

    return datasets.load_reuters(data_folder("reuters21578.npz")).corpus


def load_posts() -> Corpus:
    from mcsquared import datasets

    posts = datasets.load_poliblog(data_folder("poliblog5k.npz"))
    return posts.corpus.with_contexts({**posts.corpus.contexts, "blog": posts.labels["blog"]})


def load_achievement() -> Corpus:
    """Return the intake scores of the pupils of each school; the mean exam score is a context."""
    from mcsquared import datasets
    from mcsquared.corpus import Corpus

    schools = datasets.load_schools(data_folder("mlmRev_Exam.csv")).corpus
    start, scores = schools.content.start, schools.content.values
    pupils = np.split(scores, start[1:-1])
    achievement = np.array([school[:, 0].mean() for school in pupils])
    contexts = {"gender": schools.contexts["gender"], "achievement": achievement}
    return Corpus([school[:, 1:] for school in pupils], contexts)


TASKS = (
    Task("country of UN speeches", "ungdc.npz", "country", load_speeches, 2_000, 400, None, True),
    Task("year of UN speeches", "ungdc.npz", "year", load_speeches, 2_000, 400, near=5.0),
    Task("an author of NIPS papers", "nips12.npz", "authors", load_papers, 1_566, 174),
    Task("a place of Reuters newswires", "reuters21578.npz", "places", load_newswires, 4_000, 500),
    Task("blog of political posts", "poliblog5k.npz", "blog", load_posts, 4_000, 500),
    Task("achievement of schools", "mlmRev_Exam.csv", "achievement", load_achievement, 40, 25, 0.2),
)


def run(settings: Settings) -> Result:
    rows: list[tuple[Cell, ...]] = []
    tasks = [task for task in TASKS if not settings.simulated and data_folder(task.file)]
    if not tasks:
        raise Unavailable("none of the data sets was found")
    for task in tasks:
        train, test = halves(task, settings)
        for method, predict in methods(task, settings):
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of bounds that bind, and of short fits
                found = predict(train, test, task.context)
            seconds = time.process_time() - began
            rows.append((task.title, method, *score(found, train, test, task), seconds))
    return Result(
        "Contexts of held-out groups, predicted from their content and the other contexts",
        COLUMNS,
        rows,
        notes=notes(settings),
    )


def notes(settings: Settings) -> list[str]:
    sizes = ", ".join(f"{task.title} {task.n_training:,}" for task in TASKS)
    return [
        f"Random groups for training ({sizes}) and others held out, one seed. 'first' and 'among "
        f"{N_FIRST}' are shares of the held-out groups one of whose values is the first or among "
        f"the first {N_FIRST} predictions; groups none of whose values occurs in training are left "
        "out. 'near': the year within 5 years, the mean exam score of a school within 0.2. The "
        "last column is the CPU time of training and prediction, on one thread.",
        f"mcsquared: {settings.predicted_sweeps} sweeps, half of them burn-in, at most {N_TOPICS} "
        "topics; all contexts are effects, or none. As a level, countries of one type differ in "
        "their numbers of speeches only. "
        f"LDA and DMR (tomotopy): {N_TOPICS} topics, as many sweeps. With DMR the topics of a "
        "group are inferred without the context, whose values are then compared by the "
        "probability of these topics. Regressions: logistic for categories, a row for every value "
        "of a bag, ridge for numbers; features of the other contexts are included. TF-IDF is "
        f"reduced to {regressions.N_COMPONENTS} components if there would be more than "
        f"{regressions.MAX_COEFFICIENTS // 10**6} million coefficients. 'frequency' always "
        "predicts the most frequent values, or the mean.",
        "Schools: the content is the intake score of every pupil, the gender of the school is "
        "given. Summaries are the mean and the standard deviation of the content.",
    ]


def halves(task: Task, settings: Settings) -> tuple[Corpus, Corpus]:
    """Return training and held-out groups of a task."""
    corpus = task.load()
    order = np.random.default_rng(settings.seed).permutation(corpus.n_groups)
    share = settings.scale if task.n_training > 100 else 1.0
    n_training, n_held_out = (max(round(share * n), 20) for n in (task.n_training, task.n_held_out))
    chosen = order[: n_training + n_held_out]
    return corpus[np.sort(chosen[:n_training])], corpus[np.sort(chosen[n_training:])]


def methods(task: Task, settings: Settings) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods by name; each returns ranked values, or means and bounds of numbers."""
    from mcsquared.corpus import Words

    yield EFFECTS, lambda *given: predict_mc2(*given, settings, True)
    yield CLUES, lambda *given: predict_mc2(*given, settings, False)
    if task.names_units:
        yield UNITS, lambda *given: predict_unit(*given, settings)
    if isinstance(task.load().content, Words):
        yield "DMR", lambda *given: regressions.predict_dmr(*given, N_TOPICS, settings)
        yield "regression on TF-IDF", lambda *given: regressions.on_words(*given)
        yield (
            "regression on LDA topics",
            lambda *given: regressions.on_topics(*given, N_TOPICS, settings),
        )
    else:
        yield "regression on summaries", lambda *given: regressions.on_summaries(*given)
    yield "frequency", lambda *given: regressions.by_frequency(*given)


def predict_mc2(
    train: Corpus, test: Corpus, context: str, settings: Settings, with_effects: bool
) -> Any:
    """Return the predictions of mcsquared; with effects of all contexts, or of none."""
    from mcsquared import MC2

    n_sweeps = settings.predicted_sweeps
    model = MC2(
        effects=list(train.contexts) if with_effects else [],
        n_sweeps=n_sweeps,
        burn_in=n_sweeps // 2,
        max_topics=N_TOPICS,
        n_jobs=1,
        random_state=settings.seed,
        progress=False,
    ).fit(train)
    if test.contexts[context].kind == "number":
        frame = model.predict_context(test, context)
        return frame[["mean", "lower", "upper"]].to_numpy(float)
    frame = model.predict_context(test, context, top=N_FIRST)
    return frame["value"].to_numpy().reshape(test.n_groups, -1)


def predict_unit(train: Corpus, test: Corpus, context: str, settings: Settings) -> Any:
    """Return the predictions of mcsquared if the values are units of a level above groups."""
    return predict_mc2(train.with_levels(context), test, context, settings, False)


def score(found: Any, train: Corpus, test: Corpus, task: Task) -> tuple[Cell, ...]:
    """Return the figures of one method: the columns between its name and its time."""
    column = test.contexts[task.context]
    if column.kind == "number":
        truth = column.values
        error = np.abs(found[:, 0] - truth)
        inside = None
        if found.shape[1] > 1:
            inside = float(((found[:, 1] <= truth) & (truth <= found[:, 2])).mean())
        near = float((error <= task.near).mean())
        return None, None, float(np.median(error)), near, inside, len(truth)
    known = {value for values in regressions.values_of(train, task.context) for value in values}
    truth = regressions.values_of(test, task.context)
    ranks = [
        next((rank for rank, value in enumerate(found[j]) if value in values), N_FIRST)
        for j, values in enumerate(truth)
        if known.intersection(values)
    ]
    first = float(np.mean([rank < 1 for rank in ranks]))
    among = float(np.mean([rank < N_FIRST for rank in ranks]))
    return first, among, None, None, None, len(ranks)

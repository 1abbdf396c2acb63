"""Speed of predictions for held-out groups, and their agreement with Gibbs sampling."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.corpora import data_folder
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target, Unavailable

if TYPE_CHECKING:
    from mcsquared import MC2
    from mcsquared.corpus import Corpus

FAST = "variational (default)"
GOAL = 1_000_000.0  # tokens per CPU-second
COLUMNS = (
    "method",
    "clusters, CPU-s",
    "topics, CPU-s",
    "completion, CPU-s",
    "tokens per CPU-s",
    "clusters, distance",
    "same cluster",
    "topics, distance",
    "perplexity",
)


def run(settings: Settings) -> Result:
    from mcsquared import MC2, datasets

    folder = data_folder("nips12.npz")
    if settings.simulated or not folder:
        raise Unavailable("the data set nips12 was not found")
    train, test = datasets.load_nips(folder).corpus.split(0.1, random_state=settings.seed)
    if settings.scale < 1.0:
        train, test = train[: max(100, round(settings.scale * train.n_groups))], test[:10]
    n_sweeps = settings.predicted_sweeps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short fits
        options = {"n_sweeps": n_sweeps, "burn_in": n_sweeps // 2, "n_chains": 1, "n_jobs": 1}
        model = MC2(**options, random_state=0, progress=False).fit(train)
    predictions(model, test[:3], "auto", 0)  # compiles
    reference = predictions(model, test, "gibbs", 0)
    found = {
        FAST: predictions(model, test, "auto", 0),
        "Gibbs": reference,
        "Gibbs, another seed": predictions(model, test, "gibbs", 1),
    }
    rows = [row(name, result, reference, test) for name, result in found.items()]
    speed = test.n_tokens / sum(found[FAST]["seconds"])
    return Result(
        f"Predictions for {test.n_groups} held-out NIPS papers",
        COLUMNS,
        rows,
        targets=[Target("predictions, NIPS", speed, GOAL, True, "tokens/CPU-s")],
        notes=notes(model, test, n_sweeps),
    )


def predictions(model: MC2, test: Corpus, fold_in: str, seed: int) -> dict[str, Any]:
    """Return clusters, topics and the perplexity of groups, each with its CPU-seconds."""
    from mcsquared.prediction.parameters import _cache

    posterior, seconds = model.posterior_, []
    posterior.seed = seed
    model.set_params(fold_in=fold_in)
    vars(posterior).pop("_last_cluster_probabilities", None)
    _cache.clear()  # so that every run draws the parameters once
    result = []
    for predict in (lambda groups: _clusters(model, groups), model.transform, model.perplexity):
        began = time.process_time()
        result.append(predict(test))
        seconds.append(time.process_time() - began)
    clusters, topics, perplexity = result
    return {"clusters": clusters, "topics": topics, "value": perplexity, "seconds": seconds}


def _clusters(model: MC2, test: Corpus) -> Any:
    """Return the probability of every cluster, the last of them new."""
    model.predict(test)
    new = model.predict_new_proba(test)[:, None]
    return np.hstack([model.predict_proba(test) * (1.0 - new), new])


def row(name: str, found: Any, reference: Any, test: Corpus) -> tuple[Cell, ...]:
    speed = test.n_tokens / sum(found["seconds"])
    if found is reference:
        return name, *found["seconds"], speed, None, None, None, found["value"]
    clusters, topics = (
        float(0.5 * np.abs(found[key] - reference[key]).sum(axis=1).mean())
        for key in ("clusters", "topics")
    )
    same = found["clusters"].argmax(axis=1) == reference["clusters"].argmax(axis=1)
    return name, *found["seconds"], speed, clusters, float(same.mean()), topics, found["value"]


def notes(model: MC2, test: Corpus, n_sweeps: int) -> list[str]:
    posterior = model.posterior_
    return [
        f"{test.n_tokens:,} tokens, {test.content.counts.nnz:,} distinct words of groups; "
        f"{len(posterior.parameters)} draws of a fit of {n_sweeps} sweeps with "
        f"{model.n_clusters_} clusters and {model.n_topics_} topics. 'clusters' is `predict`, "
        "`predict_proba` and `predict_new_proba`, computed once; 'topics' is `transform`, "
        "'completion' is `perplexity`; the speed is that of all of them together.",
        "Distances are total variation between the probabilities of a group, averaged over groups, "
        "relative to Gibbs sampling with the first seed: those of the second seed are its Monte "
        "Carlo error. The halves of the groups in 'completion' depend on the seed.",
        "A quarter of the time is the topics of first halves; a tenth each are the prediction of "
        "second halves, the sampled clusters of the only short paper, and contexts.",
    ]

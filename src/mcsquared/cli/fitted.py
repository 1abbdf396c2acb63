"""mc2 predict, evaluate and report: commands that use a fitted model."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from mcsquared import evaluation
from mcsquared.cli.guard import check_output
from mcsquared.cli.reading import FileOptions, corpora_for_model, read_for_model, texts_for_model
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError, ModelFileError, input_errors
from mcsquared.estimator import MC2
from mcsquared.families.registry import class_for_kind
from mcsquared.markup import plural
from mcsquared.prediction.groups import align
from mcsquared.storage import write_text

_MODEL_SUFFIX = ".mc2"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
FLOAT_FORMAT = "%.4g"  # of numbers in tables
MAX_TRAINING_GROUPS = 1000  # from which a reference perplexity is computed
PERPLEXITIES = {
    "completion": "one half of each group's words given the other half",
    "exact": "all words of each group, clusters and topics summed out; requires lam=inf",
    "left_to_right": "all words of each group, estimated word by word; for finite lam",
    "printed": "the paper's formula, which is not a probability; compare with the paper only",
}


def predict(model_file: Path, file: FileOptions, out: Path, raw: bool) -> None:
    """Write the clusters and topic shares of new groups to a CSV file, atomically."""
    check_output(out, model_file, file.path)
    model = _load(model_file, file.path)
    clusters: Counter[int] = Counter()  # number of groups in each

    def batches() -> Iterator[str]:
        for corpus in corpora_for_model(model, file):
            table = prediction_table(model, corpus)
            if not raw:
                table["group"] = [without_formula(name) for name in table["group"]]
            yield table.to_csv(index=False, header=not clusters, float_format=FLOAT_FORMAT)
            clusters.update(table["cluster"].tolist())

    write_text(out, batches())
    found = f"{plural(clusters.total(), 'group')} in {plural(len(clusters), 'cluster')}"
    typer.echo(f"{found}, written to {out}")


def _load(model_file: Path, file: Path) -> MC2:
    """Load the model; the error points out if model and file were given in the wrong order."""
    try:
        return MC2.load(model_file)
    except ModelFileError as error:
        if file.suffix == _MODEL_SUFFIX and model_file.suffix != _MODEL_SUFFIX:
            raise ModelFileError(f"{error}; MODEL must come before FILE") from error
        raise


def without_formula(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def prediction_table(model: MC2, corpus: Corpus) -> pd.DataFrame:
    """Return one row per group: cluster, probabilities, and topic shares that sum to 1."""
    probability = np.asarray(model.predict_proba(corpus))
    shares = np.asarray(model.transform(corpus))
    columns = {
        "group": corpus.group_names,
        "cluster": probability.argmax(axis=1),
        "probability": probability.max(axis=1),
        "new_cluster_probability": np.asarray(model.predict_new_proba(corpus)),
    }
    topics = pd.DataFrame(shares, columns=[f"topic_{m}" for m in range(shares.shape[1])])
    return pd.concat([pd.DataFrame(columns), topics], axis=1)


def evaluate(
    model_file: Path,
    file: FileOptions,
    methods: list[str],
    given_contexts: bool,
    labels: str | None,
    training: Path | None = None,
) -> None:
    """Print each perplexity with its references, and clustering scores if labels are given."""
    for method in methods:
        if method not in PERPLEXITIES:
            raise InputError(f"--method must be one of {', '.join(PERPLEXITIES)}, got {method!r}")
    model = _load(model_file, file.path)
    if not methods:
        # Left to right takes hundreds of times as long, so it is not a default.
        paper = model.posterior_.priors.lam == math.inf
        methods = ["completion", "exact"] if paper else ["completion"]
    corpus = read_for_model(model, file, labels)
    truth = None if labels is None else _class_labels(corpus, labels)
    if corpus.n_tokens == 0:
        raise InputError(f"{file.path} contains no words of the model's vocabulary")
    typer.echo(f"{plural(corpus.n_groups, 'group')}, {plural(corpus.n_tokens, 'token')}")
    reference = unigram_perplexity(model, corpus)
    if reference is not None:
        typer.echo(f"reference: {reference:.2f} with the word frequencies of the training groups")
    trained_on = None if training is None else _training_groups(model, replace(file, path=training))
    for method in dict.fromkeys(methods):
        value = model.perplexity(corpus, method=method, given_contexts=given_contexts)
        given = ", given the contexts" if given_contexts else ""
        typer.echo(f"perplexity ({method}{given}): {value:.2f}  [{PERPLEXITIES[method]}]")
        if trained_on is not None:
            value = model.perplexity(trained_on, method=method, given_contexts=given_contexts)
            groups = plural(trained_on.n_groups, "training group")
            typer.echo(f"  reference: {value:.2f} for {groups}, as if they were new")
    if truth is not None:
        _print_scores(truth, np.asarray(model.predict(corpus)))


def _training_groups(model: MC2, file: FileOptions) -> Corpus:
    """Return the groups of the training file, a random sample if there are many."""
    corpus = read_for_model(model, file)
    if corpus.n_groups <= MAX_TRAINING_GROUPS:
        return corpus
    rng = np.random.default_rng(0)
    return corpus[np.sort(rng.choice(corpus.n_groups, MAX_TRAINING_GROUPS, replace=False))]


def unigram_perplexity(model: MC2, corpus: Corpus) -> float | None:
    """Return the perplexity of the words' shares of the training tokens; None for vectors.

    One is added to every frequency, so that no word has probability zero. A useful model has a
    lower perplexity.
    """
    posterior = model.posterior_
    if posterior.word_frequency is None:
        return None
    counts = np.asarray(align(posterior, corpus).word_frequency)
    frequency = posterior.word_frequency + 1.0
    log_share = np.log(frequency / frequency.sum())
    return float(np.exp(-(counts @ log_share) / max(counts.sum(), 1)))


def _class_labels(corpus: Corpus, name: str) -> NDArray[Any]:
    """Return the class of each group as a code, -1 if it is missing."""
    column = corpus.contexts[name]
    codes = np.asarray(column.convert_for(class_for_kind("category")).values)
    if not (codes >= 0).any():
        raise InputError(f"--labels must be a column with values, got {name!r}")
    return codes


def _print_scores(truth: NDArray[Any], found: NDArray[Any]) -> None:
    """Print how well clusters and classes agree, over the groups with a class."""
    has_class = truth >= 0
    truth, found = truth[has_class], found[has_class]
    scores = {
        "purity": evaluation.purity(truth, found),
        "NMI": evaluation.nmi(truth, found),
        "Rand index": evaluation.rand_index(truth, found),
        "adjusted Rand index": evaluation.adjusted_rand_index(truth, found),
        "pairwise F-score": evaluation.pairwise_scores(truth, found).f_score,
    }
    typer.echo(f"clusters against {len(np.unique(truth))} classes of {len(truth)} groups:")
    for score, value in scores.items():
        typer.echo(f"  {score}: {value:.4f}")


def _names_from(path: Path) -> dict[str, dict[int, str]]:
    """Return the names in a JSON file: {"clusters": {"0": "sports"}, "topics": {}}."""
    with input_errors(
        f"--labels {path} is invalid", OSError, ValueError, AttributeError, TypeError
    ):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not found.keys() <= {"clusters", "topics"}:
            raise ValueError('it must contain "clusters" and "topics"')
        return {kind: {int(k): str(v) for k, v in names.items()} for kind, names in found.items()}


def report(
    model_file: Path, file: FileOptions | None, out: Path, title: str, labels: Path | None
) -> None:
    """Write the report of a model; the training data, if given, add the topics of each group."""
    from mcsquared.report import write_report

    check_output(out, model_file, *([] if file is None else [file.path]))
    model = MC2.load(model_file)
    if labels is not None:
        model.set_labels(**_names_from(labels)).save(model_file)
    corpus = texts = None
    if file is not None:
        table = file.table()
        corpus = read_for_model(model, file, training=table)
        texts = texts_for_model(model, file, table, corpus)
    write_report(model, out, corpus=corpus, title=title, texts=texts)
    typer.echo(
        f"{plural(model.n_clusters_, 'cluster')} and {plural(model.n_topics_, 'topic')} of "
        f"{plural(model.posterior_.n_groups, 'group')}, {out.stat().st_size / 1e6:.1f} MB, "
        f"written to {out}\nopen in a browser: {out.resolve().as_uri()}"
    )

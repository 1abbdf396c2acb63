"""mc2 evaluate: how well a model predicts held-out groups."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from mcsquared.cli.reading import FileOptions, read_for_model
from mcsquared.errors import InputError
from mcsquared.estimator import MC2
from mcsquared.families.registry import family_for_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcsquared.corpus import Corpus

METHODS = {
    "completion": "one half of each group's words given the other",
    "exact": "all words of each group, clusters and topics summed out; for --paper",
    "left_to_right": "all words of each group, estimated word by word; for groups that vary",
    "printed": "the paper's formula; not a probability, for comparison with its table only",
}


def run(
    model_file: Path,
    file: FileOptions,
    methods: list[str],
    given_contexts: bool,
    labels: str | None,
) -> None:
    """Print each perplexity, and clustering scores if labels are given."""
    for method in methods:
        if method not in METHODS:
            known = ", ".join(METHODS)
            raise InputError(f"--method must be one of {known}, got {method!r}")
    model = MC2.load(model_file)
    if not methods:
        paper = model.posterior_.priors.lam == math.inf
        methods = ["completion", "exact" if paper else "left_to_right"]
    corpus = read_for_model(model, file, labels)
    truth = None if labels is None else class_labels(corpus, labels)
    if corpus.n_tokens == 0:
        raise InputError(f"{file.path} has no word of the vocabulary of the model")
    typer.echo(f"{corpus.n_groups} groups, {corpus.n_tokens} tokens")
    for method in dict.fromkeys(methods):
        value = model.perplexity(corpus, method=method, given_contexts=given_contexts)
        given = ", given the contexts" if given_contexts else ""
        typer.echo(f"perplexity ({method}{given}): {value:.2f}  [{METHODS[method]}]")
    if truth is not None:
        show_scores(truth, np.asarray(model.predict(corpus)))


def class_labels(corpus: Corpus, name: str) -> NDArray[Any]:
    """Return the class of each group as a code, -1 where it is missing."""
    column = corpus.contexts[name]
    codes = np.asarray(column.convert_for(family_for_kind("category")).values)
    if not (codes >= 0).any():
        raise InputError(f"--labels must be a column with values, got {name!r}")
    return codes


def show_scores(truth: NDArray[Any], found: NDArray[Any]) -> None:
    """Print how well clusters and classes agree, over the groups with a class."""
    from mcsquared import evaluation

    known = truth >= 0
    truth, found = truth[known], found[known]
    pairs = evaluation.pairwise_scores(truth, found)
    scores = {
        "purity": evaluation.purity(truth, found),
        "NMI": evaluation.nmi(truth, found),
        "Rand index": evaluation.rand_index(truth, found),
        "adjusted Rand index": evaluation.adjusted_rand_index(truth, found),
        "pairwise F-score": pairs.f_score,
    }
    typer.echo(f"clusters against {len(np.unique(truth))} classes of {len(truth)} groups:")
    for score, value in scores.items():
        typer.echo(f"  {score}: {value:.4f}")

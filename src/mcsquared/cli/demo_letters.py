"""mc2 demo letters: the paper's simulation study."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np
import typer

from mcsquared.corpus import Corpus
from mcsquared.datasets import Letters, letters
from mcsquared.estimator import MC2
from mcsquared.evaluation import nmi

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

N_SWEEPS, BURN_IN = 800, 400
SMALLEST_SHARE = 0.04  # a letter below this share of a cluster is noise of the decomposition


def run(seed: int) -> tuple[MC2, Corpus]:
    """Fit the letters and print the clusters next to the truth."""
    from rich.console import Console

    data = letters(random_state=seed)
    typer.echo(
        f"{data.corpus.n_groups} groups of 50 pixels, each from the letters of one word of "
        "INTERNATIONAL CONFERENCE MACHINE LEARNING, with a number as context."
    )
    started = time.monotonic()
    model = MC2(lam=math.inf, n_sweeps=N_SWEEPS, burn_in=BURN_IN, random_state=seed)
    model.fit(data.corpus)
    seconds = time.monotonic() - started
    agreement = nmi(data.cluster_of_group, model.labels_)
    Console().print(cluster_table(model, data))
    n_true = len(np.unique(data.cluster_of_group))
    typer.echo(
        f"{model.n_clusters_} clusters (true: {n_true}), NMI {agreement:.3f} against the truth, "
        f"{model.n_topics_} topics, in {seconds:.1f} s."
    )
    return model, data.corpus


def cluster_table(model: MC2, data: Letters) -> Table:
    """Return a table with a row per cluster: size, mean of the context, letters."""
    from rich.table import Table

    table = Table(title="Clusters")
    for title in ("cluster", "groups", "context mean", "letters"):
        table.add_column(title, justify="left" if title == "letters" else "right")
    position = data.corpus.contexts["position"].values
    shares = letter_shares(model, data)
    for cluster in range(model.n_clusters_):
        members = model.labels_ == cluster
        order = np.argsort(-shares[cluster], kind="stable")
        names = [data.names[m] for m in order if shares[cluster, m] >= SMALLEST_SHARE]
        mean = np.nanmean(position[members])
        table.add_row(str(cluster), str(members.sum()), f"{mean:.2f}", " ".join(names))
    return table


def letter_shares(model: MC2, data: Letters) -> NDArray[np.float64]:
    """Return the share of each letter in the pixels of a cluster.

    Topics need not be letters: given the clusters the data determine no more than each
    cluster's distribution of pixels (docs/errata.md, line 13). So that distribution is what is
    compared with the true letters, by non-negative least squares.

    Returns
    -------
    float64 (n_clusters, n_letters)
        Rows sum to 1.
    """
    from scipy.optimize import nnls

    posterior = model.posterior_
    pixels = np.asarray(posterior.topic_given_cluster) @ np.asarray(posterior.word_given_topic)
    shares = np.stack([nnls(data.word_given_topic.T, row)[0] for row in pixels])
    return shares / shares.sum(axis=1, keepdims=True)

"""mc2 demo stdlib: the modules of the running Python's own standard library."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from mcsquared.corpus import Corpus
from mcsquared.datasets import standard_library
from mcsquared.estimator import MC2

if TYPE_CHECKING:
    from rich.table import Table

N_SWEEPS, BURN_IN = 200, 100
N_SHOWN = 5  # modules of a cluster, words of a topic
CLUSTERS_SHOWN = 12


def run(seed: int) -> tuple[MC2, Corpus]:
    """Cluster the modules by their words and print the clusters."""
    from rich.console import Console

    corpus = standard_library()
    typer.echo(
        f"{corpus.n_groups} modules of this Python's standard library: {corpus.n_tokens:,} words "
        "of their names, docstrings and comments; contexts are what they import, their size, and "
        "whether they are packages."
    )
    started = time.monotonic()
    model = MC2(n_sweeps=N_SWEEPS, burn_in=BURN_IN, random_state=seed)
    model.fit(corpus)
    seconds = time.monotonic() - started
    Console().print(cluster_table(model))
    typer.echo(f"{model.n_clusters_} clusters, {model.n_topics_} topics, in {seconds:.1f} s.")
    return model, corpus


def cluster_table(model: MC2) -> Table:
    """Return a table with a row per cluster: size, representative modules, main topics."""
    from rich.table import Table

    posterior = model.posterior_
    words = posterior.topics(N_SHOWN)["words"]
    table = Table(title="Clusters")
    table.add_column("cluster", justify="right")
    table.add_column("modules", justify="right")
    table.add_column("such as", overflow="fold")
    table.add_column("about", overflow="fold")
    for cluster in range(min(model.n_clusters_, CLUSTERS_SHOWN)):
        typical = posterior.representative_groups(cluster=cluster, n_groups=N_SHOWN)["name"]
        main = posterior.topic_given_cluster.iloc[cluster].nlargest(3).index
        table.add_row(
            str(cluster),
            str((model.labels_ == cluster).sum()),
            ", ".join(map(str, typical)),
            "; ".join(words[topic] for topic in main),
        )
    n_more = model.n_clusters_ - CLUSTERS_SHOWN
    if n_more > 0:
        table.caption = f"and {n_more} smaller ones"
    return table

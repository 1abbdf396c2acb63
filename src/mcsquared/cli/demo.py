"""mc2 demo: fit the paper's letters or the modules of the standard library; write the report."""

import math
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from mcsquared.arrays import Floats
from mcsquared.corpus import Corpus
from mcsquared.datasets import Letters, letters, standard_library
from mcsquared.errors import InputError
from mcsquared.estimator import MC2
from mcsquared.evaluation import nmi
from mcsquared.storage import check_target

MIN_LETTER_SHARE = 0.04  # smaller shares are noise of the least-squares fit
LETTERS_SWEEPS, LETTERS_BURN_IN = 750, 250
STDLIB_SWEEPS, STDLIB_BURN_IN = 200, 100
N_EXAMPLES = 5  # modules per cluster
MAX_LISTED_CLUSTERS = 12  # rows of the table of modules


def run(name: str, seed: int, out: Path | None, browser: bool) -> None:
    """Run a demo, write its report, and open it if standard output is a terminal."""
    if name not in DEMOS:
        raise InputError(f"demo must be one of {', '.join(DEMOS)}, got {name!r}")
    page = Path(f"mc2-demo-{name}.html") if out is None else out
    check_target(page)
    model, corpus = DEMOS[name](seed)
    from mcsquared.report import write_report

    write_report(model, page, corpus=corpus, title=f"mc2 demo {name}")
    address = page.resolve().as_uri()
    typer.echo(f"report: {address}")
    if browser and sys.stdout.isatty():
        webbrowser.open(address)


def fit_letters(seed: int) -> tuple[MC2, Corpus]:
    """Fit the paper's simulation study; print the clusters and their agreement with the truth."""
    data = letters(random_state=seed)
    typer.echo(
        f"{data.corpus.n_groups} groups of 50 pixels, drawn from the letters of one word of "
        "INTERNATIONAL CONFERENCE MACHINE LEARNING, with a number as context."
    )
    started = time.monotonic()
    # The paper's sampler: 20,000 pixels are few, and it has the fewest kernels to compile.
    model = MC2(
        lam=math.inf,
        sampler="collapsed",
        n_sweeps=LETTERS_SWEEPS,
        burn_in=LETTERS_BURN_IN,
        random_state=seed,
    ).fit(data.corpus)
    seconds = time.monotonic() - started
    agreement = nmi(data.cluster_of_group, model.labels_)
    Console().print(letter_table(model, data))
    n_true = len(np.unique(data.cluster_of_group))
    typer.echo(
        f"{model.n_clusters_} clusters (true: {n_true}), NMI {agreement:.3f} against the truth, "
        f"{model.n_topics_} topics, in {seconds:.1f} s."
    )
    return model, data.corpus


def letter_table(model: MC2, data: Letters) -> Table:
    """Return a table with a row per cluster: size, mean of the context, letters."""
    table = Table(title="Clusters")
    for title in ("cluster", "groups", "context mean", "letters"):
        table.add_column(title, justify="left" if title == "letters" else "right")
    position = data.corpus.contexts["position"].values
    for cluster, shares in enumerate(letter_shares(model, data)):
        groups = model.labels_ == cluster
        order = np.argsort(-shares, kind="stable")
        names = [data.names[m] for m in order if shares[m] >= MIN_LETTER_SHARE]
        mean = np.nanmean(position[groups])
        table.add_row(str(cluster), str(groups.sum()), f"{mean:.2f}", " ".join(names))
    return table


def letter_shares(model: MC2, data: Letters) -> Floats:
    """Return the share of each letter in the pixels of a cluster.

    Topics need not be letters: the data determine only each cluster's distribution of pixels
    (docs/errata.md, erratum 13), which non-negative least squares decomposes into the true letters.
    The result is float64 (n_clusters, n_letters); rows sum to 1.
    """
    from scipy.optimize import nnls

    posterior = model.posterior_
    pixels = np.asarray(posterior.topic_given_cluster) @ np.asarray(posterior.word_given_topic)
    shares = np.stack([nnls(data.word_given_topic.T, row)[0] for row in pixels])
    return shares / shares.sum(axis=1, keepdims=True)


def fit_modules(seed: int) -> tuple[MC2, Corpus]:
    """Cluster the modules of the standard library by their words and print the clusters."""
    corpus = standard_library()
    typer.echo(
        f"{corpus.n_groups} modules of Python's standard library: {corpus.n_tokens:,} words from "
        "names, docstrings and comments; contexts are the imports, the size, and whether a module "
        "is a package."
    )
    started = time.monotonic()
    model = MC2(n_sweeps=STDLIB_SWEEPS, burn_in=STDLIB_BURN_IN, random_state=seed).fit(corpus)
    seconds = time.monotonic() - started
    Console().print(module_table(model))
    typer.echo(f"{model.n_clusters_} clusters, {model.n_topics_} topics, in {seconds:.1f} s.")
    return model, corpus


def module_table(model: MC2) -> Table:
    """Return a table with a row per cluster: size, name, representative modules."""
    posterior = model.posterior_
    names = posterior.clusters()["name"]
    table = Table(title="Clusters")
    table.add_column("cluster", justify="right")
    table.add_column("modules", justify="right")
    table.add_column("name", overflow="fold")
    table.add_column("examples", overflow="fold")
    for cluster in range(min(model.n_clusters_, MAX_LISTED_CLUSTERS)):
        typical = posterior.representative_groups(cluster=cluster, n_groups=N_EXAMPLES)["name"]
        table.add_row(
            str(cluster),
            str((model.labels_ == cluster).sum()),
            names[cluster],
            ", ".join(map(str, typical)),
        )
    n_more = model.n_clusters_ - MAX_LISTED_CLUSTERS
    if n_more > 0:
        table.caption = f"and {n_more} smaller clusters"
    return table


DEMOS: dict[str, Callable[[int], tuple[MC2, Corpus]]] = {
    "letters": fit_letters,
    "stdlib": fit_modules,
}

"""Speeches in countries: a level above groups.

A speech is a group with its year as a context, and countries are units of a level above: a country
has a type, and a type is a mixture of clusters of speeches. The figure compares the types with the
regional groups of the United Nations, which are not used for fitting. Run
``python examples/speeches.py speeches.png``; MCSQUARED_DATA is the folder with the data. Without it
the speeches are simulated.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import mcsquared as mc2

STEP = 4  # every fourth speech: a quarter of the time
MAX_CLUSTERS = 25


def main(path: Path, n_sweeps: int) -> None:
    corpus, region = read()
    model = mc2.MC2(n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0).fit(corpus)
    plot(model, region).savefig(path, dpi=100)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=corpus, title="Speeches")
    countries = model.posterior_.level("country")
    print(f"{countries.n_clusters} types of countries: figure {path}, report {page}")


def read() -> tuple[mc2.Corpus, dict[str, str]]:
    """Return the speeches with countries as a level, and the regional group of each country."""
    if "MCSQUARED_DATA" not in os.environ:
        return simulated()
    speeches = mc2.datasets.load_un()
    names = speeches.corpus.contexts["country"]
    region = dict(zip(names.categories[names.values], speeches.labels["region"], strict=True))
    return speeches.corpus[::STEP].with_levels("country"), region


def simulated() -> tuple[mc2.Corpus, dict[str, str]]:
    print("MCSQUARED_DATA is not set: using simulated data with the same contexts")
    rng = np.random.default_rng(0)
    country = np.repeat(np.arange(12), 25)
    words = np.kron(np.eye(4), np.ones(10)) + 0.1  # of four clusters
    cluster = (country % 3 + (rng.random(300) < 0.3)) % 4
    counts = np.array([rng.multinomial(60, words[k] / words[k].sum()) for k in cluster])
    names = [f"country {c}" for c in country]
    contexts = {"country": names, "year": 1990 + 5 * cluster + rng.normal(0, 3, 300)}
    region = dict(zip(names, np.array(["north", "east", "south"])[country % 3], strict=True))
    return mc2.Corpus(counts, contexts).with_levels("country"), region


def plot(model: mc2.MC2, region: dict[str, str]) -> plt.Figure:
    """Plot the clusters that types mix, and the regional groups of their countries."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), width_ratios=[3, 2], layout="constrained")
    clusters = list(range(min(MAX_CLUSTERS, model.n_clusters_)))
    mc2.plots.type_clusters(model, "country", clusters=clusters, ax=axes[0])
    countries = model.posterior_.level("country")
    region_of_country = [region[name] or "none" for name in countries.group_names]
    table = pd.crosstab(countries.labels, np.array(region_of_country))
    axes[1].imshow(table, cmap="Purples", aspect="auto")
    for (row, column), count in np.ndenumerate(table):
        colour = "white" if count > 0.6 * table.to_numpy().max() else "black"
        axes[1].text(column, row, count or "", ha="center", va="center", color=colour, fontsize=8)
    names = [name.replace(" and ", "\nand ") for name in table.columns]
    axes[1].set_xticks(range(len(names)), names, fontsize=7)
    axes[1].set_yticks(range(len(table)), table.index, fontsize=8)
    axes[1].set(ylabel="type", xlabel="regional group (not used for fitting)")
    axes[1].set_title("countries of each type", fontsize=9)
    return figure


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["speeches.png", "300"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

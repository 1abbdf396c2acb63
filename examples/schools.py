"""Pupils in schools: numeric content, two exam scores per pupil.

A school is a group, its pupils are its content, and its gender and average intake score are its
contexts. Topics are types of pupils, clusters are schools with similar shares of these types. Run
``python examples/schools.py schools.png``; MCSQUARED_DATA is the folder with the data. Without it
the schools are simulated.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mcsquared as mc2

SCORES = ["exam score at 16", "reading score at intake"]
MAX_CLUSTERS = 5


def main(path: Path, n_sweeps: int) -> None:
    corpus = read()
    model = mc2.MC2(n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0).fit(corpus)
    plot(model, corpus).savefig(path, dpi=110)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=corpus, title="Schools", dimension_names=SCORES)
    print(f"{model.n_clusters_} clusters of schools: figure {path}, report {page}")


def read() -> mc2.Corpus:
    if "MCSQUARED_DATA" in os.environ:
        return mc2.datasets.load_schools().corpus
    print("MCSQUARED_DATA is not set: using simulated data with the same contexts")
    scores = mc2.MultivariateGaussian(
        mean=[0.0, 0.0], strength=0.1, degrees=20.0, scale=[[4.0, 2.0], [2.0, 4.0]]
    )
    contexts = {
        "gender": mc2.Categorical(size=3),
        "intake": mc2.Gaussian(mean=0.0, strength=0.1, rate=0.05),
    }
    return mc2.datasets.simulate(40, 30, content=scores, contexts=contexts, random_state=2).corpus


def plot(model: mc2.MC2, corpus: mc2.Corpus) -> plt.Figure:
    """Plot the schools by their mean scores, types of pupils, and the contexts of clusters."""
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.6), layout="constrained")
    clusters = list(range(min(MAX_CLUSTERS, model.n_clusters_)))
    curves = mc2.plots.context_of_cluster(model, "intake", clusters=clusters, ax=axes[1, 0]).lines
    colours = [curve.get_color() for curve in curves]
    plot_schools(axes[0, 0], model, corpus, dict(zip(clusters, colours, strict=False)))
    mc2.plots.cluster_topics(model, clusters=clusters, ax=axes[0, 1])
    mc2.plots.context_of_cluster(model, "gender", clusters=clusters, ax=axes[1, 1])
    return figure


def plot_schools(ax: plt.Axes, model: mc2.MC2, corpus: mc2.Corpus, colours: dict) -> None:
    """Plot a point per school, and the number of each topic at its mean."""
    pupils = np.split(corpus.content.values, corpus.content.start[1:-1])
    means = np.array([school.mean(axis=0) for school in pupils])
    colour = [colours.get(cluster, "lightgrey") for cluster in model.labels_]
    ax.scatter(means[:, 1], means[:, 0], c=colour, s=28)
    for topic, mean in enumerate(model.components_):
        ax.annotate(topic, (mean[1], mean[0]), color="grey", weight="bold")
    ax.update_datalim(model.components_[:, ::-1])
    ax.autoscale_view()
    ax.set(xlabel=SCORES[1], ylabel=SCORES[0])
    ax.set_title("points: means of schools; numbers: topics (types of pupils)", fontsize=9)


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["schools.png", "600"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

"""The paper's letters in one figure: clusters, their pixels, topics and contexts.

The groups of a cluster do not vary in these data, so the model is the paper's, ``lam=inf``. Run
``python examples/letters.py letters.png``; it needs no data.
"""

import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mcsquared as mc2

MAX_TOPICS = 12


def main(path: Path, n_sweeps: int) -> None:
    data = mc2.datasets.letters(random_state=0)
    model = mc2.MC2(lam=math.inf, n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0)
    model.fit(data.corpus)
    agreement = mc2.evaluation.nmi(data.cluster_of_group, model.labels_)
    figure = plot(model, data.corpus.contexts["position"].values)
    figure.suptitle(
        f"{len(data.corpus)} groups of 50 pixels: {model.n_clusters_} clusters, "
        f"NMI {agreement:.2f} with the truth"
    )
    figure.savefig(path, dpi=110)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=data.corpus, title="Letters")
    print(f"figure {path}, report {page}")


def plot(model: mc2.MC2, position: np.ndarray) -> plt.Figure:
    """Plot the pixels of each cluster, the topics, and the contexts."""
    figure = plt.figure(figsize=(9, 6.4), layout="constrained")
    clusters, topics, contexts = figure.subfigures(3, 1, height_ratios=[2.2, 1.3, 1.7])
    topic_given_cluster = np.asarray(model.posterior_.topic_given_cluster)
    word_given_topic = np.asarray(model.posterior_.word_given_topic)
    colours = plt.get_cmap("tab10").colors

    axes = np.atleast_1d(clusters.subplots(1, model.n_clusters_))
    for cluster, axis in enumerate(axes):
        plot_pixels(axis, topic_given_cluster[cluster] @ word_given_topic)
        size = (model.labels_ == cluster).sum()
        axis.set_title(f"cluster {cluster}: {size} groups", color=colours[cluster % 10])

    n_topics = min(MAX_TOPICS, model.n_topics_)
    topics.suptitle("topics, most frequent first", fontsize="medium")
    for topic, axis in enumerate(np.atleast_1d(topics.subplots(1, n_topics))):
        plot_pixels(axis, word_given_topic[topic])

    axis = contexts.subplots()
    edges = np.linspace(np.nanmin(position), np.nanmax(position), 60)
    for cluster in range(model.n_clusters_):
        axis.hist(position[model.labels_ == cluster], edges, color=colours[cluster % 10], alpha=0.7)
    axis.set(xlabel="context of the group", ylabel="groups")
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def plot_pixels(axis: plt.Axes, probability: np.ndarray) -> None:
    """Plot a distribution over the 7 x 5 pixels; dark means high."""
    axis.imshow(probability.reshape(7, 5), cmap="Greys", vmin=0)
    axis.set(xticks=[], yticks=[])


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["letters.png", "800"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

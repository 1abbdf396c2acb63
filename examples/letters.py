"""The paper's letters in one picture: clusters, their pixels, their topics, their contexts.

The groups of a cluster do not vary here, so the model is the paper's own, ``lam=inf``. Run it with
``python examples/letters.py letters.png``; it needs no data.
"""

import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mcsquared as mc2

N_TOPICS_SHOWN = 12


def main(path: Path, n_sweeps: int) -> None:
    data = mc2.datasets.letters(random_state=0)
    model = mc2.MC2(lam=math.inf, n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0)
    model.fit(data.corpus)
    agreement = mc2.evaluation.nmi(data.cluster_of_group, model.labels_)
    figure = draw(model, data.corpus.contexts["position"].values)
    figure.suptitle(
        f"{len(data.corpus)} groups of 50 pixels: {model.n_clusters_} clusters, "
        f"NMI {agreement:.2f} against the truth"
    )
    figure.savefig(path, dpi=110)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=data.corpus, title="Letters")
    print(f"the picture is {path}, the report {page}")


def draw(model: mc2.MC2, position: np.ndarray) -> plt.Figure:
    """Draw a column per cluster, the topics below, and the contexts at the bottom."""
    figure = plt.figure(figsize=(9, 6.4), layout="constrained")
    clusters, topics, contexts = figure.subfigures(3, 1, height_ratios=[2.2, 1.3, 1.7])
    topic_given_cluster = np.asarray(model.posterior_.topic_given_cluster)
    word_given_topic = np.asarray(model.posterior_.word_given_topic)
    colours = plt.get_cmap("tab10").colors

    axes = np.atleast_1d(clusters.subplots(1, model.n_clusters_))
    for cluster, axis in enumerate(axes):
        show_pixels(axis, topic_given_cluster[cluster] @ word_given_topic)
        members = model.labels_ == cluster
        axis.set_title(f"cluster {cluster}: {members.sum()} groups", color=colours[cluster % 10])

    n_shown = min(N_TOPICS_SHOWN, model.n_topics_)
    topics.suptitle("topics, most frequent first", fontsize="medium")
    for topic, axis in enumerate(np.atleast_1d(topics.subplots(1, n_shown))):
        show_pixels(axis, word_given_topic[topic])

    axis = contexts.subplots()
    edges = np.linspace(np.nanmin(position), np.nanmax(position), 60)
    for cluster in range(model.n_clusters_):
        axis.hist(position[model.labels_ == cluster], edges, color=colours[cluster % 10], alpha=0.7)
    axis.set(xlabel="context of the group", ylabel="groups")
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def show_pixels(axis: plt.Axes, probability: np.ndarray) -> None:
    """Draw a distribution over the 7 x 5 pixels, dark where it is high."""
    axis.imshow(probability.reshape(7, 5), cmap="Greys", vmin=0)
    axis.set(xticks=[], yticks=[])


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["letters.png", "800"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

"""Newswires with places: topics by place.

Each newswire is a group of words, with its day and the places it mentions as contexts. Run
``python examples/newswires.py newswires.png``; MCSQUARED_DATA is the folder with the data
(Reuters-21578). Without it the newswires are simulated.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import mcsquared as mc2

N_PLACES = 12
MIN_WEIGHT = 0.003  # of a topic in the figure


def main(path: Path, n_sweeps: int) -> None:
    corpus = read()
    model = mc2.MC2(n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0).fit(corpus)
    plot(model, corpus).savefig(path, dpi=110)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=corpus, title="Newswires")
    print(f"{model.n_topics_} topics of newswires: figure {path}, report {page}")


def read() -> mc2.Corpus:
    if "MCSQUARED_DATA" in os.environ:
        return mc2.datasets.load_reuters().corpus
    print("MCSQUARED_DATA is not set: using simulated data with the same contexts")
    contexts = {"day": mc2.Gaussian(mean=100.0, rate=400.0), "places": mc2.Bag(size=20)}
    return mc2.datasets.simulate(80, contexts=contexts, alpha=3.0, v=3.0, random_state=0).corpus


def plot(model: mc2.MC2, corpus: mc2.Corpus) -> plt.Figure:
    """Plot the relative frequency of topics for the most frequent places."""
    lift = topics_of_places(model, frequent_places(corpus))
    topics = lift.idxmax(axis=1).drop_duplicates()
    words = model.posterior_.topics(n_words=3).set_index("topic")["words"]
    figure, ax = plt.subplots(figsize=(11, 6.6), layout="constrained")
    largest = np.abs(lift[topics]).to_numpy().max()
    image = ax.imshow(lift[topics], cmap="PuOr_r", vmin=-largest, vmax=largest, aspect="auto")
    ax.set_yticks(range(len(lift)), lift.index)
    ax.set_xticks(range(len(topics)), words[topics], rotation=40, ha="right", fontsize=9)
    ax.set_title("topics of newswires about a place, relative to all newswires")
    bar = figure.colorbar(image, ax=ax, format=lambda power, _: f"{2.0**power:.3g}")
    bar.set_label("times as probable")
    return figure


def frequent_places(corpus: mc2.Corpus) -> list[str]:
    """Return the places that most newswires mention, by decreasing frequency."""
    places = corpus.contexts["places"]
    n_wires = np.asarray((places.values > 0).sum(axis=0)).ravel()
    return list(places.categories[np.argsort(-n_wires, kind="stable")[:N_PLACES]])


def topics_of_places(model: mc2.MC2, places: list[str]) -> pd.DataFrame:
    """Return log2 p(topic | place) / p(topic): a row per place, a column per frequent topic."""
    posterior = model.posterior_
    share = posterior.clusters()["share"].to_numpy()
    overall = pd.Series(share @ posterior.topic_given_cluster.to_numpy())
    rows = {}
    for place in places:
        probability = posterior.topic_given_context("places", [place]).set_index("topic")
        rows[place] = np.log2(probability["probability"] / overall)
    return pd.DataFrame(rows).T.loc[:, overall >= MIN_WEIGHT]


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["newswires.png", "80"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

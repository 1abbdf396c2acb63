"""Papers with years and authors: rising and falling topics, and their authors.

Each paper is a group of words, with its year, its authors and the words of its title as contexts.
Run ``python examples/papers.py papers.png``; MCSQUARED_DATA is the folder with the data (the papers
of NIPS 1987-1999). Without it the papers are simulated.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import mcsquared as mc2

N_RISING = 2  # and the same number of falling topics


def main(path: Path, n_sweeps: int) -> None:
    corpus = read()
    model = mc2.MC2(n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0).fit(corpus)
    plot(model).savefig(path, dpi=110)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=corpus, title="Papers")
    print(f"{model.n_topics_} topics: figure {path}, report {page}")


def read() -> mc2.Corpus:
    if "MCSQUARED_DATA" in os.environ:
        return mc2.datasets.load_nips().corpus
    print("MCSQUARED_DATA is not set: using simulated data with the same contexts")
    contexts = {
        "year": mc2.Gaussian(mean=1993.0, rate=9.0),
        "authors": mc2.Bag(size=60),
        "title": mc2.Bag(size=40),
    }
    return mc2.datasets.simulate(80, contexts=contexts, alpha=3.0, v=3.0, random_state=0).corpus


def plot(model: mc2.MC2) -> plt.Figure:
    """Plot the years, words and authors of the topics that change most."""
    figure = plt.figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplot_mosaic([["year", "authors"], ["words", "words"]], height_ratios=[2, 1])
    topics = changing_topics(model)
    mc2.plots.topic_over_context(model, "year", topics, ax=axes["year"])
    mc2.plots.topic_over_context(model, "authors", topics, n_values=10, ax=axes["authors"])
    axes["authors"].get_legend().remove()  # same colours as the years
    mc2.plots.topic_words(model, topics, n_words=7, ax=axes["words"])
    return figure


def changing_topics(model: mc2.MC2) -> list[int]:
    """Return the topics with the earliest and the latest papers, among the larger topics."""
    weight = model.posterior_.topics()["weight"]
    density = model.posterior_.context_given_topic("year")
    mean_year = density.mul(density.index, axis=0).sum() / density.sum()
    larger = weight.index[weight >= weight.mean()]
    order = mean_year[larger].sort_values().index
    return list(dict.fromkeys([*order[:N_RISING], *order[-N_RISING:]]))


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["papers.png", "120"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

"""Papers with years and authors: topics that rise, topics that fall, and who writes on them.

Each paper is a group of words with a year, its authors and the words of its title as contexts. Run
it with ``python examples/papers.py papers.png``; MCSQUARED_DATA names the folder with the data (the
papers of NIPS 1987-1999), and without it papers are simulated.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import mcsquared as mc2

N_RISING = 2  # and as many that fall


def main(path: Path, n_sweeps: int) -> None:
    corpus = read()
    model = mc2.MC2(n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0).fit(corpus)
    draw(model).savefig(path, dpi=110)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=corpus, title="Papers")
    print(f"{model.n_topics_} topics: some in {path}, all in the report {page}")


def read() -> mc2.Corpus:
    if "MCSQUARED_DATA" in os.environ:
        return mc2.datasets.load_nips().corpus
    print("MCSQUARED_DATA is not set: a simulated stand-in with the same contexts is used")
    contexts = {
        "year": mc2.Gaussian(mean=1993.0, rate=9.0),
        "authors": mc2.Bag(size=60),
        "title": mc2.Bag(size=40),
    }
    return mc2.datasets.simulate(80, contexts=contexts, alpha=3.0, v=3.0, random_state=0).corpus


def draw(model: mc2.MC2) -> plt.Figure:
    """Draw the years, the words and the authors of the topics that move most."""
    figure = plt.figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplot_mosaic([["year", "authors"], ["words", "words"]], height_ratios=[2, 1])
    topics = moving_topics(model)
    mc2.plots.topic_over_context(model, "year", topics, ax=axes["year"])
    mc2.plots.topic_over_context(model, "authors", topics, n_values=10, ax=axes["authors"])
    axes["authors"].get_legend().remove()  # the colours are those of the years
    mc2.plots.topic_words(model, topics, n_words=7, ax=axes["words"])
    return figure


def moving_topics(model: mc2.MC2) -> list[int]:
    """Return the topics with the earliest and the latest papers, of those of some weight."""
    weight = model.posterior_.topics()["weight"]
    density = model.posterior_.context_given_topic("year")
    mean_year = density.mul(density.index, axis=0).sum() / density.sum()
    order = mean_year[weight >= weight.mean()].sort_values().index
    return list(dict.fromkeys([*order[:N_RISING], *order[-N_RISING:]]))


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["papers.png", "120"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

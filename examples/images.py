"""Images with tags: clusters of scenes, found without the scene classes.

Each image is a group of visual words, and its tags are its context. Run
``python examples/images.py images.png``; MCSQUARED_DATA is the folder with the data (outdoor scenes
of eight classes with their LabelMe tags). Without it the images are simulated.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mcsquared as mc2

N_LARGEST = 4


def main(path: Path, n_sweeps: int) -> None:
    corpus, scene = read()
    model = mc2.MC2(n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0).fit(corpus)
    plot(model, scene).savefig(path, dpi=110)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=corpus, title="Images")
    agreement = mc2.evaluation.nmi(scene, model.labels_)
    print(f"NMI {agreement:.2f} between {model.n_clusters_} clusters and the scenes")
    print(f"figure {path}, report {page}")


def read() -> tuple[mc2.Corpus, np.ndarray]:
    """Return the images, and the scene of each, which is not used for fitting."""
    if "MCSQUARED_DATA" in os.environ:
        data = mc2.datasets.load_labelme()
        return data.corpus, data.labels["label"]
    print("MCSQUARED_DATA is not set: using simulated data with the same contexts")
    tags = {"tags": mc2.Bag(size=30)}
    drawn = mc2.datasets.simulate(80, contexts=tags, alpha=3.0, v=3.0, missing=0.1, random_state=0)
    return drawn.corpus, np.array([f"scene {k}" for k in drawn.cluster_of_group])


def plot(model: mc2.MC2, scene: np.ndarray) -> plt.Figure:
    """Plot clusters against the true scenes, and the tags of the largest clusters."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6.4), layout="constrained")
    mc2.plots.compare(model, scene, ax=left).set(xlabel="scene", ylabel="cluster")
    largest = range(min(N_LARGEST, model.n_clusters_))
    mc2.plots.context_of_cluster(model, "tags", clusters=list(largest), n_values=14, ax=right)
    return figure


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["images.png", "200"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

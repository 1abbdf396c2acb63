"""Neighbourhoods in tissue samples: spatial cell data through AnnData.

A neighbourhood is a group whose content are the types of its cells, and samples are units of a
level above: a sample has a type, which is a mixture of clusters of neighbourhoods. The stage of a
sample is constant within it, so it becomes a context of the level; it is missing for some samples.
Run ``python examples/tissue.py tissue.png``; the samples are simulated.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData

import mcsquared as mc2

CELLS = ["tumour", "dividing", "T cell", "B cell", "macrophage", "fibroblast", "vessel", "fat"]
NICHES = np.array(  # shares of the types of cells in four kinds of neighbourhoods
    [
        [12, 6, 1, 0, 1, 1, 0, 0],  # tumour core
        [1, 1, 8, 6, 3, 1, 1, 0],  # immune aggregate
        [0, 0, 1, 0, 2, 10, 4, 1],  # stroma
        [0, 0, 0, 0, 1, 2, 2, 12],  # fat
    ]
)
MIXTURES = np.array([[7, 1, 2, 1], [2, 6, 2, 1], [0, 1, 5, 5]])  # of niches in types of samples
STAGES = ["advanced", "early", "healthy"]
N_SAMPLES, N_CELLS, N_PATCHES, N_WINDOWS, WINDOW = 24, 4000, 40, 50, 25
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"]  # of the largest clusters


def main(path: Path, n_sweeps: int) -> None:
    data = simulated()
    corpus = mc2.Corpus.from_anndata(data, contexts=["sample", "stage"]).with_levels("sample")
    model = mc2.MC2(n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=0).fit(corpus)
    plot(model, data).savefig(path, dpi=100)
    page = path.with_suffix(".html")
    mc2.write_report(model, page, corpus=corpus, title="Tissue samples")
    samples = model.posterior_.level("sample")
    print(f"{samples.n_clusters} types of samples: figure {path}, report {page}")


def simulated() -> AnnData:
    """Return neighbourhoods, the cells nearest to a random place, counted by type."""
    print("using simulated data: cells in tissue samples")
    rng = np.random.default_rng(1)
    counts, places = [], []
    for sample in range(N_SAMPLES):
        mixture = MIXTURES[sample % 3] / MIXTURES[sample % 3].sum()
        patch, cells = rng.random((N_PATCHES, 2)), rng.random((N_CELLS, 2))
        niche = rng.choice(4, N_PATCHES, p=mixture)[nearest(cells, patch, 1)[:, 0]]
        shares = NICHES[niche].cumsum(axis=1)
        kind = (shares < rng.random((N_CELLS, 1)) * shares[:, -1:]).sum(axis=1)
        places.append(rng.random((N_WINDOWS, 2)))
        inside = kind[nearest(places[-1], cells, WINDOW)]
        counts += [np.bincount(found, minlength=len(CELLS)) for found in inside]
    number = np.repeat(np.arange(N_SAMPLES), N_WINDOWS)
    stage = np.array([*STAGES, None], dtype=object)[np.where(number % 8 == 7, 3, number % 3)]
    obs = pd.DataFrame({"sample": [f"sample {n:02d}" for n in number], "stage": stage})
    obs.index = [f"{name}, window {i % N_WINDOWS}" for i, name in enumerate(obs["sample"])]
    data = AnnData(np.array(counts, "float32"), obs, obsm={"spatial": np.vstack(places)})
    data.var_names = CELLS
    return data


def nearest(points: np.ndarray, others: np.ndarray, n: int) -> np.ndarray:
    """Return the nearest others of each point."""
    return np.square(points[:, None] - others).sum(axis=2).argpartition(n - 1, axis=1)[:, :n]


def plot(model: mc2.MC2, data: AnnData) -> plt.Figure:
    """Plot a sample of each type, the clusters that types mix, and the cells of clusters."""
    samples = model.posterior_.level("sample")
    figure = plt.figure(figsize=(11, 6.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.1])
    n_types, n_clusters = min(samples.n_clusters, 4), min(model.n_clusters_, len(COLOURS))
    for ax, number in zip(
        above.subplots(1, n_types, squeeze=False)[0], range(n_types), strict=True
    ):
        name = samples.group_names[samples.labels == number][0]
        inside = (data.obs["sample"] == name).to_numpy()
        colours = [(COLOURS[k : k + 1] or ["lightgrey"])[0] for k in model.labels_[inside]]
        ax.scatter(*data.obsm["spatial"][inside].T, c=colours, s=70)
        ax.set_aspect("equal")
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"type {number}: {name}", fontsize=9)
    left, right = below.subplots(1, 2, width_ratios=[2, 3])
    mc2.plots.type_clusters(model, "sample", clusters=list(range(n_clusters)), ax=left)
    cells = pd.DataFrame(data.X, columns=CELLS).groupby(model.labels_).sum().iloc[:n_clusters]
    shares = cells.div(cells.sum(axis=1), axis=0)
    for cluster, share in shares.iterrows():
        offset = (cluster - (n_clusters - 1) / 2) * 0.8 / n_clusters
        position = np.arange(len(CELLS)) + offset
        right.bar(position, share, 0.8 / n_clusters, color=COLOURS[cluster], label=cluster)
    right.set_xticks(range(len(CELLS)), CELLS, fontsize=7)
    right.set_ylabel("share of the cells of a cluster")
    right.legend(title="cluster", fontsize=8, title_fontsize=8, frameon=False)
    return figure


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["tissue.png", "300"][len(sys.argv) - 1 :]
    main(Path(arguments[0]), int(arguments[1]))

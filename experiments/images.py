"""Images with contexts: perplexity (table 2), clusters (figure 5), t-SNE maps (figure 6).

"Clustering performance measured in purity, NMI, Rand-Index and F-score." The paper uses NUS-WIDE
animals, which are not available; this experiment uses labelme8 (tags as context) and
wiki_crossmodal (ten numbers that describe the text of the article). A tenth of each data set is
held out for the perplexity of its visual words; every method clusters the rest. k-means, NMF and
k-means of the topics of LDA need a number of clusters: 10, 15, ... 40; the minimum, maximum, mean
and standard deviation of each measure are given, as in the paper. Affinity propagation finds the
number: on the visual words by Euclidean distance, and on the topics of HDP by symmetric Kullback-
Leibler divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import mcsquared as mc2

from .fits import COLUMNS, LAMS, agreement, fit_mc2, fit_topics, perplexities, sizes
from .running import Setting

__all__ = [
    "KEYS",
    "SEEDS",
    "TITLE",
    "Images",
    "features",
    "figures",
    "load_split",
    "over_cluster_numbers",
    "row_keys",
    "run",
    "statistics",
]

TITLE = "Images: perplexity, and agreement of clusters with known classes (table 2, figures 5, 6)"
KEYS = ("set", "method", "contexts", "lam", "clusters")
SEEDS = 4

HELD_OUT = 0.1
N_FEW = 60  # held-out images whose probability is estimated by particles
N_CLUSTERS = range(10, 41, 5)
N_LDA_TOPICS, N_LDA_SWEEPS = 50, 300
N_PLOTTED, MIN_IMAGES, MAX_IMAGES = 7, 20, 100  # clusters of figure 6, images of each
STATISTICS: dict[str, Callable[[Any], float]] = {
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "sd": np.std,
}


@dataclass(frozen=True)
class Images:
    """A data set, split into training and held-out images; ``truth`` are the known classes."""

    name: str
    contexts: Mapping[str, str]
    training: mc2.Corpus
    held_out: mc2.Corpus
    truth: np.ndarray


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Fit every method to one split of each data set."""
    rows: list[dict[str, Any]] = []
    for name in setting.sets("labelme8", "wiki_crossmodal"):
        images = load_split(name, seed, setting)
        for part in (_of_mc2, _of_topics, _of_words):
            rows += [{"set": name} | COLUMNS | row for row in part(images, seed, setting)]
    return rows


def load_split(name: str, seed: int, setting: Setting) -> Images:
    """Return a data set with known classes, with a tenth held out."""
    entry, data = setting.entry(name), setting.load(name)
    if entry.label is None:
        raise mc2.InputError(f"data set {name} must have known classes to compare clusters with")
    order = np.random.default_rng(seed).permutation(data.corpus.n_groups)
    n_held_out = round(len(order) * HELD_OUT)
    held_out, training = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    truth = np.asarray(data.labels[entry.label])[training]
    return Images(name, entry.contexts, data.corpus[training], data.corpus[held_out], truth)


def row_keys(method: str, contexts: str = "none", lam: str = "–", clusters: str = "found") -> dict:
    """Return the keys of a row."""
    return {"method": method, "contexts": contexts, "lam": lam, "clusters": clusters}


def _of_mc2(images: Images, seed: int, setting: Setting) -> Iterator[dict[str, Any]]:
    for lam in LAMS:
        for contexts in ({}, images.contexts):
            model = fit_mc2(images.training, contexts, lam, seed, setting)
            yield (
                row_keys("MC2", "+".join(contexts) or "none", lam)
                | perplexities(model, images.held_out, N_FEW)
                | sizes(model)
                | agreement(images.truth, model.labels_)
            )
        _store_map(images, model.labels_, lam, seed, setting)


def _of_topics(images: Images, seed: int, setting: Setting) -> Iterator[dict[str, Any]]:
    """Fit HDP alone, and cluster by the topics of HDP and of LDA."""
    baselines = mc2.baselines
    hdp = fit_topics(baselines.HDP, images.training, seed, setting, n_jobs=setting.n_jobs)
    yield row_keys("HDP", clusters="–") | perplexities(hdp, images.held_out, N_FEW) | sizes(hdp)
    by_divergence = baselines.AffinityPropagation("symmetric_kl", random_state=seed)
    found = by_divergence.fit(hdp.transform(images.training)).labels_
    yield row_keys("HDP + AP") | agreement(images.truth, found)
    lda = baselines.LDA(
        n_topics=setting.choose(N_LDA_TOPICS, 5),
        n_sweeps=setting.sweeps(N_LDA_SWEEPS),
        burn_in=setting.sweeps(N_LDA_SWEEPS // 2),
        n_jobs=1,  # results are not reproducible with more
        random_state=seed,
    ).fit(images.training)
    shares = lda.transform(images.training)
    yield from over_cluster_numbers(
        "LDA + k-means", baselines.KMeans, shares, images, seed, setting
    )


def _of_words(images: Images, seed: int, setting: Setting) -> Iterator[dict[str, Any]]:
    """Cluster by the visual words alone."""
    baselines = mc2.baselines
    found = baselines.AffinityPropagation(random_state=seed).fit(images.training).labels_
    yield row_keys("AP") | agreement(images.truth, found)
    for name, model_class in (("k-means", baselines.KMeans), ("NMF", baselines.NMF)):
        yield from over_cluster_numbers(name, model_class, images.training, images, seed, setting)


def over_cluster_numbers(
    name: str,
    model_class: Any,
    rows: Any,
    images: Images,
    seed: int,
    setting: Setting,
    contexts: str = "none",
) -> Iterator[dict[str, Any]]:
    """Cluster rows into 10 to 40 clusters and yield statistics of each measure."""
    scores = []
    numbers = setting.choose(N_CLUSTERS, (3, 4))
    for n_clusters in numbers:
        found = model_class(n_clusters=n_clusters, random_state=seed).fit(rows).labels_
        scores.append(agreement(images.truth, found))
    for statistic, measures in statistics(scores).items():
        clusters = f"{numbers[0]} to {numbers[-1]}, {statistic}"
        yield row_keys(name, contexts, clusters=clusters) | measures


def statistics(scores: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the minimum, maximum, mean and standard deviation of each measure."""
    return {
        name: {
            measure: float(statistic([score[measure] for score in scores])) for measure in scores[0]
        }
        for name, statistic in STATISTICS.items()
    }


# Figure 6 --------------------------------------------------------------------------------


def _store_map(images: Images, labels: np.ndarray, lam: str, seed: int, setting: Setting) -> None:
    """Store the t-SNE map of content and context for seven clusters chosen at random."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(seed)
    cluster_sizes = np.bincount(labels)
    enough = np.flatnonzero(cluster_sizes >= MIN_IMAGES)
    if len(enough) < N_PLOTTED:
        enough = np.arange(min(N_PLOTTED, len(cluster_sizes)))  # the largest
    chosen = rng.permutation(enough)[:N_PLOTTED]
    groups = np.concatenate(
        [rng.permutation(np.flatnonzero(labels == k))[:MAX_IMAGES] for k in chosen]
    )
    rows = features(images.training[groups], list(images.contexts))
    perplexity = min(30.0, (len(groups) - 1) / 3)
    with threadpool_limits(1):  # too few points for threads
        plane = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows)
    setting.keep(f"{images.name} {lam}: plane", plane)
    setting.keep(f"{images.name} {lam}: cluster", labels[groups])
    setting.keep(f"{images.name} {lam}: class", [str(name) for name in images.truth[groups]])
    setting.keep(f"{images.name} {lam}: n_clusters", len(cluster_sizes))


def features(corpus: mc2.Corpus, contexts: list[str]) -> np.ndarray:
    """Return the columns of content and contexts, scaled to the same total variance each.

    Counts and bags are square roots of proportions, whose Euclidean distance is Hellinger's.
    """
    blocks = [_roots(corpus.content.counts)]
    for name in contexts:
        column = corpus.contexts[name]
        if column.kind == "bag":
            blocks.append(_roots(column.values))
        elif column.kind == "category":
            blocks.append(np.eye(column.n_categories + 1)[column.values])
        else:
            values = np.asarray(column.values, dtype=float).reshape(corpus.n_groups, -1)
            blocks.append(np.nan_to_num(values - np.nanmean(values, axis=0)))
    scales = [np.sqrt(block.var(axis=0).sum()) for block in blocks]
    return np.hstack(
        [block / max(scale, 1e-12) for block, scale in zip(blocks, scales, strict=True)]
    )


def _roots(counts: Any) -> np.ndarray:
    dense = counts.toarray().astype(float)
    return np.sqrt(dense / np.maximum(dense.sum(axis=1, keepdims=True), 1.0))


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """Plot figures 5 and 6 for each data set."""
    from .image_figures import draw_measures, draw_planes

    return draw_measures(record) | draw_planes(record)

"""Topics over time and prediction of authors (section 4.2, figures 3 and 4).

"If the context information is timestamp, the model immediately yields the distribution over time
for a topic." The paper compares one topic with hits of a search engine; this experiment compares
p(year | topic) of every topic with the years of the tokens of its ten most probable words.
``distance`` is the total variation between the two, ``distance_no_topic`` that between the model's
p(year) of any token and the words, and ``distance_all_tokens`` that between the years of all tokens
and the words. ``correlation`` is over the years, between p(year | topic) / p(year) and the same
ratio of the words. All are means over topics, weighted by their tokens.

"Who most likely wrote this article" is evaluated on held-out papers: a paper counts if one of its
authors is among the first 1, 5 or 10 predictions; the baseline predicts the most frequent authors.
Papers without any author in training are excluded. For the UN speeches the country is predicted,
given text and year. Figure 3 is the cluster, among those with enough papers, with the most papers
per author.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import mcsquared as mc2

from .fits import LAMS, fit_mc2
from .running import Setting

__all__ = ["KEYS", "SEEDS", "TITLE", "accuracy", "figures", "run", "years_of_topics"]

TITLE = "Topics over time, and who wrote a held-out text (section 4.2, figures 3 and 4)"
KEYS = ("question", "set", "method", "contexts", "lam")
SEEDS = 2

# Contexts of each model; other data sets use all of theirs.
MODELS = {"nips12": (("year",), ("authors",)), "ungdc": (("year", "country"),)}
N_SWEEPS, BURN_IN, MAX_TOPICS = 300, 100, 150
HELD_OUT = 0.1
RANKS = (1, 5, 10)  # numbers of predictions that are scored
N_WORDS = 10
N_TOPICS_DRAWN = 6
MIN_GROUPS = 10  # of a cluster in a figure
N_AUTHORS, N_TITLES, N_TOPICS_OF_CLUSTER = 12, 6, 3


@dataclass(frozen=True)
class Fitted:
    """A fitted model with its training and held-out groups."""

    name: str
    lam: str
    model: mc2.MC2
    training: mc2.Corpus
    held_out: mc2.Corpus

    @property
    def label(self) -> str:
        """Prefix of the names of the stored arrays."""
        return f"{self.name} {self.lam}"


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Evaluate every model on the questions that its contexts can answer."""
    rows = []
    for name in setting.sets(*MODELS):
        families = setting.entry(name).contexts
        training, held_out = setting.load(name).corpus.split(HELD_OUT, random_state=seed)
        for used in MODELS.get(name, (tuple(families),)):
            contexts = {context: families[context] for context in used}
            keys = {"contexts": "+".join(used), "set": name}
            who = _first_of(contexts, "bag", "categorical")
            if who is not None:
                found = by_frequency(training, held_out, who)
                rows.append(
                    {"question": "who"} | keys | {"method": "frequency", "lam": "–"} | found
                )
            for lam in LAMS:
                options = {"n_sweeps": N_SWEEPS, "burn_in": BURN_IN, "max_topics": MAX_TOPICS}
                model = fit_mc2(training, contexts, lam, seed, setting, **options)
                fitted = Fitted(name, lam, model, training, held_out)
                row = keys | {"method": "MC2", "lam": lam}
                when = _first_of(contexts, "gaussian")
                if when is not None:
                    rows.append({"question": "when"} | row | _when(fitted, when, setting))
                if who is not None:
                    rows.append({"question": "who"} | row | _who(fitted, who))
                    _store_cluster(fitted, who, setting)
    return sorted(rows, key=lambda row: row["question"])


def _first_of(contexts: Mapping[str, str], *families: str) -> str | None:
    return next((name for name, family in contexts.items() if family in families), None)


# Topics over time ------------------------------------------------------------------------


def _when(fitted: Fitted, context: str, setting: Setting) -> dict[str, float]:
    """Compare p(year | topic) with the years of the topic's words; store some topics to plot."""
    posterior = fitted.model.posterior_
    year = fitted.training.contexts[context].values
    counts = fitted.training.content.counts
    years = np.arange(np.nanmin(year), np.nanmax(year) + 1.0)
    by_word = years_of_words(counts, year, years)
    top = np.argsort(-posterior.components, axis=1, kind="stable")[:, :N_WORDS]
    by_top_words = _normalised(by_word[top].sum(axis=1))
    marginal = _normalised(by_word.sum(axis=0, keepdims=True))
    by_topic = years_of_topics(posterior.context_given_topic(context), years)
    weight = posterior.tokens_of_topic / posterior.tokens_of_topic.sum()
    _store_topics(fitted, setting, years, by_topic, by_top_words, marginal, top)
    overall = weight @ by_topic  # p(year) of a token with unknown topic
    return {
        "n_topics": len(by_topic),
        "distance": float(weight @ _distance(by_topic, by_top_words)),
        "distance_no_topic": float(weight @ _distance(overall[None], by_top_words)),
        "distance_all_tokens": float(weight @ _distance(marginal, by_top_words)),
        "correlation": float(weight @ _correlation(by_topic / overall, by_top_words / marginal)),
    }


def years_of_words(counts: Any, year: np.ndarray, years: np.ndarray) -> np.ndarray:
    """Return the tokens of each word in each year: float64 (n_words, n_years)."""
    belongs = (year[None, :] == years[:, None]).astype(np.float64)
    return np.asarray(counts.T @ belongs.T)


def years_of_topics(table: Any, years: np.ndarray) -> np.ndarray:
    """Return p(year | topic) from densities on a grid: (n_topics, n_years)."""
    grid = table.index.to_numpy(dtype=float)
    densities = table.to_numpy().T
    return _normalised(np.array([np.interp(years, grid, density) for density in densities]))


def _normalised(rows: np.ndarray) -> np.ndarray:
    totals = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, totals, out=np.full_like(rows, 1.0 / rows.shape[1]), where=totals > 0)


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return 0.5 * np.abs(one - other).sum(axis=1)


def _correlation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return Pearson's correlation of each row, 0 if a row is constant."""
    one, other = one - one.mean(axis=1, keepdims=True), other - other.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.square(one).sum(axis=1) * np.square(other).sum(axis=1))
    product = (one * other).sum(axis=1)
    return np.divide(product, scale, out=np.zeros_like(product), where=scale > 0)


def _store_topics(
    fitted: Fitted,
    setting: Setting,
    years: np.ndarray,
    by_topic: np.ndarray,
    by_top_words: np.ndarray,
    marginal: np.ndarray,
    top: np.ndarray,
) -> None:
    """Store the topics, of the larger half, whose years differ most from those of all tokens.

    The selection uses p(year | topic) of the model, not the years of the words.
    """
    n_larger = max(N_TOPICS_DRAWN, len(by_topic) // 2)
    distance = _distance(by_topic, marginal)[:n_larger]  # topics are sorted by decreasing size
    chosen = np.argsort(-distance, kind="stable")[:N_TOPICS_DRAWN]
    vocabulary = fitted.training.vocabulary
    words = [", ".join(map(str, vocabulary[top[topic]])) for topic in chosen]
    arrays = {
        "years": years,
        "p(year | topic)": by_topic[chosen],
        "p(year | words)": by_top_words[chosen],
        "p(year)": marginal[0],
        "words": words,
    }
    for name, values in arrays.items():
        setting.keep(f"{fitted.label}: {name}", values)


# Prediction of authors -------------------------------------------------------------------


def _who(fitted: Fitted, context: str) -> dict[str, float]:
    ranked = fitted.model.predict_context(fitted.held_out, context, top=max(RANKS))
    predictions = ranked["value"].to_numpy().reshape(fitted.held_out.n_groups, -1)
    return accuracy(predictions, *_known_authors(fitted.training, fitted.held_out, context))


def by_frequency(training: mc2.Corpus, held_out: mc2.Corpus, context: str) -> dict[str, float]:
    """Return the accuracy of predicting the most frequent authors for every paper."""
    known, _ = truth = _known_authors(training, held_out, context)
    order = sorted(known, key=lambda author: -known[author])
    predictions = np.tile(np.array(order[: max(RANKS)], dtype=object), (held_out.n_groups, 1))
    return accuracy(predictions, *truth)


def _known_authors(
    training: mc2.Corpus, held_out: mc2.Corpus, context: str
) -> tuple[dict[str, int], list[list[str]]]:
    """Return the number of training groups per author, and the authors of held-out groups."""
    known: dict[str, int] = {}
    for names in authors_of(training.contexts[context]):
        for name in names:
            known[name] = known.get(name, 0) + 1
    return known, authors_of(held_out.contexts[context])


def authors_of(column: mc2.corpus.Column) -> list[list[str]]:
    """Return the categories of each group."""
    names = column.categories
    if column.kind == "category":
        return [[str(names[code])] if code >= 0 else [] for code in column.values]
    bags = column.values
    return [
        [str(names[code]) for code in bags.indices[bags.indptr[j] : bags.indptr[j + 1]]]
        for j in range(bags.shape[0])
    ]


def accuracy(
    predictions: np.ndarray, known: Mapping[str, int], truth: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Return the share of groups with one of their authors among the first predictions.

    Parameters
    ----------
    predictions : object (n_groups, n_predictions)
        Best first.
    known : mapping
        Authors in training; groups without any of them are excluded.
    truth : list of lists of str
        Authors of each group.
    """
    scored = [j for j, authors in enumerate(truth) if any(author in known for author in authors)]
    ranks = [
        next(
            (rank for rank, prediction in enumerate(predictions[j]) if prediction in truth[j]),
            len(predictions[j]),
        )
        for j in scored
    ]
    found = {f"top_{n}": float(np.mean([rank < n for rank in ranks])) for n in RANKS}
    return found | {"n_scored": len(scored)}


# A cluster with its authors, titles and topics -------------------------------------------


def _store_cluster(fitted: Fitted, context: str, setting: Setting) -> None:
    posterior = fitted.model.posterior_
    cluster = cluster_to_plot(fitted.model.labels_, authors_of(fitted.training.contexts[context]))
    probability = posterior.context_given_cluster(context)[cluster]
    first = probability.sort_values(ascending=False, kind="stable").head(N_AUTHORS)
    groups = posterior.representative_groups(cluster=cluster, n_groups=N_TITLES)
    titles = [_title(fitted.training, group) for group in groups["group"]]
    shares = posterior.topic_given_cluster.loc[cluster].sort_values(ascending=False, kind="stable")
    words = []
    for topic in shares.index[:N_TOPICS_OF_CLUSTER]:
        weights = posterior.components[topic]
        best = np.argsort(-weights, kind="stable")[:N_WORDS]
        words.append([[str(fitted.training.vocabulary[word]), weights[word]] for word in best])
    arrays = {
        "who": context,
        "size": int((fitted.model.labels_ == cluster).sum()),
        "authors": [[str(name), share] for name, share in first.items()],
        "titles": titles,
        "shares": shares.head(N_TOPICS_OF_CLUSTER).to_numpy(),
        "topics": words,
    }
    for name, values in arrays.items():
        setting.keep(f"{fitted.label}: cluster {name}", values)


def cluster_to_plot(labels: np.ndarray, authors: Sequence[Sequence[str]]) -> int:
    """Return the cluster with the most groups per author.

    Only clusters with enough groups are considered; if there are none, the largest is returned.
    """
    best, most = 0, 0.0
    for cluster, size in enumerate(np.bincount(labels)):
        names = [name for j in np.flatnonzero(labels == cluster) for name in authors[j]]
        if size >= MIN_GROUPS and names and len(names) / len(set(names)) > most:
            best, most = cluster, len(names) / len(set(names))
    return best


def _title(corpus: mc2.Corpus, group: int) -> str:
    name = str(corpus.group_names[group])
    year = corpus.contexts.get("year")
    if year is None or str(int(year.values[group])) in name:
        return name
    return f"{name} [{int(year.values[group])}]"


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """Plot topics over time, clusters with their authors, and ranks of authors."""
    from .over_time import draw_clusters, draw_ranks, draw_topics

    return draw_topics(record) | draw_clusters(record) | draw_ranks(record)

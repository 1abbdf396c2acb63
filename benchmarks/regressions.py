"""Predictions of contexts that mcsquared is compared with: regressions, DMR and frequencies.

Every function takes training groups, held-out groups and the name of a context. It returns the most
probable values, object (n_groups, n_values), or predicted numbers, float64 (n_groups, 1).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

N_COMPONENTS = 300  # of TF-IDF, if there are too many coefficients
MAX_COEFFICIENTS = 20_000_000
N_RANKED = 5
N_BINS = 20  # of the other contexts, if they are numbers
DMR_BINS = 20


def values_of(corpus: Corpus, context: str) -> list[list[Any]]:
    """Return the values of each group: categories, or the items of a bag."""
    column = corpus.contexts[context]
    names = column.categories
    if column.kind == "category":
        return [[names[code]] if code >= 0 else [] for code in column.values]
    bags = column.values
    return [
        [names[code] for code in bags.indices[bags.indptr[j] : bags.indptr[j + 1]]]
        for j in range(bags.shape[0])
    ]


def by_frequency(train: Corpus, test: Corpus, context: str) -> np.ndarray:
    """Predict the most frequent values for every group, or the mean."""
    column = train.contexts[context]
    if column.kind == "number":
        return np.full((test.n_groups, 1), np.nanmean(column.values))
    counts = Counter(value for values in values_of(train, context) for value in values)
    return np.tile(_ranked(list(counts), [list(counts.values())]), (test.n_groups, 1))


def on_words(train: Corpus, test: Corpus, context: str) -> np.ndarray:
    """Regress on the TF-IDF of all words and on the other contexts."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    tfidf = TfidfTransformer(sublinear_tf=True)
    words = tfidf.fit_transform(train.content.counts), tfidf.transform(test.content.counts)
    column = train.contexts[context]
    if (column.n_categories or 1) * train.n_words > MAX_COEFFICIENTS:
        reduced = TruncatedSVD(N_COMPONENTS, random_state=0).fit(words[0])
        words = tuple(sparse.csr_matrix(reduced.transform(part)) for part in words)
    # Rows of TF-IDF have length 1, so that the default penalty would be strong.
    return _regress(words, train, test, context, penalty=0.05)


def on_topics(
    train: Corpus, test: Corpus, context: str, n_topics: int, settings: Settings
) -> np.ndarray:
    """Regress on the log of the topic shares of LDA, and on the other contexts."""
    from mcsquared.baselines import LDA

    lda = LDA(n_topics, **_options(settings)).fit(train)
    logs = [np.log(lda.transform(part)) for part in (train, test)]
    centre, scale = logs[0].mean(axis=0), logs[0].std(axis=0)
    shares = tuple(sparse.csr_matrix((part - centre) / scale) for part in logs)
    return _regress(shares, train, test, context, penalty=10.0)


def on_summaries(train: Corpus, test: Corpus, context: str) -> np.ndarray:
    """Regress on the mean and the standard deviation of the content, and on the other contexts."""

    def summary(corpus: Corpus) -> sparse.csr_matrix:
        groups = np.split(corpus.content.values, corpus.content.start[1:-1])
        return sparse.csr_matrix([np.r_[group.mean(0), group.std(0)] for group in groups])

    return _regress((summary(train), summary(test)), train, test, context, penalty=0.1)


def predict_dmr(
    train: Corpus, test: Corpus, context: str, n_topics: int, settings: Settings
) -> np.ndarray:
    """Compare the values by p(value) DirMult(topics; α(value)), with topics inferred without it."""
    from mcsquared.baselines import DMR
    from mcsquared.baselines.dmr import ContextFeatures

    others = {name: column for name, column in test.contexts.items() if name != context}
    names, given = [*others, context], test.with_contexts(others)  # features of the context last
    dmr = DMR(n_topics, contexts=names, n_bins=DMR_BINS, **_options(settings)).fit(train)
    counts = dmr.transform(given) * np.asarray(given.content.counts.sum(axis=1))
    values = ContextFeatures.from_contexts(train.contexts, [context], DMR_BINS).transform(train)
    features = ContextFeatures.from_contexts(train.contexts, names, DMR_BINS).transform(given)
    draw, frequency = dmr.draws_[-1], np.asarray(values.sum(axis=0)).ravel()
    rest = features @ draw.coefficients.T + draw.intercept
    scores = np.empty((test.n_groups, len(frequency)))
    for value, coefficients in enumerate(draw.coefficients.T[-len(frequency) :]):
        alpha = np.exp(rest + coefficients) + draw.alpha_epsilon
        total = alpha.sum(axis=1)
        scores[:, value] = gammaln(total) - gammaln(total + counts.sum(axis=1))
        scores[:, value] += (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=1)
    with np.errstate(divide="ignore"):
        scores += np.log(frequency)
    column = train.contexts[context]
    if column.kind != "number":
        return _ranked(column.categories, scores)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    means = np.asarray(values.T @ np.nan_to_num(column.values)) / np.maximum(frequency, 1)
    return (chances @ means / chances.sum(axis=1))[:, None]


def _options(settings: Settings) -> dict[str, Any]:
    n_sweeps = settings.predicted_sweeps
    return {
        "n_sweeps": n_sweeps,
        "burn_in": n_sweeps // 2,
        "keep_parameters": 1,
        "n_jobs": 1,
        "random_state": settings.seed,
    }


def _regress(
    content: tuple[Any, Any], train: Corpus, test: Corpus, context: str, penalty: float
) -> np.ndarray:
    """Fit a logistic or ridge regression; the features of the other contexts are added."""
    from sklearn.linear_model import LogisticRegression, Ridge

    from mcsquared.baselines.dmr import ContextFeatures

    names = [name for name in train.contexts if name != context]
    features = ContextFeatures.from_contexts(train.contexts, names, N_BINS)
    inputs, new = (
        sparse.csr_matrix(sparse.hstack([part, features.transform(corpus)]))
        for part, corpus in zip(content, (train, test), strict=True)
    )
    column = train.contexts[context]
    if column.kind == "number":
        observed = np.flatnonzero(column.observed)
        ridge = Ridge(alpha=penalty).fit(inputs[observed], column.values[observed])
        return ridge.predict(new)[:, None]
    truth = values_of(train, context)
    rows = np.repeat(np.arange(train.n_groups), [len(values) for values in truth])
    labels = np.array([str(value) for values in truth for value in values])
    weights = np.array([1.0 / len(values) for values in truth for _ in values])
    logistic = LogisticRegression(C=1.0 / penalty, max_iter=100)
    logistic.fit(inputs[rows], labels, sample_weight=weights)
    return _ranked(logistic.classes_, logistic.predict_proba(new))


def _ranked(values: Any, scores: Any) -> np.ndarray:
    """Return the values with the highest scores, best first: object (n_rows, n_ranked)."""
    order = np.argsort(-np.asarray(scores, float), axis=1, kind="stable")[:, :N_RANKED]
    return np.array(list(values), dtype=object)[order]

"""Dirichlet-multinomial regression: topics whose shares depend on contexts, by tomotopy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Integers
from mcsquared.baselines.lda import TomotopyChain, TomotopyModel, import_tomotopy
from mcsquared.baselines.topic_model import ALL_GROUPS, Rows, rows_by_value
from mcsquared.corpus import Column, Corpus
from mcsquared.corpus.columns.convert import aligned_contexts
from mcsquared.errors import InputError


@dataclass(frozen=True, eq=False)
class DMRDraw:
    """Topics of one stored draw, and the prior of a group's topic shares given its features.

    α_jm = exp(intercept_m + Σ_f feature_jf coefficients_mf) + alpha_epsilon

    ``marginal_alpha`` is the prior used when contexts are ignored (``given_contexts=False``); see
    `marginal_prior`.
    """

    word_given_topic: Floats  # (n_topics, n_words)
    intercept: Floats  # (n_topics,)
    coefficients: Floats  # (n_topics, n_features)
    alpha_epsilon: float  # smallest value of α
    marginal_alpha: Floats = field(default_factory=lambda: np.zeros(0))  # (n_topics,)

    def alpha(self, features: sparse.csr_matrix) -> Floats:
        """Return the prior of each group: float64 (n_groups, n_topics)."""
        return np.exp(self.intercept + features @ self.coefficients.T) + self.alpha_epsilon


@dataclass(eq=False, repr=False)
class DMR(TomotopyModel):
    """Topic model in which the prior of a group's topic shares depends on its contexts.

    Dirichlet-multinomial regression of Mimno and McCallum (2008) as implemented by tomotopy, with
    binary features. Categories, items of bags and booleans are features; numbers, dates, counts
    and the coordinates of vectors are cut into bins with about equally many groups. For a
    missing context, all features are zero.

    Parameters
    ----------
    n_topics : int
    contexts : "auto" or list of str
        Contexts to use; "auto": all contexts of the corpus.
    n_bins : int
        Number of bins of a numeric context.
    alpha : float
        Dirichlet prior of the topic shares of a group without features, per topic.
    sigma : float
        Standard deviation of the normal prior of the coefficients.
    concentration : float
        Dirichlet prior of a topic's words, per word.
    n_sweeps, burn_in, keep_parameters, n_jobs, random_state
        As in `LDA`; coefficients are fitted every ten sweeps.

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Word probabilities of each topic in the last draw; rows sum to 1.
    features_ : list of str
        Names of the features.
    intercept_ : float64 (n_topics_,)
    coefficients_ : float64 (n_topics_, n_features)
        Effect of each feature on the logarithm of the prior, in the last draw.
    draws_ : list of DMRDraw
        Topics and coefficients of every stored draw.
    n_topics_ : int
        Number of topics, ``n_topics``.

    Notes
    -----
    `perplexity` with ``given_contexts=False`` uses one prior for all groups, with the mean and the
    variance of topic shares in the training groups; `transform` always uses the contexts. Fitting
    the coefficients takes time proportional to topics × features: with a bag of thousands of
    categories it takes longer than the sweeps in between.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.DMR(n_topics=4, n_bins=4, n_sweeps=50, burn_in=20, random_state=0)
    >>> model.fit(corpus).coefficients_.shape
    (4, 4)
    """

    _minima: ClassVar = {**TomotopyModel._minima, "n_bins": 1}
    _positive_parameters: ClassVar = (*TomotopyModel._positive_parameters, "sigma")

    n_topics: int = 50
    contexts: str | Iterable[str] = "auto"
    n_bins: int = 10
    alpha: float = 0.1
    sigma: float = 1.0
    concentration: float = 0.05

    def _fit(self, corpus: Corpus) -> Floats:
        self._features = ContextFeatures.from_contexts(corpus.contexts, self.contexts, self.n_bins)
        features = self._features.transform(corpus)
        model = import_tomotopy().DMRModel(
            k=self.n_topics,
            alpha=self.alpha,
            eta=self.concentration,
            sigma=self.sigma,
            seed=self._seed,
        )
        chain = TomotopyChain(model, corpus, self.n_jobs, features)
        self.draws_ = [
            _current_draw(chain, features)
            for _ in chain.run(self.n_sweeps, self.burn_in, self.keep_parameters)
        ]
        last = self.draws_[-1]
        self.features_ = self._features.names
        self.intercept_, self.coefficients_ = last.intercept, last.coefficients
        return last.word_given_topic

    def _columns(self) -> dict[str, Column]:
        return self._features.columns

    def _dirichlet_priors(
        self, corpus: Corpus, given_contexts: bool
    ) -> Iterable[tuple[Rows, list[Floats]]]:
        if not given_contexts:
            yield ALL_GROUPS, [draw.marginal_alpha for draw in self.draws_]
            return
        features = self._features.transform(corpus)
        keys = [features.indices[slice(*bounds)].tobytes() for bounds in pairwise(features.indptr)]
        for rows in rows_by_value(np.array(keys, dtype=object))[1]:
            yield rows, [draw.alpha(features[rows[:1]])[0] for draw in self.draws_]


def marginal_prior(alpha: Floats) -> Floats:
    """Return the Dirichlet prior that matches the mixture of all priors: (n_topics,).

    It has the mean μ of the mixture, and Σ_m E[θ_m²] = (s Σ_m μ_m² + 1) / (s + 1) determines the
    sum s of the parameters. ``alpha`` are the priors of the groups: float64 (n_groups, n_topics).
    """
    total = alpha.sum(axis=1, keepdims=True)
    mean = (alpha / total).mean(axis=0)
    square = (alpha * (alpha + 1.0) / (total * (total + 1.0))).sum(axis=1).mean()
    if len(mean) == 1:
        return alpha.mean(axis=0)
    return mean * (1.0 - square) / (square - mean @ mean)


def _current_draw(chain: TomotopyChain, features: sparse.csr_matrix) -> DMRDraw:
    """Return the state of a chain; features unknown to tomotopy have coefficients of zero."""
    model = chain.model
    fitted = np.asarray(model.lambda_, np.float64)[:, 0]
    coefficients = np.zeros((model.k, features.shape[1]))
    coefficients[:, [int(number) for number in model.multi_metadata_dict]] = fitted[:, 1:]
    word_given_topic, epsilon = chain.word_given_topic(), float(model.alpha_epsilon)
    draw = DMRDraw(word_given_topic, fitted[:, 0], coefficients, epsilon)
    return replace(draw, marginal_alpha=marginal_prior(draw.alpha(features)))


@dataclass(frozen=True, eq=False)
class ContextFeatures:
    """Binary features of contexts, learned from the training groups.

    Every category, item of a bag and boolean value is a feature. Numbers, dates, counts and the
    coordinates of vectors are cut at quantiles, and every bin is a feature. For a missing
    context and a category unseen in training, all features are zero.
    """

    columns: dict[str, Column]  # kinds and categories of the contexts, without groups
    cuts: dict[str, list[Floats]]  # inner bounds of the bins of each coordinate

    @classmethod
    def from_contexts(
        cls, contexts: Mapping[str, Column], names: str | Iterable[str], n_bins: int
    ) -> Self:
        """Return the features of the contexts ``names``, or of all contexts for "auto"."""
        if isinstance(names, str) and names == "auto":
            names = list(contexts)
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InputError(f"contexts must be 'auto' or a list of names, got {names!r}")
        chosen = list(dict.fromkeys(names))
        for name in chosen:
            if name not in contexts:
                known = ", ".join(contexts) or "none"
                raise InputError(f"contexts must be contexts of the corpus ({known}), got {name!r}")
        probabilities = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
        cuts = {
            name: [
                _cuts(values, probabilities) for values in np.atleast_2d(contexts[name].values.T)
            ]
            for name in chosen
            if contexts[name].categories is None
        }
        return cls({name: contexts[name][:0] for name in chosen}, cuts)

    @property
    def names(self) -> list[str]:
        """Names of the features, e.g. "year<1990", "1990<=year<1995" or "authors=Ng_A"."""
        names = []
        for name, column in self.columns.items():
            if column.categories is not None:
                names += [f"{name}={category}" for category in column.categories]
                continue
            for i, cuts in enumerate(self.cuts[name]):
                part = name if len(self.cuts[name]) == 1 else f"{name}[{i}]"
                names += _bin_names(part, [f"{cut:g}" for cut in cuts])
        return names

    def transform(self, corpus: Corpus) -> sparse.csr_matrix:
        """Return the features of each group: csr_matrix of ones (n_groups, n_features)."""
        columns = aligned_contexts(corpus.contexts, self.columns, corpus.n_groups, notes=[])
        blocks = [sparse.csr_matrix((corpus.n_groups, 0))]
        blocks += [_indicators(column, self.cuts.get(name, [])) for name, column in columns.items()]
        features = sparse.csr_matrix(sparse.hstack(blocks, format="csr"), dtype=np.float64)
        features.sort_indices()
        return features


def _cuts(values: Floats, probabilities: Floats) -> Floats:
    """Return these quantiles, without duplicates if many groups have the same value."""
    observed = values[~np.isnan(values)]
    if len(observed) == 0:
        return np.zeros(0)
    cuts = np.unique(np.quantile(observed, probabilities))
    return cuts[cuts > observed.min()]


def _bin_names(name: str, cuts: list[str]) -> list[str]:
    if not cuts:
        return [f"{name} known"]
    between = [f"{low}<={name}<{high}" for low, high in pairwise(cuts)]
    return [f"{name}<{cuts[0]}", *between, f"{name}>={cuts[-1]}"]


def _indicators(column: Column, cuts: list[Floats]) -> sparse.csr_matrix:
    if column.kind == "bag":
        present = column.values.astype(np.float64)
        present.data[:] = 1.0
        return present
    if column.kind == "category":
        return _one_hot(column.values, column.n_categories)
    parts = []
    for values, bounds in zip(np.atleast_2d(column.values.T), cuts, strict=True):
        bins = np.where(np.isnan(values), -1, np.searchsorted(bounds, values, side="right"))
        parts.append(_one_hot(bins, len(bounds) + 1))
    return sparse.hstack(parts, format="csr")


def _one_hot(code: Integers, size: int) -> sparse.csr_matrix:
    rows = np.flatnonzero(code >= 0)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, code[rows])), shape=(len(code), size))

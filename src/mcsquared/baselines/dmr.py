"""Dirichlet-multinomial regression: topics whose shares depend on contexts, by tomotopy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mcsquared.baselines.features import Features
from mcsquared.baselines.lda import TomotopyChain, TomotopyModel, import_tomotopy
from mcsquared.baselines.topic_model import ALL, Rows, rows_by_value

if TYPE_CHECKING:
    from scipy import sparse

    from mcsquared.corpus import Column, Corpus

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DMRDraw:
    """Topics of one stored draw, and the prior of a group's topic weights given its features.

    α_jm = exp(intercept_m + Σ_f has_jf coefficients_mf) + smallest

    Parameters
    ----------
    word_given_topic : float64 (n_topics, n_words)
    intercept : float64 (n_topics,)
    coefficients : float64 (n_topics, n_features)
    smallest : float
    marginal_alpha : float64 (n_topics,)
        The prior of a group without known features: see `marginal_prior`.
    """

    word_given_topic: Floats
    intercept: Floats
    coefficients: Floats
    smallest: float
    marginal_alpha: Floats

    def alpha(self, features: sparse.csr_matrix) -> Floats:
        """Return the prior of each group: float64 (n_groups, n_topics)."""
        return _alpha(features, self.intercept, self.coefficients, self.smallest)


@dataclass(eq=False, repr=False)
class DMR(TomotopyModel):
    """Topic model in which the prior of a group's topic weights depends on its contexts.

    Dirichlet-multinomial regression of Mimno and McCallum (2008) as implemented by tomotopy, with
    binary features. Categories, entries of bags and booleans are features; numbers, dates, counts
    and the coordinates of vectors are cut into bins with about equally many groups. Missing
    contexts have no feature.

    Parameters
    ----------
    n_topics : int
    contexts : "auto" or list of str
        Contexts to use; "auto": all contexts of the corpus.
    n_bins : int
        Bins of a numeric context.
    alpha : float
        Dirichlet prior of a group's topic weights, per topic, without any feature.
    sigma : float
        Standard deviation of the normal prior of the coefficients.
    concentration : float
        Dirichlet prior of a topic's words, per word.
    n_sweeps, burn_in, keep_parameters, n_jobs, random_state
        As in `LDA`; coefficients are fitted every ten sweeps.

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Words of each topic in the last draw; rows sum to 1.
    features_ : list of str
        Names of the features.
    intercept_ : float64 (n_topics_,)
    coefficients_ : float64 (n_topics_, n_features)
        Effect of each feature on the logarithm of the prior, in the last draw.
    draws_ : list of DMRDraw
    n_topics_ : int

    Notes
    -----
    `perplexity` with ``given_contexts=False`` uses one prior for all groups, with the mean and the
    variance of topic weights in the training groups; `transform` always uses the contexts. Fitting
    the coefficients takes time proportional to topics × features: with a bag of thousands of
    categories it takes longer than the sweeps in between.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.DMR(n_topics=4, n_bins=4, n_sweeps=50, burn_in=20, random_state=0)
    >>> model.fit(corpus).coefficients_.shape
    (4, 4)
    """

    _integers: ClassVar = {**TomotopyModel._integers, "n_bins": 1}
    _positive: ClassVar = (*TomotopyModel._positive, "sigma")

    n_topics: int = 50
    contexts: str | Iterable[str] = "auto"
    n_bins: int = 10
    alpha: float = 0.1
    sigma: float = 1.0
    concentration: float = 0.05
    n_sweeps: int = 600
    burn_in: int = 100
    keep_parameters: int = 10
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def _fit(self, corpus: Corpus) -> Floats:
        self._features = Features.learn(corpus.contexts, self.contexts, self.n_bins)
        features = self._features.of(corpus)
        model = import_tomotopy().DMRModel(
            k=self.n_topics,
            alpha=self.alpha,
            eta=self.concentration,
            sigma=self.sigma,
            seed=self._seed,
        )
        chain = TomotopyChain(model, corpus, self.n_jobs, features)
        self.draws_ = [
            _draw_of(chain, features)
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
            yield ALL, [draw.marginal_alpha for draw in self.draws_]
            return
        features = self._features.of(corpus)
        keys = [features.indices[slice(*bounds)].tobytes() for bounds in pairwise(features.indptr)]
        for rows in rows_by_value(np.array(keys, dtype=object))[1]:
            yield rows, [draw.alpha(features[rows[:1]])[0] for draw in self.draws_]


def marginal_prior(alpha: Floats) -> Floats:
    """Return the Dirichlet prior that matches a mixture of others: float64 (n_topics,).

    It has the mixture's mean μ and its Σ_m E[θ_m²], which determine its sum s by
    Σ_m E[θ_m²] = (s Σ_m μ_m² + 1) / (s + 1).

    Parameters
    ----------
    alpha : float64 (n_groups, n_topics)
    """
    total = alpha.sum(axis=1, keepdims=True)
    mean = (alpha / total).mean(axis=0)
    square = (alpha * (alpha + 1.0) / (total * (total + 1.0))).sum(axis=1).mean()
    if len(mean) == 1:
        return alpha.mean(axis=0)
    return mean * (1.0 - square) / (square - mean @ mean)


def _draw_of(chain: TomotopyChain, features: sparse.csr_matrix) -> DMRDraw:
    """Return the state of a chain; features of no group with words have coefficients of zero."""
    model = chain.model
    found = np.asarray(model.lambda_, np.float64)[:, 0]
    coefficients = np.zeros((model.k, features.shape[1]))
    coefficients[:, [int(number) for number in model.multi_metadata_dict]] = found[:, 1:]
    smallest = float(model.alpha_epsilon)
    return DMRDraw(
        word_given_topic=chain.word_given_topic(),
        intercept=found[:, 0],
        coefficients=coefficients,
        smallest=smallest,
        marginal_alpha=marginal_prior(_alpha(features, found[:, 0], coefficients, smallest)),
    )


def _alpha(
    features: sparse.csr_matrix, intercept: Floats, coefficients: Floats, smallest: float
) -> Floats:
    return np.exp(intercept + features @ coefficients.T) + smallest

"""Dirichlet-multinomial regression: topics whose shares depend on contexts, by tomotopy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mcsquared.baselines.topic_model import TopicModel

if TYPE_CHECKING:
    from scipy import sparse

    from mcsquared.baselines.features import Features
    from mcsquared.baselines.folding import TopicDraw
    from mcsquared.baselines.tomotopy_models import Chain
    from mcsquared.corpus import Corpus

__all__ = ["DMR", "DMRDraw", "marginal_prior"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DMRDraw:
    """Topics at one sweep, and how the prior of a group's topic weights follows from features.

    α_jm = exp(intercept_m + Σ_f has_jf coefficients_mf) + smallest

    Parameters
    ----------
    word_given_topic : float64 (n_topics, n_words)
    intercept : float64 (n_topics,)
    coefficients : float64 (n_topics, n_features)
    smallest : float
    marginal_alpha : float64 (n_topics,)
        The prior of a group of which nothing is known: see `marginal_prior`.
    """

    word_given_topic: Floats
    intercept: Floats
    coefficients: Floats
    smallest: float
    marginal_alpha: Floats

    def alpha(self, features: sparse.csr_matrix) -> Floats:
        """Return the prior of each group: float64 (n_groups, n_topics)."""
        return _alpha(features, self.intercept, self.coefficients, self.smallest)


class DMR(TopicModel):
    """Topic model whose groups' topic weights have a prior that their contexts decide.

    Dirichlet-multinomial regression of Mimno and McCallum (2008) as tomotopy has it: features are
    there or not. Categories, members of bags and truth values are features as they are; numbers,
    dates, counts and the coordinates of vectors are cut into bins of about as many groups each.
    Missing contexts have no feature.

    Parameters
    ----------
    n_topics : int
    contexts : "auto" or list of str
        The contexts that are used; "auto": all of the corpus.
    n_bins : int
        Bins of a context that is a number.
    alpha : float
        Dirichlet prior of a group's topic weights, per topic, where no feature says otherwise.
    sigma : float
        Standard deviation of the normal prior of the coefficients.
    concentration : float
        Dirichlet prior of a topic's words, per word.
    n_sweeps, burn_in, keep_parameters, n_jobs, random_state
        As those of `LDA`; coefficients are fitted every ten sweeps.

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Words of each topic in the last draw; rows sum to 1.
    features_ : list of str
        Names of the features.
    intercept_ : float64 (n_topics_,)
    coefficients_ : float64 (n_topics_, n_features)
        How much a feature adds to the logarithm of the prior, in the last draw.
    draws_ : list of DMRDraw
    n_topics_ : int

    Notes
    -----
    `perplexity` of groups without their contexts (``given_contexts=False``) takes one prior for all
    of them, which has the mean and the variance of topic weights in the groups of training;
    `transform` always uses the contexts there are. Fitting the coefficients takes time in
    proportion to topics × features: a bag of thousands of members costs more than the sweeps
    between.

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.DMR(n_topics=4, n_bins=4, n_sweeps=50, burn_in=20, random_state=0)
    >>> model.fit(corpus).coefficients_.shape
    (4, 4)
    """

    draws_: list[DMRDraw]
    _features: Features

    def __init__(
        self,
        n_topics: int = 50,
        contexts: str | Iterable[str] = "auto",
        n_bins: int = 10,
        alpha: float = 0.1,
        sigma: float = 1.0,
        concentration: float = 0.05,
        n_sweeps: int = 600,
        burn_in: int = 100,
        keep_parameters: int = 10,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.contexts = contexts
        self.n_bins = n_bins
        self.alpha = alpha
        self.sigma = sigma
        self.concentration = concentration
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.keep_parameters = keep_parameters
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, corpus: Corpus, seed: int) -> Floats:
        from mcsquared.baselines.checks import check_positive
        from mcsquared.baselines.features import Features
        from mcsquared.baselines.tomotopy_models import Chain, check_schedule, import_tomotopy
        from mcsquared.checks import check_whole

        check_schedule(self)
        check_positive("sigma", self.sigma)
        n_bins = check_whole("n_bins", self.n_bins, 1)
        self._features = Features.learn(corpus.contexts, self.contexts, n_bins)
        held = self._features.of(corpus)
        model = import_tomotopy().DMRModel(
            k=self.n_topics,
            alpha=self.alpha,
            eta=self.concentration,
            sigma=self.sigma,
            seed=seed,
        )
        chain = Chain(model, corpus, self.n_jobs, held)
        self.draws_ = [
            _draw_of(chain, held)
            for _ in chain.run(self.n_sweeps, self.burn_in, self.keep_parameters)
        ]
        last = self.draws_[-1]
        self.features_ = self._features.names
        self.intercept_, self.coefficients_ = last.intercept, last.coefficients
        return last.word_given_topic

    def _draws(self, corpus: Corpus, given_contexts: bool) -> Sequence[TopicDraw]:
        from mcsquared.baselines.folding import TopicDraw

        held = self._features.of(corpus) if given_contexts else None
        return [
            TopicDraw(
                draw.word_given_topic, draw.marginal_alpha if held is None else draw.alpha(held)
            )
            for draw in self.draws_
        ]


def marginal_prior(alpha: Floats) -> Floats:
    """Return the Dirichlet prior that is most like a mixture of others: float64 (n_topics,).

    It has the mixture's mean μ and its Σ_m E[θ_m²]; from the two its sum s follows, as
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


def _draw_of(chain: Chain, held: sparse.csr_matrix) -> DMRDraw:
    """Return the state of a chain; a feature that no group of words has stays at zero."""
    model = chain.model
    found = np.asarray(model.lambda_, np.float64)[:, 0]
    coefficients = np.zeros((model.k, held.shape[1]))
    coefficients[:, [int(number) for number in model.multi_metadata_dict]] = found[:, 1:]
    smallest = float(model.alpha_epsilon)
    return DMRDraw(
        word_given_topic=chain.word_given_topic(),
        intercept=found[:, 0],
        coefficients=coefficients,
        smallest=smallest,
        marginal_alpha=marginal_prior(_alpha(held, found[:, 0], coefficients, smallest)),
    )


def _alpha(
    features: sparse.csr_matrix, intercept: Floats, coefficients: Floats, smallest: float
) -> Floats:
    return np.exp(intercept + features @ coefficients.T) + smallest

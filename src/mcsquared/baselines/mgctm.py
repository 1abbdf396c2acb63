"""Multi-grain clustering topic model (Xie and Xing 2013): clusters with topics of their own.

    cluster of group j           z_j ~ π                       π ~ Dir(a)
    shares of local topics       θ_j ~ Dir(α_k) for k = z_j    α_kr ~ Gamma, or fixed
    shares of global topics      φ_j ~ Dir(α)                  α_g ~ Gamma, or fixed
    share of local tokens        ω_j ~ Beta(γ₁, γ₂)            γ ~ Gamma, or fixed
    each token                   local with probability ω_j: topic θ_j, words ψ_kr ~ Dir(β);
                                 global otherwise: topic φ_j, words ψ_g ~ Dir(β)

The indices r and g are those of the local topics of a cluster and of the global topics.

The authors estimate the parameters by variational EM. Here they have priors and are sampled.
"""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mcsquared.arrays import Floats, Int32s, Int64s, Rng
from mcsquared.baselines.clusterers import KMeans
from mcsquared.checks import as_seed, check_choice, check_integer, check_positive
from mcsquared.corpus import Corpus, Words, as_corpus
from mcsquared.errors import InputError
from mcsquared.gamma import Gamma
from mcsquared.kernels.cpu.counts import draw_table_counts
from mcsquared.kernels.cpu.switched_topics import (
    SwitchedTopics,
    log_evidence,
    resample_groups,
    start_groups,
)
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import Concentration, HyperParameter, initial_value
from mcsquared.samplers.types import Key
from mcsquared.schedule import Schedule

CHAIN = 0
PREDICTION = 2**32 - 1  # in place of the number of a sweep
N_REPEATS = 20  # imputations of a new group for each cluster and stored draw
LOCAL = HyperParameter("local_prior", "α_k", "prior of the shares of local topics", Gamma(1, 1))
GLOBAL = HyperParameter("global_prior", "α", "prior of the shares of global topics", Gamma(1, 1))
SWITCH = HyperParameter("switch_prior", "γ", "prior of the share of local tokens", Gamma(1, 1))
DIRICHLET_PRIORS = (LOCAL, GLOBAL, SWITCH)


class Tokens(NamedTuple):
    """Words of groups; those of group ``j`` are ``word[group_start[j]:group_start[j + 1]]``."""

    group_start: Int64s  # (n_groups + 1,)
    word: Int32s  # (n_tokens,)


class MGCTMDraw(NamedTuple):
    """Clusters of the training groups in one draw, with counts and priors."""

    cluster_of_group: Int32s  # (n_groups,)
    model: SwitchedTopics


@dataclass(eq=False, repr=False)
class MGCTM(ClusterMixin, BaseEstimator):
    """Multi-grain clustering topic model: a fixed number of clusters, each with its own topics.

    Every token has a topic of its group's cluster (local) or a topic of all clusters (global).
    Contexts are ignored. Fitted by a collapsed Gibbs sampler on one thread.

    Parameters
    ----------
    n_clusters : int
        Clusters without groups are not counted in ``n_clusters_``.
    n_local_topics : int
        Number of local topics of each cluster.
    n_global_topics : int
    local_prior, global_prior : float or Gamma
        Dirichlet prior of a group's shares of local and of global topics, per topic. A number fixes
        it; with a `Gamma`, it is resampled, and differs between topics and clusters.
    switch_prior : float or Gamma
        The same for the shares of local and global tokens in a group.
    cluster_prior : float
        Dirichlet prior of the cluster weights, per cluster.
    concentration : float
        Dirichlet prior of a topic's words, per word, as in `MC2`.
    init : {"kmeans", "random"}
        Initial clusters: `KMeans` of tf-idf, or uniformly at random.
    n_sweeps, burn_in : int
        Total number of sweeps, and number of initial sweeps to discard.
    keep_parameters : int
        Number of stored draws, evenly spaced after burn-in.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : int64 (n_groups,)
        The most frequent cluster of each group in the stored draws; clusters by decreasing size.
    n_clusters_ : int
    local_components_ : float64 (n_clusters_, n_local_topics, n_words)
        Word probabilities of local topics in the last draw.
    global_components_ : float64 (n_global_topics, n_words)
    draws_ : list of MGCTMDraw
        Their clusters are matched to those of the last draw and numbered as ``labels_``.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.MGCTM(4, 2, 2, n_sweeps=30, burn_in=10, random_state=0).fit(corpus)
    >>> model.labels_.shape, model.predict(corpus[:3]).shape
    ((40,), (3,))
    """

    n_clusters: int = 8
    n_local_topics: int = 5
    n_global_topics: int = 10
    local_prior: Concentration = LOCAL.default
    global_prior: Concentration = GLOBAL.default
    switch_prior: Concentration = SWITCH.default
    cluster_prior: float = 1.0
    concentration: float = 0.05
    init: str = "kmeans"
    n_sweeps: int = 600
    burn_in: int = 100
    keep_parameters: int = 10
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Corpus, list of str, list of lists of str or matrix of counts
        y : ignored
        """
        self._check_parameters()
        corpus = as_corpus(X, content="counts")
        if corpus.n_tokens == 0:
            raise InputError("X must have at least one word, got none")
        self._seed, self._vocabulary = as_seed(self.random_state), corpus.vocabulary
        chain = MGCTMChain(self, corpus, self._seed)
        schedule = Schedule(self.n_sweeps, self.burn_in, 1, self.keep_parameters)
        draws = []
        for sweep in range(1, self.n_sweeps + 1):
            chain.sweep()
            if schedule.is_kept(sweep) and schedule.stores_parameters(sweep):
                draws.append(chain.draw())
        self._set_draws(draws)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each cluster for each group: (n_groups, n_clusters_).

        The mean over stored draws; the likelihood of a group under a cluster is estimated by
        importance sampling.

        Examples
        --------
        >>> model.predict_proba(corpus[:3]).sum(axis=1).round(6)
        array([1., 1., 1.])
        """
        check_is_fitted(self)
        words: Any = self._vocabulary
        corpus = as_corpus(X, content="counts", vocabulary=words).aligned_to(words)
        tokens = shuffled_tokens(corpus, Key(self._seed, CHAIN, PREDICTION))
        shape = (corpus.n_groups, self.n_clusters, N_REPEATS)
        result = np.zeros((corpus.n_groups, self.n_clusters_))
        for number, draw in enumerate(self.draws_):
            log_weights = np.zeros(shape)
            if corpus.n_tokens > 0:
                key = Key(self._seed, number, PREDICTION)
                log_evidence(*tokens, draw.model, key, log_weights)
            logs = np.logaddexp.reduce(log_weights, axis=2)
            logs += np.log(draw.model.groups_in_cluster + self.cluster_prior)
            result += softmax(logs[:, : self.n_clusters_], axis=1) / len(self.draws_)
        return result

    def predict(self, X: Any) -> Int64s:
        """Return the most probable cluster of each group."""
        return self.predict_proba(X).argmax(axis=1)

    def _check_parameters(self) -> None:
        minima = {"burn_in": 0} | dict.fromkeys(
            ("n_clusters", "n_local_topics", "n_global_topics", "n_sweeps", "keep_parameters"), 1
        )
        for name, minimum in minima.items():
            check_integer(name, getattr(self, name), minimum)
        for name in ("cluster_prior", "concentration"):
            check_positive(name, getattr(self, name))
        for parameter in DIRICHLET_PRIORS:
            parameter.validated(getattr(self, parameter.name))
        check_choice("init", self.init, ("kmeans", "random"))
        if self.n_sweeps <= self.burn_in:
            raise InputError(
                f"n_sweeps must exceed burn_in ({self.burn_in}) by at least 1, got {self.n_sweeps}"
            )

    def _set_draws(self, draws: list[MGCTMDraw]) -> None:
        """Match the clusters of all draws and set the fitted attributes."""
        n_groups, last = len(draws[-1].cluster_of_group), draws[-1].cluster_of_group
        orders, votes = [], np.zeros((n_groups, self.n_clusters), np.int64)
        for draw in draws:
            common = np.zeros((self.n_clusters, self.n_clusters), np.int64)
            np.add.at(common, (last, draw.cluster_of_group), 1)
            orders.append(linear_sum_assignment(common, maximize=True)[1])
            matched = np.argsort(orders[-1])[draw.cluster_of_group]
            votes[np.arange(n_groups), matched] += 1
        labels = votes.argmax(axis=1)
        sizes = np.bincount(labels, minlength=self.n_clusters)
        by_size = np.argsort(-sizes, kind="stable")
        self.labels_, self.n_clusters_ = np.argsort(by_size)[labels], int((sizes > 0).sum())
        pairs = zip(draws, orders, strict=True)
        self.draws_ = [reorder_clusters(draw, order[by_size]) for draw, order in pairs]
        model = self.draws_[-1].model
        means = (model.words_in_topic.T + self.concentration).astype(np.float64)
        means /= means.sum(axis=1, keepdims=True)
        n_local = self.n_clusters * self.n_local_topics
        local = means[:n_local].reshape(self.n_clusters, self.n_local_topics, -1)
        self.local_components_ = local[: self.n_clusters_]
        self.global_components_ = means[n_local:]


class MGCTMChain:
    """A chain of `MGCTM`, started from the initial clusters of the estimator."""

    def __init__(self, estimator: MGCTM, corpus: Corpus, seed: int) -> None:
        self._priors = tuple(p.validated(getattr(estimator, p.name)) for p in DIRICHLET_PRIORS)
        self.key = Key(seed, CHAIN, 0)
        self.tokens = shuffled_tokens(corpus, self.key)
        n_clusters, n_local = estimator.n_clusters, estimator.n_local_topics
        n_topics = n_clusters * n_local + estimator.n_global_topics
        local_prior, global_prior, switch_prior = map(initial_value, self._priors)
        self.model = SwitchedTopics(
            words_in_topic=np.zeros((corpus.n_words, n_topics), np.int32),
            tokens_in_topic=np.zeros(n_topics, np.int64),
            inverse_totals=np.full(n_topics, 1.0 / (corpus.n_words * estimator.concentration)),
            groups_in_cluster=np.zeros(n_clusters, np.int64),
            local_prior=np.full((n_clusters, n_local), local_prior),
            global_prior=np.full(estimator.n_global_topics, global_prior),
            switch_prior=np.full(2, switch_prior),
            concentration=float(estimator.concentration),
            cluster_prior=float(estimator.cluster_prior),
        )
        self.cluster_of_group = initial_clusters(estimator, corpus, self.key)
        self.topic_of_token = np.zeros(corpus.n_tokens, np.int32)
        start_groups(*self.tokens, self.cluster_of_group, self.topic_of_token, self.model, self.key)

    def sweep(self) -> None:
        """Draw clusters and topics of all groups, then the Dirichlet priors."""
        self.key = self.key._replace(sweep=self.key.sweep + 1)
        resample_groups(
            *self.tokens, self.cluster_of_group, self.topic_of_token, self.model, self.key
        )
        if any(isinstance(prior, Gamma) for prior in self._priors):
            self._resample_priors()

    def _resample_priors(self) -> None:
        """Draw α_k, α and γ given the topics of every group."""
        rng, model, counts = self.key.generator(Step.TOPIC_WEIGHTS), self.model, self._counts()
        local_prior, global_prior, switch_prior = self._priors
        n_local = model.local_prior.shape[1]
        parts = (slice(n_local), slice(n_local, -2), slice(-2, None))
        tables = np.zeros_like(counts)
        first = 0
        for k, alpha in enumerate(model.local_prior):
            # Concentrations differ between clusters. Rows have distinct numbers for their draws.
            rows = np.flatnonzero(self.cluster_of_group == k)
            alphas = np.concatenate([alpha, model.global_prior, model.switch_prior])
            tables[rows] = draw_table_counts(counts[rows], alphas, self.key, first)
            first += len(rows)
            alpha[:] = draw_dirichlet_prior(
                alpha, local_prior, counts[rows, parts[0]], tables[rows, parts[0]], rng
            )
        for alpha, prior, part in (
            (model.global_prior, global_prior, parts[1]),
            (model.switch_prior, switch_prior, parts[2]),
        ):
            alpha[:] = draw_dirichlet_prior(alpha, prior, counts[:, part], tables[:, part], rng)

    def _counts(self) -> Int32s:
        """Return each group's tokens per topic, then its local and its global tokens."""
        n_local = self.model.local_prior.shape[1]
        n_topics = n_local + len(self.model.global_prior)
        group_start = self.tokens.group_start
        group = np.repeat(np.arange(len(group_start) - 1), np.diff(group_start))
        cells = np.bincount(
            group * n_topics + self.topic_of_token, minlength=(len(group_start) - 1) * n_topics
        ).reshape(-1, n_topics)
        local = cells[:, :n_local].sum(axis=1)
        switches = (local, cells.sum(axis=1) - local)
        return np.column_stack([cells, *switches]).astype(np.int32)

    def draw(self) -> MGCTMDraw:
        """Return a copy of the current state."""
        return MGCTMDraw(self.cluster_of_group.copy(), copy.deepcopy(self.model))


def draw_dirichlet_prior(
    alpha: Floats, prior: Concentration, counts: Int32s, tables: Int32s, rng: Rng
) -> Floats:
    """Draw the parameters of a Dirichlet prior with independent Gamma priors.

    Given the tables t_jm ~ CRT(n_jm, α_m) and q_j ~ Beta(Σα, n_j) of all groups j with tokens,

        α_m  ~  Gamma(shape + Σ_j t_jm, rate − Σ_j log q_j)

    ``alpha`` (n_topics,) are the current values, which are returned if the prior is a number;
    ``counts`` and ``tables`` are (n_groups, n_topics).
    """
    if not isinstance(prior, Gamma):
        return alpha
    sizes = counts.sum(axis=1)
    q = rng.beta(alpha.sum(), sizes[sizes > 0])
    rate = prior.rate - np.log(np.maximum(q, np.finfo(float).tiny)).sum()
    return np.maximum(rng.gamma(prior.shape + tables.sum(axis=0)) / rate, np.finfo(float).tiny)


def shuffled_tokens(corpus: Corpus, key: Key) -> Tokens:
    """Return the words of all groups, those of each group in random order.

    The first tokens of a group decide which topics the next ones are imputed to, so they should
    represent the group; words in the order of the vocabulary would not.
    """
    assert isinstance(corpus.content, Words)
    counts, sizes = corpus.content.counts, corpus.content.tokens_per_group
    word = np.repeat(counts.indices, counts.data).astype(np.int32)
    group = np.repeat(np.arange(corpus.n_groups), sizes)
    order = np.lexsort((key.generator(Step.FIRST_TOPICS).random(len(word)), group))
    return Tokens(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), word[order])


def initial_clusters(estimator: MGCTM, corpus: Corpus, key: Key) -> Int32s:
    """Return the initial cluster of each group."""
    if estimator.init == "random":
        rng = key.generator(Step.START)
        return rng.integers(estimator.n_clusters, size=corpus.n_groups, dtype=np.int32)
    n_clusters = min(estimator.n_clusters, int((corpus.content.tokens_per_group > 0).sum()))
    model = KMeans(n_clusters, "tfidf", random_state=key.seed).fit(corpus)
    return model.labels_.astype(np.int32)


def reorder_clusters(draw: MGCTMDraw, order: Int64s) -> MGCTMDraw:
    """Return a draw whose cluster ``k`` is the cluster ``order[k]`` of ``draw``."""
    model = draw.model
    n_clusters, n_local = model.local_prior.shape
    local = (order[:, None] * n_local + np.arange(n_local)).ravel()
    columns = np.concatenate([local, np.arange(n_clusters * n_local, len(model.tokens_in_topic))])
    model = model._replace(
        words_in_topic=np.ascontiguousarray(model.words_in_topic[:, columns]),
        tokens_in_topic=model.tokens_in_topic[columns],
        inverse_totals=model.inverse_totals[columns],
        groups_in_cluster=model.groups_in_cluster[order],
        local_prior=model.local_prior[order],
    )
    return MGCTMDraw(np.argsort(order).astype(np.int32)[draw.cluster_of_group], model)

"""Topics of a small corpus: too many with even weights at first, then removed one by one.

With learned weights, large topics attract the tokens of similar ones, and the rest are blends. With
even weights every topic remains in use. Then the topic that is missed least is removed, its tokens
are divided among the others, which are sampled again, and so on. Groups follow their own tokens as
well as those of their cluster, see `mcsquared.kernels.cpu.even_topics`: if they followed their
cluster alone, blends that fit clusters would stay.

The clusters also decide how many topics remain, by the bound of variational Bayes on the density
of their words (Blei, Ng and Jordan, "Latent Dirichlet allocation", JMLR 3, 2003), which can be
compared between numbers of topics. This is a choice of where a chain starts, not a step of the
sampler: draws remain exact.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from mcsquared.arrays import Floats, Int32s, Integers, Rng
from mcsquared.kernels.cpu.counts import count_pairs
from mcsquared.kernels.cpu.even_topics import sweep_even_topics
from mcsquared.kernels.cpu.products import multiply
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.samplers.types import Key

EVEN_CHAIN = 2**27 + 2**25  # offset of the chain number: no sweep of a chain draws the same numbers
# Weights, in tokens, of the topic shares of its cluster and of even shares in a group's topics.
CLUSTER_WEIGHT, EVEN_WEIGHT = 2.0, 1.0
FIRST_SWEEPS, SWEEPS = 300, 140  # before the first removal, and after each one
MAX_TOKENS_VISITED = 7_500_000  # in the sweeps after a removal
CLUSTER_SHARE = 0.1  # prior of the share of a topic in a cluster, for the bound
N_UPDATES = 300  # of the bound
SLACK = 2.0  # nats by which the bound is too low, for each topic and cluster; chosen on letters
FEWEST_TOPICS = 3
MAX_LOSSES = 3  # removals in a row without a better value, after which no other topic is removed
BATCH_SIZE = 4096  # tokens


class EvenTopics:
    """Topics of tokens, and the counts that follow from them."""

    def __init__(
        self,
        observations: Observations,
        clusters: Int32s,
        topics: Integers,
        n_topics: int,
        beta: float,
    ) -> None:
        self.observations, self.clusters, self.beta = observations, clusters, beta
        self.topic = np.array(topics, np.int32)
        self.group = np.repeat(
            np.arange(observations.n_groups, dtype=np.int32), np.diff(observations.group_start)
        )
        self.group_counts = np.zeros((observations.n_groups, n_topics), np.int32)
        self.cluster_counts = np.zeros((int(clusters.max()) + 1, n_topics), np.int32)
        self.word_counts = np.zeros((observations.n_words, n_topics), np.int32)
        count_pairs(self.group, self.topic, self.group_counts)
        count_pairs(clusters[self.group], self.topic, self.cluster_counts)
        count_pairs(observations.word, self.topic, self.word_counts)

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return self.word_counts.shape[1]

    def sweep(self, n_sweeps: int, key: Key) -> None:
        """Draw all topics in turn, ``n_sweeps`` times."""
        tokens = (self.observations.group_start, self.observations.word, self.clusters, self.topic)
        counts = (self.group_counts, self.cluster_counts, self.word_counts)
        for number in range(n_sweeps):
            numbered = key._replace(sweep=key.sweep + number)
            sweep_even_topics(*tokens, *counts, CLUSTER_WEIGHT, EVEN_WEIGHT, self.beta, numbered)

    def topic_probabilities(self, part: slice) -> Floats:
        """Return p(l_i = m | ·) of some tokens, (n, n_topics), with token i counted as well."""
        cluster = self.cluster_counts[self.clusters[self.group[part]]] + 1.0 / self.n_topics
        shares = self.group_counts[self.group[part]] + EVEN_WEIGHT / self.n_topics
        shares += CLUSTER_WEIGHT * cluster / cluster.sum(axis=1, keepdims=True)
        psi = self.word_counts + self.beta
        weights = shares * (psi / psi.sum(axis=0))[self.observations.word[part]]
        return weights / weights.sum(axis=1, keepdims=True)

    def parts(self) -> list[slice]:
        """Return slices of the tokens."""
        n_tokens = len(self.topic)
        return [slice(i, i + BATCH_SIZE) for i in range(0, n_tokens, BATCH_SIZE)]

    def missed_least(self) -> int:
        """Return the topic m with the largest Σ_i ln(1 − p(l_i = m)).

        This is about the change of the log-density if the topic is removed.
        """
        total = np.zeros(self.n_topics)
        for part in self.parts():
            total += np.log1p(-np.minimum(self.topic_probabilities(part), 1.0 - 1e-9)).sum(axis=0)
        return int(total.argmax())

    def without(self, m: int, rng: Rng) -> EvenTopics:
        """Return the topics after the tokens of topic ``m`` were divided among the others."""
        topic = self.topic.copy()
        for part in self.parts():
            removed = np.flatnonzero(topic[part] == m)
            weights = self.topic_probabilities(part)[removed]
            weights[:, m] = 0.0
            cumulative = np.cumsum(weights, axis=1)
            threshold = rng.random(len(removed)) * cumulative[:, -1]
            topic[part][removed] = (cumulative <= threshold[:, None]).sum(axis=1)
        topic -= topic > m
        arguments = (topic, self.n_topics - 1, self.beta)
        return EvenTopics(self.observations, self.clusters, *arguments)

    def log_bound(self) -> float:
        """Return a lower bound of log p(words of clusters), for topics close to these.

        Clusters have topic weights from Dir(`CLUSTER_SHARE`), topics have words from Dir(β).
        """
        cells = np.zeros((len(self.cluster_counts), self.observations.n_words), np.int32)
        count_pairs(self.clusters[self.group], self.observations.word, cells)
        shares = self.cluster_counts.astype(np.float64) + CLUSTER_SHARE
        psi = self.word_counts.T.astype(np.float64) + self.beta
        for _ in range(N_UPDATES):
            a, b = _exp_mean_log(shares), _exp_mean_log(psi)
            ratio = cells / np.maximum(multiply(a, b), 1e-300)
            shares = CLUSTER_SHARE + a * multiply(ratio, b.T.copy())
            psi = self.beta + b * multiply(a.T.copy(), ratio)
        mean = np.maximum(multiply(_exp_mean_log(shares), _exp_mean_log(psi)), 1e-300)
        divergence = _divergence(shares, CLUSTER_SHARE) + _divergence(psi, self.beta)
        return float((cells * np.log(mean)).sum() - divergence)


def even_topics(
    observations: Observations,
    n_topics: int,
    clusters: Integers,
    beta: float,
    seed: int,
    chain: int,
) -> Int32s:
    """Return the topic of every token, (n_tokens,), from ``n_topics`` random ones, too many.

    ``clusters`` (n_groups,) stay as they are.
    """
    key = Key(seed, EVEN_CHAIN + chain, 0)
    rng = key.generator(Step.START)
    numbers = np.unique(clusters, return_inverse=True)[1].astype(np.int32)
    topics = rng.integers(0, n_topics, observations.n_tokens)
    found = EvenTopics(observations, numbers, topics, n_topics, beta)
    n_sweeps = max(min(MAX_TOKENS_VISITED // max(observations.n_tokens, 1), SWEEPS), 1)
    number = FIRST_SWEEPS * n_sweeps // SWEEPS
    found.sweep(number, key)
    best, best_value, n_losses = found, -np.inf, 0
    slack = SLACK * len(found.cluster_counts)
    while True:
        value, n_losses = found.log_bound() + slack * found.n_topics, n_losses + 1
        if value > best_value:
            best, best_value, n_losses = found, value, 0
        if n_losses == MAX_LOSSES or found.n_topics <= FEWEST_TOPICS:
            return best.topic
        found = found.without(found.missed_least(), rng)
        found.sweep(n_sweeps, key._replace(sweep=number))
        number += n_sweeps


def _exp_mean_log(shapes: Floats) -> Floats:
    """Return exp E[ln p] of Dirichlet distributions, one for each row."""
    means: Floats = np.exp(digamma(shapes) - digamma(shapes.sum(axis=1, keepdims=True)))
    return means


def _divergence(shapes: Floats, prior: float) -> float:
    """Return Σ KL(Dir(shapes) || Dir(prior)) over the rows."""
    total, n = shapes.sum(axis=1), shapes.shape[1]
    value = gammaln(total) - gammaln(n * prior) - (gammaln(shapes) - gammaln(prior)).sum(axis=1)
    mean_log = digamma(shapes) - digamma(total)[:, None]
    return float((value + ((shapes - prior) * mean_log).sum(axis=1)).sum())

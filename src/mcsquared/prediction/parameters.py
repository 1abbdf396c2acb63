"""Model parameters of a stored draw: topic shares of every cluster, content of every topic.

A stored draw consists of counts and root weights. Given those, a new group depends on

    τ_k ~ Dir(v ε + O_k),   ψ_m ~ posterior of topic m,   p(z = k) = n_k / (J + α)

where O_km counts the cluster's tables of a topic (tokens, if λ is infinite), for existing clusters
and topics and for new ones: a new cluster has probability α / (J + α) and weights τ ~ Dir(v ε), and
the infinitely many unused topics share the weight ε_new, ψ ~ S. All parameters are drawn instead of
averaged because the probability of a group is the mean of a product over its tokens, not the
product of means, which is smaller.

For a Python family that cannot draw its parameters, ψ is integrated out token by token: each token
has its posterior predictive density given the draw's statistics. This is exact for one token, and
nearly exact for several tokens of a new group if the topics have many more.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from mcsquared.arrays import Float32s, Floats, Int64s, Integers, Rng
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.families.numerics import as_dense, log_standard_gamma
from mcsquared.kernels.cpu.similar_topics import MainWords, find_main_words
from mcsquared.kernels.cpu.topic_table import TopicTable, fill_columns, mix_topics, take_rows
from mcsquared.posterior import ParameterDraw, Posterior
from mcsquared.prediction.effects import EffectRows, draw_effect_rows
from mcsquared.prediction.levels import average_clusters

MIN_RELATIVE_PROBABILITY = np.float32(1e-37)  # relative to that of the most probable topic
N_NEW = 20  # auxiliary new clusters per draw: the mean over them is the new-cluster term
MAX_UNUSED = 40  # maximum number of topics that share the unused weight
MAIN_WORD = 0.005  # topics of two draws are compared by words of at least this probability
MAX_CACHE_BYTES = 1 << 26  # of parameters without content, for the next prediction
MIN_REST = 1e-3  # an unused weight below this is no longer split


class Stream(IntEnum):
    """Purpose of random numbers: each has its own stream, see `stream`."""

    PARAMETERS = 0
    HALVES = 1
    PRINTED = 2
    STACKING = 3


@dataclass(frozen=True)
class ModelParameters:
    """Parameters that the probability of a group depends on, drawn given one stored draw.

    The last ``n_new`` clusters are independent draws of the new cluster and share its weight; the
    last ``n_unused`` topics share the weight of unused topics.
    """

    log_weight_of_cluster: Floats  # prior log-probability, (n_clusters + n_new,)
    log_topic_given_cluster: Floats  # log τ, (n_clusters + n_new, n_topics + n_unused)
    content_parameters: Floats  # (n_topics + n_unused, ...); log ψ for words
    family: ConjugateFamily  # family of the content
    n_clusters: int  # of the stored draw, without new ones
    n_topics: int
    lam: float = math.inf
    key: tuple[int, int] = (0, 0)  # key of the random numbers for sampling groups, below 2³²
    integrated: bool = False  # ψ integrated out: content_parameters are the topics' statistics
    log_topic_evidence: Floats | None = None  # per topic, added to the log-likelihood of each word
    effects: EffectRows | None = None  # of contexts that act on topics
    content_statistics: Floats | None = None  # of all topics; None if ψ is not drawn
    has_content: bool = True  # False: content_parameters are statistics, for `variational`

    @property
    def n_new(self) -> int:
        """Number of draws of the new cluster."""
        return len(self.log_weight_of_cluster) - self.n_clusters

    def log_words(self, ids: Integers) -> Floats:
        """Return the log-likelihood of words in every topic, shape (n, n_topics + n_unused)."""
        if not self.has_content:
            result = np.empty((len(ids), self.content_parameters.shape[0]), np.float32)
            take_rows(self.topic_table, ids, result)
            return np.log(result, out=result).astype(np.float64)
        logs = self.content_parameters[:, ids].T
        return logs if self.log_topic_evidence is None else logs + self.log_topic_evidence

    @cached_property
    def topic_table(self) -> TopicTable:
        """E[ψ_m(w)] of all words of the vocabulary given the statistics of the topics."""
        return word_table(self.content_parameters, self.family)

    def keep_table(self, table: TopicTable) -> None:
        """Set `topic_table`, which is then not computed."""
        vars(self)["topic_table"] = table

    @cached_property
    def main_words(self) -> MainWords:
        """Words of at least `MAIN_WORD` in each topic given its statistics."""
        counts, scale = sparse.csr_matrix(self.content_parameters), self.topic_table.scale
        return find_main_words(
            counts.indptr, counts.indices, counts.data, scale, np.float32(MAIN_WORD)
        )

    @cached_property
    def log_word_given_cluster(self) -> Float32s:
        """Values log Σ_m τ_km E[ψ_m(w)] of all words: float32 (n_words, n_clusters + n_new)."""
        return self.mix_clusters(self.topic_table, np.arange(len(self.topic_table.shape)))

    def mix_clusters(self, table: TopicTable, rows: Integers) -> Float32s:
        """Return log Σ_m τ_km ψ_m of some rows of a table: float32 (n, n_clusters + n_new)."""
        shares = np.asarray(self.topic_shares.T, np.float32, "C")
        result = np.empty((len(rows), shares.shape[1]), np.float32)
        mix_topics(table, rows, shares, result)
        return np.log(np.maximum(result, MIN_RELATIVE_PROBABILITY, out=result), out=result)

    @cached_property
    def topic_shares(self) -> Floats:
        """τ, (n_clusters + n_new, n_topics + n_unused)."""
        return np.exp(self.log_topic_given_cluster)

    def log_vectors(self, x: Any) -> Floats:
        """Return the log-density of vectors in every topic, shape (n, n_topics + n_unused)."""
        density = self.family.log_predictive if self.integrated else self.family.log_likelihood
        return density(x, self.content_parameters)


def draw_parameters(
    posterior: Posterior,
    draw: ParameterDraw,
    rng: Rng,
    n_new: int = N_NEW,
    with_content: bool = True,
) -> ModelParameters:
    """Draw τ and ψ given the counts of a stored draw, with new clusters and unused topics.

    Without content, ψ is integrated out token by token, and unused topics form one topic.
    """
    n_clusters, n_topics = draw.n_clusters, draw.n_topics
    unused = np.array([draw.unused_weight])
    if with_content:
        unused = split_unused_weight(draw.unused_weight, draw.eta, rng)
    shape = np.tile(draw.v * np.concatenate([draw.topic_weights, unused]), (n_clusters + n_new, 1))
    shape[:n_clusters, :n_topics] += draw.drawn_from_cluster.toarray()

    n_groups, alpha = posterior.n_fitted, draw.alpha
    weight = np.full(n_clusters + n_new, alpha / max(n_new, 1))
    weight[:n_clusters] = groups_in_cluster(posterior, draw) * (n_groups / posterior.n_groups)
    log_weight = np.log(weight) - np.log(n_groups + alpha)
    if draw.levels:  # for a group whose unit is not known
        *known, new = average_clusters(posterior, draw)
        log_weight = np.log(np.append(known, np.full(n_new, new / max(n_new, 1))))

    family = posterior.priors.content
    statistics = pad_topics(draw.content_statistics, len(unused))
    log_shares = draw_log_dirichlet(shape, rng)
    if with_content:
        statistics = as_dense(statistics)
        content = draw_content_parameters(family, statistics, rng)
    # Random numbers are drawn in this order: τ, ψ, key, τ of effects.
    return ModelParameters(
        log_weight_of_cluster=log_weight,
        log_topic_given_cluster=log_shares,
        content_parameters=content if with_content else statistics,
        family=family,
        n_clusters=n_clusters,
        n_topics=n_topics,
        lam=draw.lam,
        key=draw_key(rng),
        integrated=not (with_content and family.can_sample),
        effects=draw_effect_rows(posterior.priors, draw, unused, rng),
        content_statistics=statistics if with_content else None,
        has_content=with_content,
    )


def parameters_of_draws(
    posterior: Posterior,
    seed: int | None = None,
    n_new: int = N_NEW,
    n_repeats: int = 1,
    with_content: bool = True,
) -> Iterator[tuple[ParameterDraw, ModelParameters]]:
    """Yield the parameters of every stored draw, ``n_repeats`` times each.

    Random numbers depend on the seed and the draw only, so the prediction for a group does not
    depend on the other groups.
    """
    if not posterior.parameters:
        raise InputError(
            "posterior must contain at least one parameter draw, got none: "
            "fit with keep_parameters >= 1"
        )
    seed = int(posterior.seed) if seed is None else seed
    for number, draw in enumerate(posterior.parameters):
        for repeat in range(n_repeats):
            if not with_content:
                yield draw, parameters_without_content(posterior, number, seed, n_new, repeat)
                continue
            rng = stream(seed, Stream.PARAMETERS, number, repeat)
            yield draw, draw_parameters(posterior, draw, rng, n_new)


def parameters_without_content(
    posterior: Posterior, number: int, seed: int, n_new: int = N_NEW, repeat: int = 0
) -> ModelParameters:
    """Return the parameters of a stored draw, with ψ integrated out.

    Those of the last seed are cached, up to `MAX_CACHE_BYTES`: clusters, topics and perplexities of
    new groups are often predicted one after another, and half of the time is spent on parameters.
    """
    key, draw = (seed, n_new), posterior.parameters[number]
    entry = _cache.get(posterior)
    if entry is None or entry[0] != key:
        entry = _cache[posterior] = key, {}
    cached = entry[1]  # not read again: other threads may predict with another seed
    cached_draw, parameters = cached.get((number, repeat), (None, None))
    if parameters is None or cached_draw is not draw:
        rng = stream(seed, Stream.PARAMETERS, number, repeat)
        parameters = draw_parameters(posterior, draw, rng, n_new, with_content=False)
        if (len(cached) + 1) * _bytes_of(parameters) <= MAX_CACHE_BYTES:
            cached[number, repeat] = draw, parameters
    return parameters


_CacheEntry = tuple[tuple[int, int], dict[tuple[int, int], tuple[ParameterDraw, ModelParameters]]]
_cache: WeakKeyDictionary[Posterior, _CacheEntry] = WeakKeyDictionary()


def _bytes_of(parameters: ModelParameters) -> int:
    """Return about how much memory parameters take with their table, main words and shares."""
    statistics: Any = parameters.content_parameters
    if not sparse.issparse(statistics):
        return int(2 * parameters.log_topic_given_cluster.nbytes + 4 * statistics.nbytes)
    shares = parameters.log_topic_given_cluster
    table = 14 * statistics.nnz + (12 + 4 * len(shares)) * statistics.shape[1]
    return int(2 * shares.nbytes + table)


def draw_content_parameters(family: ConjugateFamily, statistics: Floats, rng: Rng) -> Floats:
    """Draw the content parameters of each topic; return the statistics if the family cannot."""
    return family.sample_parameters(statistics, rng) if family.can_sample else statistics


def word_table(statistics: Any, family: Any) -> TopicTable:
    """Return E[ψ_m(w)] of all words given the counts of the topics, (n_topics, n_words)."""
    counts = sparse.csr_matrix(statistics)
    n_topics, n_words = counts.shape
    shapes = np.broadcast_to(family.shapes, (n_words,)).astype(np.float32)
    totals = np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel() + shapes.sum(dtype=np.float64)
    scale = (1.0 / totals).astype(np.float32)
    topic = np.empty(counts.nnz, np.uint16 if n_topics <= 1 << 16 else np.int32)
    table = TopicTable(
        np.zeros(n_words + 1, np.int64), topic, np.empty(len(topic), np.float32), shapes, scale
    )
    fill_columns(counts.indptr, counts.indices, counts.data, scale, *table[:3])
    return table


def pad_topics(statistics: Any, n_unused: int) -> Any:
    """Return the statistics of topics, dense or sparse, with rows of zeros for unused ones."""
    if sparse.issparse(statistics):
        start = np.append(statistics.indptr, np.repeat(statistics.indptr[-1:], n_unused))
        shape = (statistics.shape[0] + n_unused, statistics.shape[1])
        return sparse.csr_matrix((statistics.data, statistics.indices, start), shape=shape)
    return np.vstack([statistics, np.zeros((n_unused, statistics.shape[1]))])


def draw_key(rng: Rng) -> tuple[int, int]:
    """Draw the key of the random numbers for sampling groups."""
    first, second = rng.integers(1 << 32, size=2).tolist()
    return first, second


def stream(seed: int, *purpose: int) -> Rng:
    """Return the random generator of a seed and a purpose, a `Stream` and further numbers."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=purpose))


def groups_in_cluster(posterior: Posterior, draw: ParameterDraw) -> Int64s:
    """Return the number of training groups in each cluster of a draw."""
    return np.bincount(posterior.cluster_of_group[draw.index], minlength=draw.n_clusters)


def split_unused_weight(unused_weight: float, eta: float, rng: Rng) -> Floats:
    """Split the unused weight among new topics by stick breaking with shares ~ Beta(1, η).

    With a single topic, all tokens outside the known topics would have the same ψ. The last topic
    receives the rest, once it is below `MIN_REST` or after `MAX_UNUSED` topics.
    """
    weights: list[float] = []
    rest = unused_weight
    while rest > MIN_REST and len(weights) < MAX_UNUSED - 1:
        taken = rest * rng.beta(1.0, eta)
        weights.append(taken)
        rest -= taken
    return np.array([*weights, max(rest, 0.0)])


def draw_log_dirichlet(shape: Floats, rng: Rng) -> Floats:
    """Draw the logarithm of a Dirichlet vector for each row; a shape of zero has no mass.

    Shapes far below 1 are common (v ε of a rare topic), and plain gamma draws would underflow.
    """
    massless = shape <= 0.0
    # A shape near the smallest float would draw −∞ for every entry of its row.
    log_gamma = log_standard_gamma(np.where(massless, 1.0, np.maximum(shape, 1e-290)), rng)
    log_gamma[massless] = -np.inf
    return log_gamma - np.logaddexp.reduce(log_gamma, axis=-1, keepdims=True)

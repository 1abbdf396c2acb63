"""Sampling of new groups that vary within their cluster (finite λ), given model parameters.

Groups are processed in batches, so that the arrays of their tokens are small. The random numbers
of a group depend on the parameters' key and the group's own tokens only, so its result does not
depend on the other groups or on the number of threads.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.special import gammaln, log_softmax

from mcsquared.arrays import Floats
from mcsquared.corpus import Corpus, Words
from mcsquared.kernels.cpu.fold_in import fold_in
from mcsquared.kernels.cpu.group_state import (
    MIN_ENTRY,
    ClusterBases,
    PredictedGroups,
    TokenLikelihoods,
)
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.left_to_right import left_to_right
from mcsquared.kernels.cpu.predicted_values import ValueRows, ValueWeights, predict_values
from mcsquared.prediction.likelihood import (
    TokenBatch,
    log_mixture,
    matrix_product,
    table_share,
    token_batches,
)
from mcsquared.prediction.parameters import ModelParameters
from mcsquared.samplers.threads import Workers


class Iterations(NamedTuple):
    """Numbers of Gibbs iterations over a group's tokens: discarded, and averaged."""

    n_burn_in: int = 20
    n_kept: int = 20


ITERATIONS = Iterations()
JOINT_MOVE_TOKENS = 100  # for any λ, groups up to this size have joint moves of all tokens
PROPOSAL_MIXTURE = np.array([0.8, 0.1, 0.1])  # weights of: folded in, initial, prior
SINGLE_THREAD_TOKENS = 5000  # below this, starting threads costs more than it saves
MAX_TOKENS_PER_CALL = 20_000  # a few tenths of a second


class FoldedGroups(NamedTuple):
    """Posterior means of new groups given the parameters of one draw."""

    log_cluster: Floats  # log p(z_j = k | j), (n_groups, n_clusters + n_new)
    topics: Floats  # E[θ_j | j], (n_groups, n_topics + n_unused); rows sum to 1


def fold_in_groups(
    corpus: Corpus,
    parameters: ModelParameters,
    log_prior: Floats,
    iterations: Iterations = ITERATIONS,
) -> FoldedGroups:
    """Sample the clusters and topics of groups given the parameters, and return their means.

    ``log_prior`` is the result of `log_cluster_prior`.
    """
    log_shares, lam = parameters.log_topic_given_cluster, parameters.lam
    weights, rest = _parts_of_base(corpus, parameters)
    log_cluster = np.empty((corpus.n_groups, len(log_shares)))
    topics = np.empty((corpus.n_groups, log_shares.shape[1]))
    for groups, sampler in _samplers(corpus, parameters, log_prior):
        log_cluster[groups], counts = sampler.fold_in(parameters.key[0], iterations)
        shared = matrix_product(np.exp(log_cluster[groups]), np.exp(log_shares))
        if rest is not None:
            shared = weights[groups, None] * shared + rest[groups]
        # This form does not overflow for a huge λ.
        scale = (1.0 / (lam + sampler.sizes))[:, None]
        topics[groups] = counts[:, : log_shares.shape[1]] * scale + shared * (lam * scale)
    return FoldedGroups(log_cluster, topics)


def estimate_log_probability(
    corpus: Corpus,
    parameters: ModelParameters,
    log_prior: Floats,
    n_particles: int,
    n_moves: int,
) -> Floats:
    """Estimate log p(w_j | parameters) of every group from left to right: float64 (n_groups,).

    The estimate of p(w_j) is unbiased for any number of particles and moves. Particles are
    allocated to clusters mostly by the result of folding in, which affects the variance only.
    """
    result = np.empty(corpus.n_groups)
    seed = parameters.key[0]
    for groups, sampler in _samplers(corpus, parameters, log_softmax(log_prior, axis=1)):
        # Another seed, because proposals must not depend on the particles.
        folded, _ = sampler.fold_in(seed ^ 1, ITERATIONS)
        proposals = np.stack([folded, sampler.log_start, sampler.log_prior])
        log_proposal = np.logaddexp.reduce(proposals + np.log(PROPOSAL_MIXTURE)[:, None, None])
        result[groups] = sampler.left_to_right(seed, log_proposal, n_particles, n_moves)
    return result


def predict_values_of_groups(
    corpus: Corpus,
    parameters: ModelParameters,
    log_prior: Floats,
    log_values: Floats,
    iterations: Iterations,
) -> Floats:
    """Return log p(x_j = s | j) of the effect to be predicted: float64 (n_groups, n_values).

    ``log_values`` are log F(s | k), float64 (n_clusters + n_new, n_values), normalised.
    """
    effects = parameters.effects
    assert effects is not None
    assert effects.predicted is not None
    scale, shares = effects.weights_of_sources(corpus, with_predicted=True)
    clusters = _exp(_pad(parameters.log_topic_given_cluster))
    effect_shares = _exp(_pad(effects.log_shares))
    values = np.ascontiguousarray(effect_shares[effects.rows_of(effects.predicted)])
    by_topic = [_by_topic(rows) for rows in (clusters, values)]
    means = matrix_product(np.exp(log_values), values)
    rows = ValueRows(clusters, values, means, *by_topic)
    result = np.empty((corpus.n_groups, len(values)))
    scale = parameters.lam * scale
    for groups, sampler in _samplers(corpus, replace(parameters, effects=None), log_prior):
        weights = ValueWeights(
            scale[groups] * effects.weights[0],
            scale[groups] * effects.weight_of(effects.predicted),
            parameters.lam * (shares[groups] @ effect_shares),
        )
        seed = parameters.key[0]
        result[groups] = sampler.predict_values(seed, iterations, rows, weights, log_values)
    return result


def _by_topic(rows: Floats) -> NDArray[np.float32]:
    """Return the transpose, with zeros up to a multiple of sixteen rows: (n_slots, n)."""
    padded = np.pad(rows, ((0, -len(rows) % N_LANES), (0, 0)))
    return np.ascontiguousarray(padded.T, np.float32)


def _parts_of_base(corpus: Corpus, parameters: ModelParameters) -> tuple[Floats, Floats | None]:
    """Return the weight of the cluster in each group's base measure, and the part of its effects.

    Their shapes are (n_groups,) and (n_groups, topics). Without effects the second is None.
    """
    if parameters.effects is None:
        return np.ones(corpus.n_groups), None
    scale, shares = parameters.effects.weights_of_sources(corpus)
    return scale * parameters.effects.weights[0], shares @ np.exp(parameters.effects.log_shares)


def _cluster_bases(log_shares: Floats, lam: float) -> ClusterBases:
    log_base = _pad(log_shares + np.log(lam))
    return ClusterBases(_exp(log_base), log_base, gammaln(1.0 + np.exp(log_base)))


def _samplers(
    corpus: Corpus, parameters: ModelParameters, log_prior: Floats
) -> Iterator[tuple[slice, _BatchSampler]]:
    """Yield the groups of each batch with their sampler."""
    if parameters.effects is not None:
        yield from _samplers_of_groups(corpus, parameters, log_prior)
        return
    clusters = _cluster_bases(parameters.log_topic_given_cluster, parameters.lam)
    keys = _keys(corpus, parameters.key[1])
    for batch in token_batches(corpus, parameters):
        prior = np.ascontiguousarray(log_prior[batch.groups])
        yield batch.groups, _BatchSampler(batch, parameters, clusters, prior, keys[batch.groups])


def _samplers_of_groups(
    corpus: Corpus, parameters: ModelParameters, log_prior: Floats
) -> Iterator[tuple[slice, _BatchSampler]]:
    """Yield a sampler per group: with effects, every group has base measures of its own."""
    weights, rest = _parts_of_base(corpus, parameters)
    shares, plain = np.exp(parameters.log_topic_given_cluster), replace(parameters, effects=None)
    assert rest is not None
    for j in range(corpus.n_groups):
        with np.errstate(divide="ignore"):
            log_shares = np.log(weights[j] * shares + rest[j])
        group_parameters = replace(plain, log_topic_given_cluster=log_shares)
        for _, sampler in _samplers(corpus[[j]], group_parameters, log_prior[j : j + 1]):
            yield slice(j, j + 1), sampler


class _BatchSampler:
    """Sampler of one batch of groups, which runs the kernels in threads."""

    def __init__(
        self,
        batch: TokenBatch,
        parameters: ModelParameters,
        clusters: ClusterBases,
        log_prior: Floats,
        keys: NDArray[np.uint32],
    ) -> None:
        self.clusters, self.log_prior, self._keys = clusters, log_prior, keys
        self._lam, counts = parameters.lam, batch.counts
        scale = batch.log_likelihood.max(axis=1)
        relative = batch.log_likelihood - scale[:, None]
        self._log_scale = counts @ scale
        log_token = log_mixture(relative, parameters.log_topic_given_cluster)
        logs = _pad(relative)
        self._tokens = TokenLikelihoods(_exp(logs), logs)
        cumulative = np.concatenate([[0], np.cumsum(counts.data, dtype=np.int64)])
        self._group_start = cumulative[counts.indptr].astype(np.int64)
        self._row_of_token = np.repeat(counts.indices, counts.data).astype(np.int32)
        self.sizes = np.diff(self._group_start)
        evidence = np.asarray(counts.astype(np.float64) @ log_token)
        share = table_share(parameters.lam, self.sizes)[:, None]
        self.log_start = log_softmax(log_prior + share * evidence, axis=1)

    def fold_in(self, seed: int, iterations: Iterations) -> tuple[Floats, Floats]:
        """Return log p(z_j = k | j), and the mean number of tokens of each topic, padded."""
        log_cluster = np.empty_like(self.log_prior)
        topics = np.empty((len(self.log_prior), self.clusters.base.shape[1]))
        joint_moves = self.sizes <= max(JOINT_MOVE_TOKENS, 2.0 * self._lam)

        def run(part: slice, groups: PredictedGroups) -> None:
            outputs = log_cluster[part], topics[part]
            fold_in(groups, self._tokens, self.clusters, joint_moves[part], *iterations, *outputs)

        self._run_threads(run, self.log_start, seed)
        return log_cluster, topics

    def predict_values(
        self,
        seed: int,
        iterations: Iterations,
        rows: ValueRows,
        weights: ValueWeights,
        log_values: Floats,
    ) -> Floats:
        """Return log p(x_j = s | j) of each group."""
        result = np.empty((len(self.log_prior), len(rows.values)))
        joint_moves = self.sizes <= max(JOINT_MOVE_TOKENS, 2.0 * self._lam)

        def run(part: slice, groups: PredictedGroups) -> None:
            parts = ValueWeights(*(array[part] for array in weights))
            arguments = (self._tokens, self._lam, rows, parts, log_values, joint_moves[part])
            predict_values(groups, *arguments, *iterations, result[part])

        self._run_threads(run, self.log_start, seed)
        return result

    def left_to_right(
        self, seed: int, log_proposal: Floats, n_particles: int, n_moves: int
    ) -> Floats:
        """Return an estimate of log p(w_j) of each group."""
        result = np.empty(len(self.log_prior))

        def run(part: slice, groups: PredictedGroups) -> None:
            parameters = (self._tokens, self.clusters, self._lam)
            left_to_right(groups, *parameters, n_particles, n_moves, result[part])

        self._run_threads(run, log_proposal, seed)
        return result + self._log_scale

    def _run_threads(
        self, run: Callable[[slice, PredictedGroups], None], log_proposal: Floats, seed: int
    ) -> None:
        """Call ``run`` in parallel, for ranges of groups with about equally many tokens."""
        start, n_groups = self._group_start, len(self.sizes)

        def run_range(first: int, last: int) -> None:
            part = slice(first, last)
            tokens = start[first : last + 1], self._row_of_token
            priors = self.log_prior[part], log_proposal[part]
            run(part, PredictedGroups(*tokens, *priors, self._keys[part], seed))

        n_threads = cpu_count() if start[-1] >= SINGLE_THREAD_TOKENS else 1
        n_parts = max(4 * n_threads, start[-1] // MAX_TOKENS_PER_CALL)
        inner = np.searchsorted(start, np.linspace(0, start[-1], n_parts + 1)[1:-1])
        bounds = np.unique(np.concatenate([[0], inner, [n_groups]])).tolist()
        with Workers(n_threads) as pool:  # the main thread only waits, so that Ctrl-C ends it
            list(pool.map(run_range, bounds[:-1], bounds[1:]))


def _pad(rows: Floats) -> Floats:
    """Pad the columns to a multiple of `N_LANES` with −∞."""
    n_columns = rows.shape[1]
    return np.pad(rows, ((0, 0), (0, -n_columns % N_LANES)), constant_values=-np.inf)


def _exp(logs: Floats) -> Floats:
    """Return the exponential, with 0 for values below `MIN_ENTRY`."""
    values = np.exp(logs)
    values[values < MIN_ENTRY] = 0.0
    return values


def _keys(corpus: Corpus, key: int) -> NDArray[np.uint32]:
    """Return a hash of each group's tokens and ``key``: uint32 (n_groups,)."""
    content = corpus.content
    arrays: tuple[NDArray[Any], ...]
    if isinstance(content, Words):
        counts, start = content.counts, content.counts.indptr
        arrays = (counts.indices.astype(np.int32), counts.data.astype(np.int32))
    else:
        start, arrays = content.start, (np.ascontiguousarray(content.values),)
    keys = np.zeros(corpus.n_groups, np.uint32)
    for j in range(corpus.n_groups):
        number = 0
        for array in arrays:
            number = zlib.crc32(array[start[j] : start[j + 1]].tobytes(), number)
        keys[j] = number ^ key
    return keys

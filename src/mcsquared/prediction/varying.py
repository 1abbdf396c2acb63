"""New groups that vary inside their cluster (λ finite): sampled one by one, the globals fixed.

Groups go through in parts, so that the tables of their tokens stay small; no array is of groups ×
words. The random numbers of a group follow from the globals' key and from its own tokens, so that
its result does not depend on the groups beside it, nor on threads.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma, gammaln, log_softmax

from mcsquared.corpus import Words
from mcsquared.kernels.cpu.fold_in import fold_in
from mcsquared.kernels.cpu.group_state import NEGLIGIBLE, ClusterTables, TokenTables
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.left_to_right import left_to_right
from mcsquared.model.priors import vector_observations
from mcsquared.prediction.likelihood import log_mixture
from mcsquared.prediction.parameters import Globals, log_content

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.families import ConjugateFamily

__all__ = [
    "N_BURN_IN",
    "N_KEPT",
    "Folded",
    "drawn_likelihood",
    "fold_in_groups",
    "log_tokens_given_topics",
    "log_whole_groups",
]

Floats = NDArray[np.float64]
Likelihood = Callable[[Any], Floats]  # words' numbers, or observations -> log ψ (n, n_topics)

N_BURN_IN, N_KEPT = 20, 20  # iterations over a group's tokens
SHORT = 100  # tokens up to which a group also moves all at once, whatever λ is
CHANCES = np.array([0.8, 0.1, 0.1])  # of clusters: as folded in, as at the start, as before
FEW = 5000  # tokens up to which threads are not worth their start
PART_NUMBERS = 1 << 22  # numbers in the largest table of a part: 32 MB


@dataclass(frozen=True)
class Folded:
    """What groups are, given the globals of one draw.

    Parameters
    ----------
    log_cluster : float64 (n_groups, n_clusters + n_new)
        log p(z_j = k | j).
    topics : float64 (n_groups, n_topics + n_unused)
        The posterior mean of a group's topic weights θ_j; rows sum to 1.
    """

    log_cluster: Floats
    topics: Floats


@dataclass(frozen=True)
class Part:
    """Some groups of a corpus, and how probable their tokens are in each topic.

    Parameters
    ----------
    groups : slice
    counts : csr_matrix (n_groups, n_rows)
        How often each row of ``log_likelihood`` occurs in each group.
    log_likelihood : float64 (n_rows, n_topics)
        For words a row per word, for vectors a row per token.
    """

    groups: slice
    counts: sparse.csr_matrix
    log_likelihood: Floats


def drawn_likelihood(parameters: Globals, family: ConjugateFamily, corpus: Corpus) -> Likelihood:
    """Return what gives the log-likelihood of tokens under the globals' content parameters."""
    if isinstance(corpus.content, Words):
        return lambda ids: parameters.content_parameters[:, ids].T
    return lambda observations: log_content(family, observations, parameters.content_parameters)


def parts_of(
    corpus: Corpus, family: ConjugateFamily, likelihood: Likelihood, n_topics: int
) -> Iterator[Part]:
    """Cut a corpus into parts of whole groups, as many as their tables have room for."""
    content = corpus.content
    words = isinstance(content, Words)
    start = content.counts.indptr if isinstance(content, Words) else content.start
    observations = None if words else vector_observations(corpus, family)
    step = PART_NUMBERS // max(n_topics, 1)
    first = 0
    while first < corpus.n_groups:
        last = int(np.searchsorted(start, start[first] + step, side="right")) - 1
        last = min(max(last, first + 1), corpus.n_groups)
        if isinstance(content, Words):
            some = content.counts[first:last]
            ids, rows = np.unique(some.indices, return_inverse=True)
            shape = (last - first, len(ids))
            counts = sparse.csr_matrix((some.data, rows.ravel(), some.indptr), shape=shape)
            yield Part(slice(first, last), counts, likelihood(ids))
        elif observations is not None:
            begin, end = int(start[first]), int(start[last])
            ones, rows = np.ones(end - begin, np.int32), np.arange(end - begin, dtype=np.int32)
            shape = (last - first, end - begin)
            counts = sparse.csr_matrix((ones, rows, start[first : last + 1] - begin), shape=shape)
            yield Part(slice(first, last), counts, likelihood(observations[begin:end]))
        first = last


def fold_in_groups(
    corpus: Corpus,
    parameters: Globals,
    family: ConjugateFamily,
    log_prior: Floats,
    likelihood: Likelihood | None = None,
    n_burn_in: int = N_BURN_IN,
    n_kept: int = N_KEPT,
) -> Folded:
    """Sample the clusters and topics of groups given the globals, and return their means.

    Parameters
    ----------
    log_prior : float64 (n_groups, n_clusters + n_new)
        From `log_cluster_prior`.
    likelihood : callable, optional
        In place of that of the drawn content parameters.
    """
    likelihood = likelihood or drawn_likelihood(parameters, family, corpus)
    log_tau, lam = parameters.log_topic_given_cluster, parameters.lam
    n_topics = log_tau.shape[1]
    clusters, keys = _cluster_tables(log_tau, lam), _keys(corpus, parameters.key[1])
    log_cluster = np.empty((corpus.n_groups, len(log_tau)))
    topics = np.empty((corpus.n_groups, n_topics))
    for part in parts_of(corpus, family, likelihood, n_topics):
        groups = part.groups
        prior = np.ascontiguousarray(log_prior[groups])
        table = Table(part, log_tau, clusters)
        log_cluster[groups], held = table.fold_in(
            prior,
            table.start(prior, lam),
            table.sizes <= max(SHORT, 2.0 * lam),
            parameters.key[0],
            keys[groups],
            (n_burn_in, n_kept),
        )
        shared = np.exp(log_cluster[groups]) @ np.exp(log_tau)
        # In this form a huge λ does not overflow.
        mine = (1.0 / (lam + table.sizes))[:, None]
        topics[groups] = held[:, :n_topics] * mine + shared * (lam * mine)
    return Folded(log_cluster, topics)


def log_whole_groups(
    corpus: Corpus,
    parameters: Globals,
    family: ConjugateFamily,
    log_prior: Floats,
    n_particles: int,
    n_moves: int,
    n_samples: tuple[int, int] = (N_BURN_IN, N_KEPT),
) -> Floats:
    """Estimate log p(w_j | globals) of every group from left to right: float64 (n_groups,).

    The estimate of p(w_j) is unbiased, for any number of particles and of moves. Particles are
    shared out among clusters by what folding in says of them; any other way would be right, but
    noisier.

    Parameters
    ----------
    n_samples : tuple of int
        Burn-in and kept iterations of that.
    """
    log_tau, lam = parameters.log_topic_given_cluster, parameters.lam
    clusters, keys = _cluster_tables(log_tau, lam), _keys(corpus, parameters.key[1])
    likelihood = drawn_likelihood(parameters, family, corpus)
    result = np.empty(corpus.n_groups)
    log_prior = log_softmax(log_prior, axis=1)
    for part in parts_of(corpus, family, likelihood, log_tau.shape[1]):
        groups = part.groups
        prior = np.ascontiguousarray(log_prior[groups])
        table = Table(part, log_tau, clusters)
        start, together = table.start(prior, lam), table.sizes <= max(SHORT, 2.0 * lam)
        seed, key = parameters.key[0], keys[groups]
        # Another seed than that of the particles, which must not know what follows from them.
        folded, _ = table.fold_in(prior, start, together, seed ^ 1, key, n_samples)
        parts = np.stack([folded, start, prior]) + np.log(CHANCES)[:, None, None]
        chance = np.logaddexp.reduce(parts, axis=0)
        result[groups] = table.left_to_right(prior, chance, lam, seed, key, n_particles, n_moves)
    return result


class Table:
    """A part of the groups in the form that the kernels read.

    Parameters
    ----------
    part : Part
    log_tau : float64 (n_clusters, n_topics)
    clusters : ClusterTables
    """

    def __init__(self, part: Part, log_tau: Floats, clusters: ClusterTables) -> None:
        self.clusters, self._counts = clusters, part.counts
        self._scale = part.log_likelihood.max(axis=1)
        relative = part.log_likelihood - self._scale[:, None]
        self._log_mixture = log_mixture(relative, log_tau)
        logs = _padded(relative, -np.inf)
        self.tokens = TokenTables(_without_specks(np.exp(logs)), logs)
        upto = np.concatenate([[0], np.cumsum(part.counts.data, dtype=np.int64)])
        self.group_start = upto[part.counts.indptr].astype(np.int64)
        self.row_of_token = np.repeat(part.counts.indices, part.counts.data).astype(np.int32)
        self.sizes = np.diff(self.group_start)

    def start(self, log_prior: Floats, lam: float) -> Floats:
        """Return where clusters begin: as if groups did not vary, but fewer tokens counted.

        Of N tokens only some λ(ψ(λ+N) − ψ(λ)) ask the cluster for a topic: the expected tables.
        """
        share = np.ones(len(self.sizes))
        if lam < 1e8:  # else the difference of two digammas has no digits left, and all ask
            sizes = np.maximum(self.sizes, 1)
            share = np.minimum(lam * (digamma(lam + sizes) - digamma(lam)) / sizes, 1.0)
        evidence = np.asarray(self._counts.astype(np.float64) @ self._log_mixture)
        return log_softmax(log_prior + share[:, None] * evidence, axis=1)

    def fold_in(
        self,
        log_prior: Floats,
        start: Floats,
        together: NDArray[np.bool_],
        seed: int,
        keys: NDArray[np.uint32],
        n_samples: tuple[int, int],
    ) -> tuple[Floats, Floats]:
        """Return log p(z_j = k | j), and the mean number of tokens of each topic, padded."""
        log_cluster = np.empty_like(log_prior)
        topics = np.empty((len(log_prior), self.clusters.mass.shape[1]))

        def run(first: int, last: int) -> None:
            some = slice(first, last)
            fold_in(
                self.group_start[first : last + 1],
                self.row_of_token,
                self.tokens,
                self.clusters,
                log_prior[some],
                start[some],
                together[some],
                seed,
                keys[some],
                *n_samples,
                log_cluster[some],
                topics[some],
            )

        _on_all_cores(run, self.group_start)
        return log_cluster, topics

    def left_to_right(
        self,
        log_prior: Floats,
        log_chance: Floats,
        lam: float,
        seed: int,
        keys: NDArray[np.uint32],
        n_particles: int,
        n_moves: int,
    ) -> Floats:
        """Return an estimate of log p(w_j) of each group."""
        result = np.empty(len(log_prior))

        def run(first: int, last: int) -> None:
            some = slice(first, last)
            left_to_right(
                self.group_start[first : last + 1],
                self.row_of_token,
                self.tokens,
                self.clusters,
                log_prior[some],
                log_chance[some],
                lam,
                seed,
                keys[some],
                n_particles,
                n_moves,
                result[some],
            )

        _on_all_cores(run, self.group_start)
        return result + self._counts @ self._scale


def log_tokens_given_topics(part: Part, topics: Floats) -> Floats:
    """Return log Σ_m θ_jm ψ_m(w) of every entry of a part's counts, float64 (n_entries,).

    Parameters
    ----------
    topics : float64 (n_groups, n_topics)
        θ of the part's groups.
    """
    top = part.log_likelihood.max(axis=1)
    likelihood = np.exp(part.log_likelihood - top[:, None])
    row, group = part.counts.indices, np.repeat(np.arange(len(topics)), np.diff(part.counts.indptr))
    total = np.empty(len(row))
    step = max(1, PART_NUMBERS // 4 // max(topics.shape[1], 1))
    for first in range(0, len(row), step):
        block = slice(first, first + step)
        total[block] = np.einsum("em,em->e", likelihood[row[block]], topics[group[block]])
    tiny = np.flatnonzero(total < 1e-280)
    total[tiny] = 1.0
    result = np.log(total) + top[row]
    logs = np.log(np.maximum(topics[group[tiny]], np.finfo(np.float64).tiny))
    result[tiny] = np.logaddexp.reduce(logs + part.log_likelihood[row[tiny]], axis=1)
    return result


def _cluster_tables(log_tau: Floats, lam: float) -> ClusterTables:
    """Return λτ in the form that the kernels read."""
    log_mass = _padded(log_tau + np.log(lam), -np.inf)
    mass = np.exp(log_mass)
    log_gamma_after = gammaln(1.0 + mass)
    return ClusterTables(_without_specks(mass), log_mass, log_gamma_after)


def _padded(rows: Floats, value: float) -> Floats:
    n_rows, n_columns = rows.shape
    result = np.full((n_rows, -(-n_columns // N_LANES) * N_LANES), value)
    result[:, :n_columns] = rows
    return result


def _without_specks(table: Floats) -> Floats:
    table[table < NEGLIGIBLE] = 0.0
    return table


def _keys(corpus: Corpus, key: int) -> NDArray[np.uint32]:
    """Return a number for each group that its tokens decide: uint32 (n_groups,)."""
    content = corpus.content
    parts: tuple[NDArray[Any], ...]
    if isinstance(content, Words):
        counts, start = content.counts, content.counts.indptr
        parts = (counts.indices.astype(np.int32), counts.data.astype(np.int32))
    else:
        start, parts = content.start, (np.ascontiguousarray(content.values),)
    keys = np.zeros(corpus.n_groups, np.uint32)
    for j in range(corpus.n_groups):
        number = 0
        for part in parts:
            number = zlib.crc32(part[start[j] : start[j + 1]].tobytes(), number)
        keys[j] = number ^ key
    return keys


def _on_all_cores(run: Callable[[int, int], None], start: NDArray[np.int64]) -> None:
    """Run on shares of the groups side by side; each has about as many tokens."""
    affinity = getattr(os, "sched_getaffinity", None)
    n_cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    n_groups = len(start) - 1
    if n_cores == 1 or start[-1] < FEW:
        run(0, n_groups)
        return
    wanted = np.linspace(0, start[-1], 4 * n_cores + 1)[1:-1]
    bounds = np.unique(np.concatenate([[0], np.searchsorted(start, wanted), [n_groups]])).tolist()
    with ThreadPoolExecutor(n_cores) as pool:
        for _ in pool.map(run, bounds[:-1], bounds[1:]):
            pass

"""Families without a kernel, a user's own, in the blocked sampler.

A family that defines how its parameters are drawn takes part like any other: parameters for every
slot, then the likelihood of all it observed. One with only its three functions keeps the parameters
integrated out, and what it observed is visited in turn:

    p(z_j = k)  ∝  exp(score_jk)  Z(s_k + T(x_j)) / Z(s_k)        s_k: the other groups of k
    p(l_i = m)  ∝  τ_km           Z(s_m + T(x_i)) / Z(s_m)        λ = ∞; s_m: the other tokens of m
    p(l_i = m)  ∝  (n_jm + λτ_km) Z(s_m + T(x_i)) / Z(s_m)        λ finite

Slower by a factor of some hundred than a kernel, and as exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.vector_likelihood import VectorTokens, given_tokens
from mcsquared.kernels.cpu.vector_tokens import Workspace, pick_topic
from mcsquared.kernels.rng import Step, uniform
from mcsquared.observations import Observations, PythonObservations
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

__all__ = [
    "Visits",
    "integrates",
    "log_likelihood_of_groups",
    "resample_topics",
    "score_given_topics",
    "token_blocks",
]

MOST_LIKELIHOODS = 1 << 22  # of tokens in topics, computed at a time: 32 MiB

Floats = NDArray[np.float64]


def integrates(observed: PythonObservations | None) -> bool:
    """Say whether these are observations whose parameters are integrated out."""
    return observed is not None and not observed.family.can_sample


def log_likelihood_of_groups(
    state: State, observations: Observations, rng: np.random.Generator
) -> Floats:
    """Return Σ log F(x_j | φ_k) over the contexts that draw parameters: (n_groups, cluster slots).

    0 where a context is missing, and for a group that no cluster's parameters can explain.
    """
    n_slots = len(state.counts.groups_in_cluster)
    total = np.zeros((observations.n_groups, n_slots))
    for context in observations.python_contexts:
        if integrates(context):
            continue
        statistics = np.zeros((n_slots, context.family.n_stats))
        np.add.at(statistics, state.cluster_of_group, context.statistics)
        parameters = context.family.sample_parameters(statistics, rng)
        total[context.observed] += _possible(
            _log_likelihood(context.family, context.x, parameters, n_slots)
        )
    return total


def token_blocks(
    state: State, observations: Observations, key: Key
) -> Iterator[tuple[int, int, VectorTokens]]:
    """Draw the parameters of every topic slot; yield chunks of groups with their likelihoods.

    Blocks are whole chunks, so that what is drawn does not depend on who visits them.

    Yields
    ------
    first, last : int
        Chunks of groups.
    tokens : VectorTokens
    """
    content = observations.python_content
    assert content is not None
    family, n_slots = content.family, len(state.topic_weights)
    parameters = family.sample_parameters(
        state.counts.topic_statistics, key.generator(Step.CONTENT)
    )
    start = observations.group_start[observations.layout.chunk_start]
    first, n_chunks = 0, len(start) - 1
    while first < n_chunks:
        last = first + 1
        while last < n_chunks and (start[last + 1] - start[first]) * n_slots <= MOST_LIKELIHOODS:
            last += 1
        x = content.x[start[first] : start[last]]
        rows = _log_likelihood(family, x, parameters, n_slots)
        yield first, last, given_tokens(rows, int(start[first]), content.statistics)
        first = last


def _log_likelihood(
    family: ConjugateFamily, x: NDArray, parameters: Floats, n_slots: int
) -> Floats:
    """Return what the family says of log F(x | φ), after a look at its shape."""
    n = x.shape[0]
    if not n:
        return np.zeros((0, n_slots))
    found = np.ascontiguousarray(family.log_likelihood(x, parameters), np.float64)
    if found.shape != (n, n_slots):
        raise InputError(
            f"log_likelihood of the family {type(family).__name__} returned an array of shape "
            f"{found.shape}, but {(n, n_slots)} is wanted: observations × clusters"
        )
    return found


def _possible(log_likelihood: Floats) -> Floats:
    """Return it with −∞ for what is no number, and 0 for a row in which nothing is possible."""
    found = np.where(log_likelihood < np.inf, log_likelihood, -np.inf)
    found[~(found > -np.inf).any(axis=1)] = 0.0
    return found


class Slots:
    """Statistics of clusters or topics with parameters integrated out, while members come and go.

    Parameters
    ----------
    observed : PythonObservations
    labels : int (n,)
        The slot of every observation, missing ones included.
    n_slots : int
    """

    def __init__(
        self, observed: PythonObservations, labels: NDArray[np.integer], n_slots: int
    ) -> None:
        self.family = observed.family
        self.rows = observed.statistics
        self.observed = observed.observed.tolist()
        self.members = np.bincount(labels[observed.observed], minlength=n_slots)
        self.statistics = np.zeros((n_slots, self.family.n_stats))
        np.add.at(self.statistics, labels, self.rows)
        self.log_normaliser = _log_normaliser(self.family, self.statistics)
        self._changed, self._log_changed = self.statistics, self.log_normaliser

    def log_predictive(self, i: int, slot: int) -> Floats:
        """Return log Z(s + T(x_i)) − log Z(s) for every slot, ``s`` without observation ``i``.

        ``slot`` is where it is now. The base measure of the family cancels.
        """
        if not self.observed[i]:
            return np.zeros(len(self.members))
        # Each slot with the observation where it is not, and without it where it is.
        changed = self.statistics + self.rows[i]
        if self.members[slot] > 1:
            changed[slot] = self.statistics[slot] - self.rows[i]
        else:  # not by subtraction, which leaves a residue
            changed[slot] = 0.0
        log_changed = _log_normaliser(self.family, changed)
        self._changed, self._log_changed = changed, log_changed
        gain = log_changed - self.log_normaliser
        gain[slot] = -gain[slot]
        return gain

    def move(self, i: int, old: int, new: int) -> None:
        """Move the observation that `log_predictive` was just asked about."""
        if old == new or not self.observed[i]:
            return
        self.members[old] -= 1
        self.members[new] += 1
        for slot in (old, new):
            self.statistics[slot] = self._changed[slot]
            self.log_normaliser[slot] = self._log_changed[slot]


def _log_normaliser(family: ConjugateFamily, statistics: Floats) -> Floats:
    found = np.asarray(family.log_normaliser(statistics), np.float64)
    if found.shape != (len(statistics),):
        raise InputError(
            f"log_normaliser of the family {type(family).__name__} returned an array of shape "
            f"{found.shape}, but {(len(statistics),)} is wanted: a number for every row"
        )
    return found


class Visits:
    """How groups are placed in clusters: all at once, or in turn.

    They are independent given the parameters of their contexts. Where those of some context are
    integrated out, a group is placed given the clusters of all others.

    Attributes
    ----------
    bounds : int64 (n_parts + 1,)
        Groups of part ``p`` are ``bounds[p]:bounds[p + 1]``.
    workers : Workers
    """

    def __init__(
        self,
        state: State,
        observations: Observations,
        contexts: ContextParameters,
        workers: Workers,
    ) -> None:
        self._cluster_of_group = state.cluster_of_group
        self._chunk_start = observations.layout.chunk_start
        self._scores = contexts.extra
        self._slots = [
            Slots(context, state.cluster_of_group, len(state.counts.groups_in_cluster))
            for context in observations.python_contexts
            if integrates(context)
        ]
        self.bounds = np.arange(observations.n_groups + 1) if self._slots else self._chunk_start
        self.workers = ONE if self._slots else workers

    def parts(self, first_chunk: int, last_chunk: int) -> Iterator[tuple[int, int]]:
        """Yield the parts to be placed next, from the first up to the last, until all are placed.

        Where groups are visited in turn, whoever places a group must have done so when the next
        is asked for.
        """
        if not self._slots:
            yield first_chunk, last_chunk
            return
        for j in range(self._chunk_start[first_chunk], self._chunk_start[last_chunk]):
            old, total = int(self._cluster_of_group[j]), np.zeros(self._scores.shape[1])
            for slots in self._slots:
                total += slots.log_predictive(j, old)
            self._scores[j] += _possible(total[None, :])[0]
            yield j, j + 1
            for slots in self._slots:
                slots.move(j, old, int(self._cluster_of_group[j]))


def resample_topics(state: State, observations: Observations, weights: Weights, key: Key) -> None:
    """Draw the topic of every token in turn, the topics' parameters integrated out."""
    content = observations.python_content
    assert content is not None
    topic_of_token, n_slots = state.topic_of_token, len(state.topic_weights)
    slots, row = Slots(content, topic_of_token, n_slots), np.empty(n_slots)
    work = Workspace(row, row, np.empty(n_slots), np.empty(n_slots), row, row)
    # λ = ∞: τ_km alone, and the group's own tokens count nothing beside it.
    lam, each = (1.0, 0) if math.isinf(state.lam) else (state.lam, 1)
    for j, k in enumerate(state.cluster_of_group.tolist()):
        first, last = observations.group_start[j : j + 2].tolist()
        log_shares = weights.log_shares[k]
        base = lam * np.exp(log_shares)
        held = each * np.bincount(topic_of_token[first:last], minlength=n_slots)
        prior = base + held
        for i in range(first, last):
            old = int(topic_of_token[i])
            held[old] -= each
            prior[old] = base[old] + held[old]
            gain = slots.log_predictive(i, old)
            u = uniform(*key, int(Step.TOPICS), i, 0)
            new = pick_topic(gain, prior, log_shares, math.log(lam), work, u)
            slots.move(i, old, new)
            topic_of_token[i] = new
            held[new] += each
            prior[new] = base[new] + held[new]
    statistics = np.zeros_like(state.counts.topic_statistics)
    np.add.at(statistics, topic_of_token, content.statistics)
    state.counts.topic_statistics = statistics


def score_given_topics(
    first_group: int, last_group: int, state: State, observations: Observations, log_shares: Floats
) -> Floats:
    """Return Σ_m n_jm log τ_km for some groups and every cluster slot: λ = ∞."""
    start = observations.group_start[first_group : last_group + 1]
    topics = state.topic_of_token[start[0] : start[-1]]
    shape = (last_group - first_group, log_shares.shape[1])
    ones = np.ones(len(topics))
    held = sparse.csr_matrix((ones, topics.astype(np.int64), start - start[0]), shape=shape)
    # Sparse products call no BLAS, and 0 tokens times −∞ is nothing.
    return np.ascontiguousarray(held @ log_shares.T)

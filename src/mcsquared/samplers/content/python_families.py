"""Families without a kernel, such as user-defined ones.

If a family can draw its parameters, they are drawn for every slot and the likelihood of all
observations is computed, as for other families. Otherwise the parameters are integrated out, and
observations are assigned one after another:

    p(z_j = k)  ∝  exp(score_jk)  Z(s_k + T(x_j)) / Z(s_k)
    p(l_i = m)  ∝  τ_km           Z(s_m + T(x_i)) / Z(s_m)        λ = ∞
    p(l_i = m)  ∝  (n_jm + λτ_km) Z(s_m + T(x_i)) / Z(s_m)        λ finite

where T are the statistics and Z is the normaliser of the family, s_k and s_m are the sums of the
statistics of all other groups of cluster k and of all other tokens of topic m, and score_jk has the
other terms of ln p(z_j = k). This is about a hundred times slower than a kernel, and just as exact.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Integers
from mcsquared.corpus.content import blocks_of_rows
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.kernels.cpu.contexts import ContextParameters, GivenContexts, draw_clusters_by_scores
from mcsquared.kernels.cpu.vector_tokens import VectorTokens, Workspace, pick_topic, python_tokens
from mcsquared.kernels.rng import Step, uniform
from mcsquared.observations import Observations, PythonObservations
from mcsquared.samplers.threads import SINGLE_THREAD
from mcsquared.samplers.types import Globals, GroupTask

MAX_NATURAL = 1e200
MAX_LIKELIHOODS = 1 << 22  # token × topic, computed at a time: 32 MiB


def integrated_families(observations: Observations) -> list[ConjugateFamily]:
    """Return the families whose parameters are integrated out."""
    parts = [observations.python_content, *observations.python_contexts]
    return [part.family for part in parts if part is not None and is_integrated(part)]


def is_integrated(observations: PythonObservations | None) -> bool:
    """Return whether the parameters of these observations are integrated out."""
    return observations is not None and not observations.family.can_sample


def log_likelihood_of_groups(observations: Observations, globals_: Globals) -> Floats:
    """Return Σ log F(x_j | φ_k) over Python contexts: (n_groups, cluster slots) or (0, 0).

    0 where a context is missing or its parameters are integrated out, and for a group whose
    likelihood is 0 in every cluster. The weights of the clusters given the parent are added.
    """
    contexts, n_slots = observations.python_contexts, len(globals_.weights.log_cluster_weights)
    parents = globals_.parent_weights
    if parents is not None:
        total = parents.log_rows[parents.row_of_unit[observations.parent_of_group]]
    elif contexts:
        total = np.zeros((observations.n_groups, n_slots))
    else:
        return np.zeros((0, 0))
    for context, parameters in zip(contexts, globals_.contexts.python, strict=True):
        if parameters is not None:
            log_likelihood = _log_likelihood(context.family, context.x, parameters, n_slots)
            total[context.observed] += _without_nan(log_likelihood)
    return total


def context_statistics_by_chunk(
    observations: Observations, clusters: Int32s, statistics: Floats
) -> None:
    """Add statistics of Python contexts and outliers to (n_chunks, cluster slots, statistics)."""
    chunk_start = observations.layout.chunk_start
    for rows, columns in observations.statistics_in_rows:
        chunk = np.repeat(np.arange(len(chunk_start) - 1), np.diff(chunk_start))
        np.add.at(statistics[:, :, columns], (chunk, clusters), rows)


def token_blocks(task: GroupTask) -> Iterator[tuple[int, int, VectorTokens]]:
    """Yield ranges of chunks, ``first`` and ``last``, with the likelihoods of their tokens.

    Blocks are whole chunks, so that draws do not depend on their size.
    """
    observations, globals_ = task.observations, task.globals
    content, n_slots = observations.python_content, globals_.slots[1]
    assert content is not None
    for first, last, tokens in blocks_of_chunks(observations, n_slots):
        rows = _log_likelihood(content.family, content.x[tokens], globals_.content, n_slots)
        yield first, last, python_tokens(rows, tokens.start, content.statistics)


def blocks_of_chunks(observations: Observations, n_slots: int) -> Iterator[tuple[int, int, slice]]:
    """Yield ranges of chunks, ``first`` and ``last``, and their tokens: as many as fit in memory.

    The likelihoods of these tokens in every topic slot are one array.
    """
    start = observations.group_start[observations.layout.chunk_start]
    for first, last in blocks_of_rows(start, MAX_LIKELIHOODS // n_slots):
        yield first, last, slice(*start[[first, last]].tolist())


def _log_likelihood(
    family: ConjugateFamily, x: NDArray[Any], parameters: Floats, n_slots: int
) -> Floats:
    """Return log F(x | φ) after a check of its shape."""
    n = x.shape[0]
    if not n:
        return np.zeros((0, n_slots))
    values = np.ascontiguousarray(family.log_likelihood(x, parameters), np.float64)
    return _checked(family, "log_likelihood", values, (n, n_slots), "(observations, clusters)")


def _checked(
    family: ConjugateFamily, method: str, found: Floats, shape: tuple[int, ...], axes: str
) -> Floats:
    """Return the result of a family's method after a check of its shape."""
    if found.shape != shape:
        raise InputError(
            f"{method} of the family {type(family).__name__} must return an array of shape "
            f"{shape} {axes}, got {found.shape}"
        )
    return found


def checked_naturals(family: ConjugateFamily, natural: Any, n_slots: int) -> Floats:
    """Return natural parameters after a check, clipped so that 0 times them is 0."""
    values, shape = np.asarray(natural, np.float64), (n_slots, family.n_stats)
    checked = _checked(family, "natural_parameters", values, shape, "(topics, n_stats)")
    return np.clip(checked, -MAX_NATURAL, MAX_NATURAL)


def _without_nan(log_likelihood: Floats) -> Floats:
    """Replace NaN and ∞ by −∞, and rows without a finite value by 0."""
    finite = np.where(log_likelihood < np.inf, log_likelihood, -np.inf)
    finite[~(finite > -np.inf).any(axis=1)] = 0.0
    return finite


class SlotStatistics:
    """Statistics of clusters or topics with parameters integrated out, updated as labels change.

    ``labels`` (n,) are the slots of all observations, missing ones included.
    """

    def __init__(self, observations: PythonObservations, labels: Integers, n_slots: int) -> None:
        self.family = observations.family
        self.rows = observations.statistics
        self.observed = observations.observed.tolist()
        self.sizes = np.bincount(labels[observations.observed], minlength=n_slots)
        self.statistics = np.zeros((n_slots, self.family.n_stats))
        np.add.at(self.statistics, labels, self.rows)
        self.log_normaliser = _log_normaliser(self.family, self.statistics)
        self._changed, self._log_changed = self.statistics, self.log_normaliser

    def log_predictive(self, i: int, slot: int) -> Floats:
        """Return log Z(s + T(x_i)) − log Z(s) for every slot, ``s`` without observation ``i``.

        ``slot`` is its current slot. The base measure of the family cancels.
        """
        if not self.observed[i]:
            return np.zeros(len(self.sizes))
        # The statistics of every slot with x_i added, but removed from its current slot.
        changed = self.statistics + self.rows[i]
        if self.sizes[slot] > 1:
            changed[slot] = self.statistics[slot] - self.rows[i]
        else:  # a subtraction would leave a rounding error
            changed[slot] = 0.0
        log_changed = _log_normaliser(self.family, changed)
        self._changed, self._log_changed = changed, log_changed
        gain = log_changed - self.log_normaliser
        gain[slot] = -gain[slot]
        return gain

    def move(self, i: int, old: int, new: int) -> None:
        """Move the observation that `log_predictive` was last called with."""
        if old == new or not self.observed[i]:
            return
        self.sizes[old] -= 1
        self.sizes[new] += 1
        for slot in (old, new):
            self.statistics[slot] = self._changed[slot]
            self.log_normaliser[slot] = self._log_changed[slot]

    def grow(self, n_slots: int) -> None:
        """Add empty slots."""
        extra = n_slots - len(self.sizes)
        self.sizes = np.pad(self.sizes, (0, extra))
        self.statistics = np.pad(self.statistics, ((0, extra), (0, 0)))
        empty = _log_normaliser(self.family, self.statistics[-extra:])
        self.log_normaliser = np.append(self.log_normaliser, empty)


def _log_normaliser(family: ConjugateFamily, statistics: Floats) -> Floats:
    log_normaliser = np.asarray(family.log_normaliser(statistics), np.float64)
    return _checked(family, "log_normaliser", log_normaliser, (len(statistics),), "(rows)")


class GroupOrder:
    """Order in which groups are assigned to clusters: independently, or one after another.

    Groups are independent given the parameters of their contexts. Where those of a context are
    integrated out, a group is assigned given the clusters of all others; then ``groups`` has one
    group per chunk. ``contexts`` have the parameters or scores of this sweep.
    """

    def __init__(self, task: GroupTask) -> None:
        observations, labels, globals_, threads = task
        self._cluster_of_group = labels.cluster_of_group
        self._chunk_start = observations.layout.chunk_start
        self._scores = log_likelihood_of_groups(observations, globals_)
        natural, log_categories, _, background = globals_.contexts
        parameters = ContextParameters(natural, log_categories, self._scores, background)
        self.contexts = GivenContexts(observations.dense, observations.bags, parameters)
        self._slots = [
            SlotStatistics(context, labels.cluster_of_group, globals_.slots[0])
            for context in observations.python_contexts
            if is_integrated(context)
        ]
        self.groups = observations.groups
        if self._slots:
            single = np.arange(observations.n_groups + 1)
            self.groups = self.groups._replace(chunk_start=single)
        self.threads = SINGLE_THREAD if self._slots else threads

    def parts(self, first_chunk: int, last_chunk: int) -> Iterator[tuple[int, int]]:
        """Yield the parts to assign next, until all groups of the chunks are assigned.

        The caller must assign the groups of a part before it requests the next one.
        """
        if not self._slots:
            yield first_chunk, last_chunk
            return
        for j in range(self._chunk_start[first_chunk], self._chunk_start[last_chunk]):
            old, total = int(self._cluster_of_group[j]), np.zeros(self._scores.shape[1])
            for slots in self._slots:
                total += slots.log_predictive(j, old)
            self._scores[j] += _without_nan(total[None, :])[0]
            yield j, j + 1
            for slots in self._slots:
                slots.move(j, old, int(self._cluster_of_group[j]))


def draw_clusters_by_chunk(
    task: GroupTask,
    order: GroupOrder,
    score: Callable[[int, int], Floats],
    first_chunk: int,
    last_chunk: int,
) -> None:
    """Draw the clusters of all groups of some chunks.

    ``score(first, last)`` returns the log-likelihood of the content of groups ``first:last`` in
    each cluster, float64 (last − first, cluster slots).
    """
    observations, labels, globals_, _ = task
    chunk_start = observations.layout.chunk_start
    weights = (globals_.weights.log_cluster_weights, order.contexts)
    position, clusters = (globals_.key, observations.first_group), labels.cluster_of_group

    def assign(first: int, last: int) -> None:
        for chunk in range(first, last):
            begin, end = chunk_start[chunk], chunk_start[chunk + 1]
            if begin == end:  # as in most chunks of a small corpus
                continue
            scores = score(begin, end)
            for part in order.parts(chunk, chunk + 1):
                low, high = (order.groups.chunk_start[bound] for bound in part)
                rows = scores[low - begin : high - begin]
                draw_clusters_by_scores(low, high, rows, *weights, *position, clusters)

    order.threads.map(last_chunk - first_chunk, assign, first_chunk)


def draw_clusters_and_topics(task: GroupTask) -> dict[str, Any]:
    """Draw topics token by token, then clusters given topics: λ = ∞, parameters integrated out."""
    sums = draw_topics(task)
    observations, labels, globals_, _ = task
    log_shares, starts = globals_.weights.log_shares, observations.group_start

    def score(first: int, last: int) -> Floats:
        """Return Σ_m n_jm log τ_km."""
        start = starts[first : last + 1]
        topics = labels.topic_of_token[start[0] : start[-1]].astype(np.int64)
        shape = (last - first, log_shares.shape[1])
        counts = sparse.csr_matrix((np.ones(len(topics)), topics, start - start[0]), shape=shape)
        # Sparse products call no BLAS, and 0 tokens times −∞ is 0.
        return np.ascontiguousarray(counts @ log_shares.T)

    n_chunks = len(observations.layout.chunk_start) - 1
    draw_clusters_by_chunk(task, GroupOrder(task), score, 0, n_chunks)
    topics = np.zeros(globals_.slots, np.int32)
    cluster_of_token = np.repeat(labels.cluster_of_group, np.diff(starts))
    np.add.at(topics, (cluster_of_token, labels.topic_of_token), 1)
    return sums | {"topics_in_cluster": topics}


def draw_topics(task: GroupTask, words_in_topic: Any = None) -> dict[str, Any]:
    """Draw the topic of every token in turn, the topics' parameters integrated out."""
    observations, labels, globals_, _ = task
    content = observations.python_content
    assert content is not None
    topic_of_token, n_slots = labels.topic_of_token, globals_.slots[1]
    slots, row = SlotStatistics(content, topic_of_token, n_slots), np.empty(n_slots)
    work = Workspace(row, row, np.empty(n_slots), np.empty(n_slots), row, row)
    # If λ = ∞, the prior is τ_km alone: the counts of the group have no weight.
    lam, count_weight = (globals_.lam, 1) if globals_.groups_vary else (1.0, 0)
    for j, k in enumerate(labels.cluster_of_group.tolist()):
        first, last = observations.group_start[j : j + 2].tolist()
        log_shares = globals_.weights.log_shares[k]
        base = lam * np.exp(log_shares)
        counts = count_weight * np.bincount(topic_of_token[first:last], minlength=n_slots)
        prior = base + counts
        for i in range(first, last):
            old = int(topic_of_token[i])
            counts[old] -= count_weight
            prior[old] = base[old] + counts[old]
            gain = slots.log_predictive(i, old)
            u = uniform(*globals_.key, int(Step.TOPICS), i, 0)
            new = pick_topic(gain, prior, log_shares, math.log(lam), work, u)
            slots.move(i, old, new)
            topic_of_token[i] = new
            counts[new] += count_weight
            prior[new] = base[new] + counts[new]
    statistics = np.zeros((1, n_slots, content.family.n_stats))
    np.add.at(statistics[0], topic_of_token, content.statistics)
    return {"topic_statistics": statistics}

"""Initial labels of all groups of a large corpus, given the initial state of a sample of them.

Labels are drawn as if λ = ∞: clusters with topics summed out, then topics. They depend on the
position of a group in the corpus, not on its shard.
"""

import math

import numpy as np

from mcsquared.arrays import Int64s, Rng
from mcsquared.kernels.cpu.cells import draw_first_topics
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.content.groups import content_of
from mcsquared.samplers.content.python_families import integrated_families
from mcsquared.samplers.steps.contexts import draw_contexts
from mcsquared.samplers.steps.globals import begin_content
from mcsquared.samplers.steps.weights import draw_log_topic_shares
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Globals, GroupTask, Key, Labels, Sweep, Weights
from mcsquared.state import NO_BOUNDS, State

# Chains of larger corpora start from a sample.
MAX_UNSAMPLED_TOKENS, MAX_UNSAMPLED_GROUPS = 20_000_000, 20_000
SAMPLED_GROUPS = 10_000


def groups_to_start_with(observations: Observations, rng: Rng) -> Int64s | None:
    """Return a sample of the groups of a large corpus to start from; None: all groups."""
    sampled, n_groups, n_tokens = observations.sampled, observations.n_groups, observations.n_tokens
    is_small = n_tokens <= MAX_UNSAMPLED_TOKENS and n_groups <= MAX_UNSAMPLED_GROUPS
    if sampled is None and (is_small or integrated_families(observations)):
        return None
    groups = np.arange(n_groups) if sampled is None else sampled
    n_sampled = min(
        SAMPLED_GROUPS, math.ceil(n_groups * MAX_UNSAMPLED_TOKENS / max(n_tokens, 1)), len(groups)
    )
    return np.sort(rng.choice(groups, n_sampled, replace=False))


class StartExtension:
    """Initial labels of any shard, given the state of the sample, whose empty slots stay empty.

    ``observations`` are the whole corpus, or any observations with the same families.
    """

    def __init__(self, state: State, observations: Observations, priors: Priors, key: Key) -> None:
        groups = state.counts.groups_in_cluster
        with np.errstate(divide="ignore"):
            log_cluster_weights = np.log(groups) - np.log(groups.sum())
        sweep = Sweep(state, observations, priors, NO_BOUNDS, key)
        log_shares = draw_log_topic_shares(sweep, state.topic_weights)
        weights = Weights(state.topic_weights, log_cluster_weights, log_shares)
        contexts = draw_contexts(sweep)
        content, shares = begin_content(sweep)(weights, math.inf)
        self._has_topics = not (observations.n_words and math.isinf(state.lam))
        self._globals = Globals(key, math.inf, weights, contexts, content, shares)

    def labels(self, shard: Observations, threads: ThreadPool = SINGLE_THREAD) -> Labels:
        """Draw the initial labels of a shard."""
        n_labels = shard.n_tokens if self._has_topics else 0
        labels = Labels(np.zeros(shard.n_groups, np.int32), np.zeros(n_labels, np.uint16))
        task = GroupTask(shard, labels, self._globals, threads)
        content_of(shard).draw_clusters_and_topics(task)
        if shard.n_words and self._has_topics:
            self._draw_topics(shard, labels, threads)
        return labels

    def _draw_topics(self, shard: Observations, labels: Labels, threads: ThreadPool) -> None:
        bounds, globals_ = shard.layout.chunk_start, self._globals
        tokens = (shard.group_start, shard.word, labels.cluster_of_group)
        weights = (globals_.scaled_shares, globals_.content)
        numbers = (globals_.key, int(Step.FIRST_TOPICS), shard.first_token)

        def draw(first: int, last: int) -> None:
            draw_first_topics(
                bounds[first], bounds[last], *tokens, *weights, *numbers, labels.topic_of_token
            )

        threads.map(len(bounds) - 1, draw, work=50.0 * shard.n_tokens)

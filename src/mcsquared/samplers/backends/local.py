"""Groups in the memory of this process, swept by its threads."""

from dataclasses import replace
from typing import Any

import numpy as np

from mcsquared.arrays import CountArray
from mcsquared.kernels.cpu.lanes import aligned
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.content.groups import ScoredLabels, sweep_groups
from mcsquared.samplers.content.levels import TypeWeights
from mcsquared.samplers.types import Cells, Globals, GroupFunction, GroupTask, Key, Labels, Sums
from mcsquared.state import State


class LocalBackend(Backend):
    """Groups in the memory of this process; the labels of the state are updated in place."""

    _labels: Labels | ScoredLabels
    _words: CountArray

    def load_labels(self, state: State, key: Key) -> None:
        """Use the label arrays of a state."""
        self._labels = Labels(state.cluster_of_group, state.topic_of_token)
        self._words = state.counts.words_in_topic

    def save_labels(self, state: State, clusters_only: bool = False) -> None:
        """Do nothing: the labels are already those of the state."""

    def sweep_groups(self, globals_: Globals) -> Sums:
        """Draw the topics and clusters of all groups; return their sums."""
        scores = None
        if isinstance(self._labels, ScoredLabels):
            clusters, topics, scores = self._labels
            self._labels = Labels(clusters, topics)
        words = self._words_in_topic(globals_)
        task = GroupTask(self.observations, self._labels, globals_, self.threads)
        sums = sweep_groups(task, words, scores)
        if not self.observations.n_words or globals_.groups_vary:
            return sums
        # Cells by group instead of by cluster give the same draws, and need not be summed.
        groups_of_word = self.observations.layout.groups_of_word
        return replace(sums, cells=Cells(groups_of_word, self._labels.cluster_of_group))

    def _words_in_topic(self, globals_: Globals) -> CountArray:
        """Return the array in which words are counted where λ is finite."""
        shape = (self.observations.n_words, globals_.slots[1])
        if globals_.groups_vary and self._words.shape != shape:
            self._words = aligned(*shape, dtype=np.int32)
        return self._words

    def sum_messages(self, weights: TypeWeights) -> dict[str, Any]:
        """Return the messages of groups by unit above them; draw topics in place."""
        words = self._words_in_topic(weights.globals)
        return super().sum_messages(weights._replace(words_in_topic=words))

    def map_groups(self, function: GroupFunction, argument: Any) -> list[Any]:
        """Apply a function to all groups, which are one shard."""
        before = self._labels
        self._labels, result = function(self.observations, before, argument, self.threads)
        # The arrays of the state are kept.
        before.cluster_of_group[:] = self._labels.cluster_of_group
        if self._labels.topic_of_token is not before.topic_of_token:
            before.topic_of_token[:] = self._labels.topic_of_token
        self._labels = self._labels._replace(
            cluster_of_group=before.cluster_of_group, topic_of_token=before.topic_of_token
        )
        return [result]

"""Base class of `DeviceWords` and `DeviceVectors`: tokens, counts and topic draws on the GPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.buffers import Buffers
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
from mcsquared.samplers.types import Key
from mcsquared.state import State


class DeviceContent:
    """The content of a corpus on the GPU. Methods without a body are optional."""

    buffers: Buffers

    def __init__(self, observations: Observations, priors: Priors, corpus: DeviceCorpus) -> None:
        self.observations, self.priors, self.corpus = observations, priors, corpus

    def load_counts(self, words_in_topic: NDArray[np.int32]) -> None:
        """Copy counts to the GPU."""

    def save_counts(self, state: State) -> None:
        """Copy counts to a state."""

    def resize(self, n_topics: int, new_topics: int) -> None:
        """Add topic slots to the counts."""

    def finish_sums(self) -> None:
        """Add the sums of the chunks."""

    def draw_cell_topics(self, key: Key) -> None:
        """Draw topics by (cluster, word) cell (λ = ∞)."""

    def add_log_counts(self) -> None:
        """Add the log-densities of the counts."""

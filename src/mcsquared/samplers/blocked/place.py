"""Where the groups are while a chain sweeps, and what is asked of them there.

Given the globals, groups are moved where they are, and what comes back are counts. This place is
the memory of this process; a GPU or the workers of a cluster answer the same questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.blocked import vectors, words
from mcsquared.samplers.blocked.contexts import count_groups, draw_contexts, take_groups
from mcsquared.samplers.blocked.psi import Psi
from mcsquared.samplers.blocked.weights import Key, Weights, draw_shares
from mcsquared.samplers.concentrations import draw_tables
from mcsquared.samplers.joint import begin_log_tables
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

__all__ = ["Place"]


class Place:
    """Groups in the memory of this process, moved by its threads.

    Parameters
    ----------
    workers : Workers
        Threads, for what is done here: everything in this place, the globals in others.
    """

    def __init__(self, observations: Observations, priors: Priors, workers: Workers = ONE) -> None:
        self.observations = observations
        self.priors = priors
        self.workers = workers
        self._psi: Psi | None = None

    def begin(self, state: State, key: Key) -> None:
        """Begin a sweep: what needs no other globals may be drawn from here on."""
        if self.observations.n_words:
            self._psi = Psi(state, self.observations, self.priors, key, self.workers)

    def take_psi(self) -> Psi:
        """Hand over ψ of this sweep."""
        psi, self._psi = self._psi, None
        assert psi is not None
        return psi

    def draw_shares(
        self, state: State, topics: NDArray[np.float64], key: Key
    ) -> NDArray[np.float64]:
        """Draw log τ_k ~ Dir(v ε + O_k) for every cluster slot."""
        return draw_shares(state, topics, key, self.workers)

    def draw_tables(
        self, state: State, concentration: NDArray[np.float64], key: Key
    ) -> NDArray[np.int32]:
        """Draw q_km ~ CRT(O_km, v ε_m)."""
        return draw_tables(state.tables, concentration, *key, self.workers)

    def draw_contexts(self, state: State, key: Key) -> ContextParameters:
        """Draw φ_k of every context and cluster slot."""
        return draw_contexts(state, self.observations, key, self.workers)

    def move(self, state: State, weights: Weights, contexts: ContextParameters, key: Key) -> float:
        """Draw every group's topics and cluster, and count everything anew.

        Returns the sum of what `place_members` does, 0 where λ = ∞.
        """
        given = (weights, contexts, key, self.workers)
        varies = not math.isinf(state.lam)
        if self.observations.n_words:
            move = words.move_members if varies else words.move_groups
            log_rising = move(state, self.observations, self.take_psi(), *given)
        else:
            vector_move = vectors.move_members if varies else vectors.move_groups
            log_rising = vector_move(state, self.observations, *given).log_rising
        take_groups(state, count_groups(state, self.observations, self.workers))
        return 0.0 if log_rising is None else float(log_rising.sum())

    def begin_log_tables(self, state: State) -> Callable[[], float]:
        """Begin with the log-density of content given topics and of bags given clusters."""
        return begin_log_tables(state.counts, self.observations, self.priors, self.workers)

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Bring home labels and the largest counts, before somebody reads them."""

    def put(self, state: State, key: Key) -> None:
        """Take over labels and counts that were changed at home."""

    def keep(self, number_of_slot: NDArray[np.int32]) -> None:
        """Hear that the present draw is kept, and which number each cluster slot has in it."""

"""The blocked sampler of mcsquared: one sweep of a fit, including its trace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

YEAR = {"year": "gaussian"}
# Number of the sweep before the first: later ones split and merge in every fifth sweep only.
FIRST_SWEEP = 100


class Blocked:
    """A chain with a given number of clusters and topics, by default with the year as its context.

    The numbers of clusters and topics at the start are also their upper bounds, so that the
    requested size is the size that is timed.
    """

    name = "mcsquared blocked"

    def __init__(
        self,
        corpus: Corpus,
        settings: Settings,
        lam: Any,
        contexts: Any = YEAR,
        effects: Sequence[str] = (),
    ) -> None:
        from mcsquared import Priors
        from mcsquared.observations import observe
        from mcsquared.samplers.steps.collapsed import collapsed_step
        from mcsquared.samplers.sweep import BLOCKED
        from mcsquared.state import Bounds

        self.sampler = BLOCKED.without(collapsed_step)
        self.priors = Priors.for_corpus(corpus, contexts=contexts, lam=lam, effects=effects)
        self.observations = observe(corpus, self.priors)
        self.seed = settings.seed
        self.bounds = Bounds(clusters=settings.n_clusters, topics=settings.n_topics)
        self.state = BLOCKED.start(
            self.observations,
            self.priors,
            self.seed,
            0,
            init="random",
            n_clusters=settings.n_clusters,
            n_topics=settings.n_topics,
            bounds=self.bounds,
        )
        self.state.sweep = FIRST_SWEEP

    def sweep(self) -> dict[str, float]:
        """Do one sweep on one thread, including the log joint of its trace."""
        given = (self.state, self.observations, self.priors, self.seed, 0, self.bounds)
        return {"sweep": cpu_seconds(lambda: self.sampler.sweep(*given))}

    def size(self) -> dict[str, int]:
        """Return the numbers of occupied clusters and topics."""
        return {"clusters": self.state.n_clusters, "topics": self.state.n_topics}


class BlockedFinite(Blocked):
    """λ finite, the default: groups vary within their cluster, λ is resampled."""

    name = "mcsquared blocked, λ finite"

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        from mcsquared import Gamma

        super().__init__(corpus, settings, Gamma(1, 0.1))


class BlockedInfinite(Blocked):
    """λ = ∞, the paper's model: all groups of a cluster share one mixture of topics."""

    name = "mcsquared blocked, λ = ∞"

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        super().__init__(corpus, settings, math.inf)

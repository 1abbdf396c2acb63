"""The blocked sampler of mcsquared: what a fit does in a sweep, trace included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["Blocked"]

YEAR = {"year": "gaussian"}


class Blocked:
    """A chain of the wanted number of clusters and topics, with the year as its context by default.

    Clusters and topics are bounded by their numbers at the start, so that the size asked for is the
    size timed.
    """

    name = "mcsquared blocked"

    def __init__(self, corpus: Corpus, settings: Settings, lam: Any, contexts: Any = YEAR) -> None:
        from mcsquared import Priors
        from mcsquared.observations import observe
        from mcsquared.samplers import blocked
        from mcsquared.samplers.joint import log_joint
        from mcsquared.state import Bounds

        self.sampler, self.log_joint = blocked, log_joint
        self.priors = Priors.for_corpus(corpus, contexts=contexts, lam=lam)
        self.observations = observe(corpus, self.priors)
        self.seed = settings.seed
        self.bounds = Bounds(clusters=settings.n_clusters, topics=settings.n_topics)
        self.state = blocked.start(
            self.observations,
            self.priors,
            self.seed,
            0,
            init="random",
            n_clusters=settings.n_clusters,
            n_topics=settings.n_topics,
            bounds=self.bounds,
        )

    def move(self) -> None:
        """Do one sweep of the sampler, on one thread."""
        self.sampler.sweep(
            self.state, self.observations, self.priors, self.seed, 0, bounds=self.bounds
        )

    def trace(self) -> float:
        """Compute what a fit writes into its trace after every sweep."""
        return self.log_joint(self.state, self.observations, self.priors)

    def sweep(self) -> dict[str, float]:
        """Do a sweep and its line of the trace."""
        return {"sweep": cpu_seconds(self.move), "log joint": cpu_seconds(self.trace)}

    def size(self) -> dict[str, int]:
        """Return occupied clusters and topics."""
        return {"clusters": self.state.n_clusters, "topics": self.state.n_topics}

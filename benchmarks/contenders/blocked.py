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
        from mcsquared.state import Bounds

        self.sampler = blocked
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

    def sweep(self) -> dict[str, float]:
        """Do one sweep, which computes the log joint of its trace, on one thread."""
        given = (self.state, self.observations, self.priors, self.seed, 0, self.bounds)
        return {"sweep": cpu_seconds(lambda: self.sampler.sweep(*given))}

    def size(self) -> dict[str, int]:
        """Return occupied clusters and topics."""
        return {"clusters": self.state.n_clusters, "topics": self.state.n_topics}

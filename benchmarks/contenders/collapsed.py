"""The collapsed sampler of mcsquared: the steps of one sweep of a fit, including its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

TOKEN_STEP = "topics of tokens"


class Collapsed:
    """A chain with a given number of clusters and topics, with the year as its context.

    The number of clusters at the start is also their upper bound, so that the requested size is the
    size that is timed.
    """

    name = "mcsquared collapsed"

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        from mcsquared import Priors
        from mcsquared.observations import observe
        from mcsquared.samplers.starts import start
        from mcsquared.state import Bounds

        self.priors = Priors.for_corpus(corpus, contexts={"year": "gaussian"})
        self.observations = observe(corpus, self.priors)
        self.seed = settings.seed
        self.bounds = Bounds(clusters=settings.n_clusters, topics=None)
        self.state = start(
            self.observations,
            self.priors,
            self.seed,
            chain=0,
            init="random",
            n_clusters=settings.n_clusters,
            n_topics=settings.n_topics,
        )

    def sweep(self) -> dict[str, float]:
        """Do the steps of `mcsquared.samplers.collapsed.sweep`, and the trace, one by one."""
        from mcsquared.samplers.clusters import sweep_clusters
        from mcsquared.samplers.concentrations import resample_concentrations
        from mcsquared.samplers.joint import log_joint
        from mcsquared.samplers.topics import sweep_topics

        state, observations, priors, seed = self.state, self.observations, self.priors, self.seed
        bounds = self.bounds
        state.sweep += 1
        return {
            "clusters of groups": cpu_seconds(
                lambda: sweep_clusters(state, observations, seed, 0, bounds)
            ),
            TOKEN_STEP: cpu_seconds(
                lambda: sweep_topics(state, observations, priors, seed, 0, bounds)
            ),
            "concentrations": cpu_seconds(lambda: resample_concentrations(state, priors, seed, 0)),
            "log joint": cpu_seconds(lambda: log_joint(state, observations, priors)),
        }

    def size(self) -> dict[str, int]:
        """Return the numbers of occupied clusters and topics."""
        return {"clusters": self.state.n_clusters, "topics": self.state.n_topics}

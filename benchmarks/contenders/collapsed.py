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
        from mcsquared.samplers.init.starts import start_collapsed as start
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
        """Run the steps of the collapsed sampler, and the trace, one by one."""
        from mcsquared.samplers.backends.local import LocalBackend
        from mcsquared.samplers.sweep import COLLAPSED_STEPS
        from mcsquared.samplers.types import Key, Sweep

        state, given = self.state, (self.observations, self.priors)
        state.sweep += 1
        key, backend = Key(self.seed, 0, state.sweep), LocalBackend(*given)
        sweep = Sweep(state, *given, self.bounds, key, backend)
        seconds = [cpu_seconds(lambda step=step: step(sweep)) for step in COLLAPSED_STEPS]
        clusters, topics, *others, log_joint = seconds
        return {
            "clusters of groups": clusters,
            TOKEN_STEP: topics,
            "concentrations": sum(others),
            "log joint": log_joint,
        }

    def size(self) -> dict[str, int]:
        """Return the numbers of occupied clusters and topics."""
        return {"clusters": self.state.n_clusters, "topics": self.state.n_topics}

"""Fits and scores of mcsquared through its public API."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcsquared import Gamma
from mcsquared.callbacks import STOP_CHAIN

if TYPE_CHECKING:
    from benchmarks.interleave import Clock
    from mcsquared import MC2
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import ParameterDraw, Posterior

FINITE, INFINITE = "mcsquared, λ finite", "mcsquared, λ = ∞"
N_GLOBAL_DRAWS = 20  # of τ, over which a perplexity averages, at least
ENGINES: dict[str, dict[str, Any]] = {
    FINITE: {"sampler": "blocked", "lam": Gamma(1, 0.1)},
    INFINITE: {"sampler": "blocked", "lam": math.inf},
}
DEVICE_ENGINES = {f"{name}, GPU": {**given, "device": "cuda"} for name, given in ENGINES.items()}


def estimator(engine: Mapping[str, Any], **parameters: Any) -> MC2:
    """Return an estimator without progress, with default values for all other parameters."""
    from mcsquared import MC2

    return MC2(**{"progress": False, **engine, **parameters})


@dataclass
class TimedFit:
    """A fit that stored parameters during the run, with their times.

    Attributes
    ----------
    seconds : list of list of float
        CPU-seconds after each sweep of each chain, from the call of ``fit``.
    """

    posterior: Posterior
    seconds: list[list[float]] = field(repr=False)

    def seconds_of(self, draw: ParameterDraw) -> float:
        """Return the CPU-seconds at which a draw was made."""
        chain, sweep = self._chain_and_sweep(draw)
        return self.seconds[chain][sweep - 1]

    def is_late(self, draw: ParameterDraw) -> bool:
        """Return whether a draw is from the second half of the sweeps of its chain."""
        chain, sweep = self._chain_and_sweep(draw)
        return 2 * sweep > len(self.seconds[chain])

    def _chain_and_sweep(self, draw: ParameterDraw) -> tuple[int, int]:
        chains, sweeps = self.posterior.chain_of_draw, self.posterior.sweep_of_draw
        return int(chains[draw.index]), int(sweeps[draw.index])

    def draws(self) -> list[ParameterDraw]:
        """Return the draws with parameters in order of time."""
        return sorted(self.posterior.parameters, key=self.seconds_of)

    def perplexity(
        self,
        test: Corpus,
        draws: Sequence[ParameterDraw],
        seed: int,
        given_contexts: bool = False,
    ) -> Any:
        """Return the completion perplexity of some of the draws.

        If there are few draws, τ is drawn several times for each of them. Topics are means, as in
        other packages.
        """
        from mcsquared.evaluation.perplexity import perplexity

        some = copy.copy(self.posterior)
        some.parameters = list(draws)
        repeats = max(N_GLOBAL_DRAWS // len(some.parameters), 1)
        return perplexity(
            some, test, "completion", given_contexts, random_state=seed, n_repeats=repeats
        )


def fit(
    corpus: Corpus,
    clock: Clock,
    engine: Mapping[str, Any],
    until: float = math.inf,
    n_chains: int = 1,
    **parameters: Any,
) -> TimedFit:
    """Fit, interleaved with other runs, for ``until`` CPU-seconds or all sweeps.

    Several chains, one after the other, have equal shares of the time left after their starts.
    """
    seconds: list[list[float]] = [[] for _ in range(n_chains)]

    def record(sweep: Any) -> str | None:
        seconds[sweep.chain].append(clock.tick())
        left = (1 - (sweep.chain + 1) / n_chains) * (until - seconds[0][0]) if n_chains > 1 else 0
        return STOP_CHAIN if seconds[sweep.chain][-1] >= until - left else None

    clock.reset()
    model = estimator(engine, callbacks=[record], n_chains=n_chains, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the bounds are reached on purpose
        model.fit(corpus)
    return TimedFit(model.posterior_, seconds)


def compile_kernels(
    corpus: Corpus, engines: Sequence[Mapping[str, Any]], **parameters: Any
) -> None:
    """Fit and score a few groups, so that compilation is not timed."""
    some = corpus[:20]
    for engine in engines:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator(engine, n_sweeps=3, burn_in=1, thin=1, random_state=0, **parameters)
            model.fit(some).perplexity(some)

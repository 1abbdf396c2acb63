"""Fits and scores of mcsquared through its public API."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcsquared import Gamma

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


def estimator(engine: Mapping[str, Any], **parameters: Any) -> MC2:
    """Return an estimator without progress, with default values for all other parameters."""
    from mcsquared import MC2

    return MC2(**{"progress": False, **engine, **parameters})


@dataclass
class TimedFit:
    """A fit that stored parameters during the run, with their times.

    Attributes
    ----------
    seconds : list of float
        CPU-seconds after each sweep, from the call of ``fit``.
    """

    posterior: Posterior
    seconds: list[float] = field(repr=False)

    def seconds_of(self, draw: ParameterDraw) -> float:
        """Return the CPU-seconds at which a draw was made."""
        return self.seconds[int(self.posterior.sweep_of_draw[draw.index]) - 1]

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
    **parameters: Any,
) -> TimedFit:
    """Fit, interleaved with other runs, for ``until`` CPU-seconds or all sweeps."""
    seconds: list[float] = []

    def record(_: object) -> bool:
        seconds.append(clock.tick())
        return seconds[-1] >= until

    clock.reset()
    model = estimator(engine, callbacks=[record], **parameters)
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

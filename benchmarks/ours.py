"""mcsquared's engines as a user calls them, and their scores as users get them."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcsquared import Gamma

if TYPE_CHECKING:
    from benchmarks.turns import Clock
    from mcsquared import MC2
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import ParameterDraw, Posterior

__all__ = ["ENGINES", "FINITE", "INFINITE", "TimedFit", "compile_kernels", "estimator", "fit"]

FINITE, INFINITE = "mcsquared, λ finite", "mcsquared, λ = ∞"
GLOBALS = 20  # draws of τ and ψ that a perplexity averages over, at least
ENGINES: dict[str, dict[str, Any]] = {
    FINITE: {"sampler": "blocked", "lam": Gamma(1, 0.1)},
    INFINITE: {"sampler": "blocked", "lam": math.inf},
}


def estimator(engine: Mapping[str, Any], **parameters: Any) -> MC2:
    """Return an estimator of an engine, quiet, all else as a user finds it."""
    from mcsquared import MC2

    return MC2(**{"progress": False, **engine, **parameters})


@dataclass
class TimedFit:
    """A fit that kept parameters along the way, and when it had them.

    Attributes
    ----------
    seconds : list of float
        CPU-seconds after each sweep, everything from the call of ``fit`` on counted.
    """

    posterior: Posterior
    seconds: list[float] = field(repr=False)

    def seconds_of(self, draw: ParameterDraw) -> float:
        """Return the CPU-seconds after which a draw was there."""
        return self.seconds[int(self.posterior.sweep_of_draw[draw.draw]) - 1]

    def draws(self) -> list[ParameterDraw]:
        """Return the draws with parameters, as they came."""
        return sorted(self.posterior.parameters, key=self.seconds_of)

    def perplexity(
        self,
        test: Corpus,
        draws: Sequence[ParameterDraw],
        seed: int,
        given_contexts: bool = False,
    ) -> Any:
        """Return the completion perplexity of some of the draws, by mcsquared's own evaluation.

        Of few draws, the globals τ and ψ are drawn several times each: peers' topics are means.
        """
        from mcsquared.evaluation.perplexity import perplexity

        some = copy.copy(self.posterior)
        some.parameters = list(draws)
        repeats = max(GLOBALS // len(some.parameters), 1)
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
    """Fit in turn with others, up to so many CPU-seconds or the end of the schedule."""
    seconds: list[float] = []

    def note(_: object) -> bool:
        seconds.append(clock.tick())
        return seconds[-1] >= until

    clock.reset()
    model = estimator(engine, callbacks=[note], **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a bound that was reached, as it should
        model.fit(corpus)
    return TimedFit(model.posterior_, seconds)


def compile_kernels(
    corpus: Corpus, engines: Sequence[Mapping[str, Any]], **parameters: Any
) -> None:
    """Fit and score a few groups, so that no compiling is timed later."""
    some = corpus[:20]
    for engine in engines:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator(engine, n_sweeps=3, burn_in=1, thin=1, random_state=0, **parameters)
            model.fit(some).perplexity(some)

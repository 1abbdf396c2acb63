"""How long chains run and which draws are kept: a fixed number of sweeps, or stages.

Like `checks`, this module does not import NumPy, so that ``mc2 --help`` stays fast.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any

DEFAULT_SWEEPS: int | str = "auto"  # of `MC2`: see `StagedSchedule`
# Numbers of chains if n_sweeps="auto"; a fixed number of sweeps has one chain. The consensus of
# many short chains agrees better between seeds than that of few long ones: chains of large
# corpora stay near the mode in which they begin. Those of small corpora mix, and can be long.
MIN_CHAINS, MAX_CHAINS = 8, 32
MAX_SWEEPS_OF_CHAINS = 2_560  # sum over all chains
MAX_TOKENS_OF_CHAINS = 100_000_000  # sum over all chains, each of which stores a topic per token

BURN_IN, THIN = 100, 5  # of a fixed number of sweeps, if there are enough

FIRST_STAGE = 40  # sweeps at the end of the first stage; each stage doubles them
MAX_SWEEPS = 320  # of a run in stages without a time limit
MAX_TOKENS_VISITED = 40_000_000  # by all sweeps of a chain; the first stages may exceed it
DRAWS_PER_FIT = 100  # kept draws of all chains at the end of a stage, approximately


@dataclass(frozen=True)
class Schedule:
    """A fixed number of sweeps, which draws are kept, and which of those store parameters."""

    n_sweeps: int  # burn-in included
    burn_in: int
    thin: int  # every thin-th sweep after the burn-in is kept
    keep_parameters: int  # kept draws of all chains that store parameters, evenly spaced in each
    n_chains: int = 1

    is_staged = False

    def for_corpus(self, n_tokens: int, cost: int = 1) -> "Schedule":
        """Return the schedule itself: its number of sweeps does not depend on the corpus."""
        return self

    @property
    def n_kept(self) -> int:
        """Number of kept draws of a complete chain."""
        return (self.n_sweeps - self.burn_in) // self.thin

    def stages(self) -> Iterator[int]:
        """Yield the number of sweeps after which the run ends."""
        yield self.n_sweeps

    def stage_of(self, sweep: int) -> int:
        """Return the number of sweeps after which the run ends."""
        return self.n_sweeps

    def burn_in_of(self, stage: int) -> int:
        """Return the number of sweeps that are discarded."""
        return self.burn_in

    def is_kept(self, sweep: int) -> bool:
        """Return whether the draw after ``sweep`` sweeps is kept."""
        return sweep > self.burn_in and (sweep - self.burn_in) % self.thin == 0

    def stores_parameters(self, sweep: int, chain: int = 0) -> bool:
        """Return whether the draw kept after ``sweep`` sweeps of a chain stores parameters.

        The first kept draw does, if any does, so that an interrupted run has topics.
        """
        import numpy as np

        n_stored = min(share_of_chain(self.keep_parameters, self.n_chains, chain), self.n_kept)
        number = (sweep - self.burn_in) // self.thin - 1
        return number in np.linspace(0, self.n_kept - 1, n_stored).round().astype(int)

    def identity(self) -> dict[str, Any]:
        """Return what a resumed run must have in common with the interrupted one."""
        return asdict(self)


@dataclass(frozen=True)
class StagedSchedule:
    """Stages of 40, 80, ... sweeps, until the chains have converged.

    After ``n`` sweeps the first ``n // 2`` are burn-in. Draws of the second half are kept at
    multiples of ``thin``, which doubles with each stage, so that their number does not grow.
    """

    keep_parameters: int  # at most, of all chains; evenly spaced in each
    n_chains: int = 1
    max_sweeps: int | None = MAX_SWEEPS
    # Whether n_chains depends on the size of the corpus; a time limit may then reduce it.
    choose_chains: bool = False

    is_staged = True

    def for_corpus(self, n_tokens: int, cost: int = 1) -> "StagedSchedule":
        """Return the schedule for a corpus of this size; see `ConjugateFamily.cost` for ``cost``.

        A large corpus has fewer stages, and more chains up to a size at which the labels of all
        chains take too much memory. Fewer than `MAX_CHAINS` chains have at least two stages.
        """
        affordable = max(MAX_TOKENS_VISITED // max(n_tokens, 1), FIRST_STAGE)
        n_chains = self.n_chains
        if self.choose_chains:
            n_chains = MAX_SWEEPS_OF_CHAINS // min(affordable, MAX_SWEEPS)
            n_chains = min(n_chains, MAX_CHAINS, MAX_TOKENS_OF_CHAINS // max(n_tokens, 1))
            n_chains = max(n_chains, MIN_CHAINS)
        if n_chains < MAX_CHAINS:
            affordable = max(affordable // cost, 2 * FIRST_STAGE)
        max_sweeps = None if self.max_sweeps is None else min(self.max_sweeps, affordable)
        return replace(self, n_chains=n_chains, max_sweeps=max_sweeps)

    def stages(self) -> Iterator[int]:
        """Yield the number of sweeps at the end of each stage."""
        for number in count():
            end = FIRST_STAGE << number
            if self.max_sweeps is not None and end > self.max_sweeps:
                return
            yield end

    def stage_of(self, sweep: int) -> int:
        """Return the end of the stage that a sweep belongs to."""
        end = FIRST_STAGE
        while end < sweep:
            end *= 2
        return end

    def burn_in_of(self, stage: int) -> int:
        """Return the number of sweeps that are discarded at the end of a stage."""
        return stage // 2

    def thin_of(self, stage: int) -> int:
        """Return the number of sweeps between two kept draws of a stage."""
        draws_per_chain, n_sweeps = DRAWS_PER_FIT / self.n_chains, FIRST_STAGE // 2
        divisors = [thin for thin in range(1, n_sweeps + 1) if n_sweeps % thin == 0]
        thin = min(divisors, key=lambda thin: abs(n_sweeps / thin - draws_per_chain))
        return thin * (stage // FIRST_STAGE)  # a divisor, so that the last draw is kept

    def is_kept(self, sweep: int) -> bool:
        """Return whether the draw after ``sweep`` sweeps is kept for now."""
        return sweep % self.thin_of(self.stage_of(sweep)) == 0

    def stores_parameters(self, sweep: int, chain: int = 0) -> bool:
        """Return whether the draw kept after ``sweep`` sweeps of a chain stores parameters."""
        period = self._period(self.stage_of(sweep), chain)
        return period > 0 and sweep % period == 0

    def _period(self, stage: int, chain: int) -> int:
        """Return the number of sweeps between two draws with parameters; 0 if there are none."""
        share = share_of_chain(self.keep_parameters, self.n_chains, chain)
        thin = self.thin_of(stage)
        return thin * max(stage // 2 // thin // share, 1) if share else 0

    def draws_after(self, kept: list[int], now: int) -> list[int]:
        """Return which of the kept sweeps are still kept after ``now`` sweeps."""
        thin = self.thin_of(self.stage_of(now))
        return [sweep for sweep in kept if sweep > now // 2 and sweep % thin == 0]

    def parameters_after(self, stored: list[int], now: int, chain: int) -> list[int]:
        """Return which of the sweeps with parameters still store them after ``now`` sweeps."""
        period = self._period(self.stage_of(now), chain)
        share = share_of_chain(self.keep_parameters, self.n_chains, chain)
        return [sweep for sweep in stored if sweep > now // 2 and sweep % period == 0][-share:]

    def identity(self) -> dict[str, Any]:
        """Return what a resumed run must have in common with the interrupted one."""
        return {
            "n_sweeps": "auto",
            "keep_parameters": self.keep_parameters,
            "n_chains": self.n_chains,
        }


def share_of_chain(keep_parameters: int, n_chains: int, chain: int) -> int:
    """Return how many draws of a chain store parameters."""
    share, remainder = divmod(keep_parameters, n_chains)
    return share + (chain < remainder)

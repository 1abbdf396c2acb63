"""Callbacks of a fit, called after every sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.checks import check_integer
from mcsquared.errors import InputError
from mcsquared.model.parameters import CONCENTRATIONS

if TYPE_CHECKING:
    from mcsquared.chain import SweepInfo

__all__ = ["STOP_CHAIN", "StopWhenFlat"]


# Returned by a callback to stop only the chain it was called for.
STOP_CHAIN = "stop chain"

DEFAULT_SCALARS = ("n_clusters", "n_topics", "log_joint")


@dataclass(eq=False)
class StopWhenFlat:
    """Stop a chain when its traces after burn-in are flat.

    A trace is flat if its two halves agree (split R-hat) and its effective sample size is large
    enough; a constant trace is flat. Each chain is assessed separately, so that draws do not depend
    on threads. `Posterior.diagnostics` shows whether the chains agree with each other.

    Parameters
    ----------
    min_sweeps : int
        Minimum number of sweeps after burn-in.
    max_rhat : float
        Maximum split R-hat of a flat trace; must be > 1.
    min_ess : float
        Minimum effective sample size of a flat trace.
    scalars : sequence of str
        Columns of the trace that must be flat.

    Attributes
    ----------
    ended : set of int
        The chains of the last fit that were stopped.

    Notes
    -----
    With ``n_sweeps="auto"`` the run itself stops when the chains have converged.

    Chains are assessed whenever a draw is kept. A chain that stops early keeps fewer draws, and
    fewer that store topics: ``keep_parameters`` are spaced over all ``n_sweeps``.

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> flat = mc2.callbacks.StopWhenFlat(min_sweeps=50, min_ess=10)
    >>> model = mc2.MC2(n_sweeps=300, burn_in=20, callbacks=[flat], random_state=0).fit(corpus)
    >>> bool(model.posterior_.trace["sweep"].max() >= 70)
    True
    """

    min_sweeps: int = 100
    max_rhat: float = 1.05
    min_ess: float = 50.0
    scalars: Sequence[str] = DEFAULT_SCALARS
    ended: set[int] = field(default_factory=set, init=False, repr=False)
    _seen: dict[int, list[list[float]]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_integer("min_sweeps", self.min_sweeps, 4)
        if not isinstance(self.max_rhat, int | float) or not self.max_rhat > 1.0:
            raise InputError(f"max_rhat must be a number > 1, got {self.max_rhat!r}")
        if not isinstance(self.min_ess, int | float) or not self.min_ess >= 0.0:
            raise InputError(f"min_ess must be a number >= 0, got {self.min_ess!r}")
        allowed, scalars = (*DEFAULT_SCALARS, *CONCENTRATIONS), self.scalars
        if isinstance(scalars, str) or not scalars or not set(scalars) <= set(allowed):
            raise InputError(f"scalars must be some of {', '.join(allowed)}, got {scalars!r}")

    def __call__(self, info: SweepInfo) -> str | None:
        """Record a sweep; return STOP_CHAIN if the chain is flat."""
        if info.sweep == 1:
            self._seen[info.chain] = []  # a new fit
            self.ended.discard(info.chain)
        seen = self._seen.setdefault(info.chain, [])
        seen.append([float(getattr(info, name)) for name in self.scalars])
        return self._result(info.chain, info.kept, info.burn_in)

    def resume_chain(
        self, chain: int, trace: Mapping[str, Sequence[Any]], burn_in: int
    ) -> str | None:
        """Restore the trace of a resumed chain; return the result of its last sweep.

        Examples
        --------
        >>> trace = {name: list(column) for name, column in model.posterior_.trace.items()}
        >>> mc2.callbacks.StopWhenFlat(50, max_rhat=99, min_ess=0).resume_chain(0, trace, 20)
        'stop chain'
        """
        columns = [trace[name] for name in self.scalars]
        self._seen[chain] = [list(map(float, row)) for row in zip(*columns, strict=True)]
        self.ended.discard(chain)
        return self._result(chain, bool(trace["kept"]) and bool(trace["kept"][-1]), burn_in)

    def _result(self, chain: int, kept: bool, burn_in: int) -> str | None:
        if not (kept and self._is_flat(chain, burn_in)):
            return None
        self.ended.add(chain)
        return STOP_CHAIN

    def _is_flat(self, chain: int, burn_in: int) -> bool:
        from mcsquared.posterior.diagnostics import effective_sample_size, split_rhat

        seen = np.array(self._seen[chain][burn_in:])
        if len(seen) < self.min_sweeps:
            return False
        # Comparisons with NaN are false, so that a trace with NaN is not flat.
        return all(
            (values == values[0]).all()
            or (
                split_rhat(values[None]) <= self.max_rhat
                and effective_sample_size(values[None]) >= self.min_ess
            )
            for values in seen.T
        )

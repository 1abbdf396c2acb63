"""Ready-made callbacks of a fit: what to do after a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.model.parameters import NAMES

if TYPE_CHECKING:
    from mcsquared.chain import SweepInfo

__all__ = ["STOP_CHAIN", "StopWhenFlat"]

Floats = NDArray[np.float64]

# What a callback returns to end the chain it was called for, and no other.
STOP_CHAIN = "stop chain"

SCALARS = ("n_clusters", "n_topics", "log_joint")


class StopWhenFlat:
    """End a chain when its traces after burn-in are flat: more sweeps would say little new.

    A trace is flat when its two halves agree (split R-hat) and it is worth enough independent
    draws (effective sample size); one that never changes is flat. Each chain is judged by itself,
    so that what is drawn does not depend on threads. `Posterior.diagnostics` then says whether the
    chains agree with each other.

    Parameters
    ----------
    min_sweeps : int
        Sweeps after burn-in that a chain makes in any case.
    max_rhat : float
        The largest split R-hat of a flat trace; above 1.
    min_ess : float
        The least effective sample size of a flat trace.
    scalars : sequence of str
        Columns of the trace that must be flat.

    Attributes
    ----------
    ended : set of int
        The chains of the last fit that were ended.

    Notes
    -----
    A chain is looked at when a draw is kept. One that ends early keeps fewer draws, and with them
    fewer that store topics: ``keep_parameters`` are spread over all ``n_sweeps``.

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> flat = mc2.callbacks.StopWhenFlat(min_sweeps=50, min_ess=10)
    >>> model = mc2.MC2(n_sweeps=300, burn_in=20, callbacks=[flat], random_state=0).fit(corpus)
    >>> bool(model.posterior_.trace["sweep"].max() >= 70)
    True
    """

    def __init__(
        self,
        min_sweeps: int = 100,
        max_rhat: float = 1.05,
        min_ess: float = 50.0,
        scalars: Sequence[str] = SCALARS,
    ) -> None:
        if isinstance(min_sweeps, bool) or not isinstance(min_sweeps, int) or min_sweeps < 4:
            raise InputError(
                f"min_sweeps is {min_sweeps!r}, but a whole number from 4 on is wanted"
            )
        if not isinstance(max_rhat, int | float) or not max_rhat > 1.0:
            raise InputError(f"max_rhat is {max_rhat!r}, but a number above 1 is wanted")
        if not isinstance(min_ess, int | float) or not min_ess >= 0.0:
            raise InputError(f"min_ess is {min_ess!r}, but a number of at least 0 is wanted")
        known = (*SCALARS, *NAMES)
        if isinstance(scalars, str) or not scalars or not set(scalars) <= set(known):
            raise InputError(f"scalars is {scalars!r}, but some of {', '.join(known)} are wanted")
        self.min_sweeps = min_sweeps
        self.max_rhat = float(max_rhat)
        self.min_ess = float(min_ess)
        self.scalars = tuple(scalars)
        self.ended: set[int] = set()
        self._seen: dict[int, list[list[float]]] = {}

    def __repr__(self) -> str:
        return (
            f"StopWhenFlat(min_sweeps={self.min_sweeps}, max_rhat={self.max_rhat:g}, "
            f"min_ess={self.min_ess:g}, scalars={self.scalars!r})"
        )

    def __call__(self, info: SweepInfo) -> str | None:
        """Note a sweep; return STOP_CHAIN when the chain is flat."""
        if info.sweep == 1:
            self._seen[info.chain] = []  # a new fit
            self.ended.discard(info.chain)
        seen = self._seen.setdefault(info.chain, [])
        if info.sweep > info.burn_in:
            seen.append([float(getattr(info, name)) for name in self.scalars])
        return self._answer(info.chain, info.kept)

    def resume_chain(
        self, chain: int, trace: Mapping[str, Sequence[Any]], burn_in: int
    ) -> str | None:
        """Take what a chain did before it was interrupted; answer as after its last sweep.

        Examples
        --------
        >>> trace = {name: list(column) for name, column in model.posterior_.trace.items()}
        >>> mc2.callbacks.StopWhenFlat(max_rhat=99, min_ess=0).resume_chain(0, trace, burn_in=20)
        'stop chain'
        """
        columns = [trace[name][burn_in:] for name in self.scalars]
        self._seen[chain] = [list(map(float, row)) for row in zip(*columns, strict=True)]
        self.ended.discard(chain)
        return self._answer(chain, bool(trace["kept"]) and bool(trace["kept"][-1]))

    def _answer(self, chain: int, kept: bool) -> str | None:
        if not (kept and self._is_flat(chain)):
            return None
        self.ended.add(chain)
        return STOP_CHAIN

    def _is_flat(self, chain: int) -> bool:
        from mcsquared.posterior.diagnostics import effective_sample_size, split_rhat

        seen = np.array(self._seen[chain])
        if len(seen) < self.min_sweeps:
            return False
        for values in seen.T:
            if (values == values[0]).all():
                continue
            series = values[None, :]
            # Written so that what is no number is not flat.
            if not split_rhat(series) <= self.max_rhat:
                return False
            if not effective_sample_size(series) >= self.min_ess:
                return False
        return True

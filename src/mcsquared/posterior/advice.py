"""What to do when the diagnostics of a fit are off, a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_RHAT", "LEAST_DRAWS", "advice_on", "summary"]

Floats = NDArray[np.float64]

LARGEST_RHAT = 1.1  # above it, chains have not met; Vehtari et al. (2021) ask for 1.01 in the end
LEAST_DRAWS = 100.0  # effective ones, below which means and intervals are rough

_TOO_FEW = "too few sweeps after burn-in to judge: raise n_sweeps"
_DRIFTS = "still moves: raise n_sweeps and burn_in"
_APART = "differs from chain to chain, steady in each: look at the chains apart, or raise n_sweeps"


def advice_on(
    name: str,
    chains: Floats,
    rhat: float,
    chain_rhats: Sequence[float],
    sample_size: float,
    notes: Iterable[str] = (),
) -> str:
    """Return a sentence on one scalar; empty when nothing is off.

    Parameters
    ----------
    name : str
    chains : float64 (n_chains, n_sweeps)
        After burn-in.
    rhat : float
        Of all chains together; NaN where the scalar does not vary.
    chain_rhats : sequence of float
        Of each chain by itself.
    sample_size : float
        The effective one.
    notes : iterable of str
        Those of the fit, which say when a bound was reached.
    """
    bound = name.replace("n_", "max_", 1) + "="
    if any(note.startswith(bound) for note in notes):
        return f"the bound {bound[:-1]} was reached: raise it, or take it as a choice of yours"
    if chains.shape[-1] < 4:
        return _TOO_FEW
    if rhat > LARGEST_RHAT:
        drifts = len(chain_rhats) < 2 or any(one > LARGEST_RHAT for one in chain_rhats)
        return _DRIFTS if drifts else _APART
    if sample_size < LEAST_DRAWS:
        factor = LEAST_DRAWS / max(sample_size, 1.0)
        return (
            f"is worth {sample_size:.0f} independent draws: "
            f"{factor:.2g} times as many sweeps after burn-in give {LEAST_DRAWS:.0f}"
        )
    return ""


def summary(scalars: Sequence[str], advice: Sequence[str]) -> list[str]:
    """Return each piece of advice once, with the scalars it is for."""
    lines: dict[str, list[str]] = {}
    for name, sentence in zip(scalars, advice, strict=True):
        if sentence:
            # How many draws a scalar is worth differs; what to do about it does not.
            general = sentence.partition(" independent draws: ")
            key = f"few{general[1]}" if general[1] else sentence
            lines.setdefault(key, []).append(name)
    return [f"{', '.join(names)}: {_general(key)}" for key, names in lines.items()]


def _general(key: str) -> str:
    if key.startswith("few"):
        return f"fewer than {LEAST_DRAWS:.0f} independent draws, so means are rough: raise n_sweeps"
    return key

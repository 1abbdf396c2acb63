"""The prior of a concentration.

This module does not import NumPy, so that ``mc2 --help`` stays fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcsquared.checks import MAX_CONCENTRATION, MIN_CONCENTRATION, check_positive
from mcsquared.errors import InputError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Gamma:
    """Prior of a concentration that is resampled: Gamma with a shape and a **rate**.

    Parameters
    ----------
    shape, rate : float
        Both positive; the mean is ``shape / rate``.

    Examples
    --------
    >>> prior = mc2.Gamma(shape=1, rate=0.1)
    >>> prior.mean, prior.sample(np.random.default_rng(0)) > 0
    (10.0, True)
    """

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        for field in ("shape", "rate"):
            number = check_positive(f"{field} of Gamma", getattr(self, field))
            object.__setattr__(self, field, number)
        if not MIN_CONCENTRATION <= self.mean <= MAX_CONCENTRATION:
            raise InputError(
                f"the mean of Gamma(shape={self.shape:g}, rate={self.rate:g}) must be between "
                f"{MIN_CONCENTRATION:g} and {MAX_CONCENTRATION:g}, got {self.mean:g}"
            )

    @property
    def mean(self) -> float:
        """The prior mean, ``shape / rate``."""
        return self.shape / self.rate

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a concentration from its prior."""
        return float(rng.gamma(self.shape, 1.0 / self.rate))

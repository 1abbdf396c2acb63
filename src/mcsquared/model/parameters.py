"""The hyper-parameters, declared once; every other module iterates `CONCENTRATIONS`.

This module imports neither NumPy nor the families, so that ``mc2 --help`` stays fast.
"""

import math
from dataclasses import dataclass, fields
from typing import Any

from mcsquared.checks import as_float, check_concentration
from mcsquared.errors import InputError
from mcsquared.gamma import Gamma

Concentration = float | Gamma


@dataclass(frozen=True)
class HyperParameter:
    """One hyper-parameter of the model."""

    name: str  # argument of the estimator, column of the trace, key in files
    symbol: str  # as the paper writes it
    meaning: str  # completes "symbol, ..." in tables and figures
    default: Gamma  # prior of the estimator unless the user gives another or a number
    may_be_infinite: bool = False  # an infinite one has no density and no diagnostics

    @property
    def label(self) -> str:
        """Symbol and meaning, for axes and tables."""
        return f"{self.symbol}, {self.meaning}"

    def validated(self, value: object) -> Concentration:
        """Return ``value`` as a positive float or a `Gamma`; otherwise raise `InputError`."""
        if isinstance(value, Gamma):
            return value
        number = as_float(value)
        if self.may_be_infinite and number == math.inf:
            return number
        if not 0 < number < math.inf:
            raise InputError(
                f"{self.name} must be a positive number or a Gamma prior, got {value!r:.60}"
            )
        return check_concentration(self.name, number)

    def allows(self, value: float, prior: Concentration | None = None) -> bool:
        """Return whether ``value`` can be drawn under ``prior``, or under any prior if None."""
        if prior is None:
            return value > 0.0 and (value < math.inf or self.may_be_infinite)
        # A draw can be any positive float.
        return 0.0 < value < math.inf if isinstance(prior, Gamma) else value == prior


ALPHA = HyperParameter("alpha", "α", "concentration of clusters", Gamma(1, 1))
V = HyperParameter("v", "v", "concentration of topics in a cluster", Gamma(1, 0.1))
ETA = HyperParameter("eta", "η", "concentration of topics at the root", Gamma(1, 1))
LAM = HyperParameter("lam", "λ", "how closely groups follow their cluster", Gamma(1, 0.1), True)
CONCENTRATIONS = {parameter.name: parameter for parameter in (ALPHA, V, ETA, LAM)}


@dataclass(frozen=True, kw_only=True)
class Concentrations:
    """The values of all concentrations in one state; base class of records that contain them."""

    alpha: float
    v: float
    eta: float
    lam: float


assert [field.name for field in fields(Concentrations)] == list(CONCENTRATIONS)


def values_of(source: Any) -> dict[str, Any]:
    """Return the attributes of ``source`` that are concentrations, by name, in declared order."""
    return {name: getattr(source, name) for name in CONCENTRATIONS}


def initial_value(prior: Concentration) -> float:
    """Return the initial value of a chain: a fixed number, or the mean of the prior."""
    return prior.mean if isinstance(prior, Gamma) else float(prior)


def to_json(value: Concentration) -> object:
    """Return a concentration or its prior as JSON data; JSON has no infinity."""
    if isinstance(value, Gamma):
        return {"shape": value.shape, "rate": value.rate}
    return "inf" if math.isinf(value) else value


def from_json(value: Any) -> Concentration:
    """Read what `to_json` wrote; the result is not validated."""
    if isinstance(value, dict):
        return Gamma(value["shape"], value["rate"])
    return math.inf if value == "inf" else value

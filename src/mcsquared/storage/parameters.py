"""An estimator's parameters as JSON and back: numbers, texts, priors and families, nothing else."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping
from typing import Any

from mcsquared import families
from mcsquared.errors import InputError, ModelFileError
from mcsquared.families import ConjugateFamily
from mcsquared.model.parameters import Gamma

__all__ = ["pack_parameters", "unpack_parameters"]

# What belongs to one run and one machine, and is left at its default in a file.
NOT_SAVED = ("callbacks", "checkpoint", "progress", "n_jobs")


def pack_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON; callables, paths and generators are left out."""
    return {name: _to_json(value) for name, value in parameters.items() if name not in NOT_SAVED}


def unpack_parameters(data: Any, path: str | os.PathLike[str], known: set[str]) -> dict[str, Any]:
    """Return the parameters that `pack_parameters` wrote.

    Parameters
    ----------
    path
        The file they come from, for the error message.
    known : set of str
        Names that the estimator has; another one is refused.
    """
    if not isinstance(data, Mapping) or not data.keys() <= known - set(NOT_SAVED):
        raise ModelFileError(f"{path} holds parameters that this estimator does not have")
    try:
        return {name: _from_json(value) for name, value in data.items()}
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} holds a parameter that cannot be read: {error}") from error


def _to_json(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Gamma):
        return {"gamma": [value.shape, value.rate]}
    if isinstance(value, ConjugateFamily):
        return {"family": value.to_dict()}
    if isinstance(value, Mapping):
        return {"mapping": {str(key): _to_json(entry) for key, entry in value.items()}}
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return "inf" if math.isinf(float(value)) else float(value)
    return None  # a RandomState, say: what it drew is in the posterior's seed


def _from_json(value: Any) -> Any:
    if value == "inf":
        return math.inf
    if not isinstance(value, Mapping):
        if not (value is None or isinstance(value, bool | str | int | float)):
            raise ValueError(f"a {type(value).__name__} is not among what a parameter may be")
        return value
    if len(value) != 1:
        raise ValueError("a prior, family or mapping has one key")
    if "gamma" in value:
        return Gamma(*value["gamma"])
    if "family" in value:
        return families.from_dict(value["family"])
    if "mapping" in value:
        return {str(key): _from_json(entry) for key, entry in value["mapping"].items()}
    raise ValueError(f"{next(iter(value))!r} is not a kind of parameter")

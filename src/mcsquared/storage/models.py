"""A fitted model in one file: its posterior, its parameters, and labels of groups not shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import ModelFileError
from mcsquared.posterior import Posterior
from mcsquared.storage.arrays import Reader
from mcsquared.storage.files import read_file, write_file
from mcsquared.storage.parameters import pack_parameters, unpack_parameters
from mcsquared.storage.posteriors import pack_posterior, unpack_posterior

__all__ = ["KIND", "SavedModel", "load_model", "save_model"]

KIND = "model"
ALL_LABELS = "labels_of_all"


class SavedModel(NamedTuple):
    """What a model file holds."""

    posterior: Posterior
    parameters: dict[str, Any]
    labels: NDArray[np.int32] | None  # of all groups, where the posterior shows some


def save_model(
    path: str | os.PathLike[str],
    posterior: Posterior,
    parameters: Mapping[str, Any],
    labels: NDArray[np.integer],
) -> None:
    """Write a fitted model to one file, complete or not at all."""
    tensors, meta = pack_posterior(posterior)
    if posterior.n_fitted > posterior.n_groups:
        tensors[ALL_LABELS] = labels.astype(np.int32)
    packed = pack_parameters(dict(parameters))
    write_file(path, KIND, tensors, {"posterior": meta, "parameters": packed})


def load_model(path: str | os.PathLike[str], known: set[str]) -> SavedModel:
    """Read what `save_model` wrote.

    Parameters
    ----------
    known : set of str
        The parameters that an estimator has.
    """
    tensors, meta = read_file(path, KIND)
    if not {"posterior", "parameters"} <= meta.keys():
        raise ModelFileError(f"{path} does not hold a model and its parameters")
    parameters = unpack_parameters(meta["parameters"], path, known)
    labels = None
    try:
        posterior = unpack_posterior(tensors, meta["posterior"])
        if posterior.n_fitted > posterior.n_groups:
            shape, most = (posterior.n_fitted,), posterior.n_clusters - 1
            labels = Reader(tensors).array(ALL_LABELS, np.int32, shape, 0, most)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be used: {error}") from None
    return SavedModel(posterior, parameters, labels)

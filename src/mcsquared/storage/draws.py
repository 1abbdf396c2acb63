"""Draws with parameters as arrays and back, for model files and checkpoints alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import ModelFileError
from mcsquared.families import ConjugateFamily
from mcsquared.model.parameters import CONCENTRATIONS, NAMES
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.storage.arrays import Reader, Tensors, pack_csr

__all__ = ["pack_draw", "unpack_draw"]

_SCALARS = ("draw", "unused_weight", *NAMES)
_LARGEST = np.finfo(np.float64).max


def pack_draw(prefix: str, draw: ParameterDraw) -> Tensors:
    """Return a draw's counts and weights as arrays, their names beginning with ``prefix``."""
    tensors = pack_csr(f"{prefix}.topics_in_cluster", draw.topics_in_cluster)
    if draw.tables_in_cluster is not None:
        tensors |= pack_csr(f"{prefix}.tables_in_cluster", draw.tables_in_cluster)
    if isinstance(draw.content_statistics, np.ndarray):
        tensors[f"{prefix}.content"] = np.asarray(draw.content_statistics, np.float64)
    else:
        tensors |= pack_csr(f"{prefix}.content", draw.content_statistics)
    tensors[f"{prefix}.topic_weights"] = np.asarray(draw.topic_weights, np.float64)
    scalars = [float(getattr(draw, name)) for name in _SCALARS]
    tensors[f"{prefix}.scalars"] = np.array(scalars)
    return tensors


def unpack_draw(
    reader: Reader,
    prefix: str,
    draws: NDArray[np.int32],
    family: ConjugateFamily,
    n_words: int | None,
    n_tokens: int,
) -> ParameterDraw:
    """Return the draw that `pack_draw` took apart.

    Parameters
    ----------
    draws : int32 (n_draws, n_groups)
        Clusters of the kept draws, one of which it belongs to.
    family : ConjugateFamily
        Of the content.
    n_words : int or None
        None where the content is not words.
    n_tokens : int
        Of all groups: no statistic counts more.
    """
    scalars = reader.array(f"{prefix}.scalars", np.float64, (len(_SCALARS),), 0.0)
    number, unused, *values = (float(value) for value in scalars)
    if number >= len(draws) or number != int(number):
        raise ModelFileError(f"{prefix} of the model file belongs to no draw that it holds")
    if not all(c.allows(value) for c, value in zip(CONCENTRATIONS, values, strict=True)):
        raise ModelFileError(f"{prefix} of the model file has a concentration that cannot be")
    # A share of everything may be rounded to a little more.
    weights = reader.array(f"{prefix}.topic_weights", np.float64, (None,), 0.0, 1.0 + 1e-9)
    if abs(weights.sum() + unused - 1.0) > 1e-6:
        raise ModelFileError(f"the topic weights of {prefix} in the model file do not add up to 1")
    sizes = np.bincount(draws[int(number)])
    if (sizes == 0).any():
        raise ModelFileError(f"{prefix} of the model file has a cluster without groups")
    topics = reader.csr(f"{prefix}.topics_in_cluster", len(sizes), len(weights))
    if np.unique(topics.indices).size != len(weights):
        raise ModelFileError(f"{prefix} of the model file has a topic without tokens")
    concentrations = dict(zip(NAMES, values, strict=True))
    tables = _tables(reader, f"{prefix}.tables_in_cluster", topics, concentrations["lam"])
    content: Any
    if n_words is not None:
        content = reader.csr(f"{prefix}.content", len(weights), n_words)
    else:
        content = _statistics(reader, f"{prefix}.content", len(weights), family, n_tokens)
    return ParameterDraw(int(number), topics, content, weights, unused, tables, **concentrations)


def _tables(
    reader: Reader, name: str, topics: sparse.csr_matrix, lam: float
) -> sparse.csr_matrix | None:
    """Return the tables behind the tokens of each cluster and topic; None where λ is infinite."""
    if math.isinf(lam):
        if f"{name}.data" in reader:
            raise ModelFileError(f"the model file has {name!r}, which an infinite lam has not")
        return None
    tables = reader.csr(name, *topics.shape)
    same = np.array_equal(tables.indptr, topics.indptr)
    if not same or not np.array_equal(tables.indices, topics.indices):
        raise ModelFileError(f"the array {name!r} of the model file has tables without tokens")
    if (tables.data > topics.data).any():
        raise ModelFileError(f"the array {name!r} of the model file has more tables than tokens")
    return tables


def _statistics(
    reader: Reader, name: str, n_topics: int, family: ConjugateFamily, n_tokens: int
) -> NDArray[np.float64]:
    """Return the statistics of continuous content, such that the family can work with them."""
    statistics = reader.array(name, np.float64, (n_topics, family.n_stats), -_LARGEST, _LARGEST)
    with np.errstate(all="ignore"):
        normaliser = family.log_normaliser(statistics)
    # The first statistic of our own families is a count, here of tokens.
    counts = statistics[:, 0] if family.kernel is not None else np.zeros(n_topics)
    counted = bool(((counts >= 0) & (counts <= n_tokens)).all())
    if not counted or not np.isfinite(normaliser).all():
        raise ModelFileError(f"the array {name!r} of the model file holds impossible statistics")
    return statistics

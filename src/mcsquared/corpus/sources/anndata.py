"""AnnData: cells are groups, genes are words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.corpus.content import Vectors, Words
from mcsquared.corpus.sources.arrays import content_from
from mcsquared.corpus.sources.frames import Table, name_list, table_of
from mcsquared.errors import InputError


def annotated_parts(
    data: Any, contexts: Sequence[str] | str | None, layer: str | None, content: str
) -> tuple[Words | Vectors, Table, list[str]]:
    """Return content, a table of the contexts asked for, and the names of the groups.

    Any object with the attributes of AnnData will do: anndata need not be installed.
    """
    lacking = [name for name in ("X", "obs", "obs_names", "var_names") if not hasattr(data, name)]
    if lacking:
        raise InputError(
            f"data must be AnnData, got {type(data).__name__} without {', '.join(lacking)}"
        )
    if content not in ("counts", "vectors"):
        raise InputError(f"content must be 'counts' or 'vectors', got {content!r}")
    names = [str(name) for name in data.obs_names]
    observations = table_of(data.obs, "obs")
    embeddings = getattr(data, "obsm", {})
    columns = {}
    for name in name_list(contexts, "contexts"):
        if name not in observations.columns and name in embeddings:
            columns[name] = _embedding(name, embeddings[name])
        else:
            columns[name] = observations.raw(name, "contexts")
    matrix = _matrix(data, layer)
    vocabulary = [str(name) for name in data.var_names] if content == "counts" else None
    return content_from(matrix, content, vocabulary), Table(columns, len(names), "obs"), names


def _matrix(data: Any, layer: str | None) -> Any:
    if layer is None:
        matrix, argument = data.X, "data.X"
    else:
        layers = getattr(data, "layers", {})
        if layer not in layers:
            known = ", ".join(map(repr, layers)) or "none"
            raise InputError(f"layer must be one of {known}, got {layer!r}")
        matrix, argument = layers[layer], f"layer {layer!r}"
    if matrix is None:
        raise InputError(f"{argument} must be a matrix, got None")
    if hasattr(matrix, "to_memory"):  # a matrix on disk
        matrix = matrix.to_memory()
    return matrix if sparse.issparse(matrix) else np.asarray(matrix)


def _embedding(name: str, values: Any) -> Any:
    if sparse.issparse(values):
        return values
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(f"contexts: {name!r} of obsm must be a matrix of numbers")
    return array

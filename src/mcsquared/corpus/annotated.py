"""AnnData, the annotated matrices of single-cell biology: cells as groups, genes as words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.corpus.arrays import content_from
from mcsquared.corpus.content import Vectors, Words
from mcsquared.corpus.tables import Table, name_list, table_of
from mcsquared.errors import InputError

__all__ = ["annotated_parts"]


def annotated_parts(
    data: Any, contexts: Sequence[str] | str | None, layer: str | None, content: str
) -> tuple[Words | Vectors, Table, list[str]]:
    """Return content, a table of the contexts asked for, and the names of the groups.

    Known by its attributes, so that anndata need not be installed.
    """
    lacking = [name for name in ("X", "obs", "obs_names", "var_names") if not hasattr(data, name)]
    if lacking:
        raise InputError(
            f"data is {type(data).__name__} and has no {', '.join(lacking)}, but AnnData is wanted"
        )
    if content not in ("counts", "vectors"):
        raise InputError(f"content is {content!r}, but 'counts' or 'vectors' is wanted")
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
            raise InputError(f"layer is {layer!r}, but data has these layers: {known}")
        matrix, argument = layers[layer], f"layer {layer!r}"
    if matrix is None:
        raise InputError(f"{argument} is None, but a matrix is wanted")
    if hasattr(matrix, "to_memory"):  # a matrix that is still on the disk
        matrix = matrix.to_memory()
    return matrix if sparse.issparse(matrix) else np.asarray(matrix)


def _embedding(name: str, values: Any) -> Any:
    if sparse.issparse(values):
        return values
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(f"contexts names {name!r} of obsm, which is not a matrix of numbers")
    return array

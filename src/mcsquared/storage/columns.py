"""Columns of contexts in model files."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.corpus import Column
from mcsquared.errors import ModelFileError
from mcsquared.families import ConjugateFamily
from mcsquared.families.dirichlet import Dirichlet
from mcsquared.storage.files import Reader, Tensors, pack_csr, pack_strings
from mcsquared.storage.states import has_finite_normaliser


def pack_columns(prefix: str, columns: Mapping[str, Column], tensors: Tensors) -> list[Any]:
    """Add the columns to the tensors; return their names, kinds and notes."""
    entries = []
    for i, (name, column) in enumerate(columns.items()):
        tensors |= _pack_column(f"{prefix}.{i}", column)
        entries.append({"name": name, "kind": column.kind, "note": column.note})
    return entries


def _pack_column(prefix: str, column: Column) -> Tensors:
    if sparse.issparse(column.values):
        tensors = pack_csr(f"{prefix}.values", column.values)
    else:
        tensors = {f"{prefix}.values": column.values}
    if column.categories is not None:
        tensors |= pack_strings(f"{prefix}.categories", column.categories)
    return tensors


def unpack_columns(
    reader: Reader,
    prefix: str,
    entries: Any,
    families: Mapping[str, ConjugateFamily],
    n_groups: int,
) -> dict[str, Column]:
    """Return the columns packed by `pack_columns`; their families must fit them."""
    columns: dict[str, Column] = {}
    for i, entry in enumerate(entries):
        name, kind, note = entry["name"], entry["kind"], entry["note"]
        if not all(isinstance(part, str) for part in (name, kind, note)) or name in columns:
            raise ModelFileError("every context must have a unique name, a kind and a note")
        column = _unpack_column(reader, f"{prefix}.{i}", name, kind, note, n_groups)
        family = families.get(name)
        if (
            family is None
            or not column.accepts(family)
            # A file may contain a family of the wrong size.
            or family.n_dimensions not in (None, column.width)
        ):
            raise ModelFileError(f"the family of the context {name!r} does not fit the column")
        check_fields(family, f"context {name!r}")
        columns[name] = column
    if columns.keys() != families.keys():
        raise ModelFileError("the priors contain families of contexts that do not exist")
    return columns


def _unpack_column(
    reader: Reader, prefix: str, name: str, kind: str, note: str, n_groups: int
) -> Column:
    values: Any
    if kind not in ("category", "bag"):
        shape = (n_groups, None) if kind == "vector" else (n_groups,)
        return Column(name, kind, reader.array(f"{prefix}.values", np.float64, shape), note=note)
    categories = reader.strings(f"{prefix}.categories")
    if kind == "bag":
        values = reader.csr(f"{prefix}.values", n_groups, len(categories))
    else:
        high = len(categories) - 1
        values = reader.array(f"{prefix}.values", np.int32, (n_groups,), -1, high)
    return Column(name, kind, values, categories, note)


def check_fields(family: ConjugateFamily, owner: str) -> None:
    """Raise an error for a family with an unset field or without a finite normaliser."""
    if isinstance(family, Dirichlet) and family.is_learned:
        return  # its parameters are stored with each draw
    if not has_finite_normaliser(family, np.zeros((1, family.n_stats))):
        raise ModelFileError(f"the family of {owner} has invalid fields")

"""Levels above groups in checkpoints and model files."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mcsquared.arrays import Floats, Int32s
from mcsquared.checks import MAX_CONCENTRATION
from mcsquared.errors import ModelFileError
from mcsquared.families.dirichlet import Dirichlet
from mcsquared.model.parameters import ALPHA, V
from mcsquared.model.priors import LevelPriors, Priors
from mcsquared.observations import Observations
from mcsquared.posterior.draws import ParameterDraw, TypeDraw
from mcsquared.posterior.levels import UnitDraws
from mcsquared.state import LevelState, State, recount_levels
from mcsquared.storage.files import Reader, Tensors, pack_strings

MAX_COUNT = 2**31 - 1


def pack_levels(state: State) -> Tensors:
    """Return the types of all units as tensors; counts are recomputed from the labels."""
    tensors: Tensors = {}
    for i, level in enumerate(state.levels):
        tensors |= {
            f"level.{i}.type_of_unit": level.type_of_unit.copy(),
            # "tables_below" is the name in files: a draw is a table of the restaurant below.
            f"level.{i}.tables_below": level.draws_below.astype(np.int64),
            f"level.{i}.scalars": np.array([level.n_slots, level.alpha, level.v]),
            f"level.{i}.shapes": np.concatenate([np.zeros(0), *level.shapes]),
        }
    return tensors


def unpack_levels(
    state: State,
    reader: Reader,
    observations: Observations,
    priors: Priors,
    cluster_of_group: Int32s,
) -> None:
    """Set the levels of a state from the tensors of `pack_levels`, validated.

    ``cluster_of_group`` are the clusters of all groups, also if the corpus is on disk.
    """
    n_below = len(state.counts.groups_in_cluster)
    levels = zip(observations.levels, priors.levels.values(), strict=True)
    for i, (units, prior) in enumerate(levels):
        prefix = f"level.{i}"
        n_slots, alpha, v = reader.array(f"{prefix}.scalars", np.float64, (3,), 0.0).tolist()
        max_slots = 4096 + 4 * units.n_units
        if n_slots != int(n_slots) or not 0 < n_slots <= max_slots:
            raise ValueError(
                f"the number of types must be an integer from 1 to {max_slots}, got {n_slots:g}"
            )
        _check_concentrations(alpha, v, prior)
        types = reader.array(
            f"{prefix}.type_of_unit", np.int32, (units.n_units,), 0, int(n_slots) - 1
        )
        draws = reader.array(f"{prefix}.tables_below", np.int64, (n_below,), 0, MAX_COUNT)
        sizes = [len(context.initial_shapes()) for context in units.contexts]
        shapes = unpack_shapes(reader, f"{prefix}.shapes", sum(sizes))
        children = np.zeros((int(n_slots), n_below), np.int32)
        orphans = np.zeros(n_below, np.int32)
        parts = np.split(shapes, np.cumsum(sizes)[:-1]) if sizes else []
        level = LevelState(
            types.copy(), alpha, v, children, orphans, draws.copy(), [p.copy() for p in parts]
        )
        state.levels.append(level)
        n_below = int(n_slots)
    recount_levels(state, observations, cluster_of_group)
    for level in state.levels:
        min_draws = (level.children > 0).sum(axis=0) + level.orphans
        max_draws = level.children.sum(axis=0) + level.orphans
        if (level.draws_below < min_draws).any() or (level.draws_below > max_draws).any():
            raise ModelFileError("the tables of a level do not agree with its units")


def _check_concentrations(alpha: float, v: float, prior: LevelPriors | None = None) -> None:
    for parameter, value in ((ALPHA, alpha), (V, v)):
        if not parameter.allows(value, getattr(prior, parameter.name, None)):
            raise ModelFileError(f"{parameter.name}={value!r} is not valid for a level")


def unpack_shapes(reader: Reader, name: str, n_categories: int) -> Floats:
    """Return the Dirichlet parameters of categories, which must be positive."""
    shapes = reader.array(name, np.float64, (n_categories,), 0.0, MAX_CONCENTRATION)
    if not (shapes > 0.0).all():
        raise ModelFileError(f"the array {name!r} must be positive")
    return shapes


def pack_type_draws(prefix: str, draws: Sequence[TypeDraw]) -> Tensors:
    """Return the types of a stored draw as tensors."""
    tensors: Tensors = {}
    for i, draw in enumerate(draws):
        tensors |= {
            f"{prefix}.level.{i}.children": np.ascontiguousarray(draw.children, np.int32),
            f"{prefix}.level.{i}.draws_below": np.asarray(draw.draws_below, np.int64),
            f"{prefix}.level.{i}.concentrations": np.array([draw.alpha, draw.v]),
            f"{prefix}.level.{i}.shapes": np.asarray(draw.shapes, np.float64),
        }
    return tensors


def unpack_type_draws(
    reader: Reader, prefix: str, n_clusters: int, priors: Priors
) -> tuple[TypeDraw, ...]:
    """Return the result of `pack_type_draws`, validated."""
    found, n_below = [], n_clusters
    for i, prior in enumerate(priors.levels.values()):
        name = f"{prefix}.level.{i}"
        children = reader.array(f"{name}.children", np.int32, (None, n_below), 0)
        draws = reader.array(f"{name}.draws_below", np.int64, (n_below,), 1, MAX_COUNT)
        alpha, v = reader.array(f"{name}.concentrations", np.float64, (2,), 0.0).tolist()
        _check_concentrations(alpha, v)
        if not len(children):
            raise ModelFileError(f"the array '{name}.children' must have at least one type")
        learned = (f for f in prior.contexts.values() if isinstance(f, Dirichlet) and f.is_learned)
        n_categories = sum(family.n_stats for family in learned)
        shapes = unpack_shapes(reader, f"{name}.shapes", n_categories)
        found.append(TypeDraw(children, draws, alpha, v, shapes))
        n_below = len(children)
    return tuple(found)


def pack_units(units: Sequence[UnitDraws]) -> Tensors:
    """Return the units of all levels as tensors, without the columns of their contexts."""
    tensors: Tensors = {}
    for i, level in enumerate(units):
        tensors |= pack_strings(f"units.{i}.names", level.unit_names)
        tensors[f"units.{i}.parent_of_child"] = np.asarray(level.parent_of_child, np.int32)
        tensors[f"units.{i}.type_of_unit"] = level.type_of_unit
        tensors[f"units.{i}.trace"] = np.asarray(level.trace, np.float64)
    return tensors


def unpack_units(
    reader: Reader, i: int, name: str, n_children: int, n_draws: int, priors: Priors
) -> dict[str, Any]:
    """Return the fields of `UnitDraws` of level ``i``, without the contexts of its units."""
    if name not in priors.levels:
        raise ModelFileError(f"the level {name!r} has no priors")
    names = reader.strings(f"units.{i}.names")
    n_units = len(names)
    if not n_units or len(set(names)) < n_units:
        raise ModelFileError(f"the units of the level {name!r} must have unique names")
    shape = (n_draws, n_units)
    types = reader.array(f"units.{i}.type_of_unit", np.int32, shape, 0, n_units - 1)
    parents = reader.array(f"units.{i}.parent_of_child", np.int32, (n_children,), -1, n_units - 1)
    trace = reader.array(f"units.{i}.trace", np.float64, (None, 3), 0.0)
    return {
        "name": name,
        "unit_names": names,
        "parent_of_child": parents,
        "type_of_unit": types,
        "trace": trace,
    }


def check_types(units: Sequence[UnitDraws], draw: ParameterDraw) -> None:
    """Raise `ModelFileError` unless the types of a stored draw are those of its units."""
    for level, types in zip(units, draw.levels, strict=True):
        sizes = np.bincount(level.type_of_unit[draw.index])
        if len(sizes) != len(types.children) or not sizes.all():
            raise ModelFileError(
                f"the types of the level {level.name!r} are not those of its units"
            )

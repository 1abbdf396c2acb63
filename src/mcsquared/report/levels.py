"""Report data of levels above groups: units, their types, and the clusters that a type mixes."""

from typing import Any

import numpy as np

from mcsquared.arrays import Int64s
from mcsquared.markup import shorten
from mcsquared.posterior import Posterior
from mcsquared.posterior.membership import cluster_stability, group_confidence, likely_clusters
from mcsquared.report.contexts import context_data
from mcsquared.report.packing import pack, pack_shares

_MAX_NAME_LENGTH = 120


def level_data(posterior: Posterior, groups: Int64s) -> list[dict[str, Any]]:
    """Return every level's part of the report, the lowest first; ``groups`` are those listed.

    The parents are those of the groups in the report or, above other units, of all units of the
    level below, plus 1; 0 stands for none.
    """
    data, children = [], groups
    for units in posterior.units:
        level, shares = posterior.level(units.name), posterior.cluster_given_type(units.name)
        data.append(
            {
                "name": shorten(units.name, 30),
                **_units(level),
                "types": _types(level) | {"shares": pack(shares.to_numpy())},
                "n_children": pack(level.tokens_per_group),
                "parent": pack(units.parent_of_child[children].astype(np.int64) + 1),
                "contexts": _contexts(level),
            }
        )
        children = np.arange(level.n_groups)
    return data


def _units(level: Posterior) -> dict[str, Any]:
    """Return the names of the units, and their probable types."""
    likely = likely_clusters(level)
    return {
        "n": level.n_groups,
        "names": [shorten(name, _MAX_NAME_LENGTH) for name in level.group_names],
        "type": pack(level.labels),
        "confidence": pack_shares(likely.confidence),
        "choice": pack(likely.choice + 1),
        "choice_probability": pack_shares(likely.probability),
    }


def _types(level: Posterior) -> dict[str, Any]:
    return {
        "n": level.n_clusters,
        "names": [shorten(name, _MAX_NAME_LENGTH) for name in level.clusters()["name"]],
        "size": pack(np.bincount(level.labels)),
        "stability": pack_shares(cluster_stability(level, group_confidence(level))),
    }


def _contexts(level: Posterior) -> list[dict[str, Any]]:
    """Return the contexts of the units; a unit's shares are those of its children's clusters."""
    units = np.arange(level.n_groups)
    shares = np.eye(level.n_clusters)[level.labels]
    return [context_data(level, name, units, shares) for name in level.contexts]

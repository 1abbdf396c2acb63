"""Whether the parts of a posterior belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcsquared.errors import InputError

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

__all__ = ["check_parts"]


def check_parts(posterior: Posterior) -> None:
    """Refuse parts that do not belong together."""
    if posterior.cluster_of_group.ndim != 2 or 0 in posterior.cluster_of_group.shape:
        raise InputError(
            f"cluster_of_group has shape {posterior.cluster_of_group.shape}, "
            "but at least one draw of at least one group is wanted"
        )
    n_draws, n_groups = posterior.cluster_of_group.shape
    lengths = {
        "group_names": (len(posterior.group_names), n_groups),
        "tokens_per_group": (len(posterior.tokens_per_group), n_groups),
        "chain_of_draw": (len(posterior.chain_of_draw), n_draws),
        "sweep_of_draw": (len(posterior.sweep_of_draw), n_draws),
    }
    for name, column in posterior.contexts.items():
        lengths[f"context {name!r}"] = (len(column), n_groups)
    for name, (found, wanted) in lengths.items():
        if found != wanted:
            raise InputError(f"{name} has {found} entries, but {wanted} are wanted")
    if posterior.cluster_of_group.min() < 0 or posterior.cluster_of_group.max() >= n_groups:
        raise InputError("cluster_of_group holds a label below 0 or above the number of groups")

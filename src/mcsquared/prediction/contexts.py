"""What a context of a new group probably is, given its content and its other contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.prediction.alignment import aligned
from mcsquared.prediction.clusters import draw_cluster_probabilities
from mcsquared.prediction.likelihood import context_statistics
from mcsquared.prediction.parameters import draws_of_globals
from mcsquared.prediction.predictive import mixture_summary

if TYPE_CHECKING:
    import pandas as pd

    from mcsquared.corpus import Column, Corpus
    from mcsquared.families import ConjugateFamily
    from mcsquared.posterior import Posterior

__all__ = ["context_distribution"]

Floats = NDArray[np.float64]

GROUPS_AT_ONCE = 20_000  # their cluster probabilities of all draws are held together
TOP = 10


def context_distribution(
    posterior: Posterior, corpus: Corpus, name: str, top: int | None = None
) -> pd.DataFrame:
    """Return the predictive distribution of context ``name`` for every group.

        p(x | j)  =  mean over draws of Σ_k p(z_j = k | content and other contexts of j) p(x | k)

    The context itself is not used, even where the corpus has it.

    Parameters
    ----------
    top : int, optional
        How many of the most probable values to list, 10 by default; for categories, bags (of
        which one entry is predicted) and booleans.

    Returns
    -------
    pandas.DataFrame
        Categories, bags, booleans: group, rank (from 1), value, probability. Numbers and dates:
        group, mean, sd (of dates: in days), lower, upper (the interval holds 90 %). Vectors: the
        same per dimension.
    """
    import pandas as pd

    if name not in posterior.priors.contexts:
        known = ", ".join(map(repr, posterior.priors.contexts)) or "none"
        raise InputError(f"name is {name!r}, but the model's contexts are {known}")
    if top is not None and not (isinstance(top, int | np.integer) and top >= 1 and top is not True):
        raise InputError(f"top is {top!r}, but a whole number of at least 1 is wanted")
    corpus = aligned(posterior, corpus)
    family, column = posterior.priors.contexts[name], posterior.contexts[name]
    parts = []
    for first in range(0, corpus.n_groups, GROUPS_AT_ONCE):
        block = corpus[np.arange(first, min(first + GROUPS_AT_ONCE, corpus.n_groups))]
        weights, statistics = _mixture(posterior, block, name)
        outcomes = family.outcomes()
        if outcomes is not None:
            values = np.asarray(
                [False, True] if column.categories is None else column.categories, dtype=object
            )
            probability = np.exp(family.log_predictive(outcomes, statistics))[: len(values)]
            parts.append(_ranked(weights, probability, values, block.group_names, top or TOP))
        elif family.has_predictive:
            parts.append(_summarised(weights, family, statistics, column, block.group_names))
        else:
            raise InputError(
                f"context {name!r} cannot be predicted: its family {type(family).__name__} "
                "defines neither outcomes nor predictive"
            )
    return pd.concat(parts, ignore_index=True)


def _mixture(posterior: Posterior, corpus: Corpus, name: str) -> tuple[Floats, Floats]:
    """Return the weights (n_groups, n_components) and statistics of all draws' clusters."""
    weights, statistics = [], []
    family, column = posterior.priors.contexts[name], posterior.contexts[name]
    for draw, parameters in draws_of_globals(posterior):
        weights.append(draw_cluster_probabilities(posterior, draw, parameters, corpus, name))
        labels = posterior.cluster_of_group[draw.draw]
        statistics.append(context_statistics(column, family, labels, parameters.n_clusters))
    return np.hstack(weights) / len(weights), np.vstack(statistics)


def _ranked(
    weights: Floats, probability: Floats, values: NDArray[Any], names: NDArray[Any], top: int
) -> pd.DataFrame:
    """Rank the values of each group; ``probability`` is (n_values, n_components)."""
    import pandas as pd

    n_groups, top = len(weights), min(top, len(values))
    chosen = np.empty((n_groups, top), np.int64)
    shares = np.empty((n_groups, top))
    step = max(1, (1 << 21) // max(len(values), 1))  # groups × values only in blocks
    for first in range(0, n_groups, step):
        block = slice(first, first + step)
        share = weights[block] @ probability.T
        best = np.sort(np.argpartition(-share, top - 1, axis=1)[:, :top], axis=1)
        order = np.argsort(-np.take_along_axis(share, best, 1), axis=1, kind="stable")
        chosen[block] = np.take_along_axis(best, order, 1)
        shares[block] = np.take_along_axis(share, chosen[block], 1)
    return pd.DataFrame(
        {
            "group": np.repeat(names, top),
            "rank": np.tile(np.arange(1, top + 1), n_groups),
            "value": values[chosen.ravel()],
            "probability": shares.ravel(),
        }
    )


def _summarised(
    weights: Floats,
    family: ConjugateFamily,
    statistics: Floats,
    column: Column,
    names: NDArray[Any],
) -> pd.DataFrame:
    import pandas as pd

    parts = []
    dimensions = family.predictive(statistics)
    for dimension, components in enumerate(dimensions):
        mean, sd, lower, upper = mixture_summary(weights, components)
        table: dict[str, Any] = {"group": names}
        if column.kind == "vector":
            table["dimension"] = dimension
        table |= {"mean": column.display(mean), "sd": sd}
        table |= {"lower": column.display(lower), "upper": column.display(upper)}
        parts.append(pd.DataFrame(table))
    if len(parts) == 1:
        return parts[0]
    # Group by group rather than dimension by dimension.
    rows = np.arange(len(names) * len(parts)).reshape(len(parts), len(names)).T.ravel()
    return pd.concat(parts, ignore_index=True).iloc[rows].reset_index(drop=True)

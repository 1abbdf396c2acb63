"""How informative each context is about the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from scipy.special import entr, softmax

from mcsquared.arrays import Floats, Rng
from mcsquared.errors import InputError
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.posterior.effects import INTERVAL

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

MAX_GROUPS = 5000  # values of a context over which the mutual information is averaged
STREAM = 5  # of random numbers; 6 is that of `effects`, `prediction.parameters` has 0 to 3


class ContextRelevance:
    """Relevance of contexts; a base class of `Posterior`."""

    def relevance(self) -> pd.DataFrame:
        """Return how informative each context is about the clusters: context, mean, low, high.

        The measure is the model's mutual information of cluster and context as a share of the
        entropy of the clusters, I(z; x) / H(z): 0 if the context is uninformative, 1 if it alone
        determines the clusters. ``low`` and ``high`` are the bounds of a 90% interval over the
        draws.

        Examples
        --------
        >>> posterior.relevance().columns.tolist()
        ['context', 'mean', 'low', 'high']
        """
        posterior = cast("Posterior", self)
        if not posterior.parameters:
            message = "relevance requires a draw with parameters: fit with keep_parameters >= 1"
            raise InputError(message)
        weights, rows = posterior.parameter_weights, []
        for number, name in enumerate(posterior.priors.contexts):
            shares = []
            for i, draw in enumerate(posterior.parameters):
                sequence = np.random.SeedSequence(posterior.seed, spawn_key=(STREAM, number, i))
                rng = np.random.default_rng(sequence)
                shares.append(relevance_in_draw(posterior, draw, name, rng))
            values = np.array(shares)
            mean = float(np.average(values, weights=weights))
            rows.append([name, mean, *weighted_quantiles(values, weights, INTERVAL)])
        return pd.DataFrame(rows, columns=["context", "mean", "low", "high"])


def relevance_in_draw(posterior: Posterior, draw: ParameterDraw, name: str, rng: Rng) -> float:
    """Return the share of the clusters' entropy that a context explains, for π and φ of one draw.

    The mutual information is the entropy of the mean of p(z | x) over the values x of the groups,
    less the mean of its entropies.
    """
    column = posterior.contexts[name]
    family = posterior.priors.context_given(name, draw.category_shapes)
    labels, n_clusters = posterior.cluster_of_group[draw.index], draw.n_clusters
    x, n_observed = column.observations(), int(column.observed.sum())
    if n_clusters < 2 or n_observed == 0:
        return 0.0
    columns = posterior.priors.background_columns.get(name)
    if columns is None or draw.background is None:
        statistics = family.statistics_by_cluster(x, labels[column.observed], n_clusters)
    else:
        statistics = draw.background[:, columns]
    weights = rng.dirichlet(np.bincount(labels, minlength=n_clusters))
    values = x[np.unique(np.linspace(0, n_observed - 1, MAX_GROUPS).astype(np.int64))]
    if family.can_sample:
        log_density = family.log_likelihood(values, family.sample_parameters(statistics, rng))
    else:
        log_density = family.log_predictive(values, statistics)
    if len(statistics) > n_clusters:  # the last row is the background
        n_foreground, n_background = statistics[:-1, 0].sum(), statistics[-1, 0]
        probability = rng.beta(1.0 + n_foreground, 1.0 + n_background)
        foreground = np.log(probability) + log_density[:, :-1]
        log_density = np.logaddexp(foreground, np.log1p(-probability) + log_density[:, -1:])
    with np.errstate(divide="ignore"):
        probability = softmax(log_density + np.log(weights), axis=1)
    return explained_share(probability)


def explained_share(probability: Floats) -> float:
    """Return the mutual information of rows p(z | x), as a share of the entropy of their mean."""
    total = float(entr(probability.mean(axis=0)).sum())
    conditional = float(entr(probability).sum(axis=1).mean())
    return min(max(1.0 - conditional / total, 0.0), 1.0) if total > 0.0 else 0.0


def weighted_quantiles(
    values: Floats, weights: Floats, probabilities: tuple[float, ...]
) -> list[float]:
    """Return quantiles of weighted values, interpolated between the midpoints of their weights."""
    order = np.argsort(values)
    order = order[weights[order] > 0.0]
    sorted_weights = weights[order]
    midpoint = (np.cumsum(sorted_weights) - 0.5 * sorted_weights) / sorted_weights.sum()
    return np.interp(probabilities, midpoint, values[order]).tolist()

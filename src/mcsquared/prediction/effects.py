"""Contexts that act on topics, in new groups: their base measures, and predictions of their values.

    b_j  =  w_j0 τ_k + rest_j,        rest_j  =  Σ_s w_js τ_s over the values s that the group has

The sources of group j are its cluster k, with weight ω_0, and those of its contexts c that act on
topics, with weights ω_c; w_j0 and w_js are these weights divided by their sum. The weight of a bag
is divided among its values. O_s counts the tables whose topics are drawn from τ_s.

A context to be predicted is sampled with the cluster and the topics of the group. Topics drawn
without it would follow the other sources, and contain less information about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Rng
from mcsquared.corpus import Corpus
from mcsquared.model.effects import Effect
from mcsquared.posterior.draws import ParameterDraw

if TYPE_CHECKING:
    from mcsquared.model.priors import Priors


@dataclass(frozen=True)
class EffectRows:
    """Topic weights of the values of all effects, given one stored draw."""

    effects: Mapping[str, Effect]
    log_shares: Floats  # (values of all effects, topics): log τ_s
    weights: Floats  # (n_effects + 1,): ω, of the cluster and of each effect
    # An effect whose values are not used, because they are to be predicted.
    predicted: str | None = None

    def without(self, name: str | None) -> EffectRows:
        """Return the same effects, the values of one of them not used."""
        return replace(self, predicted=name)

    def rows_of(self, name: str) -> slice:
        """Return the rows of an effect in ``log_shares``."""
        sizes = [effect.n_values for effect in self.effects.values()]
        first = sum(sizes[: list(self.effects).index(name)])
        return slice(first, first + self.effects[name].n_values)

    def weight_of(self, name: str) -> float:
        """Return ω of an effect."""
        return float(self.weights[1 + list(self.effects).index(name)])

    def weights_of_sources(
        self, corpus: Corpus, with_predicted: bool = False
    ) -> tuple[Floats, sparse.csr_matrix]:
        """Return 1 / Σ ω over the sources of each group, and the weights w_js of its values.

        Shapes (n_groups,) and (n_groups, values of all effects). If ``with_predicted``, the sum
        includes the effect to be predicted.
        """
        total, parts = np.full(corpus.n_groups, self.weights[0]), []
        for weight, (name, effect) in zip(self.weights[1:], self.effects.items(), strict=True):
            if name == self.predicted or name not in corpus.contexts:
                parts.append(sparse.csr_matrix((corpus.n_groups, effect.n_values)))
                total += weight * (with_predicted and name == self.predicted)
                continue
            shares = effect.shares(corpus.contexts[name])
            total += weight * (np.diff(shares.indptr) > 0)
            parts.append(weight * shares)
        scale = 1.0 / total
        return scale, sparse.csr_matrix(sparse.diags(scale) @ sparse.hstack(parts))


def draw_effect_rows(
    priors: Priors, draw: ParameterDraw, unused: Floats, rng: Rng
) -> EffectRows | None:
    """Draw τ_s ~ Dir(v_c ε + O_s) of every value s, with unused topics; None without effects."""
    from mcsquared.prediction.parameters import draw_log_dirichlet

    if draw.effects is None:
        return None
    shape = _shapes(priors, draw, unused)
    return EffectRows(priors.effects, draw_log_dirichlet(shape, rng), draw.effects.weights)


def mean_effect_rows(priors: Priors, draw: ParameterDraw) -> EffectRows | None:
    """Return the means of τ_s over the topics of the draw, without unused ones."""
    if draw.effects is None:
        return None
    shape = _shapes(priors, draw, np.zeros(0))
    tiny = np.finfo(np.float64).tiny
    means = np.maximum(shape / np.maximum(shape.sum(axis=1, keepdims=True), tiny), tiny)
    return EffectRows(priors.effects, np.log(means), draw.effects.weights)


def _shapes(priors: Priors, draw: ParameterDraw, unused: Floats) -> Floats:
    """Return v_c ε + O_s of every value: float64 (values of all effects, topics)."""
    assert draw.effects is not None
    topics = np.concatenate([draw.topic_weights, unused])
    counts = np.pad(draw.effects.tables.toarray(), ((0, 0), (0, len(unused))))
    v = np.repeat(draw.effects.v, np.diff(priors.effect_offsets))
    shape: Floats = v[:, None] * topics + counts
    return shape

"""The parameters of a state as a stored draw: sparse, and without empty slots."""

import math

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.kernels.cpu.counts import sparse_columns
from mcsquared.model.parameters import values_of
from mcsquared.observations import Observations
from mcsquared.posterior.draws import EffectParameters, ParameterDraw, TypeDraw
from mcsquared.state import LevelState, State


def parameter_draw(
    state: State, clusters: Int64s, index: int, observations: Observations
) -> ParameterDraw:
    """Return the counts and weights of a state, sparse and without empty slots."""
    counts = state.counts
    topics = np.flatnonzero(counts.tokens_in_topic)
    content: sparse.csr_matrix | Floats
    if observations.n_words:
        start, word, n = sparse_columns(counts.words_in_topic, topics)
        content = sparse.csr_matrix((n, word, start), shape=(len(topics), observations.n_words))
    else:
        content = counts.topic_statistics[topics].copy()
    return ParameterDraw(
        index=index,
        topics_in_cluster=sparse.csr_matrix(counts.topics_in_cluster[np.ix_(clusters, topics)]),
        tables_in_cluster=None
        if state.tables_in_cluster is None
        else sparse.csr_matrix(state.tables_in_cluster[np.ix_(clusters, topics)]),
        content_statistics=content,
        topic_weights=state.topic_weights[topics].copy(),
        unused_weight=math.exp(float(state.log_unused[0])),
        category_shapes=state.category_shapes if observations.has_learned_bags else None,
        background=_background(state, clusters, observations),
        effects=_effect_parameters(state, topics),
        levels=type_draws(state, clusters),
        **values_of(state),
    )


def _background(state: State, clusters: Int64s, observations: Observations) -> Floats | None:
    """Return the statistics of contexts with a background, as `ParameterDraw` stores them."""
    statistics = state.counts.context_statistics
    parts = []
    for c, columns in observations.background_columns:
        foreground = statistics[clusters, observations.context_columns[c][1]]
        parts.append(np.vstack([foreground, statistics[:, columns].sum(axis=0)]))
    return np.hstack(parts) if parts else None


def _effect_parameters(state: State, topics: Int64s) -> EffectParameters | None:
    """Return tables and parameters of effects, without empty topic slots."""
    effects = state.effects
    if effects is None:
        return None
    tables = sparse.csr_matrix(effects.tables[:, topics])
    return EffectParameters(tables, effects.weights.copy(), effects.v.copy())


def compact_types(level: LevelState) -> Int32s:
    """Return the position of each type slot among the occupied ones: int32 (type slots,).

    It is 0 for an empty slot.
    """
    occupied = level.units_in_type > 0
    return np.where(occupied, np.cumsum(occupied) - 1, 0).astype(np.int32)


def type_draws(state: State, clusters: Int64s) -> tuple[TypeDraw, ...]:
    """Return the types of every level above groups, without empty slots."""
    found, below = [], clusters
    for level in state.levels:
        types = np.flatnonzero(level.units_in_type)
        draw = TypeDraw(
            children=level.children[np.ix_(types, below)],
            draws_below=level.draws_below[below],
            alpha=level.alpha,
            v=level.v,
            shapes=np.concatenate([np.zeros(0), *level.shapes]),
        )
        found.append(draw)
        below = types
    return tuple(found)

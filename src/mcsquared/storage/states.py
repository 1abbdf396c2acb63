"""States and stored draws of a chain as arrays, for checkpoints and model files."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Integers
from mcsquared.errors import ModelFileError
from mcsquared.families import ConjugateFamily
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.model.parameters import CONCENTRATIONS, values_of
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.posterior.draws import EffectParameters, ParameterDraw
from mcsquared.state import SLOT_STEP, Counts, EffectState, State, count
from mcsquared.storage.files import MAX_FLOAT, Reader, Tensors, pack_csr
from mcsquared.storage.levels import (
    pack_levels,
    pack_type_draws,
    unpack_levels,
    unpack_shapes,
    unpack_type_draws,
)

SUM_TOLERANCE = 1e-6  # between sums of the same numbers in different orders
_DRAW_SCALARS = ("index", "unused_weight", *CONCENTRATIONS)


def pack_state(state: State, on_disk: bool = False) -> tuple[Tensors, dict[str, Any]]:
    """Return a state as tensors and JSON.

    Integer counts are stored only if tokens have no labels from which to recompute them. Sums of
    floats are always stored, because sums in another order are rounded differently. The state of a
    corpus on disk has no labels, but all counts.
    """
    counts = state.counts
    tensors: Tensors = {
        "cluster_of_group": state.cluster_of_group[: 0 if on_disk else None].copy(),
        "topic_of_token": state.topic_of_token[: 0 if on_disk else None].copy(),
        "topic_weights": state.topic_weights.copy(),
        "log_unused": state.log_unused.copy(),
        "concentrations": np.array(list(values_of(state).values())),
        "category_shapes": state.category_shapes.copy(),
        "context_statistics": counts.context_statistics.copy(),
        "topic_statistics": counts.topic_statistics.copy(),
    }
    tensors |= pack_levels(state)
    if state.tables_in_cluster is not None:
        tensors |= pack_csr("tables_in_cluster", state.tables_in_cluster)
    if state.effects is not None:
        effects = state.effects
        tables, values = sparse.csr_matrix(effects.tables), (effects.weights, effects.v)
        tensors |= _pack_effects("effects", EffectParameters(tables, *map(np.copy, values)))
    if on_disk:
        tensors |= pack_csr("category_counts", counts.category_counts)
    if on_disk or len(state.topic_of_token) != counts.tokens_in_topic.sum():
        tensors |= pack_csr("topics_in_cluster", counts.topics_in_cluster)
        tensors |= pack_csr("words_in_topic", counts.words_in_topic)
    meta = {"sweep": state.sweep, "cluster_slots": len(counts.groups_in_cluster)}
    return tensors, meta


def unpack_state(
    tensors: Mapping[str, NDArray[Any]],
    meta: Mapping[str, Any],
    observations: Observations,
    priors: Priors,
    sampler: str,
) -> State:
    """Return a state packed by `pack_state`, validated.

    Raises ValueError, of which `ModelFileError` is a subclass, for invalid values: kernels do not
    check them.
    """
    reader = Reader(tensors)
    concentrations = _concentrations(reader, priors)
    log_unused = reader.array("log_unused", np.float64, (1,), -MAX_FLOAT, 0.0)
    weights = _weights(reader, "topic_weights", math.exp(float(log_unused[0])))
    n_clusters, n_topics = int(meta["cluster_slots"]), len(weights)
    multiple = SLOT_STEP if sampler == "collapsed" else N_LANES
    _check_slots(n_clusters, multiple, observations.n_groups)
    _check_slots(n_topics, multiple, observations.n_tokens)
    groups_vary = not math.isinf(concentrations["lam"])
    unlabelled = bool(sampler == "blocked" and not groups_vary and observations.n_words)
    dtype: type = np.int32 if sampler == "collapsed" else np.uint16
    n_labels = 0 if unlabelled else observations.n_tokens
    on_disk = isinstance(observations, DiskObservations)
    names = (
        ("labels.clusters", "labels.topics") if on_disk else ("cluster_of_group", "topic_of_token")
    )
    cluster = reader.array(names[0], np.int32, (observations.n_groups,), 0, n_clusters - 1)
    topic = reader.array(names[1], dtype, (n_labels,), 0, n_topics - 1)
    all_clusters = cluster
    if isinstance(observations, DiskObservations):
        counts = _counts_on_disk(reader, observations, cluster, n_clusters, n_topics)
        cluster, topic = cluster[observations.sample], topic[:0]
    else:
        counts = count(observations, cluster, topic, n_clusters, n_topics)
    state = State(
        cluster_of_group=cluster.copy(),
        topic_of_token=topic.copy(),
        topic_weights=weights.copy(),
        log_unused=log_unused.copy(),
        **concentrations,
        sweep=int(meta["sweep"]),
        category_shapes=_state_shapes(reader, observations),
        counts=counts,
    )
    if (unlabelled or on_disk) and observations.n_tokens:
        _set_counts(state, reader, observations)
    if groups_vary:
        tokens = sparse.csr_matrix(state.counts.topics_in_cluster)
        tables = _tables(reader, "tables_in_cluster", tokens, bool(priors.effects))
        state.tables_in_cluster = tables.toarray()
    if priors.effects:
        effects = _effects(reader, "effects", priors, n_topics)
        state.effects = EffectState(effects.tables.toarray(), effects.weights, effects.v)
    if weights[state.counts.tokens_in_topic == 0].any():
        raise ValueError("a topic without tokens has a positive weight")
    _set_float_sums(state, reader, observations)
    unpack_levels(state, reader, observations, priors, all_clusters)
    return state


def _concentrations(reader: Reader, priors: Priors) -> dict[str, Any]:
    """Return the concentrations by name; the priors must allow them."""
    values = reader.array("concentrations", np.float64, (len(CONCENTRATIONS),), 0.0).tolist()
    concentrations = dict(zip(CONCENTRATIONS, values, strict=True))
    for name, value in concentrations.items():
        if not CONCENTRATIONS[name].allows(value, getattr(priors, name)):
            raise ValueError(f"{name}={value!r} is not possible under these priors")
    return concentrations


def _state_shapes(reader: Reader, observations: Observations) -> Floats:
    """Return the Dirichlet parameters of all bags; fixed ones are those of the priors."""
    shapes = observations.bags.shapes.copy()
    if observations.has_learned_bags:
        learned = unpack_shapes(reader, "category_shapes", len(shapes))
        for family, columns in observations.bag_columns:
            if family.is_learned:
                shapes[columns] = learned[columns]
    return shapes


def _check_slots(n_slots: int, multiple: int, n_labelled: int) -> None:
    high = 1024 + 4 * n_labelled
    if not 0 < n_slots <= high or n_slots % multiple:
        raise ValueError(f"slots must be a multiple of {multiple} in 1..{high}, got {n_slots}")


def _weights(reader: Reader, name: str, unused: float) -> Floats:
    """Return the topic weights; they and the unused weight must sum to 1."""
    weights = reader.array(name, np.float64, (None,), 0.0, 1.0 + SUM_TOLERANCE)
    if abs(weights.sum() + unused - 1.0) > SUM_TOLERANCE:
        raise ModelFileError(f"the array {name!r} does not sum to 1")
    return weights


def _set_counts(state: State, reader: Reader, observations: Observations) -> None:
    """Set the counts of a state with unlabelled tokens; they must agree with the corpus."""
    n_clusters, n_topics = state.counts.topics_in_cluster.shape
    topics = reader.csr("topics_in_cluster", n_clusters, n_topics).toarray()
    words = reader.csr("words_in_topic", observations.n_words, n_topics).toarray()
    tokens = topics.sum(axis=1, dtype=np.int64)
    if isinstance(observations, DiskObservations):
        frequency = observations.source.word_frequency
        agree = not tokens[state.counts.groups_in_cluster == 0].any()
    else:
        frequency = np.bincount(observations.word, minlength=observations.n_words)
        lengths = np.diff(observations.group_start)
        in_corpus = np.bincount(state.cluster_of_group, lengths, minlength=n_clusters)
        agree = np.array_equal(tokens, in_corpus)
    if frequency is not None:  # words, not vectors
        topic_sizes = words.sum(axis=0, dtype=np.int64)
        agree = agree and np.array_equal(words.sum(axis=1, dtype=np.int64), frequency)
        agree = agree and np.array_equal(topics.sum(axis=0, dtype=np.int64), topic_sizes)
    if not agree or tokens.sum() != observations.n_tokens:
        raise ValueError("the counts do not agree with the corpus")
    state.set_topics_in_cluster(topics)
    state.counts.words_in_topic = words


def _counts_on_disk(
    reader: Reader, observations: DiskObservations, cluster: Int32s, n_clusters: int, n_topics: int
) -> Counts:
    """Return counts of groups and contexts; those of tokens are 0, float sums are set later."""
    no_clusters, no_topics = np.zeros(0, np.int32), np.zeros(0, np.uint16)
    counts = count(observations, no_clusters, no_topics, n_clusters, n_topics)
    counts.groups_in_cluster = np.bincount(cluster, minlength=n_clusters).astype(np.int32)
    categories = reader.csr("category_counts", n_clusters, observations.n_categories)
    counts.category_counts = categories.toarray()
    for i, (_, columns) in enumerate(observations.bag_columns):
        counts.category_totals[:, i] = counts.category_counts[:, columns].sum(axis=1)
    if counts.category_counts[counts.groups_in_cluster == 0].any():
        raise ValueError("the counts do not agree with the corpus")
    return counts


def _set_float_sums(state: State, reader: Reader, observations: Observations) -> None:
    """Restore the stored sums of floats bit for bit; they must agree with the labels."""
    counts = state.counts
    saved = {}
    for name in ("context_statistics", "topic_statistics"):
        shape = getattr(counts, name).shape
        saved[name] = reader.array(name, np.float64, shape, -MAX_FLOAT, MAX_FLOAT).copy()
    if isinstance(observations, DiskObservations):  # these sums are not computed again
        counts.context_statistics = saved["context_statistics"]
        counts.topic_statistics = saved["topic_statistics"].copy()
        if observations.n_content_statistics and observations.content_family.kernel is not None:
            counts.topic_statistics[:, 0] = counts.tokens_in_topic
    # Values from backgrounds are summed separately; only totals follow from the labels.
    expected, found = counts.context_statistics.copy(), saved["context_statistics"].copy()
    for c, columns in observations.background_columns:
        foreground = observations.context_columns[c][1]
        for sums in (expected, found):
            sums[:, foreground] += sums[:, columns]
        if (saved["context_statistics"][:, [foreground.start, columns.start]] < 0).any():
            raise ValueError("the statistics do not agree with the corpus")
    for family, columns in observations.context_columns:
        _check_sums(found[:, columns], expected[:, columns], family)
    if observations.n_content_statistics:
        _check_sums(saved["topic_statistics"], counts.topic_statistics, observations.content_family)
    counts.context_statistics = saved["context_statistics"]
    counts.topic_statistics = saved["topic_statistics"]


def _check_sums(found: Floats, expected: Floats, family: ConjugateFamily) -> None:
    # Sums in another order differ in their last digits, relative to the largest term.
    near = np.abs(found - expected) <= SUM_TOLERANCE * max(np.abs(expected).max(initial=0.0), 1.0)
    # The first statistic of built-in families counts observations, exactly in any order.
    counts_agree = family.kernel is None or np.array_equal(found[:, 0], expected[:, 0])
    if not (near.all() and counts_agree and has_finite_normaliser(family, found)):
        raise ValueError("the statistics do not agree with the corpus")


def has_finite_normaliser(family: ConjugateFamily, statistics: Floats) -> bool:
    """Return whether the log-normaliser is finite for every row of statistics."""
    with np.errstate(all="ignore"):
        constants = family.log_normaliser(statistics)
    return constants.shape == (len(statistics),) and bool(np.isfinite(constants).all())


def pack_draw(prefix: str, draw: ParameterDraw) -> Tensors:
    """Return the counts and weights of a draw as arrays whose names begin with ``prefix``."""
    tensors = pack_csr(f"{prefix}.topics_in_cluster", draw.topics_in_cluster)
    if draw.tables_in_cluster is not None:
        tensors |= pack_csr(f"{prefix}.tables_in_cluster", draw.tables_in_cluster)
    if isinstance(draw.content_statistics, np.ndarray):
        tensors[f"{prefix}.content"] = np.asarray(draw.content_statistics, np.float64)
    else:
        tensors |= pack_csr(f"{prefix}.content", draw.content_statistics)
    tensors[f"{prefix}.topic_weights"] = np.asarray(draw.topic_weights, np.float64)
    for name in ("category_shapes", "background"):
        if getattr(draw, name) is not None:
            tensors[f"{prefix}.{name}"] = np.asarray(getattr(draw, name), np.float64)
    if draw.effects is not None:
        tensors |= _pack_effects(f"{prefix}.effects", draw.effects)
    tensors |= pack_type_draws(prefix, draw.levels)
    scalars = [float(getattr(draw, name)) for name in _DRAW_SCALARS]
    tensors[f"{prefix}.scalars"] = np.array(scalars)
    return tensors


def unpack_draw(
    reader: Reader,
    prefix: str,
    cluster_of_group: Sequence[Integers] | Int32s,
    priors: Priors,
    n_words: int | None,
    n_tokens: int,
) -> ParameterDraw:
    """Return a draw packed by `pack_draw`, validated.

    ``cluster_of_group`` are all kept draws, (n_draws, n_groups), ``n_words`` is None for vectors,
    and ``n_tokens`` is an upper bound on every count.
    """
    scalars = reader.array(f"{prefix}.scalars", np.float64, (len(_DRAW_SCALARS),), 0.0)
    index, unused, *values = (float(value) for value in scalars)
    if index >= len(cluster_of_group) or index != int(index):
        raise ModelFileError(f"{prefix} refers to a draw that does not exist")
    concentrations = dict(zip(CONCENTRATIONS, values, strict=True))
    if not all(CONCENTRATIONS[name].allows(value) for name, value in concentrations.items()):
        raise ModelFileError(f"{prefix} has an invalid concentration")
    weights = _weights(reader, f"{prefix}.topic_weights", unused)
    sizes = np.bincount(cluster_of_group[int(index)])
    if (sizes == 0).any():
        raise ModelFileError(f"{prefix} has a cluster without groups")
    tokens = reader.csr(f"{prefix}.topics_in_cluster", len(sizes), len(weights))
    if np.unique(tokens.indices).size != len(weights):
        raise ModelFileError(f"{prefix} has a topic without tokens")
    name, tables = f"{prefix}.tables_in_cluster", None
    if not math.isinf(concentrations["lam"]):
        tables = _tables(reader, name, tokens, bool(priors.effects))
    elif f"{name}.data" in reader:
        raise ModelFileError(f"{name!r} must not exist with lam=inf")
    content: Any
    if n_words is not None:
        content = reader.csr(f"{prefix}.content", len(weights), n_words)
    else:
        name = f"{prefix}.content"
        content = _statistics(reader, name, len(weights), priors.content, n_tokens)
    shapes: Floats | None = None
    if priors.has_learned_contexts:
        shapes = unpack_shapes(reader, f"{prefix}.category_shapes", priors.n_categories)
    effects = None
    if priors.effects:
        effects = _effects(reader, f"{prefix}.effects", priors, len(weights))
    return ParameterDraw(
        index=int(index),
        topics_in_cluster=tokens,
        content_statistics=content,
        topic_weights=weights,
        unused_weight=unused,
        tables_in_cluster=tables,
        category_shapes=shapes,
        background=_background(reader, f"{prefix}.background", sizes, priors),
        effects=effects,
        levels=unpack_type_draws(reader, prefix, len(sizes), priors),
        **concentrations,
    )


def _background(reader: Reader, name: str, sizes: Integers, priors: Priors) -> Floats | None:
    """Return the statistics of contexts with a background; ``sizes`` are those of the clusters."""
    if not priors.background_columns:
        return None
    shape = (len(sizes) + 1, 3 * len(priors.background_columns))
    statistics = reader.array(name, np.float64, shape, -MAX_FLOAT, MAX_FLOAT)
    max_counts = np.append(sizes, sizes.sum())
    for context, columns in priors.background_columns.items():
        n = statistics[:, columns.start]
        is_count = bool(((n >= 0) & (n <= max_counts) & (n == np.floor(n))).all())
        family = priors.contexts[context]
        if not (is_count and has_finite_normaliser(family, statistics[:, columns])):
            raise ModelFileError(f"the array {name!r} contains invalid statistics")
    return statistics.copy()


def _pack_effects(prefix: str, effects: EffectParameters) -> Tensors:
    """Return tables and parameters of effects as arrays whose names begin with ``prefix``."""
    return {
        **pack_csr(f"{prefix}.tables", effects.tables),
        f"{prefix}.weights": np.asarray(effects.weights, np.float64),
        f"{prefix}.v": np.asarray(effects.v, np.float64),
    }


def _effects(reader: Reader, prefix: str, priors: Priors, n_topics: int) -> EffectParameters:
    """Return tables and parameters of effects packed by `_pack_effects`, validated."""
    n_effects, n_values = len(priors.effects), priors.effect_offsets[-1]
    weights = reader.array(f"{prefix}.weights", np.float64, (n_effects + 1,), 0.0, 1.0)
    v = reader.array(f"{prefix}.v", np.float64, (n_effects,), 0.0, MAX_FLOAT)
    if abs(weights.sum() - 1.0) > SUM_TOLERANCE or not (v > 0.0).all():
        raise ModelFileError(f"{prefix!r} has invalid parameters")
    tables = reader.csr(f"{prefix}.tables", n_values, n_topics)
    return EffectParameters(tables, weights.copy(), v.copy())


def _tables(
    reader: Reader, name: str, tokens: sparse.csr_matrix, has_effects: bool
) -> sparse.csr_matrix:
    """Return the tables of each cluster and topic, given its number of tokens."""
    tables = reader.csr(name, *tokens.shape)
    same = np.array_equal(tables.indptr, tokens.indptr)
    # With effects, all tables of a cluster's groups may come from the values of effects.
    if not has_effects and not (same and np.array_equal(tables.indices, tokens.indices)):
        raise ModelFileError(f"the array {name!r} has tables without tokens")
    if (tables > tokens).nnz:
        raise ModelFileError(f"the array {name!r} has more tables than tokens")
    return tables


def _statistics(
    reader: Reader, name: str, n_topics: int, family: ConjugateFamily, n_tokens: int
) -> Floats:
    """Return the statistics of vectors, for which the family must have a finite normaliser."""
    statistics = reader.array(name, np.float64, (n_topics, family.n_stats), -MAX_FLOAT, MAX_FLOAT)
    # The first statistic of built-in families is a count, here of tokens.
    counts = statistics[:, 0] if family.kernel is not None else np.zeros(n_topics)
    counts_valid = bool(((counts >= 0) & (counts <= n_tokens)).all())
    if not (counts_valid and has_finite_normaliser(family, statistics)):
        raise ModelFileError(f"the array {name!r} contains invalid statistics")
    return statistics

"""New groups: alignment with training, cluster probabilities and topic proportions."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, logsumexp, softmax

from mcsquared.arrays import Floats, Int64s
from mcsquared.corpus import Corpus, Vectors, Words
from mcsquared.corpus.levels import level_parts, move_contexts_to_levels
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.families.numerics import as_dense
from mcsquared.posterior import ParameterDraw, Posterior
from mcsquared.posterior.consensus import share_of_consensus
from mcsquared.prediction.effects import mean_effect_rows
from mcsquared.prediction.fold_in import ITERATIONS, Iterations, fold_in_groups
from mcsquared.prediction.likelihood import (
    log_cluster_prior,
    log_context_given_cluster,
    log_group_given_cluster,
    matrix_product,
    safe_log,
    token_batches,
)
from mcsquared.prediction.parameters import (
    ModelParameters,
    Stream,
    draw_log_dirichlet,
    draw_parameters,
    parameters_of_draws,
    parameters_without_content,
    stream,
)
from mcsquared.prediction.variational import (
    MIN_TOKENS,
    MIN_TOKENS_OF_TOPICS,
    MIN_TOPICS,
    log_cluster_variational,
    topics_variational,
)

FOLD_IN = ("auto", "gibbs")  # how the topics of new groups are found, for a finite λ
_LAST_RESULT = "_last_cluster_probabilities"  # attribute of a posterior


def prediction_digest(corpus: Corpus) -> bytes:
    """Return the SHA-256 of all that the predictions for an aligned corpus depend on."""
    content, levels = corpus.content, level_parts(corpus.levels)
    parts = [content.counts] if isinstance(content, Words) else [content.start, content.values]
    columns = [*((c, c.values) for c in corpus.contexts.values()), *levels.columns]
    names = [[column.name, column.kind] for column, _ in columns] + [list(n) for n in levels.names]
    names += [[level.name, *level.contexts] for level in corpus.levels]
    # Unlike contexts of groups, those of units do not have the categories of training here.
    names += [
        list(column.categories) for column, _ in levels.columns if column.categories is not None
    ]
    digest = hashlib.sha256(json.dumps(names, default=str).encode())
    for part in (*parts, *levels.parents, *(values for _, values in columns)):
        is_sparse = sparse.issparse(part)
        for array in (part.data, part.indices, part.indptr) if is_sparse else (part,):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
    return digest.digest()


class SizedGroups:
    """The groups of a corpus, divided into long and short ones once for all draws."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.sizes = np.asarray(corpus.content.tokens_per_group)
        self._parts: dict[float, list[tuple[Any, Corpus, bool]]] = {}

    def parts(self, minimum: float) -> list[tuple[Any, Corpus, bool]]:
        """Return the long and the short groups: indices, corpus, and whether they are long.

        Groups of at least ``minimum`` tokens are long.
        """
        if minimum not in self._parts:
            is_long = self.sizes >= minimum
            found = [(np.flatnonzero(is_long == are_long), are_long) for are_long in (True, False)]
            self._parts[minimum] = [
                (rows, self.corpus[rows], are_long) for rows, are_long in found if len(rows)
            ]
            if len(found[0][0]) in (0, len(is_long)):
                self._parts[minimum] = [(slice(None), self.corpus, bool(is_long.all()))]
        return self._parts[minimum]


def cluster_probabilities(
    posterior: Posterior, corpus: Corpus, fold_in: str = "auto"
) -> tuple[Floats, Floats]:
    """Return each group's probability of every consensus cluster, and of a new cluster.

    The mean over stored parameter draws of p(z_j = k | content and contexts of j). Cluster k of a
    draw contributes to consensus cluster c in proportion to the share of its groups that are in c.
    ``fold_in`` is explained in `weighted_joints`. The first array is
    (n_groups, n_consensus_clusters), given that the cluster is not new, and its rows sum to 1; the
    second is (n_groups,).
    """
    corpus = align(posterior, corpus)
    # The last result is kept: `predict`, `predict_proba` and `predict_new_proba` share it.
    key = (prediction_digest(corpus), int(posterior.seed), fold_in)
    cached_key, *result = vars(posterior).get(_LAST_RESULT, (None,))
    if cached_key != key:
        result = _cluster_probabilities(posterior, corpus, fold_in)
        vars(posterior)[_LAST_RESULT] = (key, *result)
    return result[0].copy(), result[1].copy()


def _cluster_probabilities(
    posterior: Posterior, corpus: Corpus, fold_in: str
) -> tuple[Floats, Floats]:
    n_groups = corpus.n_groups
    total = np.zeros((n_groups, posterior.n_clusters))
    log_scale = np.full(n_groups, -np.inf)
    new = np.zeros(n_groups)
    for weight, draw, log_joint in weighted_joints(posterior, corpus, fold_in=fold_in):
        log_known = logsumexp(log_joint[:, : draw.n_clusters], axis=1)
        log_known -= logsumexp(log_joint, axis=1)
        new += weight * np.clip(-np.expm1(log_known), 0.0, 1.0)
        known = softmax(log_joint[:, : draw.n_clusters], axis=1)
        # Relative to the largest so far: p(known) of a group that is almost surely new underflows.
        scale = np.maximum(log_scale, log_known)
        total *= np.exp(log_scale - scale)[:, None]
        share = share_of_consensus(posterior.cluster_of_group[draw.index], posterior.labels)
        total += weight * np.exp(log_known - scale)[:, None] * matrix_product(known, share)
        log_scale = scale
    total /= total.sum(axis=1, keepdims=True)
    return total, new / len(posterior.parameters)


def most_probable_cluster(posterior: Posterior, corpus: Corpus, fold_in: str = "auto") -> Int64s:
    """Return the most probable consensus cluster of each group."""
    return cluster_probabilities(posterior, corpus, fold_in)[0].argmax(axis=1)


def known_and_new_probabilities(log_joint: Floats, n_clusters: int) -> Floats:
    """Return p(z_j = k | j), (n_groups, n_clusters + 1); the last column is a new cluster."""
    probability = softmax(log_joint, axis=1)
    new = probability[:, n_clusters:].sum(axis=1, keepdims=True)
    return np.hstack([probability[:, :n_clusters], new])


def weighted_joints(
    posterior: Posterior, corpus: Corpus, leave_out: str | None = None, fold_in: str = "auto"
) -> Iterator[tuple[float, ParameterDraw, Floats]]:
    """Yield the weight of every stored draw, the draw, and log p(z_j = k | j) up to a constant.

    The arrays are (n_groups, n_clusters + n_new). With ``fold_in="gibbs"``, for λ = ∞ or with
    effects, ψ is drawn, and for a finite λ the topics of groups are sampled. With "auto", ψ is at
    its mean, and the clusters of long groups are not sampled: see `log_cluster_joint`. Draws of
    weight 0 are skipped.
    """
    is_infinite = all(math.isinf(draw.lam) for draw in posterior.parameters)
    with_content = fold_in == "gibbs" or bool(posterior.priors.effects) or is_infinite
    groups = SizedGroups(corpus)
    drawn = parameters_of_draws(posterior, with_content=with_content)
    for weight, (draw, parameters) in zip(posterior.parameter_weights, drawn, strict=True):
        if weight > 0.0:
            yield weight, draw, log_cluster_joint(posterior, draw, parameters, groups, leave_out)


def log_cluster_joint(
    posterior: Posterior,
    draw: ParameterDraw,
    parameters: ModelParameters,
    groups: SizedGroups,
    leave_out: str | None = None,
) -> Floats:
    """Return log p(z_j = k | j) up to a constant per group: (n_groups, n_clusters + n_new).

    For a finite λ, groups are sampled, except long ones if the parameters have no content and many
    topics: for all others the sampler is more accurate.
    """
    log_context = log_context_given_cluster(posterior, draw, groups.corpus, leave_out)
    log_prior = log_cluster_prior(parameters, log_context)
    if parameters.effects is not None:
        parameters = replace(parameters, effects=parameters.effects.without(leave_out))
    if math.isinf(parameters.lam):
        return log_prior + log_group_given_cluster(groups.corpus, parameters)
    long_are_variational = not parameters.has_content and parameters.n_topics >= MIN_TOPICS
    for rows, part, are_long in groups.parts(MIN_TOKENS if long_are_variational else math.inf):
        if are_long:
            log_prior[rows] = log_cluster_variational(part, parameters, log_prior[rows])
        else:
            log_prior[rows] = fold_in_groups(part, parameters, log_prior[rows]).log_cluster
    return log_prior


def mean_topics(
    groups: SizedGroups,
    parameters: ModelParameters,
    log_prior: Floats,
    iterations: Iterations,
    initial: Floats | None = None,
) -> Floats:
    """Return E[θ_j] for a finite λ: float64 (n_groups, topics); rows sum to 1.

    The topics of groups of `MIN_TOKENS_OF_TOPICS` tokens or more are not sampled if the parameters
    have no content; ``initial`` are shares from which to start, see `shares_of_similar_topics`.
    """
    minimum = math.inf if parameters.has_content else MIN_TOKENS_OF_TOPICS
    result = np.empty((groups.corpus.n_groups, parameters.log_topic_given_cluster.shape[1]))
    for rows, part, are_long in groups.parts(minimum):
        if are_long:
            first = None if initial is None else initial[rows]
            result[rows] = topics_variational(part, parameters, log_prior[rows], first)
        else:
            result[rows] = fold_in_groups(part, parameters, log_prior[rows], iterations).topics
    return result


MIN_PROBABILITY = 1e-9  # cluster probabilities below this are ignored


def topic_proportions(posterior: Posterior, corpus: Corpus, fold_in: str = "auto") -> Floats:
    """Return each group's share of every topic of the representative draw: (n_groups, n_topics).

    For λ = ∞, it is the sum over clusters of p(z_j = k | j) times the mean over tokens of

        p(l = m | z_j = k, w)  ∝  (c_km + v ε_m) p(w | tokens of m)

    which is exact for one token with τ and ψ integrated out. For a finite λ, it is the posterior
    mean of the group's weights θ_j with τ and ψ at their means, by variational inference or, with
    ``fold_in="gibbs"`` or effects, by sampling. Unused topics are omitted.
    A group without tokens has the topic shares of its clusters. Topics are in the order of the
    posterior's tables; rows sum to 1.
    """
    corpus = align(posterior, corpus)
    draw = posterior.representative_draw
    if draw.n_topics == 0:
        return np.zeros((corpus.n_groups, 0))
    finite = not math.isinf(draw.lam)
    variational = finite and fold_in == "auto" and not posterior.priors.effects
    number, seed = int(posterior.representative), int(posterior.seed)
    rng = stream(seed, Stream.PARAMETERS, number, 0)
    parameters = (
        parameters_without_content(posterior, number, seed)
        if variational
        else draw_parameters(posterior, draw, rng)
    )
    words = isinstance(corpus.content, Words)
    topic_given_cluster = draw.topic_given_cluster()
    if finite:
        if variational:  # renormalised shares of the known topics are a Dirichlet draw as well
            known = parameters.log_topic_given_cluster[draw.n_clusters :, : draw.n_topics]
            new = log_softmax(known, axis=1)
        else:
            shape = np.tile(draw.v * draw.topic_weights, (parameters.n_new, 1))
            new = draw_log_dirichlet(shape, rng)
        log_shares = np.vstack([safe_log(topic_given_cluster), new])
        means = replace(
            parameters,
            log_topic_given_cluster=log_shares,
            content_parameters=draw.content_statistics,
            effects=mean_effect_rows(posterior.priors, draw),
        )
        if variational and words:  # the last topic, that of unused ones, has no entries
            table = parameters.topic_table
            means.keep_table(table._replace(scale=table.scale[: draw.n_topics]))
        log_prior = log_cluster_prior(means, log_context_given_cluster(posterior, draw, corpus))
        if not variational:
            means = with_mean_content(means, as_dense(draw.content_statistics), words)
        groups = SizedGroups(corpus)
        return mean_topics(groups, means, log_prior, ITERATIONS)[:, posterior.topic_order]

    log_joint = log_cluster_joint(posterior, draw, parameters, SizedGroups(corpus))
    cluster = known_and_new_probabilities(log_joint, parameters.n_clusters)
    new = draw.topic_weights / draw.topic_weights.sum()
    topic_given_cluster = np.vstack([topic_given_cluster, new])
    means = with_mean_content(parameters, as_dense(draw.content_statistics), words)
    responsibilities = _word_responsibilities if words else _vector_responsibilities
    result = responsibilities(corpus, means, cluster, safe_log(topic_given_cluster))
    empty = corpus.content.tokens_per_group == 0
    result[empty] = cluster[empty] @ topic_given_cluster
    result /= result.sum(axis=1, keepdims=True)
    return result[:, posterior.topic_order]


def with_mean_content(
    parameters: ModelParameters, statistics: Floats, has_words: bool
) -> ModelParameters:
    """Return the parameters of known topics with ψ at its mean, or integrated out for vectors."""
    family: ConjugateFamily = parameters.family
    content = family.mean_parameters(statistics) if has_words else statistics
    return replace(parameters, content_parameters=content, integrated=not has_words)


def _word_responsibilities(
    corpus: Corpus, means: ModelParameters, cluster: Floats, log_shares: Floats
) -> Floats:
    """Return Σ_k p(z_j = k | j) mean_i p(l_ji = m | k, w_ji), one table of words per cluster."""
    words = corpus.content
    assert isinstance(words, Words)
    result = np.zeros((words.n_groups, len(means.content_parameters)))
    for k, log_weights in enumerate(log_shares):
        groups = np.flatnonzero((cluster[:, k] > MIN_PROBABILITY) & (words.tokens_per_group > 0))
        if len(groups) == 0:
            continue
        counts = words.counts[groups].astype(np.float64)
        used = np.unique(counts.indices)  # limits the table to the words of these groups
        table = softmax(means.log_words(used) + log_weights, axis=1)
        share = cluster[groups, k] / words.tokens_per_group[groups]
        result[groups] += share[:, None] * (counts[:, used] @ table)
    return result


def _vector_responsibilities(
    corpus: Corpus, means: ModelParameters, cluster: Floats, log_shares: Floats
) -> Floats:
    """Return the same as `_word_responsibilities` for vectors, in batches."""
    sizes = corpus.content.tokens_per_group
    result = np.zeros((corpus.n_groups, len(means.content_parameters)))
    for groups, counts, log_likelihood in token_batches(corpus, means):
        weights = np.repeat(cluster[groups], sizes[groups], axis=0)
        share = weights / np.repeat(sizes[groups], sizes[groups])[:, None]
        topics = np.zeros_like(log_likelihood)
        for k in np.flatnonzero((weights > MIN_PROBABILITY).any(axis=0)):
            rows = weights[:, k] > MIN_PROBABILITY
            log_joint = log_likelihood[rows] + log_shares[k]
            topics[rows] += share[rows, k, None] * softmax(log_joint, axis=1)
        result[groups] = counts @ topics
    return result


SIMILARITY_CUTOFF = 0.7  # of `difflib`; "yaer" and "years" are similar enough to "year"


def align(posterior: Posterior, corpus: Corpus) -> Corpus:
    """Return the corpus with the vocabulary and the context categories of training.

    Words unseen in training are dropped, categories unseen in training become missing values, and
    contexts unknown to the model are ignored.
    """
    width = posterior.priors.content.n_dimensions
    if corpus.levels and posterior.units:
        corpus = with_contexts_at_levels_of_model(posterior, corpus)
    return corpus.aligned_to(posterior.vocabulary, posterior.contexts, width)


def with_contexts_at_levels_of_model(posterior: Posterior, corpus: Corpus) -> Corpus:
    """Return the corpus with every context at the level of that context in the model."""
    contexts_of_level: dict[str | None, list[str]] = {None: list(posterior.contexts)}
    contexts_of_level |= {units.name: list(units.contexts) for units in posterior.units}
    columns, levels = move_contexts_to_levels(corpus.contexts, corpus.levels, contexts_of_level)
    placed = corpus.with_contexts(columns)
    placed.levels = levels
    return placed


def check_names(posterior: Posterior, corpus: Corpus) -> None:
    """Raise an error for context names that look misspelt, which would otherwise be ignored.

    Additional contexts are allowed. A name counts as misspelt if it is unknown to the model and
    similar to a context that the corpus lacks, or if the corpus lacks all of them.
    """
    expected, found = list(posterior.contexts), list(corpus.contexts)
    lacking = {str(name).casefold(): name for name in expected if name not in found}
    cutoff = 0.0 if found and len(lacking) == len(expected) else SIMILARITY_CUTOFF
    for name in found:
        similar = get_close_matches(str(name).casefold(), lacking, n=1, cutoff=cutoff)
        if name not in expected and similar:
            raise InputError(
                f"contexts must have the names used in training, got {name!r} but no "
                f"{lacking[similar[0]]!r}"
            )


def check_width(posterior: Posterior, corpus: Corpus, n_features: int) -> None:
    """Raise an error if the width of vectors differs from training; Python families accept any."""
    if posterior.priors.content.kernel is None or not isinstance(corpus.content, Vectors):
        return
    width = corpus.content.width
    if width != n_features:
        raise InputError(
            f"X has {width} features, but MC2 is expecting {n_features} features as input"
        )

"""Topics without clusters: a hierarchical Dirichlet process, by blocked and collapsed sweeps.

    ε ~ GEM(η),   θ_j ~ DP(v, ε),   l_ji ~ θ_j,   w_ji ~ ψ_{l_ji}

This is the model with one cluster of varying groups, τ = ε and λ = v, and it has the same token
step: p(l_ji = m) ∝ (n_jm + v ε_m) ψ_mw, a group's weights integrated out. In the state, ``lam`` is
therefore this model's v, and only row 0 of the tables is used.
"""

import dataclasses
import math

import numpy as np

from mcsquared.arrays import Int32s, Integers
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import initial_value
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.content.groups import sweep_groups
from mcsquared.samplers.init.assignments import blocked_state
from mcsquared.samplers.init.surplus_topics import SURPLUS_CHAIN, without_surplus_topics
from mcsquared.samplers.steps.collapsed import COLLAPSED_CHAIN, MAX_COLLAPSED_TOKENS, PERIOD
from mcsquared.samplers.steps.concentrations import resample_lam, resample_root
from mcsquared.samplers.steps.contexts import draw_contexts
from mcsquared.samplers.steps.globals import begin_content, begin_word_content
from mcsquared.samplers.steps.groups import update_counts
from mcsquared.samplers.steps.slots import add_empty_slots
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.steps.topics import draw_topics_in_turn
from mcsquared.samplers.steps.weights import topic_weights_with_tail
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Globals, GroupTask, Key, Labels, Sweep, Weights
from mcsquared.state import Bounds, State, TopicLabels, count

MAX_HDP_SWEEPS = 400
MAX_HDP_TOKENS_VISITED = 20_000_000  # tokens × sweeps, unless `MIN_SWEEPS` are more
MAX_COLLAPSED_TOKENS_VISITED = 5_000_000  # the same if every sweep is followed by a collapsed one
TOKENS_PER_SWEEP = 50  # a small corpus gets one sweep per 50 tokens
MIN_SWEEPS = 20  # of a large corpus
MIN_TEXT_VOCABULARY = 1000  # distinct words; fewer are, for example, features of images
MAX_HALVINGS = 2  # times that counts are halved in the first sweeps of a large corpus of text
HDP_INIT_CHAIN = 2**29  # offset of the chain number: no sweep of a chain draws the same numbers


def sweep(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds,
    threads: ThreadPool = SINGLE_THREAD,
    n_halved: int = 0,
) -> None:
    """Draw ψ, then the topics of all groups independently, then tables, v, η and ε.

    For ψ, counts of words are halved ``n_halved`` times, so that it varies more.
    """
    state.sweep += 1
    key = Key(seed, chain, state.sweep)
    sweep = Sweep(state, observations, priors, bounds, key, threads=threads)
    add_empty_slots(sweep)
    if n_halved:
        words = state.counts.words_in_topic >> n_halved
        finish_content = begin_word_content(words, priors.beta, key, threads)
    else:
        finish_content = begin_content(sweep)
    weights = _weights(sweep)
    contexts = draw_contexts(sweep)
    content, _ = finish_content(weights, state.lam)
    globals_ = Globals(key, state.lam, weights, contexts, content)
    labels = Labels(state.cluster_of_group, state.topic_of_token)
    task = GroupTask(observations, labels, globals_, threads)
    update_counts(state, sweep_groups(task, state.counts.words_in_topic))
    _resample_concentrations(sweep)


def _weights(sweep: Sweep) -> Weights:
    """Return the weights of a single cluster, which are those of the root."""
    topics = topic_weights_with_tail(sweep)
    n_cluster_slots = len(sweep.state.counts.groups_in_cluster)
    log_cluster_weights = np.full(n_cluster_slots, -np.inf)
    log_cluster_weights[0] = 0.0
    with np.errstate(divide="ignore"):
        return Weights(topics, log_cluster_weights, np.tile(np.log(topics), (n_cluster_slots, 1)))


def is_collapsed_sweep_due(state: State, observations: Observations) -> bool:
    """Return whether `collapsed_sweep` comes next: few tokens, of a family with a kernel."""
    few = 0 < observations.n_tokens <= MAX_COLLAPSED_TOKENS and observations.python_content is None
    in_every_sweep = observations.n_words > 0 or observations.has_wide_vectors
    return few and (in_every_sweep or state.sweep % PERIOD == 0)


def collapsed_sweep(
    state: State, observations: Observations, priors: Priors, seed: int, chain: int, bounds: Bounds
) -> None:
    """Draw the topic of one token after another, ψ integrated out, then tables, v, η and ε.

    This is slower, but new topics are drawn given a token, while `sweep` draws them from the prior.
    Both leave the posterior invariant (`sweep`, if no counts are halved). For the collapsed kernel,
    every group is its own cluster.
    """
    key = Key(seed, COLLAPSED_CHAIN + chain, state.sweep)
    sweep = Sweep(state, observations, priors, bounds, key)
    n_cluster_slots = len(state.counts.groups_in_cluster)
    groups = np.arange(observations.n_groups, dtype=np.int32)
    state.topic_of_token = state.topic_of_token.astype(np.int32)
    _count(sweep, groups, len(groups))
    draw_topics_in_turn(sweep, groups, state.lam)
    prior = state.lam * state.topic_weights
    tables = draw_tables(state.counts.topics_in_cluster, prior, key)
    _count(sweep, state.cluster_of_group, n_cluster_slots)
    state.topic_of_token = state.topic_of_token.astype(np.uint16)
    state.tables_in_cluster = np.zeros((n_cluster_slots, len(prior)), np.int32)
    state.tables_in_cluster[0] = tables.sum(axis=0)
    _resample_concentrations(sweep)


def _count(sweep: Sweep, clusters: Int32s, n_cluster_slots: int) -> None:
    """Recount the state, given the cluster of each group."""
    state = sweep.state
    slots = (n_cluster_slots, len(state.topic_weights))
    state.counts = count(sweep.observations, clusters, state.topic_of_token, *slots)


def _resample_concentrations(sweep: Sweep) -> None:
    """Draw v, η and ε, given the groups' tables."""
    resample_lam(sweep)
    tables = sweep.state.tables[0].astype(np.int64)
    resample_root(sweep.state, tables, sweep.priors, sweep.key)


def topics_without_clusters(
    observations: Observations,
    priors: Priors,
    topics: Integers,
    seed: int,
    chain: int,
    bounds: Bounds,
    n_sweeps: int | None = None,
    dissolve: bool = False,
) -> TopicLabels:
    """Return the topics of tokens after ``n_sweeps`` (or `sweeps_for`) sweeps without clusters.

    ``topics`` are the initial topics. If ``dissolve``, surplus topics of a small corpus are
    dissolved after the sweeps.

    When all groups of a cluster share one mixture (λ = ∞), blends of topics fit a cluster as well
    as the topics themselves, and moves of a few tokens do not separate them. Groups with individual
    topic shares do. For `identifiable_letters`, the cosine to the true topics rises from 0.75 to
    0.94 (docs/engine.md).

    Tempered sweeps (`are_sweeps_tempered`) divide counts by 4, 2 and 1 when ψ is drawn, in one
    third of the sweeps each. Topics then settle later, and predict better.
    """
    observations = observations.without_contexts()  # they matter only for clusters
    one_level = dataclasses.replace(priors, lam=priors.v)
    key = Key(seed, HDP_INIT_CHAIN + chain, 0)
    one_cluster = np.zeros(observations.n_groups, np.int64)
    rng = key.generator(Step.START)
    state = blocked_state(observations, one_level, one_cluster, topics, rng)
    arguments = (observations, one_level, *key[:2], Bounds(1, bounds.topics))
    n_sweeps = sweeps_for(observations.n_tokens) if n_sweeps is None else n_sweeps
    is_tempered = are_sweeps_tempered(observations, priors)
    for number in range(n_sweeps):
        n_halved = MAX_HALVINGS - (MAX_HALVINGS + 1) * number // n_sweeps if is_tempered else 0
        sweep(state, *arguments, n_halved=n_halved)
        if is_collapsed_sweep_due(state, observations):
            collapsed_sweep(state, *arguments)
    if not (dissolve and observations.n_words and observations.n_tokens <= MAX_COLLAPSED_TOKENS):
        return state.topic_of_token
    key = Key(seed, SURPLUS_CHAIN + chain, 0)
    topics = state.topic_of_token
    return without_surplus_topics(observations, topics, state.lam, priors.beta, key)


def are_sweeps_tempered(observations: Observations, priors: Priors) -> bool:
    """Return whether λ is finite and the text is too long for collapsed sweeps."""
    is_text = observations.n_words >= MIN_TEXT_VOCABULARY
    groups_vary = not math.isinf(initial_value(priors.lam))
    return groups_vary and is_text and observations.n_tokens > MAX_COLLAPSED_TOKENS


def sweeps_for(n_tokens: int) -> int:
    """Return the number of sweeps for a corpus of ``n_tokens`` tokens.

    Surplus topics disappear in these sweeps, because no clusters keep them in use and, if there are
    few tokens, ψ is integrated out.
    """
    affordable = (
        MAX_COLLAPSED_TOKENS_VISITED if n_tokens <= MAX_COLLAPSED_TOKENS else MAX_HDP_TOKENS_VISITED
    )
    n_affordable = max(affordable // max(n_tokens, 1), MIN_SWEEPS)
    return min(n_affordable, n_tokens // TOKENS_PER_SWEEP, MAX_HDP_SWEEPS)

"""A collapsed sweep after a blocked one, for small data with λ = ∞.

The blocked sampler opens a cluster or a topic by a draw from its prior, which rarely fits. The
collapsed one opens them for a group or a token, parameters integrated out, and merges similar
clusters sooner. Both leave the posterior invariant, and so does running one after the other: τ and
ψ are drawn given the counts, a topic for every token is drawn given τ and ψ, and the collapsed
sampler continues from there.
"""

import math

import numpy as np

from mcsquared.arrays import Int32s
from mcsquared.families.numerics import draw_columns
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.background import with_outliers
from mcsquared.samplers.steps.clusters import resample_clusters_in_turn
from mcsquared.samplers.steps.concentrations import resample_collapsed_concentrations
from mcsquared.samplers.steps.context_priors import resample_context_priors
from mcsquared.samplers.steps.psi import begin_psi
from mcsquared.samplers.steps.slots import add_empty_slots
from mcsquared.samplers.steps.tables import draw_collapsed_tables
from mcsquared.samplers.steps.topics import resample_topics_in_turn
from mcsquared.samplers.steps.weights import draw_weights
from mcsquared.samplers.steps.word_moves import move_topics_by_word
from mcsquared.samplers.types import Sweep, Weights
from mcsquared.state import count

COLLAPSED_MOVES = (
    resample_clusters_in_turn,
    resample_topics_in_turn,
    draw_collapsed_tables,
    resample_collapsed_concentrations,
    resample_context_priors,
)

MAX_COLLAPSED_TOKENS = 100_000
FIRST_SWEEPS = 100  # blocked sweeps that are each followed by a collapsed one
PERIOD = 3  # later blocked sweeps per collapsed sweep, which costs as much as several of them
COLLAPSED_CHAIN = 2**30  # offset of the chain number: no blocked sweep draws the same numbers
MIN_WEIGHT = 1e-300
TOKENS_PER_BATCH = 4096


def is_collapsed_step_due(sweep: Sweep) -> bool:
    """Return whether a collapsed sweep follows this one: λ = ∞, few tokens, and due now.

    With levels above groups there is none: the collapsed sampler ignores them.
    """
    state, observations = sweep.state, sweep.observations
    if state.levels:
        return False
    is_small = observations.n_words > 0 and observations.n_tokens <= MAX_COLLAPSED_TOKENS
    is_due = state.sweep <= FIRST_SWEEPS or state.sweep % PERIOD == 0
    return is_small and observations.sampled is None and math.isinf(state.lam) and is_due


def collapsed_step(sweep: Sweep) -> None:
    """Draw a topic for every token and run the moves of the collapsed sampler, if they are due."""
    if is_collapsed_step_due(sweep):
        sweep.backend.save_labels(sweep.state)
        run_collapsed_moves(sweep)
        sweep.backend.load_labels(sweep.state, sweep.key)


def run_collapsed_moves(sweep: Sweep) -> None:
    """Draw a topic for every token, then run the moves of the collapsed sampler once."""
    state, observations = sweep.state, sweep.observations.in_memory()
    if observations.background_columns:
        clusters, drawn = state.cluster_of_group, sweep.globals.contexts
        observations = with_outliers(observations, clusters, drawn, sweep.key, sweep.threads)
    key = sweep.key._replace(chain=COLLAPSED_CHAIN + sweep.key.chain)
    collapsed = Sweep(state, observations, sweep.priors, sweep.bounds, key)
    add_empty_slots(collapsed)
    weights = draw_weights(collapsed)
    topics = draw_token_topics(collapsed, weights)
    slots = state.counts.topics_in_cluster.shape
    state.topic_of_token = topics
    state.counts = count(observations, state.cluster_of_group, topics, *slots)
    # A new topic keeps its weight; the empty ones share the rest.
    occupied = state.counts.tokens_in_topic > 0
    if not occupied.all():
        rest = float(weights.topic_weights[~occupied].sum())
        state.log_unused[0] = math.log(max(rest, MIN_WEIGHT))
    state.topic_weights = np.where(occupied, weights.topic_weights, 0.0)
    for move in (move_topics_by_word, *COLLAPSED_MOVES):
        move(collapsed)
    state.topic_of_token = np.zeros(0, np.uint16)


def draw_token_topics(sweep: Sweep, weights: Weights) -> Int32s:
    """Draw l_ji ∝ τ_km ψ_mw with ψ_m ~ Dir(β + n_m), empty topics included."""
    observations = sweep.observations
    words, beta = sweep.state.counts.words_in_topic, sweep.priors.beta
    variates, sums = begin_psi(words, beta, sweep.key, sweep.threads)()
    word_given_topic = variates / sums
    share = np.exp(weights.log_shares)
    rng = sweep.key.generator(Step.TOPICS)
    cluster = np.repeat(sweep.state.cluster_of_group, np.diff(observations.group_start))
    topics = np.empty(observations.n_tokens, np.int32)
    for first in range(0, observations.n_tokens, TOKENS_PER_BATCH):
        part = slice(first, min(first + TOKENS_PER_BATCH, observations.n_tokens))
        products = share[cluster[part]] * word_given_topic[observations.word[part]]
        topics[part] = draw_columns(products, rng)
    return topics

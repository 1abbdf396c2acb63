"""Initial clusters: a Dirichlet process mixture over contexts and words, without topics."""

import dataclasses

import numpy as np

from mcsquared.arrays import Int32s, Int64s, Integers, Rng
from mcsquared.kernels.cpu.contexts import BagContexts
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.init.assignments import at_most, state_from_assignments
from mcsquared.samplers.steps.clusters import resample_clusters_in_turn
from mcsquared.samplers.steps.context_priors import resample_context_priors
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import Bounds

MAX_MIXTURE_SWEEPS = 20
TOLERANCE = 0.02  # the mixture has converged when a smaller share of groups moves in a sweep
MAX_MIXTURE_CLUSTERS = 50  # the chain can add more
WORDS_PER_GROUP = 200  # with a thousand words, each group would be its own cluster
MIXTURE_CHAIN = 2**31  # offset of the chain number: no sweep of a chain draws the same numbers


def cluster_whole_groups(
    observations: Observations,
    priors: Priors,
    clusters: Integers,
    seed: int,
    chain: int,
    bounds: Bounds,
) -> Int32s:
    """Return clusters from a Dirichlet process mixture over contexts and whole groups of words.

    The words of a group are one more bag, so that a cluster is a distribution over words instead
    of topics. This mixes in a few sweeps. Content other than words is ignored.
    """
    key = Key(seed, MIXTURE_CHAIN + chain, 0)
    rng = key.generator(Step.START)
    mixture = without_topics(observations, priors, rng)
    state = state_from_assignments(mixture, priors, clusters, np.zeros(0, np.int64), rng)
    mixture_bounds = Bounds(at_most(MAX_MIXTURE_CLUSTERS, bounds.clusters))
    for _ in range(MAX_MIXTURE_SWEEPS):
        before = state.cluster_of_group.copy()
        state.sweep += 1
        key = key._replace(sweep=state.sweep)
        sweep = Sweep(state, mixture, priors, mixture_bounds, key)
        resample_clusters_in_turn(sweep)
        resample_context_priors(sweep)
        if (state.cluster_of_group != before).mean() < TOLERANCE:
            break
    return state.cluster_of_group


def without_topics(observations: Observations, priors: Priors, rng: Rng) -> Observations:
    """Return the same groups without tokens; a sample of their words becomes a bag context."""
    bags, families = observations.bags, observations.bag_families
    if observations.n_words:
        n_words, n_groups = observations.n_words, observations.n_groups
        group, word = _sample_words(observations, rng)
        cells, counts = np.unique(group * n_words + word, return_counts=True)
        start = np.searchsorted(cells // n_words, np.arange(n_groups + 1))
        concentration, size = priors.content.kernel_parameters()
        category = cells % n_words + observations.n_categories
        bags = BagContexts(
            start=np.vstack([bags.start, start + len(bags.category)]),
            category=np.append(bags.category, category).astype(np.int32),
            count=np.append(bags.count, counts).astype(np.int32),
            shapes=np.append(bags.shapes, np.full(int(size), concentration)),
            smoothing=np.append(bags.smoothing, concentration * size),
        )
        families = [*families, priors.content]
    return dataclasses.replace(
        observations,
        group_start=np.zeros_like(observations.group_start),
        word=np.zeros(0, np.int32),
        n_words=0,
        values=np.zeros((0, 0)),
        content_kernel=-1,
        python_content=None,
        bags=bags,
        bag_families=families,
    )


def _sample_words(observations: Observations, rng: Rng) -> tuple[Int64s, Int32s]:
    """Return the group and word of at most WORDS_PER_GROUP random tokens of each group."""
    # Group by group: an array over all tokens would be the largest of a fit.
    sizes = np.diff(observations.group_start)
    taken = np.minimum(sizes, WORDS_PER_GROUP)
    chosen = np.empty(int(taken.sum()), np.int64)
    first = 0
    for begin, size, n_taken in zip(observations.group_start, sizes, taken, strict=False):
        positions = rng.choice(size, n_taken, replace=False, shuffle=False)
        chosen[first : first + n_taken] = begin + positions
        first += n_taken
    return np.repeat(np.arange(observations.n_groups), taken), observations.word[chosen]

"""Theorem 4: the model without contents, and without contexts, is a model that is known."""

from collections import defaultdict
from math import exp, lgamma, log

import numpy as np
import pytest

from tests.statistics import agreement
from tests.statistics.corpora import ALPHA, ETA, V, no_content, no_contexts
from tests.statistics.tiny import Posterior, partitions


def normalised(table):
    total = sum(table.values())
    return {key: weight / total for key, weight in table.items()}


def distance_of(first, second):
    return 0.5 * sum(abs(first[key] - second[key]) for key in first)


def seen_partitions(tiny, n_sweeps, seed):
    """Frequencies of the partitions of the groups along a chain."""
    visits = agreement.run(tiny, n_sweeps, seed)
    seen = defaultdict(float)
    for number, n in enumerate(np.bincount(visits.number_in_sweep, minlength=len(visits.states))):
        seen[visits.states[number][0]] += n / n_sweeps
    return seen, agreement.distance(visits, agreement.partition).expected


def dirichlet_process_mixture(tiny):
    """The posterior of a DP mixture over contexts: predictive after predictive, no content."""
    table = {}
    for labels in partitions(tiny.corpus.n_groups):
        value = 0.0
        for k in set(labels):
            value += log(ALPHA) + lgamma(labels.count(k))
        for name, column in tiny.corpus.contexts.items():
            family = tiny.priors.contexts[name]
            column = column.convert_for(family)
            x = column.observations()
            statistics = defaultdict(lambda family=family: np.zeros((1, family.n_stats)))
            for i, j in enumerate(np.flatnonzero(column.observed)):
                value += family.log_predictive(x[i : i + 1], statistics[labels[j]])[0, 0]
                statistics[labels[j]] = statistics[labels[j]] + family.statistics(x[i : i + 1])
        table[labels] = exp(value)
    return normalised(table)


def nested_mixture_with_shared_atoms(tiny, n_draws, seed):
    """The same for a nested DP mixture with shared atoms, from its sticks: no restaurants.

    Q0 = Σ ε_m δ(ψ_m), Q*_k = Σ τ_km δ(ψ_m); the tokens of all groups of a cluster are draws from
    Q*_k. The likelihood of a partition is an average over draws of the measures.
    """
    rng, n_atoms = np.random.default_rng(seed), 40
    counts = tiny.corpus.content.counts.toarray()
    n_groups, n_words = counts.shape
    beta = tiny.priors.content.concentration
    sticks = rng.beta(1.0, ETA, (n_draws, n_atoms))
    sticks[:, -1] = 1.0
    rest = np.cumprod(np.hstack([np.ones((n_draws, 1)), 1 - sticks[:, :-1]]), axis=1)
    weights = sticks * rest
    word_given_atom = rng.dirichlet(np.full(n_words, beta), (n_draws, n_atoms))
    likelihood = []
    for _ in range(n_groups):
        gammas = rng.gamma(V * weights)
        topic_weights = gammas / gammas.sum(axis=1, keepdims=True)
        log_word = np.log(np.einsum("dm,dmw->dw", topic_weights, word_given_atom))
        # One measure can be any cluster's: keep the likelihood of every set of groups under it.
        likelihood.append(log_word @ counts.T)
    table = {}
    for labels in partitions(n_groups):
        log_seating = sum(log(ALPHA) + lgamma(labels.count(k)) for k in set(labels))
        value = sum(likelihood[k][:, j] for j, k in enumerate(labels))
        table[labels] = exp(log_seating) * np.exp(value).mean()
    return normalised(table)


def check_contents_left_out(n_sweeps, allowance):
    expected = dirichlet_process_mixture(no_content())
    seen, chance = seen_partitions(no_content(), n_sweeps, seed=4)
    distance = distance_of(expected, seen)
    assert distance < allowance + 2 * chance
    return distance


def check_contexts_left_out(n_sweeps, n_draws, allowance):
    expected = nested_mixture_with_shared_atoms(no_contexts(), n_draws, seed=1)
    seen, chance = seen_partitions(no_contexts(), n_sweeps, seed=4)
    distance = distance_of(expected, seen)
    assert distance < allowance + 2 * chance
    return distance


def test_without_contents_groups_follow_a_dirichlet_process_mixture():
    check_contents_left_out(n_sweeps=5000, allowance=0.03)


def test_without_contexts_groups_follow_a_nested_mixture_with_shared_atoms():
    check_contexts_left_out(n_sweeps=5000, n_draws=20_000, allowance=0.03)


def test_the_table_of_the_enumeration_is_the_nested_mixtures():
    """Two derivations of one distribution: summed over tables, and drawn from sticks."""
    expected = nested_mixture_with_shared_atoms(no_contexts(), n_draws=20_000, seed=2)
    table = defaultdict(float)
    for (clusters, _), chance in Posterior(no_contexts()).states.items():
        table[clusters] += chance
    assert distance_of(expected, table) < 0.01


@pytest.mark.calibrate
def test_without_contents_a_long_chain_is_a_dirichlet_process_mixture(calibration):
    distance = check_contents_left_out(n_sweeps=100_000, allowance=0.01)
    calibration("theorem 4: no contents, DP mixture", n=100_000, total_variation=distance)


@pytest.mark.calibrate
def test_without_contexts_a_long_chain_is_a_nested_mixture(calibration):
    distance = check_contexts_left_out(n_sweeps=100_000, n_draws=300_000, allowance=0.01)
    calibration("theorem 4: no contexts, nested DP mixture", n=100_000, total_variation=distance)

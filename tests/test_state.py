"""Counts follow from assignments, and slots grow without moving anything."""

import copy
from dataclasses import fields

import numpy as np
import pytest

from mcsquared.state import SLOT_STEP, Counts, slots_for
from tests.oracles.counts import differences, recount
from tests.samplers.cases import CASES, every_case


@every_case
def test_counts_are_what_a_loop_counts(case):
    observed, state = case.observations, case.start()
    counts = state.counts
    for k in range(len(counts.groups_in_cluster)):
        groups = np.flatnonzero(state.cluster_of_group == k)
        assert counts.groups_in_cluster[k] == len(groups)
        tokens = [i for j in groups for i in range(*observed.group_start[j : j + 2])]
        assert counts.tokens_in_cluster[k] == len(tokens)
        np.testing.assert_array_equal(
            counts.topics_in_cluster[k],
            np.bincount(state.topic_of_token[tokens], minlength=len(state.topic_weights)),
        )
    for m in range(len(counts.tokens_in_topic)):
        tokens = np.flatnonzero(state.topic_of_token == m)
        assert counts.tokens_in_topic[m] == len(tokens)
        if observed.n_words:
            np.testing.assert_array_equal(
                counts.words_in_topic[:, m],
                np.bincount(observed.word[tokens], minlength=observed.n_words),
            )


@every_case
def test_context_statistics_are_those_of_the_families(case):
    observed, state = case.observations, case.start()
    columns = case.priors.columns(case.corpus)
    n_slots = len(state.counts.groups_in_cluster)
    dense = category = 0
    for name, family in case.priors.contexts.items():
        column = columns[name]
        labels = state.cluster_of_group[column.observed]
        expected = family.statistics_by_cluster(column.observations(), labels, n_slots)
        if family.kernel == "dirichlet":
            found = state.counts.category_counts[:, category : category + family.n_stats]
            category += family.n_stats
        else:
            found = state.counts.context_statistics[:, dense : dense + family.n_stats]
            dense += family.n_stats
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert state.counts.context_statistics.shape[1] == dense
    assert state.counts.category_counts.shape[1] == category
    assert observed.n_categories == category


@every_case
def test_growing_moves_nothing(case):
    state = case.start()
    before = copy.deepcopy(state)
    state.grow_clusters()
    state.grow_topics()
    assert differences(state.counts, recount(state, case.observations)) == []
    assert (state.n_clusters, state.n_topics) == (before.n_clusters, before.n_topics)
    n, m = before.counts.topics_in_cluster.shape
    assert state.counts.topics_in_cluster.shape == (2 * n, 2 * m)
    np.testing.assert_array_equal(
        state.counts.topics_in_cluster[:n, :m], before.counts.topics_in_cluster
    )
    np.testing.assert_array_equal(state.topic_weights[:m], before.topic_weights)
    assert not state.topic_weights[m:].any()
    for entry in fields(Counts):
        array = getattr(state.counts, entry.name)
        assert array.flags.c_contiguous
        assert array.dtype == getattr(before.counts, entry.name).dtype


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100, 12345])
def test_slots_have_room_and_come_in_lanes(n):
    assert slots_for(n) > n
    assert slots_for(n) % SLOT_STEP == 0
    assert slots_for(n) <= max(2 * SLOT_STEP, 1.25 * n + SLOT_STEP)


@pytest.mark.parametrize("name", [entry.name for entry in fields(Counts)])
def test_a_difference_is_named(name):
    case = CASES["multivariate"] if name == "topic_statistics" else CASES["words_all_contexts"]
    state = case.start()
    other = copy.deepcopy(state.counts)
    assert differences(state.counts, other) == []
    array = getattr(other, name)
    array[(0,) * array.ndim] += 1
    assert differences(state.counts, other) == [name]


def test_floats_may_differ_in_the_last_digits_only():
    state = CASES["multivariate"].start()
    other = copy.deepcopy(state.counts)
    other.topic_statistics *= 1 + 1e-12
    assert differences(state.counts, other) == []
    other.topic_statistics[:] = 1e6
    state.counts.topic_statistics[:] = 1e6 * (1 + 1e-8)
    assert differences(state.counts, other) == ["topic_statistics"]
    other.topic_statistics = other.topic_statistics[:-1]
    assert differences(state.counts, other) == ["topic_statistics"]

"""The collapsed sampler keeps its counts, its bounds and its promise of reproducibility."""

import copy
import dataclasses

import numpy as np
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.samplers.sweep import COLLAPSED
from mcsquared.state import Bounds, Counts
from tests.oracles.counts import differences, recount
from tests.samplers.cases import CASES, Case, every_case


def run(case, n_sweeps, seed=3, chain=0, state=None, **options):
    """Sweep and return the labels of every sweep."""
    observations = case.observations
    state = case.start(seed, chain) if state is None else state
    labels = []
    for _ in range(n_sweeps):
        COLLAPSED.sweep(state, observations, case.priors, seed, chain, **options)
        labels.append(np.concatenate([state.cluster_of_group, state.topic_of_token]))
    return np.array(labels), state


def with_slots(state, n_clusters, n_topics):
    """The same state with this many slots."""
    state = copy.deepcopy(state)
    counts = state.counts

    def resized(array, *axes):
        for axis, size in axes:
            array = np.take(array, range(min(size, array.shape[axis])), axis)
            widths = [(0, 0)] * array.ndim
            widths[axis] = (0, size - array.shape[axis])
            array = np.ascontiguousarray(np.pad(array, widths))
        return array

    rows, columns = (0, n_clusters), (1, n_topics)
    state.topic_weights = resized(state.topic_weights, (0, n_topics))
    state.counts = Counts(
        groups_in_cluster=resized(counts.groups_in_cluster, rows),
        tokens_in_cluster=resized(counts.tokens_in_cluster, rows),
        topics_in_cluster=resized(counts.topics_in_cluster, rows, columns),
        tokens_in_topic=resized(counts.tokens_in_topic, (0, n_topics)),
        words_in_topic=resized(counts.words_in_topic, columns),
        topic_statistics=resized(counts.topic_statistics, (0, n_topics)),
        context_statistics=resized(counts.context_statistics, rows),
        category_counts=resized(counts.category_counts, rows),
        category_totals=resized(counts.category_totals, rows),
    )
    return state


@every_case
def test_counts_equal_a_recount_after_every_sweep(case):
    observations = case.observations
    state = case.start()
    for _ in range(40):
        COLLAPSED.sweep(state, observations, case.priors, 7, 1)
        assert differences(state.counts, recount(state, observations)) == []
        assert np.exp(state.log_unused[0]) + state.topic_weights.sum() == pytest.approx(1.0)
        np.testing.assert_array_equal(state.topic_weights > 0, state.counts.tokens_in_topic > 0)


@every_case
def test_slots_neither_change_the_draws_nor_the_counts(case):
    """A chain whose slots grow repeatedly has the draws of a chain with enough slots."""
    lively = dataclasses.replace(case.priors, alpha=30.0, v=20.0, eta=30.0)
    case = dataclasses.replace(case, priors=lively)
    begin = case.start(n_clusters=1, n_topics=1)
    narrow, small = run(case, 15, state=with_slots(begin, 1, 8))
    roomy, large = run(case, 15, state=with_slots(begin, 200, 200))
    np.testing.assert_array_equal(narrow, roomy)
    assert len(small.counts.groups_in_cluster) > 1
    if case.observations.n_tokens:
        assert len(small.topic_weights) > 8
    assert differences(small.counts, recount(small, case.observations)) == []
    assert differences(large.counts, recount(large, case.observations)) == []
    assert small.alpha == large.alpha
    np.testing.assert_array_equal(
        small.topic_weights, large.topic_weights[: len(small.topic_weights)]
    )


@every_case
def test_bounds_hold_and_are_reached(case):
    lively = dataclasses.replace(case.priors, alpha=30.0, v=20.0, eta=30.0)
    case = dataclasses.replace(case, priors=lively)
    observations = case.observations
    state = case.start(n_clusters=1, n_topics=1)
    reached = set()
    for _ in range(20):
        bounds = Bounds(clusters=3, topics=4)
        COLLAPSED.sweep(state, observations, case.priors, 7, 1, bounds)
        assert state.n_clusters <= 3
        assert state.n_topics <= 4
        reached.add((state.n_clusters, state.n_topics))
    assert (3, 4 if observations.n_tokens else 0) in reached
    assert differences(state.counts, recount(state, observations)) == []


def test_a_bound_of_one_leaves_one_cluster_and_one_topic():
    case = CASES["words_all_contexts"]
    labels, state = run(
        case,
        5,
        state=case.start(n_clusters=1, n_topics=1),
        bounds=Bounds(clusters=1, topics=1),
    )
    assert state.n_clusters == state.n_topics == 1
    assert len(np.unique(labels[-1])) == 1


@every_case
def test_the_same_seed_gives_the_same_draws_and_another_chain_others(case):
    first, state = run(case, 10)
    again, same = run(case, 10)
    np.testing.assert_array_equal(first, again)
    assert (state.alpha, state.v, state.eta) == (same.alpha, same.v, same.eta)
    np.testing.assert_array_equal(state.topic_weights, same.topic_weights)
    for other in ({"chain": 1}, {"seed": 4}):
        begin = case.start(3, 0)  # the same start, so that only the sweeps can differ
        assert (run(case, 10, state=begin, **({"seed": 3} | other))[0] != first).any()


@every_case
def test_a_copied_state_goes_on_as_if_nothing_had_happened(case):
    whole, _ = run(case, 12)
    first, state = run(case, 5)
    rest, _ = run(case, 7, state=copy.deepcopy(state))
    np.testing.assert_array_equal(np.vstack([first, rest]), whole)


def test_a_corpus_without_content_has_no_topics_and_all_root_weight_unused():
    case = CASES["no_content"]
    _, state = run(case, 5)
    assert state.n_topics == 0
    assert state.log_unused[0] == 0.0
    assert state.n_clusters > 0


@pytest.mark.parametrize("v", [1e14, 1e30])
def test_an_infinite_concentration_of_topics_makes_content_say_nothing_about_clusters(v):
    """With v → ∞ every cluster has the root's topic weights, so content cancels.

    Log-gammas of 1e14 are some 3e15, and their rounding errors must not decide;
    1e30 is the largest concentration.
    """
    with_content = CASES["words_fixed_concentrations"]
    contexts = {"year": with_content.corpus.contexts["year"]}
    nothing = sparse.csr_matrix((with_content.corpus.n_groups, 3), dtype=int)
    priors = dataclasses.replace(with_content.priors, v=v)
    with_content = dataclasses.replace(with_content, priors=priors)
    without = Case(Corpus(nothing, contexts=contexts), priors)
    n_groups = with_content.corpus.n_groups
    begin = [case.start(n_clusters=1, n_topics=3) for case in (with_content, without)]
    clusters = [
        run(case, 50, state=state)[0][:, :n_groups]
        for case, state in zip((with_content, without), begin, strict=True)
    ]
    np.testing.assert_array_equal(*clusters)
    assert len(np.unique(clusters[0])) > 1

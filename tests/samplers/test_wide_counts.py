"""Counts above 2³¹ − 1 are 64-bit, and have the same draws where 32 bits would do."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest

from mcsquared.kernels.cpu.gammas import draw_gamma_rows
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.steps.collapsed import collapsed_step
from mcsquared.samplers.steps.split_merge import split_and_merge_clusters
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key, add_sums
from tests.samplers.test_shards import words

LIMIT = 2**31 - 1
KEY = Key(3, 0, 1)


def test_sums_of_shards_become_64_bit_only_where_they_exceed_32():
    parts = [
        {"tokens": np.array([[LIMIT, 0]], np.int32), "groups": np.array([LIMIT - 2], np.int32)},
        {"tokens": np.array([[LIMIT, 7]], np.int32), "groups": np.array([2], np.int32)},
        {"tokens": np.array([[LIMIT, 7]], np.int32), "groups": np.array([0], np.int32)},
    ]
    sums = add_sums(parts)
    assert sums["tokens"].tolist() == [[3 * LIMIT, 14]]
    assert (sums["tokens"].dtype, sums["groups"].dtype) == (np.int64, np.int32)
    assert sums["groups"].tolist() == [LIMIT]


@pytest.mark.parametrize("lam", [math.inf, 2.0], ids=["shared", "varying"])
def test_64_bit_counts_have_the_draws_of_32_bit_counts(lam, monkeypatch):
    corpus = words()
    priors = Priors.for_corpus(corpus, lam=lam)
    given = (observe(corpus, priors), priors)
    state = BLOCKED.start(*given, 3, 0, "random", 5, 8)
    whole, wide = copy.deepcopy(state), copy.deepcopy(state)
    sampler = BLOCKED.without(collapsed_step)  # for few tokens only
    for _ in range(3):
        sampler.sweep(whole, *given, 3, 0)
    monkeypatch.setattr("mcsquared.samplers.types.add_counts", add_wide)
    monkeypatch.setattr("mcsquared.samplers.steps.groups.MAX_TOKENS", 10)
    backend = ShardedBackend(*given, 3)
    backend.load_labels(wide, Key(3, 0, 0))
    for _ in range(3):
        sampler.sweep(wide, *given, 3, 0, backend=backend)
    backend.save_labels(wide)
    np.testing.assert_array_equal(wide.cluster_of_group, whole.cluster_of_group)
    for name in ("topics_in_cluster", "words_in_topic", "category_counts"):
        found = getattr(wide.counts, name)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, getattr(whole.counts, name))
    np.testing.assert_array_equal(wide.tables, whole.tables)
    assert wide.log_joint == whole.log_joint


def add_wide(left, right):
    return np.add(left, right, dtype=np.int64)


class Multiplied(ShardedBackend):
    """Groups that count as four hundred million copies of themselves."""

    times = 400_000_000

    def sweep_groups(self, globals_):
        sums = super().sweep_groups(globals_)
        names = ("topics_in_cluster", "tables_in_cluster", "words_in_topic", "categories")
        return replace(
            sums, **{name: self.times * add_wide(getattr(sums, name), 0) for name in names}
        )


def test_a_chain_goes_on_with_counts_above_the_limit_of_32_bits():
    corpus = words()
    priors = Priors.for_corpus(corpus, lam=2.0)
    given = (observe(corpus, priors), priors)
    state = BLOCKED.start(*given, 3, 0, "random", 5, 8)
    backend = Multiplied(*given, 3)
    backend.load_labels(state, Key(3, 0, 0))
    sampler = BLOCKED.without(split_and_merge_clusters)
    for _ in range(3):
        sampler.sweep(state, *given, 3, 0, backend=backend)
    counts, n_tokens = state.counts, given[0].n_tokens
    assert counts.words_in_topic.max() > LIMIT
    assert counts.tokens_in_topic.sum() == counts.words_in_topic.sum() == n_tokens * backend.times
    assert math.isfinite(state.log_joint)
    assert (state.topic_weights[counts.tokens_in_topic > 0] > 0.0).all()


def test_variates_and_tables_follow_counts_above_the_limit():
    customers = np.full((8, 16), 5 * LIMIT, np.int64)
    variates = np.empty((8, 16), np.float32)
    draw_gamma_rows(0, 8, 16, customers.reshape(-1), 0.1, 11, KEY, False, variates.reshape(-1))
    np.testing.assert_allclose(variates, 5.0 * LIMIT, rtol=1e-3)  # a standard deviation is 1e-5
    concentration = np.full(16, 7.0)
    tables = draw_tables(customers, concentration, KEY)
    assert tables.dtype == np.int64
    # Σ a / (a + i) is about a ln(n / a) + 1/2, and the variance is smaller.
    mean = 7.0 * math.log(5.0 * LIMIT / 7.0) + 0.5
    assert abs(tables.mean() - mean) < 5.0 * math.sqrt(mean / tables.size)

"""Chinese restaurant processes have the laws they must have, in closed form."""

from collections import Counter
from math import inf

import numpy as np
import pytest

from mcsquared.datasets.simulate import chinese_restaurant, draw_assignments
from tests.statistics.tiny_gibbs import canonical, partitions, stirling


def assert_mean(draws, expected, n_errors=4.5):
    draws = np.asarray(draws, dtype=float)
    error = draws.std() / np.sqrt(draws.size)
    assert abs(draws.mean() - expected) <= n_errors * error + 1e-12


def assert_share(hits, n_draws, expected):
    assert abs(hits / n_draws - expected) < 4.5 * np.sqrt(expected * (1 - expected) / n_draws)


def rising(concentration, n):
    return np.prod(concentration + np.arange(n))


def table_law(n, concentration):
    weights = np.array(stirling(n), dtype=float) * concentration ** np.arange(n + 1.0)
    return weights / rising(concentration, n)


def expected_tables(n, concentration):
    return (concentration / (concentration + np.arange(n))).sum()


def test_every_partition_of_five_has_its_probability():
    n_draws, concentration, rng = 15_000, 1.3, np.random.default_rng(0)
    seen = Counter(
        tuple(chinese_restaurant(5, concentration, rng).tolist()) for _ in range(n_draws)
    )
    assert all(labels == canonical(labels) for labels in seen)
    for labels in partitions(5):
        sizes = np.bincount(labels)
        blocks = np.prod([rising(1.0, size - 1) for size in sizes])
        exact = concentration**sizes.size * blocks / rising(concentration, 5)
        assert_share(seen[labels], n_draws, exact)


@pytest.mark.parametrize("concentration", [0.05, 1.0, 40.0])
def test_the_number_of_tables_has_its_mean_and_variance(concentration):
    rng = np.random.default_rng(1)
    tables = np.array([chinese_restaurant(300, concentration, rng).max() + 1 for _ in range(1500)])
    opens = concentration / (concentration + np.arange(300))
    assert_mean(tables, opens.sum())
    assert tables.var() == pytest.approx((opens * (1 - opens)).sum(), rel=0.2)


def test_limits_of_the_concentration():
    rng = np.random.default_rng(2)
    assert chinese_restaurant(6, inf, rng).tolist() == [0, 1, 2, 3, 4, 5]
    assert (chinese_restaurant(1000, 1e-12, rng) == 0).all()
    assert chinese_restaurant(0, 1.0, rng).size == 0


def test_a_million_customers_are_seated():
    table = chinese_restaurant(1_000_000, 5.0, np.random.default_rng(3))
    assert_size = 5.0 * np.log(1_000_000 / 5.0)
    assert 0.4 * assert_size < table.max() + 1 < 2.0 * assert_size


ALPHA, V, ETA = 0.8, 1.7, 1.3


@pytest.fixture(scope="module", params=[inf, 2.5], ids=["paper", "groups vary"])
def restaurants(request):
    """Many draws of three groups of 4, 0 and 3 tokens."""
    rng, lengths = np.random.default_rng(4), np.array([4, 0, 3])
    draws = [draw_assignments(lengths, ALPHA, V, ETA, request.param, rng=rng) for _ in range(6_000)]
    return request.param, draws


def test_labels_are_without_gaps_and_tables_add_up(restaurants):
    _, draws = restaurants
    for draw in draws[:500]:
        n_clusters, n_topics = draw.tables.shape
        assert sorted(set(draw.cluster_of_group.tolist())) == list(range(n_clusters))
        assert sorted(set(draw.topic_of_token.tolist())) == list(range(n_topics))
        cluster = np.repeat(draw.cluster_of_group, [4, 0, 3])
        tokens = np.zeros_like(draw.tables)
        np.add.at(tokens, (cluster, draw.topic_of_token), 1)
        assert ((draw.tables > 0) == (tokens > 0)).all()
        assert (draw.tables <= tokens).all()


def test_the_number_of_clusters_has_its_mean(restaurants):
    _, draws = restaurants
    assert_mean([draw.cluster_of_group.max() + 1 for draw in draws], expected_tables(3, ALPHA))


def test_two_tokens_of_a_group_share_a_topic_as_the_corrected_formula_says(restaurants):
    lam, draws = restaurants
    in_cluster = (1 + ETA + V) / ((1 + V) * (1 + ETA))
    expected = in_cluster if lam == inf else (1 + lam * in_cluster) / (1 + lam)
    for i, j in ((0, 1), (0, 3), (4, 6)):
        hits = sum(draw.topic_of_token[i] == draw.topic_of_token[j] for draw in draws)
        assert_share(hits, len(draws), expected)


def test_two_tokens_of_two_groups_share_a_topic_as_the_corrected_formula_says(restaurants):
    _, draws = restaurants
    scale = (1 + ALPHA) * (1 + V)
    expected = 1 / scale + (V + ALPHA * (1 + V)) / scale / (1 + ETA)
    for i, j in ((0, 4), (3, 6)):
        hits = sum(draw.topic_of_token[i] == draw.topic_of_token[j] for draw in draws)
        assert_share(hits, len(draws), expected)


def test_tables_and_topics_of_one_group_have_their_means():
    """One group, λ = ∞: T tables of n tokens have the Stirling law, M topics are T's tables."""
    n, rng = 9, np.random.default_rng(5)
    draws = [draw_assignments(np.array([n]), ALPHA, V, ETA, rng=rng) for _ in range(5_000)]
    assert_mean([draw.tables.sum() for draw in draws], expected_tables(n, V))
    law = table_law(n, V)
    topics = sum(law[t] * expected_tables(t, ETA) for t in range(1, n + 1))
    assert_mean([draw.tables.shape[1] for draw in draws], topics)


def test_tables_and_topics_with_three_levels_have_their_means():
    n, lam, rng = 6, 2.0, np.random.default_rng(6)
    draws = [draw_assignments(np.array([n]), ALPHA, V, ETA, lam, rng=rng) for _ in range(5_000)]
    at_group = table_law(n, lam)
    in_cluster = np.zeros(n + 1)
    for guests in range(1, n + 1):
        in_cluster[: guests + 1] += at_group[guests] * table_law(guests, V)
    assert_mean([draw.tables.sum() for draw in draws], in_cluster @ np.arange(n + 1))
    topics = sum(in_cluster[t] * expected_tables(t, ETA) for t in range(1, n + 1))
    assert_mean([draw.tables.shape[1] for draw in draws], topics)


def test_given_the_counts_tables_follow_the_stirling_law_of_the_root_weights():
    """Three tokens of one cluster in one topic: p(T | M = 1) ∝ s(3, T) v^T η Γ(T) / (η)_T."""
    rng = np.random.default_rng(7)
    draws = [draw_assignments(np.array([3]), ALPHA, V, ETA, rng=rng) for _ in range(6_000)]
    tables = np.array([d.tables.sum() for d in draws if d.tables.shape[1] == 1])
    weights = np.array(
        [stirling(3)[t] * V**t * ETA * rising(1.0, t - 1) / rising(ETA, t) for t in (1, 2, 3)]
    )
    for t, expected in zip((1, 2, 3), weights / weights.sum(), strict=True):
        assert_share((tables == t).sum(), tables.size, expected)

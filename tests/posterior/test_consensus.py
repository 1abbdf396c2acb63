"""The search finds the partition with the smallest expected loss."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcsquared.errors import InputError
from mcsquared.evaluation import variation_of_information
from mcsquared.posterior.consensus import consensus, expected_loss, numbered_by_size

LOSSES = ("vi", "binder")


def all_partitions(n: int) -> list[np.ndarray]:
    """Return every partition of n groups, as restricted growth strings."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*part, label] for part in found for label in range(max(part) + 2)]
    return [np.array(part, np.int32) for part in found]


def least_loss(draws: np.ndarray, loss: str) -> float:
    """Return the smallest expected loss over all partitions."""
    parts = np.array(all_partitions(draws.shape[1]))
    indicator = np.eye(draws.shape[1])[parts]  # partitions × groups × clusters

    def phi(count: np.ndarray) -> np.ndarray:
        return count**2 if loss == "binder" else count * np.log(np.maximum(count, 1))

    total = np.zeros(len(parts))
    for draw in draws:
        other = np.eye(draws.shape[1])[draw]
        joint = np.einsum("pgc,gb->pcb", indicator, other)
        total += phi(indicator.sum(axis=1)).sum(axis=1) + phi(other.sum(axis=0)).sum()
        total -= 2 * phi(joint).sum(axis=(1, 2))
    n = draws.shape[1]
    return total.min() / (len(draws) * (n if loss == "vi" else max(n * (n - 1), 1)))


def noisy_draws(rng, truth, n_draws, noise):
    n_clusters = int(truth.max()) + 1
    shape = (n_draws, len(truth))
    draws = np.where(rng.random(shape) < noise, rng.integers(0, n_clusters, shape), truth)
    return np.array([rng.permutation(n_clusters)[draw] for draw in draws], np.int32)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_small_search_finds_the_best_of_all_partitions(loss):
    rng = np.random.default_rng(3)
    for _ in range(120):
        n, n_draws = rng.integers(1, 8), rng.integers(1, 9)
        draws = rng.integers(0, rng.integers(1, n + 1), (n_draws, n)).astype(np.int32)
        found = expected_loss(consensus(draws, loss), draws, loss)
        assert found == pytest.approx(least_loss(draws, loss), abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_draw_is_its_own_consensus(loss):
    draw = np.array([[4, 4, 0, 0, 0, 7, 7, 2]], np.int32)
    np.testing.assert_array_equal(consensus(draw, loss), numbered_by_size(draw[0]))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_known_structure_is_recovered_although_no_draw_has_it(loss):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), (50, 40, 30, 20, 10, 5))
    draws = noisy_draws(rng, truth, 60, 0.15)
    found = consensus(draws, loss)
    np.testing.assert_array_equal(found, truth)
    assert all(variation_of_information(draw, found) > 0.2 for draw in draws)


def test_two_large_clusters_that_most_draws_join_are_joined():
    """No move of a single group improves the loss."""
    halves = np.repeat([0, 1], 50)
    draws = np.array([halves] * 4 + [np.zeros(100)] * 6, np.int32)
    assert consensus(draws).max() == 0
    draws = np.array([halves] * 6 + [np.zeros(100)] * 4, np.int32)
    assert consensus(draws).max() == 1


def test_the_search_improves_on_every_draw():
    rng = np.random.default_rng(5)
    draws = noisy_draws(rng, rng.integers(0, 8, 200), 30, 0.4)
    for loss in LOSSES:
        found = expected_loss(consensus(draws, loss), draws, loss)
        assert found < min(expected_loss(draw, draws, loss) for draw in draws)


@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_no_worse_than_one_cluster(seed):
    """Draws halve some clusters at random: all clusters have to be merged to reduce the loss."""
    rng = np.random.default_rng(seed)
    draws = 2 * noisy_draws(rng, np.repeat(np.arange(6), 50), 20, 0.3)
    for draw in draws:
        draw += rng.integers(0, 2, draw.size) * (rng.random(6) < 0.5)[draw // 2]
        joined, other = rng.integers(0, 12, 2)
        draw[draw == joined] = other
    one = expected_loss(np.zeros(300, np.int32), draws)
    assert expected_loss(consensus(draws.astype(np.int32)), draws) <= one + 1e-12


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_result_does_not_depend_on_names_and_is_the_same_every_time(data):
    n = data.draw(st.integers(1, 12))
    n_draws = data.draw(st.integers(1, 6))
    labels = st.lists(st.integers(0, n - 1), min_size=n, max_size=n)
    draws = np.array([data.draw(labels) for _ in range(n_draws)], np.int32)
    first = consensus(draws)
    np.testing.assert_array_equal(first, consensus(draws))
    np.testing.assert_array_equal(first, numbered_by_size(first))
    renamed = np.array([(n - 1 - draw) for draw in draws], np.int32)
    np.testing.assert_array_equal(first, consensus(renamed))


def test_clusters_are_numbered_by_size_and_ties_by_first_group():
    labels = np.array([5, 9, 9, 2, 2, 7, 9], np.int32)
    np.testing.assert_array_equal(numbered_by_size(labels), [2, 0, 0, 1, 1, 3, 0])


def test_losses_have_their_known_values():
    first, second = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    assert variation_of_information(first, second) == pytest.approx(2 * np.log(2))
    assert variation_of_information(first, 1 - first) == 0.0
    # The partitions disagree on four of the six pairs.
    assert expected_loss(first, second[None], "binder") == pytest.approx(4 / 6)


def test_an_unknown_loss_is_rejected():
    with pytest.raises(InputError, match="'vi' or 'binder'"):
        consensus(np.zeros((2, 3), np.int32), "mse")


def test_memory_stays_linear_in_groups():
    """A matrix of 20,000 groups would take 400 MB with one byte per entry."""
    rng = np.random.default_rng(1)
    draws = noisy_draws(rng, rng.integers(0, 10, 20_000), 10, 0.05)
    consensus(draws[:, :100])  # compiled before the measurement
    tracemalloc.start()
    found = consensus(draws)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.max() == 9
    assert peak < 60e6


@pytest.mark.slow
def test_a_hundred_thousand_groups_take_less_than_a_minute():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 30, 100_000)
    draws = noisy_draws(rng, truth, 100, 0.2)
    consensus(draws[:, :100])
    start = time.process_time()
    found = consensus(draws)
    assert time.process_time() - start < 60
    assert variation_of_information(found, truth.astype(np.int32)) < 1e-3

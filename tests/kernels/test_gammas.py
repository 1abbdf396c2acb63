"""Gamma variates of whole tables and single ones, beside their distributions."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats

from mcsquared.checks import MAX_CONCENTRATION, MIN_CONCENTRATION
from mcsquared.kernels.cpu.gammas import (
    ROWS_PER_PASS,
    add_columns,
    draw_gamma_rows,
    draw_log_shares,
    log_gamma_draw,
    log_gamma_of_cell,
)
from mcsquared.kernels.rng import Step

KEY = (5, 2, 9)  # seed, chain, sweep
STEP = int(Step.CONTENT)
SHAPES = [0.003, 0.1, 0.7, 0.999, 1.0, 2.5, 40.0]


def draw(counts, shape, in_logs=False, bounds=None, step=STEP):
    counts = np.asarray(counts, np.int32)
    out = np.full(counts.shape, np.nan, np.float32)
    bounds = [0, len(counts)] if bounds is None else bounds
    for first, last in pairwise(bounds):
        draw_gamma_rows(
            first,
            last,
            counts.shape[1],
            counts.reshape(-1),
            shape,
            step,
            KEY,
            in_logs,
            out.reshape(-1),
        )
    return out


def chance_below(log_value, shape):
    """Return P(log X ≤ value), also where X is smaller than any float."""
    log_value = np.asarray(log_value, float)
    near_zero = np.exp(shape * np.minimum(log_value, -30) - special.gammaln(shape + 1.0))
    return np.where(log_value < -30, near_zero, special.gammainc(shape, np.exp(log_value)))


def some_counts(n_rows, n_columns=32, filled=0.3):
    rng = np.random.default_rng(4)
    counts = rng.choice([1, 2, 7, 90, 3000], (n_rows, n_columns))
    return np.where(rng.random(counts.shape) < filled, counts, 0).astype(np.int32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("filled", [0.0, 0.3])
def test_every_cell_has_its_distribution(shape, filled):
    counts = some_counts(400, filled=filled)
    chances = chance_below(draw(counts, shape, in_logs=True), shape + counts)
    for cells in (counts == 0, counts > 0):
        if cells.any():
            assert stats.kstest(chances[cells], "uniform").pvalue > 1e-4


@pytest.mark.parametrize("shape", SHAPES)
def test_variates_are_the_exponentials_of_their_logs(shape):
    counts = some_counts(40)
    values, logs = draw(counts, shape), draw(counts, shape, in_logs=True).astype(float)
    expected = np.where(logs < np.log(1e-20), 0.0, np.exp(logs))
    np.testing.assert_allclose(values, expected, rtol=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_cell_is_drawn_like_its_table(shape):
    counts = some_counts(9, 48)
    logs = draw(counts, shape, in_logs=True)
    flat = counts.reshape(-1)
    cells = [log_gamma_of_cell(i, flat[i], shape, STEP, KEY) for i in range(counts.size)]
    np.testing.assert_allclose(logs.reshape(-1), cells, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [0.1, 2.5])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 9, 23])
def test_fewer_rows_are_the_first_of_more(shape, n_rows):
    counts = some_counts(40, 16)
    expected = draw(counts, shape)
    np.testing.assert_array_equal(draw(counts[:n_rows], shape), expected[:n_rows])


@pytest.mark.parametrize("shape", [0.1, 2.5])
def test_any_split_of_the_rows_gives_the_same_table(shape):
    counts = some_counts(45, 48)
    expected = draw(counts, shape)
    for bounds in ([0, 8, 45], [0, 16, 24, 40, 45], [*range(0, 45, ROWS_PER_PASS), 45]):
        np.testing.assert_array_equal(draw(counts, shape, bounds=bounds), expected)


def test_no_row_outside_is_written():
    counts = some_counts(24, 16)
    out = np.full(counts.shape, np.nan, np.float32)
    arguments = (16, counts.reshape(-1), 0.1, STEP, KEY, False, out.reshape(-1))
    draw_gamma_rows(8, 13, *arguments)
    assert np.isfinite(out[8:13]).all()
    assert np.isnan(out[:8]).all()
    assert np.isnan(out[13:]).all()


def test_cells_that_hold_something_are_independent_of_the_others_tries():
    empty = draw(np.zeros((8, 32)), 0.7)
    counts = some_counts(8)
    found = draw(counts, 0.7)
    np.testing.assert_array_equal(found[counts == 0], empty[counts == 0])
    assert abs(stats.spearmanr(found[counts > 0], empty[counts > 0])[0]) < 0.5


def test_columns_are_summed_in_doubles_chunk_by_chunk():
    table = np.random.default_rng(1).random((9, 5)).astype(np.float32)
    sums = np.full((4, 5), 7.0)
    add_columns(1, 3, np.array([0, 2, 2, 7, 9]), table, sums)
    np.testing.assert_allclose(sums[2], table[2:7].astype(float).sum(axis=0), rtol=1e-14)
    assert (sums[1] == 0.0).all()
    assert (sums[[0, 3]] == 7.0).all()


@pytest.mark.parametrize("shape", [1e-5, 0.02, 0.6, 1.0, 3.0, 1e4])
def test_a_single_variate_has_its_distribution(shape):
    logs = [log_gamma_draw(shape, *KEY, STEP, i) for i in range(4000)]
    assert stats.kstest(chance_below(logs, shape), "uniform").pvalue > 1e-4


def log_shares(prior, counts, bounds=None):
    counts = np.asarray(counts, np.int32)
    out = np.full(counts.shape, np.nan)
    for first, last in pairwise(bounds or [0, len(counts)]):
        draw_log_shares(first, last, np.asarray(prior, float), counts, KEY, STEP, out)
    return out


def test_shares_of_a_cluster_have_a_dirichlet_distribution():
    prior, counts = np.array([0.02, 0.5, 0.0, 1.5]), np.tile([0, 2, 0, 1], (3000, 1))
    shares = np.exp(log_shares(prior, counts))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(shares[:, 2], 0.0)
    shape = prior + counts[0]
    for m in (0, 1, 3):
        marginal = stats.beta(shape[m], shape.sum() - shape[m])
        assert stats.kstest(marginal.cdf(shares[:, m]), "uniform").pvalue > 1e-4


def test_more_slots_leave_the_proportions_of_the_others():
    counts = some_counts(6, 16)
    few = log_shares(np.full(16, 0.2), counts)
    many = log_shares(np.full(32, 0.2), np.pad(counts, ((0, 16), (0, 16))))[:6, :16]
    np.testing.assert_allclose(many - many[:, :1], few - few[:, :1], rtol=1e-9, atol=1e-9)


def test_shares_are_the_same_on_any_split_and_however_small_the_prior():
    counts = np.zeros((5, 16), np.int32)
    counts[1, 3] = 4
    expected = log_shares(np.full(16, 1e-200), counts)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(log_shares(np.full(16, 1e-200), counts, [0, 1, 4, 5]), expected)
    np.testing.assert_allclose(np.exp(expected).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: draw(np.zeros((8, 32)), np.inf),
        lambda: draw(np.zeros((8, 32)), 1e39),  # infinite in float32
        lambda: draw_log_shares(
            0, 1, np.full(16, np.inf), np.zeros((1, 16), np.int32), KEY, STEP, np.zeros((1, 16))
        ),
        lambda: log_gamma_of_cell(0, 0, np.inf, STEP, KEY),
    ],
)
def test_a_shape_without_variates_is_reported_instead_of_tried_for_ever(drawn):
    with pytest.raises(FloatingPointError, match="no candidate for a gamma variate was accepted"):
        drawn()


@pytest.mark.parametrize("shape", [MIN_CONCENTRATION, MAX_CONCENTRATION])
def test_variates_at_the_bounds_of_a_concentration_are_numbers(shape):
    assert np.isfinite(draw(some_counts(8), shape)).all()
    assert np.isfinite(draw(some_counts(8), shape, in_logs=True)).all()

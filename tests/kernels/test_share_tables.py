"""Tabulated functions of λτ give the same values as their direct formulas."""

import math

import numpy as np
import pytest

from mcsquared.kernels.cpu.lams import add_log_likelihoods
from mcsquared.kernels.cpu.share_tables import (
    SHIFT,
    add_expected_tables,
    add_moments,
    log_odds_of_topics,
    log_rising_given,
    tabulate_likelihoods,
    tabulate_log_gammas,
    tabulate_moments,
)
from mcsquared.kernels.cpu.special import log_rising_factorial
from mcsquared.kernels.cpu.split_merge import GroupBases, content_log_odds, table_moments
from mcsquared.observations.layout import Entries

LAM, N_SLOTS, SCALE = 3.7, 40, 2.0**24
COUNTS = np.append(np.arange(1, 30), [100, 1000, 50_000]).astype(np.int32)
ROWS = Entries(
    np.array([0, 2, 2 + len(COUNTS)]),
    np.append([3, 5], np.arange(len(COUNTS))).astype(np.int32),
    np.append([4, 9], COUNTS).astype(np.int32),
)
GROUP = (2, 2 + len(COUNTS), ROWS)  # the second group: one topic for every count


def shares(seed=0):
    """Return topic shares of two sets, some of them tiny."""
    drawn = np.random.default_rng(seed).dirichlet(np.full(N_SLOTS, 0.05), 2)
    return np.maximum(drawn, 1e-290)


@pytest.mark.parametrize("seed", range(3))
def test_odds_agree_with_the_formula_of_each_topic(seed):
    one, other = tau = shares(seed)
    found = log_odds_of_topics(*GROUP, 0, 1, tabulate_likelihoods(LAM, tau, SCALE))
    expected = content_log_odds(1, ROWS, GroupBases(LAM, np.zeros(0), np.zeros(0)), one, other)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_expected_tables_are_the_means_of_each_topic(seed):
    tau = shares(seed)
    likelihoods = tabulate_likelihoods(LAM, tau, SCALE)
    for side in range(2):
        tables = np.zeros(N_SLOTS, np.int64)
        add_expected_tables(*GROUP, side, likelihoods, SCALE, tables)
        base = LAM * tau[side, : len(COUNTS)]
        expected = [table_moments(n, a)[0] for n, a in zip(COUNTS, base, strict=True)]
        np.testing.assert_allclose(tables[: len(COUNTS)] / SCALE, expected, rtol=1e-7)
        assert not tables[len(COUNTS) :].any()


@pytest.mark.parametrize("seed", range(3))
def test_moments_are_those_of_each_topic(seed):
    tau = shares(seed)[:1]
    means, variances = np.zeros((2, N_SLOTS), np.int64)
    add_moments(*GROUP, 0, tabulate_moments(LAM, tau, SCALE), SCALE, means, variances)
    base = LAM * tau[0, : len(COUNTS)]
    expected = np.array([table_moments(n, a) for n, a in zip(COUNTS, base, strict=True)])
    np.testing.assert_allclose(means[: len(COUNTS)] / SCALE, expected[:, 0], rtol=1e-7)
    found = variances[: len(COUNTS)] / SCALE
    np.testing.assert_allclose(found, expected[:, 1], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("a", [1e-290, 1e-5, 0.3, 7.9, 8.1, 900.0, 1e7])
@pytest.mark.parametrize("n", [SHIFT + 1, 20, 3000])
def test_rising_factorials_follow_from_the_log_gamma_of_their_base(a, n):
    known = tabulate_log_gammas(1.0, np.full((1, 1), a))[0, 0]
    assert log_rising_given(a, n, known) == pytest.approx(log_rising_factorial(a, n), rel=1e-11)


@pytest.mark.parametrize("largest", [1.0, 50.0, 1e6])
def test_log_likelihoods_for_several_lams_are_sums_over_topics(largest):
    tau, lams = shares()[0], np.geomspace(1e-3, largest, 16)
    log_gammas, is_known = np.empty((N_SLOTS, 16)), np.zeros(N_SLOTS, bool)
    scratch = np.empty(16), np.empty(16), np.empty(16), np.empty(16 * N_SLOTS)
    for _ in range(2):  # the second time, log-gammas are known
        total = np.zeros(16)
        add_log_likelihoods(*GROUP, tau, lams, log_gammas, is_known, scratch, total)
        expected = [
            math.fsum(log_rising_factorial(lam * tau[m], n) for m, n in enumerate(COUNTS.tolist()))
            for lam in lams
        ]
        np.testing.assert_allclose(total, expected, rtol=1e-11)

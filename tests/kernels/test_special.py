"""Log-gamma, rising factorials, table counts and choices of the compiled kernels."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from mcsquared.kernels.cpu.special import crt, log_gamma, log_rising_factorial, pick
from mcsquared.kernels.rng import Step

TABLES = int(Step.TABLES)


def draw_tables(n, a, size, seed=1):
    return np.array([crt(n, a, seed, 0, 1, TABLES, index) for index in range(size)])


def exact_table_probabilities(n, a):
    """P(h tables), h = 0..n: s(n, h) a^h Γ(a) / Γ(a+n), with whole Stirling numbers."""
    row = [1]
    for i in range(n):
        row = [left + i * right for left, right in zip([0, *row], [*row, 0], strict=True)]
    weights = np.array([float(s) * a**h for h, s in enumerate(row)])
    return weights / weights.sum()


def test_log_gamma_agrees_with_the_library_over_all_magnitudes():
    x = np.concatenate([np.logspace(-300, 15, 6001), np.linspace(0.01, 40, 4001)])
    found = np.array([log_gamma(value) for value in x])
    np.testing.assert_allclose(found, gammaln(x), rtol=2e-13, atol=2e-13)


def test_log_gamma_is_zero_at_one_and_two():
    assert log_gamma(1.0) == pytest.approx(0.0, abs=1e-13)
    assert log_gamma(2.0) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("a", [1e-300, 1e-8, 0.3, 1.0, 7.5, 1e3, 1e6, 1e12, 1e16])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 40, 1000])
def test_log_rising_is_the_logarithm_of_the_product(a, n):
    expected = math.fsum(math.log(a + i) for i in range(n))
    assert log_rising_factorial(a, n) == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("a", [1e20, 1e45, 1e300])
@pytest.mark.parametrize("n", [1, 8, 9, 1000])
def test_log_rising_of_a_huge_concentration_is_a_power(a, n):
    assert log_rising_factorial(a, n) == pytest.approx(n * math.log(a), rel=1e-12)


@pytest.mark.parametrize("a", [0.05, 0.8, 3.0, 40.0])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_table_counts_follow_their_exact_distribution(n, a):
    drawn = np.bincount(draw_tables(n, a, 4000), minlength=n + 1)
    expected = 4000 * exact_table_probabilities(n, a)
    assert drawn[0] == 0
    # Rare counts together: the approximation by chi-square requires five in each class.
    rare = expected < 5
    observed = np.append(drawn[~rare], drawn[rare].sum())
    pooled = np.append(expected[~rare], expected[rare].sum())
    if pooled[-1] < 1e-6:
        assert observed[-1] == 0
        observed, pooled = observed[:-1], pooled[:-1]
    if len(pooled) > 1:
        assert stats.chisquare(observed, pooled).pvalue > 1e-4


@pytest.mark.parametrize(("n", "a"), [(1000, 2.0), (100_000, 0.01), (10**6, 30.0), (1000, 1e5)])
def test_table_counts_of_many_customers_have_the_exact_mean_and_variance(n, a):
    chance = a / (a + np.arange(n))
    mean, variance = chance.sum(), (chance * (1 - chance)).sum()
    drawn = draw_tables(n, a, 3000, seed=2)
    assert abs(drawn.mean() - mean) < 4 * math.sqrt(variance / drawn.size)
    # A sum of independent indicators is nearly normal or Poisson; its variance has this error.
    fourth = 3 * variance**2 + (chance * (1 - chance) * (1 - 6 * chance * (1 - chance))).sum()
    error = math.sqrt((fourth - variance**2) / drawn.size)
    assert abs(drawn.var(ddof=1) - variance) < 4 * error


@pytest.mark.parametrize(
    ("n", "a", "tables"),
    [(0, 1.0, 0), (1, 1e-300, 1), (5, 1e-300, 1), (7, 1e300, 7), (9, 0.0, 1), (0, 0.0, 0)],
)
def test_table_counts_at_the_edges(n, a, tables):
    assert (draw_tables(n, a, 50) == tables).all()


def test_table_counts_need_few_random_numbers(monkeypatch):
    """The work grows with tables and log n: a million customers take less than a second here."""
    from mcsquared.kernels.cpu import special

    asked = []

    def number(*counter):
        asked.append(counter)
        return 0.37

    monkeypatch.setattr(special, "uniform", number)
    tables = special.crt.py_func(10**6, 0.5, 1, 0, 1, TABLES, 0)
    assert 1 <= tables < 100
    assert len(asked) < 100
    assert len(set(asked)) == len(asked)


def test_pick_gives_every_choice_its_share_of_the_unit_interval():
    weights = np.array([0.1, 0.0, 0.4, 0.2, 0.3])
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights) - 800.0
    u = (np.arange(10_000) + 0.5) / 10_000
    chosen = [pick(log_weights.copy(), len(weights), value) for value in u]
    np.testing.assert_allclose(np.bincount(chosen, minlength=5) / u.size, weights, atol=1e-4)
    assert (np.diff(chosen) >= 0).all()


def test_pick_looks_at_the_first_entries_alone_and_never_overruns():
    assert pick(np.array([0.0, 0.0, 99.0]), 2, 1 - 2**-53) == 1
    assert pick(np.array([0.0, -np.inf, 99.0]), 2, 1 - 2**-53) == 0
    assert pick(np.array([0.0, 0.0, -np.inf]), 3, 1.0) == 1

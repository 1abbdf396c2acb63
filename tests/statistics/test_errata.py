"""Each line of docs/errata.md that can be put in figures: the printed formula fails, ours holds.

The moments of appendix A.1.3 are simulated, the updates of appendix A.2 run as chains and
compared with quadrature, and the rest is enumerated.
"""

from itertools import product
from math import lgamma, log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from mcsquared.model.parameters import Gamma
from mcsquared.samplers.steps.concentrations import (
    draw_dp_weights,
    resample_concentration,
    resample_eta_given_weights,
)
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.types import Key
from tests.statistics import tiny_gibbs

# --- lines 1, 1b, 1c: moments of the measures -------------------------------------------------

# Base measure of the cells "A1 only", "A1 and A2", "A2 only" and "neither".
CELLS = np.array([0.2, 0.15, 0.25, 0.4])
IN_FIRST, IN_SECOND = np.array([1, 1, 0, 0]), np.array([0, 1, 1, 0])
S1, S2, S12 = CELLS @ IN_FIRST, CELLS @ IN_SECOND, CELLS[1]
N_DRAWS = 400_000


def dirichlet_rows(shapes, rng):
    gammas = rng.standard_gamma(shapes)
    return gammas / gammas.sum(axis=1, keepdims=True)


def right_moment(joint, first, second, concentration):
    return (joint + concentration * first * second) / (concentration + 1.0)


def printed_moment(joint, first, second, concentration):
    return (joint + first * second) / (concentration * (concentration + 1.0))


def assert_simulation_chooses(draws, right, printed):
    """The simulated mean is ours within 4 standard errors, and far from the printed value."""
    error = draws.std() / np.sqrt(draws.size)
    assert abs(draws.mean() - right) < 4 * error
    assert abs(draws.mean() - printed) > 20 * error


def test_line_1_product_of_probabilities_under_a_dirichlet_process():
    v, rng = 1.7, np.random.default_rng(1)
    measure = dirichlet_rows(np.broadcast_to(v * CELLS, (N_DRAWS, 4)), rng)
    draws = (measure @ IN_FIRST) * (measure @ IN_SECOND)
    assert_simulation_chooses(draws, right_moment(S12, S1, S2, v), printed_moment(S12, S1, S2, v))


def test_line_1_the_whole_space_has_probability_one():
    assert right_moment(1.0, 1.0, 1.0, 1.7) == pytest.approx(1.0)
    assert printed_moment(1.0, 1.0, 1.0, 1.7) != pytest.approx(1.0, abs=0.1)


def test_line_1b_two_tokens_of_one_group():
    v, eta, rng = 1.7, 1.3, np.random.default_rng(2)
    root = dirichlet_rows(np.broadcast_to(eta * CELLS, (N_DRAWS, 4)), rng)
    measure = dirichlet_rows(v * root, rng)
    draws = (measure @ IN_FIRST) * (measure @ IN_SECOND)
    right = ((1 + eta + v) * S12 + v * eta * S1 * S2) / ((1 + v) * (1 + eta))
    printed = S12 / (v * (v + 1)) + (S12 + S1 * S2) / (v * (v + 1) * eta * (eta + 1))
    assert_simulation_chooses(draws, right, printed)


def test_line_1c_two_tokens_of_two_groups():
    alpha, v, eta, rng = 0.8, 1.7, 1.3, np.random.default_rng(3)
    root = dirichlet_rows(np.broadcast_to(eta * CELLS, (N_DRAWS, 4)), rng)
    measure, other = dirichlet_rows(v * root, rng), dirichlet_rows(v * root, rng)
    together = rng.random(N_DRAWS) < 1.0 / (1.0 + alpha)
    second = np.where(together, measure @ IN_SECOND, other @ IN_SECOND)
    draws = (measure @ IN_FIRST) * second
    at_root = (S12 + eta * S1 * S2) / (1 + eta)
    right = (S12 + (v + alpha * (1 + v)) * at_root) / ((1 + alpha) * (1 + v))
    scale = (1 + alpha) * v * (v + 1)
    printed = S12 / scale + (alpha * v * (v + 1) + 1) / scale * (S12 + S1 * S2) / (eta * (eta + 1))
    assert_simulation_chooses(draws, right, printed)


# --- line 4: the total in the z step ----------------------------------------------------------


def stationary_clusters(topics, weights, printed):
    """The exact law that a scan over the groups leaves unchanged, topics and weights fixed."""
    topics_of_group = [[0] * len(weights) for _ in range(tiny_gibbs.N_GROUPS)]
    for i, m in enumerate(topics):
        topics_of_group[tiny_gibbs.GROUP_OF_TOKEN[i]][m] += 1
    states = tiny_gibbs.partitions(tiny_gibbs.N_GROUPS)
    scan = np.eye(len(states))
    for j in range(tiny_gibbs.N_GROUPS):
        step = np.zeros_like(scan)
        for row, z in enumerate(states):
            labels, log_weights = tiny_gibbs.log_cluster_weights(
                j, z, topics_of_group, weights, printed
            )
            probabilities = tiny_gibbs.normalised(log_weights)
            for label, probability in zip([*labels, -1], probabilities, strict=True):
                moved = tiny_gibbs.canonical((*z[:j], label, *z[j + 1 :]))
                step[row, states.index(moved)] += probability
        scan = scan @ step
    return np.linalg.matrix_power(scan, 200)[0]


def enumerated_clusters(topics, weights):
    """The same law from the joint density with the root weights given (no Gibbs step in it)."""
    log_joint = []
    prior = tiny_gibbs.V * np.array(weights)
    for z in tiny_gibbs.partitions(tiny_gibbs.N_GROUPS):
        in_cluster = np.array(tiny_gibbs.counts(z, topics)[0])
        tokens = gammaln(tiny_gibbs.V) - gammaln(tiny_gibbs.V + in_cluster.sum(axis=1))
        cells = gammaln(prior + in_cluster) - gammaln(prior)
        log_joint.append(tiny_gibbs.log_prior_and_contexts(z) + tokens.sum() + cells.sum())
    return np.array(tiny_gibbs.normalised(log_joint))


def test_line_4_the_cluster_step_leaves_the_enumerated_law_unchanged():
    topics, weights = (0, 1, 0, 0, 1, 1), (0.35, 0.25)
    exact = enumerated_clusters(topics, weights)
    np.testing.assert_allclose(stationary_clusters(topics, weights, False), exact, atol=1e-12)
    printed = stationary_clusters(topics, weights, True)
    assert 0.5 * np.abs(printed - exact).sum() > 0.05


def test_line_4_the_whole_chain_agrees_with_enumeration():
    exact = tiny_gibbs.exact_posterior()
    right = tiny_gibbs.run(12_000, printed=False, seed=0)
    printed = tiny_gibbs.run(12_000, printed=True, seed=0)
    assert tiny_gibbs.total_variation(exact, right) < 0.04
    assert tiny_gibbs.total_variation(exact, printed) > 0.08


# --- line 5: tables ---------------------------------------------------------------------------


def table_law(n, concentration):
    """p(h) = Γ(a) / Γ(a + n) s(n, h) a^h for h = 0..n."""
    scale = np.exp(lgamma(concentration) - lgamma(concentration + n))
    return scale * np.array(tiny_gibbs.stirling(n)) * concentration ** np.arange(n + 1.0)


@pytest.mark.parametrize(("n", "concentration"), [(1, 0.3), (4, 0.05), (6, 1.9), (9, 12.0)])
def test_line_5_tables_follow_the_stirling_law(n, concentration):
    n_draws = 100_000
    customers = np.full((n_draws, 1), n, dtype=np.int32)
    tables = draw_tables(customers, np.array([concentration]), Key(5, 0, 1))[:, 0]
    share = np.bincount(tables, minlength=n + 1) / n_draws
    law = table_law(n, concentration)
    assert law.sum() == pytest.approx(1.0)
    assert share[0] == 0.0
    assert (np.abs(share - law) < 5 * np.sqrt(law / n_draws) + 1e-4).all()
    # Read as printed, Stirl(h, n) with h ≤ n is zero but for h = n: every customer apart.
    if n > 1:
        assert share[n] < 0.95


def test_line_5_no_customer_no_table():
    tables = draw_tables(np.zeros((3, 2), np.int32), np.array([0.5, 2.0]), Key(1, 0, 1))
    assert (tables == 0).all()


def test_line_5_stirling_numbers_overflow_where_the_draw_does_not():
    n, concentration = 5000, 1.5
    with pytest.raises(OverflowError):
        float(max(tiny_gibbs.stirling(200)))
    customers = np.full((2000, 1), n, dtype=np.int32)
    tables = draw_tables(customers, np.array([concentration]), Key(6, 0, 1))
    opens = concentration / (concentration + np.arange(n))
    error = np.sqrt((opens * (1 - opens)).sum() / 2000)
    assert abs(tables.mean() - opens.sum()) < 4 * error


# --- lines 6, 7, 8: concentrations ------------------------------------------------------------


def mean_by_quadrature(prior, customers, tables):
    """E[c | tables] under p(c) ∝ Gamma(c; prior) Π_r c^{T_r} Γ(c) / Γ(c + N_r)."""

    def density(c):
        value = (prior.shape - 1 + sum(tables)) * log(c) - prior.rate * c
        return np.exp(value + sum(lgamma(c) - lgamma(c + n) for n in customers) - peak)

    grid = np.linspace(0.01, 60.0, 4000)
    peak = 0.0
    peak = max(np.log(density(c)) for c in grid if density(c) > 0)
    mass = quad(density, 0, 100, limit=400, points=[1, 5, 20])[0]
    return quad(lambda c: c * density(c), 0, 100, limit=400, points=[1, 5, 20])[0] / mass


def chain_of(update, start, n_sweeps=20_000):
    """Run a one-variable chain and return its mean and the standard error by batches."""
    values = np.empty(n_sweeps)
    current = start
    for i in range(n_sweeps):
        current = values[i] = update(current)
    batches = values.reshape(40, -1).mean(axis=1)
    return values.mean(), batches.std(ddof=1) / np.sqrt(40)


def test_line_6_eta_given_the_weights_and_weights_given_eta():
    prior, tables, rng = Gamma(1.5, 0.8), np.array([4, 2, 1]), np.random.default_rng(6)

    def update(eta):
        log_unused = draw_dp_weights(tables, eta, rng)[1]
        return resample_eta_given_weights(prior, tables.size, log_unused, rng)

    mean, error = chain_of(update, 1.0)
    # The root is one restaurant: its customers are the tables below, its tables are topics.
    assert abs(mean - mean_by_quadrature(prior, [tables.sum()], [tables.size])) < 4 * error


# Tokens of two clusters in two topics, for the order of the η and ε steps.
IN_CLUSTER, V, ETA_PRIOR = np.array([[3, 0], [2, 2]]), 1.5, Gamma(1.0, 0.5)


def exact_eta_and_weight():
    """E[η] and E[η ε_new] given the counts, tables and root weights summed out."""
    cells = [(m, n) for row in IN_CLUSTER for m, n in enumerate(row) if n]
    weight_of_total = {}
    for tables in product(*[range(1, n + 1) for _, n in cells]):
        at_root = np.bincount([m for m, _ in cells], weights=tables, minlength=2)
        weight = np.exp(gammaln(at_root).sum()) * V ** sum(tables)
        for (_, n), q in zip(cells, tables, strict=True):
            weight *= tiny_gibbs.stirling(n)[q]
        weight_of_total[sum(tables)] = weight_of_total.get(sum(tables), 0.0) + weight

    def integral(value):
        def density(eta):
            prior = eta ** (ETA_PRIOR.shape - 1 + 2) * np.exp(-ETA_PRIOR.rate * eta)
            return prior * sum(
                weight * value(eta, u) * np.exp(lgamma(eta) - lgamma(eta + u))
                for u, weight in weight_of_total.items()
            )

        return quad(density, 0, 120, limit=400, points=[1, 5, 20])[0]

    mass = integral(lambda eta, u: 1.0)
    # ε_new given η and u tables is Beta(η, u).
    pair = integral(lambda eta, u: eta * eta / (eta + u))
    return integral(lambda eta, u: eta) / mass, pair / mass


def many_eta_chains(weights_last, n_chains=30_000, n_sweeps=30, seed=8):
    """Run chains (tables, ε, η) side by side; η by Escobar-West, before or after the ε step."""
    rng = np.random.default_rng(seed)
    eta = rng.gamma(2.0, 1.0, n_chains)
    weights = dirichlet_rows(np.stack([np.ones(n_chains), np.ones(n_chains), eta], axis=1), rng)
    for _ in range(n_sweeps):
        at_root = np.zeros((n_chains, 2))
        for row in IN_CLUSTER:
            for m, n in enumerate(row):
                opens = V * weights[:, m, None]
                opens = opens / (opens + np.arange(n))
                at_root[:, m] += (rng.random((n_chains, n)) < opens).sum(axis=1)
        total = at_root.sum(axis=1)
        before = eta
        log_b = np.log(rng.beta(eta + 1.0, total))
        s = rng.random(n_chains) < total / (total + eta)
        eta = rng.gamma(ETA_PRIOR.shape + 2 - s) / (ETA_PRIOR.rate - log_b)
        weights = dirichlet_rows(np.column_stack([at_root, eta if weights_last else before]), rng)
    return eta, eta * weights[:, 2]


def test_line_6_the_weights_are_redrawn_after_eta():
    exact_eta, exact_pair = exact_eta_and_weight()
    eta, pair = many_eta_chains(weights_last=True)
    assert abs(eta.mean() - exact_eta) < 4 * eta.std() / np.sqrt(eta.size)
    assert abs(pair.mean() - exact_pair) < 4 * pair.std() / np.sqrt(pair.size)
    _, pair = many_eta_chains(weights_last=False)
    assert abs(pair.mean() - exact_pair) > 10 * pair.std() / np.sqrt(pair.size)


def test_line_7_alpha_is_drawn_with_its_current_value():
    prior, n_groups, n_clusters = Gamma(3.0, 1.0), 12, 3
    rng = np.random.default_rng(7)

    def printed(_):
        t = rng.beta(prior.shape + 1.0, n_groups)
        rate = prior.rate - np.log(t)
        odds = (prior.shape + n_clusters - 1) / (n_groups * rate)
        return rng.gamma(prior.shape + n_clusters - (rng.random() > odds / (1 + odds))) / rate

    exact = mean_by_quadrature(prior, [n_groups], [n_clusters])
    mean, error = chain_of(
        lambda c: resample_concentration(c, prior, [n_groups], [n_clusters], rng), 1.0
    )
    assert abs(mean - exact) < 4 * error
    mean, error = chain_of(printed, 1.0)
    assert abs(mean - exact) > 10 * error


def test_line_8_v_is_drawn_with_the_customers_of_the_clusters():
    prior, customers, tables = Gamma(1.0, 0.1), np.array([30, 12, 55]), np.array([7, 4, 9])
    rng = np.random.default_rng(8)

    def printed(v):
        b = rng.beta(v + 1.0, tables)
        s = rng.random(3) < tables / (tables + v)
        return rng.gamma(prior.shape + (tables - s).sum()) / (prior.rate - np.log(b).sum())

    exact = mean_by_quadrature(prior, customers, tables)
    mean, error = chain_of(lambda v: resample_concentration(v, prior, customers, tables, rng), 1.0)
    assert abs(mean - exact) < 4 * error
    mean, error = chain_of(printed, 1.0)
    assert mean > 3 * exact


def test_line_8_clusters_without_tokens_do_not_affect_v():
    prior, rng = Gamma(2.0, 1.0), np.random.default_rng(9)
    exact = mean_by_quadrature(prior, [9], [3])
    mean, error = chain_of(
        lambda v: resample_concentration(v, prior, [0, 9, 0], [0, 3, 0], rng), 1.0
    )
    assert abs(mean - exact) < 4 * error

"""Simulation-based calibration: a true value's rank among its posterior draws is uniform."""

import numpy as np
import pytest
from scipy import stats

from mcsquared.samplers import collapsed
from tests.statistics.forward import NumbersDesign, WordsDesign, draw

LENGTHS = [5, 3, 0, 6, 4, 5, 2, 5]
DESIGNS = {
    "words": WordsDesign(LENGTHS, missing_number=1, missing_bag=4),
    "numbers": NumbersDesign(LENGTHS, missing_number=1),
}
QUANTITIES = ("alpha", "v", "eta", "n_clusters", "n_topics")


def posterior_draws(design, data, n_draws, burn_in, thin, seed):
    """Draws of all quantities along a chain that knows nothing of the truth."""
    observations = design.observations(data)
    state = collapsed.start(observations, design.priors, seed, 0, "random", 3, 3)
    rows = []
    for t in range(1, burn_in + thin * n_draws + 1):
        collapsed.sweep(state, observations, design.priors, seed, 0)
        if t > burn_in and (t - burn_in) % thin == 0:
            rows.append([getattr(state, name) for name in QUANTITIES])
    return np.array(rows, float)


def ranks(design, n_corpora, n_draws, burn_in, thin, seed):
    """Rank of the truth among its draws, ties at random: (n_corpora, n_quantities)."""
    rng = np.random.default_rng(seed)
    found = np.empty((n_corpora, len(QUANTITIES)), int)
    for r in range(n_corpora):
        labels, data = draw(design, rng)
        truth = [labels.alpha, labels.v, labels.eta, len(set(labels.clusters))]
        truth = np.array([*truth, len(set(labels.topics))], float)
        drawn = posterior_draws(design, data, n_draws, burn_in, thin, seed=1000 * seed + r)
        ties = (drawn == truth).sum(axis=0)
        found[r] = (drawn < truth).sum(axis=0) + rng.integers(0, ties + 1)
    return found


def p_values(found, n_draws):
    """Of chi-square tests of uniformity over 0..n_draws, one per quantity."""
    return [
        float(stats.chisquare(np.bincount(column, minlength=n_draws + 1)).pvalue)
        for column in found.T
    ]


def ks_p_values(found, n_draws, seed=0):
    """Of Kolmogorov-Smirnov tests, ranks spread evenly inside their step."""
    spread = (found + np.random.default_rng(seed).random(found.shape)) / (n_draws + 1)
    return [float(stats.kstest(column, "uniform").pvalue) for column in spread.T]


def test_ranks_of_the_truth_are_uniform_in_few_short_chains():
    found = ranks(DESIGNS["words"], n_corpora=60, n_draws=9, burn_in=20, thin=6, seed=1)
    assert min(p_values(found, 9)) > 1e-3
    assert min(ks_p_values(found, 9)) > 1e-3


@pytest.mark.calibrate
@pytest.mark.parametrize("name", DESIGNS)
def test_ranks_of_the_truth_are_uniform(name, calibration):
    design, n_corpora, n_draws = DESIGNS[name], 400, 19
    found = ranks(design, n_corpora, n_draws, burn_in=100, thin=20, seed=2)
    chi_square, ks = p_values(found, n_draws), ks_p_values(found, n_draws)
    each = ", ".join(f"{q} {p:.2f}" for q, p in zip(QUANTITIES, chi_square, strict=True))
    calibration(
        f"ranks: {design.name}",
        n=n_corpora,
        p=min(chi_square),
        note=f"{each}; smallest KS p {min(ks):.2f}",
    )
    assert min(chi_square) > 1e-3
    assert min(ks) > 1e-3

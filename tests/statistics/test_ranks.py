"""Simulation-based calibration: a true value's rank among its posterior draws is uniform."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy import stats

from mcsquared.families import Bag
from mcsquared.model.parameters import Gamma
from mcsquared.samplers.sweep import BLOCKED, COLLAPSED
from tests.statistics.forward import (
    TAGS,
    BackgroundDesign,
    EffectsDesign,
    NumbersDesign,
    WordsDesign,
    draw,
)

N_PROCESSES = int(os.environ.get("CALIBRATION_PROCESSES", "1"))  # that share the corpora of a test
LAMS = {"λ = ∞": np.inf, "λ = 0.5": 0.5, "λ resampled": Gamma(3.0, 1.5)}
every_lam = pytest.mark.parametrize("lam", LAMS, ids=["infinite", "fixed", "resampled"])
QUANTITIES = ("alpha", "v", "eta", "n_clusters", "n_topics")
EFFECTS = ("omega 0", "omega 1", "omega 2", "v of effect 0", "v of effect 1")
LEARNED = {"log-uniform": Bag("learned", 3), "gamma": Bag(Gamma(2.0, 1.0), 3)}


def make(name, lam="λ = ∞", tags=TAGS):
    lengths = [5, 3, 0, 6, 4, 5, 2, 5]
    if name == "words":
        return WordsDesign(lengths, missing_number=1, missing_bag=4, lam=LAMS[lam], tags=tags)
    return NumbersDesign(lengths, missing_number=1, lam=LAMS[lam])


def quantities(design):
    """Return the ranked values: all with a prior, and the numbers of clusters and topics."""
    found = (*QUANTITIES, "lam") if isinstance(design.priors.lam, Gamma) else QUANTITIES
    found = (*found, *EFFECTS) if design.priors.effects else found
    found = (*found, "outliers") if design.priors.background_columns else found
    return (*found, "g", "first b") if design.priors.has_learned_contexts else found


def value_of(state, name):
    """Return one of the ranked values of a state."""
    if name == "outliers":  # of a Gaussian context, whose statistics come first: n, Σx, Σx²
        return state.counts.context_statistics[:, 3].sum()
    if name in ("g", "first b"):
        g = state.category_shapes.sum()
        return g if name == "g" else state.category_shapes[0] / g
    if name not in EFFECTS:
        return getattr(state, name)
    name, number = name.rsplit(" ", 1)
    return (state.effects.weights if name == "omega" else state.effects.v)[int(number)]


def posterior_draws(design, data, n_draws, burn_in, thin, seed, sampler):
    """Draws of all quantities along a chain whose start does not depend on the truth."""
    observations = design.observations(data)
    state = sampler.start(observations, design.priors, seed, 0, "random", 3, 3)
    rows = []
    for t in range(1, burn_in + thin * n_draws + 1):
        sampler.sweep(state, observations, design.priors, seed, 0)
        if t > burn_in and (t - burn_in) % thin == 0:
            rows.append([value_of(state, name) for name in quantities(design)])
    return np.array(rows, float)


def true_values(design, labels):
    """Return the ranked values of the labels that a corpus was drawn from."""
    truth = [labels.alpha, labels.v, labels.eta]
    truth += [len(set(labels.clusters)), len(set(labels.topics))]
    if isinstance(design.priors.lam, Gamma):
        truth.append(labels.lam)
    if design.priors.effects:
        truth += [*labels.weights, *labels.v_of_effects]
    if design.priors.background_columns:
        truth.append(labels.outliers)
    if design.priors.has_learned_contexts:
        truth += [labels.shapes.sum(), labels.shapes[0] / labels.shapes.sum()]
    return truth


def rank(design, number, n_draws, burn_in, thin, seed, sampler):
    """Draw a corpus and return the ranks of the truth among its draws, ties at random."""
    rng = np.random.default_rng([seed, number])
    labels, data = draw(design, rng)
    truth = true_values(design, labels)
    drawn = posterior_draws(design, data, n_draws, burn_in, thin, 1000 * seed + number, sampler)
    ties = (drawn == truth).sum(axis=0)
    return (drawn < truth).sum(axis=0) + rng.integers(0, ties + 1)


def ranks(design, n_corpora, n_draws, burn_in, thin, seed, sampler=COLLAPSED):
    """Ranks of the truth for each corpus: (n_corpora, n_quantities)."""
    one = partial(
        rank, design, n_draws=n_draws, burn_in=burn_in, thin=thin, seed=seed, sampler=sampler
    )
    return for_each_corpus(one, n_corpora)


def for_each_corpus(one, n_corpora):
    """Apply ``one`` to the number of each corpus, in ``CALIBRATION_PROCESSES`` processes."""
    if N_PROCESSES == 1:
        return np.array([one(number) for number in range(n_corpora)])
    with ProcessPoolExecutor(N_PROCESSES, multiprocessing.get_context("fork")) as pool:
        return np.array(list(pool.map(one, range(n_corpora))))


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
    found = ranks(make("words"), n_corpora=60, n_draws=9, burn_in=20, thin=6, seed=1)
    assert min(p_values(found, 9)) > 1e-3
    assert min(ks_p_values(found, 9)) > 1e-3


def test_ranks_of_the_truth_are_uniform_in_few_short_chains_of_the_blocked_sampler():
    design = make("words", "λ resampled")
    found = ranks(design, n_corpora=30, n_draws=4, burn_in=25, thin=12, seed=1, sampler=BLOCKED)
    assert min(p_values(found, 4)) > 1e-3
    assert min(ks_p_values(found, 4)) > 1e-3


def assert_uniform(test, design, found, n_draws, calibration):
    chi_square, ks = p_values(found, n_draws), ks_p_values(found, n_draws)
    each = ", ".join(f"{q} {p:.2f}" for q, p in zip(quantities(design), chi_square, strict=True))
    calibration(
        f"{test}: {design.name}",
        n=len(found),
        p=min(chi_square),
        note=f"{each}; smallest KS p {min(ks):.2f}",
    )
    assert min(chi_square) > 1e-3
    assert min(ks) > 1e-3


@pytest.mark.calibrate
@pytest.mark.parametrize("name", ["words", "numbers"])
def test_ranks_of_the_truth_are_uniform(name, calibration):
    design, n_draws = make(name), 19
    found = ranks(design, 400, n_draws, burn_in=100, thin=20, seed=2)
    assert_uniform("ranks", design, found, n_draws, calibration)


@pytest.mark.calibrate
@every_lam
@pytest.mark.parametrize("name", ["words", "numbers"])
def test_ranks_of_the_truth_are_uniform_for_the_blocked_sampler(name, lam, calibration):
    design, n_draws = make(name, lam), 9
    # Where groups vary, topics move token by token: their number is correlated 0.5 after six
    # sweeps and 0.07 after 24. Correlated draws put the truth too often at either end.
    found = ranks(design, 200, n_draws, burn_in=60, thin=24, seed=2, sampler=BLOCKED)
    assert_uniform(f"ranks, blocked, {lam}", design, found, n_draws, calibration)


@pytest.mark.calibrate
@pytest.mark.parametrize("lam", ["λ = ∞", "λ resampled"], ids=["infinite", "resampled"])
@pytest.mark.parametrize("prior", LEARNED)
def test_ranks_of_the_truth_are_uniform_with_a_learned_context(prior, lam, calibration):
    design, n_draws = make("words", lam, LEARNED[prior]), 9
    found = ranks(design, 200, n_draws, burn_in=60, thin=24, seed=2, sampler=BLOCKED)
    test = f"ranks, blocked, {lam}, learned bag ({prior})"
    assert_uniform(test, design, found, n_draws, calibration)


@pytest.mark.calibrate
@pytest.mark.parametrize("tags", [TAGS, *LEARNED.values()], ids=["fixed", *LEARNED])
def test_ranks_of_the_truth_are_uniform_with_effects(tags, calibration, request):
    design, n_draws = EffectsDesign([8, 6, 7, 9], lam=LAMS["λ resampled"], tags=tags), 9
    found = ranks(design, 200, n_draws, burn_in=60, thin=24, seed=2, sampler=BLOCKED)
    learned = "" if tags is TAGS else f", learned bag ({request.node.callspec.id})"
    test = f"ranks, blocked, λ resampled{learned}"
    assert_uniform(test, design, found, n_draws, calibration)


@pytest.mark.calibrate
@pytest.mark.parametrize("lam", ["λ = ∞", "λ resampled"], ids=["infinite", "resampled"])
def test_ranks_of_the_truth_are_uniform_with_a_background(lam, calibration):
    design, n_draws = BackgroundDesign([5, 3, 0, 6, 4, 5, 2, 5], LAMS[lam]), 9
    found = ranks(design, 200, n_draws, burn_in=60, thin=24, seed=2, sampler=BLOCKED)
    assert_uniform(f"ranks, blocked, {lam}", design, found, n_draws, calibration)

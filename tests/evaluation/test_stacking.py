"""Stacking of chains: leave-one-out densities, optimal weights, and chains in worse modes."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import betaln
from sklearn.exceptions import ConvergenceWarning

import mcsquared as mc2
from mcsquared.evaluation import stacking
from mcsquared.evaluation.stacking import (
    leave_one_out,
    log_densities,
    stack_chains,
    stacking_weights,
)
from mcsquared.samplers.sweep import SAMPLERS


@pytest.fixture(scope="module")
def fitted():
    corpus = mc2.datasets.simulate(
        60, tokens_per_group=40, n_words=50, lam=20.0, random_state=0
    ).corpus
    options = {"n_sweeps": 60, "burn_in": 30, "n_chains": 3, "random_state": 0, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {
            lam: mc2.MC2(lam=lam, **options).fit(corpus).posterior_ for lam in (np.inf, 20.0)
        }, corpus


def with_bad_chain(posterior, chain):
    """Return the posterior with the words of a chain's topics permuted."""
    order = np.random.default_rng(0).permutation(len(posterior.vocabulary))
    parameters = [
        replace(draw, content_statistics=sparse.csr_matrix(draw.content_statistics[:, order]))
        if posterior.chain_of_draw[draw.index] == chain
        else draw
        for draw in posterior.parameters
    ]
    return replace(posterior, parameters=parameters, chain_weights=None)


def test_importance_weights_remove_a_group_from_the_data_of_the_draws():
    """Compare with the exact leave-one-out density of a beta-binomial model."""
    rng = np.random.default_rng(1)
    n, successes = 30, np.array([10, 14, 18, 23])
    a, b = 1.0 + successes.sum(), 1.0 + n * len(successes) - successes.sum()
    p = rng.beta(a, b, 200_000)[:, None]
    scores = successes * np.log(p) + (n - successes) * np.log1p(-p)
    rest_a, rest_b = a - successes, b - (n - successes)
    exact = betaln(a, b) - betaln(rest_a, rest_b)
    np.testing.assert_allclose(leave_one_out(scores), exact, atol=0.1)
    plain = np.log(np.exp(scores).mean(axis=0))
    assert np.abs(plain - exact).max() > 0.3


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_maximise_the_stacked_density(seed):
    rng = np.random.default_rng(seed)
    density = rng.normal(-200, 2, (3, 80)) + rng.normal(0, 0.5, (3, 1))

    def loss(free):
        weights = np.exp(np.append(free, 0.0))
        return -np.log(weights / weights.sum() @ np.exp(density + 200)).sum()

    weights = stacking_weights(density)
    assert weights.sum() == pytest.approx(1.0)
    best = minimize(loss, np.zeros(2)).fun
    assert -np.log(weights @ np.exp(density + 200)).sum() == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("lam", [np.inf, 20.0])
def test_a_chain_with_more_draws_has_no_disadvantage(fitted, lam):
    """The number of draws with parameters differs by one if chains do not divide it evenly."""
    posterior, corpus = fitted[0][lam], fitted[1]
    chains = posterior.chain_of_draw[[draw.index for draw in posterior.parameters]]
    assert np.bincount(chains).tolist() == [4, 3, 3]
    equal = stacking.balanced(posterior)
    kept_chains = equal.chain_of_draw[[draw.index for draw in equal.parameters]]
    assert np.bincount(kept_chains).tolist() == [3, 3, 3]
    assert equal.parameters == [d for d in posterior.parameters if d is not posterior.parameters[0]]
    weights = stack_chains(with_bad_chain(posterior, 2), corpus)
    others = stack_chains(with_bad_chain(equal, 2), corpus)
    np.testing.assert_array_equal(weights, others)


def test_a_chain_that_is_always_worse_has_no_weight_and_complements_share_it():
    worse = np.array([[-10.0] * 50, [-20.0] * 50])
    np.testing.assert_allclose(stacking_weights(worse), [1.0, 0.0], atol=1e-4)
    complements = np.where(np.arange(50) % 2, [[-5.0], [-9.0]], [[-9.0], [-5.0]])
    np.testing.assert_allclose(stacking_weights(complements), [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize("lam", [np.inf, 20.0])
def test_a_chain_in_a_worse_mode_loses_its_weight(fitted, lam):
    posteriors, corpus = fitted
    for chain in (0, 2):
        weights = stack_chains(with_bad_chain(posteriors[lam], chain), corpus)
        assert weights.shape == (3,)
        assert weights.sum() == pytest.approx(1.0)
        assert weights[chain] < 0.02


@pytest.mark.parametrize("lam", [np.inf, 20.0])
def test_chains_with_the_same_draws_have_equal_weights(fitted, lam):
    posterior, corpus = fitted[0][lam], fitted[1]
    first = [draw for draw in posterior.parameters if posterior.chain_of_draw[draw.index] == 0]
    n_draws = int((posterior.chain_of_draw == 0).sum())
    copies = [replace(draw, index=draw.index + c * n_draws) for c in range(3) for draw in first]
    draws = np.tile(posterior.cluster_of_group[:n_draws], (3, 1))
    same = replace(posterior, cluster_of_group=draws, parameters=copies, chain_weights=None)
    assert stack_chains(same, corpus) is None


def test_densities_do_not_depend_on_the_other_chains(fitted):
    posterior, corpus = fitted[0][20.0], fitted[1]
    groups = np.arange(0, 60, 3)
    density = log_densities(posterior, corpus[groups])
    assert density.shape == (3, 20)
    assert np.isfinite(density).all()
    other = log_densities(with_bad_chain(posterior, 1), corpus[groups])
    np.testing.assert_array_equal(density[[0, 2]], other[[0, 2]])
    assert (other[1] < density[1]).mean() > 0.9


def test_a_bounded_sample_of_groups_is_used(fitted, monkeypatch):
    corpus = fitted[1]
    monkeypatch.setattr(stacking, "MAX_TOKENS", 1000)
    chosen = stacking._sample(corpus, 0)
    assert len(chosen) == 25
    assert corpus.tokens_per_group[chosen].sum() <= 1000
    monkeypatch.setattr(stacking, "MAX_TOKENS", 1)
    assert len(stacking._sample(corpus, 0)) == stacking.MIN_GROUPS


def test_too_few_groups_and_chains_without_parameters_are_not_compared(fitted, monkeypatch):
    posterior, corpus = fitted[0][20.0], fitted[1]
    bad = with_bad_chain(posterior, 0)
    assert stack_chains(bad, corpus) is not None
    some = [draw for draw in bad.parameters if bad.chain_of_draw[draw.index] < 2]
    assert stack_chains(replace(bad, parameters=some), corpus) is None
    monkeypatch.setattr(stacking, "MIN_GROUPS", 61)
    assert stack_chains(bad, corpus) is None


def stuck(sampler, chain):
    """Return a sampler in which a chain stays where it started."""
    sweep = sampler.sweep

    def stay(state, observations, priors, seed, number, *more):
        if number != chain or state.sweep == 0:
            sweep(state, observations, priors, seed, number, *more)
        else:
            state.sweep += 1

    stays = replace(sampler)
    object.__setattr__(stays, "sweep", stay)
    return stays


@pytest.mark.parametrize("n_sweeps", [60, "auto"])
def test_a_fit_reports_and_weights_a_chain_that_is_stuck(fitted, monkeypatch, tmp_path, n_sweeps):
    corpus = fitted[1]
    monkeypatch.setitem(SAMPLERS, "blocked", stuck(SAMPLERS["blocked"], chain=1))
    monkeypatch.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 80)
    model = mc2.MC2(n_sweeps=n_sweeps, n_chains=3, init="random", random_state=0, progress=False)
    with pytest.warns(ConvergenceWarning):
        model.fit(corpus)
    posterior = model.posterior_
    assert posterior.chain_weights[1] < 0.1
    [note] = [note for note in posterior.notes if "weighted by their predictions" in note]
    assert note.endswith("; chain 1 predicts the groups clearly worse than the others")
    last = "not converged after 80 sweeps" if n_sweeps == "auto" else "the chains disagree"
    assert posterior.notes[-1].startswith(last)
    model.save(tmp_path / "model.mc2")
    again = mc2.MC2.load(tmp_path / "model.mc2")
    np.testing.assert_array_equal(again.posterior_.chain_weights, posterior.chain_weights)
    np.testing.assert_array_equal(again.predict_proba(corpus), model.predict_proba(corpus))


def test_one_chain_and_chains_that_agree_are_not_compared(monkeypatch):
    def fail(*arguments):
        raise AssertionError("nothing to compare")

    monkeypatch.setattr("mcsquared.fitting.fit.stack_chains", fail)
    corpus = mc2.datasets.letters(n_groups_per_cluster=5, random_state=0).corpus
    model = mc2.MC2(n_sweeps=20, random_state=0, progress=False).fit(corpus)
    np.testing.assert_array_equal(model.posterior_.chain_weights, [1.0])
    fixed = {"alpha": 1.0, "v": 1.0, "eta": 1.0, "lam": 1.0}
    options = {"n_sweeps": 600, "n_chains": 2, "random_state": 0, "progress": False}
    nothing = mc2.MC2(**fixed, **options).fit(np.zeros((4, 1), np.int64))
    np.testing.assert_array_equal(nothing.posterior_.chain_weights, [0.5, 0.5])

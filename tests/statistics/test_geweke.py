"""Geweke's joint test: draws from the prior against a chain of sweeps and new data."""

import numpy as np
import pytest

from mcsquared.families import Bag
from mcsquared.model.parameters import Gamma
from mcsquared.samplers.steps import concentrations, context_priors, contexts, effects
from mcsquared.samplers.steps.collapsed import collapsed_step
from mcsquared.samplers.sweep import BLOCKED, COLLAPSED
from tests.statistics.forward import (
    TAGS,
    BackgroundDesign,
    EffectsDesign,
    NumbersDesign,
    WordsDesign,
)
from tests.statistics.joint_chain import (
    chain_draws,
    chance_of_largest,
    forward_draws,
    largest,
    names,
    row,
    scores,
)

LAMS = {"λ = ∞": np.inf, "λ = 0.5": 0.5, "λ resampled": Gamma(3.0, 1.5)}
every_lam = pytest.mark.parametrize("lam", LAMS, ids=["infinite", "fixed", "resampled"])


def make(name, lam="λ = ∞"):
    """The third group has no content, the second lacks the first context, the fourth the bag."""
    lengths = [3, 2, 0, 4]
    if name == "words":
        return WordsDesign(lengths, missing_number=1, missing_bag=3, lam=LAMS[lam])
    return NumbersDesign(lengths, missing_number=1, lam=LAMS[lam])


every_design = pytest.mark.parametrize("name", ["words", "numbers"])


@every_design
def test_a_short_chain_has_the_joint_prior(name):
    design = make(name)
    z = scores(forward_draws(design, 4000, seed=1), chain_draws(design, 2500, seed=2))
    assert np.abs(z).max() < 4.5, largest(z, design)


@every_lam
def test_a_short_chain_of_the_blocked_sampler_has_the_joint_prior(lam):
    design = make("words", lam)
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert np.abs(z).max() < 4.5, largest(z, design)


def test_a_short_chain_without_collapsed_sweeps_has_the_joint_prior():
    design, alone = make("words"), BLOCKED.without(collapsed_step)
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, alone))
    assert np.abs(z).max() < 4.5, largest(z, design)


LEARNED = {"log-uniform": Bag("learned", 3), "gamma": Bag(Gamma(2.0, 1.0), 3)}


def learning(prior, lam):
    """A design whose bag learns its base measure and concentration."""
    lengths = [3, 2, 0, 4]
    return WordsDesign(lengths, missing_number=1, missing_bag=3, lam=LAMS[lam], tags=LEARNED[prior])


@pytest.mark.parametrize("prior", LEARNED)
def test_a_short_chain_with_a_learned_context_has_the_joint_prior(prior):
    design = learning(prior, "λ resampled")
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert np.abs(z).max() < 4.5, largest(z, design)


@pytest.mark.parametrize("lam", ["λ = ∞", "λ resampled"], ids=["infinite", "resampled"])
def test_a_short_chain_with_a_background_has_the_joint_prior(lam):
    design = BackgroundDesign([3, 2, 0, 4], LAMS[lam])
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert np.abs(z).max() < 4.5, largest(z, design)


@pytest.mark.calibrate
@every_lam
def test_a_long_chain_with_a_background_has_the_joint_prior(lam, calibration):
    design, n = BackgroundDesign([3, 2, 0, 4], LAMS[lam]), 20_000
    z = scores(forward_draws(design, 50_000, seed=3), chain_draws(design, n, 4, BLOCKED))
    calibration(f"joint test, blocked, {lam}: {design.name}", n=n, **row(z, design))
    assert np.abs(z).max() < 4, largest(z, design)


def test_the_joint_test_detects_outliers_that_are_drawn_without_their_chance(monkeypatch):
    """A negative control: ρ is always near 1."""
    monkeypatch.setattr(contexts, "draw_background", almost_no_background)
    design = BackgroundDesign([3, 2, 0, 4], LAMS["λ resampled"])
    z = scores(forward_draws(design, 2000, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert abs(z[names(design).index("outliers")]) > 6


def almost_no_background(sweep):
    drawn = right_background(sweep)
    drawn.log_probabilities[:] = np.log([0.95, 0.05])
    return drawn


right_background = contexts.draw_background
SEEDS = 101, 102, 103  # of long chains
EFFECTS_LAMS = {name: lam for name, lam in LAMS.items() if lam != np.inf}


@pytest.mark.parametrize("tags", [TAGS, LEARNED["gamma"]], ids=["fixed", "learned"])
def test_a_short_chain_with_effects_has_the_joint_prior(tags):
    design = EffectsDesign([3, 2, 0, 4], lam=LAMS["λ resampled"], tags=tags)
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert np.abs(z).max() < 4.5, largest(z, design)


def test_the_joint_test_detects_that_missing_sources_are_ignored(monkeypatch):
    """A negative control of ω: without the tables that missing sources would have had."""
    monkeypatch.setattr(effects, "draw_missing_tables", lambda *arguments: 0)
    design = EffectsDesign([3, 2, 0, 4], lam=LAMS["λ resampled"])
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert abs(z[names(design).index("omega 0")]) > 6


@pytest.mark.calibrate
@pytest.mark.parametrize("lam", EFFECTS_LAMS, ids=["fixed", "resampled"])
def test_long_chains_with_effects_have_the_joint_prior(lam, calibration):
    design, n = EffectsDesign([3, 2, 0, 4], lam=LAMS[lam]), 20_000
    chains = [chain_draws(design, n, seed, BLOCKED) for seed in SEEDS]
    forward = forward_draws(design, 200_000, seed=77)
    together = [draw for chain in chains for draw in chain]
    z = scores(forward, together)
    each = [scores(forward, chain) for chain in chains]
    found = row(z, design)
    alone = ", ".join(f"{np.abs(chain_scores).max():.1f}" for chain_scores in each)
    found["note"] += f"; {len(chains)} chains, largest of each: {alone}"
    found["p"] = chance_of_largest(together, z)
    calibration(f"joint test, blocked, {lam}: {design.name}", n=n * len(chains), **found)
    assert np.abs(z).max() < 4, largest(z, design)


@pytest.mark.calibrate
@pytest.mark.parametrize("prior", LEARNED)
def test_a_long_chain_with_effects_and_a_learned_context_has_the_joint_prior(prior, calibration):
    design, n = EffectsDesign([3, 2, 0, 4], lam=LAMS["λ resampled"], tags=LEARNED[prior]), 20_000
    z = scores(forward_draws(design, 50_000, seed=3), chain_draws(design, n, 4, BLOCKED))
    test = f"joint test, blocked, λ resampled, learned bag ({prior}): {design.name}"
    calibration(test, n=n, **row(z, design))
    assert np.abs(z).max() < 4, largest(z, design)


@pytest.mark.calibrate
@every_lam
@pytest.mark.parametrize("prior", LEARNED)
def test_a_long_chain_with_a_learned_context_has_the_joint_prior(prior, lam, calibration):
    design, n = learning(prior, lam), 20_000
    z = scores(forward_draws(design, 50_000, seed=3), chain_draws(design, n, 4, BLOCKED))
    calibration(f"joint test, blocked, {lam}: learned context, {prior}", n=n, **row(z, design))
    assert np.abs(z).max() < 4, largest(z, design)


def test_the_joint_test_detects_customers_in_place_of_tables(monkeypatch):
    """A negative control of the learned base measure."""

    def customers(first, last, counts, shapes, key, tables):
        tables[first:last] = counts[first:last].sum(axis=1)

    monkeypatch.setattr(context_priors, "draw_category_tables", customers)
    design = learning("gamma", "λ resampled")
    z = scores(forward_draws(design, 4000, seed=1), chain_draws(design, 2000, 2, BLOCKED))
    assert abs(z[names(design).index("largest b")]) > 6


def test_the_joint_test_detects_a_concentration_drawn_without_the_sizes_of_clusters(monkeypatch):
    """A negative control of the learned concentration."""
    right = context_priors.resample_given_base

    def without_sizes(current, prior, base, count, totals, *more):
        return right(current, prior, base, count, np.zeros_like(totals), *more)

    monkeypatch.setattr(context_priors, "resample_given_base", without_sizes)
    design = learning("gamma", "λ resampled")
    z = scores(forward_draws(design, 2000, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert abs(z[names(design).index("log g")]) > 10


@pytest.mark.calibrate
@every_design
def test_a_long_chain_has_the_joint_prior(name, calibration):
    design, n = make(name), 100_000
    z = scores(forward_draws(design, n, seed=3), chain_draws(design, n, seed=4))
    calibration(f"joint test: {design.name}", n=n, **row(z, design))
    assert np.abs(z).max() < 4, largest(z, design)


@pytest.mark.calibrate
@every_lam
@every_design
def test_a_long_chain_of_the_blocked_sampler_has_the_joint_prior(name, lam, calibration):
    design, n = make(name, lam), 20_000
    z = scores(forward_draws(design, 50_000, seed=3), chain_draws(design, n, 4, BLOCKED))
    calibration(f"joint test, blocked, {lam}: {design.name}", n=n, **row(z, design))
    assert np.abs(z).max() < 4, largest(z, design)


@pytest.mark.parametrize("sampler", [COLLAPSED, BLOCKED], ids=["collapsed", "blocked"])
def test_the_joint_test_detects_the_printed_update_of_v(sampler, monkeypatch):
    """A negative control: the appendix has the tables where the customers belong."""

    def printed(current, prior, customers, tables, rng):
        return right(current, prior, tables if len(tables) > 1 else customers, tables, rng)

    right = concentrations.resample_concentration
    monkeypatch.setattr(concentrations, "resample_concentration", printed)
    # The right draw of v that follows would hide the wrong one.
    monkeypatch.setattr(concentrations, "resample_v_given_weights", lambda state, *_: state.v)
    design = make("words")
    z = scores(forward_draws(design, 2000, seed=1), chain_draws(design, 1000, 2, sampler))
    assert abs(z[names(design).index("log v")]) > 10

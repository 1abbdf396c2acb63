"""The blocked sampler draws from the exact posterior, whether groups vary or not."""

from dataclasses import replace
from math import inf

import pytest

from mcsquared.families import MultivariateGaussian
from mcsquared.model.parameters import Gamma
from mcsquared.samplers.backends import base
from mcsquared.samplers.content import words
from mcsquared.samplers.steps import weights
from mcsquared.samplers.steps.collapsed import collapsed_step
from mcsquared.samplers.steps.split_merge import split_and_merge_clusters
from mcsquared.samplers.steps.topic_moves import move_topics
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.state import Bounds
from tests.statistics import plain_blocked
from tests.statistics.agreement import compare, compare_twice, is_exact, row
from tests.statistics.corpora import (
    CORPORA,
    PYTHON_FAMILIES,
    bounded,
    empty_group,
    missing_and_bag,
)

BLOCKED_ALONE = BLOCKED.without(collapsed_step)
LAMS = {"λ = ∞": inf, "λ = 0.5": 0.5, "λ resampled": Gamma(2.0, 1.0)}
every_lam = pytest.mark.parametrize("lam", LAMS, ids=["infinite", "fixed", "resampled"])


def loosely_bounded():
    """A corpus with bounds that do not bind: they leave enough empty slots."""
    return missing_and_bag(bounds=Bounds(clusters=12, topics=14))


def background():
    """Four groups, one without content, whose numbers may come from a background."""
    tiny = empty_group()
    contexts = {"year": replace(tiny.priors.contexts["year"], background=True)}
    return replace(tiny, priors=replace(tiny.priors, contexts=contexts))


TINY_CORPORA = {
    name: make for name, make in CORPORA.items() if make is not bounded
} | PYTHON_FAMILIES
TINY_CORPORA["bounds that do not bind"] = loosely_bounded
TINY_CORPORA["background"] = background
SHORT_CHAINS = [
    ("λ = ∞", "missing Gaussian context and a bag"),
    ("λ = ∞", "Gaussian content"),
    ("λ = 0.5", "vectors as content, counts and booleans as contexts"),
    ("λ resampled", "sampled concentrations"),
    ("λ = ∞", "learned contexts"),
    ("λ = 0.5", "learned contexts"),
    ("λ = ∞", "background"),
    ("λ = 0.5", "background"),
]


def make(name, lam):
    tiny = TINY_CORPORA[name]()
    return replace(tiny, priors=replace(tiny.priors, lam=LAMS[lam]))


@pytest.mark.parametrize(("lam", "name"), SHORT_CHAINS)
def test_a_short_chain_agrees_with_enumeration(name, lam):
    found = compare(make(name, lam), n_sweeps=1500, seed=2, sampler=BLOCKED_ALONE)
    assert is_exact(found, allowance=0.03, n_errors=4), found


@pytest.mark.parametrize("lam", ["λ = ∞", "λ = 0.5"])
def test_the_methods_for_wide_vectors_agree_with_enumeration(monkeypatch, lam):
    """Used here for two dimensions, with few empty slots."""
    monkeypatch.setattr(MultivariateGaussian, "is_wide", True)
    name = "vectors as content, counts and booleans as contexts"
    found = compare(make(name, lam), n_sweeps=1500, seed=2, sampler=BLOCKED_ALONE)
    assert is_exact(found, allowance=0.03, n_errors=4), found


def test_weighing_the_topics_of_a_group_first_agrees_with_enumeration(monkeypatch):
    """The method for many topics, used here for a few."""
    monkeypatch.setattr(words, "MANY_SLOTS", 0)
    found = compare(make("repeated words", "λ = 0.5"), n_sweeps=2000, seed=3, sampler=BLOCKED)
    assert is_exact(found, allowance=0.03, n_errors=4), found


@pytest.mark.calibrate
def test_weighing_the_topics_of_a_group_first_agrees_in_a_long_chain(monkeypatch, calibration):
    n_sweeps = 20_000
    monkeypatch.setattr(words, "MANY_SLOTS", 0)
    found = compare(make("repeated words", "λ resampled"), n_sweeps, seed=1, sampler=BLOCKED)
    calibration(
        "enumeration, blocked, topics of the group first: repeated words", n=n_sweeps, **row(found)
    )
    assert is_exact(found, allowance=0.01, n_errors=3), found


def test_blocked_and_collapsed_sweeps_in_turn_agree_with_enumeration():
    found = compare(make("repeated words", "λ = ∞"), n_sweeps=1000, seed=2, sampler=BLOCKED)
    assert is_exact(found, allowance=0.03, n_errors=4), found


@pytest.mark.calibrate
@pytest.mark.parametrize("name", ["missing Gaussian context and a bag", "sampled concentrations"])
def test_long_chains_of_both_sweeps_in_turn_agree_with_enumeration(name, calibration):
    n_sweeps = 10_000
    found = compare(make(name, "λ = ∞"), n_sweeps=n_sweeps, seed=1, sampler=BLOCKED)
    calibration(
        f"enumeration, blocked and collapsed, alternating: {name}", n=n_sweeps, **row(found)
    )
    assert is_exact(found, allowance=0.01, n_errors=3), found


@pytest.mark.calibrate
@every_lam
@pytest.mark.parametrize("name", TINY_CORPORA)
def test_a_long_chain_agrees_with_enumeration(name, lam, calibration):
    """Some of so many rows exceed three standard errors by chance: a second chain checks them."""
    n_sweeps = 6_000 if name in PYTHON_FAMILIES else 20_000
    found, measured = compare_twice(make(name, lam), n_sweeps, BLOCKED_ALONE)
    calibration(f"enumeration, blocked, {lam}: {name}", **measured)
    assert is_exact(found, allowance=0.01, n_errors=3), found


@pytest.mark.calibrate
def test_binding_bounds_hold_and_draws_are_close_to_the_bounded_posterior(calibration):
    """With topics summed out of the z step, a bound can only close slots, which is not exact."""
    n_sweeps = 20_000
    found = compare(bounded(), n_sweeps=n_sweeps, seed=1, sampler=BLOCKED_ALONE)
    measured = row(found)
    measured["note"] = f"not exact: slots beyond a bound are closed; {measured['note']}"
    calibration("bounds that bind, blocked", n=n_sweeps, **measured)
    assert found["partition"].total_variation < 0.05
    assert found["everything"].total_variation < 0.1


@pytest.mark.calibrate
@every_lam
def test_the_plain_numpy_sampler_agrees_with_enumeration(lam, calibration):
    n_sweeps = 10_000
    tiny = make("sampled concentrations", lam)
    found = compare(tiny, n_sweeps=n_sweeps, seed=1, sampler=plain_blocked)
    calibration(f"enumeration, blocked, NumPy version, {lam}", n=n_sweeps, **row(found))
    assert is_exact(found, allowance=0.02, n_errors=3.5), found


def one_table_per_customer(draw_tables):
    """Return a `draw_tables` of clusters in which every customer has its own table."""

    def draw(customers, *_):
        return customers

    return draw


def one_table_per_token(draw_tables):
    """Return a `draw_tables` of groups in which every token has its own table."""

    def draw(self, sweep):
        state = sweep.state
        state.tables_in_cluster = state.counts.topics_in_cluster.copy()
        return draw_tables(self, sweep)

    return draw


def one_empty_slot(usable_slots):
    """Return a `usable_slots` that leaves one empty slot."""

    def first(occupied, bound):
        return usable_slots(occupied, bound)[:1]

    return first


CONTROLS = [
    ("λ = ∞", "no contexts", base, "draw_tables", one_table_per_customer),
    ("λ = ∞", "no contexts", weights, "usable_slots", one_empty_slot),
    ("λ = 0.5", "repeated words", base.Backend, "draw_tables", one_table_per_token),
]


@pytest.mark.parametrize(("lam", "corpus", "module", "name", "wrong"), CONTROLS)
def test_a_wrong_sampler_is_detected(lam, corpus, module, name, wrong, monkeypatch):
    """Moves of clusters and topics are omitted: they redraw all tables and hide wrong ones."""
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    sampler = BLOCKED_ALONE.without(split_and_merge_clusters).without(move_topics)
    found = compare(make(corpus, lam), n_sweeps=2000, seed=2, sampler=sampler)
    assert not is_exact(found, allowance=0.03, n_errors=4), found

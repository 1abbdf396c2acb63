"""Splits and merges of topics leave the posterior as it is, alone and within a sweep."""

from math import inf

import numpy as np
import pytest

from mcsquared.model.parameters import Gamma
from mcsquared.samplers.steps import topic_division, topic_moves
from mcsquared.samplers.steps.concentrations import resample_concentrations
from mcsquared.samplers.steps.globals import draw_globals
from mcsquared.samplers.steps.slots import add_empty_slots
from mcsquared.samplers.steps.tables import draw_cluster_tables
from mcsquared.samplers.steps.topic_moves import MOVE_KINDS, MoveKind, TopicMoves, move_topics
from mcsquared.samplers.sweep import BLOCKED, Sampler
from mcsquared.samplers.types import Sums
from tests.statistics.agreement import (
    Visits,
    compare,
    compare_twice,
    distance,
    everything,
    is_exact,
    n_topics,
    run,
)
from tests.statistics.forward import WordsDesign
from tests.statistics.joint_chain import chain_draws, forward_draws, largest, scores
from tests.statistics.joint_chain import row as joint_row
from tests.statistics.test_enumeration_blocked import make

CASES = [
    ("λ = 0.5", "repeated words"),
    ("λ resampled", "sampled concentrations"),
    ("λ = 0.5", "Gaussian content"),
    ("λ resampled", "missing Gaussian context and a bag"),
]


@pytest.fixture(autouse=True)
def _many_moves(monkeypatch):
    """Moves from the first sweep on, as many merges as splits, cells divided in segments of 2."""
    kinds = [kind._replace(merge_share=0.5, n_trials=2) for kind in MOVE_KINDS]
    monkeypatch.setattr(topic_moves, "MOVE_KINDS", kinds)
    monkeypatch.setattr(topic_moves, "SWEEPS_BEFORE_MOVES", 0)
    monkeypatch.setattr(topic_moves, "FIRST_SWEEPS", inf)
    monkeypatch.setattr(topic_division, "TOKENS_PER_SEGMENT", 2)


def keep_groups(sweep):
    """Leave all groups where they are, in the place of `sweep_groups`."""
    sweep.sums = Sums(None, None, None, topic_log_likelihood=np.zeros(1))


ALONE = Sampler(
    (
        add_empty_slots,
        draw_globals,
        keep_groups,
        move_topics,
        draw_cluster_tables,
        resample_concentrations,
    ),
    BLOCKED.start,
)


def compare_given_clusters(tiny, n_sweeps, seed):
    """Distances of moves alone from the posterior of topics given the clusters of the start."""
    visits = run(tiny, n_sweeps, seed, ALONE)
    (clusters,) = {state[0] for state in visits.states}
    exact = {state: chance for state, chance in visits.exact.items() if state[0] == clusters}
    total = sum(exact.values())
    exact = {state: chance / total for state, chance in exact.items()}
    visits = Visits(visits.states, visits.number_in_sweep, exact)
    return distance(visits, everything), distance(visits, n_topics)


@pytest.mark.parametrize(("lam", "name"), CASES[:3])
def test_moves_alone_agree_with_enumeration(lam, name):
    labels, numbers = compare_given_clusters(make(name, lam), 1000, seed=3)
    assert labels.total_variation < 0.03 + 2 * labels.expected
    assert numbers.largest_z < 4


@pytest.mark.parametrize(("lam", "name"), CASES[:2])
def test_word_moves_alone_agree_with_enumeration(lam, name, monkeypatch):
    kinds = [MoveKind("words", merge_share=0.5, n_trials=6)]
    monkeypatch.setattr(topic_moves, "MOVE_KINDS", kinds)
    labels, numbers = compare_given_clusters(make(name, lam), 1000, seed=4)
    assert labels.total_variation < 0.03 + 2 * labels.expected
    assert numbers.largest_z < 4


@pytest.mark.parametrize(("lam", "name"), CASES[:3])
def test_sweeps_with_moves_agree_with_enumeration(lam, name):
    found = compare(make(name, lam), n_sweeps=1000, seed=2, sampler=BLOCKED)
    assert is_exact(found, allowance=0.03, n_errors=4), found


@pytest.mark.calibrate
@pytest.mark.parametrize(("lam", "name"), CASES)
def test_moves_alone_agree_in_a_long_chain(lam, name, calibration):
    n_sweeps = 20_000
    labels, numbers = compare_given_clusters(make(name, lam), n_sweeps, seed=1)
    note = f"topics given clusters; by chance {labels.expected:.4f}"
    measured = {"largest_z": numbers.largest_z, "total_variation": labels.total_variation}
    calibration(f"enumeration, topic moves alone, {lam}: {name}", n=n_sweeps, **measured, note=note)
    assert labels.total_variation < 0.01 + 2 * labels.expected
    assert numbers.largest_z < 3


@pytest.mark.calibrate
@pytest.mark.parametrize(("lam", "name"), CASES)
def test_long_chains_with_moves_agree_with_enumeration(lam, name, calibration):
    """A row beyond three standard errors, as some are by chance, gets a second chain."""
    found, measured = compare_twice(make(name, lam), 20_000, BLOCKED)
    calibration(f"enumeration, blocked, topic moves, {lam}: {name}", **measured)
    assert is_exact(found, allowance=0.01, n_errors=3), found


def words_design(lam=0.5):
    return WordsDesign([3, 2, 0, 4], missing_number=1, missing_bag=3, lam=lam)


def test_a_short_chain_with_moves_has_the_joint_prior():
    design = words_design()
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert np.abs(z).max() < 4.5, largest(z, design)


@pytest.mark.calibrate
@pytest.mark.parametrize("lam", [0.5, Gamma(3.0, 1.5)], ids=["fixed", "resampled"])
def test_a_long_chain_with_moves_has_the_joint_prior(lam, calibration):
    design, n = words_design(lam), 20_000
    z = scores(forward_draws(design, 50_000, seed=3), chain_draws(design, n, 4, BLOCKED))
    calibration(f"joint test, blocked, topic moves, λ = {lam}", n=n, **joint_row(z, design))
    assert np.abs(z).max() < 4, largest(z, design)


def test_a_wrong_ratio_is_detected(monkeypatch):
    """A negative control: the choice of what to split and merge is left out."""
    monkeypatch.setattr(TopicMoves, "log_choice_of_split", lambda *given: 0.0)
    _, numbers = compare_given_clusters(make("repeated words", "λ = 0.5"), 2000, seed=3)
    assert numbers.largest_z > 4

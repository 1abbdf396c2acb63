"""With levels above groups, the blocked sampler draws from the exact posterior."""

from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pandas as pd
import pytest

from mcsquared.corpus import Corpus
from mcsquared.families import Categorical, Gaussian
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.samplers.backends import base
from mcsquared.samplers.steps import levels, split_merge
from mcsquared.samplers.sweep import BLOCKED
from tests.statistics.joint_chain import scores
from tests.statistics.leveled import TreePosterior, compare_tree
from tests.statistics.leveled_joint import LeveledDesign, chain_draws, forward_draws, names
from tests.statistics.test_ranks import for_each_corpus, ks_p_values, p_values
from tests.statistics.tiny import Tiny

YEAR = Gaussian(mean=0.0, strength=0.5, shape=1.5, rate=1.0)
CLEAR = Gaussian(mean=0.0, strength=0.2, shape=3.0, rate=0.5)
FIXED = {"alpha": 0.8, "v": 1.5, "eta": 1.2}
SAMPLED = {"alpha": Gamma(2.0, 2.0), "v": Gamma(3.0, 1.5), "eta": Gamma(2.0, 1.5)}


def leveled(frame, levels, level_contexts, families, lam, concentrations, above, year=YEAR):
    """A tiny corpus with levels; ``above`` are alpha and v of every level."""
    text = [column for column in frame if column.startswith("w")]
    corpus = Corpus.from_frame(
        frame,
        contexts=["year"],
        content=text,
        levels=levels,
        level_contexts=level_contexts,
    )
    given = {"year": year} | families
    priors = Priors.for_corpus(corpus, Categorical(0.5), given, lam=lam, **concentrations)
    level_priors = {name: replace(level, **above) for name, level in priors.levels.items()}
    return Tiny(corpus, replace(priors, levels=level_priors))


def three_levels(lam=inf, concentrations=FIXED, above=None, region=None):
    """Four groups, one without a country, in two countries; a context is missing at each level."""
    frame = pd.DataFrame(
        {
            "w0": [2, 0, 1, 0],
            "w1": [0, 1, 0, 1],
            "year": [-0.5, 1.4, np.nan, 1.0],
            "country": ["F", "F", "G", None],
        }
    )
    countries = pd.DataFrame(
        {"country": ["F", "G"], "gdp": [0.4, np.nan], "region": ["north", "south"]}
    )
    families = {"gdp": YEAR, "region": region or Categorical(0.7)}
    above = above or {"alpha": 0.9, "v": 1.1}
    contexts = {"country": countries}
    return leveled(frame, "country", contexts, families, lam, concentrations, above)


def four_levels(lam=inf, concentrations=FIXED, above=None):
    """Three cities, one without a country, in two countries."""
    frame = pd.DataFrame(
        {
            "w0": [1, 0, 1, 0],
            "w1": [0, 1, 0, 1],
            "year": [-0.9, 1.4, np.nan, 1.0],
            "city": ["p", "p", "q", "r"],
            "country": ["F", "F", "G", None],
        }
    )
    cities = pd.DataFrame({"city": ["p", "q", "r"], "size": [0.2, np.nan, -1.1]})
    countries = pd.DataFrame({"country": ["F", "G"], "gdp": [0.4, 1.9]})
    families = {"gdp": YEAR, "size": YEAR}
    above = above or {"alpha": 0.9, "v": 1.1}
    contexts = {"city": cities, "country": countries}
    return leveled(frame, ["city", "country"], contexts, families, lam, concentrations, above)


def contexts_alone(lam=inf, concentrations=FIXED, above=None, levels=("country",)):
    """No content, and contexts that identify types and clusters, so that no error is hidden."""
    frame = pd.DataFrame(
        {
            "w0": np.zeros(6, int),
            "year": [-2.0, -1.8, 2.1, 1.9, -2.2, 2.0],
            "country": ["F", "F", "G", "G", "H", None],
            "continent": ["X", "X", "Y", "Y", "Y", None],
        }
    )
    countries = pd.DataFrame({"country": ["F", "G", "H"], "gdp": [1.0, 1.3, np.nan]})
    continents = pd.DataFrame({"continent": ["X", "Y"], "area": [1.0, 1.2]})
    families = {"gdp": CLEAR, "area": CLEAR} if len(levels) > 1 else {"gdp": CLEAR}
    contexts = {"country": countries, "continent": continents}
    contexts = {name: contexts[name] for name in levels}
    above = above or {"alpha": 0.9, "v": 1.1}
    return leveled(frame, list(levels), contexts, families, lam, concentrations, above, year=CLEAR)


RESAMPLED = {"alpha": Gamma(2.0, 2.0), "v": Gamma(2.0, 1.0)}
CASES = {
    "three levels, λ = ∞": three_levels,
    "three levels, λ = 0.7": lambda: three_levels(0.7),
    "three levels, all concentrations resampled": lambda: three_levels(
        Gamma(2.0, 1.0), SAMPLED, RESAMPLED
    ),
    "learned context of a level": lambda: three_levels(0.7, region=Categorical(Gamma(2.0, 1.0))),
    "contexts alone": contexts_alone,
    "contexts alone, all concentrations resampled": lambda: contexts_alone(inf, SAMPLED, RESAMPLED),
    "contexts alone, four levels": lambda: contexts_alone(levels=("country", "continent")),
    "four levels, λ = ∞": four_levels,
    "four levels, all concentrations resampled": lambda: four_levels(0.7, SAMPLED, RESAMPLED),
}
SHORT = [
    "three levels, all concentrations resampled",
    "contexts alone, all concentrations resampled",
    "contexts alone, four levels",
]


def is_exact(found, allowance, n_errors):
    return (
        all(
            distance.total_variation < allowance + 2 * distance.expected
            for distance in found.values()
        )
        and found["numbers"].largest_z < n_errors
    )


@pytest.mark.parametrize("name", SHORT)
def test_a_short_chain_with_levels_agrees_with_enumeration(name):
    found = compare_tree(CASES[name](), n_sweeps=1000, seed=4, sampler=BLOCKED)
    assert is_exact(found, allowance=0.03, n_errors=4.5), found


def test_splits_and_merges_of_clusters_with_levels_agree_with_enumeration(monkeypatch):
    monkeypatch.setattr(split_merge, "FIRST_SWEEPS", inf)
    found = compare_tree(CASES["three levels, λ = 0.7"](), n_sweeps=700, seed=3, sampler=BLOCKED)
    assert is_exact(found, allowance=0.03, n_errors=4.5), found


@pytest.mark.calibrate
@pytest.mark.parametrize("name", CASES)
def test_a_long_chain_with_levels_agrees_with_enumeration(name, calibration, monkeypatch):
    n_sweeps = 20_000
    monkeypatch.setattr(split_merge, "FIRST_SWEEPS", inf)
    found = compare_tree(CASES[name](), n_sweeps, seed=1, sampler=BLOCKED)
    calibration(
        f"enumeration, blocked, levels above groups: {name}",
        n=n_sweeps,
        largest_z=found["numbers"].largest_z,
        total_variation=found["types_and_clusters"].total_variation,
        note=f"all labels: {found['everything'].total_variation:.4f}, "
        f"by chance {found['everything'].expected:.4f}",
    )
    assert is_exact(found, allowance=0.01, n_errors=4), found


@pytest.mark.calibrate
@pytest.mark.parametrize("name", [name for name in CASES if "all concentrations" in name])
def test_alpha_of_clusters_with_levels_has_its_exact_mean(name, calibration, monkeypatch):
    tiny, n_sweeps = CASES[name](), 20_000
    monkeypatch.setattr(split_merge, "FIRST_SWEEPS", inf)
    totals = [TreePosterior(tiny, factor).total for factor in (np.ones_like, np.array, np.log)]
    observations, drawn = tiny.observations, []
    state = BLOCKED.start(observations, tiny.priors, 1, 0, "random", 2, 2)
    for _ in range(n_sweeps):
        BLOCKED.sweep(state, observations, tiny.priors, 1, 0)
        drawn.append([state.alpha, np.log(state.alpha)])
    z = scores([np.array(totals[1:]) / totals[0]], drawn)
    calibration(
        f"enumeration, blocked, levels above groups: α and ln α, {name}",
        n=n_sweeps,
        largest_z=float(np.abs(z).max()),
        note=f"exact means {totals[1] / totals[0]:.3f} and {totals[2] / totals[0]:.3f}, "
        f"scores {z[0]:.1f} and {z[1]:.1f}",
    )
    assert np.abs(z).max() < 4


def no_messages(sum_messages):
    """Types drawn regardless of the groups."""

    def send(*given):
        labels, found = sum_messages(*given)
        return labels, found | {"messages": 0 * found["messages"]}

    return send


def first_type_only(draw_rows):
    """All types with the weights of the first."""

    def rows(*given):
        drawn = draw_rows(*given)
        return np.tile(drawn[:1], (len(drawn), 1))

    return rows


CONTROLS = [
    (base, "sum_messages", no_messages),
    (levels, "draw_rows", first_type_only),
]


@pytest.mark.parametrize(("module", "name", "wrong"), CONTROLS)
def test_a_wrong_sampler_of_levels_is_detected(module, name, wrong, monkeypatch):
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    found = compare_tree(contexts_alone(), n_sweeps=1000, seed=2, sampler=BLOCKED)
    assert not is_exact(found, allowance=0.03, n_errors=4.5), found


LAMS = {"λ = 0.5": 0.5, "λ resampled": Gamma(3.0, 1.5)}


def test_a_short_chain_with_a_level_has_the_joint_prior():
    design = LeveledDesign(LAMS["λ resampled"])
    z = scores(forward_draws(design, 4000, seed=1), chain_draws(design, 1000, 2, BLOCKED))
    assert np.abs(z).max() < 4.5, furthest(z, design)


@pytest.mark.calibrate
@pytest.mark.parametrize("lam", LAMS)
def test_a_long_chain_with_a_level_has_the_joint_prior(lam, calibration):
    design, n = LeveledDesign(LAMS[lam]), 20_000
    z = scores(forward_draws(design, 50_000, seed=3), chain_draws(design, n, 4, BLOCKED))
    note = f"{len(z)} statistics, rms {np.sqrt((z**2).mean()):.2f}, {furthest(z, design)}"
    calibration(
        f"joint test, blocked, {lam}: a level above groups",
        n=n,
        largest_z=float(np.abs(z).max()),
        note=note,
    )
    assert np.abs(z).max() < 4, furthest(z, design)


RANKED = ("alpha", "v", "eta", "lam", "clusters", "topics", "level alpha", "level v", "types")


def truth_of(labels, above):
    counts = len(set(labels.clusters)), len(set(labels.topics)), len(set(above.types))
    concentrations = (labels.alpha, labels.v, labels.eta, labels.lam)
    return np.array([*concentrations, *counts[:2], above.alpha, above.v, counts[2]], float)


def values_of(state):
    level = state.levels[0]
    n_types = len(set(level.type_of_unit.tolist()))
    concentrations = (state.alpha, state.v, state.eta, state.lam)
    return [*concentrations, state.n_clusters, state.n_topics, level.alpha, level.v, n_types]


def rank(design, number, n_draws, burn_in, thin, seed):
    """Draw a corpus and return the ranks of the truth among its draws, ties at random."""
    rng = np.random.default_rng([seed, number])
    labels, data, above = design.draw(rng)
    observations, seed_of_fit = design.leveled(data, above.gdp), 1000 * seed + number
    state = BLOCKED.start(observations, design.priors, seed_of_fit, 0, "random", 2, 2)
    drawn = []
    for t in range(1, burn_in + thin * n_draws + 1):
        BLOCKED.sweep(state, observations, design.priors, seed_of_fit, 0)
        if t > burn_in and (t - burn_in) % thin == 0:
            drawn.append(values_of(state))
    truth, drawn = truth_of(labels, above), np.array(drawn, float)
    ties = (drawn == truth).sum(axis=0)
    return (drawn < truth).sum(axis=0) + rng.integers(0, ties + 1)


@pytest.mark.calibrate
def test_ranks_of_the_truth_are_uniform_with_a_level(calibration):
    """A context is missing in a group and in a unit."""
    design, n_draws = LeveledDesign(LAMS["λ resampled"]), 9
    one = partial(rank, design, n_draws=n_draws, burn_in=60, thin=24, seed=2)
    found = for_each_corpus(one, 600)
    chi_square, ks = p_values(found, n_draws), ks_p_values(found, n_draws)
    each = ", ".join(f"{q} {p:.2f}" for q, p in zip(RANKED, chi_square, strict=True))
    calibration(
        "ranks, blocked, λ resampled: a level above groups",
        n=len(found),
        p=min(chi_square),
        note=f"{each}; smallest KS p {min(ks):.2f}",
    )
    assert min(chi_square) > 1e-3
    assert min(ks) > 1e-3


def test_the_joint_test_detects_children_in_place_of_tables(monkeypatch):
    """A negative control: every child draws from the root."""
    monkeypatch.setattr(levels, "draw_crt", lambda customers, *given: customers.astype(np.int64))
    design = LeveledDesign(LAMS["λ resampled"])
    z = scores(forward_draws(design, 2000, seed=1), chain_draws(design, 700, 2, BLOCKED))
    assert abs(z[names(design).index("log level v")]) > 8


def furthest(z, design):
    worst = int(np.abs(z).argmax())
    return f"{names(design)[worst]}: z = {z[worst]:.1f}"

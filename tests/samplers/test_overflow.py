"""A chain that leaves the range of floats stops, and says what the likely cause is."""

import dataclasses

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.errors import InputError
from mcsquared.samplers.sweep import SAMPLERS

SCHEDULE = {"n_sweeps": 4, "burn_in": 2, "thin": 1, "random_state": 0, "progress": False}
COUNTS = np.random.default_rng(0).poisson(1.5, (6, 8))
YEAR = np.random.default_rng(1).normal(size=6)


def fit_with_step(monkeypatch, step):
    """Fit a corpus whose chain ends every sweep with another step."""
    blocked = SAMPLERS["blocked"]
    changed = dataclasses.replace(blocked, steps=(*blocked.steps, step))
    monkeypatch.setitem(SAMPLERS, "blocked", changed)
    mc2.MC2(**SCHEDULE).fit(COUNTS, contexts={"year": YEAR})


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_log_joint_that_is_not_finite_stops_the_chain(monkeypatch, value):
    def overflow_step(sweep):
        sweep.state.log_joint = value
        sweep.state.alpha = 1e25

    message = (
        f"stopped in sweep 1, because its log joint is {value}; .* cause is .*: alpha is 1e.25"
    )
    with pytest.raises(InputError, match=message):
        fit_with_step(monkeypatch, overflow_step)


def test_a_context_beyond_floats_is_named(monkeypatch):
    def overflow_step(sweep):
        sweep.state.counts.context_statistics[:] = 1e308
        raise FloatingPointError("no candidate was accepted")

    message = "because no candidate was accepted; the likely cause is the scale of context 'year'"
    with pytest.raises(InputError, match=message):
        fit_with_step(monkeypatch, overflow_step)


@pytest.mark.parametrize("lam", [mc2.MC2().lam, np.inf])
@pytest.mark.parametrize(
    ("content", "year"),
    [
        (COUNTS, YEAR * 1e140),
        (COUNTS, YEAR * 1e-140),
        ([np.random.default_rng(j).normal(size=(3, 2)) * 1e140 for j in range(6)], YEAR),
        ([np.random.default_rng(j).normal(size=(3, 2)) * 1e-140 for j in range(6)], YEAR),
    ],
)
def test_data_of_extreme_scales_are_fitted(content, year, lam):
    fitted = mc2.MC2(lam=lam, **SCHEDULE).fit(content, contexts={"year": year})
    assert np.isfinite(fitted.posterior_.trace["log_joint"]).all()
    assert np.isfinite(fitted.score(content, contexts={"year": year}))
    assert np.isfinite(fitted.predict_proba(content, contexts={"year": year})).all()


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_data_beyond_floats_are_refused(scale):
    vectors = [np.random.default_rng(j).normal(size=(3, 2)) * scale for j in range(6)]
    for content, year in ((COUNTS, YEAR * scale), (vectors, YEAR)):
        with pytest.raises(InputError, match=r"must be <= 1e.150 in magnitude|rescale them"):
            mc2.MC2(**SCHEDULE).fit(content, contexts={"year": year})

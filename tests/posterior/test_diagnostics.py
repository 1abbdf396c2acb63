"""R-hat and effective sample sizes equal ArviZ's, which are tested against Stan's."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mcsquared.posterior.diagnostics import (
    MIN_ESS,
    chains_of,
    diagnostics,
    effective_sample_size,
    split_rhat,
    tail_sample_size,
)
from tests.posterior.models import make_trace

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    arviz = pytest.importorskip("arviz")


def autoregressive(seed, n_chains, n_draws, correlation):
    rng = np.random.default_rng(seed)
    chains = rng.normal(size=(n_chains, n_draws))
    for t in range(1, n_draws):
        chains[:, t] += correlation * chains[:, t - 1]
    return chains


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.6, 0.9, 0.99])
@pytest.mark.parametrize(("n_chains", "n_draws"), [(2, 6), (2, 51), (3, 20), (4, 250)])
@pytest.mark.parametrize("rounded", [False, True])
def test_diagnostics_equal_those_of_arviz(n_chains, n_draws, correlation, rounded):
    chains = autoregressive(n_draws, n_chains, n_draws, correlation)
    chains = np.round(chains) if rounded else chains
    assert split_rhat(chains) == pytest.approx(float(arviz.rhat(chains)), rel=1e-9)
    assert effective_sample_size(chains) == pytest.approx(float(arviz.ess(chains)), rel=1e-9)
    tail = float(arviz.ess(chains, method="tail"))
    assert tail_sample_size(chains) == pytest.approx(tail, rel=1e-9)


def test_a_single_drifting_chain_has_a_large_rhat():
    steady = autoregressive(0, 1, 400, 0.0)
    assert split_rhat(steady) < 1.02
    assert split_rhat(steady + np.linspace(0, 3, 400)) > 1.2


def test_chains_that_differ_in_location_or_scale_have_a_large_rhat():
    chains = autoregressive(1, 4, 200, 0.0)
    assert split_rhat(chains) < 1.02
    assert split_rhat(chains + np.array([[0], [0], [0], [3]])) > 1.3
    assert split_rhat(chains * np.array([[1], [1], [1], [9]])) > 1.1


def test_independent_draws_count_in_full_and_correlated_ones_less():
    assert effective_sample_size(autoregressive(2, 4, 1000, 0.0)) == pytest.approx(4000, rel=0.15)
    expected = 16_000 * (1 - 0.7) / (1 + 0.7)
    assert effective_sample_size(autoregressive(2, 4, 4000, 0.7)) == pytest.approx(
        expected, rel=0.2
    )


def test_a_constant_or_a_tiny_series_gives_no_number():
    for chains in (np.ones((2, 50)), np.array([[1.0, 2.0, 3.0]]), np.zeros((0, 0))):
        assert np.isnan(split_rhat(chains))
        assert np.isnan(effective_sample_size(chains))
        assert np.isnan(tail_sample_size(chains))


def test_chains_that_are_stuck_at_different_values_have_an_infinite_rhat():
    chains = np.repeat(np.random.default_rng(0).normal(size=(3, 1)), 107, axis=1)
    assert split_rhat(chains) == np.inf


def test_the_table_excludes_burn_in_and_an_infinite_lam():
    trace = make_trace(np.random.default_rng(0), 12)
    trace.loc[~trace["kept"] & (trace["sweep"] <= 20), "alpha"] = 1e9
    table = diagnostics(trace).set_index("scalar")
    assert list(table.index) == ["n_clusters", "n_topics", "log_joint", "alpha", "v", "eta"]
    assert table.loc["alpha", "mean"] < 10
    assert np.isnan(table.loc["eta", "rhat"])
    assert np.isfinite(table.drop("eta").drop(columns="advice").to_numpy(float)).all()
    trace["lam"] = np.random.default_rng(1).gamma(1, 1, len(trace))
    assert "lam" in set(diagnostics(trace)["scalar"])


def test_chains_of_different_length_are_cut_to_the_shortest():
    trace = make_trace(np.random.default_rng(0), 12)
    cut = trace[(trace["chain"] == 0) | (trace["sweep"] <= 40)]
    assert chains_of(cut, "alpha").shape == (2, 16)
    assert chains_of(cut, "alpha", kept_only=True).shape == (2, 4)
    assert chains_of(trace[trace["sweep"] < 20], "alpha").size == 0
    assert diagnostics(trace[trace["sweep"] < 20])["mean"].isna().all()


# Advice ---------------------------------------------------------------------------------------


def trace_of(chains):
    """Return a trace with these chains as its log joint, without burn-in; the rest is constant."""
    parts = []
    for number, values in enumerate(np.atleast_2d(chains)):
        sweep = np.arange(1, len(values) + 1)
        columns = {"sweep": sweep, "chain": number, "kept": True, "log_joint": values}
        parts.append(pd.DataFrame(columns | {"n_topics": 7, "alpha": 1.0}))
    return pd.concat(parts, ignore_index=True)


def advice_of(chains, notes=()):
    table = diagnostics(trace_of(chains), notes)
    assert list(table["scalar"]) == ["n_topics", "log_joint", "alpha"]
    assert table["advice"].iloc[2] == ""
    return table["advice"].iloc[1], table.attrs["advice"]


def test_a_good_trace_needs_no_advice():
    assert advice_of(autoregressive(0, 4, 500, 0.2)) == ("", [])


def test_advice_for_a_drifting_trace_is_a_longer_run():
    for n_chains in (1, 3):
        drift = autoregressive(0, n_chains, 400, 0.0) + np.linspace(0, 5, 400)
        sentence, summary = advice_of(drift)
        assert sentence == "not converged: increase n_sweeps and burn_in"
        assert summary == [f"log_joint: {sentence}"]


def test_stable_chains_that_differ_are_distinguished_from_drift():
    chains = autoregressive(1, 3, 400, 0.0) + np.array([[0], [0], [5]])
    assert advice_of(chains)[0].startswith("each chain is stable, but chains differ")
    constant = np.repeat([[1.0], [2.0]], 50, axis=1)
    assert advice_of(constant)[0].startswith("each chain is stable, but chains differ")


def test_advice_for_few_effective_draws_names_the_required_length():
    chains = autoregressive(2, 2, 200, 0.8)
    size = effective_sample_size(chains)
    assert split_rhat(chains) < 1.1
    assert size < MIN_ESS
    sentence, (summary,) = advice_of(chains)
    assert sentence.startswith(f"effective sample size {size:.0f}:")
    assert f"{MIN_ESS / size:.2g} times as many sweeps" in sentence
    assert summary.startswith("log_joint: effective sample size below 100")


def test_advice_for_a_very_short_run_says_so():
    table = diagnostics(trace_of(np.array([[1.0, 2.0, 3.0]])))
    assert set(table["advice"]) == {
        "too few sweeps after burn-in to assess convergence: increase n_sweeps"
    }
    assert len(table.attrs["advice"]) == 1
    assert table.attrs["advice"][0].startswith("n_topics, log_joint, alpha: too few")


def test_a_reached_bound_is_part_of_the_advice():
    note = "max_topics=7 was reached: the data may support more topics"
    table = diagnostics(trace_of(autoregressive(0, 4, 500, 0.2)), [note]).set_index("scalar")
    assert "the bound max_topics was reached" in table.loc["n_topics", "advice"]
    assert table.loc["log_joint", "advice"] == ""

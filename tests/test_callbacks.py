"""A chain stops when its traces are flat, and its draws do not depend on threads."""

import dataclasses

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.callbacks import STOP_CHAIN, StopWhenFlat
from mcsquared.chain import SweepInfo

pytestmark = pytest.mark.usefixtures("short_fits")

BURN_IN, THIN = 20, 5
SWEEP = SweepInfo(
    chain=0,
    sweep=1,
    n_sweeps=1000,
    burn_in=BURN_IN,
    kept=False,
    n_clusters=3,
    n_topics=5,
    log_joint=0.0,
    alpha=1.0,
    v=1.0,
    eta=1.0,
    lam=np.inf,
    seconds=0.1,
    n_tokens=100,
)


def run(callback, log_joint, n_clusters=None, chain=0):
    """Pass a synthetic trace to a callback; return the sweep at which it stops, or None."""
    for i, value in enumerate(log_joint):
        sweep = i + 1
        info = dataclasses.replace(
            SWEEP,
            chain=chain,
            sweep=sweep,
            kept=sweep > BURN_IN and (sweep - BURN_IN) % THIN == 0,
            log_joint=float(value),
            n_clusters=3 if n_clusters is None else int(n_clusters[i]),
        )
        answer = callback(info)
        assert answer in (None, STOP_CHAIN)
        if answer:
            return sweep
    return None


def noise(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def test_a_flat_trace_stops_the_chain_at_the_first_kept_draw_after_min_sweeps():
    assert run(StopWhenFlat(min_sweeps=100), noise(400)) == BURN_IN + 100
    assert run(StopWhenFlat(min_sweeps=102), noise(400)) == BURN_IN + 105


def test_burn_in_is_ignored():
    trace = noise(400)
    trace[:BURN_IN] -= 1e6
    assert run(StopWhenFlat(), trace) == BURN_IN + 100


def test_an_increasing_trace_never_stops_the_chain():
    assert run(StopWhenFlat(), noise(600) + np.linspace(0, 20, 600)) is None


def test_a_trace_that_levels_off_stops_the_chain_later():
    climb = 3 * np.minimum(np.arange(2000) / 100, 1.0)
    stopped = run(StopWhenFlat(), noise(2000) + climb)
    assert 200 < stopped < 1000


def test_every_scalar_must_be_flat():
    steps = np.repeat(np.arange(60), 10)
    assert run(StopWhenFlat(), noise(600), n_clusters=steps) is None
    assert run(StopWhenFlat(scalars=["log_joint"]), noise(600), n_clusters=steps) == 120


def test_a_slowly_mixing_trace_has_too_few_effective_draws():
    slow = np.zeros(300)
    for t, step in enumerate(noise(299, seed=3)):
        slow[t + 1] = 0.9 * slow[t] + step
    loose = StopWhenFlat(max_rhat=10.0, min_ess=0.0)
    assert run(loose, slow) == 120
    assert run(StopWhenFlat(max_rhat=10.0, min_ess=100.0), slow) is None


def test_a_constant_is_flat_and_nan_is_not():
    assert run(StopWhenFlat(), np.zeros(200)) == 120
    assert run(StopWhenFlat(scalars=["lam"]), np.zeros(200)) == 120
    assert run(StopWhenFlat(), np.full(200, np.nan)) is None


def test_chains_and_fits_are_assessed_separately():
    callback = StopWhenFlat()
    assert run(callback, noise(600) + np.linspace(0, 20, 600), chain=0) is None
    assert run(callback, noise(600, seed=1), chain=1) == 120
    assert callback.ended == {1}
    assert run(callback, noise(600, seed=2), chain=0) == 120
    assert callback.ended == {0, 1}
    assert run(callback, noise(100), chain=1) is None
    assert callback.ended == {0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_sweeps": 3}, "min_sweeps must be an integer >= 4, got 3"),
        ({"max_rhat": 1}, "max_rhat must be a number > 1, got 1"),
        ({"min_ess": float("nan")}, "min_ess must be a number >= 0, got nan"),
        ({"scalars": ["seconds"]}, r"must be some of n_clusters, .*, got \['seconds'\]"),
        ({"scalars": "v"}, "scalars must be some of .*, got 'v'"),
    ],
)
def test_invalid_parameters_are_rejected(parameters, message):
    with pytest.raises(mc2.InputError, match=message):
        StopWhenFlat(**parameters)


# Real fits ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    return mc2.Corpus(rng.poisson(1.5, (12, 6)), contexts={"year": rng.normal(2000, 5, 12)})


def fit(corpus, **parameters):
    settings = {"n_sweeps": 300, "burn_in": 10, "thin": 2, "n_chains": 2, "random_state": 3}
    flat = StopWhenFlat(min_sweeps=20, max_rhat=1.3, min_ess=4)
    model = mc2.MC2(**(settings | {"callbacks": [flat], "progress": False} | parameters))
    return model.fit(corpus).posterior_


@pytest.fixture(scope="module")
def stopped(corpus):
    return fit(corpus)


def test_a_fit_stops_each_chain_separately_and_reports_it(stopped):
    lengths = stopped.trace.groupby("chain")["sweep"].max()
    assert len(lengths) == 2
    assert ((lengths >= 30) & (lengths < 300)).all()
    for chain, length in lengths.items():
        assert f"chain {chain} ended after {length} of 300 sweeps" in stopped.notes
        assert stopped.sweep_of_draw[stopped.chain_of_draw == chain].max() == length


def test_a_chain_stops_at_the_same_sweep_regardless_of_the_others(corpus, stopped):
    alone = fit(corpus, n_chains=1)
    assert len(alone.trace) == (stopped.trace["chain"] == 0).sum()


def test_draws_equal_those_of_the_full_run_on_any_number_of_threads(corpus, stopped):
    threads = fit(corpus, n_jobs=2)
    np.testing.assert_array_equal(threads.cluster_of_group, stopped.cluster_of_group)
    whole = fit(corpus, callbacks=[])
    for chain in range(2):
        ours = stopped.cluster_of_group[stopped.chain_of_draw == chain]
        all_of_them = whole.cluster_of_group[whole.chain_of_draw == chain]
        np.testing.assert_array_equal(ours, all_of_them[: len(ours)])
        assert len(ours) < len(all_of_them)


def test_a_resumed_run_stops_at_the_same_sweep(corpus, stopped, tmp_path):
    def interrupt(info):
        return info.sweep == 25

    path = tmp_path / "run.mc2"
    fit(corpus, checkpoint=path, callbacks=[interrupt])
    resumed = fit(corpus, checkpoint=path)
    np.testing.assert_array_equal(resumed.cluster_of_group, stopped.cluster_of_group)
    again = fit(corpus, checkpoint=path)
    np.testing.assert_array_equal(again.cluster_of_group, stopped.cluster_of_group)

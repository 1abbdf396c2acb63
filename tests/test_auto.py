"""n_sweeps="auto" and max_seconds: when a fit ends, with which draws, and what it says."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mcsquared as mc2
from mcsquared import chain as chains
from mcsquared import checkpoint as checkpoints
from mcsquared.errors import InputError, ModelFileError
from mcsquared.schedule import MIN_CHAINS
from tests.test_chain import assert_same_draws
from tests.test_checkpoint import KilledError, killer
from tests.test_progress import Clock

NOTHING = np.zeros((4, 1), np.int64)  # chains meet the prior of four groups at once
FIXED = {"alpha": 1.0, "v": 1.0, "eta": 1.0, "lam": 1.0}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    return mc2.Corpus(rng.poisson(1.5, (12, 6)), contexts={"year": rng.normal(2000, 5, 12)})


@pytest.fixture
def short_stages(monkeypatch):
    """Stages of 8, 16 and 32 sweeps."""
    monkeypatch.setattr("mcsquared.schedule.FIRST_STAGE", 8)
    monkeypatch.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 32)


@pytest.fixture(scope="module")
def unsettled(corpus):
    """Return a posterior of 320 sweeps, and the warnings of its fit."""
    with pytest.warns(ConvergenceWarning) as caught:
        posterior = model(lam=np.inf).fit(corpus).posterior_
    return posterior, caught


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def model(**parameters):
    defaults = {"n_sweeps": "auto", "n_chains": 2, "random_state": 3, "progress": False}
    return mc2.MC2(**(defaults | parameters))


def n_sweeps(posterior):
    return posterior.trace.groupby("chain")["sweep"].max().tolist()


# When it ends ---------------------------------------------------------------------------------


def test_a_fit_ends_when_its_chains_have_converged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = model(**FIXED, n_chains=3).fit(NOTHING).posterior_
    assert n_sweeps(posterior) == [160, 160, 160]
    assert posterior.notes[-1].startswith(
        "converged after 160 sweeps of 3 chains: R-hat at most 1.0"
    )
    table = posterior.diagnostics()
    assert not (table["rhat"] > 1.1).any()
    assert not (table["ess_bulk"] < 100).any()


def test_more_chains_settle_sooner(quiet):
    many, one = (model(**FIXED, n_chains=n).fit(NOTHING).posterior_ for n in (8, 1))
    assert n_sweeps(many) == [40] * 8
    assert n_sweeps(one) == [320]


def test_a_fit_that_does_not_settle_ends_at_the_limit_with_one_warning(unsettled):
    posterior, [warning] = unsettled
    assert n_sweeps(posterior) == [320, 320]
    assert str(warning.message) == posterior.notes[-1]
    assert posterior.notes[-1].startswith("not converged after 320 sweeps of 2 chains: ")
    assert "more sweeps per chain are needed" in posterior.notes[-1]
    assert warning.filename == __file__
    assert posterior.sweep_of_draw.min() == 168
    assert posterior.n_draws == 2 * 20
    assert len(posterior.parameters) == 10


def test_chains_are_assessed_together(corpus, short_stages, quiet, monkeypatch):
    """A stage ends for all chains before any chain starts the next one."""
    order = []
    model(callbacks=[lambda info: order.append((info.n_sweeps, info.chain))]).fit(corpus)
    stages = list(dict.fromkeys(order))
    assert stages == [(stage, chain) for stage in (8, 16, 32) for chain in (0, 1)]


# Which draws ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("lam", "limit"), [(np.inf, 320), (mc2.Gamma(1, 0.1), 32)])
def test_the_draws_are_those_of_a_run_with_as_many_sweeps(corpus, lam, limit, quiet, request):
    if limit == 320:
        staged, _ = request.getfixturevalue("unsettled")
    else:
        request.getfixturevalue("short_stages")
        staged = model(lam=lam).fit(corpus).posterior_
    assert n_sweeps(staged) == [limit, limit]
    fixed = model(lam=lam, n_sweeps=limit, burn_in=limit // 2, thin=1).fit(corpus).posterior_
    for name in ("log_joint", "n_clusters", "v"):
        np.testing.assert_array_equal(staged.trace[name], fixed.trace[name])
    for chain in (0, 1):
        sweeps = staged.sweep_of_draw[staged.chain_of_draw == chain]
        same = fixed.cluster_of_group[fixed.chain_of_draw == chain][sweeps - limit // 2 - 1]
        np.testing.assert_array_equal(staged.cluster_of_group[staged.chain_of_draw == chain], same)
        trace = staged.trace[staged.trace["chain"] == chain]
        np.testing.assert_array_equal(trace["sweep"][trace["kept"]], sweeps)
    for draw in staged.parameters:
        labels = staged.cluster_of_group[draw.index]
        assert draw.n_clusters == labels.max() + 1
        tokens = np.bincount(labels, weights=corpus.tokens_per_group)
        np.testing.assert_array_equal(draw.topics_in_cluster.sum(axis=1).A1, tokens)


def test_draws_do_not_depend_on_the_number_of_cores(corpus, short_stages, quiet):
    alone, together = (model(n_jobs=n, n_chains=3).fit(corpus).posterior_ for n in (1, 3))
    assert_same_draws(alone, together)


@pytest.mark.parametrize(("n_chains", "lam"), [(1, mc2.Gamma(1, 0.1)), (2, np.inf)])
def test_a_run_killed_at_any_sweep_resumes_to_the_same_draws(
    corpus, tmp_path, short_stages, quiet, monkeypatch, n_chains, lam
):
    options = {"n_chains": n_chains, "lam": lam}
    whole = model(**options).fit(corpus).posterior_
    assert n_sweeps(whole) == [32] * n_chains
    path = tmp_path / "run"
    for chain in range(n_chains):
        for sweep in (1, 5, 8, 9, 15, 16, 17, 31, 32):
            path.unlink(missing_ok=True)
            broken = model(**options, checkpoint=path, callbacks=[killer(sweep, chain)])
            with monkeypatch.context() as writes:
                writes.setattr(checkpoints, "SECONDS_BETWEEN_WRITES", 0.0)
                with pytest.raises(KilledError):
                    broken.fit(corpus)
            resumed = model(**options, checkpoint=path).fit(corpus).posterior_
            assert_same_draws(whole, resumed)


def test_a_converged_run_resumes_to_itself(tmp_path):
    path = tmp_path / "run"
    converged = model(**FIXED, n_chains=3, checkpoint=path).fit(NOTHING).posterior_
    again = model(**FIXED, n_chains=3, checkpoint=path).fit(NOTHING).posterior_
    assert n_sweeps(again) == n_sweeps(converged)
    assert_same_draws(converged, again)


def test_a_checkpoint_of_a_fixed_number_of_sweeps_is_another_run(corpus, tmp_path, quiet):
    path = tmp_path / "run"
    model(n_sweeps=20, checkpoint=path).fit(corpus)
    with pytest.raises(ModelFileError, match="n_sweeps=20, not 'auto'"):
        model(checkpoint=path).fit(corpus)


def test_a_warm_start_goes_on_where_the_last_fit_ended(corpus, short_stages, quiet):
    warm = model(warm_start=True)
    first, second = warm.fit(corpus).posterior_, warm.fit(corpus).posterior_
    fixed = model(n_sweeps=64, burn_in=0, thin=1).fit(corpus).posterior_
    for chain in (0, 1):
        parts = [
            part.trace.loc[part.trace["chain"] == chain, "log_joint"] for part in (first, second)
        ]
        whole = fixed.trace.loc[fixed.trace["chain"] == chain, "log_joint"]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert second.sweep_of_draw.min() == 20


def test_a_callback_that_stops_one_chain_stops_it_for_all_stages(corpus, short_stages, quiet):
    def stop(info):
        return "stop chain" if info.chain == 0 and info.sweep == 6 else None

    assert n_sweeps(model(callbacks=[stop]).fit(corpus).posterior_) == [6, 32]


def test_stop_when_flat_assesses_the_sweeps_after_the_burn_in_of_the_stage(corpus, quiet):
    flat = mc2.callbacks.StopWhenFlat(min_sweeps=40, max_rhat=99, min_ess=0)
    # 20 sweeps of the first stage are not enough; 40 after the 40 of the second one are.
    assert n_sweeps(model(callbacks=[flat], n_chains=1).fit(corpus).posterior_) == [80]


# Time -----------------------------------------------------------------------------------------


def test_max_seconds_ends_a_fit_and_keeps_its_draws(corpus, monkeypatch):
    monkeypatch.setattr(chains.time, "monotonic", Clock(step=0.01))
    with pytest.warns(ConvergenceWarning, match="not converged after"):
        fitted = model(max_seconds=6.0, n_chains=3).fit(corpus)
    posterior, done = fitted.posterior_, n_sweeps(fitted.posterior_)
    assert max(done) - min(done) < 5  # each chain has its share of the time
    assert 180 < min(done) < 200
    assert set(posterior.chain_of_draw) == {0, 1, 2}
    for number in range(3):
        sweeps = posterior.sweep_of_draw[posterior.chain_of_draw == number]
        assert done[number] // 2 < sweeps.min() <= sweeps.max() <= done[number]
    assert len(fitted.predict(corpus)) == 12


def test_max_seconds_replaces_the_limit_of_sweeps(corpus, short_stages, monkeypatch):
    monkeypatch.setattr(chains.time, "monotonic", Clock(step=0.01))
    with pytest.warns(ConvergenceWarning):
        posterior = model(max_seconds=2.0).fit(corpus).posterior_
    assert min(n_sweeps(posterior)) > 32


@pytest.mark.parametrize("n_sweeps", ["auto", 600])
def test_a_fit_without_time_has_the_last_draw_of_each_chain(corpus, n_sweeps, tmp_path, quiet):
    fitted = model(n_sweeps=n_sweeps, max_seconds=1e-9, n_chains=3).fit(corpus)
    posterior = fitted.posterior_
    assert posterior.trace["sweep"].tolist() == [1, 1, 1]
    assert posterior.trace["kept"].tolist() == [True] * 3
    assert posterior.sweep_of_draw.tolist() == [1, 1, 1]
    assert [draw.index for draw in posterior.parameters] == [0, 1, 2]
    fitted.save(tmp_path / "model.mc2")
    assert mc2.MC2.load(tmp_path / "model.mc2").max_seconds == 1e-9


def test_a_time_limit_that_is_short_reduces_a_number_of_chains_that_was_not_chosen(corpus, quiet):
    posterior = model(n_chains="auto", max_seconds=1e-9).fit(corpus).posterior_
    assert posterior.trace["chain"].tolist() == [0]
    assert len(posterior.parameters) == 1
    assert posterior.labels.shape == (12,)


def test_chains_have_time_for_sweeps_if_starts_are_slow(corpus, monkeypatch, quiet):
    clock = Clock(step=0.0)
    start = chains.ChainRun.state.func

    def slow_start(run):
        clock.now += 10.0
        return start(run)

    def sweep(runner, run, backend, stage):
        clock.now += 1.0
        resample(runner, run, backend, stage)

    resample = chains.Runner._sweep
    monkeypatch.setattr(chains.time, "monotonic", clock)
    monkeypatch.setattr(chains.ChainRun.state, "func", slow_start)
    monkeypatch.setattr(chains.Runner, "_sweep", sweep)
    posterior = model(n_chains="auto", max_seconds=60.0, n_jobs=1).fit(corpus).posterior_
    assert n_sweeps(posterior) == [21, 20]  # 10 s for each start, 1 s for each sweep


def test_a_fixed_number_of_sweeps_says_when_the_time_was_over(corpus):
    options = {"n_sweeps": 10**6, "burn_in": 0, "max_seconds": 0.5, "n_chains": 1}
    with pytest.warns(ConvergenceWarning) as caught:
        posterior = model(**options).fit(corpus).posterior_
    [done] = n_sweeps(posterior)
    expected = f"max_seconds=0.5 ended the run after {done} of 1000000 sweeps"
    assert str(caught[0].message) == expected
    assert expected in posterior.notes
    with pytest.warns(ConvergenceWarning, match="before the end of the burn-in: the posterior has"):
        model(n_sweeps=600, max_seconds=1e-9, n_chains=1).fit(corpus)


def test_enough_time_changes_nothing(corpus):
    options = {"n_sweeps": 20, "n_chains": 2}
    assert_same_draws(
        model(**options, max_seconds=600).fit(corpus).posterior_,
        model(**options).fit(corpus).posterior_,
    )


def test_a_run_that_was_out_of_time_resumes_to_the_draws_of_an_uninterrupted_one(
    corpus, tmp_path, short_stages, quiet
):
    path = tmp_path / "run"
    whole = model().fit(corpus).posterior_
    for _ in range(3):
        model(max_seconds=1e-9, checkpoint=path).fit(corpus)
    assert_same_draws(whole, model(checkpoint=path).fit(corpus).posterior_)


# Parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_sweeps": "many"}, "n_sweeps must be an integer >= 1 or 'auto', got 'many'"),
        ({"n_sweeps": None}, "n_sweeps must be an integer >= 1 or 'auto', got None"),
        (
            {"burn_in": 100},
            r"burn_in must be 'auto' if n_sweeps is 'auto' \(the first half .*\), got 100",
        ),
        ({"thin": 5}, r"thin must be 'auto' if n_sweeps is 'auto' \(about 100 draws .*\), got 5"),
        ({"max_seconds": 0}, "max_seconds must be a positive number, got 0"),
        ({"max_seconds": -1.0}, "max_seconds must be a positive number, got -1.0"),
        ({"max_seconds": "1m"}, "max_seconds must be a positive number, got '1m'"),
        ({"max_seconds": np.inf}, "max_seconds must be a positive number, got inf"),
        ({"n_sweeps": 20, "thin": "none"}, "thin must be an integer >= 1 or 'auto', got 'none'"),
    ],
)
def test_invalid_values_are_named(parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        model(**parameters).fit(NOTHING)


@pytest.mark.parametrize(
    ("n_sweeps", "burn_in", "thin", "expected"),
    [
        (600, "auto", "auto", range(105, 601, 5)),
        (105, "auto", "auto", [105]),
        (104, "auto", "auto", range(57, 105, 5)),
        (50, 20, "auto", range(25, 51, 5)),
        (50, "auto", 10, [35, 45]),
        (8, "auto", "auto", range(5, 9)),
        (1, "auto", "auto", [1]),
    ],
)
def test_automatic_burn_in_and_thinning_of_a_fixed_number_of_sweeps(
    n_sweeps, burn_in, thin, expected
):
    fitted = model(n_sweeps=n_sweeps, burn_in=burn_in, thin=thin, n_chains=1, alpha=1.0)
    assert fitted.fit(NOTHING).posterior_.sweep_of_draw.tolist() == list(expected)


def test_automatic_chains_depend_on_the_sweeps(corpus, short_stages, quiet):
    automatic = model(n_chains="auto").fit(corpus).posterior_
    assert n_sweeps(automatic) == [32] * MIN_CHAINS
    assert n_sweeps(model(n_chains="auto", n_sweeps=8).fit(corpus).posterior_) == [8]
    assert_same_draws(automatic, model(n_chains=MIN_CHAINS).fit(corpus).posterior_)


def test_chains_start_differently(corpus, quiet):
    for lam in (np.inf, 3.0):
        trace = model(lam=lam, n_sweeps=2, n_chains=4).fit(corpus).posterior_.trace
        assert trace.loc[trace["sweep"] == 1, "log_joint"].nunique() == 4


def test_the_parameters_are_cloned_and_saved(corpus, tmp_path, short_stages, quiet):
    fitted = clone(model(max_seconds=0.5)).fit(corpus)
    fitted.save(tmp_path / "model.mc2")
    loaded = mc2.MC2.load(tmp_path / "model.mc2")
    names = ("n_sweeps", "burn_in", "thin", "max_seconds")
    assert [getattr(loaded, name) for name in names] == ["auto", "auto", "auto", 0.5]
    assert loaded.posterior_.notes[-1] == fitted.posterior_.notes[-1]

"""Chains keep the scheduled draws, report progress, and stop on request."""

import hashlib
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.chain import Runner
from mcsquared.errors import InputError
from mcsquared.samplers.sweep import SAMPLERS
from mcsquared.schedule import Schedule
from mcsquared.storage import pack_posterior

pytestmark = pytest.mark.usefixtures("short_fits")

TRACE = ["sweep", "chain", "kept", "n_clusters", "n_topics", "log_joint"]
TRACE += ["alpha", "v", "eta", "lam", "seconds"]


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    counts = rng.poisson(1.5, (12, 6))
    counts[4] = 0
    return mc2.Corpus(counts, contexts={"year": rng.normal(2000, 5, 12)})


def model(**parameters):
    defaults = {"n_sweeps": 14, "burn_in": 4, "thin": 2, "random_state": 3, "progress": False}
    return mc2.MC2(**(defaults | parameters))


def draws(posterior):
    """Everything that a seed decides: all arrays of a model file but the seconds of the trace."""
    tensors, meta = pack_posterior(posterior)
    columns = [name for name, _ in meta["trace"]]
    timeless = np.delete(tensors["trace"], columns.index("seconds"), axis=0)
    return tensors | {"trace": timeless}


def assert_same_draws(first, second):
    """Check bit by bit, so that 0.0 is not -0.0."""
    first, second = draws(first), draws(second)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values.dtype == second[name].dtype, name
        np.testing.assert_array_equal(values, second[name], err_msg=name)
        assert values.tobytes() == second[name].tobytes(), name


# Schedule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_sweeps", "burn_in", "thin"),
    [(14, 4, 2), (15, 4, 2), (7, 0, 1), (9, 8, 1), (20, 3, 5), (6, 0, 6)],
)
def test_every_thin_th_sweep_after_burn_in_is_kept(corpus, n_sweeps, burn_in, thin):
    posterior = model(n_sweeps=n_sweeps, burn_in=burn_in, thin=thin).fit(corpus).posterior_
    n_draws = (n_sweeps - burn_in) // thin
    assert posterior.cluster_of_group.shape == (n_draws, 12)
    assert posterior.cluster_of_group.dtype == np.int32
    assert posterior.sweep_of_draw.tolist() == [burn_in + thin * (i + 1) for i in range(n_draws)]
    trace = posterior.trace
    assert trace["sweep"].tolist() == list(range(1, n_sweeps + 1))
    assert trace.loc[trace["kept"], "sweep"].tolist() == posterior.sweep_of_draw.tolist()


@pytest.mark.parametrize("n_kept", [1, 2, 3, 7, 20, 100])
@pytest.mark.parametrize("n_stored", [1, 2, 3, 10, 1000])
def test_draws_with_parameters_are_evenly_spaced(n_kept, n_stored):
    schedule = Schedule(n_kept, 0, 1, n_stored)
    stored = [number for number in range(n_kept) if schedule.stores_parameters(number + 1)]
    assert len(stored) == min(n_stored, n_kept)
    assert stored[0] == 0
    if len(stored) > 1:
        assert stored[-1] == n_kept - 1
        steps = np.diff(stored)
        assert steps.max() - steps.min() <= 1


def test_parameters_belong_to_the_draws_they_name(corpus):
    posterior = model(n_sweeps=24, keep_parameters=3, n_chains=2).fit(corpus).posterior_
    assert [draw.index for draw in posterior.parameters] == [0, 9, 10]
    for draw in posterior.parameters:
        labels = posterior.cluster_of_group[draw.index]
        assert draw.topics_in_cluster.shape[0] == labels.max() + 1
        tokens = np.bincount(labels, weights=corpus.tokens_per_group)
        np.testing.assert_array_equal(draw.topics_in_cluster.sum(axis=1).A1, tokens)
        np.testing.assert_array_equal(
            draw.content_statistics.sum(axis=0).A1, corpus.content.counts.sum(axis=0).A1
        )
        assert draw.topic_weights.sum() + draw.unused_weight == pytest.approx(1.0)


@pytest.mark.parametrize("sampler", ["blocked", "collapsed"])
def test_the_trace_has_its_columns_and_types(corpus, sampler):
    lam = {} if sampler == "blocked" else {"lam": math.inf}
    estimator = model(n_chains=2, alpha=0.7, sampler=sampler, **lam)
    trace = estimator.fit(corpus).posterior_.trace
    assert list(trace.columns) == TRACE
    assert trace["kept"].dtype == bool
    assert {trace[name].dtype.kind for name in ("sweep", "chain", "n_clusters", "n_topics")} == {
        "i"
    }
    assert trace["chain"].tolist() == [0] * 14 + [1] * 14
    assert (trace["alpha"] == 0.7).all()
    if lam:
        assert (trace["lam"] == math.inf).all()
    else:
        assert trace["lam"].nunique() > 20
        assert np.isfinite(trace["lam"]).all()
        assert (trace["lam"] > 0).all()
    assert (trace["seconds"] > 0).all()
    assert np.isfinite(trace["log_joint"]).all()
    assert trace["v"].nunique() > 20


def test_the_trace_counts_what_is_occupied(corpus):
    posterior = model(thin=1, burn_in=0).fit(corpus).posterior_
    trace = posterior.trace
    n_clusters = [len(np.unique(labels)) for labels in posterior.cluster_of_group]
    assert trace["n_clusters"].tolist() == n_clusters
    for draw in posterior.parameters:
        assert trace["n_topics"][draw.index] == len(draw.topic_weights)


# Seeds and chains -----------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_draws_and_another_gives_others(corpus):
    first = model(random_state=1).fit(corpus).posterior_
    assert_same_draws(first, model(random_state=1).fit(corpus).posterior_)
    other = model(random_state=2).fit(corpus).posterior_
    assert not np.array_equal(first.trace["log_joint"], other.trace["log_joint"])


def test_a_random_state_or_none_seeds_as_well(corpus):
    first, second = (
        model(random_state=np.random.RandomState(4)).fit(corpus).posterior_ for _ in range(2)
    )
    assert_same_draws(first, second)
    seeds = {model(random_state=None, n_sweeps=6).fit(corpus).posterior_.seed for _ in range(3)}
    assert len(seeds) == 3


def test_chains_do_not_depend_on_the_number_of_cores_or_of_chains(corpus):
    alone, side_by_side, many = (
        model(n_chains=n_chains, n_jobs=n_jobs).fit(corpus).posterior_
        for n_chains, n_jobs in ((2, 1), (2, 2), (3, -1))
    )
    assert_same_draws(alone, side_by_side)
    np.testing.assert_array_equal(many.cluster_of_group[:10], alone.cluster_of_group)
    first, second = (alone.trace[alone.trace["chain"] == chain]["log_joint"] for chain in (0, 1))
    assert not np.array_equal(first, second)


LAMS = {"λ = ∞": math.inf, "λ fixed": 3.0, "λ resampled": mc2.Gamma(1, 0.1)}


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("kind", ["words", "vectors"])
@pytest.mark.parametrize("n_chains", [1, 2])
def test_every_stored_array_is_the_same_for_any_number_of_threads(kind, lam, n_chains):
    corpus = with_all_contexts(kind)
    options = {"n_sweeps": 8, "burn_in": 2, "n_chains": n_chains, "lam": LAMS[lam]}
    alone, *others = (
        model(n_jobs=n_jobs, **options).fit(corpus).posterior_ for n_jobs in (1, 2, 3, 4)
    )
    for other in others:
        assert_same_draws(alone, other)


def with_all_contexts(kind):
    """More groups than chunks, so that threads have something to share; one has no tokens."""
    rng = np.random.default_rng(9)
    n = 80
    contexts = {
        "year": np.where(np.arange(n) % 7 == 0, np.nan, rng.normal(2000, 5, n)),
        "tags": [["a", "b", "c"][: j % 4] for j in range(n)],
        "open": np.arange(n) % 3 == 0,
        "place": rng.normal(size=(n, 2)),
    }
    sizes = np.append(rng.integers(1, 12, n - 1), 0)
    if kind == "words":
        counts = [rng.multinomial(size, rng.dirichlet(np.full(30, 0.2))) for size in sizes]
        return mc2.Corpus(np.array(counts), contexts=contexts)
    return mc2.Corpus([rng.normal(0, 3, (size, 2)) for size in sizes], contexts=contexts)


def test_bounds_hold_and_are_reported(corpus):
    lively = {"alpha": 50.0, "v": 50.0, "eta": 50.0, "n_chains": 2}
    free = model(**lively).fit(corpus)
    assert free.posterior_.trace["n_clusters"].max() > 3
    assert free.posterior_.trace["n_topics"].max() > 4
    assert not any("max_" in note for note in free.posterior_.notes)
    with pytest.warns(UserWarning, match="was reached: the data may support more") as caught:
        bound = model(max_clusters=3, max_topics=4, **lively).fit(corpus)
    assert bound.posterior_.trace["n_clusters"].max() == 3
    assert bound.posterior_.trace["n_topics"].max() == 4
    for found in (bound.posterior_.notes, [str(warning.message) for warning in caught]):
        assert "max_clusters=3 was reached" in " ".join(found)
        assert "max_topics=4 was reached" in " ".join(found)


# Callbacks ------------------------------------------------------------------------------------


def test_every_callback_hears_of_every_sweep(corpus):
    heard, also = [], []
    fitted = model(n_chains=2, callbacks=[heard.append, also.append]).fit(corpus)
    assert [(info.chain, info.sweep) for info in heard] == [
        (chain, sweep) for chain in (0, 1) for sweep in range(1, 15)
    ]
    assert heard == also
    trace = fitted.posterior_.trace
    for name in TRACE:
        assert [getattr(info, name) for info in heard] == trace[name].tolist()
    assert {(info.n_sweeps, info.burn_in, info.n_tokens) for info in heard} == {
        (14, 4, corpus.n_tokens)
    }


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_that_returns_true_stops_the_run(corpus, n_jobs):
    heard = []

    def stop(info):
        return info.sweep == 9

    stopping = model(n_chains=2, n_jobs=n_jobs, callbacks=[stop, heard.append])
    posterior = stopping.fit(corpus).posterior_
    assert (posterior.trace["sweep"] == 9).any()
    assert len(posterior.trace) < 28
    assert len(heard) == len(posterior.trace)
    assert posterior.trace["kept"].dtype == bool
    assert len(stopping.labels_) == 12
    whole = model(n_chains=2).fit(corpus).posterior_
    first = posterior.chain_of_draw == 0
    same = whole.chain_of_draw == 0
    np.testing.assert_array_equal(
        posterior.cluster_of_group[first], whole.cluster_of_group[same][: first.sum()]
    )


def test_chains_that_have_not_started_do_not_start_after_a_stop(corpus, monkeypatch):
    """Ctrl-C would otherwise take as long as the starts of all chains."""
    started, prepare = [], Runner._prepare

    def counted(runner, run):
        started.append(run.chain)
        prepare(runner, run)

    monkeypatch.setattr(Runner, "_prepare", counted)
    stopping = model(n_chains=3, callbacks=[lambda info: info.chain == 1 and info.sweep == 9])
    posterior = stopping.fit(corpus).posterior_
    assert started == [0, 1]
    assert sorted(set(posterior.chain_of_draw)) == [0, 1]


def test_a_stop_before_a_draw_was_kept_is_an_error(corpus):
    with pytest.raises(InputError, match="stopped the run before a draw was kept: burn_in is 4"):
        model(callbacks=[lambda info: True]).fit(corpus)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("chain", [0, 1])
def test_what_a_callback_raises_comes_out_and_ends_every_chain(corpus, n_jobs, chain):
    class TroubleError(Exception):
        pass

    def fail(info):
        if info.chain == chain and info.sweep == 3:
            raise TroubleError("here")

    began, before = time.monotonic(), threading.active_count()
    # In parallel, the other chain would run for minutes if it were not stopped.
    n_sweeps = 14 if n_jobs == 1 else 10**6
    with pytest.raises(TroubleError, match="here"):
        model(n_chains=2, n_jobs=n_jobs, n_sweeps=n_sweeps, callbacks=[fail]).fit(corpus)
    assert time.monotonic() - began < 60
    assert threading.active_count() == before


# Warm starts ----------------------------------------------------------------------------------


def test_a_warm_start_goes_on_where_the_last_fit_ended(corpus):
    long = model(n_sweeps=20, burn_in=0, thin=1).fit(corpus).posterior_
    warm = model(n_sweeps=10, burn_in=0, thin=1, warm_start=True)
    first = warm.fit(corpus).posterior_
    second = warm.fit(corpus).posterior_
    joined = np.concatenate([first.cluster_of_group, second.cluster_of_group])
    np.testing.assert_array_equal(joined, long.cluster_of_group)
    np.testing.assert_array_equal(
        np.concatenate([first.trace["log_joint"], second.trace["log_joint"]]),
        long.trace["log_joint"],
    )
    assert second.trace["sweep"].tolist() == list(range(1, 11))


def test_without_warm_start_a_fit_begins_anew(corpus):
    cold = model()
    first = cold.fit(corpus).posterior_
    assert_same_draws(first, cold.fit(corpus).posterior_)


def test_a_warm_start_with_other_data_or_priors_is_refused(corpus):
    warm = model(warm_start=True).fit(corpus)
    with pytest.raises(InputError, match="corpus and priors must be those of the last fit"):
        warm.fit(corpus[:8])
    with pytest.raises(InputError, match="warm_start=True"):
        warm.set_params(alpha=0.5).fit(corpus)


def test_a_warm_start_with_another_sampler_is_refused(corpus):
    warm = model(warm_start=True, lam=math.inf).fit(corpus)
    with pytest.raises(InputError, match=r"sampler must be that of .*'blocked'.*, got 'coll"):
        warm.set_params(sampler="collapsed").fit(corpus)
    warm.set_params(sampler="blocked").fit(corpus)


def test_a_warm_start_may_have_more_chains(corpus):
    warm = model(warm_start=True).fit(corpus)
    posterior = warm.set_params(n_chains=2).fit(corpus).posterior_
    assert set(posterior.chain_of_draw) == {0, 1}


# Ctrl-C ---------------------------------------------------------------------------------------

INTERRUPTED = """
    import sys, warnings
    import numpy as np
    import mcsquared as mc2

    counts = np.random.default_rng(0).poisson(1.5, (30, 20))
    reported = []

    def report(info):
        if info.sweep == {sweep} and not reported:
            reported.append(1)
            print("go", flush=True)

    model = mc2.MC2(n_sweeps=10**6, burn_in={burn_in}, thin=1, random_state=0, progress=False,
                    n_chains={n_chains}, n_jobs={n_jobs}, callbacks=[report])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(counts)
        except KeyboardInterrupt:
            print("interrupted", hasattr(model, "posterior_"))
            sys.exit(3)
    print([str(warning.message) for warning in caught])
    posterior = model.posterior_
    assert posterior.n_draws == posterior.trace["kept"].sum() > 0
    assert posterior.trace["kept"].dtype == bool
    assert len(model.labels_) == 30 and len(model.predict(counts)) == 30
    model.save({path!r})
    assert (mc2.MC2.load({path!r}).labels_ == model.labels_).all()
"""


def interrupted_run(tmp_path, **settings):
    script = textwrap.dedent(INTERRUPTED).format(path=str(tmp_path / "kept.mc2"), **settings)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores Ctrl-C, and its children would too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == "go\n", process.stderr.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


@pytest.mark.parametrize(("n_chains", "n_jobs"), [(2, 1), (2, 2)])
def test_ctrl_c_after_burn_in_keeps_the_draws_so_far(tmp_path, n_chains, n_jobs):
    code, out, err = interrupted_run(
        tmp_path, sweep=30, burn_in=5, n_chains=n_chains, n_jobs=n_jobs
    )
    assert code == 0, err
    assert "of 1000000 sweeps: the posterior holds the" in out
    assert ("interrupted after 0 to " in out) == (n_jobs == 1)  # the second chain has not started


def test_ctrl_c_before_a_draw_was_kept_goes_on(tmp_path):
    code, out, err = interrupted_run(tmp_path, sweep=5, burn_in=10**6 - 5, n_chains=2, n_jobs=2)
    assert code == 3, err
    assert out == "interrupted False\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_is_heard_while_compiled_code_runs(corpus, monkeypatch, n_jobs):
    def interrupt():
        for seconds in (0.3, 0.6):
            time.sleep(seconds)
            began.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    def step(sweep):
        if not interrupts.is_alive():
            interrupts.start()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 6_000_000)  # some seconds without any Python

    monkeypatch.setitem(SAMPLERS, "blocked", replace(SAMPLERS["blocked"], steps=(step,)))
    began, interrupts = [], threading.Thread(target=interrupt)
    heard = pytest.warns(UserWarning, match="stops after the current sweep")
    with heard, pytest.raises(KeyboardInterrupt):
        model(n_jobs=n_jobs).fit(corpus)
    assert time.monotonic() - began[1] < 1.0

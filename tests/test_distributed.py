"""A fit on a cluster draws what one machine draws, also when a worker is lost."""

import gc
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

import mcsquared as mc2
from mcsquared.cli.app import app
from mcsquared.distributed import DaskBackend, backend
from mcsquared.errors import InputError
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key
from mcsquared.state import Bounds
from tests.samplers.leveled_cases import two_levels_above
from tests.samplers.test_python_families import DrawnVisits
from tests.test_chain import assert_same_draws

distributed = pytest.importorskip("distributed")

SCHEDULE = {"n_sweeps": 12, "burn_in": 4, "thin": 2, "keep_parameters": 2}
SCHEDULE |= {"random_state": 3, "progress": False}


@pytest.fixture(autouse=True)
def chain_as_tree(monkeypatch, short_fits):
    """A chain of workers as the tree, frequent checks; topics are moved in sweeps 5 and 10."""
    monkeypatch.setattr("mcsquared.samplers.steps.topic_moves.SWEEPS_BEFORE_MOVES", 4)
    monkeypatch.setattr(backend, "FAN_OUT", 1)
    monkeypatch.setattr(backend, "SECONDS_BETWEEN_CHECKS", 0.5)


def client_of(**options):
    options |= {"n_workers": 3, "dashboard_address": None, "memory_limit": 0}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    """Workers in this process, which start at once; they send and receive what others do."""
    yield from client_of(processes=False, protocol="tcp", threads_per_worker=2)


@pytest.fixture(scope="module")
def processes():
    """Workers that can be killed."""
    yield from client_of(threads_per_worker=1)


def words():
    drawn = mc2.datasets.simulate(60, tokens_per_group=30, n_words=80, lam=5.0, random_state=0)
    return drawn.corpus


def schools():
    rng = np.random.default_rng(0)
    pupils = [rng.normal(j % 3, 1.0, (5 + j % 4, 1)) for j in range(40)]
    return mc2.Corpus(
        pupils, {"intake": rng.normal(size=40), "kind": ["ab"[j % 2] for j in range(40)]}
    )


@pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(1, 0.1)], ids=["shared", "varying"])
@pytest.mark.parametrize("content", ["auto", DrawnVisits()], ids=["content", "own content"])
def test_workers_draw_what_one_process_draws_with_user_families(content, lam, client):
    rng = np.random.default_rng(0)
    visits = [rng.poisson(1 + 5 * (j % 3), (5 + j % 4, 1)).astype(float) for j in range(40)]
    corpus = mc2.Corpus(visits, {"load": rng.gamma(2.0, 1.0, 40), "year": rng.normal(size=40)})
    options = {"contexts": {"load": DrawnVisits(), "year": "auto"}, "content": content, "lam": lam}
    alone = mc2.MC2(**options, **SCHEDULE).fit(corpus)
    together = mc2.distributed.fit(mc2.MC2(**options, **SCHEDULE), corpus, client=client)
    assert_same_draws(together.posterior_, alone.posterior_)


@pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(1, 0.1)], ids=["shared", "varying"])
@pytest.mark.parametrize("corpus", [words, schools])
def test_workers_draw_what_one_process_draws(corpus, lam, client):
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(corpus())
    together = mc2.distributed.fit(mc2.MC2(lam=lam, **SCHEDULE), corpus(), client=client)
    assert_same_draws(together.posterior_, alone.posterior_)


def test_workers_draw_what_one_process_draws_with_effects(client):
    alone = mc2.MC2(effects=["kind", "intake"], **SCHEDULE).fit(schools())
    model = mc2.MC2(effects=["kind", "intake"], **SCHEDULE)
    together = mc2.distributed.fit(model, schools(), client=client)
    assert_same_draws(together.posterior_, alone.posterior_)
    draws = zip(together.posterior_.parameters, alone.posterior_.parameters, strict=True)
    for draw, other in draws:
        np.testing.assert_array_equal(draw.effects.weights, other.effects.weights)


def test_workers_draw_what_one_process_draws_with_a_background(client):
    contexts = {"intake": mc2.Gaussian(background=True), "kind": "categorical"}
    alone = mc2.MC2(contexts=contexts, **SCHEDULE).fit(schools())
    model = mc2.MC2(contexts=contexts, **SCHEDULE)
    together = mc2.distributed.fit(model, schools(), client=client)
    assert_same_draws(together.posterior_, alone.posterior_)
    draws = zip(together.posterior_.parameters, alone.posterior_.parameters, strict=True)
    for draw, other in draws:
        np.testing.assert_array_equal(draw.background, other.background)


def test_workers_draw_what_one_process_draws_with_levels(client):
    corpus = two_levels_above()
    alone = mc2.MC2(**SCHEDULE).fit(corpus).posterior_
    both = mc2.distributed.fit(mc2.MC2(**SCHEDULE), corpus, client=client).posterior_
    assert_same_draws(both, alone)
    for units, same in zip(alone.units, both.units, strict=True):
        np.testing.assert_array_equal(units.type_of_unit, same.type_of_unit)
        np.testing.assert_array_equal(units.trace, same.trace)


def test_stages_on_workers_draw_what_one_process_draws(client, monkeypatch):
    monkeypatch.setattr("mcsquared.schedule.FIRST_STAGE", 3)
    monkeypatch.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 12)
    options = {"n_sweeps": "auto", "n_chains": 2, "random_state": 3, "progress": False}
    with pytest.warns(ConvergenceWarning, match="not converged after 12 sweeps of 2 chains"):
        alone = mc2.MC2(**options).fit(words())
    with pytest.warns(ConvergenceWarning, match="not converged after 12 sweeps of 2 chains"):
        together = mc2.distributed.fit(mc2.MC2(**options), words(), client=client)
    assert_same_draws(together.posterior_, alone.posterior_)


class LoseAWorker:
    """Kill a worker of the cluster that adds and forwards, once, in the middle of a run."""

    def __init__(self, client, at):
        self.client, self.at, self.lost = client, at, None

    def __call__(self, info):
        if info.sweep == self.at and self.lost is None:
            pids = self.client.run(os.getpid)
            self.lost = pids[sorted(pids)[1]]
            os.kill(self.lost, signal.SIGKILL)


@pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(1, 0.1)], ids=["shared", "varying"])
def test_an_inner_node_that_is_lost_changes_nothing(lam, processes):
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(words())
    lose = LoseAWorker(processes, at=7)
    model = mc2.MC2(lam=lam, callbacks=[lose], **SCHEDULE)
    together = mc2.distributed.fit(model, words(), client=processes)
    assert lose.lost is not None
    assert_same_draws(together.posterior_, alone.posterior_)


@pytest.mark.parametrize("workers_later", [0, 2])
def test_while_all_workers_are_lost_this_process_goes_on(workers_later, monkeypatch):
    monkeypatch.setattr(backend, "SECONDS_FOR_NEW_WORKERS", 0.0)
    alone = mc2.MC2(**SCHEDULE).fit(words())
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:

        def scale(info):
            for sweep, n_workers in ((5, 0), (8, workers_later)):
                if info.sweep == sweep:
                    cluster.scale(n_workers)
                    wait_until(lambda n=n_workers: len(client.nthreads()) == n)

        model = mc2.MC2(callbacks=[scale], **SCHEDULE)
        with pytest.warns(UserWarning, match="lost all of its workers: the fit continues"):
            together = mc2.distributed.fit(model, words(), client=client)
    assert_same_draws(together.posterior_, alone.posterior_)


class RunningCluster:
    """A scheduler and two workers in processes of their own, at a fixed address."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address, self.processes = f"tcp://127.0.0.1:{self.port}", []
        self.start()

    def start(self):
        scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port)]
        worker = ["dask_worker", self.address, "--no-nanny", "--nthreads", "1"]
        for name, *options in (scheduler, worker, worker):
            command = [sys.executable, "-m", f"distributed.cli.{name}", "--no-dashboard", *options]
            self.processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

    def restart(self):
        """Kill everything, and start it again at the same address."""
        self.kill()
        self.start()

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()


@pytest.mark.slow
def test_a_restart_of_the_scheduler_changes_nothing():
    """Nothing on the cluster survives; the client has what is needed to repeat the last sweeps."""
    alone = mc2.MC2(**SCHEDULE).fit(words())
    cluster, n_restarts = RunningCluster(), []

    def restart(info):
        if info.sweep == 6:
            n_restarts.append(1)
            cluster.restart()

    try:
        with distributed.Client(cluster.address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            model = mc2.MC2(callbacks=[restart], **SCHEDULE)
            together = mc2.distributed.fit(model, words(), client=client)
            assert len(client.nthreads()) == 2
    finally:
        cluster.kill()
    assert n_restarts == [1]
    assert_same_draws(together.posterior_, alone.posterior_)


def wait_until(is_so):
    for _ in range(200):
        if is_so():
            return
        time.sleep(0.05)
    pytest.fail("it has not come to pass in ten seconds")


def test_a_shard_that_costs_every_worker_ends_the_fit_with_a_sentence(client, monkeypatch):
    lost = backend.Lost.WORKER
    monkeypatch.setattr("mcsquared.distributed.DaskBackend._wait", lambda *_: lost)
    with pytest.raises(InputError, match="that held shard 1 of 3: use more workers"):
        mc2.distributed.fit(mc2.MC2(**SCHEDULE), words(), client=client)


def no_result(observations, labels, argument, threads):
    return labels, None


def test_a_call_that_returns_none_is_not_taken_for_a_lost_worker(client, monkeypatch):
    _, made = after_two_sweeps(words(), DaskBackend, client)
    monkeypatch.setattr(made, "_replay", lambda *_: pytest.fail("no worker was lost"))
    assert made.map_groups(no_result, None) == [None] * made.n_shards


@pytest.mark.parametrize("seconds", [0.5, 0.03], ids=["in time", "after time limits"])
def test_nothing_is_left_on_the_workers_after_a_fit(seconds, client, monkeypatch):
    monkeypatch.setattr(backend, "SECONDS_BETWEEN_CHECKS", seconds)
    counts = []

    def count_objects(info):
        counts.append(sum(map(len, client.has_what().values())))

    gc.collect()  # objects of other tests
    gc.disable()  # released objects must be deleted by reference counting
    try:
        model = mc2.MC2(n_chains=2, callbacks=[count_objects], **SCHEDULE | {"n_sweeps": 6})
        mc2.distributed.fit(model, words(), client=client)
        wait_until(lambda: not any(client.has_what().values()))
    finally:
        gc.enable()
    assert 0 < max(counts) < 16, "shards and labels of one chain, and results in transit"


def test_bytes_of_a_sweep_do_not_grow_with_the_groups(client):
    sizes = []
    for n_groups in (60, 600):
        drawn = mc2.datasets.simulate(
            n_groups, tokens_per_group=20, n_words=80, lam=5.0, random_state=0
        )
        sizes.append(bytes_of_a_sweep(drawn.corpus, client))
    assert sizes[1] < 1.1 * sizes[0]


def bytes_of_a_sweep(corpus, client):
    """Of a sweep whose slots are bounded, so that globals have the same size for all corpora."""
    _, made = after_two_sweeps(corpus, DaskBackend, client)
    return made.bytes_of_sweep


def after_two_sweeps(corpus, make, *more):
    priors = Priors.for_corpus(corpus, lam=5.0)
    given = (observe(corpus, priors), priors)
    state = BLOCKED.start(*given, 0, 0, "random", 4, 16, bounds=Bounds(16, 32))
    made = make(*given, *more)
    made.load_labels(state, Key(0, 0, 0))
    for _ in range(2):
        BLOCKED.sweep(state, *given, 0, 0, Bounds(16, 32), backend=made)
    return state, made


def test_clusters_that_were_lost_with_their_worker_are_drawn_again(processes):
    expected, _ = after_two_sweeps(words(), LocalBackend)
    state, made = after_two_sweeps(words(), DaskBackend, processes)
    os.kill(next(iter(processes.run(os.getpid).values())), signal.SIGKILL)
    for clusters_only in (True, False):
        made.save_labels(state, clusters_only)
        np.testing.assert_array_equal(state.cluster_of_group, expected.cluster_of_group)
    np.testing.assert_array_equal(state.topic_of_token, expected.topic_of_token)


@pytest.mark.parametrize(
    ("model", "client_given", "sentence"),
    [
        ({}, None, "client must be a distributed.Client, got None"),
        ({"device": "cuda"}, True, "device 'cuda' requires a GPU on worker"),
        (
            {"sampler": "collapsed", "lam": np.inf},
            True,
            "sampler must be 'blocked' on a cluster",
        ),
    ],
)
def test_what_a_cluster_cannot_do_is_said_at_once(model, client_given, sentence, client):
    given = client if client_given else None
    with pytest.raises(InputError, match=sentence):
        mc2.distributed.fit(mc2.MC2(**model), words(), client=given)


def test_a_client_that_is_closed_is_refused(client):
    other = distributed.Client(client.scheduler.address)
    other.close()
    with pytest.raises(InputError, match=r"client must be connected .* got one that is closed"):
        mc2.distributed.fit(mc2.MC2(), words(), client=other)


def test_workers_must_be_there_and_have_the_same_mcsquared(client, monkeypatch):
    monkeypatch.setattr(mc2.distributed, "__version__", "9.9")
    with pytest.raises(
        InputError, match=r"mcsquared at tcp.* must be 9\.9, as on the client, got "
    ):
        mc2.distributed.fit(mc2.MC2(), words(), client=client)
    monkeypatch.undo()

    def fail(*_):
        raise ImportError("no mcsquared")

    monkeypatch.setattr(client, "run_on_scheduler", fail)
    with pytest.raises(
        InputError, match=r"at the scheduler must be .* got an error \(no mcsquared\)"
    ):
        mc2.distributed.fit(mc2.MC2(), words(), client=client)
    monkeypatch.setattr(client, "run", lambda *_, **__: {"tcp://a:1": ImportError("no mcsquared")})
    with pytest.raises(InputError, match=r"at tcp://a:1 must be .* got an error \(no mcsquared\)"):
        mc2.distributed.fit(mc2.MC2(), words(), client=client)
    monkeypatch.setattr(client, "run", lambda *_, **__: {})
    with pytest.raises(InputError, match="client must have at least one worker, got none"):
        mc2.distributed.fit(mc2.MC2(), words(), client=client)


def test_the_command_line_fits_on_a_cluster(client, tmp_path):
    table = tmp_path / "notes.csv"
    lines = [f"{'ant bee' if j % 2 else 'car van'} {'bee' * (j % 3)},{1990 + j}" for j in range(20)]
    table.write_text("\n".join(["note,year", *lines]), encoding="utf-8")
    options = ["--text", "note", "--context", "year", "--sweeps", "12"]
    models = []
    for more in ([], ["--cluster", client.scheduler.address]):
        out = tmp_path / f"model{len(models)}.mc2"
        found = CliRunner().invoke(app, ["fit", str(table), "--out", str(out), *options, *more])
        assert found.exit_code == 0, found.output
        models.append(mc2.MC2.load(out))
    assert_same_draws(*(model.posterior_ for model in models))


def test_an_address_without_a_scheduler_is_named_in_the_error(monkeypatch):
    monkeypatch.setattr("mcsquared.distributed.SECONDS_TO_CONNECT", 1)
    with pytest.raises(
        InputError,
        match=r"the address of a Dask scheduler, got 'tcp://127\.0\.0\.1:1'",
    ):
        mc2.distributed.connect("tcp://127.0.0.1:1")


def test_an_encrypted_address_without_certificates_is_refused():
    with pytest.raises(
        InputError,
        match=r"'tls://127\.0\.0\.1:1' requires certificates",
    ):
        mc2.distributed.connect("tls://127.0.0.1:1")

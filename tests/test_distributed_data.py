"""On public sets two workers draw what one process draws, bit by bit; bytes of a sweep.

`pytest -m slow -s tests/test_distributed_data.py` prints the bytes that docs/cluster.md has.
"""

import os
import signal
import threading

import numpy as np
import pytest

import mcsquared as mc2
from tests.report.models import load
from tests.test_chain import assert_same_draws
from tests.test_distributed import bytes_of_a_sweep

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

ALL = 10**9
SCHEDULE = {"n_sweeps": 26, "burn_in": 2, "thin": 12, "keep_parameters": 1}
SCHEDULE |= {"random_state": 3, "progress": False}
LAMBDAS = pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(1, 0.1)], ids=["shared", "varying"])


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def backends(monkeypatch):
    """The backends that fits create."""
    made = []

    class Watched(mc2.distributed.DaskBackend):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            made.append(self)

    monkeypatch.setattr(mc2.distributed, "DaskBackend", Watched)
    return made


@LAMBDAS
@pytest.mark.parametrize("name", ["labelme", "nips", "schools"])
def test_two_workers_draw_what_one_process_draws(name, lam, client, backends):
    corpus = load(name, ALL)
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(corpus)
    together = mc2.distributed.fit(mc2.MC2(lam=lam, **SCHEDULE), corpus, client=client)
    assert_same_draws(together.posterior_, alone.posterior_)
    (backend,) = backends
    assert backend.n_shards == 2
    seconds = [model.posterior_.trace["seconds"].median() for model in (alone, together)]
    print(
        f"\n{name}, λ={lam}: {backend.bytes_of_sweep / 1e6:.2f} MB in the last sweep; "
        f"{together.posterior_.notes[-1]}; seconds of a sweep {seconds[0]:.3f}, {seconds[1]:.3f}"
    )


class LoseAWorker:
    """Kill a worker by its process id while a sweep is under way."""

    def __init__(self, client, after):
        self.client, self.after, self.lost = client, after, []

    def __call__(self, info):
        if info.sweep in self.after:
            number = len(self.lost)
            process = sorted(self.client.run(os.getpid).items())[number % 2][1]
            self.lost.append(process)
            threading.Timer(0.02, os.kill, (process, signal.SIGKILL)).start()


@LAMBDAS
def test_workers_that_are_lost_in_the_middle_of_a_sweep_change_nothing(lam, client):
    corpus = load("labelme", ALL)
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(corpus)
    lose = LoseAWorker(client, after=(7, 23))
    model = mc2.MC2(lam=lam, callbacks=[lose], **SCHEDULE)
    together = mc2.distributed.fit(model, corpus, client=client)
    assert len(set(lose.lost)) == 2
    assert_same_draws(together.posterior_, alone.posterior_)


def test_bytes_of_a_sweep_do_not_grow_with_the_groups(client):
    corpus = load("nips", ALL)
    fewer = corpus[np.arange(0, corpus.n_groups, 4)]
    sizes = [bytes_of_a_sweep(part, client) for part in (fewer, corpus)]
    print(f"\n{fewer.n_groups} and {corpus.n_groups} groups: {sizes[0]:,} and {sizes[1]:,} bytes")
    assert sizes[1] < 1.01 * sizes[0]

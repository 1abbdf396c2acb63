"""Vectors of many dimensions: the work of a sweep, and the same draws wherever the groups are."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.families import numerics
from mcsquared.kernels.cpu.predictive import WIDE
from mcsquared.samplers.init.starts import SWEEPS_IF_WIDE
from mcsquared.samplers.steps.slots import EMPTY_IF_WIDE
from tests.test_chain import assert_same_draws

N_SWEEPS = 6
SCHEDULE = {"n_sweeps": N_SWEEPS, "burn_in": 2, "thin": 1, "random_state": 1, "progress": False}


@pytest.fixture(scope="module")
def groups():
    """Ten groups of vectors, one of them empty, around four centres."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 2, (4, WIDE + 8))
    topics = [rng.choice(4, size=0 if j == 3 else 12) for j in range(10)]
    return [centres[topic] + rng.normal(size=(len(topic), WIDE + 8)) for topic in topics]


def test_a_sweep_factors_three_matrices_per_topic(groups, monkeypatch):
    """The scale and the precision of every topic, four of them empty, and scales for the trace."""
    factored, factor = [0], numerics.kernels.factor_matrices

    def count(matrices, factors):
        factored[0] += len(matrices)
        factor(matrices, factors)

    monkeypatch.setattr(numerics.kernels, "factor_matrices", count)
    after = []
    model = mc2.MC2(callbacks=[lambda _: after.append(factored[0])], **SCHEDULE)
    n_topics = model.fit(groups).posterior_.trace["n_topics"].to_numpy()
    most = 3 * (n_topics[:-1] + EMPTY_IF_WIDE)
    assert (np.diff(after) <= most).all()
    assert after[0] <= (SWEEPS_IF_WIDE + 2) * most[0]


@pytest.mark.parametrize("lam", [np.inf, 2.0], ids=["shared", "varying"])
def test_workers_of_a_cluster_draw_what_one_process_draws(groups, lam):
    Client = pytest.importorskip("distributed").Client
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(groups)
    with Client(n_workers=2, processes=False, dashboard_address=None) as client:
        model = mc2.distributed.fit(mc2.MC2(lam=lam, **SCHEDULE), mc2.Corpus(groups), client=client)
    assert_same_draws(model.posterior_, alone.posterior_)


def test_effects_act_on_topics_of_wide_vectors(groups):
    corpus = mc2.Corpus(groups, {"side": list("ab" * 5)})
    model = mc2.MC2(effects=["side"], **SCHEDULE).fit(corpus)
    assert np.isfinite(model.posterior_.trace["log_joint"]).all()

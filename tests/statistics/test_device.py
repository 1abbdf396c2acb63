"""Chains on a GPU sample the exact posterior and have the joint prior; skipped without a GPU."""

import math

import numpy as np
import pytest

from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key
from mcsquared.state import NO_BOUNDS
from tests.statistics.agreement import compare, is_exact, row
from tests.statistics.joint_chain import chain_draws, forward_draws, largest, scores
from tests.statistics.joint_chain import row as joint_row
from tests.statistics.test_enumeration_blocked import every_lam, make
from tests.statistics.test_geweke import every_design
from tests.statistics.test_geweke import make as make_design

CORPORA = [
    "missing Gaussian context and a bag",
    "repeated words",
    "sampled concentrations",
    "Gaussian content",
    "vectors as content, counts and booleans as contexts",
]


class OnDevice:
    """The blocked sampler with its groups on the GPU, for one chain at a time."""

    start = staticmethod(BLOCKED.start)

    def __init__(self):
        self.observations = None

    def sweep(self, state, observations, priors, seed, chain, bounds=NO_BOUNDS):
        from mcsquared.samplers.backends.cuda.backend import CudaBackend
        from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus

        if self.observations is not observations:
            corpus = DeviceCorpus(observations, groups_vary=not math.isinf(state.lam))
            self.backend = CudaBackend(observations, priors, corpus)
            self.observations = observations
            self.backend.load_labels(state, Key(0, 0, state.sweep))
        BLOCKED.sweep(state, observations, priors, seed, chain, bounds, self.backend)
        self.backend.save_labels(state)


@pytest.fixture
def on_device():
    pytest.importorskip("numba.cuda")
    from mcsquared.kernels.cuda import memory
    from mcsquared.kernels.cuda.launch import SIMULATED

    if SIMULATED or memory.unavailable_reason():
        pytest.skip(f"requires a GPU: {memory.unavailable_reason() or 'simulated'}")
    return OnDevice()


@every_lam
@pytest.mark.parametrize("name", CORPORA)
def test_a_chain_on_the_gpu_agrees_with_enumeration(name, lam, on_device):
    found = compare(make(name, lam), n_sweeps=1500, seed=2, sampler=on_device)
    print(name, lam, row(found))
    assert is_exact(found, allowance=0.03, n_errors=4), found


@every_lam
@every_design
def test_a_chain_on_the_gpu_has_the_joint_prior(name, lam, on_device):
    design = make_design(name, lam)
    z = scores(forward_draws(design, 2500, seed=1), chain_draws(design, 1000, 2, on_device))
    print(name, lam, joint_row(z, design))
    assert np.abs(z).max() < 4.5, largest(z, design)

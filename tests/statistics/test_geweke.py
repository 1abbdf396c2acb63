"""Geweke's joint test: draws from the prior against a chain of sweeps and new data.

A chain that alternates a sweep of the sampler and new data given the labels has the joint prior of
labels, concentrations and data as its distribution, if the sampler leaves the posterior as it is.
"""

import numpy as np
import pytest

from mcsquared.samplers import collapsed, concentrations
from mcsquared.state import recount
from tests.statistics.forward import Labels, NumbersDesign, WordsDesign, draw

# The third group has no content, the second lacks the first context, the fourth the bag.
DESIGNS = {
    "words": WordsDesign([3, 2, 0, 4], missing_number=1, missing_bag=3),
    "numbers": NumbersDesign([3, 2, 0, 4], missing_number=1),
}
every_design = pytest.mark.parametrize("name", DESIGNS)
N_BATCHES = 50


def statistics(labels, data):
    """Bounded or light-tailed functions of everything that is drawn."""
    z, topics = labels.clusters, labels.topics
    n_clusters, n_topics = len(set(z)), len(set(topics))
    tokens, numbers, others = data.tokens, data.numbers, data.others
    return {
        "alpha": labels.alpha,
        "v": labels.v,
        "eta": labels.eta,
        "log alpha": np.log(labels.alpha),
        "log v": np.log(labels.v),
        "log eta": np.log(labels.eta),
        "unused": labels.unused,
        "clusters": n_clusters,
        "topics": n_topics,
        "alpha × clusters": labels.alpha * n_clusters,
        "v × topics": labels.v * n_topics,
        "eta × topics": labels.eta * n_topics,
        "largest topic": max(map(topics.count, topics)),
        "groups 0 and 3 together": z[0] == z[3],
        "missing group with 0": z[1] == z[0],
        "empty group with 3": z[2] == z[3],
        "tokens 0 and 1 together": topics[0] == topics[1],
        "tokens 0 and 8 together": topics[0] == topics[8],
        "tokens 0 and 8 near": abs(tokens[0] - tokens[8]) < 0.5,
        "tokens 5 and 6 near": abs(tokens[5] - tokens[6]) < 0.5,
        "numbers 0 and 3 near": abs(numbers[0] - numbers[3]) < 1,
        "numbers 0 and 2 near": abs(numbers[0] - numbers[2]) < 1,
        "other contexts 0 and 2 alike": np.abs(others[0] - others[2]).sum() < 1,
    }


def forward_draws(design, n, seed):
    rng = np.random.default_rng(seed)
    return [list(statistics(*draw(design, rng)).values()) for _ in range(n)]


def chain_draws(design, n, seed):
    """Alternate sweeps and new data given the labels."""
    rng = np.random.default_rng(seed)
    labels, data = draw(design, rng)
    observations = design.observations(data)
    state = collapsed.start(observations, design.priors, seed, 0, "random", 2, 2)
    rows = []
    for _ in range(n):
        collapsed.sweep(state, observations, design.priors, seed, 0)
        z, topics = state.cluster_of_group.tolist(), state.topic_of_token.tolist()
        data = design.draw_data(z, topics, rng)
        observations = design.replaced(observations, data)
        state.counts = recount(state, observations)
        unused = float(np.exp(state.log_unused[0]))
        labels = Labels(state.alpha, state.v, state.eta, np.inf, z, topics, unused)
        rows.append(list(statistics(labels, data).values()))
    return rows


def scores(forward, chain):
    """z-scores of the chain's means, by batch means for the chain."""
    forward, chain = np.array(forward, float), np.array(chain, float)
    size = len(chain) // N_BATCHES
    batches = chain[: size * N_BATCHES].reshape(N_BATCHES, size, -1).mean(axis=1)
    variance = batches.var(axis=0, ddof=1) / N_BATCHES + forward.var(axis=0) / len(forward)
    return (chain.mean(axis=0) - forward.mean(axis=0)) / np.sqrt(variance)


def names(design):
    return list(statistics(*draw(design, np.random.default_rng(0))))


@every_design
def test_a_short_chain_has_the_joint_prior(name):
    design = DESIGNS[name]
    z = scores(forward_draws(design, 8000, seed=1), chain_draws(design, 5000, seed=2))
    worst = int(np.abs(z).argmax())
    assert np.abs(z).max() < 4.5, f"{names(design)[worst]}: z = {z[worst]:.1f}"


@pytest.mark.calibrate
@every_design
def test_a_long_chain_has_the_joint_prior(name, calibration):
    design, n = DESIGNS[name], 100_000
    z = scores(forward_draws(design, n, seed=3), chain_draws(design, n, seed=4))
    worst = int(np.abs(z).argmax())
    calibration(
        f"joint test: {design.name}",
        n=n,
        largest_z=float(np.abs(z).max()),
        note=f"{len(z)} statistics, rms {np.sqrt((z**2).mean()):.2f}, "
        f"largest for {names(design)[worst]}",
    )
    assert np.abs(z).max() < 4


def test_the_joint_test_notices_the_printed_update_of_v(monkeypatch):
    """A negative control: the appendix has the tables where the customers belong."""

    def printed(current, prior, customers, tables, rng):
        return right(current, prior, tables if len(tables) > 1 else customers, tables, rng)

    right = concentrations.resample_concentration
    monkeypatch.setattr(concentrations, "resample_concentration", printed)
    design = DESIGNS["words"]
    z = scores(forward_draws(design, 2000, seed=1), chain_draws(design, 1000, seed=2))
    assert abs(z[names(design).index("log v")]) > 10

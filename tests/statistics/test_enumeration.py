"""The collapsed sampler draws from the exact posterior: tiny corpora, every labelling listed."""

import numpy as np
import pytest

from tests.statistics.agreement import compare, is_exact, row
from tests.statistics.corpora import CORPORA, missing_and_bag
from tests.statistics.tiny import Posterior, blocks, partitions

every_corpus = pytest.mark.parametrize("name", CORPORA)


@every_corpus
def test_a_short_chain_agrees_with_enumeration(name):
    found = compare(CORPORA[name](), n_sweeps=5000, seed=2)
    # Four standard errors: some sixty numbers are compared, from chains of a few thousand draws.
    assert is_exact(found, allowance=0.03, n_errors=4), found


@pytest.mark.calibrate
@every_corpus
def test_a_long_chain_agrees_with_enumeration(name, calibration):
    n_sweeps = 100_000
    found = compare(CORPORA[name](), n_sweeps=n_sweeps, seed=1)
    calibration(f"enumeration: {name}", n=n_sweeps, **row(found))
    assert is_exact(found, allowance=0.01, n_errors=3), found


def test_the_enumeration_counts_every_labelling_once():
    assert [len(partitions(n)) for n in range(7)] == [1, 1, 2, 5, 15, 52, 203]


def test_the_prior_of_labels_sums_to_one():
    """Without data every term of the table is a prior probability, whatever the concentrations."""
    exact = Posterior(missing_and_bag())
    exact.contexts, exact.content = [], lambda block: 1.0
    exact.n_groups, exact.group_of_token = 3, np.array([0, 0, 1, 2, 2, 2])
    total = 0.0
    for clusters in partitions(3):
        for topics in partitions(6):
            total += exact.clusters(clusters) * exact.topics(clusters, blocks(topics))
    assert total == pytest.approx(1.0, rel=1e-10)

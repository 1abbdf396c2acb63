"""The share of the clusters' entropy that a context tells."""

from dataclasses import replace

import numpy as np
import pytest

from mcsquared.errors import InputError
from mcsquared.posterior.relevance import explained_share, weighted_quantiles
from tests.posterior.models import make_posterior


def test_what_does_not_depend_on_the_value_tells_nothing():
    assert explained_share(np.tile([0.2, 0.5, 0.3], (6, 1))) == pytest.approx(0.0, abs=1e-12)


def test_what_determines_the_cluster_tells_all():
    assert explained_share(np.eye(3)[[0, 1, 1, 2]]) == pytest.approx(1.0)
    assert explained_share(np.ones((4, 1))) == 0.0


def test_half_of_two_clusters():
    """x is 0, 1 or unknown: a half of the values tell the cluster, the others nothing."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    assert explained_share(rows) == pytest.approx(0.5)


def test_quantiles_respect_weights():
    values = np.array([3.0, 1.0, 2.0])
    assert weighted_quantiles(values, np.ones(3), (0.5,)) == [2.0]
    low, high = weighted_quantiles(values, np.array([0.0, 1.0, 0.0]), (0.05, 0.95))
    assert (low, high) == (1.0, 1.0)


@pytest.mark.parametrize("vectors", [False, True])
def test_contexts_of_the_clusters_are_relevant(vectors):
    posterior, _, _ = make_posterior(n_groups=90, vectors=vectors, noise=0.02)
    table = posterior.relevance()
    assert table["context"].tolist() == list(posterior.contexts)
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()
    assert table["mean"].between(0.0, 1.0).all()
    found = table.set_index("context")["mean"]
    assert found["place"] > 0.7  # determines the cluster, up to noise
    assert found["day"] > 0.7
    assert found["flag"] < found["place"]
    assert posterior.relevance().equals(table)


def test_contexts_of_other_groups_are_not():
    posterior, _, _ = make_posterior(n_groups=300, noise=0.02)
    before = posterior.relevance().set_index("context")["mean"]
    order = np.random.default_rng(0).permutation(300)
    columns = posterior.contexts.items()
    posterior.contexts = {
        name: replace(column, values=column.values[order]) for name, column in columns
    }
    after = posterior.relevance().set_index("context")["mean"]
    for name in ("year", "place", "tags", "flag"):
        assert after[name] < 0.1 < before[name]


def test_a_draw_with_parameters_is_required():
    posterior, _, _ = make_posterior()
    posterior.parameters = []
    with pytest.raises(InputError, match="keep_parameters"):
        posterior.relevance()

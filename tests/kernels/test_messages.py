"""Messages of groups to their parents, and types of units given those of all others."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln, logsumexp, softmax

from mcsquared.kernels.cpu.messages import FIXED_POINT, MIN_MESSAGE, add_messages
from mcsquared.kernels.cpu.types import log_predictive, resample_types
from mcsquared.observations.layout import Entries

N_GROUPS, N_CLUSTERS, N_TYPES = 60, 37, 11


def given(seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(-5000.0, 40.0, (N_GROUPS, N_CLUSTERS))
    log_rows = np.log(rng.dirichlet(np.full(N_CLUSTERS, 0.3), N_TYPES))
    return scores, log_rows, rng.integers(-1, 5, N_GROUPS).astype(np.int32)


def sent(scores, log_rows, parents, first=0):
    messages = np.zeros((5, len(log_rows)), np.int64)
    rows = np.ascontiguousarray(np.exp(log_rows).T)
    before = scores.copy()
    add_messages(first, scores, log_rows, rows, parents, messages)
    np.testing.assert_array_equal(scores, before)
    return messages / FIXED_POINT


def expected(scores, log_rows, parents):
    messages = np.zeros((5, len(log_rows)))
    for row, parent in zip(scores, parents, strict=True):
        if parent >= 0 and row.max() > -np.inf:
            messages[parent] += np.maximum(
                logsumexp(log_rows + row, axis=1) - row.max(), MIN_MESSAGE
            )
    return messages


def test_messages_are_the_logs_of_mixtures():
    scores, log_rows, parents = given()
    np.testing.assert_allclose(
        sent(scores, log_rows, parents), expected(scores, log_rows, parents), atol=1e-6
    )


def test_messages_of_types_without_a_common_cluster_are_computed_in_logs():
    scores, log_rows, parents = given(1)
    scores[3, 1:] = -np.inf
    scores[4] = -np.inf
    scores[5, 1:] -= 3000.0
    log_rows[2, 0], log_rows[3, ::2] = -900.0, -np.inf
    log_rows[4, 0] = -np.inf
    found = sent(scores, log_rows, parents)
    messages = expected(scores, log_rows, parents)
    np.testing.assert_allclose(found, messages, atol=1e-6)
    assert messages.min() < MIN_MESSAGE
    assert (messages[:, 2] < -800.0).any()


def test_messages_do_not_depend_on_how_groups_are_divided():
    scores, log_rows, parents = given(2)
    parts = [
        sent(scores[first : first + 7], log_rows, parents, first) for first in range(0, N_GROUPS, 7)
    ]
    np.testing.assert_array_equal(sum(parts), sent(scores, log_rows, parents))


@pytest.mark.parametrize("most", [1, 3, 40])
def test_types_are_drawn_given_those_of_all_other_units(most):
    rng, n_units, n_below = np.random.default_rng(most), 9, 6
    counts = rng.integers(0, most + 1, (n_units, n_below)) * rng.integers(0, 2, (n_units, n_below))
    counts[2] = 0
    prior, log_prior = rng.gamma(0.4, 1.0, n_below) + 1e-12, rng.normal(size=(n_units, N_TYPES))
    log_prior[:, 4] = -np.inf
    types, uniforms = rng.integers(0, 3, n_units).astype(np.int32), rng.random(n_units)
    found, children = types.copy(), np.zeros((N_TYPES, n_below), np.int32)
    np.add.at(children, types, counts)
    entries = Entries.from_matrix(sparse.csr_matrix(counts.astype(np.int32)))
    resample_types(entries, log_prior, prior, children, uniforms, found)
    for u in range(n_units):
        others = np.arange(n_units) != u
        shapes = prior + np.eye(N_TYPES)[types[others]].T @ counts[others]
        logs = log_prior[u] + (gammaln(shapes + counts[u]) - gammaln(shapes)).sum(axis=1)
        total = shapes.sum(axis=1)
        cumulative = np.cumsum(softmax(logs - gammaln(total + counts[u].sum()) + gammaln(total)))
        types[u] = np.searchsorted(cumulative, uniforms[u], side="right")
    np.testing.assert_array_equal(found, types)
    expected_children = np.zeros_like(children)
    np.add.at(expected_children, types, counts)
    np.testing.assert_array_equal(children, expected_children)


def test_a_unit_is_predicted_by_the_children_of_a_type():
    prior, children = np.array([1e-290, 0.5, 2.0]), np.array([0, 3, 4])
    columns, counts = np.arange(3, dtype=np.int32), np.array([2, 1, 30], np.int32)
    found = log_predictive(columns, counts, 33, prior, children, 9.5)
    a = prior + children
    exact = gammaln(a + counts) - gammaln(a)
    assert found == pytest.approx(exact.sum() - gammaln(42.5) + gammaln(9.5), rel=1e-12)

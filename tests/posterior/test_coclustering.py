"""Co-clustering on demand equals the full matrix."""

import numpy as np
import pytest

from mcsquared.errors import InputError
from mcsquared.posterior import CoClustering
from mcsquared.posterior import consensus as module


@pytest.fixture
def draws():
    return np.random.default_rng(0).integers(0, 3, (7, 20)).astype(np.int32)


@pytest.fixture
def matrix(draws):
    return (draws[:, :, None] == draws[:, None, :]).mean(axis=0)


def test_all_methods_give_the_same_probabilities(draws, matrix, monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES_PER_BLOCK", 50)  # several blocks
    together = CoClustering(draws)
    groups = [3, 0, 19]
    np.testing.assert_allclose(together.rows(groups), matrix[groups])
    np.testing.assert_allclose(together.to_dense(groups), matrix[np.ix_(groups, groups)])
    np.testing.assert_allclose(together.between(3, [4, 5]), matrix[3, [4, 5]])
    assert together.between(3, 3) == 1.0
    for minimum in (0.1, 0.5, 1.0):
        expected = np.where(matrix >= minimum - 1e-12, matrix, 0)
        np.testing.assert_allclose(together.to_sparse(minimum).toarray(), expected)
    np.testing.assert_allclose(together.rows(np.arange(20) == 4), matrix[[4]])


def test_invalid_arguments_are_rejected(draws, monkeypatch):
    together = CoClustering(draws)
    with pytest.raises(InputError, match="groups must be indices below 20, got 20"):
        together.rows(20)
    with pytest.raises(InputError, match="groups must be group indices, got"):
        together.rows([0.5])
    for minimum in (0.0, -1, 1.5, float("nan")):
        with pytest.raises(InputError, match=r"minimum must be in \(0, 1\], got"):
            together.to_sparse(minimum)
    monkeypatch.setattr(module, "_MAX_ENTRIES", 10)
    with pytest.raises(InputError, match="minimum must be larger"):
        together.to_sparse(0.1)


def test_coclustering_of_many_groups_is_lazy():
    together = CoClustering(np.zeros((5, 100_000), np.int32))
    assert together.between(0, 99_999) == 1.0
    assert together.rows([7]).shape == (1, 100_000)


def test_coclustering_among_some_groups_is_a_submatrix(draws, matrix):
    groups = [3, 0, 19]
    part = CoClustering(draws).among(groups)
    np.testing.assert_allclose(part.rows(range(3)), matrix[np.ix_(groups, groups)])
    for bad in ([20], "all", [0.5]):
        with pytest.raises(InputError, match="groups must be"):
            CoClustering(draws).among(bad)

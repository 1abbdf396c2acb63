"""Topic counts of a cluster: tables if groups vary within their cluster, otherwise tokens."""

import numpy as np
import pytest
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.posterior import ParameterDraw
from tests.posterior.models import make_posterior

TOKENS = np.array([[90, 10], [0, 4], [0, 0]], np.int32)
TABLES = np.array([[3, 2], [0, 1], [0, 0]], np.int32)


def draw(lam=2.0, tables=TABLES):
    return ParameterDraw(
        index=0,
        topics_in_cluster=sparse.csr_matrix(TOKENS),
        content_statistics=sparse.csr_matrix(np.array([[90], [14]], np.int32)),
        topic_weights=np.array([0.5, 0.3]),
        unused_weight=0.2,
        alpha=1.0,
        v=2.0,
        eta=1.0,
        lam=lam,
        tables_in_cluster=None if tables is None else sparse.csr_matrix(tables),
    )


def test_mean_topic_weights_count_tables_and_not_tokens():
    weights = TABLES + 2.0 * np.array([0.5, 0.3])
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(draw().topic_given_cluster(), expected)


def test_without_tables_every_token_counts():
    weights = TOKENS + 2.0 * np.array([0.5, 0.3])
    expected = weights / weights.sum(axis=1, keepdims=True)
    paper = draw(np.inf, None)
    np.testing.assert_allclose(paper.topic_given_cluster(), expected)
    np.testing.assert_array_equal(paper.token_shares(), paper.topic_given_cluster())


def test_token_shares_of_clusters_without_tokens_are_the_weights():
    expected = [[0.9, 0.1], [0.0, 1.0], [0.625, 0.375]]
    np.testing.assert_allclose(draw().token_shares(), expected)
    np.testing.assert_array_equal(draw().tokens_of_topic, [90, 14])


@pytest.mark.parametrize(("lam", "tables"), [(2.0, None), (np.inf, TABLES)])
def test_tables_are_required_if_and_only_if_lam_is_finite(lam, tables):
    with pytest.raises(InputError, match="tables_in_cluster"):
        draw(lam, tables)


def test_tables_of_contexts_weigh_clusters_by_their_tokens_of_a_topic():
    """The distribution of a context in a topic depends on tokens, not on tables."""
    posterior = make_posterior(lam=3.0)[0]
    by_cluster = posterior.context_given_cluster("flag").to_numpy()
    tokens = posterior.tokens_of_cluster[:, None] * posterior.token_shares
    expected = by_cluster @ (tokens / tokens.sum(axis=0))
    np.testing.assert_allclose(posterior.context_given_topic("flag").to_numpy(), expected)
    assert not np.allclose(posterior.token_shares, posterior.topic_given_cluster)

"""Topic shares of the training groups are close to those of transform."""

import numpy as np
import pytest

from mcsquared.errors import InputError
from mcsquared.prediction.groups import topic_proportions
from mcsquared.report.groups import group_topic_shares
from tests.posterior.models import make_posterior


@pytest.mark.parametrize("lam", [np.inf, 5.0])
@pytest.mark.parametrize("vectors", [False, True])
def test_shares_are_close_to_those_of_transform(lam, vectors):
    posterior, corpus, _ = make_posterior(n_groups=60, lam=lam, vectors=vectors, noise=0.02)
    found, expected = group_topic_shares(posterior, corpus), topic_proportions(posterior, corpus)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    apart = 0.5 * np.abs(found - expected).sum(axis=1)
    assert np.median(apart) < 0.1, "total variation of the middle group"


def test_shares_are_exact_for_an_infinite_lam():
    posterior, corpus, _ = make_posterior(n_groups=40, lam=np.inf)
    draw, counts = posterior.representative_draw, corpus.content.counts.toarray()
    tau = draw.topic_given_cluster()[posterior.cluster_of_group[draw.index]]
    psi = draw.content_means(posterior.priors.content)
    joint = tau[:, :, None] * psi
    expected = (counts[:, None] * joint / joint.sum(axis=1, keepdims=True)).sum(axis=2)
    expected = np.where(expected.sum(axis=1, keepdims=True) > 0, expected, tau)
    expected = expected[:, posterior.topic_order] / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(group_topic_shares(posterior, corpus), expected, atol=1e-5)


def test_shares_do_not_depend_on_the_batch_size(monkeypatch):
    posterior, corpus, _ = make_posterior(n_groups=40, lam=5.0)
    whole = group_topic_shares(posterior, corpus)
    monkeypatch.setattr("mcsquared.report.groups._FLOATS_PER_BATCH", 60)
    np.testing.assert_allclose(group_topic_shares(posterior, corpus), whole, rtol=1e-5)


def test_a_group_without_content_has_the_topics_of_its_cluster():
    posterior, corpus, _ = make_posterior(n_groups=40, lam=5.0)
    assert corpus.tokens_per_group[0] == 0
    draw = posterior.representative_draw
    cluster = posterior.cluster_of_group[draw.index, 0]
    alike = np.flatnonzero(posterior.cluster_of_group[draw.index] == cluster)
    shares = group_topic_shares(posterior, corpus)
    assert np.abs(shares[0] - shares[alike].mean(axis=0)).max() < 0.2


def test_a_corpus_with_other_groups_is_rejected():
    posterior, corpus, _ = make_posterior(n_groups=30)
    with pytest.raises(InputError, match="must have the 30 training groups, got 29"):
        group_topic_shares(posterior, corpus[np.arange(29)])
    with pytest.raises(InputError, match="different lengths"):
        group_topic_shares(posterior, corpus[np.arange(30)[::-1]])


def test_shares_without_a_corpus_are_those_of_the_clusters_of_a_group():
    posterior, _, truth = make_posterior(n_groups=30, noise=0.0)
    shares = group_topic_shares(posterior)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    for k in range(3):
        assert np.ptp(shares[truth == k][5:], axis=0).max() < 0.2

"""Clusterers: against scikit-learn called directly, and against figures worked out by hand."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster, decomposition
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import TfidfTransformer

from mcsquared.baselines import (
    HDP,
    LDA,
    NMF,
    AffinityPropagation,
    KMeans,
    TopicClusters,
    symmetric_kl,
)
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.evaluation import adjusted_rand_index, purity
from tests.baselines.planted import N_TOPICS, draw_corpus, planted_topics

ALL = (KMeans(3, random_state=0), NMF(3, random_state=0), AffinityPropagation(random_state=0))
every_clusterer = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(N_TOPICS, 0.2), 60)
    return draw_corpus(planted_topics(rng), weights, 40, rng)


def proportions(corpus):
    counts = corpus.content.counts.toarray().astype(float)
    return counts / counts.sum(axis=1, keepdims=True)


def same_partition(first, second):
    return adjusted_rand_index(first, second) == 1.0


def test_k_means_is_that_of_scikit_learn(corpus):
    peer = cluster.KMeans(4, n_init=10, random_state=3).fit(proportions(corpus))
    model = KMeans(4, random_state=3).fit(corpus)
    assert same_partition(model.labels_, peer.labels_)
    assert same_partition(model.predict(corpus[:30]), peer.predict(proportions(corpus))[:30])


def test_k_means_of_tf_idf_and_of_counts_are_those_of_scikit_learn(corpus):
    counts = corpus.content.counts
    rows = TfidfTransformer().fit_transform(counts)
    peer = cluster.KMeans(4, n_init=10, random_state=3).fit(rows)
    assert same_partition(KMeans(4, "tfidf", random_state=3).fit(corpus).labels_, peer.labels_)
    peer = cluster.KMeans(4, n_init=10, random_state=3).fit(counts.toarray().astype(float))
    assert same_partition(KMeans(4, "counts", random_state=3).fit(corpus).labels_, peer.labels_)


def test_tf_idf_of_new_groups_uses_the_frequencies_of_training(corpus):
    model = KMeans(4, "tfidf", random_state=0).fit(corpus)
    assert np.array_equal(model.predict(corpus[[7]]), model.labels_[[7]])


def test_nmf_is_that_of_scikit_learn(corpus):
    peer = decomposition.NMF(4, max_iter=500, random_state=3)
    factors = peer.fit_transform(sparse.csr_matrix(proportions(corpus)))
    model = NMF(4, random_state=3).fit(corpus)
    assert same_partition(model.labels_, factors.argmax(axis=1))
    assert (model.predict(corpus) == model.labels_).mean() > 0.95


def test_affinity_propagation_is_that_of_scikit_learn(corpus):
    # Sparse as ours: groups of 40 tokens have distances in common, and rounding decides ties.
    rows = sparse.csr_matrix(proportions(corpus))
    peer = cluster.AffinityPropagation(random_state=3).fit(rows)
    model = AffinityPropagation(random_state=3).fit(corpus)
    assert same_partition(model.labels_, peer.labels_)
    assert model.n_clusters_ == len(peer.cluster_centers_indices_)


def test_affinity_propagation_puts_new_rows_where_scikit_learn_does():
    rows = np.random.default_rng(0).dirichlet([0.4] * 5, 60)
    new = np.random.default_rng(1).dirichlet([0.4] * 5, 30)
    peer = cluster.AffinityPropagation(random_state=3).fit(rows)
    model = AffinityPropagation(random_state=3).fit(rows)
    both = np.concatenate([model.labels_, model.predict(new)])
    assert same_partition(both, np.concatenate([peer.labels_, peer.predict(new)]))


def test_symmetric_kl_by_hand():
    found = symmetric_kl([[0.5, 0.5], [0.25, 0.75], [3.0, 1.0]])
    # Σ (p − q) log(p / q): ¼ log 2 − ¼ log ⅔ = ¼ log 3, and ½ log 3 + ½ log 3 = log 3.
    quarter = 0.25 * np.log(3.0)
    expected = [[0, quarter, quarter], [quarter, 0, np.log(3)], [quarter, np.log(3), 0]]
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    assert symmetric_kl([[0.5, 0.5]], [[0.25, 0.75]]) == pytest.approx(np.array([[quarter]]))


def test_symmetric_kl_of_shares_that_vanish_is_finite():
    found = symmetric_kl(sparse.csr_matrix([[1.0, 0.0], [0.0, 1.0]]))
    assert found[0, 1] == pytest.approx(-2 * np.log(1e-12), rel=1e-9)
    with pytest.raises(InputError, match="row of zeros"):
        symmetric_kl([[0.0, 0.0]])
    with pytest.raises(InputError, match="non-negative shares"):
        symmetric_kl([[-1.0, 2.0]])


def test_affinity_propagation_on_symmetric_kl_is_that_of_scikit_learn():
    shares = np.random.default_rng(0).dirichlet([0.4] * 5, 50)
    by_hand = np.array(
        [[((p - q) * (np.log(p) - np.log(q))).sum() for q in shares] for p in shares]
    )
    peer = cluster.AffinityPropagation(affinity="precomputed", random_state=0).fit(-by_hand)
    model = AffinityPropagation("symmetric_kl", random_state=0).fit(shares)
    assert same_partition(model.labels_, peer.labels_)
    assert np.array_equal(model.predict(shares), model.labels_)


@every_clusterer
def test_groups_without_words_are_in_the_largest_cluster(corpus, model):
    counts = corpus.content.counts.toarray()
    gaps = np.insert(counts, [0, 30, 60], 0, axis=0)
    known = gaps.sum(axis=1) > 0
    with_gaps = clone(model).fit(Corpus(gaps))
    without = clone(model).fit(corpus)
    assert np.array_equal(with_gaps.labels_[known], without.labels_)
    assert (with_gaps.labels_[~known] == 0).all()
    assert (with_gaps.predict(Corpus(np.zeros((2, corpus.n_words), int))) == 0).all()
    sizes = np.bincount(without.labels_)
    assert (np.diff(sizes) <= 0).all()
    assert len(sizes) == without.n_clusters_


@every_clusterer
def test_nothing_but_empty_groups_is_refused(model):
    with pytest.raises(InputError, match="X must have at least one non-empty group"):
        clone(model).fit(Corpus(np.zeros((3, 2), int)))


@every_clusterer
def test_an_unknown_weighting_is_refused(model, corpus):
    with pytest.raises(
        InputError, match="weighting must be one of 'proportions', 'tfidf', 'counts', got 'bm25'"
    ):
        clone(model).set_params(weighting="bm25").fit(corpus)


@every_clusterer
def test_rows_of_numbers_are_used_as_they_are(model):
    rows = np.vstack([np.full((5, 2), [0.1, 0.9]), np.full((6, 2), [0.9, 0.1])])
    rows += 0.01 * np.random.default_rng(0).random(rows.shape)
    found = clone(model)
    if "n_clusters" in found.get_params():
        found.set_params(n_clusters=2)
    else:
        found.set_params(preference=-1.0)
    assert found.fit(rows).labels_.tolist() == [1] * 5 + [0] * 6
    with pytest.raises(InputError, match="X must have 2 columns, got 3"):
        found.predict(np.ones((2, 3)))


def test_words_unseen_in_training_are_left_out(corpus):
    train = Corpus.from_tokens([["a", "a", "b"], ["c", "d", "d"], ["a", "b"], ["d", "c"]])
    model = KMeans(2, random_state=0).fit(train)
    new = model.predict(Corpus.from_tokens([["d", "z", "z"], ["a", "b", "y"]]))
    assert new.tolist() == [model.labels_[1], model.labels_[0]]


def test_more_clusters_than_groups_are_refused(corpus):
    for model in (KMeans(61), NMF(61)):
        with pytest.raises(InputError, match=r"n_clusters must be at most .* \(60\), got 61"):
            model.fit(corpus)
    with pytest.raises(
        InputError, match="similarity must be 'euclidean' or 'symmetric_kl', got 'cosine'"
    ):
        AffinityPropagation("cosine").fit(corpus)
    with pytest.raises(InputError, match="X must not have negative values, got -1"):
        NMF(2).fit(np.array([[-1.0, 2.0], [1.0, 1.0]]))


def test_affinity_propagation_that_does_not_converge_has_one_cluster(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AffinityPropagation(max_iter=1, random_state=0).fit(corpus)
    assert model.n_clusters_ >= 1
    assert (model.labels_ >= 0).all()


def test_lda_and_k_means_find_clusters_of_topics():
    pytest.importorskip("tomotopy")
    rng = np.random.default_rng(0)
    weights = np.repeat(np.eye(N_TOPICS) * 0.9 + 0.025, 15, axis=0)
    corpus = draw_corpus(planted_topics(rng), weights, 40, rng)
    truth = np.repeat(np.arange(N_TOPICS), 15)
    topics = LDA(N_TOPICS, n_sweeps=60, burn_in=50, keep_parameters=1, random_state=0)
    model = TopicClusters(topics, KMeans(N_TOPICS, random_state=0)).fit(corpus)
    assert adjusted_rand_index(model.labels_, truth) > 0.9
    shares = model.topics_.transform(corpus)
    peer = cluster.KMeans(N_TOPICS, n_init=10, random_state=0).fit(shares)
    assert same_partition(model.labels_, peer.labels_)
    assert np.array_equal(model.predict(corpus), model.labels_)


def test_hdp_and_affinity_propagation_tell_groups_of_other_topics_apart():
    rng = np.random.default_rng(0)
    weights = np.repeat(np.eye(N_TOPICS)[:2] * 0.9 + 0.025, 12, axis=0)
    corpus = draw_corpus(planted_topics(rng), weights, 40, rng)
    truth = np.repeat([0, 1], 12)
    topics = HDP(n_sweeps=40, burn_in=30, random_state=0, progress=False)
    model = TopicClusters(topics, random_state=0).fit(corpus)
    assert purity(truth, model.labels_) == 1.0
    by_hand = -symmetric_kl(model.topics_.transform(corpus))
    peer = cluster.AffinityPropagation(affinity="precomputed", random_state=0).fit(by_hand)
    assert same_partition(model.labels_, peer.labels_)
    assert isinstance(TopicClusters(random_state=0).fit(corpus).topics_, HDP)


class Given(BaseEstimator):
    """A topic model whose shares are known."""

    def fit(self, X):
        self.fitted_ = True
        return self

    def transform(self, X):
        counts = X.content.counts.toarray() + 0.1
        return counts / counts.sum(axis=1, keepdims=True)


def test_topics_and_affinity_propagation_on_symmetric_kl_by_default():
    counts = np.array([[9, 1, 0]] * 4 + [[0, 1, 9]] * 5)
    counts[:, 1] += np.arange(9) % 3
    model = TopicClusters(Given(), random_state=0).fit(Corpus(counts))
    assert model.clusterer_.similarity == "symmetric_kl"
    assert model.labels_.tolist() == [1] * 4 + [0] * 5
    assert model.n_clusters_ == 2
    assert not hasattr(model.topics, "fitted_")

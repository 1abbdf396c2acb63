import datetime

import numpy as np

from mcsquared.baselines.dmr import ContextFeatures
from mcsquared.corpus import Column, Corpus


def corpus_with(**contexts):
    n_groups = len(next(iter(contexts.values())))
    return Corpus(np.ones((n_groups, 1), int), contexts)


def learn(corpus, n_bins=2):
    return ContextFeatures.from_contexts(corpus.contexts, "auto", n_bins)


def test_numbers_are_cut_at_quantiles_and_missing_ones_have_no_feature():
    corpus = corpus_with(year=[1990.0, 1991.0, 1992.0, 1993.0, np.nan])
    features = learn(corpus)
    assert features.names == ["year<1991.5", "year>=1991.5"]
    assert learn(corpus, 3).names == ["year<1991", "1991<=year<1992", "year>=1992"]
    assert features.transform(corpus).toarray().tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]]


def test_bins_learnt_in_training_hold_for_new_groups():
    features = learn(corpus_with(year=[1990.0, 1991.0, 1992.0, 1993.0]))
    assert features.transform(corpus_with(year=[1800.0, 3000.0])).toarray().tolist() == [
        [1, 0],
        [0, 1],
    ]


def test_many_equal_numbers_make_fewer_bins():
    corpus = corpus_with(x=[1.0] * 8 + [2.0, 3.0])
    features = learn(corpus, n_bins=5)
    rows = features.transform(corpus).toarray()
    assert rows.shape[1] == len(features.names) < 5
    assert (rows[:8] == rows[0]).all()
    assert (rows.sum(axis=1) == 1).all()
    assert rows.sum(axis=0).all()


def test_categories_bags_and_truth_values_are_features_as_they_are():
    corpus = corpus_with(
        place=["uk", "usa", None], tags=[["b", "a", "b"], ["b"], []], open=[True, False, None]
    )
    features = learn(corpus)
    assert features.names[:4] == ["place=uk", "place=usa", "tags=a", "tags=b"]
    rows = features.transform(corpus).toarray()
    assert rows[:, :4].tolist() == [[1, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]
    assert rows[:, 4:].sum(axis=1).tolist() == [1, 1, 0]
    assert rows[0, 4:].tolist() != rows[1, 4:].tolist()


def test_dates_and_coordinates_of_vectors_are_cut_too():
    days = [datetime.date(2000, 1, day) for day in (1, 2, 3, 4)]
    vectors = Column("place", "vector", np.array([[0.0, 5], [1, 6], [2, 7], [np.nan, np.nan]]))
    corpus = corpus_with(day=days, place=vectors)
    features = learn(corpus)
    rows = features.transform(corpus).toarray()
    assert rows.shape == (4, len(features.names)) == (4, 6)
    assert rows.sum(axis=1).tolist() == [3, 3, 3, 1]
    assert features.names[2].startswith("place[0]<")


def test_a_context_that_is_always_missing_has_a_feature_without_groups():
    corpus = corpus_with(x=[np.nan, np.nan])
    assert learn(corpus).transform(corpus).toarray().sum() == 0

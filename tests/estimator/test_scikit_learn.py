"""The estimator keeps scikit-learn's rules and works with its tools."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_clustering, parametrize_with_checks

import mcsquared as mc2
from tests.estimator.expected_failures import EXPECTED_FAILURES


def model(**parameters):
    defaults = {"n_sweeps": 8, "burn_in": 2, "thin": 1, "random_state": 0, "progress": False}
    return mc2.MC2(**(defaults | parameters))


@pytest.fixture
def counts():
    return np.random.default_rng(1).poisson(1.0, (15, 7))


@pytest.fixture
def contexts():
    return pd.DataFrame({"year": np.linspace(1990, 2004, 15), "place": ["a", "b", "c"] * 5})


@pytest.fixture
def fitted(counts, contexts):
    return model().fit(counts, contexts=contexts)


@parametrize_with_checks(
    [model(n_sweeps=4)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
    xfail_strict=True,
)
def test_scikit_learn_finds_no_failure_but_those_that_are_declared(estimator, check):
    check(estimator)


def test_blobs_are_clusters_where_a_cluster_has_one_topic():
    check_clustering("MC2", model(v=0.01, n_sweeps=100, burn_in=50))


def test_parameters_come_back_as_they_were_given():
    prior, callback = mc2.Gamma(2.0, 3.0), print
    given = {"alpha": prior, "contexts": {"year": "gaussian"}, "callbacks": [callback]}
    estimator = model(**given)
    for name, value in given.items():
        assert estimator.get_params()[name] is value
    assert clone(estimator).get_params()["alpha"] == prior
    assert estimator.set_params(v=3.5, n_sweeps=9) is estimator
    assert (estimator.v, estimator.n_sweeps) == (3.5, 9)
    with pytest.raises(ValueError, match="Invalid parameter 'topics'"):
        estimator.set_params(topics=3)


def test_the_text_of_an_estimator_names_what_was_changed():
    assert repr(mc2.MC2(alpha=mc2.Gamma(2, 3))) == "MC2(alpha=Gamma(shape=2.0, rate=3.0))"


def test_a_clone_is_not_fitted_and_fits_the_same(fitted, counts, contexts):
    copy = clone(fitted)
    with pytest.raises(NotFittedError):
        copy.predict(counts)
    np.testing.assert_array_equal(copy.fit(counts, contexts=contexts).labels_, fitted.labels_)


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_new_proba", "transform", "score", "perplexity"]
)
def test_nothing_is_predicted_before_a_fit(method, counts):
    with pytest.raises(NotFittedError):
        getattr(model(), method)(counts)


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_pickled_model_predicts_and_goes_on_alike(counts, contexts, warm_start):
    fitted = model(warm_start=warm_start).fit(counts, contexts=contexts)
    loaded = pickle.loads(pickle.dumps(fitted))
    for name in ("predict_proba", "transform", "predict_new_proba"):
        np.testing.assert_array_equal(
            getattr(loaded, name)(counts, contexts=contexts),
            getattr(fitted, name)(counts, contexts=contexts),
        )
    fits = [each.fit(counts, contexts=contexts).posterior_ for each in (loaded, fitted)]
    np.testing.assert_array_equal(*(posterior.cluster_of_group for posterior in fits))


def test_what_is_fitted_has_its_shape(fitted):
    assert fitted.labels_.shape == (15,)
    sizes = np.bincount(fitted.labels_)
    assert (np.diff(sizes) <= 0).all()
    assert fitted.n_clusters_ == len(sizes)
    assert fitted.components_.shape == (fitted.n_topics_, 7)
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1.0)
    assert fitted.n_features_in_ == 7
    np.testing.assert_array_equal(fitted.feature_names_in_, [str(w) for w in range(7)])


def test_fit_predict_and_fit_transform_take_contexts(fitted, counts, contexts):
    np.testing.assert_array_equal(model().fit_predict(counts, contexts=contexts), fitted.labels_)
    np.testing.assert_array_equal(
        model().fit_transform(counts, contexts=contexts),
        fitted.transform(counts, contexts=contexts),
    )
    alone = model().fit_transform(counts)
    assert alone.shape[0] == 15


def test_topic_shares_may_be_a_frame_with_names(fitted, counts):
    names = [f"topic{m}" for m in range(fitted.n_topics_)]
    assert fitted.get_feature_names_out().tolist() == names
    plain = fitted.transform(counts)
    framed = fitted.set_output(transform="pandas").transform(counts)
    assert isinstance(framed, pd.DataFrame)
    assert framed.columns.tolist() == names
    np.testing.assert_array_equal(framed.to_numpy(), plain)
    frame = pd.DataFrame(counts, index=[f"g{j}" for j in range(15)])
    assert model().set_output(transform="pandas").fit_transform(frame).index[3] == "g3"


@pytest.mark.parametrize(
    ("lam", "method"),
    [(mc2.Gamma(1, 0.1), "left_to_right"), (3.0, "left_to_right"), (math.inf, "exact")],
)
def test_score_is_the_mean_log_likelihood_of_a_token(counts, contexts, lam, method):
    fitted = model(lam=lam).fit(counts, contexts=contexts)
    assert fitted.score(counts) == pytest.approx(-np.log(fitted.perplexity(counts, method)))
    assert fitted.score(counts, None) < 0


def test_a_pipeline_hands_contexts_to_the_model(contexts):
    texts = ["apple pear", "plum fig fig", "nut apple"] * 5
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = model()
        estimator.set_fit_request(contexts=True).set_predict_request(contexts=True)
        pipeline = Pipeline([("words", CountVectorizer()), ("mc2", estimator)])
        pipeline.fit(texts, contexts=contexts)
        predicted = pipeline.predict(texts[:3], contexts=contexts[:3])
        with pytest.raises(TypeError, match="contexts"):
            Pipeline([("mc2", model().set_fit_request(contexts=False))]).fit(
                texts, contexts=contexts
            )
    inside = pipeline["mc2"]
    assert list(inside.posterior_.contexts) == ["year", "place"]
    assert predicted.shape == (3,)
    matrix = pipeline["words"].transform(texts)
    alone = model().fit(matrix, contexts=contexts)
    np.testing.assert_array_equal(inside.labels_, alone.labels_)


def test_a_pipeline_needs_no_routing_without_contexts():
    texts = ["apple pear", "plum fig fig", "nut apple"] * 5
    pipeline = Pipeline([("words", CountVectorizer()), ("mc2", model())])
    assert pipeline.fit_predict(texts).shape == (15,)
    assert pipeline.transform(["pear", "unseen"]).shape == (2, pipeline["mc2"].n_topics_)


@pytest.mark.filterwarnings("ignore:max_topics")
def test_a_grid_search_chooses_by_score(counts, contexts):
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = (
            model(n_sweeps=4).set_fit_request(contexts=True).set_score_request(contexts=True)
        )
        search = GridSearchCV(estimator, {"max_topics": [1, 3]}, cv=2, error_score="raise")
        search.fit(counts, contexts=contexts)
    assert search.best_params_["max_topics"] in (1, 3)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_score_ == scores.max()
    assert search.predict(counts).shape == (15,)


@pytest.mark.filterwarnings("ignore:max_topics")
def test_scikit_learn_selects_groups_of_a_corpus_with_their_contexts(counts, contexts):
    corpus = mc2.Corpus(counts, contexts)
    train, test = train_test_split(corpus, test_size=5, random_state=0)
    assert (train.n_groups, test.n_groups, list(test.contexts)) == (10, 5, ["year", "place"])
    search = GridSearchCV(
        model(n_sweeps=4),
        {"max_topics": [1, 3]},
        cv=KFold(2),
        scoring=lambda fitted, held_out: -fitted.perplexity(held_out),
        error_score="raise",
    ).fit(corpus)
    fitted = model(n_sweeps=4, **search.best_params_).fit(corpus[8:])
    score = search.cv_results_["split0_test_score"][search.best_index_]
    assert score == -fitted.perplexity(corpus[:8])
    assert list(search.best_estimator_.posterior_.contexts) == ["year", "place"]

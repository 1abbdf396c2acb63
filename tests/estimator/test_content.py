"""Everything that content may be, from fit to prediction."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import mcsquared as mc2
from mcsquared.errors import InputError
from mcsquared.families import (
    Bernoulli,
    Categorical,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from tests.estimator.small import COUNTS, FRUIT, TOKENS, N, arrays, check, model, rng

WORDS = {
    "tokens": (TOKENS, {}),
    "dense": (COUNTS, {}),
    "boolean": (COUNTS > 0, {}),
    "csr": (sparse.csr_matrix(COUNTS), {}),
    "coo array": (sparse.coo_array(COUNTS.astype(float)), {}),
    "floats": (COUNTS.astype(float), {"content": "counts"}),
    "pandas": (pd.DataFrame(COUNTS, columns=FRUIT), {}),
    "polars": (pl.DataFrame(COUNTS, schema=list(FRUIT)), {}),
    "corpus": (mc2.Corpus(COUNTS, vocabulary=FRUIT), {"content": "counts"}),
    "own concentration": (COUNTS, {"content": Categorical(2.0)}),
    "name": (COUNTS, {"content": "categorical"}),
}


@pytest.mark.parametrize(("X", "parameters"), WORDS.values(), ids=WORDS.keys())
def test_words_are_fitted_and_predicted(X, parameters):
    fitted = check(model(**parameters).fit(X), X)
    assert fitted.n_features_in_ == 5


def test_the_same_words_in_another_form_give_the_same_draws():
    traces = [
        model(**parameters).fit(X).posterior_.trace["log_joint"].tolist()
        for name, (X, parameters) in WORDS.items()
        if name not in ("boolean", "tokens", "own concentration")
    ]
    assert all(trace == traces[0] for trace in traces)


def test_texts_are_cut_into_words():
    texts = [" ".join(words) for words in TOKENS]
    fitted = check(model().fit(texts), texts)
    assert set(fitted.feature_names_in_) <= set(FRUIT)
    assert fitted.predict(["Apple, pear!", "", None, "unheard-of"]).shape == (4,)


@pytest.mark.parametrize(
    ("width", "content", "name"),
    [
        (1, "auto", "gaussian"),
        (1, "gaussian", "gaussian"),
        (1, Gaussian(mean=0.5, rate=2.0), "gaussian"),
        (1, "multivariate_gaussian", "multivariate_gaussian"),
        (3, "auto", "multivariate_gaussian"),
        (3, MultivariateGaussian(degrees=9.0), "multivariate_gaussian"),
        (2, "vectors", "multivariate_gaussian"),
    ],
)
def test_vectors_are_fitted_and_predicted(width, content, name):
    X = arrays(width)
    fitted = check(model(content=content).fit(X), X)
    assert fitted.posterior_.priors.content.name == name
    assert fitted.components_.shape == (fitted.n_topics_, width)
    assert fitted.n_features_in_ == width
    check(fitted, [*X[:3], np.zeros((0, width))])


def test_a_sweep_of_vectors_of_dimension_200_takes_less_than_a_second():
    seconds = [time.process_time()]
    X = [np.random.default_rng(j).normal(3 * (j % 4), 1, (5, 200)) for j in range(20)]
    note = [lambda _: seconds.append(time.process_time())]
    model(n_sweeps=5, init="random", callbacks=note).fit(X)
    assert min(np.diff(seconds)[1:]) < 1.0


def test_a_dense_matrix_of_floats_is_one_vector_per_group():
    X = COUNTS.astype(float)
    fitted = check(model().fit(X), X)
    assert fitted.posterior_.vocabulary is None
    assert fitted.posterior_.tokens_per_group.tolist() == [1] * N


def test_whole_numbers_are_vectors_where_that_is_said():
    fitted = check(model(content="vectors").fit(COUNTS), COUNTS)
    assert fitted.posterior_.vocabulary is None


@pytest.mark.parametrize("content", ["poisson", Poisson(2.0, 0.5)])
def test_counts_per_token_are_poisson(content):
    X = arrays(1, lambda size: rng.poisson(4.0, size))
    fitted = check(model(content=content).fit(X), X)
    assert (fitted.components_ > 0).all()


@pytest.mark.parametrize("content", ["bernoulli", Bernoulli(2.0, 0.5)])
def test_answers_per_token_are_bernoulli(content):
    X = arrays(1, lambda size: rng.random(size) < 0.4)
    fitted = check(model(content=content).fit(X), X)
    assert ((fitted.components_ > 0) & (fitted.components_ < 1)).all()


@pytest.mark.parametrize(
    ("X", "content", "sentence"),
    [
        (
            arrays(1),
            "poisson",
            r"observations of Poisson must be integers >= 0, got -0\.11076426184894644",
        ),
        (
            arrays(1),
            "bernoulli",
            r"observations of Bernoulli must be 0 or 1, got 0\.22452922152930568",
        ),
        (
            arrays(2),
            "gaussian",
            "requires one number per token, got 2: use 'multivariate_gaussian'",
        ),
        (arrays(1), "categorical", "content='categorical' requires integer counts, got vectors"),
        (COUNTS, "gaussian", "content must be 'categorical' for words, got 'gaussian'"),
        (COUNTS, "bag", "content must be 'categorical' for words, got 'bag'"),
        (COUNTS, "normal", "content: .*'normal'"),
        (COUNTS, 3, "content must be a family or the name of one, got 3"),
        (arrays(1), "counts", "content must be a matrix of counts, got a list of 2-D arrays"),
        (COUNTS - 0.5, "counts", "fractional count"),
        (COUNTS - 1, "auto", "negative count"),
        (
            sparse.csr_matrix(COUNTS * 0.1),
            "auto",
            r"must contain integer counts in a sparse matrix, got a fractional count \(0\.1\); TF-",
        ),
        (
            [np.zeros((2, 2)), np.zeros((1, 3))],
            "auto",
            r"must contain vectors of one width, got 2 in content\[0\] and 3 in content\[1\]",
        ),
        (np.array([[1.0, np.nan]]), "auto", "content must not contain NaN"),
        (
            np.array([[1.0, np.inf]]),
            "auto",
            r"content must contain finite numbers, got an infinite value \(inf\)",
        ),
        (np.zeros((0, 4), int), "auto", "content must have at least one group"),
        ([], "auto", "content must have at least one group"),
        ([[], []], "auto", "0 feature"),
    ],
)
def test_content_that_cannot_be_is_one_sentence(X, content, sentence):
    with pytest.raises(InputError, match=sentence):
        model(content=content).fit(X)


def test_prediction_wants_the_content_of_training():
    words, vectors = model().fit(COUNTS), model().fit(arrays(2))
    with pytest.raises(InputError, match="X has 3 features, but the model is expecting 5 features"):
        words.predict(COUNTS[:, :3])
    with pytest.raises(InputError, match="X has 3 features, but MC2 is expecting 2 features"):
        vectors.predict(arrays(3))
    with pytest.raises(InputError, match="content must contain vectors as in training, got words"):
        vectors.predict(TOKENS)
    with pytest.raises(InputError):
        words.predict(arrays(5))


def test_words_unseen_in_training_are_left_out():
    fitted = model().fit(TOKENS)
    new = [["apple", "kiwi", "kiwi"], ["kiwi"], []]
    np.testing.assert_allclose(fitted.predict_proba(new), fitted.predict_proba([["apple"], [], []]))
    check(fitted, [[], []])


def test_the_order_of_words_does_not_matter_at_prediction():
    fitted = model().fit(pd.DataFrame(COUNTS, columns=FRUIT))
    turned = pd.DataFrame(COUNTS[:, ::-1], columns=FRUIT[::-1])
    np.testing.assert_allclose(
        fitted.predict_proba(turned), fitted.predict_proba(pd.DataFrame(COUNTS, columns=FRUIT))
    )


SMALL = {
    "one group": COUNTS[:1],
    "one word": COUNTS[:, :1],
    "one group of one word": np.array([[1]]),
    "one empty group": np.array([[0, 0]]),
    "no content": np.zeros((4, 3), int),
    "one vector": [np.ones((1, 2))],
    "no vectors": [np.zeros((0, 2)), np.zeros((0, 2))],
    "equal vectors": [np.ones((3, 2))] * 3,
}


@pytest.mark.parametrize("X", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("with_contexts", [False, True])
def test_the_smallest_corpora_are_fitted(X, with_contexts):
    n = len(X)
    contexts = {"year": np.arange(n) + 2000.0, "kind": ["a"] * n} if with_contexts else None
    fitted = model().fit(X, contexts=contexts)
    assert fitted.labels_.shape == (n,)
    np.testing.assert_allclose(fitted.predict_proba(X, contexts=contexts).sum(axis=1), 1.0)
    shares = fitted.transform(X, contexts=contexts)
    assert shares.shape == (n, fitted.n_topics_)
    if fitted.n_topics_:
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert len(fitted.posterior_.clusters()) == fitted.n_clusters_
    assert len(fitted.posterior_.topics()) == fitted.n_topics_


@pytest.mark.parametrize("content", ["gaussian", "multivariate_gaussian", "poisson", "bernoulli"])
@pytest.mark.parametrize("init", ["auto", "random"])
def test_a_fit_to_one_group_without_vectors_predicts_groups_with_and_without_them(content, init):
    X, new = [np.zeros((0, 1))], [np.ones((2, 1)), np.zeros((0, 1))]
    contexts, new_contexts = {"x": ["a"], "y": [np.nan]}, {"x": ["a", None], "y": [1.0, np.nan]}
    fitted = model(content=content, init=init).fit(X, contexts=contexts)
    for groups, columns in ((X, contexts), (new, new_contexts)):
        assert fitted.transform(groups, contexts=columns).shape == (len(groups), fitted.n_topics_)
        shares = fitted.predict_proba(groups, contexts=columns)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert np.isfinite(fitted.predict_new_proba(groups, contexts=columns)).all()
        for name in contexts:
            assert len(fitted.predict_context(groups, name, contexts=columns)) == len(groups)


def test_without_content_contexts_alone_make_clusters():
    x = np.r_[np.full(20, -10.0), np.full(20, 10.0)] + rng.normal(0, 0.5, 40)
    fitted = model(n_sweeps=60, burn_in=20).fit(np.zeros((40, 2), int), contexts={"x": x})
    assert fitted.n_clusters_ == 2
    assert (fitted.labels_[:20] == fitted.labels_[0]).all()
    assert (fitted.labels_[20:] != fitted.labels_[0]).all()

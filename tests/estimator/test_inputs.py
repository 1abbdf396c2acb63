"""Everything that a corpus may be, from fit to prediction."""

import datetime
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import gammaln

import mcsquared as mc2
from mcsquared.errors import InputError
from mcsquared.families import (
    Bernoulli,
    Categorical,
    ConjugateFamily,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)

N = 12
rng = np.random.default_rng(12)
COUNTS = rng.poisson(1.0, (N, 5))
COUNTS[[2, 9]] = 0
FRUIT = np.array(["apple", "pear", "plum", "fig", "nut"], object)
TOKENS = [list(np.repeat(FRUIT, row)) for row in COUNTS]
SIZES = rng.integers(1, 5, N)
SIZES[[0, 7]] = 0


def arrays(width, draw=rng.normal):
    return [np.asarray(draw(size=(size, width)), float) for size in SIZES]


def model(**parameters):
    defaults = {"n_sweeps": 8, "burn_in": 2, "thin": 1, "random_state": 0, "progress": False}
    return mc2.MC2(**(defaults | parameters))


def check(fitted, X, contexts=None, n_groups=N):
    assert fitted.labels_.shape == (n_groups,)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    for shares, width in (
        (fitted.predict_proba(X, contexts=contexts), fitted.n_clusters_),
        (fitted.transform(X, contexts=contexts), fitted.n_topics_),
    ):
        assert shares.shape == (n, width)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert fitted.predict(X, contexts=contexts).shape == (n,)
    return fitted


# Content --------------------------------------------------------------------------------------

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
        (arrays(1), "poisson", "content is 'poisson', but some values are negative or fractional"),
        (arrays(1), "bernoulli", "content is 'bernoulli', but some values are neither 0 nor 1"),
        (arrays(2), "gaussian", "wants one number per token, but the tokens have 2"),
        (arrays(1), "categorical", "the corpus holds vectors; give whole counts instead"),
        (COUNTS, "gaussian", "the corpus holds words, which are 'categorical'"),
        (COUNTS, "bag", "the corpus holds words, which are 'categorical'"),
        (COUNTS, "normal", "content: .*'normal'"),
        (COUNTS, 3, "content is 3, but a family or the name of one is wanted"),
        (arrays(1), "counts", "a matrix of counts is wanted"),
        (COUNTS - 0.5, "counts", "fractional count"),
        (COUNTS - 1, "auto", "negative count"),
        (sparse.csr_matrix(COUNTS * 0.1), "auto", "fractional count .* sparse .*TF-IDF"),
        ([np.zeros((2, 2)), np.zeros((1, 3))], "auto", "width 3, but content.0. has width 2"),
        (np.array([[1.0, np.nan]]), "auto", "content holds NaN"),
        (np.array([[1.0, np.inf]]), "auto", "content holds an infinite value"),
        (np.zeros((0, 4), int), "auto", "zero groups"),
        ([], "auto", "zero groups"),
        ([[], []], "auto", "0 feature"),
    ],
)
def test_content_that_cannot_be_is_one_sentence(X, content, sentence):
    with pytest.raises(InputError, match=sentence):
        model(content=content).fit(X)


def test_prediction_wants_the_content_of_training():
    words, vectors = model().fit(COUNTS), model().fit(arrays(2))
    with pytest.raises(InputError, match="X has 3 features, but MC2 is expecting 5 features"):
        words.predict(COUNTS[:, :3])
    with pytest.raises(InputError, match="X has 3 features, but MC2 is expecting 2 features"):
        vectors.predict(arrays(3))
    with pytest.raises(InputError, match="holds words, but the model was fitted to vectors"):
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


def test_without_content_contexts_alone_make_clusters():
    x = np.r_[np.full(20, -10.0), np.full(20, 10.0)] + rng.normal(0, 0.5, 40)
    fitted = model(n_sweeps=60, burn_in=20).fit(np.zeros((40, 2), int), contexts={"x": x})
    assert fitted.n_clusters_ == 2
    assert (fitted.labels_[:20] == fitted.labels_[0]).all()
    assert (fitted.labels_[20:] != fitted.labels_[0]).all()


# Contexts -------------------------------------------------------------------------------------

DATES = np.datetime64("2001-01-31", "ns") + np.arange(N) * np.timedelta64(40, "D")
TYPED = {
    "year": np.where(np.arange(N) == 3, np.nan, 1990.0 + np.arange(N)),
    "age": np.arange(N),
    "open": np.arange(N) % 3 == 0,
    "place": [None if j == 5 else ["north", "south", "east"][j % 3] for j in range(N)],
    "tags": [[] if j == 2 else ["x", "y", "x"][: 1 + j % 3] for j in range(N)],
    "day": np.where(np.arange(N) == 4, np.datetime64("NaT"), DATES),
}
FAMILIES = ["gaussian", "gaussian", "bernoulli", "categorical", "bag", "gaussian"]


def with_library(library):
    plain = {name: list(column) for name, column in TYPED.items()}
    if library == "pandas":
        return pd.DataFrame(TYPED)
    if library == "polars":
        return pl.DataFrame(
            plain | {"day": pl.Series(TYPED["day"].astype("datetime64[us]"))}, strict=False
        )
    return TYPED


@pytest.mark.parametrize("library", ["dict", "pandas", "polars"])
def test_contexts_of_every_type_are_fitted_and_predicted(library):
    contexts = with_library(library)
    fitted = model().fit(COUNTS, contexts=contexts)
    families = fitted.posterior_.priors.contexts
    assert list(families) == list(TYPED)
    assert [family.name for family in families.values()] == FAMILIES
    check(fitted, COUNTS, contexts)
    check(fitted, COUNTS)
    for name in TYPED:
        table = fitted.posterior_.context_given_cluster(name)
        assert np.isfinite(table.to_numpy()).all()
        predicted = fitted.predict_context(COUNTS, name, contexts=contexts)
        assert set(predicted["group"]) == {str(j) for j in range(N)}


def test_contexts_of_every_library_give_the_same_draws():
    traces = [
        model().fit(COUNTS, contexts=with_library(library)).posterior_.trace["log_joint"].tolist()
        for library in ("dict", "pandas", "polars")
    ]
    np.testing.assert_allclose(traces[1], traces[0], rtol=1e-12)
    np.testing.assert_allclose(traces[2], traces[0], rtol=1e-12)


@pytest.mark.parametrize(
    "dates",
    [
        DATES,
        pd.Series(DATES),
        pd.Series(DATES).dt.tz_localize("UTC"),
        [date.date() for date in pd.to_datetime(DATES)],
        pl.Series(DATES.astype("datetime64[us]")),
    ],
    ids=["numpy", "pandas", "zone", "dates", "polars"],
)
def test_dates_come_back_as_dates(dates):
    fitted = model().fit(COUNTS, contexts={"day": dates})
    table = fitted.posterior_.context_given_cluster("day")
    assert table.index.dtype.kind == "M"
    assert table.index.min() <= pd.Timestamp("2001-02-01")
    assert table.index.max() >= pd.Timestamp("2002-04-01")
    assert fitted.posterior_.context_given_topic("day").index.dtype.kind == "M"
    predicted = fitted.predict_context(COUNTS[:2], "day")
    for name in ("mean", "lower", "upper"):
        assert predicted[name].dtype.kind == "M"
    assert (predicted["lower"] < predicted["mean"]).all()
    assert predicted["mean"].between("2000-01-01", "2004-01-01").all()
    assert fitted.predict(COUNTS, contexts={"day": dates}).shape == (N,)


def test_two_dimensional_numbers_are_vectors():
    place = rng.normal(size=(N, 2))
    place[4] = np.nan
    fitted = model().fit(COUNTS, contexts={"place": place})
    assert fitted.posterior_.priors.contexts["place"].name == "multivariate_gaussian"
    check(fitted, COUNTS, {"place": place})
    fitted.predict_context(COUNTS, "place")


def test_sparse_rows_are_bags():
    authors = sparse.csr_matrix(rng.poisson(0.5, (N, 4)))
    fitted = model().fit(COUNTS, contexts={"authors": authors})
    assert fitted.posterior_.priors.contexts["authors"].name == "bag"
    check(fitted, COUNTS, {"authors": authors})


def test_families_are_declared_by_name_or_object():
    chosen = {"age": "poisson", "open": "categorical", "place": Categorical(3.0)}
    fitted = model(contexts=chosen).fit(COUNTS, contexts=TYPED)
    families = fitted.posterior_.priors.contexts
    assert list(families) == ["age", "open", "place"]
    assert families["age"].name == "poisson"
    assert families["place"].concentration == 3.0
    check(fitted, COUNTS, TYPED)


def test_contexts_that_are_all_missing_say_nothing():
    nothing = {
        "number": [np.nan] * N,
        "none": [None] * N,
        "lists": [[]] * N,
        "date": np.full(N, np.datetime64("NaT", "ns")),
        "vector": np.full((N, 2), np.nan),
    }
    fitted = model().fit(COUNTS, contexts=nothing)
    check(fitted, COUNTS, nothing)
    plain = model().fit(COUNTS)
    np.testing.assert_array_equal(
        fitted.posterior_.cluster_of_group, plain.posterior_.cluster_of_group
    )
    check(fitted, COUNTS, {"none": ["a"] * N, "number": np.arange(N)})


@pytest.mark.parametrize("family", ["categorical", "bag"])
def test_a_declared_category_may_never_be_observed(family):
    fitted = model(contexts={"x": family}).fit(COUNTS, contexts={"x": [None] * N})
    check(fitted, COUNTS, {"x": ["a"] * N})
    assert fitted.predict_context(COUNTS, "x").empty


def test_contexts_may_be_missing_or_more_at_prediction():
    fitted = model().fit(COUNTS, contexts={"place": TYPED["place"], "age": TYPED["age"]})
    alone = fitted.predict_proba(COUNTS)
    for contexts in (
        {"other": TYPED["year"]},
        {"place": ["elsewhere"] * N},
        {"place": [None] * N, "age": [np.nan] * N},
    ):
        np.testing.assert_allclose(fitted.predict_proba(COUNTS, contexts=contexts), alone)


def test_a_context_is_no_evidence_for_itself():
    fitted = model().fit(COUNTS, contexts=TYPED)
    without = {name: column for name, column in TYPED.items() if name != "place"}
    pd.testing.assert_frame_equal(
        fitted.predict_context(COUNTS, "place", contexts=TYPED),
        fitted.predict_context(COUNTS, "place", contexts=without),
    )


def test_duplicate_columns_are_refused():
    frame = pd.DataFrame(np.zeros((N, 2)), columns=["x", "x"])
    with pytest.raises(InputError, match="'x'"):
        model().fit(COUNTS, contexts=frame)


@pytest.mark.parametrize(
    ("contexts", "parameters", "sentence"),
    [
        ({"x": np.zeros(N - 1)}, {}, "11.* 12 groups"),
        (pd.DataFrame({"x": np.zeros(N + 1)}), {}, "13 rows, but the corpus has 12 groups"),
        ({"x": [np.inf] * N}, {}, "'x'.*infinite"),
        ({"x": [object()] * N}, {}, "'x'"),
        ({"x": np.zeros(N)}, {"contexts": {"y": "auto"}}, "column 'y', but the corpus has 'x'"),
        ({"x": np.zeros(N)}, {"contexts": {"x": "normal"}}, r"contexts\['x'\].*'normal'"),
        ({"x": np.zeros(N)}, {"contexts": {"x": "bag"}, "n_sweeps": 0}, "n_sweeps is 0"),
        ({"x": -np.ones(N)}, {"contexts": {"x": "poisson"}}, "'x' holds -1"),
        ({"x": ["a"] * N}, {"contexts": {"x": "gaussian"}}, "'x' is a category.*wants numbers"),
        ({"x": np.zeros(N)}, {"contexts": ["x"]}, "contexts is a list"),
        ({"x": np.zeros(N)}, {"contexts": "all"}, "contexts is 'all'"),
        (3, {}, "contexts"),
    ],
)
def test_contexts_that_cannot_be_are_one_sentence(contexts, parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        model(**parameters).fit(COUNTS, contexts=contexts)


def test_predict_context_wants_a_context_of_the_model():
    fitted = model().fit(COUNTS, contexts={"place": TYPED["place"]})
    with pytest.raises(InputError, match="name is 'author', but the model's contexts are 'place'"):
        fitted.predict_context(COUNTS, "author")


# Families of the user's own -------------------------------------------------------------------


@dataclass(frozen=True)
class Visits(ConjugateFamily):
    """Counts with a gamma prior of their rate, as a user would write it."""

    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, float)
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats):
        shape, rate = 1.5 + stats[..., 1], 0.4 + stats[..., 0]
        return gammaln(shape) - shape * np.log(rate)

    def log_base(self, x):
        return -gammaln(np.asarray(x, float) + 1)


def test_an_own_family_serves_as_context():
    contexts = {"visits": np.where(np.arange(N) == 3, np.nan, rng.poisson(4, N))}
    own = check(model(contexts={"visits": Visits()}).fit(COUNTS, contexts=contexts), COUNTS)
    twin = model(contexts={"visits": Poisson(1.5, 0.4)}).fit(COUNTS, contexts=contexts)
    np.testing.assert_array_equal(own.labels_, twin.labels_)
    np.testing.assert_allclose(
        own.predict_proba(COUNTS, contexts=contexts), twin.predict_proba(COUNTS, contexts=contexts)
    )
    with pytest.raises(InputError, match="only the built-in families can be predicted"):
        own.predict_context(COUNTS, "visits")


def test_an_own_family_serves_as_content():
    X = arrays(1, lambda size: rng.poisson(4.0, size))
    own = model(content=Visits()).fit(X)
    twin = model(content=Poisson(1.5, 0.4)).fit(X)
    np.testing.assert_array_equal(own.posterior_.cluster_of_group, twin.posterior_.cluster_of_group)
    assert own.posterior_.trace["log_joint"].tolist() == pytest.approx(
        twin.posterior_.trace["log_joint"].tolist()
    )

    with pytest.raises(InputError, match="Visits does not define sample_parameters"):
        own.predict(X)


def test_an_own_family_that_draws_its_parameters_predicts():
    @dataclass(frozen=True)
    class DrawnVisits(Visits):
        def sample_parameters(self, stats, rng):
            return rng.gamma(1.5 + stats[..., 1], 1.0 / (0.4 + stats[..., 0]))[:, None]

        def log_likelihood(self, x, parameters):
            x, rate = np.asarray(x, float)[:, None], parameters[None, :, 0]
            return x * np.log(rate) - rate - gammaln(x + 1)

    X = arrays(1, lambda size: rng.poisson(4.0, size))
    fitted = check(model(content=DrawnVisits()).fit(X), X)
    assert fitted.n_features_in_ == 1
    assert np.isfinite(fitted.score(X))


def test_dates_of_the_past_and_the_future_are_fitted():
    days = [datetime.date(1066, 10, 14), datetime.date(2999, 12, 31)] * (N // 2)
    fitted = model().fit(COUNTS, contexts={"day": days})
    assert fitted.posterior_.context_given_cluster("day").index.dtype.kind == "M"
    assert len(fitted.predict_context(COUNTS, "day")) == N

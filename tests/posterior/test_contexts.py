"""Context tables are distributions, consistent with Bayes' rule."""

import numpy as np
import pandas as pd
import pytest

from mcsquared import MC2
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Gaussian
from mcsquared.model.priors import Priors
from mcsquared.posterior import Posterior
from tests.posterior.models import make_posterior


@pytest.fixture(scope="module")
def posterior():
    return make_posterior()[0]


@pytest.mark.parametrize("name", ["year", "day", "place", "tags", "flag", "visits"])
@pytest.mark.parametrize("of", ["cluster", "topic"])
def test_every_column_integrates_or_sums_to_one(posterior, name, of):
    table = getattr(posterior, f"context_given_{of}")(name)
    assert table.index.name == name
    assert table.columns.name == of
    assert (table.to_numpy() >= 0).all()
    if name in ("year", "day"):
        points = table.index.to_numpy()
        if name == "day":
            points = (points - points[0]) / np.timedelta64(1, "D")
        total = np.trapezoid(table.to_numpy(), points.astype(float), axis=0)
    else:
        total = table.sum(axis=0)
    np.testing.assert_allclose(total, 1.0)


def test_tables_depend_on_the_kinds_of_their_contexts(posterior):
    assert pd.api.types.is_datetime64_any_dtype(posterior.context_given_cluster("day").index)
    assert len(posterior.context_given_cluster("year")) == 101
    assert list(posterior.context_given_cluster("flag").index) == [False, True]
    assert set(posterior.context_given_cluster("place").index) == {"place0", "place1", "place2"}
    assert set(posterior.context_given_cluster("tags").index) == {"common", "tag0", "tag1", "tag2"}
    assert posterior.context_given_cluster("visits").index[0] == 0


def test_densities_are_those_of_the_predictive_of_the_family(posterior):
    family, column = posterior.priors.contexts["year"], posterior.contexts["year"]
    table = posterior.context_given_cluster("year")
    for cluster in range(3):
        x = column.values[(posterior.labels == cluster) & column.observed]
        statistics = family.statistics(x).sum(axis=0, keepdims=True)
        density = np.exp(family.log_predictive(table.index.to_numpy(), statistics))[:, 0]
        density /= np.trapezoid(density, table.index.to_numpy())
        np.testing.assert_allclose(table[cluster], density, rtol=0.02, atol=1e-4)


def test_categories_have_their_smoothed_shares(posterior):
    column = posterior.contexts["place"]
    table = posterior.context_given_cluster("place")
    codes = column.values[(posterior.labels == 0) & column.observed]
    counts = np.bincount(codes, minlength=3) + posterior.priors.contexts["place"].concentration
    np.testing.assert_allclose(table[0].to_numpy(), counts / counts.sum())


def test_vectors_have_a_mean_and_an_sd_per_dimension(posterior):
    table = posterior.context_given_cluster("where")
    assert table.shape == (2, 6)
    column = posterior.contexts["where"]
    for cluster in range(3):
        x = column.values[posterior.labels == cluster]
        np.testing.assert_allclose(table[cluster]["mean"], x.mean(axis=0), atol=0.1)
        np.testing.assert_allclose(table[cluster]["sd"], x.std(axis=0), rtol=0.8)
    by_topic = posterior.context_given_topic("where")
    assert by_topic.shape == (2, 8)
    weights = posterior.tokens_of_cluster * posterior.token_shares[:, 0]
    mean = np.average(table.xs("mean", axis=1, level=1), axis=1, weights=weights)
    np.testing.assert_allclose(by_topic[0]["mean"], mean)


def test_the_predictive_sd_of_vectors_is_that_of_draws(posterior):
    family, column = posterior.priors.contexts["where"], posterior.contexts["where"]
    x = column.values[posterior.labels == 0]
    statistics = family.statistics(x).sum(axis=0, keepdims=True)
    rng = np.random.default_rng(0)
    parameters = family.sample_parameters(np.repeat(statistics, 20_000, axis=0), rng)
    mean, precision = parameters[:, :2], parameters[:, 2:].reshape(-1, 2, 2)
    draws = mean + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(np.linalg.inv(precision)), rng.normal(size=(20_000, 2))
    )
    table = posterior.context_given_cluster("where")
    np.testing.assert_allclose(table[0]["sd"], draws.std(axis=0), rtol=0.03)


def test_a_topic_s_context_is_the_mixture_of_its_clusters(posterior):
    by_cluster = posterior.context_given_cluster("place").to_numpy()
    weights = posterior.tokens_of_cluster[:, None] * posterior.token_shares
    expected = by_cluster @ (weights / weights.sum(axis=0))
    np.testing.assert_allclose(posterior.context_given_topic("place"), expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("year", 2000),
        ("year", 2010.5),
        ("day", "2020-01-05"),
        ("day", pd.Timestamp("2020-07-10")),
        ("place", "place2"),
        ("tags", ["tag1", "common"]),
        ("flag", True),
        ("where", [6.0, -2.0]),
        ("visits", 12),
    ],
)
def test_topics_given_a_context_are_a_distribution(posterior, name, value):
    table = posterior.topic_given_context(name, value)
    assert table["probability"].sum() == pytest.approx(1.0)
    assert table["probability"].is_monotonic_decreasing
    assert sorted(table["topic"]) == [0, 1, 2, 3]


def test_topics_given_a_category_follow_bayes_rule(posterior):
    table = posterior.topic_given_context("place", "place1").set_index("topic")["probability"]
    prior = np.bincount(posterior.labels) / 30
    cluster = prior * posterior.context_given_cluster("place").loc["place1"].to_numpy()
    expected = cluster / cluster.sum() @ posterior.topic_given_cluster.to_numpy()
    np.testing.assert_allclose(table.sort_index(), expected)


def test_errors_name_unknown_contexts_and_values(posterior):
    with pytest.raises(
        InputError, match=r"name must be a context of this model \('year', .*\), got 'yeer'"
    ):
        posterior.context_given_cluster("yeer")
    with pytest.raises(InputError, match="value must occur in the context"):
        posterior.topic_given_context("place", "nowhere")
    for value in ("soon", [1, 2], np.inf):
        with pytest.raises(InputError, match=r"^value .* is invalid: .*'year'"):
            posterior.topic_given_context("year", value)
    with pytest.raises(InputError, match="value must occur in the context"):
        posterior.topic_given_context("year", None)


def one_context(values, family=None) -> Posterior:
    """Return a posterior of two clusters with one context and uninformative words."""
    n = len(values)
    corpus = Corpus(np.ones((n, 2), int), {"x": values})
    priors = Priors.for_corpus(corpus, contexts={"x": family or "auto"})
    base = make_posterior(n_groups=n, contexts=False)[0]
    halves = np.tile((np.arange(n) >= n // 2).astype(np.int32), (3, 1))
    return Posterior(
        priors=priors,
        group_names=corpus.group_names,
        vocabulary=corpus.vocabulary,
        contexts=priors.columns(corpus),
        tokens_per_group=corpus.tokens_per_group,
        cluster_of_group=halves,
        chain_of_draw=np.zeros(3, np.int32),
        sweep_of_draw=np.arange(3, dtype=np.int32),
        trace=base.trace,
        parameters=[],
    )


def test_a_narrow_peak_between_two_grid_points_is_kept():
    """One cluster has a range of a million, the other of a hundredth of a grid step."""
    rng = np.random.default_rng(0)
    wide, narrow = rng.uniform(0, 1e6, 50), 123_456.7 + rng.normal(0, 50, 50)
    family = Gaussian(mean=5e5, strength=1e-6, shape=2, rate=1.0)
    table = one_context(np.concatenate([wide, narrow]), family).context_given_cluster("x")
    peak = table[1].idxmax()
    assert abs(peak - 123_456.7) < 15_000
    assert np.trapezoid(table[1], table.index) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "values",
    [
        [3.0] * 12,
        [2e9] * 12,
        [np.nan] * 12,
        [1e9 + j for j in range(12)],
        [None] * 11 + [True],
        ["only"] * 12,
        [["a"]] + [[]] * 11,
    ],
)
def test_degenerate_contexts_still_have_proper_tables(values):
    table = one_context(values).context_given_cluster("x")
    assert np.isfinite(table.to_numpy()).all()
    if len(table) == 101:
        np.testing.assert_allclose(np.trapezoid(table.to_numpy(), table.index, axis=0), 1.0)
    else:
        np.testing.assert_allclose(table.sum(axis=0), 1.0)


def test_large_counts_keep_a_short_table():
    rng = np.random.default_rng(0)
    table = one_context(rng.poisson(50_000, 12), "poisson").context_given_cluster("x")
    assert len(table) <= 1001
    np.testing.assert_allclose(table.sum(axis=0), 1.0)


def test_a_vector_may_consist_of_integers():
    values = np.array([[0.0, 1.0]] * 5 + [[4.0, -1.0]] * 5) + np.linspace(0.0, 0.1, 10)[:, None]
    model = MC2(n_sweeps=4, burn_in=2, thin=1, random_state=0)
    posterior = model.fit(np.ones((10, 2), int), contexts={"x": values}).posterior_
    whole = posterior.topic_given_context("x", [4, -1])
    pd.testing.assert_frame_equal(whole, posterior.topic_given_context("x", np.array([4.0, -1.0])))
    for value in ([1, 2, 3], 1, "here", [1, None]):
        with pytest.raises(InputError, match=r"^value .* is invalid: "):
            posterior.topic_given_context("x", value)

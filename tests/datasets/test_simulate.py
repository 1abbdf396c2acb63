"""The simulator: data have the prior predictive distribution; values are missing as requested."""

from math import inf

import numpy as np
import pytest
from scipy import sparse, stats

from mcsquared.datasets import simulate
from mcsquared.datasets.simulate import Assignments, draw_content, draw_contexts
from mcsquared.errors import InputError
from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    ConjugateFamily,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from mcsquared.model.parameters import Gamma

CONTEXTS = {
    "year": Gaussian(mean=2000.0, strength=0.5, shape=3.0, rate=4.0),
    "authors": Bag(0.4, size=6),
    "place": Categorical(0.7, size=4),
    "open": Bernoulli(2.0, 1.0),
    "cites": Poisson(2.0, 0.5),
    "where": MultivariateGaussian(mean=(1.0, -1.0), scale=((1.0, 0.3), (0.3, 2.0)), degrees=5.0),
}


def assert_mean(draws, expected):
    draws = np.asarray(draws, dtype=float)
    assert abs(draws.mean() - expected) < 4.5 * draws.std() / np.sqrt(draws.size)


def prior_draws(family, n_clusters, per_cluster, seed=0, items=None):
    """Observations of many clusters, each with parameters of its own from the prior."""
    rng = np.random.default_rng(seed)
    parameters = family.sample_parameters(np.zeros((n_clusters, family.n_stats)), rng)
    label = np.repeat(np.arange(n_clusters), per_cluster)
    x = family.sample_observations(parameters, label, rng, items)
    return x if sparse.issparse(x) else x.reshape(n_clusters, per_cluster, *x.shape[1:])


def test_gaussian_observations_are_student_and_share_their_mean():
    family = CONTEXTS["year"]
    x = prior_draws(family, 20_000, 2) - 2000.0
    scale = np.sqrt(family.rate / family.shape * (1 + 1 / family.strength))
    assert stats.kstest(x[:, 0], stats.t(2 * family.shape, scale=scale).cdf).pvalue > 1e-4
    variance_of_mean = family.rate / (family.shape - 1) / family.strength
    assert_mean(x[:, 0] * x[:, 1], variance_of_mean)


def test_vector_observations_have_the_prior_moments():
    family = CONTEXTS["where"]
    x = prior_draws(family, 15_000, 2) - np.array(family.mean)
    noise = np.array(family.scale) / (family.degrees - 3)
    for a, b in ((0, 0), (0, 1), (1, 1)):
        assert_mean(x[:, 0, a] * x[:, 1, b], noise[a, b] / family.strength)
        assert_mean((x[:, 0] - x[:, 1])[:, a] * (x[:, 0] - x[:, 1])[:, b], 2 * noise[a, b])


def test_categories_agree_as_often_as_a_dirichlet_says():
    family = CONTEXTS["place"]
    x = prior_draws(family, 30_000, 2)
    assert_mean(x[:, 0] == x[:, 1], (0.7 + 1) / (4 * 0.7 + 1))
    assert_mean(x[:, 0] == 3, 1 / 4)


def test_truth_values_and_counts_have_the_prior_moments():
    x = prior_draws(CONTEXTS["open"], 30_000, 2)
    assert_mean(x[:, 0], 2 / 3)
    assert_mean(x[:, 0] * x[:, 1], 2 * 3 / (3 * 4))
    x = prior_draws(CONTEXTS["cites"], 30_000, 2)
    assert_mean(x[:, 0], 4.0)
    assert_mean((x[:, 0] - 4) * (x[:, 1] - 4), 2 / 0.5**2)


def test_bags_hold_as_many_items_as_asked_and_agree_as_often_as_a_dirichlet_says():
    n = 20_000
    bags = prior_draws(CONTEXTS["authors"], n, 1, items=np.full(n, 2)).toarray()
    assert (bags.sum(axis=1) == 2).all()
    assert_mean((bags == 2).any(axis=1), 1.4 / (6 * 0.4 + 1))


def test_words_of_one_topic_agree_as_often_as_a_dirichlet_says():
    family, rng = Categorical(0.5, size=7), np.random.default_rng(1)
    n = 20_000
    topics = Assignments(
        np.zeros(n, np.int32), np.repeat(np.arange(n, dtype=np.int32), 2), np.ones((1, n), np.int32)
    )
    counts, topic, parameters = draw_content(np.full(n, 2), topics, family, rng)
    assert parameters.shape == (n, 7)
    assert_mean((counts.max(axis=1).toarray() == 2).ravel(), 1.5 / (3.5 + 1))
    np.testing.assert_array_equal(topic, topics.topic_of_token)


def test_two_words_of_a_corpus_agree_as_the_whole_model_says():
    """P(equal) of two words in a group: sharing a topic, or by chance."""
    v, eta, beta, size = 1.7, 1.3, 0.5, 4
    share = (1 + eta + v) / ((1 + v) * (1 + eta))
    expected = share * (beta + 1) / (size * beta + 1) + (1 - share) / size
    rng = np.random.default_rng(2)
    equal = [
        simulate(
            1, 2, content=Categorical(beta, size), v=v, eta=eta, random_state=rng
        ).corpus.content.counts.nnz
        == 1
        for _ in range(800)
    ]
    assert_mean(equal, expected)


def test_topics_stand_beside_their_own_words():
    drawn = simulate(40, 30, content=Categorical(1e-4, size=60), v=5.0, eta=5.0, random_state=3)
    counts = drawn.corpus.content.counts
    word = np.repeat(counts.indices, counts.data)
    typical = drawn.content_parameters.argmax(axis=1)[drawn.topic_of_token]
    assert (word == typical).mean() > 0.98


def test_vectors_keep_their_order_and_their_topics():
    family = Gaussian(mean=0.0, strength=1e-6, shape=50.0, rate=1.0)
    drawn = simulate(6, [3, 0, 4, 1, 0, 2], content=family, v=4.0, eta=4.0, random_state=4)
    values = drawn.corpus.content.values[:, 0]
    means = drawn.content_parameters[drawn.topic_of_token, 0]
    assert np.abs(values - means).max() < 1.5
    assert drawn.corpus.tokens_per_group.tolist() == [3, 0, 4, 1, 0, 2]


@pytest.mark.parametrize("lam", [inf, 3.0])
def test_everything_at_once_is_a_corpus_of_the_right_shape(lam):
    lengths = np.arange(30) % 5
    drawn = simulate(
        30, lengths, n_words=12, contexts=CONTEXTS, lam=lam, missing=0.3, random_state=5
    )
    corpus = drawn.corpus
    assert corpus.n_groups == 30
    assert corpus.n_words == 12
    assert corpus.tokens_per_group.tolist() == lengths.tolist()
    assert {name: column.kind for name, column in corpus.contexts.items()} == {
        "year": "number",
        "authors": "bag",
        "place": "category",
        "open": "boolean",
        "cites": "count",
        "where": "vector",
    }
    assert corpus.contexts["place"].n_categories == 4
    assert corpus.contexts["authors"].n_categories == 6
    assert drawn.context_parameters["year"].shape[0] == drawn.cluster_of_group.max() + 1
    for name, family in drawn.context_families.items():
        column = corpus.contexts[name]
        assert column.accepts(family)
        assert 0.3 < column.observed.mean() < 1.0


def test_missing_is_a_share_or_a_mask_of_each_context():
    mask = np.arange(2000) < 5
    drawn = simulate(
        2000, 0, contexts=CONTEXTS, missing={"year": mask, "place": 0.25, "authors": mask}
    )
    contexts = drawn.corpus.contexts
    np.testing.assert_array_equal(contexts["year"].observed, ~mask)
    np.testing.assert_array_equal(contexts["authors"].observed, ~mask)
    assert abs(contexts["place"].observed.mean() - 0.75) < 0.05
    assert contexts["where"].observed.all()


def test_contexts_can_be_drawn_again_given_the_clusters():
    clusters = Assignments(
        np.array([0, 1, 0], np.int32), np.zeros(0, np.int32), np.zeros((2, 0), np.int32)
    )
    is_missing = {"year": np.zeros(3, bool)}
    columns, parameters = draw_contexts(
        clusters, {"year": CONTEXTS["year"]}, is_missing, np.ones(3, int), np.random.default_rng(6)
    )
    assert columns["year"].values.shape == (3,)
    assert parameters["year"].shape == (2, 2)


def test_concentrations_are_drawn_from_their_priors():
    alphas = [simulate(1, 0, alpha=Gamma(3.0, 2.0), random_state=seed).alpha for seed in range(500)]
    assert_mean(alphas, 1.5)


def test_the_same_seed_gives_the_same_corpus():
    def draw(seed):
        return simulate(20, 10, contexts=CONTEXTS, missing=0.2, random_state=seed)

    first, second = draw(7), draw(7)
    assert first.corpus.fingerprint() == second.corpus.fingerprint()
    np.testing.assert_array_equal(first.topic_of_token, second.topic_of_token)
    assert first.corpus.fingerprint() != draw(8).corpus.fingerprint()


class Unknown(ConjugateFamily):
    n_stats = 1

    def statistics(self, x):
        return np.ones((len(x), 1))

    def log_normaliser(self, stats):
        return np.zeros(np.shape(stats)[:-1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_groups": 0}, "n_groups .*0"),
        (
            {"tokens_per_group": [1, 2]},
            r"tokens_per_group must have one entry per group \(3\), got 2",
        ),
        ({"tokens_per_group": -1}, "tokens_per_group"),
        ({"tokens_per_group": 1.5}, "tokens_per_group"),
        ({"n_words": 0}, "n_words .*0"),
        ({"alpha": 0.0}, "alpha must be a positive number .*0.0"),
        ({"v": float("nan")}, "v must be a positive number .*nan"),
        ({"eta": "one"}, "eta must be a positive number .*'one'"),
        ({"missing": 1.5, "contexts": {"x": Gaussian()}}, "missing for 'x'"),
        ({"missing": {"y": 0.5}}, "missing must refer to contexts .*'y'"),
        (
            {"contexts": {"x": Categorical(0.1)}},
            r"contexts\['x'\]: size of Categorical must be given, got None",
        ),
        (
            {"contexts": {"x": MultivariateGaussian()}},
            "or scale of MultivariateGaussian must be given, got neither",
        ),
        ({"content": Bag(0.1, size=3)}, "content must be a family of words or vectors, got 'bag'"),
        ({"contexts": {"x": Unknown()}}, "Unknown"),
    ],
)
def test_impossible_wishes_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        simulate(**{"n_groups": 3, "tokens_per_group": 2, **arguments})

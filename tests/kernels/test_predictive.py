"""Compiled predictive densities equal those of the families, one observation after another."""

import numpy as np
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from mcsquared.kernels.cpu.contexts import log_contexts
from mcsquared.kernels.cpu.predictive import (
    JOIN,
    KINDS,
    LEAVE,
    WIDE,
    add_observation,
    add_observations,
    log_predictive,
    prepare,
    prepared_size,
    update_prepared,
)
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.state import count, recount_contexts

N = 30


def cases():
    rng = np.random.default_rng(7)
    years = rng.normal(2003, 4, N)
    places = rng.normal([50, 8, 0], [3, 1, 1e-3], (N, 3)) @ rng.normal(size=(3, 3))
    visits = rng.poisson(6, N).astype(float)
    visits[3] = 1e6
    wide = rng.normal(size=(N, WIDE + 9)) @ rng.normal(size=(WIDE + 9, WIDE + 9))
    return {
        "gaussian": (Gaussian().filled(years), years),
        "gaussian_far": (Gaussian(1500.0, 3.0, 0.3, 5.0).filled(years), years),
        "gaussian_huge": (Gaussian().filled(years + 1e9), years + 1e9),
        "multivariate": (MultivariateGaussian().filled(places), places),
        "one_dimension": (MultivariateGaussian().filled(years[:, None]), years[:, None]),
        "wide": (MultivariateGaussian().filled(wide), wide),
        "bernoulli": (Bernoulli(0.5, 2.0), (rng.random(N) < 0.7).astype(float)),
        "poisson": (Poisson(2.5).filled(visits), visits),
    }


every_kind = pytest.mark.parametrize("case", cases().values(), ids=cases().keys())


def centred(family, x):
    origin = getattr(family, "origin", None)
    return np.ascontiguousarray((x - (0.0 if origin is None else origin)).reshape(N, -1))


@every_kind
def test_predictive_densities_equal_the_familys(case):
    family, x = case
    kind, parameters = KINDS[family.kernel], family.kernel_parameters()
    values = centred(family, x)
    labels = np.arange(N) % 3
    rows = np.zeros((5, family.n_stats))  # the last two stay empty: a new cluster
    add_observations(kind, values[5:], labels[5:], rows)
    expected = family.log_predictive(x, rows)
    prepared = np.zeros(prepared_size(kind, parameters))
    for k, row in enumerate(rows):
        prepare(kind, parameters, row, prepared)
        found = [log_predictive(kind, prepared, value) for value in values]
        np.testing.assert_allclose(found, expected[:, k], rtol=1e-9, atol=1e-10)


@every_kind
def test_a_prepared_row_follows_the_observations_that_join_and_leave(case):
    family, x = case
    kind, parameters, values = KINDS[family.kernel], family.kernel_parameters(), centred(family, x)
    row, found = np.zeros(family.n_stats), np.zeros(prepared_size(kind, parameters))
    expected = np.zeros_like(found)
    prepare(kind, parameters, row, found)
    steps = [(value, JOIN) for value in values] + [(value, LEAVE) for value in values]
    for value, sign in steps:
        add_observation(kind, row, value, sign)
        row *= row[0] > 0
        update_prepared(kind, parameters, row, value, sign, found)
        prepare(kind, parameters, row, expected)
        densities = [log_predictive(kind, prepared, values[0]) for prepared in (found, expected)]
        assert densities[0] == pytest.approx(densities[1], rel=1e-9, abs=1e-9)


@every_kind
def test_statistics_have_the_familys_layout(case):
    family, x = case
    kind, values = KINDS[family.kernel], centred(family, x)
    labels = np.arange(N) % 4
    rows = np.zeros((4, family.n_stats))
    add_observations(kind, values, labels, rows)
    expected = family.statistics_by_cluster(x, labels, 4)
    np.testing.assert_allclose(rows, expected, rtol=1e-12, atol=1e-12)
    one = np.zeros(family.n_stats)
    add_observation(kind, one, values[0], 1)
    np.testing.assert_array_equal(one, family.statistics(x[:1])[0])


@every_kind
def test_what_is_added_can_be_taken_out(case):
    family, x = case
    kind, values = KINDS[family.kernel], centred(family, x)
    row = np.zeros((1, family.n_stats))
    add_observations(kind, values, np.zeros(N, int), row)
    for value in values[1:]:
        add_observation(kind, row[0], value, -1)
    expected = family.statistics(x[:1])[0]
    scale = np.abs(family.statistics(x)).max(axis=0)
    np.testing.assert_allclose(row[0], expected, rtol=0, atol=1e-12 * scale.max())


@pytest.fixture(scope="module")
def mixed():
    """Two bags, a category and three dense contexts, each missing somewhere."""
    rng = np.random.default_rng(3)
    n = 12
    tags = rng.poisson(0.7, (n, 4))
    tags[2] = 0
    tags[5, 1] = 40  # beyond what is multiplied out
    authors = (rng.random((n, 6)) < 0.3).astype(int)
    kind = np.array(["a", "b", "c"], object)[rng.integers(0, 3, n)]
    kind[4] = None
    year = rng.normal(2000, 5, n)
    year[[0, 7]] = np.nan
    visits = rng.poisson(5, n).astype(float)
    visits[1] = np.nan
    corpus = Corpus(
        sparse.csr_matrix(rng.poisson(1.0, (n, 5))),
        contexts={
            "tags": sparse.csr_matrix(tags),
            "year": year,
            "kind": kind,
            "authors": sparse.csr_matrix(authors),
            "visits": visits,
        },
    )
    priors = Priors.for_corpus(
        corpus,
        contexts={
            "tags": Bag(0.3),
            "year": Gaussian(),
            "kind": Categorical(0.2),
            "authors": Bag(0.05),
            "visits": Poisson(),
        },
    )
    return corpus, priors


def test_contexts_of_a_group_add_up_to_the_families_predictives(mixed):
    corpus, priors = mixed
    observations = observe(corpus, priors)
    labels = (np.arange(corpus.n_groups) % 3).astype(np.int32)
    topics = np.zeros(corpus.n_tokens, np.int32)
    counts = count(observations, labels, topics, 5, 2)
    arrays = recount_contexts(counts, labels, observations)
    found = np.array(
        [
            [log_contexts(j, k, observations.dense, observations.bags, arrays) for k in range(5)]
            for j in range(corpus.n_groups)
        ]
    )
    expected = np.zeros_like(found)
    for name, column in priors.columns(corpus).items():
        family, seen = priors.contexts[name], column.observed
        x = column.observations()
        stats = family.statistics_by_cluster(x, labels[seen], 5)
        expected[seen] += family.log_predictive(x, stats)
        if family.name == "bag":  # samplers leave the base measure out: the same for every cluster
            expected[seen] -= family.log_base(x)[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)

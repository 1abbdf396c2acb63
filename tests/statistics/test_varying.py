"""The enumeration at λ finite is the model's: restaurants, limits and the sum of all chances."""

import dataclasses
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.families import Categorical
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from tests.statistics.corpora import CORPORA, missing_and_bag
from tests.statistics.forward import draw_labels
from tests.statistics.tiny import Posterior, Tiny, canonical, nodes, partitions
from tests.statistics.varying import VaryingPosterior, exact_posterior

LENGTHS = [2, 0, 3, 1]
FIXED = {"alpha": 0.8, "v": 1.5, "eta": 1.2, "lam": 2.0}
SAMPLED = {name: Gamma(3.0, 1.5) for name in FIXED}


def without_evidence(concentrations):
    """Groups of tokens that all are the same word: the posterior of their labels is the prior."""
    corpus = Corpus(sparse.csr_matrix(np.array(LENGTHS)[:, None]))
    return Tiny(corpus, Priors.for_corpus(corpus, Categorical(1.0), {}, **concentrations))


def with_lam(tiny, lam):
    return dataclasses.replace(tiny, priors=dataclasses.replace(tiny.priors, lam=lam))


def by_cluster(state):
    """Counts per (group, word, topic) summed over the groups of a cluster."""
    clusters, columns = state
    found = []
    for column in columns:
        cells = defaultdict(int)
        for (j, word), n in column:
            cells[clusters[j], word] += n
        found.append(tuple(sorted(cells.items())))
    return clusters, tuple(sorted(found))


@pytest.mark.parametrize("concentrations", [FIXED, SAMPLED], ids=["fixed", "sampled"])
def test_the_prior_of_labels_at_a_finite_lam_is_that_of_a_three_level_hdp(concentrations):
    tiny = without_evidence(concentrations)
    exact = exact_posterior(tiny)
    rng, n_draws = np.random.default_rng(1), 10_000
    seen = Counter()
    for _ in range(n_draws):
        labels = draw_labels(LENGTHS, tiny.priors, rng)
        clusters = canonical(labels.clusters)
        seen[clusters, exact.columns(clusters, labels.topics)] += 1
    assert seen.keys() <= exact.states.keys()
    chance = np.array(list(exact.states.values()))
    found = np.array([seen[state] for state in exact.states]) / n_draws
    error = np.sqrt(chance * (1 - chance) / n_draws)
    expected = 0.5 * np.sqrt(2 / np.pi) * error.sum()
    assert 0.5 * np.abs(found - chance).sum() < 1.15 * expected
    common = chance * n_draws > 20
    assert np.abs((found - chance) / error)[common].max() < 4


@pytest.mark.parametrize("concentrations", [FIXED, SAMPLED], ids=["fixed", "sampled"])
def test_the_chances_of_all_labels_sum_to_one_at_a_finite_lam(concentrations):
    exact = exact_posterior(without_evidence(concentrations))
    total = 0.0
    for clusters in partitions(exact.n_groups):
        for topics in partitions(exact.n_tokens):
            tokens = [tuple(np.flatnonzero(np.array(topics) == m)) for m in range(max(topics) + 1)]
            total += exact.clusters(clusters) * exact.topics(clusters, tokens)
    assert total == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("name", CORPORA)
def test_a_large_lam_gives_the_enumeration_of_the_paper(name):
    tiny = CORPORA[name]()
    limit, seen = Posterior(tiny), defaultdict(float)
    for state, chance in VaryingPosterior(with_lam(tiny, 1e8)).states.items():
        seen[by_cluster(state)] += chance
    assert seen == pytest.approx(limit.states, abs=1e-7)


def test_groups_that_vary_have_another_posterior_than_the_paper():
    tiny = missing_and_bag()
    limit, seen = Posterior(tiny), defaultdict(float)
    for state, chance in exact_posterior(with_lam(tiny, 2.0)).states.items():
        seen[by_cluster(state)] += chance
    assert 0.5 * sum(abs(seen[state] - chance) for state, chance in limit.states.items()) > 0.1


def test_the_quadrature_over_lam_equals_one_with_many_more_nodes(monkeypatch):
    tiny = missing_and_bag(lam=Gamma(2.0, 0.5))
    few = exact_posterior(tiny)
    monkeypatch.setattr("tests.statistics.tiny.N_NODES", 80)
    assert len(nodes(tiny.priors.lam)[0]) == 80
    assert few.states == pytest.approx(exact_posterior(tiny).states, abs=1e-5)

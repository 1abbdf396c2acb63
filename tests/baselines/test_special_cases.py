"""Nested DP, MLC-HDP and DP mixture agree with enumeration, scikit-learn and MC2."""

import math
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_t
from sklearn.base import clone
from sklearn.mixture import BayesianGaussianMixture

from mcsquared import MC2
from mcsquared.baselines import MLCHDP, DPMixture, NestedDP
from mcsquared.corpus import Corpus
from mcsquared.datasets import letters
from mcsquared.errors import InputError
from mcsquared.evaluation import adjusted_rand_index
from mcsquared.families import Categorical, Gaussian
from tests.samplers.leveled_cases import simulated, two_levels_above
from tests.statistics.corpora import ALPHA, ETA, V
from tests.statistics.leveled import TreePosterior
from tests.statistics.tiny import Posterior, Tiny, canonical, partitions

SHORT = {"n_sweeps": 60, "burn_in": 30, "random_state": 0, "progress": False}
LONG = {"n_sweeps": 1500, "burn_in": 100, "thin": 1, "keep_parameters": 1, "sampler": "collapsed"}


def frequencies(model):
    """Return the frequency of each partition of the groups in the draws."""
    drawn = Counter(canonical(row) for row in model.posterior_.cluster_of_group.tolist())
    return {labels: n / drawn.total() for labels, n in drawn.items()}


def distance(found, exact):
    """Total variation."""
    keys = set(found) | set(exact)
    return 0.5 * sum(abs(found.get(key, 0.0) - exact.get(key, 0.0)) for key in keys)


def together(table):
    """Return the probability that two groups share a cluster, for every pair."""
    result = 0.0
    for labels, probability in table.items():
        result = result + probability * np.equal.outer(labels, labels)
    return result


def test_nested_dp_draws_agree_with_enumeration():
    counts = np.array([[2, 0, 0], [2, 0, 0], [0, 1, 1]])
    corpus = Corpus(counts, {"year": np.array([1.0, 100.0, 1.0])})
    model = NestedDP(
        Categorical(0.5), alpha=ALPHA, v=V, eta=ETA, random_state=0, progress=False, **LONG
    ).fit(corpus)
    exact = defaultdict(float)
    without = Tiny(corpus, model.posterior_.priors)
    for (clusters, _), probability in Posterior(without).states.items():
        exact[clusters] += probability
    assert distance(frequencies(model), exact) < 0.04


def test_nested_dp_is_mc2_of_the_paper_without_contexts():
    corpus = letters(n_groups_per_cluster=5, random_state=0).corpus
    model = NestedDP(**SHORT).fit(corpus)
    same = MC2(contexts={}, lam=math.inf, **SHORT).fit(corpus)
    assert np.array_equal(model.posterior_.cluster_of_group, same.posterior_.cluster_of_group)
    assert np.array_equal(model.components_, same.components_)
    other_contexts = corpus.with_contexts({"position": np.arange(20.0)})
    assert np.array_equal(clone(model).fit(other_contexts).labels_, model.labels_)
    assert "lam" not in model.get_params()


def test_nested_dp_finds_well_separated_clusters():
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(3), np.full(4, 0.25))
    counts = np.array([rng.multinomial(30, topics[j // 8]) for j in range(24)])
    model = NestedDP(**SHORT).fit(Corpus(counts))
    assert adjusted_rand_index(model.labels_, np.repeat([0, 1, 2], 8)) == 1.0
    assert model.perplexity(Corpus(counts), "exact") == pytest.approx(4.0, rel=0.15)


def test_mlc_hdp_draws_agree_with_enumeration():
    frame = pd.DataFrame({"a": [2, 2, 0, 0], "b": [0, 0, 2, 1], "unit": list("FFGH")})
    corpus = Corpus.from_frame(frame, content=["a", "b"], levels="unit")
    settings = LONG | {"random_state": 0, "progress": False, "alpha": ALPHA, "v": V, "eta": ETA}
    del settings["sampler"]
    model = MLCHDP(Categorical(0.5), **settings).fit(corpus)
    exact = defaultdict(float)
    for (labels, _), probability in TreePosterior(
        Tiny(corpus, model.posterior_.priors)
    ).states.items():
        exact[labels] += probability
    drawn = zip(
        model.posterior_.cluster_of_group.tolist(),
        model.posterior_.units[0].type_of_unit.tolist(),
        strict=True,
    )
    visits = Counter((canonical(clusters), canonical(types)) for clusters, types in drawn)
    found = {labels: n / visits.total() for labels, n in visits.items()}
    for side in (0, 1):
        assert distance(marginal(found, side), marginal(exact, side)) < 0.06
        assert together(marginal(found, side)) == pytest.approx(
            together(marginal(exact, side)), abs=0.05
        )


def marginal(table, side):
    """Return the probabilities of the partitions of the groups (0) or of the units (1)."""
    result = defaultdict(float)
    for labels, probability in table.items():
        result[labels[side]] += probability
    return result


def test_mlc_hdp_finds_types_and_clusters_and_ignores_contexts():
    corpus, types, clusters = simulated(n_units=20, n_groups=200)
    model = MLCHDP(**SHORT).fit(corpus)
    assert adjusted_rand_index(model.posterior_.level("unit").labels, types) > 0.9
    assert adjusted_rand_index(model.labels_, clusters) > 0.9
    assert (model.predict(corpus[:20]) == model.labels_[:20]).mean() > 0.9
    nested = two_levels_above()
    short = {"n_sweeps": 6, "burn_in": 3, "random_state": 0, "progress": False}
    found = MLCHDP(**short).fit(nested).posterior_
    assert not found.contexts
    assert not any(units.contexts for units in found.units)
    same = MC2(contexts={}, lam=math.inf, **short).fit(nested).posterior_
    assert np.array_equal(found.units[1].type_of_unit, same.units[1].type_of_unit)


def test_mlc_hdp_without_levels_is_refused():
    with pytest.raises(InputError, match="a corpus with levels above groups"):
        MLCHDP().fit(Corpus(np.ones((3, 2), int)))


def normal_gamma_mixture(x, alpha, mean, strength, shape, rate):
    """Posterior of every partition of x under a DP mixture, from Student densities."""
    table = {}
    for labels in partitions(len(x)):
        value = 0.0
        for k in set(labels):
            block = x[np.array(labels) == k]
            n = len(block)
            scale = rate / shape * (np.eye(n) + 1.0 / strength)
            value += np.log(alpha) + gammaln(n)
            value += multivariate_t.logpdf(block, np.full(n, mean), scale, df=2 * shape)
        table[labels] = np.exp(value)
    total = sum(table.values())
    return {labels: weight / total for labels, weight in table.items()}


def test_dp_mixture_draws_agree_with_enumeration():
    x = np.array([-1.2, -0.9, 0.3, 2.0, 2.2])
    family = Gaussian(mean=0.0, strength=0.5, shape=1.5, rate=1.0)
    corpus = Corpus(np.random.default_rng(0).integers(9, size=(5, 3)), {"x": x})
    model = DPMixture({"x": family}, alpha=1.3, random_state=0, progress=False, **LONG)
    exact = normal_gamma_mixture(x, 1.3, 0.0, 0.5, 1.5, 1.0)
    found = frequencies(model.fit(corpus))
    # Frequencies of 52 partitions are noisy; those of the ten pairs are less so.
    assert distance(found, exact) < 0.1
    assert together(found) == pytest.approx(together(exact), abs=0.05)


def test_dp_mixture_finds_the_clusters_that_scikit_learn_finds():
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(center, 1.0, (20, 2)) for center in ((0, 0), (9, 0), (0, 9))])
    peer = BayesianGaussianMixture(n_components=10, random_state=0).fit(points)
    model = DPMixture(**SHORT).fit({"place": points})
    assert adjusted_rand_index(model.labels_, peer.predict(points)) == 1.0
    assert model.n_clusters_ == 3
    new = rng.normal((9, 0), 1.0, (5, 2))
    assert (model.predict({"place": new}) == model.labels_[20]).all()
    assert model.predict_proba({"place": new}).sum(axis=1) == pytest.approx(np.ones(5))
    far = model.predict_new_proba({"place": np.array([[0.0, 0.0], [60.0, 60.0]])})
    assert far[0] < 0.1 < 0.9 < far[1]


def test_dp_mixture_ignores_content():
    truth = letters(n_groups_per_cluster=5, random_state=0)
    other = Corpus(np.ones((20, 2), int), truth.corpus.contexts)
    model = DPMixture(**SHORT).fit(truth.corpus)
    assert np.array_equal(clone(model).fit(other).labels_, model.labels_)
    frame = pd.DataFrame({"position": truth.corpus.contexts["position"].values})
    assert np.array_equal(clone(model).fit(frame).labels_, model.labels_)
    assert np.array_equal(model.predict(frame), model.predict(truth.corpus))


def test_dp_mixture_without_contexts_is_refused():
    with pytest.raises(InputError, match="at least one context"):
        DPMixture().fit(Corpus(np.ones((3, 2), int)))
    with pytest.raises(InputError, match="a corpus, a frame or a dict"):
        DPMixture().fit(3)

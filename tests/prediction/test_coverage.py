"""Intervals of predicted numbers contain about nine in ten values of data drawn from the model."""

import numpy as np
import pytest
from scipy import stats

import mcsquared as mc2
from mcsquared.corpus import Corpus

OPTIONS = {"n_sweeps": 60, "burn_in": 30, "random_state": 0, "progress": False}
N_TRAINING, N_NEW = 500, 1000
ERROR = 1e-4  # probability that a correct interval fails


def assert_covers(model, new, name):
    found, truth = model.predict_context(new, name), new.contexts[name].values
    inside = ((found["lower"] <= truth) & (truth <= found["upper"])).sum()
    low, high = stats.binom.interval(1.0 - ERROR, len(truth), 0.9)
    assert low <= inside <= high


@pytest.mark.parametrize(
    "family",
    [mc2.Gaussian(mean=0.0, strength=0.1, shape=5.0, rate=5.0), mc2.Poisson(2.0, 0.5)],
    ids=["numbers", "counts"],
)
def test_intervals_of_clues_cover_nine_in_ten(family):
    drawn = mc2.datasets.simulate(
        N_TRAINING + N_NEW, 20, 40, contexts={"x": family}, v=5.0, eta=2.0, lam=5.0, random_state=1
    ).corpus
    model = mc2.MC2(contexts={"x": family}, **OPTIONS).fit(drawn[np.arange(N_TRAINING)])
    assert_covers(model, drawn[np.arange(N_TRAINING, drawn.n_groups)], "x")


@pytest.mark.parametrize(("n_tokens", "lam"), [(40, 8.0), (200, 30.0)])
def test_intervals_of_effects_cover_nine_in_ten(n_tokens, lam):
    rng = np.random.default_rng(2)
    topics, roots = rng.dirichlet(np.full(60, 0.1), 12), rng.dirichlet(np.full(12, 2.0))
    cluster_weights, year_weights = rng.dirichlet(5.0 * roots, 3), rng.dirichlet(5.0 * roots, 20)
    cluster = rng.integers(0, 3, N_TRAINING + N_NEW)
    year = np.clip(np.round(rng.normal(6.0 + 4.0 * cluster, 4.0)), 0, 19).astype(int)
    base = 0.6 * cluster_weights[cluster] + 0.4 * year_weights[year]
    shares = rng.standard_gamma(lam * base) + 1e-12
    chances = shares / shares.sum(axis=1, keepdims=True) @ topics
    corpus = Corpus(rng.multinomial(n_tokens, chances), {"year": 2000.0 + year})
    model = mc2.MC2(effects=["year"], **OPTIONS).fit(corpus[np.arange(N_TRAINING)])
    assert_covers(model, corpus[np.arange(N_TRAINING, corpus.n_groups)], "year")

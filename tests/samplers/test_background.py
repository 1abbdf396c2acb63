"""Backgrounds of numeric contexts: reproducibility, storage, prediction."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.errors import InputError
from mcsquared.kernels.cpu.contexts import Background, draw_foreground
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.prediction.likelihood import background_of
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Key
from tests.test_chain import assert_same_draws

YEAR = mc2.Gaussian(background=True)


def groups_with_outliers(n_groups=200):
    """Two kinds of groups with a year each; a fifth of the years is far off."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n_groups)
    words = rng.dirichlet(np.full(20, 0.3), 2)
    year = np.where(kind, 1990.0, 2000.0) + rng.normal(size=n_groups)
    is_far = rng.random(n_groups) < 0.2
    year[is_far] = rng.uniform(1800, 2200, is_far.sum())
    year[::17] = np.nan
    counts = np.stack([rng.multinomial(30, words[k]) for k in kind])
    return mc2.Corpus(counts, {"year": year}), kind, is_far


def model(**options):
    settings = {"n_sweeps": 24, "burn_in": 8, "thin": 4, "random_state": 2, "progress": False}
    return mc2.MC2(contexts={"year": YEAR}, **(settings | options))


def inputs(lam):
    corpus, kind, _ = groups_with_outliers()
    corpus = corpus.with_contexts({**corpus.contexts, "late": kind == 0, "visits": 3.0 * kind})
    families = {"late": "bernoulli", "visits": "gaussian", "year": YEAR}
    priors = Priors.for_corpus(corpus, contexts=families, lam=lam)
    return observe(corpus, priors), priors


@pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(2.0, 1.0)])
def test_draws_do_not_depend_on_threads_or_shards(lam):
    given = inputs(lam)
    serial = BLOCKED.start(*given, 3, 0, "random", 5, 8)
    threaded, sharded = copy.deepcopy(serial), copy.deepcopy(serial)
    backend = ShardedBackend(*given, 3)
    backend.load_labels(sharded, Key(3, 0, 0))
    n_outliers = 0
    with ThreadPool(2) as threads:
        for _ in range(6):
            BLOCKED.sweep(serial, *given, 3, 0)
            n_outliers += serial.counts.context_statistics[:, -3].sum()
            BLOCKED.sweep(threaded, *given, 3, 0, threads=threads)
            BLOCKED.sweep(sharded, *given, 3, 0, backend=backend)
    backend.save_labels(sharded)
    assert n_outliers > 0
    for other in (threaded, sharded):
        np.testing.assert_array_equal(serial.cluster_of_group, other.cluster_of_group)
        statistics = (state.counts.context_statistics for state in (serial, other))
        np.testing.assert_array_equal(*statistics)
        assert serial.log_joint == other.log_joint


def test_the_values_of_clusters_and_of_the_background_are_all_values():
    observations, priors = inputs(mc2.Gamma(2.0, 1.0))
    state = BLOCKED.start(observations, priors, 1, 0, "random", 5, 8)
    ((c, columns),) = observations.background_columns
    foreground = observations.context_columns[c][1]
    values = observations.dense.values[:, observations.dense.value_start[c]]
    values = values[observations.dense.observed[:, c]]
    for _ in range(6):
        BLOCKED.sweep(state, observations, priors, 1, 0)
        sums = state.counts.context_statistics.sum(axis=0)
        total = [len(values), values.sum(), (values**2).sum()]
        np.testing.assert_allclose(sums[foreground] + sums[columns], total, rtol=1e-9, atol=1e-6)


def test_values_come_from_their_cluster_with_the_right_probability():
    observations, _ = inputs(2.0)
    ((c, _),) = observations.background_columns
    family, foreground = observations.context_columns[c]
    parameters = np.array([[family.origin, 1.0], [family.origin, 0.25]])
    natural = np.zeros((int(observations.dense.stat_start[-1]), 1))
    other = np.zeros(len(natural))
    natural[foreground, 0], other[foreground] = family.natural_parameters(parameters)
    chances = np.zeros((len(observations.dense_families), 2))
    chances[:, 1] = -np.inf
    chances[c] = np.log([0.7, 0.3])
    values = np.zeros((4000, observations.dense.values.shape[1]))
    values[:, observations.dense.value_start[c]] = 1.5
    observed = np.ones((4000, len(chances)), bool)
    dense = observations.dense._replace(values=values, observed=observed)
    found, clusters = np.zeros_like(observed), np.zeros(4000, np.int32)
    background = Background(chances, other)
    draw_foreground(0, 4000, dense, natural, background, Key(1, 0, 1), 0, clusters, found)
    densities = np.exp(family.log_likelihood([family.origin + 1.5], parameters))[0]
    expected = 0.7 * densities[0] / (0.7 * densities[0] + 0.3 * densities[1])
    assert found[:, c].mean() == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(4000))
    assert found[:, np.arange(len(chances)) != c].all()


@pytest.mark.parametrize("lam", [np.inf, 2.0])
def test_a_resumed_run_has_the_draws_of_an_uninterrupted_one(lam, tmp_path):
    corpus, _, _ = groups_with_outliers(60)
    uninterrupted = model(lam=lam).fit(corpus).posterior_
    path = tmp_path / "run.checkpoint"
    stop_at_13 = [lambda info: info.sweep == 13]
    model(lam=lam, checkpoint=path, checkpoint_every=1e-6, callbacks=stop_at_13).fit(corpus)
    assert_same_draws(uninterrupted, model(lam=lam, checkpoint=path).fit(corpus).posterior_)


def test_outliers_are_found_stored_and_used(tmp_path):
    corpus, kind, is_far = groups_with_outliers()
    fitted = model(n_sweeps=60, burn_in=30).fit(corpus)
    fitted.save(tmp_path / "model.mc2")
    loaded = mc2.MC2.load(tmp_path / "model.mc2")
    assert loaded.posterior_.priors == fitted.posterior_.priors
    observed, n_outliers = corpus.contexts["year"].observed, []
    for draw, again in zip(fitted.posterior_.parameters, loaded.posterior_.parameters, strict=True):
        np.testing.assert_array_equal(draw.background, again.background)
        found = background_of(fitted.posterior_, draw, "year")
        assert found.statistics[:, 0].sum() == observed.sum()
        n_outliers.append(found.statistics[-1, 0])
        assert found.foreground_share == (1 + observed.sum() - n_outliers[-1]) / (
            2 + observed.sum()
        )
    n_far = (is_far & observed).sum()
    assert 5 < np.mean(n_outliers) < n_far + 3
    np.testing.assert_array_equal(loaded.predict_proba(corpus), fitted.predict_proba(corpus))
    predicted = fitted.predict_context(corpus, "year")
    expected = np.where(kind, 1990, 2000)
    assert np.median(np.abs(predicted["mean"] - expected)) < 6
    assert ((predicted["lower"] < expected) & (expected < predicted["upper"])).mean() > 0.9
    relevance = fitted.posterior_.relevance().set_index("context")["mean"]
    assert 0.2 < relevance["year"] < 0.8


def test_effects_of_a_context_with_a_background_are_predicted():
    corpus, _, _ = groups_with_outliers()
    predicted = model(effects=["year"]).fit(corpus).predict_context(corpus, "year")
    assert np.isfinite(predicted[["mean", "sd", "lower", "upper"]].to_numpy()).all()


def test_backgrounds_are_refused_where_they_cannot_be_used():
    corpus, _, _ = groups_with_outliers(40)
    with pytest.raises(InputError, match="background of Gaussian must be True or False, got 1"):
        replace(YEAR, background=1)
    with pytest.raises(InputError, match="sampler must be 'blocked' for contexts with a backgr"):
        model(sampler="collapsed", lam=np.inf).fit(corpus)
    with pytest.raises(InputError, match="got True for 'content'"):
        mc2.MC2(content=YEAR, n_sweeps=2).fit([np.ones((2, 1)), np.zeros((3, 1))])

"""Contexts that act on topics: exactness, reproducibility, counts."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

import mcsquared as mc2
from mcsquared.corpus import Column
from mcsquared.errors import InputError
from mcsquared.families import Bag, Categorical, Gaussian
from mcsquared.kernels.cpu.effects import add_log_rising
from mcsquared.model.effects import Effect, bin_edges
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.content import words as word_content
from mcsquared.samplers.steps import split_merge
from mcsquared.samplers.steps.effects import draw_effects
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Key
from mcsquared.state import EffectState
from tests.oracles.counts import differences, recount
from tests.samplers import test_shards as corpora
from tests.statistics.agreement import compare_twice, is_exact
from tests.statistics.corpora import YEAR, Integrated, tiny, words
from tests.statistics.effects import MomentsOfWeights, moments
from tests.test_chain import assert_same_draws

GAMMA = Gamma(2.0, 1.0)
KIND = np.array(["a", "b", None, "a"], object)


def one_effect(**options):
    """A category that acts on words; one group lacks it."""
    return tiny(
        words([0, 1], [0], [0, 2], n_words=3),
        Categorical(0.5),
        {"kind": KIND[:3]},
        {"kind": Categorical(0.7)},
        effects=["kind"],
        **options,
    )


def two_effects(families=None, **options):
    """A category and a bag of up to two items; groups lack one of them or both."""
    tags = sparse.csr_matrix([[1, 1], [0, 1], [0, 0], [0, 2]])
    return tiny(
        words([0, 1], [0], [1], [0], n_words=2),
        Categorical(0.5),
        {"kind": np.array(["a", "b", None, None], object), "tags": tags},
        families or {"kind": Categorical(0.7), "tags": Bag(0.6)},
        effects=["kind", "tags"],
        **options,
    )


def numbers_as_content(**options):
    """Continuous content, and a category that acts on its topics."""
    values = [np.array([[-1.0], [0.9]]), np.array([[1.1]]), np.array([[1.0], [3.0]])]
    return tiny(
        values,
        Gaussian(mean=0.2, strength=0.4, shape=1.2, rate=0.6),
        {"kind": np.array(["a", "b", "b"], object)},
        {"kind": Categorical(0.7)},
        effects=["kind"],
        **options,
    )


TINY = {
    "one effect": lambda: one_effect(lam=1.5),
    "one effect, sampled": lambda: one_effect(lam=Gamma(2.0, 1.0), v=Gamma(2.0, 1.0)),
    "two effects": lambda: two_effects(lam=2.0),
    "numbers": lambda: numbers_as_content(lam=Gamma(2.0, 1.0)),
}


@pytest.mark.parametrize("name", TINY)
def test_chains_with_effects_draw_from_the_exact_posterior(name):
    found, _ = compare_twice(TINY[name](), 2500, BLOCKED)
    assert is_exact(found, allowance=0.01, n_errors=4), found


LEARNED = {"kind": Categorical(GAMMA), "tags": Bag("learned")}


def learned_with_background(**options):
    """A learned category that acts on words, a learned bag, and a number with a background."""
    contexts = {
        "kind": np.array(["a", "b", None], object),
        "tags": sparse.csr_matrix([[1, 1], [0, 2], [0, 0]]),
        "year": np.array([0.1, 1.0, 3.0]),
    }
    families = LEARNED | {"year": replace(YEAR, background=True)}
    content = words([0, 1], [0], [0, 1], n_words=2)
    return tiny(content, Categorical(0.5), contexts, families, effects=["kind"], **options)


LONG = TINY | {
    "two effects, learned contexts": lambda: two_effects(LEARNED, lam=2.0),
    "one effect, learned contexts, background": lambda: learned_with_background(lam=GAMMA),
}


@pytest.mark.calibrate
@pytest.mark.parametrize("name", LONG)
def test_long_chains_with_effects_draw_from_the_exact_posterior(name, calibration):
    found, measured = compare_twice(LONG[name](), 20_000, BLOCKED)
    calibration(f"enumeration, blocked, effects: {name}", **measured)
    assert is_exact(found, allowance=0.01, n_errors=3), found


@pytest.mark.calibrate
@pytest.mark.parametrize("name", ["one effect", "two effects"])
def test_weights_of_effects_have_their_exact_posterior_means(name, calibration):
    tiny_corpus, n, n_batches = TINY[name](), 20_000, 100
    exact, observations, priors = (
        MomentsOfWeights(tiny_corpus),
        tiny_corpus.observations,
        tiny_corpus.priors,
    )
    state, rows = BLOCKED.start(observations, priors, 5, 0, "random", 2, 2), []
    for sweep in range(-200, n):
        BLOCKED.sweep(state, observations, priors, 5, 0)
        if sweep >= 0:
            rows.append(moments(state, priors.effect_offsets))
    batches = np.array(rows).reshape(n_batches, -1, len(exact.names)).mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / np.sqrt(n_batches)
    z = (batches.mean(axis=0) - exact.means) / errors
    worst = exact.names[int(np.abs(z).argmax())]
    note = f"{len(z)} means, largest for {worst}; standard errors of ω: {errors[0]:.4f}"
    test = f"enumeration, blocked, effects: {name}, means of ω and of tables"
    calibration(test, n=n, largest_z=float(np.abs(z).max()), note=note)
    assert np.abs(z).max() < 4, dict(zip(exact.names, z, strict=True))


def test_splits_and_merges_with_effects_draw_from_the_exact_posterior(monkeypatch):
    for name, value in (("PERIOD", 1), ("MAX_SCANS", 2), ("NEWTON_STEPS", 1)):
        monkeypatch.setattr(split_merge, name, value)
    found, _ = compare_twice(TINY["two effects"](), 2500, BLOCKED)
    assert is_exact(found, allowance=0.01, n_errors=4), found


CONTENTS = {"words": corpora.words, "points": corpora.points}
EFFECTS = ["kind", "tags", "year"]


def observe_with_effects(name, lam=GAMMA):
    corpus = CONTENTS[name]()
    priors = Priors.for_corpus(corpus, effects=EFFECTS, lam=lam)
    return observe(corpus, priors), priors


def assert_same(state, other):
    np.testing.assert_array_equal(state.cluster_of_group, other.cluster_of_group)
    np.testing.assert_array_equal(state.topic_of_token, other.topic_of_token)
    np.testing.assert_array_equal(state.tables, other.tables)
    for name in ("tables", "weights", "v"):
        np.testing.assert_array_equal(getattr(state.effects, name), getattr(other.effects, name))
    for name in ("lam", "alpha", "v", "eta", "log_joint"):
        assert getattr(state, name) == getattr(other, name)


@pytest.mark.parametrize("name", CONTENTS)
def test_draws_do_not_depend_on_threads_or_shards(name):
    inputs = observe_with_effects(name)
    serial = BLOCKED.start(*inputs, 3, 0, "random", 5, 8)
    threaded, sharded = copy.deepcopy(serial), copy.deepcopy(serial)
    backend = ShardedBackend(*inputs, 3)
    backend.load_labels(sharded, Key(3, 0, 0))
    with ThreadPool(2) as threads:
        for _ in range(5):
            BLOCKED.sweep(serial, *inputs, 3, 0)
            BLOCKED.sweep(threaded, *inputs, 3, 0, threads=threads)
            BLOCKED.sweep(sharded, *inputs, 3, 0, backend=backend)
    backend.save_labels(sharded)
    assert_same(threaded, serial)
    assert_same(sharded, serial)


@pytest.mark.parametrize("name", CONTENTS)
def test_counts_are_those_of_the_labels_and_tables_are_those_of_the_groups(name):
    inputs = observe_with_effects(name)
    state = BLOCKED.start(*inputs, 1, 0, "random", 5, 8)
    for _ in range(6):
        BLOCKED.sweep(state, *inputs, 1, 0)
        assert differences(state.counts, recount(state, inputs[0])) == []
        tables = state.tables.sum(axis=0) + state.effects.tables.sum(axis=0)
        group = np.repeat(np.arange(inputs[0].n_groups), np.diff(inputs[0].group_start))
        pairs = np.unique(np.stack([group, state.topic_of_token]), axis=1)
        lower_bound = np.bincount(pairs[1], minlength=len(tables))
        assert (lower_bound <= tables).all()
        assert (tables <= state.counts.tokens_in_topic).all()
        assert state.effects.weights.sum() == pytest.approx(1.0)
        assert (state.tables <= state.counts.topics_in_cluster).all()


def test_many_topics_are_drawn_from_the_same_distribution(monkeypatch):
    """The kernel for more topics than fit into registers also visits all of them."""
    monkeypatch.setattr(word_content, "MANY_SLOTS", 0)
    found, _ = compare_twice(TINY["one effect"](), 2500, BLOCKED)
    assert is_exact(found, allowance=0.02, n_errors=4), found


@pytest.mark.parametrize("lam", [3.0, 5000.0, 1e7, 1e9])
def test_the_scores_of_clusters_are_rising_factorials(lam):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(16, 0.3)).astype(np.float32)
    base, rest = np.float32(lam) * np.stack([shares, shares]), np.full(1, 0.01 * lam, np.float32)
    topic, lists = np.ones(1, np.int64), np.empty((3, 2), np.int64)
    for n in (*range(1, 10), 15, 16, 17, 40, 700):
        found = np.zeros(16, np.float32)
        given = (np.float32(0.6), base, rest, lam, lists)
        add_log_rising(topic, np.full(1, n), 1, *given, found)
        a = 0.6 * lam * shares.astype(float) + 0.01 * lam
        np.testing.assert_allclose(found, gammaln(a + n) - gammaln(a), rtol=1e-5, atol=2e-5)


def test_topic_weights_of_values_are_drawn_from_their_dirichlet_distributions():
    tables = np.array([[0, 3, 1, 0], [0, 0, 0, 0], [5, 0, 0, 0], [1, 1, 1, 0]], np.int32)
    v, topics, n_draws = np.array([0.7, 4.0]), np.array([0.2, 0.5, 0.3, 0.0]), 3000
    state, priors = EffectState(tables, np.full(3, 1 / 3), v), SimpleNamespace()
    priors.effect_offsets = (0, 1, 4)
    draws = [draw_effects(state, priors, topics, Key(1, 0, n)) for n in range(n_draws)]
    found = np.exp([draw.log_shares for draw in draws])
    np.testing.assert_allclose(found.sum(axis=2), 1.0, rtol=1e-6)
    shape = v[[0, 1, 1, 1], None] * topics + tables
    mean, total = shape / shape.sum(axis=1, keepdims=True), shape.sum(axis=1, keepdims=True)
    error = np.sqrt(mean * (1 - mean) / (total + 1) / n_draws)
    np.testing.assert_array_less(np.abs(found.mean(axis=0) - mean), 4.5 * error + 1e-12)
    np.testing.assert_allclose(found.var(axis=0), n_draws * error**2, rtol=0.15, atol=1e-12)


def model(**options):
    options = {"n_sweeps": 24, "burn_in": 8, "thin": 4, "random_state": 2} | options
    return mc2.MC2(effects=EFFECTS, progress=False, **options)


def test_a_resumed_run_has_the_draws_of_an_uninterrupted_one(tmp_path):
    corpus = corpora.words()
    uninterrupted = model().fit(corpus).posterior_
    path = tmp_path / "run.checkpoint"
    stop_at_13 = [lambda info: info.sweep == 13]
    model(checkpoint=path, checkpoint_every=1e-6, callbacks=stop_at_13).fit(corpus)
    assert_same_draws(uninterrupted, model(checkpoint=path).fit(corpus).posterior_)


def test_a_model_file_contains_the_effects(tmp_path):
    fitted = model().fit(corpora.points())
    fitted.save(tmp_path / "model.mc2")
    loaded = mc2.MC2.load(tmp_path / "model.mc2")
    assert loaded.effects == tuple(EFFECTS)
    assert loaded.posterior_.priors == fitted.posterior_.priors
    for draw, other in zip(loaded.posterior_.parameters, fitted.posterior_.parameters, strict=True):
        assert (draw.effects.tables != other.effects.tables).nnz == 0
        np.testing.assert_array_equal(draw.effects.weights, other.effects.weights)
        np.testing.assert_array_equal(draw.effects.v, other.effects.v)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effects": ["kinds"]}, r"effects must name contexts of the model .*, got 'kinds'"),
        ({"effects": "kind"}, "effects must be a list of names of contexts, got 'kind'"),
        ({"effects": ["kind"], "lam": np.inf}, "effects require a finite lam"),
        ({"effects": ["kind"], "contexts": {"year": "auto"}}, r"model \('year'\), got 'kind'"),
        ({"effects": ["kind", "kind"]}, "effects must be distinct, got 'kind' twice"),
    ],
)
def test_invalid_effects_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        mc2.MC2(n_sweeps=2, **options).fit(corpora.words())


def test_effects_require_content_with_sampled_parameters():
    corpus = mc2.Corpus([np.ones((2, 1))] * 3, {"kind": ["a", "b", "a"]})
    with pytest.raises(InputError, match="effects require a content family with sample_parameters"):
        mc2.MC2(content=Integrated(1.2, 0.4), effects=["kind"], n_sweeps=2).fit(corpus)


def test_numbers_have_bins_of_about_equally_many_values():
    values = np.concatenate([np.arange(100.0), np.full(100, 50.0), [np.nan]])
    column = Column("x", "number", values)
    effect = Effect.for_column(column)
    sizes = np.asarray(effect.shares(column).sum(axis=0)).ravel()
    assert effect.n_values == len(sizes)
    assert sizes.sum() == 200  # not the missing one
    assert sizes.min() >= 5
    labels = effect.labels(column)
    assert labels[0] == f"below {effect.edges[0]:g}"
    assert labels[-1] == f"{effect.edges[-1]:g} and above"
    assert Effect.from_dict(effect.to_dict()) == effect


@pytest.mark.parametrize(
    ("n_values", "n_bins"), [(5, 1), (100, 10), (500, 20), (3000, 30), (20_000, 80)]
)
def test_more_than_twenty_bins_have_a_hundred_values_each(n_values, n_bins):
    assert len(bin_edges(np.arange(float(n_values)))) + 1 == n_bins

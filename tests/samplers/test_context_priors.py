"""Base measures and concentrations of contexts that are learned."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.kernels.cpu.categories import draw_category_tables, draw_category_variates
from mcsquared.observations import observe
from mcsquared.samplers.steps.context_priors import (
    MAX_G,
    MIN_G,
    draw_base_measure,
    draw_concentration,
)
from mcsquared.samplers.types import Key


def test_tables_of_a_category_are_those_of_its_clusters():
    n, shape, n_repeats = 7, 1.3, 4000
    counts = np.zeros((n_repeats, 16), np.int32)
    counts[:, 2], counts[:, 5] = n, 1
    tables = np.zeros(n_repeats, np.int64)
    shapes = np.full(n_repeats, shape)
    draw_category_tables(0, n_repeats, counts, shapes, Key(1, 0, 1), tables)
    opens = shape / (shape + np.arange(n))
    error = np.sqrt((opens * (1 - opens)).sum() / n_repeats)
    assert tables.mean() == pytest.approx(1.0 + opens.sum(), abs=4 * error)
    assert tables.min() >= 2


def test_variates_have_the_shapes_of_their_categories():
    n_repeats = 3000
    counts = np.tile(np.array([[0, 3], [5, 0]], np.int32), (n_repeats, 1))
    shapes = np.tile([0.4, 2.5], n_repeats)
    logs = np.zeros(counts.shape, np.float32)
    draw_category_variates(0, len(counts), counts, shapes, Key(2, 0, 1), 0, logs)
    found = np.exp(logs.astype(np.float64)).reshape(n_repeats, 2, 2)
    expected = np.array([[0.4, 3.4], [7.5, 2.5]])
    np.testing.assert_array_less(
        np.abs(found.mean(axis=0) - expected), 4 * np.sqrt(expected / n_repeats)
    )


COUNTS = np.array([[3, 0, 1], [0, 4, 0], [1, 1, 30]])  # categories in three clusters


@pytest.mark.parametrize("concentration", ["learned", mc2.Gamma(2.0, 0.5)])
@pytest.mark.parametrize("n_clusters", [0, 2, 3])
def test_g_has_its_density_given_the_base_measure(concentration, n_clusters):
    counts, base = COUNTS[:, :n_clusters], np.array([0.2, 0.3, 0.5])
    family, rng = mc2.Bag(concentration, 3), np.random.default_rng(0)
    drawn, shapes = [], base
    for _ in range(6000):
        shapes = draw_concentration(family, shapes, counts, rng)
        drawn.append(np.log(shapes.sum()))
    np.testing.assert_allclose(shapes / shapes.sum(), base)
    x = np.linspace(np.log(MIN_G), np.log(MAX_G), 20_001)
    log_density = np.zeros(len(x))
    if isinstance(concentration, mc2.Gamma):
        x = np.linspace(-12.0, 6.0, 20_001)
        log_density = 2.0 * x - 0.5 * np.exp(x)
    else:
        assert np.log(MIN_G) <= min(drawn)
        assert max(drawn) <= np.log(MAX_G)
    log_density += [family.given(g * base).log_marginal(counts.T).sum() for g in np.exp(x)]
    density = np.exp(log_density - log_density.max())
    mean = (x * density).sum() / density.sum()
    batches = np.array(drawn).reshape(50, -1).mean(axis=1)
    assert np.mean(drawn) == pytest.approx(mean, abs=4 * batches.std() / np.sqrt(50))


def test_the_base_measure_is_drawn_from_its_posterior():
    rng, tables = np.random.default_rng(1), np.array([0, 2, 5, 1])
    drawn = np.array([draw_base_measure(np.full(4, 0.5), tables, rng) for _ in range(4000)])
    assert drawn.sum(axis=1) == pytest.approx(2.0)
    assert drawn.mean(axis=0) == pytest.approx(2.0 * (1 + tables) / 12, abs=0.02)


def test_g_of_an_uninformative_context_grows_within_a_few_draws():
    rng = np.random.default_rng(2)
    counts = rng.multinomial(3000, np.full(200, 1 / 200), 6).T
    shapes = np.full(200, 0.1)
    for _ in range(10):
        shapes = draw_concentration(mc2.Bag("learned", 200), shapes, counts, rng)
        shapes = draw_base_measure(shapes, counts.sum(axis=1), rng)
    assert shapes.sum() > 5000


def groups_with_junk(n_groups=250):
    """Three kinds of groups, a context that tells them apart and two that do not."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, n_groups)
    words = 0.5 * rng.dirichlet(np.full(60, 0.25), 3) + 0.5 * rng.dirichlet(np.ones(60))
    contexts = {
        "code": [f"code {j}" for j in range(n_groups)],
        "tags": [[f"tag {k}"] for k in np.where(rng.random(n_groups) < 0.9, kind, 0)],
        "lot": [f"lot {i}" for i in rng.integers(0, 40, n_groups)],
    }
    return mc2.Corpus(np.stack([rng.multinomial(20, words[k]) for k in kind]), contexts)


SCHEDULE = {"n_sweeps": 80, "burn_in": 40, "n_chains": 1, "random_state": 0, "progress": False}


def test_contexts_that_tell_nothing_do_not_divide_the_clusters():
    corpus = groups_with_junk()
    families = {"code": mc2.Categorical(0.1), "tags": mc2.Bag(0.1), "lot": mc2.Categorical(0.1)}
    learned = mc2.MC2(contexts={name: f.name for name, f in families.items()}, **SCHEDULE)
    fixed = mc2.MC2(contexts=families, **SCHEDULE)
    assert (np.bincount(learned.fit(corpus).labels_) > 1).sum() <= 5
    assert fixed.fit(corpus).n_clusters_ > 10
    relevance = learned.posterior_.relevance().set_index("context")["mean"]
    assert relevance["tags"] > 0.5
    assert relevance["code"] < 0.05
    assert relevance["lot"] < 0.1


@pytest.mark.parametrize("lam", [2.0, np.inf])
@pytest.mark.parametrize("sampler", ["blocked", "collapsed"])
def test_shapes_are_stored_and_used(sampler, lam, tmp_path):
    if sampler == "collapsed" and lam != np.inf:
        pytest.skip("the collapsed sampler requires lam=inf")
    corpus = groups_with_junk(40)
    contexts = {"tags": mc2.Bag("learned"), "lot": mc2.Categorical(mc2.Gamma(2.0, 0.1))}
    options = SCHEDULE | {"n_sweeps": 12, "burn_in": 4, "sampler": sampler, "lam": lam}
    model = mc2.MC2(contexts=contexts, **options).fit(corpus)
    model.save(tmp_path / "model.mc2")
    loaded = mc2.MC2.load(tmp_path / "model.mc2")
    assert loaded.posterior_.priors == model.posterior_.priors
    for draw, again in zip(model.posterior_.parameters, loaded.posterior_.parameters, strict=True):
        np.testing.assert_array_equal(draw.category_shapes, again.category_shapes)
        assert len(np.unique(draw.category_shapes)) == len(draw.category_shapes)
    np.testing.assert_array_equal(model.predict_proba(corpus), loaded.predict_proba(corpus))
    predicted = model.predict_context(corpus, "lot", top=100)
    assert predicted.groupby("group")["probability"].sum().to_numpy() == pytest.approx(1.0)


def test_the_defaults_depend_on_lam():
    corpus = groups_with_junk(40)
    for lam, expected in ((np.inf, 0.1), (2.0, "learned"), (mc2.Gamma(1, 1), "learned")):
        priors = mc2.Priors.for_corpus(corpus, lam=lam)
        assert {family.concentration for family in priors.contexts.values()} == {expected}
        assert priors.content.concentration == 0.05
        assert observe(corpus, priors).has_learned_bags == (expected == "learned")
        assert mc2.Priors.from_dict(priors.to_dict()) == priors


@pytest.mark.parametrize("concentration", ["learned", mc2.Gamma(1, 1)])
def test_words_do_not_learn_a_concentration(concentration):
    with pytest.raises(mc2.InputError, match="concentration of words must be a positive number"):
        mc2.Priors.for_corpus(groups_with_junk(40), mc2.Categorical(concentration), lam=2.0)


@pytest.mark.parametrize("value", ["fixed", "1", [1.0], {"shape": 1.0}, True])
def test_other_concentrations_are_refused(value):
    with pytest.raises(mc2.InputError, match="positive number, 'learned' or a Gamma"):
        mc2.Bag(value)


def test_a_learned_concentration_survives_json():
    for concentration in ("learned", mc2.Gamma(2.0, 0.5)):
        family = mc2.Categorical(concentration, 3)
        assert mc2.Categorical.from_dict(family.to_dict()) == family


@pytest.mark.parametrize("make", [mc2.Categorical, mc2.Bag])
def test_equal_shapes_are_a_fixed_concentration(make):
    fixed, given = make(0.3, 4), make("learned", 4).given(np.full(4, 0.3))
    stats, rng = np.array([[0.0, 2.0, 1.0, 0.0], [5.0, 0.0, 0.0, 1.0]]), np.random.default_rng(0)
    np.testing.assert_allclose(given.log_marginal(stats), fixed.log_marginal(stats))
    np.testing.assert_allclose(given.log_normaliser(stats), fixed.log_normaliser(stats))
    np.testing.assert_allclose(given.mean_parameters(stats), fixed.mean_parameters(stats))
    x = fixed.outcomes()
    np.testing.assert_allclose(given.log_predictive(x, stats), fixed.log_predictive(x, stats))
    drawn = given.sample_parameters(stats, rng)
    assert np.exp(drawn).sum(axis=1) == pytest.approx(1.0)
    with pytest.raises(mc2.InputError, match="got a learned one"):
        make("learned", 4).log_marginal(stats)

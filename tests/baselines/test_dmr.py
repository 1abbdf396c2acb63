import numpy as np
import pytest
from sklearn.base import clone

from mcsquared.baselines import DMR, LDA
from mcsquared.baselines.dmr import ContextFeatures, _current_draw, marginal_prior
from mcsquared.baselines.lda import TomotopyChain, import_tomotopy
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from tests.baselines.planted import N_TOPICS, draw_corpus, matched, planted_topics

pytest.importorskip("tomotopy")

SHORT = {"n_sweeps": 200, "burn_in": 100, "keep_parameters": 3, "random_state": 0}
PRIORS = {
    "north": np.array([2.0, 0.2, 0.2, 0.2]),
    "south": np.array([0.2, 0.2, 0.2, 2.0]),
}


def corpus_of_places(topics, n_groups, n_tokens, seed):
    """Groups whose topic weights are drawn from the prior of their place."""
    rng = np.random.default_rng(seed)
    place = np.array(["north", "south"])[rng.integers(2, size=n_groups)]
    weights = np.array([rng.dirichlet(PRIORS[p]) for p in place])
    return draw_corpus(
        topics, weights, n_tokens, rng, {"place": place, "noise": rng.random(n_groups)}
    )


@pytest.fixture(scope="module")
def topics():
    return planted_topics(np.random.default_rng(0))


@pytest.fixture(scope="module")
def corpus(topics):
    return corpus_of_places(topics, 200, 40, seed=1)


@pytest.fixture(scope="module")
def model(corpus):
    return DMR(N_TOPICS, contexts=["place"], **SHORT).fit(corpus)


def test_a_planted_effect_of_a_context_is_found(topics, model):
    order, distance = matched(model.components_, topics)
    assert distance.max() < 0.2
    assert model.features_ == ["place=north", "place=south"]
    north_less_south = (model.coefficients_[:, 0] - model.coefficients_[:, 1])[order]
    # log 2 / 0.2 = 2.3 in truth; the prior of the coefficients pulls it in.
    assert 1.2 < north_less_south[0] < 3.0
    assert -3.0 < north_less_south[3] < -1.2
    assert np.abs(north_less_south[1:3]).max() < 1.0


def test_the_prior_of_a_group_is_that_of_its_place(corpus, topics, model):
    order, _ = matched(model.components_, topics)
    alpha = model.draws_[-1].alpha(model._features.transform(corpus))[:, order]
    share = alpha / alpha.sum(axis=1, keepdims=True)
    place = corpus.contexts["place"]
    for name, prior in PRIORS.items():
        rows = place.categories[place.values] == name
        assert share[rows] == pytest.approx(np.tile(prior / prior.sum(), (rows.sum(), 1)), abs=0.1)


def test_the_prior_is_computed_as_tomotopy_does(corpus):
    features = ContextFeatures.from_contexts(corpus.contexts, "auto", 3)
    rows = features.transform(corpus)
    model = import_tomotopy().DMRModel(k=3, seed=0)
    chain = TomotopyChain(model, corpus, features=rows)
    for _ in chain.run(30, 20, 1):
        draw = _current_draw(chain, rows)
    for j in range(5):
        names = [str(number) for number in rows[[j]].indices]
        expected = model.get_topic_prior(multi_metadata=names)
        assert draw.alpha(rows[[j]])[0] == pytest.approx(expected, rel=1e-4)


def test_contexts_of_short_new_groups_help(topics, model):
    test = corpus_of_places(topics, 200, 4, seed=2)
    with_contexts = model.perplexity(test, given_contexts=True)
    assert with_contexts < 0.97 * model.perplexity(test)
    lda = LDA(N_TOPICS, **SHORT).fit(corpus_of_places(topics, 200, 40, seed=1))
    assert with_contexts < 0.97 * lda.perplexity(test)
    assert model.perplexity(test) == pytest.approx(lda.perplexity(test), rel=0.02)


def test_the_prior_of_unknown_groups_has_the_moments_of_those_that_are_known():
    alpha = np.array([PRIORS["north"], PRIORS["south"], [5.0, 0.1, 0.1, 0.1]])
    found = marginal_prior(alpha)
    rng = np.random.default_rng(0)
    drawn = np.vstack([rng.dirichlet(row, 40_000) for row in alpha])
    fitted = rng.dirichlet(found, 120_000)
    assert fitted.mean(axis=0) == pytest.approx(drawn.mean(axis=0), abs=0.01)
    assert (fitted**2).sum(axis=1).mean() == pytest.approx((drawn**2).sum(axis=1).mean(), abs=0.01)
    assert marginal_prior(alpha[:1]) == pytest.approx(alpha[0])


def test_shares_lean_towards_what_the_contexts_say(corpus, topics, model):
    order, _ = matched(model.components_, topics)
    nothing = Corpus(np.zeros((2, corpus.n_words), int), {"place": ["north", "south"]})
    shares = model.transform(nothing)[:, order]
    assert shares[0, 0] > 0.5
    assert shares[1, 3] > 0.5
    assert np.allclose(shares.sum(axis=1), 1.0)


def test_missing_and_unknown_contexts_have_no_feature(corpus, model):
    odd = Corpus(np.ones((3, corpus.n_words), int), {"place": ["north", None, "east"]})
    assert model._features.transform(odd).toarray().tolist() == [[1, 0], [0, 0], [0, 0]]
    without = Corpus(np.ones((3, corpus.n_words), int))
    assert model._features.transform(without).toarray().tolist() == [[0, 0]] * 3
    assert model.transform(without).shape == (3, N_TOPICS)


def test_the_same_seed_gives_the_same_model(corpus, model):
    again = clone(model).fit(corpus)
    assert np.array_equal(again.components_, model.components_)
    assert np.array_equal(again.coefficients_, model.coefficients_)


def test_contexts_that_the_corpus_has_not_are_refused(corpus):
    with pytest.raises(
        InputError, match=r"contexts must be contexts of the corpus \(place, noise\), got 'plaec'"
    ):
        DMR(2, contexts=["plaec"]).fit(corpus)
    with pytest.raises(InputError, match="contexts must be 'auto' or a list of names, got 'place'"):
        DMR(2, contexts="place").fit(corpus)
    with pytest.raises(InputError, match="sigma must be a positive number, got 0"):
        DMR(2, sigma=0).fit(corpus)

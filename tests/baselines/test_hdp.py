"""HDP draws from the exact posterior and agrees with another implementation."""

import functools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

import mcsquared as mc2
from mcsquared.baselines import HDP
from mcsquared.baselines.hdp import HDPChain, HDPDraw
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.evaluation.log_likelihood import log_completion
from mcsquared.evaluation.perplexity import perplexity, split_halves
from mcsquared.families import Categorical, Gaussian
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.prediction.parameters import Stream, stream
from mcsquared.samplers import hdp
from mcsquared.state import Bounds
from tests.baselines.enumeration import visit, without_clusters
from tests.oracles.counts import differences, recount
from tests.statistics.agreement import distance
from tests.statistics.tiny import Tiny, columns_of

SHORT = {"n_sweeps": 30, "burn_in": 10, "thin": 2, "progress": False, "random_state": 3}


def tiny(v=0.7, eta=1.3):
    """Three groups, one of them empty, two words; the enumeration's v is HDP's."""
    corpus = Corpus(sparse.csr_matrix([[2, 1], [0, 0], [1, 2]]))
    return Tiny(corpus, Priors.for_corpus(corpus, Categorical(0.5), {}, alpha=1.0, v=v, eta=eta))


def as_engine_priors(priors):
    return Priors(priors.content, {}, alpha=1.0, v=1.0, eta=priors.eta, lam=priors.v)


def chain(case, in_turn):
    """The exact distribution, with functions that sweep and read a chain that should have it."""
    posterior, exact = without_clusters(case)
    observations, priors = case.observations, as_engine_priors(case.priors)
    bounds = Bounds(1, None)
    state = HDPChain(observations, priors, 5, "random", 2).state

    def sweep():
        if in_turn:
            state.sweep += 1
            hdp.collapsed_sweep(state, observations, priors, 5, 0, bounds)
        else:
            hdp.sweep(state, observations, priors, 5, 0, bounds)

    def labels_of_state():
        groups = range(observations.n_groups)
        topics = state.topic_of_token.tolist()
        return columns_of(groups, topics, posterior.group_of_token, posterior.word_of_token)

    return exact, sweep, labels_of_state, state, observations


@pytest.mark.parametrize("in_turn", [False, True], ids=["side by side", "in turn"])
@pytest.mark.parametrize(
    ("v", "eta"), [(0.7, 1.3), (Gamma(2.0, 1.0), Gamma(2.0, 2.0))], ids=["fixed", "resampled"]
)
def test_both_sweeps_agree_with_enumeration(in_turn, v, eta):
    exact, sweep, labels_of_state, state, observations = chain(tiny(v, eta), in_turn)
    visits = visit(sweep, labels_of_state, 1500, exact)
    everything = distance(visits, lambda columns: columns)
    n_topics = distance(visits, len)
    assert everything.total_variation < 0.02 + 1.5 * everything.expected, everything
    assert n_topics.largest_z < 4, n_topics
    assert not differences(state.counts, recount(state, observations))


def test_wrong_tables_are_detected(monkeypatch):
    """Every token a table of its own: what the enumeration must tell from the right ones."""
    exact, sweep, labels_of_state, _, _ = chain(tiny(), in_turn=True)
    monkeypatch.setattr(hdp, "draw_tables", lambda customers, *_: customers)
    everything = distance(visit(sweep, labels_of_state, 1000, exact), lambda columns: columns)
    assert everything.total_variation > 0.02 + 1.5 * everything.expected, everything


def bars():
    """Groups over a square of 25 words that mix its 5 rows and 5 columns; the truth comes last."""
    square = np.arange(25).reshape(5, 5)
    topics = np.zeros((10, 25))
    for m, words in enumerate([*square, *square.T]):
        topics[m, words] = 0.2
    return mixed(topics, 0.2, 330), topics


def mixed(topics, concentration, n_groups):
    """Groups of 50 words, all but 30 of them for training."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(len(topics), concentration), n_groups)
    counts = np.array([rng.multinomial(50, row / row.sum()) for row in weights @ topics])
    return Corpus(sparse.csr_matrix(counts)).split(30, random_state=0)


@functools.cache
def fitted_to_bars():
    (train, test), topics = bars()
    settings = {"n_sweeps": 100, "burn_in": 50, "random_state": 0, "progress": False}
    return HDP(**settings).fit(train), train, test, topics


def matched_distance(components, topics):
    """Mean total variation of the true topics from the components that suit them best."""
    cost = 0.5 * np.abs(topics[:, None] - components[None]).sum(axis=2)
    return cost[linear_sum_assignment(cost)].mean()


def completion(draw, test):
    """Held-out perplexity of one draw's topics over 25 words, by the halves of seed 0."""
    first, second = split_halves(test, stream(0, Stream.HALVES))
    family = Categorical(0.05, size=25)
    drawn = draw.draw_parameters(family, np.random.default_rng(0))
    scores = log_completion([(drawn, np.zeros((test.n_groups, 1)))], first, second)
    return float(np.exp(-scores.sum() / second.n_tokens))


def tomotopy_draw(train):
    """The topics that tomotopy's HDP finds, as a draw of ours, and their words."""
    tomotopy = pytest.importorskip("tomotopy")
    model = tomotopy.HDPModel(initial_k=5, alpha=1.0, gamma=1.0, eta=0.05, seed=1)
    model.optim_interval = 0  # concentrations stay as they are
    for row in train.content.counts:
        model.add_doc([str(word) for word in np.repeat(row.indices, row.data)])
    model.train(300, workers=1)
    live = [m for m in range(model.k) if model.is_live_topic(m)]
    order = [list(model.used_vocabs).index(str(word)) for word in range(25)]
    words = np.array([model.get_topic_word_dist(m) for m in live])[:, order]
    tokens = np.array(model.get_count_by_topics())[live]
    # Root weights of ours follow tables; shares of tokens are near enough to them here.
    weights = tokens / (tokens.sum() + 1.0)
    counts = sparse.csr_matrix(np.rint(words * tokens[:, None]).astype(np.int32))
    return HDPDraw(counts, tokens, weights, 1.0 - float(weights.sum()), 1.0, 1.0), words


def test_topics_and_held_out_perplexity_agree_with_tomotopy():
    """Same halves, same scoring: perplexities within 2 percent, topics within 0.05 of the truth.

    Most groups have one topic: tables rarely change theirs in tomotopy's sampler, and where groups
    mix several it is still far from its posterior after thousands of sweeps.
    """
    topics = np.zeros((5, 25))
    for m, row in enumerate(np.random.default_rng(1).dirichlet(np.full(5, 3.0), 5)):
        topics[m, 5 * m : 5 * m + 5] = row
    train, test = mixed(topics, 0.05, 230)
    model = HDP(1.0, 1.0, n_sweeps=60, burn_in=30, random_state=0, progress=False).fit(train)
    draw, words = tomotopy_draw(train)
    assert model.perplexity(test) == pytest.approx(completion(draw, test), rel=0.02)
    assert matched_distance(words, topics) < 0.05
    assert matched_distance(model.components_, topics) < 0.05


def test_topics_and_held_out_perplexity_are_near_the_truth():
    model, _, test, topics = fitted_to_bars()
    counts = sparse.csr_matrix((topics * 1e6).astype(np.int32))
    truth = HDPDraw(counts, np.full(10, 10**6), np.full(10, 0.1), 1e-12, 2.0, 1.0)
    assert model.perplexity(test) < 1.02 * completion(truth, test)
    assert matched_distance(model.components_, topics) < 0.06


def test_halves_are_those_of_the_main_model():
    model, train, test, _ = fitted_to_bars()
    result = model.perplexity_result(test)
    main = mc2.MC2(contexts={}, n_sweeps=30, burn_in=10, random_state=0, progress=False).fit(train)
    other = perplexity(main.posterior_, test, "completion")
    assert result.n_tokens == other.n_tokens
    assert np.corrcoef(result.log_likelihood, other.log_likelihood)[0, 1] > 0.98


def test_whole_groups_are_scored_from_left_to_right():
    model, _, test, _ = fitted_to_bars()
    result = model.perplexity_result(test, "left_to_right")
    assert result.n_tokens == test.n_tokens
    # What was read of a group before helps: nothing was, before its first words.
    assert model.perplexity(test) < float(result) < 25


def test_shares_of_topics_and_words_sum_to_one_and_follow_the_groups():
    model, train, test, _ = fitted_to_bars()
    shares = model.transform(test)
    assert shares.shape == (30, model.n_topics_)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    seen = test.content.counts.toarray() / 50
    predicted = 0.5 * np.abs(shares @ model.components_ - seen).sum(axis=1).mean()
    on_average = 0.5 * np.abs(seen.mean(axis=0) - seen).sum(axis=1).mean()
    assert predicted < 0.5 * on_average
    assert model.n_features_in_ == 25
    assert list(model.feature_names_in_) == list(train.vocabulary)
    assert len(model.get_feature_names_out()) == model.n_topics_


def test_same_seed_same_fit_on_any_number_of_threads():
    (train, test), _ = bars()
    one, again = HDP(**SHORT).fit(train), clone(HDP(**SHORT)).fit(train)
    two = HDP(**SHORT, n_jobs=2).fit(train)
    other = HDP(**(SHORT | {"random_state": 4})).fit(train)
    for model in (again, two):
        np.testing.assert_array_equal(one.components_, model.components_)
        assert one.perplexity(test) == model.perplexity(test)
    assert (
        one.components_.shape != other.components_.shape
        or (one.components_ != other.components_).any()
    )
    assert len(one.draws_) == 10
    assert one.trace_["kept"].sum() == 10


def test_vectors_are_content_too():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    groups = [centres[rng.choice(3, 30, p=p)] for p in rng.dirichlet(np.full(3, 0.5), 40)]
    groups = [points + rng.normal(size=points.shape) for points in groups]
    model = HDP(**SHORT).fit(groups)
    nearest = np.abs(centres[:, None] - model.components_[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 0.5
    assert np.isfinite(model.perplexity(groups[:5]))
    with pytest.raises(InputError, match="vectors"):
        model.transform(sparse.csr_matrix([[1, 2]]))


def test_a_bound_on_topics_holds_and_groups_may_be_empty():
    (train, _), _ = bars()
    model = HDP(**SHORT, max_topics=3).fit(train)
    assert model.trace_["n_topics"].max() <= 3
    empty = HDP(**SHORT).fit(sparse.csr_matrix((4, 3), dtype=int))
    assert empty.n_topics_ == 0
    assert empty.transform(sparse.csr_matrix((2, 3), dtype=int)).shape == (2, 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"v": np.inf}, "v must be a positive number or a Gamma prior, got inf"),
        ({"eta": -1.0}, "eta must be a positive number or a Gamma prior, got -1.0"),
        (
            {"n_sweeps": 10, "burn_in": 10},
            r"n_sweeps must exceed burn_in \(10\) by at least 2, got 10",
        ),
        ({"thin": 0}, "thin must be an integer >= 1, got 0"),
        ({"max_topics": 0}, "max_topics must be an integer >= 1, got 0"),
        ({"init": "best"}, "init must be 'auto' or 'random', got 'best'"),
        (
            {"random_state": -1},
            "random_state must be None, a RandomState or an integer between 0 .*, got -1",
        ),
        ({"content": Gaussian()}, "words"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(parameters, message):
    (train, _), _ = bars()
    with pytest.raises(InputError, match=message):
        HDP(**(SHORT | parameters)).fit(train)


def test_a_perplexity_that_does_not_exist_is_refused():
    model, _, test, _ = fitted_to_bars()
    with pytest.raises(InputError, match="'exact'"):
        model.perplexity(test, "exact")

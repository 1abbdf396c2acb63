"""npTOT draws from the exact posterior, finds when topics are, and is HDP without any date."""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mcsquared.baselines import HDP, NPTOT, nptot
from mcsquared.baselines.nptot import NPTOTChain, NPTOTDraw
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Categorical, Gaussian
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from tests.baselines.enumeration import visit, with_times, without_clusters
from tests.oracles.counts import differences, recount
from tests.statistics.agreement import distance
from tests.statistics.tiny import Tiny, canonical, columns_of

SHORT = {"n_sweeps": 40, "burn_in": 20, "thin": 2, "progress": False, "random_state": 3}
TIMES = Gaussian(0.1, 0.5, 2.0, 0.3)
SETTINGS = {
    "fixed, one time missing": ([0.3, np.nan, -0.8], 0.7, 1.3),
    "resampled": ([0.3, 0.5, -0.9], Gamma(2.0, 1.0), Gamma(2.0, 2.0)),
}


def tiny(v, eta):
    corpus = Corpus(sparse.csr_matrix([[1, 1], [1, 0], [1, 1]]))
    return Tiny(corpus, Priors.for_corpus(corpus, Categorical(0.5), {}, alpha=1.0, v=v, eta=eta))


def chain(case, times, alpha=0.8, seed=3):
    observations, priors = case.observations, case.priors
    made = NPTOTChain(
        observations, priors, np.array(times), TIMES.kernel_parameters(), alpha, seed, "random", 2
    )
    made.max_topics = None
    return made.state, made.times, made.sweep


def n_topics(labels):
    return len(set(labels[0]))


def n_components(labels):
    return len(set(labels[1]))


@pytest.mark.parametrize("setting", SETTINGS)
def test_topics_and_components_agree_with_enumeration(setting):
    times, v, eta = SETTINGS[setting]
    case = tiny(v, eta)
    state, components, sweep = chain(case, times)

    def labels_of_state():
        topics = state.topic_of_token.tolist()
        pairs = zip(topics, components.component_of_token.tolist(), strict=True)
        return canonical(topics), canonical(pairs)

    visits = visit(sweep, labels_of_state, 2500, with_times(case, TIMES, times, 0.8))
    everything = distance(visits, lambda labels: labels)
    assert everything.total_variation < 1.3 * everything.expected, everything
    assert distance(visits, n_topics).largest_z < 3.5
    assert distance(visits, n_components).largest_z < 3.5
    assert not differences(state.counts, recount(state, case.observations))


def test_one_component_for_each_topic_is_detected():
    """A chain in which no component appears, which the comparison must detect."""
    times, v, eta = SETTINGS["fixed, one time missing"]
    case = tiny(v, eta)
    state, components, sweep = chain(case, times, alpha=1e-9)

    def labels_of_state():
        topics = state.topic_of_token.tolist()
        pairs = zip(topics, components.component_of_token.tolist(), strict=True)
        return canonical(topics), canonical(pairs)

    visits = visit(sweep, labels_of_state, 1000, with_times(case, TIMES, times, 0.8))
    assert distance(visits, n_components).largest_z > 5


def test_without_any_time_the_posterior_is_that_of_the_hierarchical_process():
    case = tiny(0.7, 1.3)
    posterior, exact = without_clusters(case)
    state, components, sweep = chain(case, [np.nan] * 3)

    def labels_of_state():
        topics = state.topic_of_token.tolist()
        return columns_of(range(3), topics, posterior.group_of_token, posterior.word_of_token)

    visits = visit(sweep, labels_of_state, 2500, exact)
    everything = distance(visits, lambda columns: columns)
    assert everything.total_variation < 0.01 + 1.3 * everything.expected, everything
    assert (components.component_of_token == -1).all()


def dated(n_groups=160, n_tokens=30, missing=0.0):
    """Two topics of words; one is written early and late, the other in between."""
    rng = np.random.default_rng(0)
    year = 1990 + rng.integers(21, size=n_groups) / 2
    between = np.abs(year - 1995) < 2
    words = np.zeros((2, 12))
    words[0, :8], words[1, 4:] = 1 / 8, 1 / 8
    counts = np.array([rng.multinomial(n_tokens, row) for row in words[between.astype(int)]])
    year[rng.random(n_groups) < missing] = np.nan
    corpus = Corpus(sparse.csr_matrix(counts), {"year": year})
    return corpus.split(30, random_state=0), words


@functools.cache
def fitted():
    (train, test), words = dated()
    return NPTOT(**SHORT).fit(train), train, test, words


def test_topics_that_differ_in_time_alone_are_told_apart():
    """All words alike, at two times: HDP finds one topic, npTOT one for each time."""
    rng = np.random.default_rng(0)
    year = np.repeat([1990.0, 2000.0], 40) + rng.normal(size=80)
    counts = rng.multinomial(40, np.full(8, 1 / 8), 80)
    corpus = Corpus(sparse.csr_matrix(counts), {"year": year})
    model = NPTOT(**SHORT).fit(corpus)
    density = model.time_given_topic([1990.0, 2000.0]).to_numpy()
    shares = model.transform(corpus)
    early = density[0] > density[1]
    assert shares[:40][:, early].sum(axis=1).min() > 0.9
    assert shares[40:][:, ~early].sum(axis=1).min() > 0.9
    large = shares.mean(axis=0) > 0.05
    # Their words are the same: only the times distinguish them.
    assert 0.5 * np.abs(model.components_[large] - 1 / 8).sum(axis=1).max() < 0.15
    without = HDP(**SHORT).fit(corpus).transform(corpus)
    assert 0.5 * np.abs(without[:40].mean(axis=0) - without[40:].mean(axis=0)).sum() < 0.1


def test_a_topic_may_be_written_at_several_times():
    model, _, _, words = fitted()
    grid = np.linspace(1990, 2000, 21)
    density = model.time_given_topic(grid)
    assert list(density.index) == list(grid)
    assert density.index.name == "year"
    weight = np.array([kept.tokens_of_topic for kept in model.draws_[-1:]])[0]
    like_first = model.components_ @ words[0] > model.components_ @ words[1]
    in_between = np.abs(grid - 1995) < 1.5
    for group, inside in ((like_first, False), (~like_first, True)):
        together = density.to_numpy()[:, group] @ weight[group] / weight[group].sum()
        assert (together[in_between].mean() > 2 * together[~in_between].mean()) == inside
        assert (together[in_between].mean() < 0.5 * together[~in_between].mean()) != inside


def test_components_are_as_wide_as_was_asked():
    (train, _), _ = dated()
    spread = train.contexts["year"].values.std()
    for width in (0.25, 0.5):
        family = NPTOT(**SHORT, width=width).fit(train)._time_family
        mean, precision = family.mean_parameters(family.statistics([1990.0] * 30).sum(axis=0))[0]
        assert precision**-0.5 == pytest.approx(width * spread, rel=0.05)
        assert mean == pytest.approx(1990, abs=0.1)


def test_densities_over_time_integrate_to_one():
    model, _, _, _ = fitted()
    wide = np.linspace(1900, 2090, 20_001)
    total = model.time_given_topic(wide).sum() * (wide[1] - wide[0])
    np.testing.assert_allclose(total, 1.0, atol=1e-3)


def test_densities_over_time_are_the_means_of_drawn_ones():
    family, times = Gaussian(0.0, 1.0, 3.0, 2.0), np.array([-1.5, 0.0, 2.0, np.nan])
    statistics = family.statistics(np.array([-2.0, 1.0, 1.5])) * np.array([[4.0], [6.0], [3.0]])
    words = sparse.csr_matrix(np.array([[10], [3]]))
    topics = words, np.array([10, 3]), np.array([0.5, 0.3]), 0.2, 1.0, 1.0
    draw = NPTOTDraw(*topics, np.array([0, 2, 3]), statistics, 1.5)
    rng, n = np.random.default_rng(0), 1000
    drawn = [np.exp(draw.draw_log_densities(family, 3, times, rng)) for _ in range(n)]
    mean, error = np.mean(drawn, axis=0), np.std(drawn, axis=0) / np.sqrt(n)
    expected = draw.mean_densities(family, times[:3])
    assert np.abs((mean[:3, :2] - expected) / error[:3, :2]).max() < 4
    # Of a topic not yet seen nothing is known but the prior.
    prior = np.exp(family.log_predictive(times[:3], np.zeros((1, 3))))[:, 0]
    assert np.abs((mean[:3, 2] - prior) / error[:3, 2]).max() < 4
    np.testing.assert_array_equal(mean[3], 1.0)


def test_times_improve_the_prediction_of_words_if_topics_depend_on_time():
    """Groups of two words, one of them seen: their time says which topic the other is of."""
    model, _, _, _ = fitted()
    (short, _), _ = dated(n_groups=330, n_tokens=2)
    given, not_given = model.perplexity(short, given_contexts=True), model.perplexity(short)
    assert 7.5 < given < 0.95 * not_given
    assert not_given < 12
    nothing = short.with_contexts({"year": np.full(short.n_groups, np.nan)})
    for without in (nothing, Corpus(short.content)):
        found = model.perplexity(without, given_contexts=True)
        assert found == pytest.approx(not_given, rel=1e-9)


def test_a_score_given_times_is_a_probability_of_words():
    """Over all words that the second of two could be, the chances sum to 1."""
    model, _, _, _ = fitted()
    total = 0.0
    for word in range(12):
        pair = np.zeros((1, 12), np.int64)
        pair[0, 3] += 1
        pair[0, word] += 1
        first, second = (np.zeros((1, 12), np.int64) for _ in range(2))
        first[0, 3], second[0, word] = 1, 1
        whole = Corpus(sparse.csr_matrix(pair), {"year": [1992.5]})
        halves = [Corpus(sparse.csr_matrix(half)) for half in (first, second)]
        total += float(np.exp(model._log_likelihood(whole, *halves, True, 0)[0]))
    assert total == pytest.approx(1.0, rel=1e-9)


def test_without_times_perplexity_is_that_of_the_hierarchical_process():
    (train, test), _ = dated(missing=1.0)
    settings = SHORT | {"n_sweeps": 80}
    timed_, plain = NPTOT(**settings).fit(train), HDP(**settings).fit(train)
    assert timed_.perplexity(test) == pytest.approx(plain.perplexity(test), rel=0.01)
    assert (timed_.trace_["n_components"] == 0).all()


def test_some_times_may_be_missing_and_slots_may_run_out(monkeypatch):
    monkeypatch.setattr(nptot, "N_INITIAL_COMPONENT_SLOTS", 1)
    (train, test), _ = dated(missing=0.3)
    model = NPTOT(**SHORT, alpha=2.0).fit(train)
    assert np.isfinite(model.perplexity(test, given_contexts=True))
    np.testing.assert_allclose(model.transform(test).sum(axis=1), 1.0)
    observed = ~np.isnan(train.contexts["year"].values)
    n_scored = model.draws_[-1].component_statistics[:, 0].sum()
    assert n_scored == train.tokens_per_group[observed].sum()


def test_dates_come_back_as_dates():
    (train, _), _ = dated()
    days = pd.to_datetime("2001-01-01") + pd.to_timedelta(train.contexts["year"].values * 30, "D")
    model = NPTOT("day", **SHORT).fit(train.with_contexts({"day": days}))
    density = model.time_given_topic()
    assert density.shape == (101, model.n_topics_)
    assert density.index.dtype.kind == "M"
    grid = pd.to_datetime(["2164-05-01", "2164-08-01"])
    assert model.time_given_topic(grid).shape == (2, model.n_topics_)


def test_same_seed_same_fit():
    (train, test), _ = dated()
    one, again = NPTOT(**SHORT).fit(train), NPTOT(**SHORT).fit(train)
    np.testing.assert_array_equal(one.components_, again.components_)
    pd.testing.assert_frame_equal(one.time_given_topic(), again.time_given_topic())
    for given in (False, True):
        assert one.perplexity(test, given_contexts=given) == again.perplexity(
            test, given_contexts=given
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"time": "day"}, r"time must be a context of the corpus \('year'\), got 'day'"),
        ({"family": "gamma"}, "family must be 'auto' or a Gaussian, got 'gamma'"),
        ({"width": 0.0}, "width must be a positive number, got 0.0"),
        ({"alpha": 0.0}, "alpha must be a positive number or a Gamma prior, got 0.0"),
        ({"v": np.inf}, "v must be a positive number or a Gamma prior, got inf"),
        ({"max_topics": 1.5}, "max_topics must be an integer >= 1, got 1.5"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(parameters, message):
    (train, _), _ = dated()
    with pytest.raises(InputError, match=message):
        NPTOT(**(SHORT | parameters)).fit(train)


def test_what_does_not_exist_is_refused():
    model, _, test, _ = fitted()
    with pytest.raises(InputError, match="method must be 'completion'"):
        model.perplexity(test, "left_to_right", given_contexts=True)
    vectors = Corpus([np.zeros((2, 2))] * 3, {"year": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match="content must be words"):
        NPTOT(**SHORT).fit(vectors)

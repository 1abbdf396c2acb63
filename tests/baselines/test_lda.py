import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks import scoring
from mcsquared import MC2
from mcsquared.baselines import LDA
from mcsquared.baselines.lda import LDADraw
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.evaluation.perplexity import split_halves
from mcsquared.prediction.parameters import Stream, stream
from tests.baselines.planted import N_TOPICS, draw_corpus, lda_corpus, matched

pytest.importorskip("tomotopy")

SHORT = {"n_sweeps": 200, "burn_in": 100, "keep_parameters": 4, "random_state": 0}


def perplexity(draws, corpus, method, seed):
    """The perplexity of known draws."""
    model = LDA(random_state=seed)
    model._vocabulary, model._width, model._seed = corpus.vocabulary, None, seed
    model.draws_ = draws
    return model.perplexity_result(corpus, method)


@pytest.fixture(scope="module")
def planted():
    return lda_corpus()


@pytest.fixture(scope="module")
def model(planted):
    return LDA(N_TOPICS, **SHORT).fit(planted[0])


def test_planted_topics_are_found(planted, model):
    _, distance = matched(model.components_, planted[1])
    assert distance.max() < 0.1
    assert np.allclose(model.components_.sum(axis=1), 1.0)


def test_planted_shares_are_found(planted, model):
    corpus, topics, weights = planted
    order, _ = matched(model.components_, topics)
    shares = model.transform(corpus)
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert np.abs(shares[:, order] - weights).mean() < 0.05
    assert np.allclose(LDA(N_TOPICS, **SHORT).fit_transform(corpus), shares)


def test_the_fitted_prior_is_near_the_one_that_was_drawn_from(model):
    assert np.all((model.alpha_ > 0.15) & (model.alpha_ < 0.6))


def test_held_out_score_is_that_of_the_truth_and_of_scikit_learn(planted, model):
    corpus, topics, _ = planted
    rng = np.random.default_rng(1)
    test = draw_corpus(topics, rng.dirichlet(np.full(N_TOPICS, 0.3), 100), 50, rng)
    truth = float(perplexity([LDADraw(topics, np.full(N_TOPICS, 0.3))], test, "completion", 0))
    peer = LatentDirichletAllocation(N_TOPICS, max_iter=30, random_state=0)
    fitted = peer.fit(corpus.content.counts).components_
    draw = LDADraw(fitted / fitted.sum(axis=1, keepdims=True), np.full(N_TOPICS, 1 / N_TOPICS))
    theirs = float(perplexity([draw], test, "completion", 0))
    ours = model.perplexity(test)
    assert ours == pytest.approx(theirs, rel=0.02)
    assert ours == pytest.approx(truth, rel=0.02)
    assert ours < 0.8 * corpus.n_words


def test_the_same_halves_are_scored_as_those_of_mc2(planted, model, monkeypatch):
    corpus, scored = planted[0][:30], []

    def spy(*arguments):
        halves = split_halves(*arguments)
        scored.append(halves[1].content.counts.toarray())
        return halves

    monkeypatch.setattr("mcsquared.evaluation.perplexity.split_halves", spy)
    model.perplexity(corpus)
    MC2(lam=5.0, n_sweeps=2, burn_in=0, thin=1, random_state=0, progress=False).fit(
        corpus
    ).perplexity(corpus)
    assert np.array_equal(*scored)


def test_one_topic_that_is_uniform_has_the_perplexity_of_the_vocabulary(planted):
    corpus = planted[0]
    result = perplexity(
        [LDADraw(np.full((1, corpus.n_words), 1 / corpus.n_words), np.ones(1))],
        corpus,
        "completion",
        0,
    )
    assert float(result) == pytest.approx(corpus.n_words)
    assert result.n_tokens == corpus.n_tokens // 2


def test_the_score_is_that_of_the_benchmarks_which_fold_in_on_their_own(planted):
    corpus, topics, _ = planted
    alpha = np.linspace(0.2, 0.6, N_TOPICS)
    halves = scoring.Halves.of(corpus, corpus, 7)
    theirs = scoring.completion_perplexity(
        scoring.TopicModel(topics.astype(np.float32), alpha), halves
    )
    ours = float(perplexity([LDADraw(topics, alpha)], corpus, "completion", 7))
    assert ours == pytest.approx(theirs, rel=0.003)


def test_completion_is_the_sum_over_assignments_in_closed_form():
    topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    alpha = np.array([0.5, 1.5])
    corpus = Corpus(np.array([[2, 1, 1], [0, 0, 3], [1, 0, 0], [0, 0, 0]]))
    first, second = split_halves(corpus, stream(5, Stream.HALVES))
    expected = np.zeros(4)
    for j in range(4):
        seen = np.repeat(np.arange(3), first.content.counts.toarray()[j])
        mean, total = np.zeros(2), 0.0
        for labels in np.ndindex(*(2,) * len(seen)):
            counts, weight = alpha.copy(), 1.0
            for word, m in zip(seen, labels, strict=True):
                weight *= counts[m] / counts.sum() * topics[m, word]
                counts[m] += 1
            mean += weight * counts / counts.sum()
            total += weight
        scored = second.content.counts.toarray()[j]
        expected[j] = scored @ np.log(mean / total @ topics)
    draws = [LDADraw(topics, alpha)] * 2
    found = perplexity(draws, corpus, "completion", 5)
    # 200 iterations leave a percent or two of chance in the shares.
    assert found.log_likelihood == pytest.approx(expected, abs=0.03)


def test_left_to_right_is_the_probability_of_the_group_in_closed_form():
    topics, alpha = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), np.array([0.5, 1.5])
    words = [0, 0, 2, 1]
    total = 0.0
    for labels in np.ndindex(2, 2, 2, 2):
        counts, weight = alpha.copy(), 1.0
        for word, m in zip(words, labels, strict=True):
            weight *= counts[m] / counts.sum() * topics[m, word]
            counts[m] += 1
        total += weight
    corpus = Corpus(np.array([[2, 1, 1]]))
    found = perplexity([LDADraw(topics, alpha)] * 40, corpus, "left_to_right", 0)
    assert found.log_likelihood[0] == pytest.approx(np.log(total), abs=0.03)


def test_the_same_seed_gives_the_same_topics(planted, model):
    again = clone(model).fit(planted[0])
    assert np.array_equal(again.components_, model.components_)
    other = LDA(N_TOPICS, **{**SHORT, "random_state": 1}).fit(planted[0])
    assert not np.array_equal(other.components_, model.components_)


def test_words_that_no_group_of_training_has_get_what_the_prior_gives():
    corpus = Corpus(np.array([[3, 2, 0], [1, 4, 0], [0, 0, 0]]))
    model = LDA(2, concentration=0.5, n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    assert np.all(model.components_[:, 2] > 0.0)
    assert np.isfinite(model.perplexity(Corpus(np.array([[1, 1, 4]]))))


def test_groups_without_words_get_the_mean_of_the_prior():
    corpus = Corpus(np.array([[3, 2], [0, 0], [1, 4]]))
    model = LDA(2, n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    assert model.transform(corpus)[1] == pytest.approx(model.alpha_ / model.alpha_.sum())


def test_words_unseen_in_training_are_left_out():
    train = Corpus.from_tokens([["a", "b", "a"], ["b", "c", "c"]] * 5)
    model = LDA(2, n_sweeps=20, burn_in=10, random_state=0).fit(train)
    test = Corpus.from_tokens([["c", "a", "z", "z"], ["b", "y"]])
    assert model.transform(test).shape == (2, 2)
    assert np.isfinite(model.perplexity(test))


def test_draws_are_as_many_as_were_asked_for(planted):
    for asked, sweeps, kept in ((10, 200, 10), (5, 103, 3), (1, 150, 1)):
        model = LDA(2, n_sweeps=sweeps, burn_in=100, keep_parameters=asked, random_state=0)
        assert len(model.fit(planted[0][:20]).draws_) == kept


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_topics": 0}, "n_topics must be an integer >= 1, got 0"),
        ({"n_topics": 2.5}, "n_topics must be an integer >= 1, got 2.5"),
        ({"alpha": -1.0}, "alpha must be a positive number, got -1.0"),
        ({"concentration": np.nan}, "concentration must be a positive number, got nan"),
        ({"burn_in": 600}, r"n_sweeps must exceed burn_in \(600\) by at least 1, got 600"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
        (
            {"random_state": -1},
            "random_state must be None, a RandomState or an integer between 0 .*, got -1",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_refused(change, sentence, planted):
    with pytest.raises(InputError, match=sentence):
        LDA(**change).fit(planted[0])


def test_an_unknown_perplexity_and_no_words_are_refused(planted, model):
    with pytest.raises(
        InputError, match="method must be 'completion' or 'left_to_right', got 'printed'"
    ):
        model.perplexity(planted[0], "printed")
    with pytest.raises(InputError, match="X must have at least one word"):
        LDA(2).fit(Corpus(np.zeros((3, 2), dtype=int)))

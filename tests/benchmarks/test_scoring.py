"""Other packages are scored by the probability of the second halves alone."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from benchmarks.corpora import held_out, simulated_corpus, split_groups
from benchmarks.interleave import Clock, run_interleaved
from benchmarks.questions.clusters import without_tags
from benchmarks.questions.letters import cosine_to_nearest
from benchmarks.questions.quality import seconds_to
from benchmarks.scoring import Halves, TopicModel, completion_perplexity, fold_in, mix
from mcsquared import Corpus
from mcsquared.evaluation.perplexity import split_halves
from mcsquared.prediction.parameters import Stream, stream

WORDS = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], np.float32)
ALPHA = np.array([0.5, 0.8])


def mean_theta(words: list[int]) -> np.ndarray:
    """Return E[θ | words] of an LDA model by summing over every assignment of topics."""
    total, mean = 0.0, np.zeros(2)
    for topics in product((0, 1), repeat=len(words)):
        counts = np.bincount(topics, minlength=2)
        weight = math.exp((gammaln(ALPHA + counts) - gammaln(ALPHA)).sum())
        weight *= math.prod(
            float(WORDS[topic, word]) for topic, word in zip(topics, words, strict=True)
        )
        total += weight
        mean += weight * (ALPHA + counts) / (ALPHA.sum() + len(words))
    return mean / total


def test_folding_in_gives_the_posterior_mean_of_the_topic_weights() -> None:
    groups = [[0, 0, 1, 2, 2], [2, 2, 2], []]
    start = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    word = np.array([word for group in groups for word in group], np.int32)
    theta = fold_in(start, word, np.ascontiguousarray(WORDS.T), ALPHA, 100, 40_000)
    np.testing.assert_allclose(theta, [mean_theta(group) for group in groups], atol=0.003)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)


def test_the_perplexity_of_a_known_model_is_exact() -> None:
    first, second = [[0, 0, 1, 2], [2, 2]], [[0, 1, 1], [2]]
    halves = Halves(_corpus(first), _corpus(second))
    log_likelihood = sum(
        math.log(mean_theta(seen) @ WORDS[:, word])
        for seen, scored in zip(first, second, strict=True)
        for word in scored
    )
    model = TopicModel(WORDS, ALPHA)
    exact = math.exp(-log_likelihood / 4)
    many = [completion_perplexity(model, halves, seed) for seed in range(100)]
    assert np.mean(many) == pytest.approx(exact, rel=0.005)


def test_several_draws_are_scored_by_the_mean_of_their_predictive_probabilities() -> None:
    halves = Halves(_corpus([[0, 2]]), _corpus([[0, 1, 1, 2]]))
    certain = [TopicModel(row[None, :], np.ones(1)) for row in WORDS]
    mean = WORDS.mean(axis=0)[[0, 1, 1, 2]]
    expected = math.exp(-np.log(mean).mean())
    assert completion_perplexity(certain, halves) == pytest.approx(expected, rel=1e-6)


def test_a_predictive_mixes_topics_by_the_groups_own_weights() -> None:
    halves = Halves(_corpus([[0], [1]]), _corpus([[0], [2]]))
    theta = np.array([[1.0, 0.0], [0.25, 0.75]])
    found = mix(theta, TopicModel(WORDS, ALPHA), halves)
    np.testing.assert_allclose(found, [0.7, 0.25 * 0.1 + 0.75 * 0.6], rtol=1e-6)


def test_peers_are_scored_on_the_same_halves_as_mcsquared() -> None:
    train, test = held_out(simulated_corpus(0.03), 1)
    halves = Halves.of(test, train, 7)
    first, second = split_halves(test, stream(7, Stream.HALVES))
    assert (halves.first.content.counts != first.content.counts).nnz == 0
    assert (halves.second.content.counts != second.content.counts).nnz == 0
    assert halves.n_scored == second.n_tokens


def test_held_out_groups_have_only_words_of_training() -> None:
    train, test = held_out(simulated_corpus(0.01), 0)
    assert np.asarray(train.content.counts.sum(axis=0)).min() > 0
    assert list(train.vocabulary) == list(test.vocabulary)
    assert set(train.contexts) == {"year", "authors"}


def test_split_groups_have_the_same_tokens() -> None:
    corpus = simulated_corpus(0.01)
    cut = split_groups(corpus, 3)
    assert cut.n_groups == 3 * corpus.n_groups
    whole = np.asarray(corpus.content.counts.todense())
    joined = np.asarray(cut.content.counts.todense()).reshape(corpus.n_groups, 3, -1).sum(axis=1)
    assert (joined == whole).all()


def test_a_share_of_the_tags_is_taken_away() -> None:
    tags = {"tags": [["sky", "sea"], ["sky"], ["car"], ["tree", "sea"]]}
    corpus = Corpus(sparse.csr_matrix(np.eye(4, dtype=int)), tags)
    left = without_tags(corpus, 0.5, seed=3).contexts["tags"]
    assert left.observed.sum() == 2
    kept = np.flatnonzero(left.observed)
    assert (left.values[kept] != corpus.contexts["tags"].values[kept]).nnz == 0


def test_a_level_is_reached_at_the_first_point_at_or_below_it() -> None:
    curve = [(1.0, 2000.0), (2.0, 1800.0), (4.0, 1700.0), (8.0, 1750.0)]
    assert seconds_to(curve, 1800.0) == 2.0
    assert seconds_to(curve, 1600.0) is None


def test_a_true_topic_is_compared_with_the_nearest_one_found() -> None:
    truth = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert cosine_to_nearest(truth, truth[::-1]) == pytest.approx(1.0)
    assert cosine_to_nearest(truth, np.array([[2.0, 0.0]])) == pytest.approx(0.5)


def test_runs_are_interleaved_and_charged_for_their_own_work_alone() -> None:
    seen: list[str] = []

    def run(name: str, work: int, clock: Clock) -> list[float]:
        clock.reset()
        used = []
        for _ in range(4):
            seen.append(name)
            sum(range(work))
            used.append(clock.tick())
            with clock.paused():
                sum(range(3_000_000))
        return used

    used = run_interleaved(
        {
            "long": lambda clock: run("long", 2_000_000, clock),
            "short": lambda clock: run("short", 200_000, clock),
        }
    )
    assert used["long"] == sorted(used["long"])
    assert used["short"][-1] < used["long"][-1] / 2
    assert seen.index("short") < 4  # before the long run has finished
    assert seen[-2:] == ["long", "long"]  # the short one has used least until it ends


def test_a_run_that_fails_lets_the_others_end_and_is_reported() -> None:
    ended = []

    def fail(clock: Clock) -> None:
        clock.tick()
        raise RuntimeError("no such model")

    def go_on(clock: Clock) -> None:
        for _ in range(3):
            clock.tick()
        ended.append(True)

    with pytest.raises(RuntimeError, match="no such model"):
        run_interleaved({"bad": fail, "good": go_on})
    assert ended == [True]


def _corpus(groups: list[list[int]]) -> Corpus:
    counts = np.array([np.bincount(group, minlength=3) for group in groups])
    return Corpus(sparse.csr_matrix(counts))

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse, stats

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.evaluation.log_likelihood import log_exact
from mcsquared.evaluation.perplexity import perplexity, split_halves, with_log_prior
from mcsquared.families import Gaussian
from mcsquared.prediction.parameters import parameters_of_draws
from tests.prediction.models import (
    Counts,
    make_posterior,
    probability_in_cluster,
    probability_of_group,
    words_corpus,
)

BETA = 0.5
DRAW = Counts(
    cluster_of_group=[0] * 12 + [1] * 8,
    topics_in_cluster=[[60, 10], [0, 40]],
    content=[[50, 9, 1], [8, 2, 40]],
    topic_weights=[0.4, 0.3],
    alpha=2.0,
    v=1.5,
    eta=1.2,
)
GROUPS = [[0], [0, 0], [0, 2, 2], [1, 1, 1], [1, 2], []]


def test_enumerated_probabilities_of_all_sequences_sum_to_one():
    every = [[a, b] for a in range(3) for b in range(3)]
    assert sum(probability_of_group(words, DRAW, BETA) for words in every) == pytest.approx(1.0)


def test_exact_is_the_enumerated_probability_of_every_group():
    posterior = make_posterior([DRAW], beta=BETA)
    result = perplexity(
        posterior, words_corpus(GROUPS, 3), "exact", random_state=1, n_repeats=2000, n_new=5
    )
    enumerated = np.log([probability_of_group(words, DRAW, BETA) for words in GROUPS])
    np.testing.assert_allclose(result.log_likelihood, enumerated, atol=0.03)
    n_tokens = sum(map(len, GROUPS))
    assert result.n_tokens == n_tokens
    assert result.value == pytest.approx(math.exp(-result.log_likelihood.sum() / n_tokens))


def test_exact_averages_probabilities_over_draws_not_their_logarithms():
    other = Counts([0] * 20, [[30, 1]], [[0, 29, 1], [1, 0, 0]], [0.5, 0.2], 0.5, 3.0, 0.7)
    posterior = make_posterior([DRAW, other], beta=BETA)
    result = perplexity(posterior, words_corpus(GROUPS, 3), "exact", n_repeats=1000, n_new=5)
    enumerated = [
        0.5 * (probability_of_group(w, DRAW, BETA) + probability_of_group(w, other, BETA))
        for w in GROUPS
    ]
    np.testing.assert_allclose(result.log_likelihood, np.log(enumerated), atol=0.04)


def test_exact_integrates_over_infinitely_many_topics_that_are_not_used_yet():
    """Nearly all the weight is unused: one topic for all of it would repeat its words too often."""
    draw = Counts([0], [[1]], [[1, 0, 0]], [0.1], alpha=1e6, v=5.0, eta=4.0)
    groups = [[0], [1, 1], [2, 2, 2], [0, 1, 2]]
    result = perplexity(
        make_posterior([draw], beta=0.1), words_corpus(groups, 3), "exact", n_repeats=3000
    )
    enumerated = np.log([probability_of_group(words, draw, 0.1) for words in groups])
    np.testing.assert_allclose(result.log_likelihood, enumerated, atol=0.06)


def test_the_new_cluster_is_integrated_and_not_plugged_in():
    """Groups of a cluster never seen: the product of mean word probabilities is far too small."""
    n_words, length = 100, 20
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(n_words, 0.05), 20)
    content = np.array([rng.multinomial(2000, topic) for topic in topics])
    weights = np.full(20, 0.95 / 20)
    draw = Counts([0], [[1] * 20], content, weights, alpha=1e9, v=1.0, eta=1.0)
    rows = []
    for _ in range(60):
        tau = rng.dirichlet(np.full(20, 1.0 / 20))
        rows.append(rng.choice(n_words, length, p=tau @ topics).tolist())
    test = words_corpus(rows, n_words)
    integrated = perplexity(
        make_posterior([draw], beta=0.05), test, "exact", n_new=2000, n_repeats=3
    )
    mean_word = 0.95 * ((content + 0.05) / (content.sum(1, keepdims=True) + 5.0)).mean(0)
    mean_word += 0.05 / n_words
    plugged = -np.log(mean_word)[np.concatenate(rows)].mean()
    assert mean_word.sum() == pytest.approx(1.0)
    assert integrated.value < 0.85 * np.exp(plugged)


def test_contexts_weigh_the_clusters_as_bayes_rule_says():
    sizes, x = [12, 8], np.repeat([1.0, 1.2, np.nan, 3.0, 3.4], 4)
    families = {"x": Gaussian(mean=2.0, strength=0.5, shape=2.0, rate=0.5)}
    posterior = make_posterior([DRAW], {"x": x}, families, beta=BETA)
    family = posterior.priors.contexts["x"]
    test = words_corpus(
        [[0], [0, 2, 2], [1, 2], []], 3, contexts={"x": np.array([1.1, 3.0, np.nan, 2.0])}
    )
    labels = np.array(DRAW.cluster_of_group)
    seen = ~np.isnan(x)
    statistics = np.vstack(
        [family.statistics_by_cluster(x[seen], labels[seen], 2), np.zeros((1, 3))]
    )
    expected = []
    for words, value in zip([[0], [0, 2, 2], [1, 2], []], [1.1, 3.0, None, 2.0], strict=True):
        weight = np.array([*sizes, DRAW.alpha])
        if value is not None:
            weight = weight * np.exp(family.log_predictive(np.array([value]), statistics)[0])
        probability = [probability_in_cluster(words, k, DRAW, BETA) for k in (0, 1, None)]
        expected.append(np.log(weight @ probability / weight.sum()))
    result = perplexity(
        posterior, test, "exact", given_contexts=True, n_repeats=2000, n_new=5, random_state=2
    )
    np.testing.assert_allclose(result.log_likelihood, expected, atol=0.03)
    without = perplexity(posterior, test, "exact", n_repeats=200)
    assert abs(without.log_likelihood[0] - expected[0]) > 0.1
    assert result.given_contexts
    assert not without.given_contexts


def test_completion_is_the_enumerated_conditional_probability():
    """All first halves are alike in groups of equal words, so that the split does not matter."""
    posterior = make_posterior([DRAW], beta=BETA)
    groups = [[0, 0], [1, 1, 1], [2, 2, 2], [1], []]
    result = perplexity(
        posterior, words_corpus(groups, 3), "completion", n_repeats=2000, n_new=5, random_state=3
    )
    observed = [[0], [1, 1], [2, 2]]
    expected = [
        probability_of_group(all_, DRAW, BETA) / probability_of_group(first, DRAW, BETA)
        for all_, first in zip(groups[:3], observed, strict=True)
    ]
    np.testing.assert_allclose(result.log_likelihood[:3], np.log(expected), atol=0.04)
    np.testing.assert_array_equal(result.log_likelihood[3:], 0.0)
    assert result.n_tokens == 3


def test_completion_and_exact_obey_the_chain_rule():
    rng = np.random.default_rng(5)
    test = words_corpus([rng.integers(0, 3, n).tolist() for n in (9, 4, 1, 0)], 3)
    posterior = make_posterior([DRAW, DRAW], beta=BETA, seed=8)
    first, _ = split_halves(test, np.random.default_rng(0))
    whole = perplexity(posterior, test, "exact", random_state=4)
    second = split_halves(test, np.random.default_rng(0))[1]

    def score(given, target):
        draws = parameters_of_draws(posterior, seed=4, n_new=20)
        return log_exact(with_log_prior(draws, posterior, test, False), given, target)

    parts = score(None, first) + score(first, second)
    np.testing.assert_allclose(whole.log_likelihood, parts, rtol=1e-10)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 9])
def test_halves_share_out_every_token_and_the_odd_one_is_observed(n):
    rng = np.random.default_rng(n)
    test = words_corpus([rng.integers(0, 4, n).tolist(), [1, 1, 2]], 4)
    first, second = split_halves(test, rng)
    assert first.content.tokens_per_group.tolist() == [(n + 1) // 2, 2]
    assert second.content.tokens_per_group.tolist() == [n // 2, 1]
    total = first.content.counts + second.content.counts
    np.testing.assert_array_equal(total.toarray(), test.content.counts.toarray())


def test_halves_of_vectors_hold_every_vector_once():
    values = [np.arange(6.0).reshape(3, 2), np.zeros((0, 2)), 10 + np.arange(8.0).reshape(4, 2)]
    first, second = split_halves(Corpus(values), np.random.default_rng(0))
    assert first.content.tokens_per_group.tolist() == [2, 0, 2]
    assert second.content.tokens_per_group.tolist() == [1, 0, 2]
    joined = np.vstack([first.content.values, second.content.values])
    np.testing.assert_array_equal(np.sort(joined[:, 0]), np.sort(np.vstack(values)[:, 0]))


def test_halves_are_chosen_at_random_among_all_tokens():
    test = words_corpus([[0, 1]], 2)
    rng = np.random.default_rng(0)
    observed = [split_halves(test, rng)[0].content.counts[0, 0] for _ in range(2000)]
    assert np.mean(observed) == pytest.approx(0.5, abs=0.05)


def test_exact_of_vectors_is_the_mixture_of_gaussians_it_comes_from():
    """With a great many training tokens the globals are known, and p is a sum over two clusters."""
    rng = np.random.default_rng(1)
    family = Gaussian(mean=0.0, strength=0.1, shape=2.0, rate=1.0)
    n, means, sds = 4_000_000, np.array([-2.0, 1.0]), np.array([0.5, 1.5])
    content = np.stack([np.full(2, n), n * means, n * (sds**2 + means**2)], axis=1)
    shares = np.array([[0.75, 0.25], [0.1, 0.9]])
    draw = Counts([0] * 60 + [1] * 40, shares * n, content, [0.5, 0.5 - 1e-12], alpha=1e-9, v=1.0)
    posterior = make_posterior([draw], content=family)
    groups = [rng.normal(0, 2, (size, 1)) for size in (1, 7, 0, 3)]
    result = perplexity(posterior, Corpus(groups), "exact")
    expected = []
    for values in groups:
        token = stats.norm.pdf(values, means, sds) @ shares.T
        expected.append(np.log(np.prod(token, axis=0) @ [0.6, 0.4]))
    np.testing.assert_allclose(result.log_likelihood, expected, atol=0.02)
    assert result.n_tokens == 11


def known_model(n_groups=200, length=50, seed=0):
    """Four clusters of three or two topics out of ten, each over 10 of 25 words, known well."""
    rng = np.random.default_rng(seed)
    topics = np.full((10, 25), 1e-9)
    for topic in topics:
        topic[rng.choice(25, 10, replace=False)] = 0.1
    shares = np.full((4, 10), 1e-9)
    for cluster, groups in enumerate([(0, 1, 2), (3, 4, 5), (6, 7), (7, 8, 9)]):
        shares[cluster, list(groups)] = 1.0 / len(groups)
    n = 10_000_000
    draw = Counts(
        np.repeat(np.arange(4), 1000),
        np.round(shares * n),
        np.round(topics * n),
        np.full(10, 0.0999999),
        alpha=1e-6,
        v=1.0,
    )
    word = shares @ topics
    word /= word.sum(axis=1, keepdims=True)
    truth = rng.integers(0, 4, n_groups)
    rows = [rng.choice(25, length, p=word[k]).tolist() for k in truth]
    log_word = np.log(word)
    per_group = [np.logaddexp.reduce(log_word[:, r].sum(axis=1) - np.log(4)) for r in rows]
    right = math.exp(-np.sum(per_group) / (n_groups * length))
    return draw, words_corpus(rows, 25), right


def test_printed_formula_is_no_perplexity_of_a_known_model():
    """The exact number is the model's own; the printed one is larger, and depends on labels."""
    draw, test, right = known_model()
    order = np.random.default_rng(3)
    shuffled = draw.permuted(order.permutation(4), order.permutation(10))
    alone, same, mixed = (
        make_posterior(draws, beta=0.01) for draws in ([draw], [draw, draw], [shuffled, draw])
    )
    assert perplexity(alone, test, "exact").value == pytest.approx(right, rel=2e-3)
    assert perplexity(mixed, test, "exact").value == pytest.approx(right, rel=2e-3)
    printed = perplexity(alone, test, "printed").value
    assert printed > 1.3 * right
    assert perplexity(same, test, "printed").value == pytest.approx(printed, rel=1e-12)
    assert perplexity(mixed, test, "printed").value > 1.3 * printed


def test_printed_is_the_appendix_formula_where_labels_leave_no_choice():
    """One cluster and one topic: nothing is left to sample."""
    draw = Counts([0, 0], [[6]], [[3, 2, 1]], [0.9])
    result = perplexity(make_posterior([draw], beta=BETA), words_corpus([[0, 2]], 3), "printed")
    expected = np.log(3.1 / 6.3) + np.log(1.1 / 6.3)
    assert result.log_likelihood[0] == pytest.approx(expected)
    assert "not a probability" in str(result)


def test_printed_handles_draws_with_fewer_clusters_and_topics():
    small = Counts([0] * 20, [[9]], [[4, 3, 2]], [0.8])
    posterior = make_posterior([small, DRAW], beta=BETA)
    result = perplexity(posterior, words_corpus(GROUPS, 3), "printed")
    assert np.isfinite(result.log_likelihood).all()
    assert result.log_likelihood[-1] == 0.0


def test_same_random_state_same_number_and_other_state_another():
    posterior = make_posterior([DRAW], beta=BETA)
    test = words_corpus([[0, 1, 2, 2], [1, 1, 0]], 3)
    for method in ("exact", "completion", "printed"):
        values = [perplexity(posterior, test, method, random_state=s).value for s in (7, 7, 8)]
        assert values[0] == values[1]
        assert values[0] != values[2]


def test_words_unseen_in_training_are_left_out_and_counted():
    posterior = make_posterior([DRAW], beta=BETA)
    known = words_corpus([[0, 2], [1]], 3)
    counts = sparse.csr_matrix(np.array([[1, 0, 1, 5], [0, 1, 0, 0], [0, 0, 0, 2]], np.int32))
    wider = Corpus(counts, vocabulary=["0", "1", "2", "never"])
    result = perplexity(posterior, wider, "exact", random_state=0)
    assert (result.n_tokens, result.n_dropped) == (3, 7)
    assert result.value == perplexity(posterior, known, "exact", random_state=0).value
    assert result.log_likelihood[2] == 0.0


def test_nothing_to_score_has_no_perplexity():
    posterior = make_posterior([DRAW], beta=BETA)
    for method in ("exact", "completion", "printed"):
        assert math.isnan(perplexity(posterior, words_corpus([[], []], 3), method).value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "left_to_right"}, "use 'exact'"),
        ({"n_particles": 0}, "n_particles must be an integer >= 1, got 0"),
        ({"n_kept": 0}, "n_kept must be an integer >= 1, got 0"),
        ({"method": "wrong"}, "method must be one of 'exact', .*, got 'wrong'"),
        ({"random_state": -1}, "random_state must be an integer >= 0, .*, got -1"),
        ({"n_new": 0}, "n_new must be an integer >= 1, got 0"),
        ({"n_repeats": 0}, "n_repeats must be an integer >= 1, got 0"),
    ],
)
def test_bad_arguments_are_named(options, named):
    with pytest.raises(InputError, match=named):
        perplexity(make_posterior([DRAW]), words_corpus(GROUPS, 3), **options)


def test_printed_is_refused_for_vectors():
    draw = Counts([0], [[2]], [[2.0, 0.0, 1.0]], [0.9])
    posterior = make_posterior([draw], content=Gaussian(mean=0.0, rate=1.0))
    with pytest.raises(InputError, match="printed"):
        perplexity(posterior, Corpus([np.zeros((2, 1))]), "printed")


def test_a_model_that_saw_no_tokens_finds_all_words_alike():
    draw = Counts([0, 0], np.zeros((1, 0)), np.zeros((0, 4)), [], eta=3.0)
    posterior = make_posterior([draw], beta=1.0)
    result = perplexity(posterior, words_corpus([[0], [3], []], 4), "exact", n_repeats=2000)
    np.testing.assert_allclose(np.exp(result.log_likelihood), [0.25, 0.25, 1.0], rtol=0.05)
    with pytest.raises(InputError, match="topics"):
        perplexity(posterior, words_corpus([[0]], 4), "printed")

"""Lines 11 to 13 of docs/errata.md: perplexity, the predictive of a word, and identifiability.

Documents of the first two are short enough to list them all, so that nothing is estimated.
"""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import gammaln

from mcsquared.datasets import identifiable_letters, letters
from mcsquared.evaluation import nmi
from mcsquared.families import Categorical
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.init.assignments import state_from_assignments
from mcsquared.samplers.sweep import COLLAPSED

# --- line 11: what a perplexity is ------------------------------------------------------------

# A known model: two clusters, three topics, four words, documents of three words.
CLUSTER = np.array([0.6, 0.4])
TOPIC_GIVEN_CLUSTER = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
WORD_GIVEN_TOPIC = np.array([[0.7, 0.1, 0.1, 0.1], [0.05, 0.8, 0.1, 0.05], [0.1, 0.1, 0.3, 0.5]])
LENGTH = 3
DOCUMENTS = list(product(range(4), repeat=LENGTH))
LABELS = list(product(range(2), product(range(3), repeat=LENGTH)))


def probability(document, cluster=CLUSTER, topics=TOPIC_GIVEN_CLUSTER, words=WORD_GIVEN_TOPIC):
    """p(w) = Σ_k π_k Π_i Σ_m τ_km ψ_mw, the right column."""
    word_given_cluster = topics @ words
    return float(cluster @ word_given_cluster[:, document].prod(axis=1))


def printed_score(document, k, labels, draws):
    """Π_i (1/T) Σ_t τ_km ψ_mw at the document's own sampled cluster and topics."""
    terms = [
        np.mean([topics[k, m] * words[m, w] for topics, words in draws])
        for m, w in zip(labels, document, strict=True)
    ]
    return float(np.prod(terms))


def expected_printed(draws):
    """Return the printed perplexity and Σ_w E[score(w)], labels drawn from their posterior.

    Both are exact: sums over all documents, clusters and topics.
    """
    log_score = total = 0.0
    for document in DOCUMENTS:
        mass = probability(document)
        for k, labels in LABELS:
            chances = (
                TOPIC_GIVEN_CLUSTER[k, list(labels)]
                * WORD_GIVEN_TOPIC[list(labels), list(document)]
            )
            joint = CLUSTER[k] * chances.prod()
            score = printed_score(document, k, labels, draws)
            log_score += joint * np.log(score)
            total += joint / mass * score
    return np.exp(-log_score / LENGTH), total


def true_perplexity():
    masses = np.array([probability(document) for document in DOCUMENTS])
    return np.exp(-(masses * np.log(masses)).sum() / LENGTH)


def test_line_11_the_estimator_is_a_probability_but_the_printed_score_is_not():
    assert sum(map(probability, DOCUMENTS)) == pytest.approx(1.0)
    perplexity, total = expected_printed([(TOPIC_GIVEN_CLUSTER, WORD_GIVEN_TOPIC)])
    assert abs(total - 1.0) > 0.2
    # No model predicts its own data worse than another would: even the truth looks bad.
    assert perplexity > 1.2 * true_perplexity()


def test_line_11_renaming_topics_in_a_second_draw_changes_only_the_printed_score():
    renamed = (TOPIC_GIVEN_CLUSTER[::-1, ::-1], WORD_GIVEN_TOPIC[::-1])
    draws = [(TOPIC_GIVEN_CLUSTER, WORD_GIVEN_TOPIC), renamed]
    for document in DOCUMENTS:
        again = probability(document, CLUSTER[::-1], *renamed)
        assert again == pytest.approx(probability(document))
    one, _ = expected_printed(draws[:1])
    two, _ = expected_printed(draws)
    assert two > 1.1 * one


# --- line 12: the predictive of a word, counts given -------------------------------------------

IN_CLUSTER = np.array([[5, 1], [0, 4]])
IN_TOPIC = np.array([[3, 2, 0], [0, 1, 4]])
V, BETA = 1.6, 0.4
WEIGHTS = np.array([0.45, 0.3])
UNUSED = 1.0 - WEIGHTS.sum()
N_WORDS = IN_TOPIC.shape[1]


def log_joint(in_cluster, in_topic, weights):
    """log p(topics of tokens, words | clusters, root weights), the model's own density."""
    prior = V * weights
    tokens = gammaln(V) - gammaln(V + in_cluster.sum(axis=1))
    cells = gammaln(prior + in_cluster) - gammaln(prior)
    words = gammaln(N_WORDS * BETA) - gammaln(N_WORDS * BETA + in_topic.sum(axis=1))
    each = gammaln(BETA + in_topic) - gammaln(BETA)
    return tokens.sum() + cells.sum() + words.sum() + each.sum()


def next_word_by_the_joint(k):
    """p(word | cluster k, counts) as a ratio of joint densities, topics of the token summed."""
    with_new = np.append(WEIGHTS, UNUSED)
    in_cluster = np.column_stack([IN_CLUSTER, [0, 0]])
    in_topic = np.vstack([IN_TOPIC, np.zeros(N_WORDS, int)])
    result = np.zeros(N_WORDS)
    for m, word in product(range(3), range(N_WORDS)):
        more_cluster, more_topic = in_cluster.copy(), in_topic.copy()
        more_cluster[k, m] += 1
        more_topic[m, word] += 1
        before = log_joint(in_cluster, in_topic, with_new)
        result[word] += np.exp(log_joint(more_cluster, more_topic, with_new) - before)
    return result


def right_means(k):
    topics = (IN_CLUSTER[k] + V * WEIGHTS) / (IN_CLUSTER[k].sum() + V)
    words = (IN_TOPIC + BETA) / (IN_TOPIC.sum(axis=1, keepdims=True) + N_WORDS * BETA)
    return topics @ words + V * UNUSED / (IN_CLUSTER[k].sum() + V) / N_WORDS


def printed_means(k):
    topics = IN_CLUSTER[k] + V * WEIGHTS
    words = (IN_TOPIC + 0.1) / (IN_TOPIC.sum(axis=1, keepdims=True) + N_WORDS * 0.1)
    return topics / topics.sum() @ words


@pytest.mark.parametrize("k", [0, 1])
def test_line_12_the_mean_with_the_new_topic_is_the_predictive_of_the_model(k):
    exact = next_word_by_the_joint(k)
    assert exact.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(right_means(k), exact, rtol=1e-12)
    assert np.abs(printed_means(k) - exact).max() > 0.02


def test_line_12_several_words_require_draws_instead_of_means():
    """The chance that two words of a new cluster are alike, by draws, by means and exactly."""
    rng, n_draws = np.random.default_rng(12), 200_000
    prior = V * np.append(WEIGHTS, UNUSED)
    counts = np.vstack([IN_TOPIC, np.zeros(N_WORDS)])
    gammas = rng.standard_gamma(prior, (n_draws, 3))
    topics = gammas / gammas.sum(axis=1, keepdims=True)
    gammas = rng.standard_gamma(counts + BETA, (n_draws, 3, N_WORDS))
    words = gammas / gammas.sum(axis=2, keepdims=True)
    alike = (np.einsum("nm,nmw->nw", topics, words) ** 2).sum(axis=1)

    shapes = counts + BETA
    size = shapes.sum(axis=1)
    mean = shapes / size[:, None]
    second = (mean @ mean.T) * V / (V + 1.0)
    share = prior / V
    same_topic = (share * (V * share + 1.0)) / (V + 1.0)
    square = (shapes * (shapes + 1.0) / (size * (size + 1.0))[:, None]).sum(axis=1)
    exact = same_topic @ square + sum(
        share[a] * share[b] * second[a, b] for a in range(3) for b in range(3) if a != b
    )
    plugged_in = ((share @ mean) ** 2).sum()
    error = alike.std() / np.sqrt(n_draws)
    assert abs(alike.mean() - exact) < 4 * error
    assert exact - plugged_in > 50 * error


# --- line 13: what the letters can tell --------------------------------------------------------


def log_likelihood(truth, topic_given_cluster, word_given_topic):
    word_given_cluster = (topic_given_cluster @ word_given_topic)[truth.cluster_of_group]
    counts = truth.corpus.content.counts.toarray()
    seen = counts > 0
    return float((counts[seen] * np.log(word_given_cluster[seen])).sum())


def test_line_13_four_topics_explain_four_clusters_as_well_as_thirteen_letters():
    truth = letters(n_groups_per_cluster=5)
    assert truth.word_given_topic.shape == (13, 35)
    thirteen = log_likelihood(truth, truth.topic_given_cluster, truth.word_given_topic)
    blends = truth.topic_given_cluster @ truth.word_given_topic
    assert log_likelihood(truth, np.eye(4), blends) == pytest.approx(thirteen, rel=1e-12)
    assert np.linalg.matrix_rank(blends) == 4


def freedom(topic_given_cluster, word_given_topic, n_directions=10):
    """How far the topics can turn, to first order, without a change of the likelihood.

    Other topics with the same τψ, of full rank, are (I − B)ψ with mixtures τ(I + B). Where ψ or
    τ is zero it may not become negative; B off its diagonal is pushed in random directions as
    far as that allows, every entry within ±1. Zero: the topics are rigid.
    """
    n_topics, rng, limits = len(word_given_topic), np.random.default_rng(13), []
    for k, m in np.argwhere(topic_given_cluster == 0):
        limit = np.zeros((n_topics, n_topics))
        limit[:, m] = -topic_given_cluster[k]
        limits.append(limit.ravel())
    for m, w in np.argwhere(word_given_topic == 0):
        limit = np.zeros((n_topics, n_topics))
        limit[m] = word_given_topic[:, w]
        limits.append(limit.ravel())
    furthest = 0.0
    for _ in range(n_directions):
        push = rng.normal(size=(n_topics, n_topics)) * (1.0 - np.eye(n_topics))
        found = linprog(
            -push.ravel(), A_ub=np.array(limits), b_ub=np.zeros(len(limits)), bounds=(-1, 1)
        )
        furthest = max(furthest, -found.fun)
    return furthest


def test_line_13_many_clusters_of_few_letters_determine_the_letters():
    truth = identifiable_letters()
    blends = truth.topic_given_cluster @ truth.word_given_topic
    assert np.linalg.matrix_rank(blends) == 13
    assert freedom(truth.topic_given_cluster, truth.word_given_topic) < 1e-9


def test_line_13_four_clusters_do_not_determine_the_letters():
    truth = letters(n_groups_per_cluster=1)
    assert freedom(truth.topic_given_cluster, truth.word_given_topic) > 10.0


def test_line_13_started_at_the_truth_the_sampler_keeps_the_clusters_but_not_the_letters():
    truth = letters()
    priors = Priors.for_corpus(truth.corpus, content=Categorical(0.5))
    observations = observe(truth.corpus, priors)
    state = state_from_assignments(
        observations,
        priors,
        truth.cluster_of_group,
        truth.topic_of_token,
        np.random.default_rng(13),
    )
    for _ in range(700):
        COLLAPSED.sweep(state, observations, priors, seed=13, chain=0)
    assert nmi(truth.cluster_of_group, state.cluster_of_group) > 0.95
    assert state.n_topics < 13

"""MGCTM against sums over all states of tiny corpora, quadrature, and corpora drawn from it."""

from collections import Counter, defaultdict
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, roots_genlaguerre
from sklearn.base import clone

from mcsquared import Gamma
from mcsquared.baselines import MGCTM
from mcsquared.baselines.mgctm import (
    MGCTMChain,
    MGCTMDraw,
    Tokens,
    draw_dirichlet_prior,
    reorder_clusters,
)
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.evaluation import adjusted_rand_index
from mcsquared.kernels.cpu.counts import draw_table_counts
from mcsquared.kernels.cpu.switched_topics import log_evidence
from mcsquared.samplers.types import Key
from tests.baselines.enumeration import visit
from tests.statistics.agreement import distance
from tests.statistics.tiny import canonical

TINY = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 2]])
UNEVEN = np.array([[2, 2, 0], [0, 2, 2]])  # the first tokens of a group say little about the others
SMALL = np.array([[2, 1, 0], [1, 2, 0]])
FIXED = {
    "local_prior": 0.7,
    "global_prior": 1.3,
    "switch_prior": 0.6,
    "cluster_prior": 0.8,
    "concentration": 0.05,
}
LEARNED = FIXED | {
    "local_prior": Gamma(2, 1.5),
    "global_prior": Gamma(0.5, 1),
    "switch_prior": Gamma(1, 0.5),
}


def log_dirichlet_multinomial(counts, alpha):
    """log p of one sequence with these counts (..., n), shares ~ Dir(alpha) integrated out."""
    alpha = np.broadcast_to(alpha, counts.shape)
    total = alpha.sum(axis=-1)
    return (
        gammaln(total)
        - gammaln(total + counts.sum(axis=-1))
        + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1)
    )


@cache
def log_density_of_rows(rows, prior):
    """log p of sequences with these counts and a common Dirichlet prior, fixed or integrated out.

    Gauss-Laguerre quadrature of two entries, which are independent under a Gamma prior.
    """
    if not rows or len(rows[0]) == 1:
        return 0.0
    if not isinstance(prior, Gamma):
        return sum(log_dirichlet_multinomial(np.array(row), prior) for row in rows)
    nodes, weights = roots_genlaguerre(60, prior.shape - 1)
    alpha = np.stack(np.meshgrid(nodes, nodes), axis=-1) / prior.rate
    logs = sum(log_dirichlet_multinomial(np.broadcast_to(row, alpha.shape), alpha) for row in rows)
    weights = weights / weights.sum()
    return float(np.log(weights @ np.exp(logs) @ weights))


def log_joint(word, group, clusters, topics, model, n_words=3):
    """log p(clusters, topics, words) of MGCTM, by counting afresh.

    ``word``, ``group`` and ``topics`` have one entry per token; a global topic g has the label
    n_local_topics + g.
    """
    n_local, words_in_topic = model.n_local_topics, {}
    cells = [[0] * (n_local + model.n_global_topics) for _ in clusters]
    for w, j, m in zip(word, group, topics, strict=True):
        cells[j][m] += 1
        topic = (clusters[j], m) if m < n_local else m
        words_in_topic.setdefault(topic, [0] * n_words)[w] += 1
    local = [[] for _ in range(model.n_clusters)]
    for k, row in zip(clusters, cells, strict=True):
        local[k].append(tuple(row[:n_local]))
    factors = [((tuple(n),), model.concentration) for n in words_in_topic.values()]
    factors += [(tuple(sorted(rows)), model.local_prior) for rows in local]
    common = sorted(tuple(row[n_local:]) for row in cells)
    switch = sorted((sum(row[:n_local]), sum(row[n_local:])) for row in cells)
    factors += [(tuple(common), model.global_prior), (tuple(switch), model.switch_prior)]
    sizes = tuple(len(rows) for rows in local)
    return sum(
        log_density_of_rows(*factor) for factor in [*factors, ((sizes,), model.cluster_prior)]
    )


def all_states(counts, model):
    """{(clusters, topics of all tokens): log p} of every state, but for swaps of two clusters."""
    group, word = (side.tolist() for side in np.nonzero(counts))
    repeats = counts[group, word]
    group, word = np.repeat(group, repeats).tolist(), np.repeat(word, repeats).tolist()
    n_topics = model.n_local_topics + model.n_global_topics
    return {
        (clusters, topics): log_joint(word, group, clusters, topics, model)
        for clusters in product([0], *[range(model.n_clusters)] * (len(counts) - 1))
        for topics in product(range(n_topics), repeat=len(word))
    }


def summary(clusters, topics, n_local):
    """The partition of the groups, the number of local tokens, the sizes of global topics."""
    sizes = Counter(m for m in topics if m >= n_local)
    return canonical(clusters), sum(m < n_local for m in topics), tuple(sorted(sizes.values()))


def exact_posterior(counts, model):
    """{summary: probability}."""
    exact = defaultdict(float)
    for state, log_density in all_states(counts, model).items():
        exact[summary(*state, model.n_local_topics)] += np.exp(log_density)
    total = sum(exact.values())
    return {seen: weight / total for seen, weight in exact.items()}


@pytest.mark.parametrize(
    ("model", "counts", "n_sweeps"),
    [
        (MGCTM(2, 2, 1, init="random", **FIXED), UNEVEN, 6_000),
        (MGCTM(2, 2, 2, init="random", **LEARNED), SMALL, 6_000),
        pytest.param(
            MGCTM(2, 2, 1, init="random", **FIXED), UNEVEN, 30_000, marks=pytest.mark.calibrate
        ),
        pytest.param(
            MGCTM(2, 2, 2, init="random", **LEARNED), SMALL, 12_000, marks=pytest.mark.calibrate
        ),
    ],
    ids=["fixed priors", "learned priors", "fixed priors, long", "learned priors, long"],
)
def test_clusters_and_switches_follow_the_exact_posterior(model, counts, n_sweeps):
    chain = MGCTMChain(model, Corpus(counts), seed=3)

    def labels_of_state():
        topics = chain.topic_of_token.tolist()
        return summary(chain.cluster_of_group.tolist(), topics, model.n_local_topics)

    visits = visit(chain.sweep, labels_of_state, n_sweeps, exact_posterior(counts, model))
    for what in (lambda state: state[0], lambda state: state[1:], lambda state: state):
        found = distance(visits, what)
        assert found.total_variation < 0.005 + 2 * found.expected
        assert found.largest_z < 4.5


@pytest.fixture(scope="module")
def tiny():
    """A model with fixed priors and a chain."""
    model = MGCTM(2, 2, 1, init="random", **FIXED)
    return model, MGCTMChain(model, Corpus(TINY), seed=3)


def test_counts_are_those_of_the_labels(tiny):
    _, chain = tiny
    chain.sweep()
    model, n_local = chain.model, chain.model.local_prior.shape[1]
    group = np.repeat(np.arange(3), np.diff(chain.tokens.group_start))
    again = np.zeros_like(model.words_in_topic)
    for w, j, m in zip(chain.tokens.word, group, chain.topic_of_token, strict=True):
        column = chain.cluster_of_group[j] * n_local + m
        again[w, column if m < n_local else 2 * n_local + m - n_local] += 1
    assert np.array_equal(model.words_in_topic, again)
    assert np.array_equal(model.tokens_in_topic, again.sum(axis=0))
    assert (
        model.groups_in_cluster.tolist()
        == np.bincount(chain.cluster_of_group, minlength=2).tolist()
    )


def test_the_likelihood_of_a_new_group_is_a_sum_over_its_topics(tiny):
    model, chain = tiny
    group = np.repeat(np.arange(3), np.diff(chain.tokens.group_start)).tolist()
    word, new = chain.tokens.word.tolist(), [0, 2, 2]
    clusters, labels = chain.cluster_of_group.tolist(), chain.topic_of_token.tolist()
    before, expected = log_joint(word, group, clusters, labels, model), np.zeros(2)
    for k in range(2):
        for topics in product(range(3), repeat=3):
            with_new = (word + new, [*group, 3, 3, 3], [*clusters, k], [*labels, *topics])
            expected[k] += np.exp(log_joint(*with_new, model) - before)
    out = np.zeros((1, 2, 40_000))
    tokens = Tokens(np.array([0, 3]), np.array(new, np.int32))
    counts = chain.model.words_in_topic.copy()
    log_evidence(*tokens, chain.model, Key(0, 0, 0), out)
    sizes = chain.model.groups_in_cluster + model.cluster_prior
    found = np.exp(out[0]).mean(axis=1) * sizes / sizes.sum()
    assert found == pytest.approx(expected, rel=0.02)
    assert np.array_equal(chain.model.words_in_topic, counts)


def test_a_dirichlet_prior_follows_its_posterior():
    counts, prior = np.array([[5, 1], [3, 0], [0, 0], [7, 2]], np.int32), Gamma(2, 1.5)
    grid = np.exp(np.linspace(-9, 5, 400))
    first, second = np.meshgrid(grid, grid, indexing="ij")
    alpha = np.stack([first, second], axis=-1)
    logs = stats.gamma(2, scale=1 / 1.5).logpdf(alpha).sum(axis=-1) + np.log(alpha).sum(axis=-1)
    logs += sum(
        log_dirichlet_multinomial(np.broadcast_to(row, alpha.shape), alpha) for row in counts
    )
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    rng, current, draws = np.random.default_rng(0), np.ones(2), np.empty((8000, 2))
    for t in range(len(draws)):
        tables = draw_table_counts(counts, current, Key(0, 0, t))
        current = draw_dirichlet_prior(current, prior, counts, tables, rng)
        draws[t] = current
    for m, marginal in enumerate((weights.sum(axis=1), weights.sum(axis=0))):
        mean = (marginal * grid).sum()
        assert draws[:, m].mean() == pytest.approx(mean, rel=0.05)
        below = np.searchsorted(np.sort(draws[:, m]), grid) / len(draws)
        assert np.abs(below - np.cumsum(marginal)).max() < 0.03


def simulated(n_groups=120, n_tokens=60, seed=0):
    """A corpus drawn from MGCTM with topics on few words: (corpus, clusters, local topics)."""
    rng = np.random.default_rng(seed)
    n_clusters, n_local, n_global, n_words = 4, 2, 2, 60
    clusters = rng.integers(n_clusters, size=n_groups)
    local = rng.dirichlet(np.full(n_words, 0.08), (n_clusters, n_local))
    common = rng.dirichlet(np.full(n_words, 0.08), n_global)
    counts = np.zeros((n_groups, n_words), int)
    for j, k in enumerate(clusters):
        share = rng.beta(3.0, 3.0)
        mixture = share * rng.dirichlet(np.ones(n_local)) @ local[k]
        mixture += (1 - share) * rng.dirichlet(np.ones(n_global)) @ common
        counts[j] = rng.multinomial(n_tokens, mixture / mixture.sum())
    return Corpus(counts), clusters, local


@pytest.fixture(scope="module")
def fitted():
    corpus, clusters, local = simulated()
    model = MGCTM(4, 2, 2, n_sweeps=150, burn_in=100, random_state=0)
    return model.fit(corpus[:100]), corpus, clusters, local


def test_simulated_clusters_are_recovered(fitted):
    model, corpus, clusters, _ = fitted
    assert adjusted_rand_index(model.labels_, clusters[:100]) > 0.9
    assert adjusted_rand_index(model.predict(corpus[100:]), clusters[100:]) > 0.8
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    chances = model.predict_proba(corpus)
    assert chances.shape == (120, model.n_clusters_) == (120, 4)
    assert chances.sum(axis=1) == pytest.approx(np.ones(120))
    assert (chances[:100].argmax(axis=1) == model.labels_).mean() > 0.95


def test_simulated_local_topics_are_recovered(fitted):
    model, _, clusters, local = fitted
    assert model.local_components_.shape == (4, 2, 60)
    assert model.global_components_.shape == (2, 60)
    for k in range(4):
        truth = np.bincount(clusters[:100][model.labels_ == k]).argmax()
        distances = 0.5 * np.abs(model.local_components_[k][:, None] - local[truth][None]).sum(
            axis=2
        )
        assert min(np.trace(distances), np.trace(distances[::-1])) / 2 < 0.3


def test_random_clusters_as_a_start_are_left_behind(fitted):
    _, corpus, clusters, _ = fitted
    model = MGCTM(4, 2, 2, init="random", n_sweeps=150, burn_in=100, random_state=1)
    assert adjusted_rand_index(model.fit_predict(corpus), clusters) > 0.6


def test_the_same_seed_gives_the_same_labels():
    corpus = simulated(n_groups=20)[0]
    short = MGCTM(3, 2, 2, n_sweeps=8, burn_in=4, keep_parameters=2, random_state=5)
    first, again = short.fit(corpus), clone(short).fit(corpus)
    assert np.array_equal(first.labels_, again.labels_)
    assert np.array_equal(first.global_components_, again.global_components_)
    assert np.array_equal(first.predict_proba(corpus), again.predict_proba(corpus))
    other = clone(short).set_params(random_state=6).fit(corpus)
    assert not np.array_equal(first.global_components_, other.global_components_)
    assert len(first.draws_) == 2


def test_reordered_clusters_keep_their_groups_and_topics(tiny):
    chain = tiny[1]
    draw = chain.draw()
    changed = reorder_clusters(draw, np.array([1, 0]))
    assert isinstance(changed, MGCTMDraw)
    assert np.array_equal(changed.cluster_of_group, 1 - draw.cluster_of_group)
    assert np.array_equal(
        changed.model.words_in_topic, draw.model.words_in_topic[:, [2, 3, 0, 1, 4]]
    )
    assert np.array_equal(changed.model.groups_in_cluster, draw.model.groups_in_cluster[::-1])


def test_groups_without_words_are_in_the_largest_cluster():
    counts = simulated(n_groups=12)[0].content.counts.toarray()
    counts[[0, 7]] = 0
    model = MGCTM(2, 2, 2, n_sweeps=6, burn_in=3, random_state=0).fit(Corpus(counts))
    assert model.labels_.shape == (12,)
    assert model.predict(Corpus(np.zeros((2, 60), int))).tolist() == [0, 0]


def test_words_unseen_in_training_are_left_out():
    train = [["a", "b", "a"], ["c", "d", "c"]] * 4
    model = MGCTM(2, 1, 1, n_sweeps=20, burn_in=10, random_state=0).fit(train)
    assert np.array_equal(model.predict_proba([["a", "b", "z"]]), model.predict_proba([["a", "b"]]))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer >= 1, got 0"),
        ({"n_local_topics": 1.5}, "n_local_topics must be an integer >= 1, got 1.5"),
        ({"n_global_topics": 0}, "n_global_topics must be an integer >= 1, got 0"),
        ({"local_prior": 0}, "local_prior must be a positive number or a Gamma prior, got 0"),
        ({"switch_prior": "x"}, "switch_prior must be a positive number or a Gamma prior, got 'x'"),
        ({"cluster_prior": -1.0}, "cluster_prior must be a positive number, got -1.0"),
        ({"concentration": np.nan}, "concentration must be a positive number, got nan"),
        ({"init": "best"}, "init must be 'kmeans' or 'random', got 'best'"),
        ({"burn_in": 600}, r"n_sweeps must exceed burn_in \(600\) by at least 1, got 600"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(change, sentence):
    with pytest.raises(InputError, match=sentence):
        MGCTM(**change).fit(TINY)


def test_content_without_words_is_refused():
    with pytest.raises(InputError, match="X must have at least one word, got none"):
        MGCTM(2).fit(Corpus(np.zeros((3, 2), int)))
    with pytest.raises(InputError):
        MGCTM(2).fit([np.ones((2, 3)) * 0.5])

"""New groups whose contexts act on topics, against sums over all clusters, values and topics."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

import mcsquared as mc2
from mcsquared.corpus import Column, Corpus
from mcsquared.errors import InputError
from mcsquared.model.effects import Effect
from mcsquared.prediction import fold_in
from mcsquared.prediction.contexts import _summarise_bins
from mcsquared.prediction.effects import EffectRows
from mcsquared.prediction.fold_in import (
    Iterations,
    estimate_log_probability,
    fold_in_groups,
    predict_values_of_groups,
)
from tests.prediction.enumeration import small_parameters, summed
from tests.prediction.models import words_corpus

GROUPS = [[0], [1, 2, 3], [2, 2, 1], [0, 1, 3, 3], []]
KIND = np.array(["a", "b", None, "a", "b"], object)
TAGS = [["x"], ["x", "y"], ["y"], [], []]
WEIGHTS = np.array([0.5, 0.3, 0.2])
EFFECTS = {"kind": Effect(2), "tags": Effect(2)}
SHARES = np.array([[0.8, 0.1, 0.1], [0.1, 0.2, 0.7], [0.2, 0.6, 0.2], [0.05, 0.05, 0.9]])
LOG_VALUES = np.log([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])


def parameters(lam=1.5, predicted=None):
    rows = EffectRows(EFFECTS, np.log(SHARES), WEIGHTS, predicted)
    return replace(small_parameters(lam), effects=rows)


def corpus():
    return words_corpus(GROUPS, 4).with_contexts({"kind": KIND, "tags": TAGS})


def base(tau, j, kind):
    """b_j in every cluster, by hand: the parents that a group lacks drop out."""
    parts, total = WEIGHTS[0] * tau, WEIGHTS[0]
    if kind is not None:
        parts, total = parts + WEIGHTS[1] * SHARES["ab".index(kind)], total + WEIGHTS[1]
    if TAGS[j]:
        items = np.mean([SHARES[2 + "xy".index(tag)] for tag in TAGS[j]], axis=0)
        parts, total = parts + WEIGHTS[2] * items, total + WEIGHTS[2]
    return parts / total


def enumerated(given, log_prior, kinds=KIND):
    tau, psi = np.exp(given.log_topic_given_cluster), np.exp(given.content_parameters)
    priors = np.exp(log_prior - logsumexp(log_prior, axis=1, keepdims=True))
    return [
        summed(psi[:, words].T, priors[j], base(tau, j, kinds[j]), given.lam)
        for j, words in enumerate(GROUPS)
    ]


def prior_of(given):
    return np.tile(given.log_weight_of_cluster, (len(GROUPS), 1))


@pytest.mark.parametrize("lam", [0.5, 20.0])
def test_folded_groups_follow_their_cluster_and_their_contexts(lam):
    given = parameters(lam)
    log_prior = prior_of(given)
    folded = fold_in_groups(corpus(), given, log_prior, Iterations(n_kept=10_000))
    for j, exact in enumerate(enumerated(given, log_prior)):
        np.testing.assert_allclose(np.exp(folded.log_cluster[j]), exact.cluster, atol=0.02)
        np.testing.assert_allclose(folded.topics[j], exact.topics, atol=0.02)


def test_left_to_right_is_unbiased_with_effects():
    n, given = 300, parameters(2.0)
    log_prior = prior_of(given)
    drawn = [replace(given, key=(7, i)) for i in range(n)]
    found = [estimate_log_probability(corpus(), one, log_prior, 2, 1) for one in drawn]
    exact = np.array([sums.probability for sums in enumerated(given, log_prior)])
    relative = np.exp(found) / exact
    error = relative.std(axis=0) / np.sqrt(n)
    assert (np.abs(relative.mean(axis=0) - 1.0) < 4.0 * error + 1e-9).all()


@pytest.mark.parametrize("joint", [0, 100])
@pytest.mark.parametrize("lam", [0.5, 20.0])
def test_predicted_values_are_the_enumerated_ones(lam, joint, monkeypatch):
    monkeypatch.setattr(fold_in, "JOINT_MOVE_TOKENS", joint)
    given = parameters(lam, predicted="kind")
    log_prior = prior_of(given)
    found = predict_values_of_groups(
        corpus(), given, log_prior, LOG_VALUES, Iterations(n_kept=20_000)
    )
    tau, psi = np.exp(given.log_topic_given_cluster), np.exp(given.content_parameters)
    for j, words in enumerate(GROUPS):
        exact = np.zeros(2)
        for k, value in product(range(3), range(2)):
            prior = np.exp(log_prior[j, k] + LOG_VALUES[k, value])
            rows = base(tau, j, "ab"[value])[k : k + 1]
            exact[value] += summed(psi[:, words].T, np.array([prior]), rows, lam).probability
        np.testing.assert_allclose(np.exp(found[j]), exact / exact.sum(), atol=0.015)


def planted(n_groups=120, seed=0):
    """Groups whose words depend on place, year and opening hours, and on nothing else."""
    rng = np.random.default_rng(seed)
    place, year = rng.integers(0, 3, n_groups), rng.uniform(1990, 2010, n_groups)
    late = rng.random(n_groups) < 0.5
    rates = np.full((n_groups, 25), 0.2)
    for j in range(n_groups):
        rates[j, 5 * place[j] : 5 * place[j] + 5] += 4.0
        rates[j, 15:20] += 4.0 * (year[j] > 2000)
        rates[j, 20:] += 4.0 * late[j]
    names = np.array(["hill", "lake", "sea"], object)[place]
    return Corpus(rng.poisson(rates), {"place": names, "year": year, "late": late})


@pytest.fixture(scope="module")
def fitted():
    options = {"n_sweeps": 60, "burn_in": 30, "random_state": 0, "progress": False}
    return mc2.MC2(effects=["place", "year", "late"], **options).fit(planted())


def test_values_of_contexts_are_predicted_from_content(fitted):
    new = planted(seed=1)
    first = fitted.predict_context(new, "place", top=3)
    best = first[first["rank"] == 1]
    truth = new.contexts["place"].categories[new.contexts["place"].values]
    assert (best["value"].to_numpy() == truth).mean() > 0.9
    assert first.groupby("group")["probability"].sum().to_numpy() == pytest.approx(1.0)
    late = fitted.predict_context(new, "late", top=1)
    assert (late["value"].to_numpy() == (new.contexts["late"].values > 0)).mean() > 0.9


def test_numbers_are_predicted_with_intervals(fitted):
    new = planted(seed=2)
    found, year = fitted.predict_context(new, "year"), new.contexts["year"].values
    assert list(found) == ["group", "mean", "sd", "lower", "upper"]
    inside = (found["lower"] <= year) & (year <= found["upper"])
    assert 0.8 < inside.mean() <= 1.0
    assert np.corrcoef(found["mean"], year)[0, 1] > 0.7


def test_intervals_of_few_values_have_a_probability_near_their_level():
    column = Column("year", "number", np.repeat(np.arange(2000.0, 2005.0), 10))
    effect = Effect(5, (2001.0, 2002.0, 2003.0, 2004.0))
    chances = [
        [0.04, 0.03, 0.89, 0.02, 0.02],
        [0.2] * 5,
        [0, 0, 0, 0, 1],
        [0.08, 0.5, 0.3, 0.12, 0],
        [0.15, 0.7, 0.15, 0, 0],
    ]
    found = _summarise_bins(np.array(chances), column, effect, np.arange(5))
    assert found["lower"].tolist() == [2002, 2000, 2004, 2001, 2001]
    assert found["upper"].tolist() == [2002, 2004, 2004, 2003, 2002]
    assert found["mean"].to_numpy() == pytest.approx([2001.95, 2002, 2004, 2001.46, 2001])


def test_effects_are_differences_from_the_average_with_intervals(fitted):
    table = fitted.posterior_.effects("place")
    assert list(table) == ["value", "topic", "effect", "low", "high"]
    n_topics = fitted.posterior_.n_listed_topics
    assert len(table) == 3 * n_topics
    clear = table[table["effect"].abs() > 0.01]  # the means of rare topics are skewed
    assert (clear["low"] <= clear["effect"]).all()
    assert (clear["effect"] <= clear["high"]).all()
    assert (table["low"] <= table["high"]).all()
    words = fitted.components_[:n_topics].argmax(axis=1)
    for value, first in (("hill", 0), ("lake", 5), ("sea", 10)):
        rows = table[table["value"] == value].set_index("topic")
        top = rows["effect"].idxmax()
        assert first <= words[top] < first + 5
        assert rows.loc[top, "low"] > 0.0
    with pytest.raises(InputError, match=r"one of the effects of this model \('place', 'year', "):
        fitted.posterior_.effects("tags")


def test_shares_and_perplexity_use_contexts(fitted):
    new = planted(40, seed=3)
    assert fitted.transform(new).sum(axis=1) == pytest.approx(1.0)
    assert fitted.predict_proba(new).sum(axis=1) == pytest.approx(1.0)
    without = fitted.perplexity(new, given_contexts=False)
    given = fitted.perplexity(new, given_contexts=True)
    assert given < without

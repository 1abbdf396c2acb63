"""Whatever the model and the new groups are, predictions are probabilities."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mcsquared.evaluation.perplexity import perplexity, whole_group_method
from mcsquared.prediction.contexts import context_distribution
from mcsquared.prediction.groups import cluster_probabilities, topic_proportions
from tests.prediction.models import Counts, make_posterior, words_corpus


@st.composite
def models(draw):
    """A consistent posterior of one or two draws, and new groups with words and contexts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups, n_words = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    draws = []
    lam = draw(st.sampled_from([np.inf, 1e-3, 1.0, 1e3]))
    for _ in range(draw(st.integers(1, 2))):
        labels = np.unique(rng.integers(0, 3, n_groups), return_inverse=True)[1]
        n_clusters, n_topics = labels.max() + 1, int(rng.integers(1, 4))
        topics = rng.integers(0, 5, (n_clusters, n_topics))
        topics[0] += topics.sum(axis=0) == 0
        content = np.array(
            [rng.multinomial(n, np.full(n_words, 1 / n_words)) for n in topics.sum(0)]
        )
        weights = rng.dirichlet(np.ones(n_topics + 1))[:-1]
        concentrations = 10.0 ** rng.uniform(-3, 3, 3)
        tables = None if np.isinf(lam) else np.minimum(topics, rng.integers(1, 5, topics.shape))
        draws.append(Counts(labels, topics, content, weights, *concentrations, lam, tables))
    contexts = {
        "x": np.where(rng.random(n_groups) < 0.3, np.nan, rng.normal(2000, 5, n_groups)),
        "kind": [None if rng.random() < 0.3 else "abc"[i] for i in rng.integers(0, 3, n_groups)],
    }
    contexts["x"][0], contexts["kind"][0] = 2001.0, "a"
    posterior = make_posterior(draws, contexts, beta=10.0 ** rng.uniform(-4, 1))
    n_new = draw(st.integers(1, 4))
    words = [rng.integers(0, n_words, rng.integers(0, 8)).tolist() for _ in range(n_new)]
    far = np.where(rng.random(n_new) < 0.5, np.nan, rng.normal(0, 1e6, n_new))
    kinds = [None if rng.random() < 0.3 else "abz"[i] for i in rng.integers(0, 3, n_new)]
    kinds[0] = "z"
    far[0] = 1999.0
    return posterior, words_corpus(words, n_words, contexts={"x": far, "kind": kinds})


@settings(max_examples=60, deadline=None)
@given(models())
def test_predictions_are_probabilities(model):
    posterior, test = model
    probability, new = cluster_probabilities(posterior, test)
    topics = topic_proportions(posterior, test)
    for rows, width in ((probability, posterior.n_clusters), (topics, posterior.n_topics)):
        assert rows.shape == (test.n_groups, width)
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-9)
    assert ((new >= 0) & (new <= 1)).all()
    kinds = context_distribution(posterior, test, "kind")
    np.testing.assert_allclose(kinds.groupby("group")["probability"].sum(), 1.0, rtol=1e-9)
    numbers = context_distribution(posterior, test, "x")
    assert (numbers["lower"] <= numbers["upper"]).all()
    assert np.isfinite(numbers[["mean", "sd", "lower", "upper"]].to_numpy()).all()


@settings(max_examples=40, deadline=None)
@given(models(), st.sampled_from(["whole", "completion", "printed"]), st.booleans())
def test_perplexities_are_numbers_of_at_least_one(model, method, given_contexts):
    """But for the noise of an estimate: a probability may be taken for a little more than 1."""
    posterior, test = model
    whole = whole_group_method(posterior)
    if whole == "left_to_right" and method == "printed":
        return
    method = whole if method == "whole" else method
    result = perplexity(posterior, test, method, given_contexts, random_state=0)
    assert result.log_likelihood.shape == (test.n_groups,)
    tolerance = 2.0 if method == "left_to_right" else 1e-9
    assert (result.log_likelihood <= tolerance).all()
    assert np.isfinite(result.log_likelihood).all()
    if result.n_tokens:
        assert result.value >= np.exp(-tolerance)
    else:
        assert np.isnan(result.value)

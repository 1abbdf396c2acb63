"""Fits and scores of the experiments: perplexities of each model, agreement, sizes."""

import numpy as np
import pytest

import mcsquared as mc2
from experiments.fits import agreement, fit_mc2, fit_topics, perplexities, sizes
from experiments.running import Setting

TINY = Setting("tiny")


@pytest.fixture(scope="module")
def corpus():
    return mc2.datasets.letters(6, 30, random_state=0).corpus


@pytest.mark.parametrize(
    ("lam", "names"),
    [
        ("inf", {"completion", "exact", "exact_few", "printed"}),
        ("learnt", {"completion", "left_to_right"}),
    ],
)
def test_every_model_has_the_perplexities_that_it_supports(corpus, lam, names):
    model = fit_mc2(corpus, {}, lam, 0, TINY)
    scores = perplexities(model, corpus, 4)
    assert set(scores) == names
    # The printed formula is not a probability of the held-out words, so it has no upper bound.
    assert all(1.0 < score < 200.0 for name, score in scores.items() if name != "printed")
    assert scores.get("printed", 2.0) > 1.0
    assert model.posterior_.priors.contexts == {}


def test_a_few_groups_are_evenly_spaced_and_scored_like_all(corpus):
    model = fit_mc2(corpus, {}, "inf", 0, TINY)
    scores = perplexities(model, corpus, corpus.n_groups)
    assert scores["exact_few"] == scores["exact"]
    spaced = corpus[np.array([0, corpus.n_groups - 1])]
    assert perplexities(model, corpus, 2)["exact_few"] == model.perplexity(spaced, "exact")


def test_sizes_are_means_over_stored_draws_alone(corpus):
    model = fit_mc2(corpus, {}, "inf", 0, TINY)
    trace = model.posterior_.trace
    assert sizes(model)["n_topics"] == trace.loc[trace["kept"], "n_topics"].mean()
    hdp = fit_topics(mc2.baselines.HDP, corpus, 0, TINY)
    assert sizes(hdp) == {"n_topics": hdp.trace_.loc[hdp.trace_["kept"], "n_topics"].mean()}


def test_the_true_classes_agree_with_themselves():
    truth = np.array(["a", "a", "b", "c"])
    same = agreement(truth, [5, 5, 2, 7])
    assert same.pop("n_clusters") == 3
    assert all(score == pytest.approx(1.0) for score in same.values())
    assert agreement(truth, [0, 0, 0, 0])["purity"] == 0.5

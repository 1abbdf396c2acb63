"""A user-defined family, as context and as content."""

import copy
import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.metrics import homogeneity_score

import mcsquared as mc2
from mcsquared.errors import InputError
from mcsquared.evaluation.perplexity import perplexity
from mcsquared.families import ConjugateFamily, Poisson
from mcsquared.prediction.groups import cluster_probabilities, topic_proportions
from tests.estimator.small import COUNTS, N, arrays, check, model, rng

COLLAPSED = {"sampler": "collapsed", "lam": np.inf}


@dataclass(frozen=True)
class Visits(ConjugateFamily):
    """Counts with a gamma prior of their rate, as a user would write it."""

    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, float)
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats):
        shape, rate = 1.5 + stats[..., 1], 0.4 + stats[..., 0]
        return gammaln(shape) - shape * np.log(rate)

    def log_base(self, x):
        return -gammaln(np.asarray(x, float) + 1)


def two_kinds(n_tokens=12):
    """Groups of two kinds, with counts as content and as context; one context is missing."""
    draw = np.random.default_rng(5)
    kind = np.arange(24) % 2
    high = [draw.random((n_tokens, 1)) < 0.15 + 0.7 * k for k in kind]
    X = [draw.poisson(np.where(row, 30.0, 2.0)).astype(float) for row in high]
    visits = draw.poisson(np.where(kind, 40.0, 4.0)).astype(float)
    visits[3] = np.nan
    return kind, X, {"visits": visits}


@pytest.mark.parametrize("options", [{}, {"lam": np.inf}], ids=["defaults", "λ = ∞"])
def test_three_functions_are_enough_for_a_fit(options):
    kind, X, contexts = two_kinds()

    def fit(family, n_jobs):
        settings = {"n_sweeps": 60, "burn_in": 30, "n_jobs": n_jobs} | options
        chosen = {"content": family, "contexts": {"visits": family}}
        return model(**settings, **chosen).fit(X, contexts=contexts)

    custom, again, twin = fit(Visits(), 1), fit(Visits(), 2), fit(Poisson(1.5, 0.4), 1)
    for fitted in (custom, twin):
        assert homogeneity_score(kind, fitted.labels_) == pytest.approx(1.0)
        assert fitted.n_clusters_ <= 4
        check(fitted, X, n_groups=24)
    np.testing.assert_array_equal(again.labels_, custom.labels_)
    assert (
        again.posterior_.trace["log_joint"].tolist()
        == custom.posterior_.trace["log_joint"].tolist()
    )


def with_drawn_parameters(posterior):
    """Return the same draws under a family that has the same statistics, and draws parameters."""
    twin = copy.copy(posterior)
    twin.priors = dataclasses.replace(posterior.priors, content=Poisson(1.5, 0.4))
    return twin


@pytest.mark.parametrize("lam", [4.0, np.inf])
def test_predictions_of_three_functions_are_nearly_those_of_drawn_parameters(lam):
    """Topics that hold hundreds of tokens leave little to draw."""
    _, X, _ = two_kinds(40)
    custom = model(content=Visits(), n_sweeps=200, burn_in=80, keep_parameters=60, lam=lam).fit(X)
    corpus, twin = mc2.Corpus(X), with_drawn_parameters(custom.posterior_)
    np.testing.assert_allclose(
        custom.predict_proba(X), cluster_probabilities(twin, corpus)[0], atol=0.1
    )
    # Shares of topics that are alike are sampled, and differ from group to group.
    assert np.abs(custom.transform(X) - topic_proportions(twin, corpus)).mean() < 0.03
    for method in ("completion", "exact" if np.isinf(lam) else "left_to_right"):
        assert custom.perplexity(X, method) == pytest.approx(
            float(perplexity(twin, corpus, method)), rel=0.02
        )


def test_the_probability_of_one_token_is_exact_for_three_functions():
    """Where topics hold few tokens, the mean over drawn parameters must be the predictive."""
    _, X, _ = two_kinds(2)
    custom = model(content=Visits(), lam=np.inf).fit(X).posterior_
    new = mc2.Corpus([np.array([[float(x)]]) for x in (0, 2, 7, 15, 31)])
    found, expected = (
        perplexity(posterior, new, "exact", n_repeats=100).log_likelihood
        for posterior in (custom, with_drawn_parameters(custom))
    )
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_a_run_with_a_user_family_resumes_where_it_stopped(tmp_path):
    _, X, contexts = two_kinds(3)
    options = {"content": Visits(), "contexts": {"visits": Visits()}}
    whole = model(**options).fit(X, contexts=contexts)
    stop = model(
        **options, checkpoint=str(tmp_path / "run"), callbacks=[lambda info: info.sweep == 5]
    )
    stop.fit(X, contexts=contexts)
    resumed = model(**options, checkpoint=str(tmp_path / "run")).fit(X, contexts=contexts)
    np.testing.assert_array_equal(
        resumed.posterior_.cluster_of_group, whole.posterior_.cluster_of_group
    )


@pytest.mark.parametrize("options", [{}, {"lam": np.inf}, COLLAPSED], ids=str)
def test_a_user_family_serves_as_context(options):
    contexts = {"visits": np.where(np.arange(N) == 3, np.nan, rng.poisson(4, N))}
    custom = model(contexts={"visits": Visits()}, **options).fit(COUNTS, contexts=contexts)
    check(custom, COUNTS)
    with pytest.raises(InputError, match="'visits' cannot be predicted: its family Visits"):
        custom.predict_context(COUNTS, "visits")


def test_the_collapsed_sampler_draws_the_same_for_a_user_family_as_for_its_twin():
    X = arrays(1, lambda size: rng.poisson(4.0, size))
    contexts = {"visits": np.where(np.arange(N) == 3, np.nan, rng.poisson(4, N))}
    custom, twin = (
        model(content=family, contexts={"visits": family}, **COLLAPSED).fit(X, contexts=contexts)
        for family in (Visits(), Poisson(1.5, 0.4))
    )
    np.testing.assert_array_equal(
        custom.posterior_.cluster_of_group, twin.posterior_.cluster_of_group
    )
    assert custom.posterior_.trace["log_joint"].tolist() == pytest.approx(
        twin.posterior_.trace["log_joint"].tolist()
    )


def test_a_user_family_that_draws_its_parameters_predicts():
    @dataclass(frozen=True)
    class DrawnVisits(Visits):
        def sample_parameters(self, stats, rng):
            return rng.gamma(1.5 + stats[..., 1], 1.0 / (0.4 + stats[..., 0]))[:, None]

        def log_likelihood(self, x, parameters):
            x, rate = np.asarray(x, float)[:, None], parameters[None, :, 0]
            return x * np.log(rate) - rate - gammaln(x + 1)

    X = arrays(1, lambda size: rng.poisson(4.0, size))
    fitted = check(model(content=DrawnVisits()).fit(X), X)
    assert fitted.n_features_in_ == 1
    assert np.isfinite(fitted.score(X))

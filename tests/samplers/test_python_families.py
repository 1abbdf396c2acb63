"""Families of the user's own in the blocked sampler: drawn parameters, or none at all."""

from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
from scipy import sparse
from scipy.special import betaln, gammaln

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Bernoulli, Categorical, ConjugateFamily, Poisson
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import PythonObservations
from mcsquared.samplers.content import python_families
from mcsquared.samplers.steps.split_merge import split_and_merge_clusters
from mcsquared.samplers.steps.topic_moves import move_topics
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.threads import ThreadPool
from mcsquared.state import Bounds
from tests.oracles.counts import differences, recount
from tests.samplers.cases import CASES, CONCENTRATIONS, Case
from tests.samplers.test_user_family import Visits
from tests.statistics.agreement import compare, is_exact
from tests.statistics.tiny import Tiny


@dataclass(frozen=True)
class Answers(ConjugateFamily):
    """Yes or no with a beta prior: the Bernoulli family, as a user would write it."""

    yes: float = 0.8
    no: float = 1.1

    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, float)
        return np.stack([x, 1.0 - x], axis=-1)

    def log_normaliser(self, stats):
        return betaln(self.yes + stats[..., 0], self.no + stats[..., 1])


@dataclass(frozen=True)
class DrawnAnswers(Answers):
    """The same, with parameters that can be drawn."""

    def sample_parameters(self, stats, rng):
        return rng.beta(self.yes + stats[:, 0], self.no + stats[:, 1])[:, None]

    def log_likelihood(self, x, parameters):
        chance = parameters[:, 0]
        with np.errstate(divide="ignore"):
            return np.where(np.asarray(x)[:, None] > 0.5, np.log(chance), np.log1p(-chance))


@dataclass(frozen=True)
class DrawnVisits(Visits):
    """The same, with parameters that can be drawn."""

    def sample_parameters(self, stats, rng):
        shape, rate = self.shape + stats[:, 1], self.rate + stats[:, 0]
        return rng.gamma(shape, 1.0 / rate)[:, None]

    def log_likelihood(self, x, parameters):
        x, rate = np.asarray(x, float)[:, None], parameters[:, 0]
        return x * np.log(rate) - rate - gammaln(x + 1)


@dataclass(frozen=True)
class SamePoisson(Poisson):
    """A built-in family without its kernel."""


KINDS = {"three functions": (Answers, Visits), "drawn": (DrawnAnswers, DrawnVisits)}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_lam = pytest.mark.parametrize("lam", [inf, 2.0], ids=["λ = ∞", "λ = 2"])


def python_content(kind, lam):
    """Counts as content, and answers as context, one of them missing."""
    answers, visits = KINDS[kind]
    values = [np.array([[1.0], [9.0]]), np.array([[8.0], [0.0]]), np.array([[2.0]])]
    contexts = {"late": np.array([1.0, 0.0, np.nan])}
    corpus = Corpus(values, contexts=contexts)
    fixed = {"alpha": 0.8, "v": 1.5, "eta": 1.2, "lam": lam}
    return Tiny(
        corpus, Priors.for_corpus(corpus, visits(0.5, 0.1), {"late": answers(0.4, 0.3)}, **fixed)
    )


def python_contexts(kind, lam):
    """Words as content; one context has a family of the user's own, one has a built-in one."""
    _, visits = KINDS[kind]
    words = sparse.csr_matrix([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]])
    contexts = {"visits": np.array([1.0, 9.0, 8.0, 2.0]), "late": np.array([1.0, 0.0, np.nan, 1.0])}
    corpus = Corpus(words, contexts=contexts)
    chosen = {"visits": visits(0.5, 0.1), "late": Bernoulli(0.8, 1.1)}
    fixed = {"alpha": 0.8, "v": 1.5, "eta": 1.2, "lam": lam}
    return Tiny(corpus, Priors.for_corpus(corpus, Categorical(0.5), chosen, **fixed))


def is_right(tiny):
    """Whether a short chain has the exact posterior, also of single labellings."""
    found = compare(tiny, n_sweeps=1500, seed=2, sampler=BLOCKED)
    return is_exact(found, allowance=0.03, n_errors=4) and found["everything"].largest_z < 4.5


@pytest.mark.usefixtures("moves_of_larger_corpora")
@every_lam
@every_kind
@pytest.mark.parametrize("make", [python_content, python_contexts])
def test_a_user_family_has_the_exact_posterior(make, kind, lam):
    assert is_right(make(kind, lam))


@pytest.mark.parametrize("make", [python_content, python_contexts])
def test_statistics_that_do_not_follow_the_labels_are_detected(make, monkeypatch):
    monkeypatch.setattr(python_families.SlotStatistics, "move", lambda *arguments: None)
    assert not is_right(make("three functions", inf))


def test_what_is_drawn_next_is_weighed_by_all_the_others():
    rng = np.random.default_rng(4)
    family, labels, observed = Visits(), rng.integers(0, 4, 30), rng.random(30) < 0.8
    x = rng.poisson(5.0, 30).astype(float)
    slots = python_families.SlotStatistics(
        PythonObservations.from_values(family, x[observed], observed), labels, 6
    )
    for _ in range(100):
        i, new = rng.integers(30), int(rng.integers(6))
        others = observed & (np.arange(30) != i)
        statistics = family.statistics_by_cluster(x[others], labels[others], 6)
        expected = observed[i] * (
            family.log_predictive(x[i : i + 1], statistics)[0] - family.log_base(x)[i]
        )
        np.testing.assert_allclose(slots.log_predictive(i, labels[i]), expected, atol=1e-10)
        slots.move(i, labels[i], new)
        labels[i] = new


def case_with(content, contexts, base="poisson", **concentrations):
    corpus = CASES[base].corpus
    priors = Priors.for_corpus(corpus, content, contexts, **(CONCENTRATIONS | concentrations))
    return Case(corpus, priors)


def labels_of(case, n_sweeps, n_threads=1, bounds=Bounds(), seed=2, sampler=BLOCKED):  # noqa: B008
    observations, labels = case.observations, []
    state = BLOCKED.start(observations, case.priors, seed, 0, "random", 4, 5)
    with ThreadPool(n_threads) as threads:
        for _ in range(n_sweeps):
            sampler.sweep(state, observations, case.priors, seed, 0, bounds, threads=threads)
            labels.append(state.cluster_of_group.tolist() + state.topic_of_token.tolist())
            if not observations.n_words:
                assert differences(state.counts, recount(state, observations)) == []
    return labels


@pytest.mark.parametrize("lam", [inf, Gamma(1.0, 0.1)], ids=["λ = ∞", "λ resampled"])
@pytest.mark.parametrize(
    ("base", "content", "contexts"),
    [
        ("poisson", "family", {"year": "auto"}),
        ("poisson", Poisson(1.5, 0.4), {"year": "auto", "visits": "family"}),
        ("words", Categorical(0.3), {"visits": "family"}),
    ],
    ids=["content", "context", "context of words"],
)
def test_a_built_in_family_without_its_kernel_draws_the_same(base, content, contexts, lam):
    def case(family):
        chosen = {name: family if given == "family" else given for name, given in contexts.items()}
        return case_with(family if content == "family" else content, chosen, base, lam=lam)

    # Splits score contexts by mean parameters in kernels, by the predictive density in Python, and
    # topics are moved by kernels only.
    sampler = BLOCKED.without(split_and_merge_clusters).without(move_topics)
    compiled, python = case(Poisson(1.5, 0.4)), case(SamePoisson(1.5, 0.4))
    for seed in (2, 14):
        expected = labels_of(compiled, 20, seed=seed, sampler=sampler)
        assert labels_of(python, 20, seed=seed, sampler=sampler) == expected


@pytest.mark.parametrize("lam", [inf, Gamma(1.0, 0.1)], ids=["λ = ∞", "λ resampled"])
@every_kind
def test_threads_and_blocks_of_tokens_change_nothing(kind, lam, monkeypatch):
    visits = KINDS[kind][1]()
    case = case_with(visits, {"visits": visits, "kind": "auto"}, lam=lam)
    alone = labels_of(case, 10)
    assert labels_of(case, 10, n_threads=2) == alone
    monkeypatch.setattr(python_families, "MAX_LIKELIHOODS", 1)
    assert labels_of(case, 10, n_threads=3) == alone


@every_lam
@every_kind
def test_bounds_hold_for_a_user_family(kind, lam):
    visits = KINDS[kind][1]()
    lively = {"alpha": 30.0, "v": 20.0, "eta": 30.0, "lam": lam}
    case = case_with(visits, {"visits": visits}, **lively)
    n_groups = case.corpus.n_groups
    labels = np.array(labels_of(case, 10, bounds=Bounds(clusters=5, topics=6)))
    assert max(len(set(row)) for row in labels[:, :n_groups].tolist()) <= 5
    assert max(len(set(row)) for row in labels[:, n_groups:].tolist()) <= 6
    free = np.array(labels_of(case, 10))
    assert max(len(set(row)) for row in free[:, :n_groups].tolist()) > 5
    assert max(len(set(row)) for row in free[:, n_groups:].tolist()) > 6


def test_a_family_that_changes_the_normaliser_of_its_parent_does_not_draw_from_the_parent():
    class Doubtful(Poisson):
        def log_normaliser(self, stats):
            return 0.5 * super().log_normaliser(stats)

    class Shifted(Poisson):
        def statistics(self, x):
            return super().statistics(np.asarray(x) + 1.0)

    class Renamed(Poisson):
        def log_base(self, x):
            return np.zeros(len(x))

    assert [family(1.5, 0.4).can_sample for family in (Doubtful, Shifted, Renamed)] == [
        False,
        False,
        True,
    ]


@every_lam
def test_likelihoods_that_are_no_numbers_keep_a_chain_going(lam):
    class Odd(DrawnVisits):
        def log_likelihood(self, x, parameters):
            found = super().log_likelihood(x, parameters)
            found[0], found[1::2, 0], found[2::2, 1] = np.nan, -np.inf, np.nan
            return found

    class Silent(Visits):
        def log_normaliser(self, stats):
            return np.full(stats.shape[:-1], np.nan)

    for family in (Odd(), Silent()):
        labels = labels_of(case_with(family, {"visits": family}, lam=lam), 3)
        assert np.isfinite(np.array(labels, float)).all()


class Wide(Visits):
    def statistics(self, x):
        return np.ones((len(x), 3))


class Endless(Visits):
    def statistics(self, x):
        return np.full((len(x), 2), np.inf)


class Flat(DrawnVisits):
    def log_likelihood(self, x, parameters):
        return np.zeros(len(x))


class Single(Visits):
    def log_normaliser(self, stats):
        return 0.0


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Wide(), r"statistics of the family Wide must have shape \(\d+, 2\) .*, got \(\d+, 3\)"),
        (Endless(), "statistics of the family Endless must be finite, got infinite values or NaN"),
        (
            Flat(),
            r"log_likelihood of the family Flat must return .*, got \(\d+,\)",
        ),
        (
            Single(),
            r"log_normaliser of the family Single must return .*, got \(\)",
        ),
    ],
)
def test_a_family_that_returns_a_wrong_shape_raises_an_error(family, message):
    for content, contexts in (family, {}), (Poisson(), {"visits": family}):
        with pytest.raises(InputError, match=message):
            labels_of(case_with(content, contexts), 1)

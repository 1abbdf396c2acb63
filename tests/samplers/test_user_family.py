"""A family of the user's own, without a kernel, is sampled as exactly as a built-in one."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import gammaln

from mcsquared.corpus import Corpus
from mcsquared.families import ConjugateFamily, Poisson
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.steps.log_joint import log_joint
from mcsquared.samplers.sweep import COLLAPSED
from mcsquared.state import Bounds
from tests.oracles.counts import differences, recount
from tests.samplers.cases import CASES, CONCENTRATIONS, Case
from tests.samplers.test_collapsed import with_slots


@dataclass(frozen=True)
class Visits(ConjugateFamily):
    """Counts with a gamma prior of their rate: the Poisson family, as a user would write it."""

    shape: float = 1.5
    rate: float = 0.4

    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, float)
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats):
        shape, rate = self.shape + stats[..., 1], self.rate + stats[..., 0]
        return gammaln(shape) - shape * np.log(rate)

    def log_base(self, x):
        return -gammaln(np.asarray(x, float) + 1)


KERNEL, USER = Poisson(1.5, 0.4), Visits()


def labels_of(case, n_sweeps, seed=2, state=None, bounds=Bounds()):  # noqa: B008
    observations = case.observations
    state = case.start(seed) if state is None else state
    labels = []
    for _ in range(n_sweeps):
        COLLAPSED.sweep(state, observations, case.priors, seed, 0, bounds)
        assert differences(state.counts, recount(state, observations)) == []
        labels.append(np.concatenate([state.cluster_of_group, state.topic_of_token]))
    return np.array(labels), log_joint(state, observations, case.priors)


def case_with(content, contexts, base="poisson", **concentrations):
    corpus = CASES[base].corpus
    priors = Priors.for_corpus(corpus, content, contexts, **(CONCENTRATIONS | concentrations))
    return Case(corpus, priors)


@pytest.mark.parametrize(
    "pair",
    [
        ((KERNEL, {"year": "auto"}), (USER, {"year": "auto"})),
        ((KERNEL, {"year": "auto", "visits": KERNEL}), (KERNEL, {"year": "auto", "visits": USER})),
        ((KERNEL, {"visits": KERNEL}), (USER, {"visits": USER})),
    ],
    ids=["content", "context", "both"],
)
def test_a_user_family_draws_what_the_kernel_draws(pair):
    (compiled, first), (generic, second) = (labels_of(case_with(*args), 15) for args in pair)
    np.testing.assert_array_equal(compiled, generic)
    assert first == pytest.approx(second, rel=1e-10)


def test_words_may_have_a_user_family_for_a_context():
    content = CASES["words"].priors.content
    (compiled, _), (generic, _) = (
        labels_of(case_with(content, {"visits": family}, "words"), 15) for family in (KERNEL, USER)
    )
    np.testing.assert_array_equal(compiled, generic)


def test_a_user_family_grows_and_keeps_bounds_as_the_kernel_does():
    lively = {"alpha": 30.0, "v": 20.0, "eta": 30.0}
    found = []
    for family in (KERNEL, USER):
        case = case_with(family, {"visits": family}, **lively)
        begin = with_slots(case.start(2, n_clusters=1, n_topics=1), 1, 8)
        found.append(labels_of(case, 10, state=begin)[0])
        begin = with_slots(case.start(2, n_clusters=1, n_topics=1), 1, 8)
        bounds = Bounds(clusters=3, topics=4)
        found.append(labels_of(case, 10, state=begin, bounds=bounds)[0])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])
    assert found[0].max() > 8
    assert found[1].max() == 3


def test_a_changed_copy_of_a_built_in_family_takes_the_generic_way():
    @dataclass(frozen=True)
    class Doubtful(Poisson):
        """The same prior, and data that count half."""

        def log_normaliser(self, stats):
            return 0.5 * super().log_normaliser(stats)

    corpus = CASES["poisson"].corpus
    priors = Priors.for_corpus(corpus, Doubtful(1.5, 0.4), {}, alpha=1.0, v=1.0, eta=1.0)
    observations = observe(Corpus(corpus.content), priors)
    assert observations.python_content is not None

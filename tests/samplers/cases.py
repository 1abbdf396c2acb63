"""Small corpora of every kind with their priors, for tests that hold for all of them."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.sweep import COLLAPSED

N_GROUPS = 11
CONCENTRATIONS = {"alpha": Gamma(2.0, 1.0), "v": Gamma(3.0, 1.0), "eta": Gamma(3.0, 1.0)}


@dataclass(frozen=True)
class Case:
    corpus: Corpus
    priors: Priors

    @property
    def observations(self):
        return observe(self.corpus, self.priors)

    def start(self, seed=1, chain=0, **options):
        options = {"init": "random", "n_clusters": 4, "n_topics": 5} | options
        return COLLAPSED.start(self.observations, self.priors, seed, chain, **options)


def make_words(rng):
    counts = rng.poisson(1.0, (N_GROUPS, 6))
    counts[3] = 0
    counts[5, 2] = 9
    return sparse.csr_matrix(counts)


def make_vectors(rng, draw):
    lengths = rng.integers(1, 7, N_GROUPS)
    lengths[[0, 7]] = 0
    return [draw(n) for n in lengths]


def make_contexts(rng):
    year = rng.normal(2000, 5, N_GROUPS)
    year[[0, 4]] = np.nan
    visits = rng.poisson(5, N_GROUPS).astype(float)
    visits[3] = np.nan
    place = rng.normal(size=(N_GROUPS, 2))
    place[[3, 6]] = np.nan
    tags = rng.poisson(0.6, (N_GROUPS, 4))
    tags[[2, 3]] = 0
    kind = np.array(["a", "b", "c"], object)[rng.integers(0, 3, N_GROUPS)]
    kind[8] = None
    open_late = rng.random(N_GROUPS) < 0.5
    return {
        "year": year,
        "visits": visits,
        "place": place,
        "tags": sparse.csr_matrix(tags),
        "kind": kind,
        "open_late": open_late,
    }


CONTEXT_FAMILIES = {
    "year": Gaussian(),
    "visits": Poisson(),
    "place": MultivariateGaussian(),
    "tags": Bag(0.3),
    "kind": Categorical(0.4),
    "open_late": Bernoulli(),
}


def case(content, family, contexts, names, **concentrations):
    corpus = Corpus(content, contexts=contexts)
    chosen = {name: CONTEXT_FAMILIES[name] for name in names}
    concentrations = CONCENTRATIONS | concentrations
    return Case(corpus, Priors.for_corpus(corpus, family, chosen, **concentrations))


def make_cases():
    rng = np.random.default_rng(20140621)
    contexts, words = make_contexts(rng), make_words(rng)
    numbers = make_vectors(rng, lambda n: rng.normal(0, 2, (n, 1)))
    visits = make_vectors(rng, lambda n: rng.poisson(4, (n, 1)).astype(float))
    answers = make_vectors(rng, lambda n: (rng.random((n, 1)) < 0.6).astype(float))
    points = make_vectors(rng, lambda n: rng.normal(0, 2, (n, 2)))
    nothing = sparse.csr_matrix((N_GROUPS, 3), dtype=int)
    few = {"alpha": 1.0, "v": 2.0, "eta": 1.5}
    return {
        "words": case(words, Categorical(0.3), contexts, []),
        "words_fixed_concentrations": case(words, Categorical(0.3), contexts, ["year"], **few),
        "words_all_contexts": case(words, Categorical(0.3), contexts, list(CONTEXT_FAMILIES)),
        "gaussian": case(numbers, Gaussian(), contexts, ["tags"]),
        "poisson": case(visits, Poisson(), contexts, ["year", "kind"]),
        "bernoulli": case(answers, Bernoulli(), contexts, ["visits"]),
        "multivariate": case(points, MultivariateGaussian(), contexts, ["place", "tags"]),
        "no_content": case(nothing, Categorical(0.3), contexts, list(CONTEXT_FAMILIES)),
    }


CASES = make_cases()

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())

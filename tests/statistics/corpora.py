"""Tiny corpora of every kind, for the exactness tests."""

import numpy as np
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
from mcsquared.state import Bounds
from tests.statistics.tiny import Tiny


class Drawn(Gaussian):
    """A family without a kernel that can draw its parameters."""


class Integrated(Poisson):
    """A family without a kernel that cannot: its parameters are integrated out."""

    can_sample = False


ALPHA, V, ETA = 0.8, 1.5, 1.2
YEAR = Gaussian(mean=0.0, strength=0.5, shape=1.5, rate=1.0)


def tiny(content, family, contexts, families, bounds=None, **concentrations):
    corpus = Corpus(content, contexts=contexts)
    fixed = {"alpha": ALPHA, "v": V, "eta": ETA} | concentrations
    return Tiny(corpus, Priors.for_corpus(corpus, family, families, **fixed), bounds or Bounds())


def words(*groups, n_words):
    counts = [np.bincount(np.array(group, int), minlength=n_words) for group in groups]
    return sparse.csr_matrix(np.array(counts))


def missing_and_bag(**options):
    """A Gaussian context that one group lacks, and a bag that another lacks."""
    return tiny(
        words([0, 1], [0], [0, 1, 2], n_words=3),
        Categorical(0.5),
        {
            "year": np.array([0.1, np.nan, 1.2]),
            "tags": sparse.csr_matrix([[1, 2, 0], [0, 1, 0], [0, 0, 0]]),
        },
        {"year": YEAR, "tags": Bag(0.6)},
        **options,
    )


def gaussian_content(**options):
    """Numbers as content, a category as context."""
    values = [np.array([[-1.0], [0.9]]), np.array([[1.1], [-0.8]]), np.array([[1.0], [3.0]])]
    return tiny(
        values,
        Gaussian(mean=0.2, strength=0.4, shape=1.2, rate=0.6),
        {"kind": np.array(["a", "b", "b"], object)},
        {"kind": Categorical(0.7)},
        **options,
    )


def points_as_content(**options):
    """Points of the plane as content, counts and booleans as contexts."""
    rng = np.random.default_rng(5)
    values = [rng.normal(size=(2, 2)), rng.normal(size=(2, 2)) + 1, rng.normal(size=(1, 2))]
    return tiny(
        values,
        MultivariateGaussian([0.1, 0.0], 0.5, 3.0, [[1.0, 0.2], [0.2, 1.0]]),
        {"visits": np.array([1.0, 6.0, np.nan]), "late": np.array([True, False, True])},
        {"visits": Poisson(1.2, 0.4), "late": Bernoulli(0.8, 1.1)},
        **options,
    )


def empty_group(**options):
    """Four groups, one without content."""
    return tiny(
        words([0, 1], [], [0, 0], [1], n_words=2),
        Categorical(0.5),
        {"year": np.array([0.1, 1.0, 1.2, np.nan])},
        {"year": YEAR},
        **options,
    )


def repeated_words(**options):
    """Few words, each often: many tokens share a cell."""
    return tiny(
        words([0, 0, 0], [0, 1, 1], [1], n_words=2),
        Categorical(0.4),
        {"year": np.array([-0.5, 0.6, 0.5])},
        {"year": YEAR},
        **options,
    )


def no_contexts(**options):
    """Content alone: a nested DP mixture with shared atoms."""
    return tiny(words([0, 0], [0, 1], [1, 2], n_words=3), Categorical(0.5), {}, {}, **options)


def no_content(**options):
    """Contexts alone: a DP mixture."""
    return tiny(
        sparse.csr_matrix((5, 2), dtype=int),
        Categorical(0.5),
        {
            "year": np.array([-1.0, -0.8, 0.9, 1.3, np.nan]),
            "visits": np.array([1.0, 2.0, 4.0, np.nan, 7.0]),
        },
        {"year": YEAR, "visits": Poisson(1.0, 0.5)},
        **options,
    )


def python_content_drawn(**options):
    """Families without kernels: parameters of the content are drawn, those of the context not."""
    values = [np.array([[-1.0], [0.9]]), np.array([[1.1], [-0.8]]), np.array([[1.0]])]
    return tiny(
        values,
        Drawn(mean=0.2, strength=0.4, shape=1.2, rate=0.6),
        {"visits": np.array([1.0, 6.0, np.nan])},
        {"visits": Integrated(1.2, 0.4)},
        **options,
    )


def python_content_integrated(**options):
    """Families without kernels: parameters of the context are drawn, those of the content not."""
    values = [np.array([[1.0], [6.0]]), np.array([[0.0], [5.0]]), np.array([[2.0]])]
    return tiny(
        values,
        Integrated(1.2, 0.4),
        {"year": np.array([0.1, np.nan, 1.2])},
        {"year": Drawn(mean=0.0, strength=0.5, shape=1.5, rate=1.0)},
        **options,
    )


def bounded():
    """At most two clusters and two topics: the posterior given that there are no more."""
    return missing_and_bag(bounds=Bounds(clusters=2, topics=2))


def learned_contexts(tags="learned", **options):
    """A category and a bag whose base measures and concentrations are learned."""
    return tiny(
        words([0, 1], [0], [1, 1], [1], n_words=2),
        Categorical(0.5),
        {
            "kind": np.array(["a", "b", "b", None], object),
            "tags": sparse.csr_matrix([[1, 2, 0], [0, 1, 0], [0, 0, 0], [2, 0, 0]]),
        },
        {"kind": Categorical(Gamma(2.0, 1.0)), "tags": Bag(tags)},
        **options,
    )


def sampled_concentrations():
    """All concentrations have priors; the exact posterior integrates over them."""
    return missing_and_bag(alpha=Gamma(2.0, 2.0), v=Gamma(3.0, 1.5), eta=Gamma(2.0, 1.5))


CORPORA = {
    "missing Gaussian context and a bag": missing_and_bag,
    "Gaussian content": gaussian_content,
    "vectors as content, counts and booleans as contexts": points_as_content,
    "empty group": empty_group,
    "repeated words": repeated_words,
    "no contexts": no_contexts,
    "no content": no_content,
    "bounded clusters and topics": bounded,
    "sampled concentrations": sampled_concentrations,
    "learned contexts": learned_contexts,
}

# Slow, because these families have no kernels; other tests cover them in the collapsed sampler.
PYTHON_FAMILIES = {
    "Python families, content drawn, context integrated": python_content_drawn,
    "Python families, content integrated, context drawn": python_content_integrated,
}

"""Small corpora of every kind with contexts and parameters, sensible and silly, for Hypothesis."""

import datetime
import math

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

import mcsquared as mc2
from mcsquared.families import Bernoulli, Categorical, Gaussian, MultivariateGaussian, Poisson

WORDS = ["apple", "pear", "plum", "fig", "nut"]
LETTERS = ["a", "b", "c", None]

few_floats = st.sampled_from([0.0, 1.0, -2.5, 0.25, 7.0, 2001.5, 1e9, -1e-9])
few_numbers = few_floats | st.floats(-1e6, 1e6)


def arrays(draw, shape, entries):
    flat = draw(st.lists(entries, min_size=math.prod(shape), max_size=math.prod(shape)))
    return np.array(flat).reshape(shape)


def counts(draw, n):
    return arrays(draw, (n, draw(st.integers(1, 4))), st.integers(0, 3)).astype(np.int64)


def sequences(draw, n, width, entries):
    sizes = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return [arrays(draw, (size, width), entries).astype(float) for size in sizes]


def tokens(draw, n):
    groups = st.lists(st.sampled_from(WORDS), max_size=5)
    return [["apple"], *draw(st.lists(groups, min_size=n - 1, max_size=n - 1))]


# Each entry: how a content is drawn, and values of `content` that it may be fitted under.
CONTENTS = {
    "tokens": (tokens, ["auto", "categorical", Categorical(0.5)]),
    "dense counts": (counts, ["auto", "counts"]),
    "sparse counts": (lambda draw, n: sparse.csr_matrix(counts(draw, n)), ["auto", "counts"]),
    "floating counts": (lambda draw, n: counts(draw, n).astype(float), ["counts"]),
    "matrix": (lambda draw, n: arrays(draw, (n, 2), few_numbers).astype(float), ["auto"]),
    "numbers": (
        lambda draw, n: sequences(draw, n, 1, few_numbers),
        ["auto", "gaussian", Gaussian(mean=1.0), "multivariate_gaussian"],
    ),
    "vectors": (
        lambda draw, n: sequences(draw, n, 3, few_numbers),
        ["auto", "multivariate_gaussian", MultivariateGaussian(strength=0.5)],
    ),
    "whole numbers": (
        lambda draw, n: sequences(draw, n, 1, st.sampled_from([0, 1, 5, 1000000])),
        ["poisson", Poisson(2.0, 1.0), "gaussian"],
    ),
    "answers": (
        lambda draw, n: sequences(draw, n, 1, st.integers(0, 1)),
        ["bernoulli", Bernoulli(0.5, 0.5)],
    ),
}


def column(draw, n):
    """Return a context column and the families it may be declared as."""
    kind = draw(st.sampled_from(sorted(COLUMNS)))
    entries, families = COLUMNS[kind]
    values = draw(st.lists(entries, min_size=n, max_size=n))
    if kind == "places":
        values = np.array(values, float)
    elif kind == "sparse":
        values = sparse.csr_matrix(np.array(values))
    elif kind == "dates":
        values = np.array(values, "datetime64[ns]")
    return values, families


COLUMNS = {
    "numbers": (few_numbers | st.just(math.nan), ["auto", "gaussian"]),
    "whole": (st.sampled_from([0, 3, 8]), ["auto", "gaussian", "poisson", "categorical"]),
    "nothing": (st.just(math.nan), ["auto"]),
    "flags": (st.booleans(), ["auto", "bernoulli", "categorical"]),
    "kinds": (st.sampled_from(LETTERS), ["auto", "categorical", "bag"]),
    "tags": (st.lists(st.sampled_from(LETTERS[:3]), max_size=3), ["auto", "bag"]),
    "dates": (
        st.sampled_from(["2001-02-03", "1969-12-31T12:30", "NaT", "2030-01-01"]),
        ["auto", "gaussian"],
    ),
    "places": (st.tuples(few_numbers, few_numbers), ["auto", "multivariate_gaussian"]),
    "sparse": (st.tuples(*[st.integers(0, 2)] * 3), ["auto", "bag"]),
    "days": (st.just(None) | st.dates(datetime.date(1900, 1, 1)), ["auto"]),
}


@st.composite
def problems(draw):
    """Return X, contexts, parameters of the estimator, and new groups of the same kind."""
    kind = draw(st.sampled_from(sorted(CONTENTS)))
    make, families = CONTENTS[kind]
    n, n_new = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    columns, new_columns, chosen = {}, {}, {}
    for name in draw(st.sampled_from([[], ["x"], ["x", "y"]])):
        values, context_families = column(draw, n + n_new)
        columns[name], new_columns[name] = values[:n], values[n:]
        chosen[name] = draw(st.sampled_from(context_families))
    content = make(draw, n + n_new)
    parameters = {
        "content": draw(st.sampled_from(families)),
        "contexts": chosen,
        **draw(sensible_parameters()),
    }
    return content[:n], columns, parameters, content[n:], new_columns


concentrations = st.sampled_from([1.0, 1e-6, 1e6, mc2.Gamma(1, 1), mc2.Gamma(0.01, 100.0)])


@st.composite
def sensible_parameters(draw):
    burn_in, thin = draw(st.integers(0, 2)), draw(st.integers(1, 2))
    return {
        "alpha": draw(concentrations),
        "v": draw(concentrations),
        "eta": draw(concentrations),
        "n_sweeps": burn_in + draw(st.integers(thin, 4)),
        "burn_in": burn_in,
        "thin": thin,
        "n_chains": draw(st.sampled_from([1, 1, 1, 2])),
        "max_clusters": draw(st.sampled_from([None, None, 1, 2])),
        "max_topics": draw(st.sampled_from([None, None, 1, 2])),
        "init": draw(st.sampled_from(["auto", "random"])),
        "keep_parameters": draw(st.integers(1, 3)),
        "random_state": draw(st.integers(0, 3)),
        "progress": False,
    }


EXTREME = [1e300, 1e-300, 10**400, 1e30, 1e-30, mc2.Gamma(1e-30, 1.0), mc2.Gamma(1.0, 1e-30)]

# A value that cannot be, or an odd one that can: the fit must end in a result or an InputError.
SILLY = {
    "alpha": [0, -1.0, math.nan, math.inf, "1", None, True, *EXTREME, [1.0]],
    "v": [0, -1.0, math.nan, math.inf, "1", None, *EXTREME, (1, 2)],
    "eta": [0, -1.0, math.nan, math.inf, "1", None, *EXTREME, {}],
    "lam": [10**400, 1.0, 0, math.nan, None, "inf", mc2.Gamma(1, 1)],
    "content": ["words", "count", 3, None, "gaussian", "bernoulli", "bag", "vectors", Gaussian],
    "contexts": ["all", 3, None, {"z": "gaussian"}, {"x": "normal"}, {"x": 3}, ["x"], {1: "bag"}],
    "n_sweeps": [0, -3, 2.5, "6", None, True, np.int64(3), math.nan],
    "burn_in": [-1, 100, "0", None, 0.5],
    "thin": [0, -1, 100, 1.5, None],
    "n_chains": [0, -1, 1.5, None, "2"],
    "n_jobs": [0, 1.5, "2", -1, -100, 10**6],
    "max_clusters": [0, -1, 1.5, "2", 10**12],
    "max_topics": [0, -1, 1.5, "2", 10**12],
    "init": ["best", None, 3],
    "fold_in": ["sample", None, 3],
    "sampler": ["blocked", "gibbs", None, 3],
    "device": ["cuda", None, 0],
    "keep_parameters": [0, -1, 1.5, None, 10**9],
    "random_state": [-1, 1.5, "0", 2**40, np.random.RandomState(0), np.int32(4), None],
    "progress": ["yes", 3, None],
    "callbacks": [None, 3, [3], "stop", ["stop"]],
    "checkpoint": ["", "/nowhere/at/all", 3, ".", "\0"],
    "warm_start": [None, 3, "no"],
}

SILLY_CONTENTS = [
    None,
    3,
    "text",
    [],
    [[]],
    [[], []],
    {},
    [None, None],
    [3, 4],
    np.zeros((0, 3)),
    np.zeros((3, 0)),
    np.zeros(3),
    np.array([[1.0, math.nan]]),
    np.array([[1.0, math.inf]]),
    np.array([[1.0, 1e200]]),
    np.array([[1, -1]]),
    np.array([[1j, 2]]),
    np.array([["a", 1]], object),
    sparse.csr_matrix([[0.5, 1.0]]),
    sparse.csr_matrix([[-1, 1]]),
    sparse.csr_matrix((0, 3), dtype=int),
    sparse.csr_matrix((3, 0), dtype=int),
    [np.zeros((2, 2)), np.zeros((2, 3))],
    [np.zeros((0, 2)), np.zeros((0, 2))],
    [["apple"], "apple"],
    ["", ""],
    ["the the"],
    [["apple"], [3]],
    [b"bytes"],
]
SILLY_CONTEXTS = [
    3,
    "x",
    [1, 2],
    {"x": 3},
    {"x": [1, 2, 3, 4, 5, 6, 7, 8, 9]},
    {"x": []},
    {3: [1.0]},
    {"x": [math.inf]},
    {"x": [1.0, "a"]},
    {"x": [{}]},
    {"x": "abc"},
    {"x": np.zeros((2, 2, 2))},
    {"x": None},
]

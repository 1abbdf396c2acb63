"""Corpora with levels above groups, for tests of samplers and of fits."""

import numpy as np
import pandas as pd

from mcsquared.corpus import Corpus
from mcsquared.corpus.levels import Level

N_GROUPS, N_CITIES, N_COUNTRIES = 80, 12, 4


def contents(kind, rng):
    if kind == "words":
        return rng.poisson(rng.gamma(0.3, 2.0, (N_GROUPS, 1)) * rng.gamma(0.3, 3.0, 30))
    return [rng.normal(rng.integers(0, 3), 1.0, (rng.integers(0, 6), 2)) for _ in range(N_GROUPS)]


def two_levels_above(kind="words"):
    """Cities in countries; contexts at all levels, some missing, some groups without a city."""
    rng = np.random.default_rng(4)
    year = np.where(rng.random(N_GROUPS) < 0.2, np.nan, rng.normal(2000, 5, N_GROUPS))
    corpus = Corpus(contents(kind, rng), {"year": year, "kind": list("ab" * (N_GROUPS // 2))})
    city = rng.integers(0, N_CITIES, N_GROUPS)
    city[:N_CITIES] = np.arange(N_CITIES)
    country = np.arange(N_CITIES) % N_COUNTRIES
    sizes = Corpus(np.ones((N_CITIES, 1), int), {"size": [None, *range(1, N_CITIES)]}).contexts
    country_columns = {"region": ["n", None, "s", "s"], "tags": [["x"], ["x", "y"], [], ["y"]]}
    regions = Corpus(np.ones((N_COUNTRIES, 1), int), country_columns).contexts
    names = np.array([f"city {i}" for i in range(N_CITIES)], object)
    in_city = np.where(rng.random(N_GROUPS) < 0.1, -1, city).astype(np.int32)
    in_city[:N_CITIES] = np.arange(N_CITIES)
    in_country = np.where(np.arange(N_CITIES) == 5, -1, country).astype(np.int32)
    corpus.levels = (
        Level("city", names, sizes, in_city),
        Level("country", np.array(list("FGHI"), object), regions, in_country),
    )
    return corpus


def simulated(n_units=30, n_types=3, n_groups=400, n_clusters=4, n_words=40, n_tokens=50, seed=0):
    """Groups of words in units with known types: the corpus, the types and the clusters."""
    rng = np.random.default_rng(seed)
    psi = np.kron(np.eye(n_clusters), np.ones(n_words // n_clusters)) + 0.2
    psi /= psi.sum(axis=1, keepdims=True)
    rows = 0.85 * np.eye(n_types, n_clusters) + 0.15 / n_clusters
    rows /= rows.sum(axis=1, keepdims=True)
    types = rng.permutation(np.arange(n_units) % n_types)
    unit = rng.permutation(np.arange(n_groups) % n_units)
    clusters = np.array([rng.choice(n_clusters, p=rows[types[u]]) for u in unit])
    counts = np.array([rng.multinomial(n_tokens, psi[k]) for k in clusters])
    frame = pd.DataFrame(counts, columns=[f"word {w}" for w in range(n_words)])
    content = list(frame.columns)
    frame["unit"] = [f"u{u:03d}" for u in unit]
    corpus = Corpus.from_frame(frame, content=content, levels="unit")
    type_of_country = np.array([types[int(name[1:])] for name in corpus.levels[0].unit_names])
    return corpus, type_of_country, clusters

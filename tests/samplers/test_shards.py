"""Sharded groups have bitwise the same draws as unsharded ones."""

import copy
import math

import numpy as np
import pytest

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key
from tests.oracles.counts import differences, recount
from tests.samplers.test_python_families import DrawnVisits, python_content, python_contexts

pytestmark = pytest.mark.usefixtures("short_fits")

N_GROUPS = 90
LAMS = {"shared": math.inf, "fixed": 2.0, "resampled": Gamma(1, 0.1)}


def contexts(rng):
    return {
        "year": np.where(rng.random(N_GROUPS) < 0.2, np.nan, rng.normal(2000, 5, N_GROUPS)),
        "tags": [list(map(str, rng.integers(0, 9, rng.integers(0, 4)))) for _ in range(N_GROUPS)],
        "kind": [None if j % 5 == 0 else "ab"[j % 2] for j in range(N_GROUPS)],
        "load": np.where(rng.random(N_GROUPS) < 0.1, np.nan, rng.gamma(2.0, 1.7, N_GROUPS)),
    }


def words():
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.3, 2.0, (N_GROUPS, 1)) * rng.gamma(0.3, 3.0, 50))
    counts[7] = 0
    return Corpus(counts, contexts(rng))


def loads():
    rng = np.random.default_rng(2)
    groups = [rng.gamma(2.0, 1.0, (rng.integers(0, 9), 1)) for _ in range(N_GROUPS)]
    return Corpus(groups, contexts(rng))


def points():
    rng = np.random.default_rng(1)
    groups = [rng.normal(rng.integers(0, 3), 1.0, (rng.integers(0, 9), 2)) for _ in range(N_GROUPS)]
    return Corpus(groups, contexts(rng))


CORPORA = {"words": words, "points": points, "loads": loads}
FAMILIES = {
    "kernels": ("auto", "auto"),
    "own context": ("auto", {"year": "auto", "load": DrawnVisits(), "kind": "auto"}),
    "own content": (DrawnVisits(), {"load": DrawnVisits()}),
}


@pytest.mark.parametrize("n_shards", [1, 2, 5, 200])
@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize(
    ("content", "families"),
    [
        ("words", "kernels"),
        ("points", "kernels"),
        ("words", "own context"),
        ("points", "own context"),
        ("loads", "own content"),
    ],
)
def test_shards_change_nothing_in_what_is_drawn(content, families, lam, n_shards):
    corpus = CORPORA[content]()
    priors = Priors.for_corpus(corpus, *FAMILIES[families], lam=LAMS[lam])
    given = (observe(corpus, priors), priors)
    state = BLOCKED.start(*given, 3, 0, "random", 5, 8)
    whole, in_shards = copy.deepcopy(state), copy.deepcopy(state)
    backend = ShardedBackend(*given, n_shards)
    backend.load_labels(in_shards, Key(3, 0, 0))
    for _ in range(4):
        BLOCKED.sweep(whole, *given, 3, 0)
        BLOCKED.sweep(in_shards, *given, 3, 0, backend=backend)
    backend.save_labels(in_shards)
    np.testing.assert_array_equal(in_shards.cluster_of_group, whole.cluster_of_group)
    np.testing.assert_array_equal(in_shards.topic_of_token, whole.topic_of_token)
    for name in vars(whole.counts):
        np.testing.assert_array_equal(
            getattr(in_shards.counts, name), getattr(whole.counts, name), name
        )
    np.testing.assert_array_equal(in_shards.tables, whole.tables)
    np.testing.assert_array_equal(in_shards.category_shapes, whole.category_shapes)
    for name in ("lam", "alpha", "v", "eta", "log_joint"):
        assert getattr(in_shards, name) == getattr(whole, name)


@pytest.mark.parametrize("content", CORPORA)
def test_shards_are_the_corpus_in_pieces(content):
    corpus = CORPORA[content]()
    priors = Priors.for_corpus(corpus, lam=1.0)
    observations = observe(corpus, priors)
    backend = ShardedBackend(observations, priors, 4)
    shards = [backend.shard(number) for number in range(backend.n_shards)]
    assert len(shards) == 4
    assert sum(shard.n_groups for shard in shards) == N_GROUPS
    np.testing.assert_array_equal(
        np.concatenate([shard.word for shard in shards]), observations.word
    )
    for shard in shards:
        rows = slice(shard.first_group, shard.first_group + shard.n_groups)
        np.testing.assert_array_equal(shard.dense.values, observations.dense.values[rows])
        state = BLOCKED.start(shard, priors, 0, 0, "random", 2, 2)
        assert differences(state.counts, recount(state, shard)) == []


@pytest.mark.parametrize("make", [python_content, python_contexts])
def test_families_that_cannot_draw_parameters_are_refused(make):
    tiny = make("three functions", 2.0)
    message = "requires families with sample_parameters and log_likelihood, got Visits"
    with pytest.raises(InputError, match=message):
        ShardedBackend(tiny.observations, tiny.priors, 2)

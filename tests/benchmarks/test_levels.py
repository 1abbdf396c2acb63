"""The benchmarks of levels run on few groups; nothing is timed."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks.questions import clusters, level_types, levels
from benchmarks.settings import Settings
from mcsquared.corpus import Corpus

TINY = replace(Settings().quick(), simulated=True, level_starts=2, level_sweeps=6)


def test_simulated_parents_have_their_groups_and_types():
    tree = levels.simulate(TINY)
    (level,) = tree.corpus.levels
    assert len(tree.types) == level.n_units == 10
    assert np.bincount(level.parent_of_child).tolist() == [25] * 10
    assert len(tree.clusters) == tree.corpus.n_groups == 250


def test_every_start_has_a_row_and_recovered_ones_are_counted():
    result = levels.run(TINY)
    assert [row[0] for row in result.rows] == [0, 1]
    good = sum(min(row[1], row[3]) >= levels.RECOVERED for row in result.rows)
    assert result.targets[0].found == good
    assert result.targets[0].bound == 2


def test_divided_groups_have_the_words_of_their_image():
    counts = np.random.default_rng(0).poisson(2.0, (6, 9))
    corpus = clusters.divided(Corpus(counts), 3, seed=0)
    parents = corpus.levels[0].parent_of_child
    assert np.bincount(parents).tolist() == [3] * 6
    parts = corpus.content.counts.toarray()
    np.testing.assert_array_equal([parts[parents == j].sum(axis=0) for j in range(6)], counts)


@pytest.mark.parametrize("n_types", [1, 20])
def test_types_given_the_true_clusters_are_found_from_few_and_from_many(n_types):
    tree = levels.simulate(replace(TINY, scale=0.3))
    counts = np.zeros((len(tree.types), levels.N_CLUSTERS), np.int32)
    np.add.at(counts, (tree.corpus.levels[0].parent_of_child, tree.clusters), 1)
    start = np.arange(len(counts)) % n_types
    chain = level_types.TypeChain(counts, start, 30, np.random.default_rng(0))
    before = chain.log_density()
    _, score, after = chain.run(lambda types: adjusted_rand_score(tree.types, types))
    assert score > 0.9
    assert after > before

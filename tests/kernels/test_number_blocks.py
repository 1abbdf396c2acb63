"""Blocks of short numbers: the words of Philox by their definition."""

import numpy as np
import pytest
from scipy import stats

from mcsquared.kernels.rng import BLOCK, Step, fill_uniforms, fill_uniforms_at, philox
from tests.oracles.draws import Numbers

F = np.float32
KEYS = [(11, 3, 7), (2**32 - 1, 2**31 + 5, 2**32 - 1), (0, 0, 0)]  # seed, chain, sweep


def number(word):
    """31 bits of a word, half a step from 0, rounded to a float below 1."""
    return min(F(F(F(word >> 1) + F(0.5)) * F(2.0**-31)), F(1 - 2.0**-24))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("block", [0, 5, 2**28 - 1, 2**33])
def test_a_block_is_the_words_of_sixteen_counters(key, block):
    seed, chain, sweep = key
    out = np.zeros(2 * BLOCK + 1, F)
    fill_uniforms(out, 2, (seed, chain, sweep), int(Step.TOPICS), block)
    expected = []
    for b in (block, block + 1):
        indices = range(16 * b, 16 * b + 16)
        words = [
            philox(i & 0xFFFFFFFF, i >> 32, sweep, int(Step.TOPICS) << 16, seed, chain)
            for i in indices
        ]
        expected += [number(int(words[i][word])) for word in range(4) for i in range(16)]
    np.testing.assert_array_equal(out[:-1], expected)
    assert out[-1] == 0.0


@pytest.mark.parametrize("key", KEYS)
def test_single_counters_give_three_numbers(key):
    seed, chain, sweep = key
    indices, first, attempt = np.array([4, 0, 2**33, 77]), 10, 3
    out = np.zeros((3, 6), F)
    fill_uniforms_at(indices, 4, first, (seed, chain, sweep), int(Step.CONTENT), attempt, out)
    for column, index in enumerate((indices + first).tolist()):
        last = int(Step.CONTENT) << 16 | attempt
        words = philox(index & 0xFFFFFFFF, index >> 32, sweep, last, seed, chain)
        assert out[:, column].tolist() == [number(int(word)) for word in words[:3]]
    np.testing.assert_array_equal(out[:, 4:], 0.0)


def test_the_plain_sampler_reads_the_same_block():
    out = np.zeros(2 * BLOCK, F)
    fill_uniforms(out, 2, (11, 3, 7), int(Step.TOPICS), 9)
    plain = [Numbers(11, 3, 7).in_block(Step.TOPICS, 9, i) for i in range(2 * BLOCK)]
    np.testing.assert_array_equal(out, plain)


def test_numbers_of_blocks_are_uniform_and_lie_strictly_between_zero_and_one():
    out = np.zeros(2000 * BLOCK, F)
    fill_uniforms(out, 2000, (5, 0, 1), int(Step.TOPICS), 0)
    assert stats.kstest(out.astype(float), "uniform").pvalue > 1e-4
    for step in (1, 16):
        assert abs(np.corrcoef(out[:-step], out[step:])[0, 1]) < 4 / np.sqrt(out.size)
    assert number(0) > 0
    assert number(2**32 - 1) < 1

"""Counter-based random numbers: known answers, and no counter is used twice in a chain."""

import itertools

import numpy as np
import pytest
from scipy import stats

from mcsquared.kernels import rng
from mcsquared.kernels.rng import Step, generator, philox, uniform

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_philox_gives_the_published_answers(counter, key, answer):
    assert philox(*counter, *key) == answer


@pytest.fixture
def seen_counters(monkeypatch):
    """Run `uniform` as Python with a generator that only notes what it is asked for."""
    seen = []

    def note(*arguments):
        seen.append(tuple(int(a) for a in arguments))
        return 0, 0, 0, 0

    def counter_of(*arguments):
        with monkeypatch.context() as patched:
            patched.setattr(rng, "philox", note)
            uniform.py_func(*arguments)
        return seen[-1]

    return counter_of


def test_no_two_draws_of_a_chain_share_a_counter(seen_counters):
    indexes = [0, 1, 2, 255, 2**16 - 1, 2**16, 2**20, 2**32 - 1, 2**32, 2**32 + 1, 2**40 - 1]
    attempts = [0, 1, 255, 256, 2**16 - 1, 2**16, 2**16 + 1, 2**17, 2**24, 2**32, 2**40 - 1]
    steps = [int(step) for step in Step]
    draws = list(itertools.product(steps, indexes, attempts))
    counters = {seen_counters(11, 3, 7, *arguments) for arguments in draws}
    assert len(counters) == len(draws)


def test_sweeps_stand_in_the_counter_and_seed_and_chain_in_the_key(seen_counters):
    *_, sweep, _, seed, chain = seen_counters(11, 3, 7, Step.TOPICS, 5, 0)
    assert (sweep, seed, chain) == (7, 11, 3)


def test_steps_have_different_numbers():
    values = [step.value for step in Step]
    assert len(set(values)) == len(Step.__members__)
    assert max(values) < 2**16


def test_numbers_lie_strictly_between_zero_and_one():
    for words in [(0, 0), (ONES, ONES)]:
        assert 0.0 < rng.unit_float64(*words) < 1.0


def test_numbers_are_uniform_and_neighbours_are_independent():
    u = np.array([uniform(5, 0, 1, Step.TOPICS, i, 0) for i in range(20_000)])
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    pairs = np.histogram2d(u[:-1:2], u[1::2], bins=10)[0].ravel()
    assert stats.chisquare(pairs).pvalue > 1e-3
    next_attempt = np.array([uniform(5, 0, 1, Step.TOPICS, i, 1) for i in range(20_000)])
    assert abs(np.corrcoef(u, next_attempt)[0, 1]) < 4 / np.sqrt(u.size)


def test_a_generator_depends_on_its_arguments_alone():
    arguments = (3, 1, 8, int(Step.V))
    first = generator(*arguments).random(4)
    np.testing.assert_array_equal(first, generator(*arguments).random(4))
    for position in range(4):
        other = list(arguments)
        other[position] += 1
        assert not np.isin(generator(*other).random(4), first).any()

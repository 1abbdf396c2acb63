"""No two draws share a random number, in a sweep, among sweeps or among chains.

A number is a word, or two, of what Philox4x32 makes of a counter under a key. The plain samplers
take every number through one door, where these tests stand and note it; the compiled ones draw the
same labels (`test_reference`, `test_reference_blocked`), and so take the same numbers.

Steps that draw a handful have a NumPy generator instead: Philox4x64, which multiplies words of
another length by other constants, so that a counter in common means nothing. Its four words of 64
bits are (0, 0, sweep, step) where a stream begins, and a stream counts in the first two: it would
meet another one after 2¹²⁸ steps. So it is enough that no stream is begun twice.
"""

import dataclasses

import numpy as np
import pytest

from mcsquared.kernels.cpu import counts, special
from mcsquared.kernels.rng import Step, generator
from mcsquared.samplers import types
from mcsquared.samplers.init import mixture
from mcsquared.samplers.steps import tables as table_steps
from mcsquared.samplers.steps.collapsed import COLLAPSED_CHAIN
from mcsquared.samplers.steps.slots import grow_slots
from mcsquared.samplers.sweep import BLOCKED, COLLAPSED
from mcsquared.state import NO_BOUNDS
from tests.oracles import blocked as plain_blocked
from tests.oracles import collapsed as plain_collapsed
from tests.oracles.draws import Numbers
from tests.samplers import cases, test_reference
from tests.samplers.word_cases import BLOCKED_ALONE, CASES, add_plain_slots, plain_data, start

SEED = 5
VECTORS = ["gaussian", "bernoulli", "multivariate", "no_content"]


class Record:
    """Record of draws: words of counters, and streams; nothing may be drawn twice."""

    def __init__(self):
        self.words, self.streams = set(), set()

    def note_words(self, key, counter, which):
        assert all(0 <= word < 2**32 for word in (*counter, *key))
        for word in which:
            assert (key, counter, word) not in self.words, f"{counter} is used twice"
            self.words.add((key, counter, word))

    def note_stream(self, *stream):
        assert stream not in self.streams, f"{stream} is begun twice"
        self.streams.add(stream)

    def numbers(self, seed, chain, sweep):
        """Numbers that are noted, for the plain blocked sampler."""
        return NotedNumbers(seed, chain, sweep, self)

    def uniform(self, seed, chain, sweep, step, index, attempt):
        """A number that is noted, for kernels that run as Python."""
        return self.numbers(seed, chain, sweep).uniform(step, int(index), int(attempt))

    def generator(self, seed, chain, sweep, step):
        """A stream that is noted."""
        self.note_stream(seed, chain, sweep, step)
        return generator(seed, chain, sweep, step)

    @property
    def steps(self):
        return {counter[3] >> 16 for _, counter, _ in self.words} | {s[3] for s in self.streams}

    @property
    def chains(self):
        return {key[1] for key, _, _ in self.words} | {stream[1] for stream in self.streams}


class NotedNumbers(Numbers):
    def __init__(self, seed, chain, sweep, record):
        super().__init__(seed, chain, sweep)
        self.record = record

    def take(self, counter, which):
        self.record.note_words((self.seed, self.chain), counter, which)
        return super().take(counter, which)

    def generator(self, step):
        self.record.note_stream(self.seed, self.chain, self.sweep, int(step))
        return super().generator(step)


@pytest.fixture
def record():
    return Record()


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("fixed")])
def test_no_two_draws_of_the_blocked_sampler_share_a_number(name, record):
    case = CASES[name]
    data = plain_data(case)
    for chain in range(2):
        state, plain = start(case, SEED, chain)
        for _ in range(3):
            grow_slots(state, NO_BOUNDS)
            add_plain_slots(plain, *state.tables.shape)
            plain_blocked.sweep(plain, data, case.priors, SEED, chain, record.numbers)
            BLOCKED_ALONE.sweep(state, case.observations, case.priors, SEED, chain)
    # Bags, too, draw by the numbers of their chain alone.
    assert record.chains == {0, 1}
    expected = {Step.CLUSTERS, Step.TOPICS, Step.CONTENT_NONZERO, Step.TOPIC_SHARES, Step.TABLES}
    assert expected <= record.steps
    assert (Step.GROUP_TABLES in record.steps) == (not np.isinf(plain.lam))
    assert len(record.words) > 10_000


@pytest.mark.parametrize("name", ["words_all_contexts", "gaussian"])
def test_no_two_draws_of_the_collapsed_sampler_share_a_number(name, record, monkeypatch):
    case = cases.CASES[name]
    observations, data = case.observations, test_reference.plain_data(case)
    monkeypatch.setattr(plain_collapsed, "uniform", record.uniform)
    monkeypatch.setattr(special, "uniform", record.uniform)
    monkeypatch.setattr(counts, "crt", special.crt.py_func)
    monkeypatch.setattr(table_steps, "draw_table_counts", counts.draw_table_counts.py_func)
    monkeypatch.setattr(types, "generator", record.generator)
    for chain in range(2):
        state = case.start(chain=chain)
        for _ in range(3):
            plain = test_reference.plain_state(state)
            COLLAPSED.sweep(state, observations, case.priors, SEED, chain)
            plain_collapsed.sweep(plain, data, SEED, chain)
    assert {Step.CLUSTERS, Step.TOPICS, Step.BIRTHS, Step.TABLES, Step.V} <= record.steps


@pytest.mark.parametrize("lam", [np.inf, 2.0])
@pytest.mark.parametrize("name", VECTORS)
def test_the_compiled_sampler_begins_no_stream_twice(name, lam, record, monkeypatch):
    case = cases.CASES[name]
    case = cases.Case(case.corpus, dataclasses.replace(case.priors, lam=lam))
    monkeypatch.setattr(types, "generator", record.generator)
    state = BLOCKED.start(case.observations, case.priors, SEED, 0, "random", 4, 5)
    for _ in range(3):
        BLOCKED.sweep(state, case.observations, case.priors, SEED, 0)
    assert len(record.streams) >= 3 * 8


def test_a_start_takes_no_number_of_a_sweep(record, monkeypatch):
    case = cases.CASES["words_all_contexts"]
    chains = []

    def resample_clusters(sweep):
        state = sweep.state
        chains.append((sweep.key.chain, sweep.key.sweep))
        state.cluster_of_group[:] = state.sweep % 2  # never at rest

    monkeypatch.setattr(types, "generator", record.generator)
    monkeypatch.setattr(mixture, "resample_clusters_in_turn", resample_clusters)
    BLOCKED.start(case.observations, case.priors, SEED, 3, "auto")
    # Sweeps of a chain begin at 1; the mixture and the HDP of a start have chains that no fit has.
    chains_of_hdp = {2**29 + 3, COLLAPSED_CHAIN + 2**29 + 3}
    hdp_streams = {stream for stream in record.streams if stream[1] in chains_of_hdp}
    expected = {(SEED, 3, 0, Step.START), (SEED, 2**31 + 3, 0, Step.START)}
    assert record.streams - hdp_streams == expected
    assert hdp_streams
    assert set(chains) == {(2**31 + 3, sweep) for sweep in range(1, 21)}


def test_a_stream_counts_where_neither_sweep_nor_step_stand():
    rng = generator(SEED, 1, 7, int(Step.V))
    rng.random(1000)
    state = rng.bit_generator.state["state"]
    assert state["counter"][0] >= 250
    np.testing.assert_array_equal(state["counter"][1:], [0, 7, Step.V])
    np.testing.assert_array_equal(state["key"], [SEED, 1])


def test_a_number_that_is_drawn_twice_is_detected(record):
    record.numbers(SEED, 0, 1).in_block(Step.TOPICS, 2, 17)
    with pytest.raises(AssertionError, match="used twice"):
        record.numbers(SEED, 0, 1).uniform(Step.TOPICS, 33)
    record.generator(SEED, 0, 1, Step.V)
    with pytest.raises(AssertionError, match="begun twice"):
        record.generator(SEED, 0, 1, Step.V)

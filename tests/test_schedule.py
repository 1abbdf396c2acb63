"""Schedules: stages double, and the kept draws are always those of the second half."""

from itertools import islice, pairwise

import pytest

from mcsquared.schedule import DRAWS_PER_FIT, FIRST_STAGE, MAX_SWEEPS, StagedSchedule


def simulated(schedule, chain=0, n_sweeps=700):
    """Yield the sweeps done, the kept draws and those with parameters, as a chain keeps them."""
    kept, stored = [], []
    for now in range(1, n_sweeps + 1):
        if schedule.is_kept(now):
            kept.append(now)
            if schedule.stores_parameters(now, chain):
                stored.append(now)
        kept = schedule.draws_after(kept, now)
        stored = schedule.parameters_after(stored, now, chain)
        yield now, kept, stored


def test_stages_double_until_the_limit_or_forever():
    assert list(StagedSchedule(10).stages()) == [40, 80, 160, 320]
    assert list(StagedSchedule(10).stages())[-1] == MAX_SWEEPS
    assert list(islice(StagedSchedule(10, max_sweeps=None).stages(), 6))[-1] == 32 * FIRST_STAGE
    schedule = StagedSchedule(10)
    assert [schedule.stage_of(sweep) for sweep in (1, 40, 41, 80, 81)] == [40, 40, 80, 80, 160]


@pytest.mark.parametrize(
    ("n_tokens", "last"), [(0, 320), (125_000, 320), (125_001, 160), (250_001, 80), (10**9, 80)]
)
def test_large_corpora_have_fewer_stages(n_tokens, last):
    assert list(StagedSchedule(10).for_corpus(n_tokens).stages())[-1] == last
    unlimited = StagedSchedule(10, max_sweeps=None)
    assert unlimited.for_corpus(n_tokens) == unlimited


@pytest.mark.parametrize(
    ("n_tokens", "n_chains", "last"),
    [
        (0, 8, 320),
        (125_000, 8, 320),
        (250_000, 16, 160),
        (500_000, 32, 80),
        (3_125_000, 32, 40),
        (5_000_000, 20, 80),
        (10**9, 8, 80),
    ],
)
def test_the_number_of_chains_depends_on_the_size_of_the_corpus(n_tokens, n_chains, last):
    schedule = StagedSchedule(10, choose_chains=True).for_corpus(n_tokens)
    assert schedule.n_chains == n_chains
    assert list(schedule.stages())[-1] == last
    in_time = StagedSchedule(10, max_sweeps=None, choose_chains=True).for_corpus(n_tokens)
    assert (in_time.n_chains, in_time.max_sweeps) == (n_chains, None)


@pytest.mark.parametrize("n_chains", [1, 2, 3, 4, 7])
def test_the_kept_draws_depend_on_the_number_of_sweeps_alone(n_chains):
    schedule = StagedSchedule(10, n_chains)
    for now, kept, _ in simulated(schedule):
        thin = schedule.thin_of(schedule.stage_of(now))
        assert kept == [s for s in range(now // 2 + 1, now + 1) if s % thin == 0]


@pytest.mark.parametrize("n_chains", [1, 2, 3, 4, 7, 8, 16, 20])
def test_the_number_of_kept_draws_does_not_grow(n_chains):
    schedule = StagedSchedule(10, n_chains)
    numbers = {now: len(kept) for now, kept, _ in simulated(schedule)}
    expected = min(DRAWS_PER_FIT, n_chains * FIRST_STAGE // 2)  # one chain has no more at first
    for stage in schedule.stages():
        assert 0.7 * expected <= n_chains * numbers[stage] <= 1.2 * expected
        assert numbers[stage] == numbers[FIRST_STAGE] or numbers[stage] == numbers[FIRST_STAGE] + 1
    # A run that is stopped in the middle of a later stage has at least half as many.
    assert min(numbers[now] for now in range(FIRST_STAGE, 701)) >= numbers[FIRST_STAGE] // 2


@pytest.mark.parametrize("keep_parameters", [1, 3, 10, 40])
@pytest.mark.parametrize("n_chains", [1, 2, 4])
def test_parameters_are_stored_for_their_number_of_kept_draws(n_chains, keep_parameters):
    schedule = StagedSchedule(keep_parameters, n_chains)
    total = dict.fromkeys(schedule.stages(), 0)
    for chain in range(n_chains):
        for now, kept, stored in simulated(schedule, chain):
            assert set(stored) <= set(kept)
            if now in total:
                total[now] += len(stored)
                steps = {later - earlier for earlier, later in pairwise(stored)}
                assert len(steps) <= 1
    assert set(total.values()) == {min(keep_parameters, n_chains * FIRST_STAGE // 2)}


def test_a_chain_has_parameters_after_its_first_ones_at_any_time():
    for n_chains in (1, 4):
        lengths = [len(stored) for _, _, stored in simulated(StagedSchedule(10, n_chains))]
        first = next(number for number, length in enumerate(lengths) if length)
        assert first < FIRST_STAGE
        assert min(lengths[first:]) >= 1


@pytest.mark.parametrize("n_chains", [1, 8, 16, 32])
def test_the_last_draw_of_a_stage_is_kept(n_chains):
    schedule = StagedSchedule(10, n_chains)
    for now, kept, stored in simulated(schedule, n_sweeps=320):
        if now in (40, 80, 160, 320):
            assert kept[-1] == stored[-1] == now

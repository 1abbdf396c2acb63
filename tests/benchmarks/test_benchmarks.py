"""The benchmarks run and report correctly; nothing is timed."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import engines, profile
from benchmarks.contenders import BlockedFinite, Collapsed, start_installed
from benchmarks.contenders.collapsed import TOKEN_STEP
from benchmarks.corpora import share_of, simulated_corpus
from benchmarks.engines import TimedFit
from benchmarks.measure import Timing, run_job
from benchmarks.plots import draw_curves
from benchmarks.questions import growth, threads, throughput
from benchmarks.questions.numbers import Found, Size, is_right, number_covering
from benchmarks.settings import Settings
from benchmarks.tables import Result, Target, format_cell, markdown

TINY = replace(
    Settings().quick(), simulated=True, scale=0.02, warm_up=1, sweeps=2, n_topics=10, n_clusters=3
)


@pytest.fixture(autouse=True)
def short_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcsquared.samplers.hdp.MAX_HDP_SWEEPS", 5)


def test_every_step_of_every_contender_is_in_the_table() -> None:
    result = throughput.run(TINY)
    started, _ = start_installed(simulated_corpus(0.01), TINY)
    assert {row[0] for row in result.rows} == {contender.name for contender in started}
    steps = [row[2] for row in result.rows if row[0] == Collapsed.name]
    assert {TOKEN_STEP, throughput.WHOLE} <= set(steps)
    assert all(len(row) == len(result.columns) for row in result.rows)


def test_a_contender_that_is_not_installed_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tomotopy", None)
    result = throughput.run(TINY)
    assert not any("tomotopy" in row[0] for row in result.rows)
    assert Collapsed.name in {row[0] for row in result.rows}
    assert any("tomotopy HDP was skipped" in note for note in result.notes)
    assert any("tomotopy LDA was skipped" in note for note in result.notes)


def test_slow_contenders_do_fewer_sweeps() -> None:
    class Counter:
        def __init__(self, name: str, slow: bool) -> None:
            self.name, self.slow, self.n_sweeps = name, slow, 0

        def sweep(self) -> dict[str, float]:
            self.n_sweeps += 1
            return {"sweep": 1.0}

        def size(self) -> dict[str, int]:
            return {}

    fast, slow = Counter("fast", False), Counter("slow", True)
    chosen = replace(TINY, warm_up=5, sweeps=4, slow_warm_up=2, slow_sweeps=1)
    timings = throughput.time_sweeps([fast, slow], chosen)
    assert (fast.n_sweeps, slow.n_sweeps) == (9, 3)
    assert len(timings["fast", throughput.WHOLE].seconds) == 4
    assert len(timings["slow", throughput.WHOLE].seconds) == 1


def test_growth_is_relative_to_the_whole_corpus() -> None:
    result = growth.run(TINY)
    for row in result.rows:
        assert len(row) == len(result.columns)
        if row[2] == 1.0:
            assert row[-1] == 1.0
    assert {row[1] for row in result.rows} == {"tokens", "groups", "topics", "clusters"}


def test_numbers_of_threads_are_doubled_up_to_the_number_of_cores() -> None:
    assert threads.thread_numbers(1) == [1, 2]
    assert threads.thread_numbers(16) == [1, 2, 4, 8, 16]
    assert threads.thread_numbers(24) == [1, 2, 4, 8, 16]


def test_more_threads_that_are_slower_miss_a_target() -> None:
    gain = {1: 1.0, 2: 1.9, 4: 3.5, 8: 7.0, 16: 6.0}
    met = [t.met for t in threads.targets_of("NIPS", engines.INFINITE, "NIPS", gain)]
    assert met == [True, True, False]
    gain[16] = 7.1
    assert all(t.met for t in threads.targets_of("NIPS", engines.INFINITE, "NIPS", gain))
    assert len(threads.targets_of("NIPS", engines.FINITE, "NIPS", {1: 1.0, 2: 1.9})) == 1


def test_a_profile_has_every_step_for_every_number_of_threads() -> None:
    chain = BlockedFinite(simulated_corpus(0.02), TINY)
    found = profile.profile(chain, [1, 2], n_dropped=1, n_sweeps=2)
    steps = {step.__name__ for step in chain.sampler.steps} | {profile.WHOLE}
    assert set(found[1]) == set(found[2]) == steps
    assert all(len(each) == 2 for by_step in found.values() for each in by_step.values())


def test_a_share_of_the_groups_keeps_their_order() -> None:
    corpus = simulated_corpus(0.02)
    half = share_of(corpus, 0.5)
    assert half.n_groups == round(corpus.n_groups / 2)
    assert list(half.group_names) == [n for n in corpus.group_names if n in set(half.group_names)]


def test_a_job_reports_the_memory_of_its_own_process() -> None:
    memory = bytearray(300_000_000)  # of this process; written to, so that it is allocated
    memory[::4096] = b"x" * len(memory[::4096])
    report = run_job("import_module", module="mcsquared")
    assert report["loaded"] == []
    assert report["peak_megabytes"] < 100


def test_a_missed_target_is_reported_on_the_page() -> None:
    slow = Target("token step", 4.0, 5.0, True, "M tokens/s")
    light = Target("a fit", 300.0, 400.0, False, "MB")
    result = Result("Speed", ("who", "figure"), [("ours", 1.2345), ("theirs", None)], [slow, light])
    page = markdown({"processor": "one"}, {"speed": result})
    assert str(slow) == "token step: 4 M tokens/s (target: at least 5 M tokens/s, missed)"
    assert "| speed | token step | 4 M tokens/s | at least 5 M tokens/s | missed |" in page
    assert "| speed | a fit | 300 MB | at most 400 MB | met |" in page
    assert page.index("## Targets") < page.index("## Speed")
    assert "| ours | 1.23 |" in page
    assert "| theirs | - |" in page


def test_a_level_that_is_not_reached_is_a_missed_target() -> None:
    target = Target("time to quality", None, 30.0, False, "CPU-s")
    assert str(target) == "time to quality: not reached (target: at most 30 CPU-s, missed)"


def test_curves_are_plotted_and_included_in_the_page(tmp_path: Path) -> None:
    curves = {
        "mcsquared, λ finite": [(1.0, 2000.0), (60.0, 1600.0)],
        "tomotopy LDA, 50 topics": [(1.0, 2500.0), (60.0, 1700.0)],
        "tomotopy HDP": [(1.0, 2600.0), (50.0, 1701.0)],
    }
    result = Result("Quality", ("who",), [("ours",)], curves=curves)
    draw_curves(result, tmp_path / "images" / "quality.png")
    assert (tmp_path / "images" / "quality.png").stat().st_size > 10_000
    assert "![Quality](images/quality.png)" in markdown({}, {"quality": result})
    assert Result.from_dict(result.to_dict()).curves == curves


def test_settings_survive_a_round_trip_through_json() -> None:
    chosen = replace(Settings(), seed=3)
    assert Settings.from_dict(json.loads(json.dumps(asdict(chosen)))) == chosen


def test_figures_have_three_digits() -> None:
    assert [format_cell(x) for x in (0.01234, 12.345, 1234.5, 1234567)] == [
        "0.0123",
        "12.3",
        "1,234",
        "1,234,567",
    ]


def test_the_median_sweep_is_reported() -> None:
    timing = Timing([3.0, 1.0, 2.0])
    assert (timing.fastest, timing.median, timing.slowest) == (1.0, 2.0, 3.0)


def test_draws_of_two_chains_have_their_own_times() -> None:
    posterior = SimpleNamespace(chain_of_draw=[0, 0, 1, 1], sweep_of_draw=[2, 4, 1, 2])
    fitted = TimedFit(posterior, [[1.0, 2.0, 3.0, 4.0], [5.0, 7.0]])
    draws = [SimpleNamespace(index=index) for index in range(4)]
    assert [fitted.seconds_of(draw) for draw in draws] == [2.0, 4.0, 5.0, 7.0]
    assert [fitted.is_late(draw) for draw in draws] == [False, True, False, True]


def test_both_numbers_must_be_within_a_tenth() -> None:
    size = Size(n_clusters=20, n_topics=30, n_groups=1, tokens_per_group=1, v=1.0)
    others = {"all_clusters": 20.0, "all_topics": 30.0, "nmi": 1.0, "recovered": 30}
    assert is_right(size, Found(clusters=22, topics=27, **others))
    assert not is_right(size, Found(clusters=20, topics=34, **others))
    assert not is_right(size, Found(clusters=17, topics=30, **others))


def test_tiny_clusters_and_topics_do_not_count() -> None:
    assert number_covering([500, 3, 490, 1, 6]) == 2
    assert number_covering([50, 3, 47]) == 3

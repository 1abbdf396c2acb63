"""The benchmarks run and say what they should; nothing here is timed."""

from dataclasses import replace

import pytest

from benchmarks.contenders import begin_all, collapsed
from benchmarks.corpora import share_of, simulated_corpus
from benchmarks.measure import Timing, run_job
from benchmarks.questions import growth, throughput
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Target, markdown, show

TINY = replace(
    Settings(), simulated=True, scale=0.02, warm_up=1, sweeps=2, n_topics=10, n_clusters=3
)


def test_every_step_of_every_contender_is_in_the_table() -> None:
    answer = throughput.ask(TINY)
    begun, _ = begin_all(simulated_corpus(0.01), TINY)
    assert {row[0] for row in answer.rows} == {contender.name for contender in begun}
    steps = [row[1] for row in answer.rows if row[0] == collapsed.NAME]
    assert {collapsed.TOKEN_STEP, throughput.WHOLE} <= set(steps)
    assert all(len(row) == len(answer.columns) for row in answer.rows)


def test_a_contender_that_is_not_installed_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tomotopy", None)
    answer = throughput.ask(TINY)
    assert {row[0] for row in answer.rows} == {collapsed.NAME}
    assert any("tomotopy HDP was left out" in note for note in answer.notes)


def test_growth_is_told_against_the_whole_corpus() -> None:
    answer = growth.ask(TINY)
    assert [row[0] for row in answer.rows] == ["0.25×", "0.5×", "1×"]
    assert answer.rows[-1][-1] == 1.0


def test_a_share_of_the_groups_keeps_their_order() -> None:
    corpus = simulated_corpus(0.02)
    half = share_of(corpus, 0.5)
    assert half.n_groups == round(corpus.n_groups / 2)
    assert list(half.group_names) == [n for n in corpus.group_names if n in set(half.group_names)]


def test_a_job_reports_the_memory_of_its_own_process() -> None:
    held = bytearray(300_000_000)  # in this process, written so that it is really there
    held[::4096] = b"x" * len(held[::4096])
    report = run_job("import_module", module="mcsquared")
    assert report["loaded"] == []
    assert report["peak_megabytes"] < 100


def test_a_missed_target_says_so_and_the_page_shows_it() -> None:
    slow = Target("token step", 4.0, 5.0, True, "M tokens/s")
    light = Target("a fit", 300.0, 400.0, False, "MB")
    answer = Answer("Speed", ("who", "figure"), [("ours", 1.2345), ("theirs", None)], [slow, light])
    page = markdown({"processor": "one"}, {"speed": answer})
    assert "token step: 4 M tokens/s, at least 5 M tokens/s wanted: missed" in page
    assert "a fit: 300 MB, less than 400 MB wanted: met" in page
    assert "| ours | 1.23 |" in page
    assert "| theirs | - |" in page


def test_figures_have_three_digits() -> None:
    assert [show(x) for x in (0.01234, 12.345, 1234.5, 1234567)] == [
        "0.0123",
        "12.3",
        "1,234",
        "1,234,567",
    ]


def test_the_middle_sweep_is_quoted() -> None:
    timing = Timing([3.0, 1.0, 2.0])
    assert (timing.least, timing.median, timing.most) == (1.0, 2.0, 3.0)

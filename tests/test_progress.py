"""Progress displays bars, lines or nothing, and never stops a run."""

import io
from dataclasses import dataclass

import pytest

from mcsquared import progress as module
from mcsquared.errors import InputError
from mcsquared.progress import Progress


@dataclass
class Info:
    chain: int
    sweep: int
    n_clusters: int = 4
    n_topics: int = 13


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that advances by a fixed step at each call."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def displayed(stream, n_sweeps=100, n_chains=1, first=1, **options) -> str:
    with Progress(n_sweeps, n_chains, 1000, stream=stream, **options) as progress:
        for chain in range(n_chains):
            for sweep in range(first, n_sweeps + 1):
                assert progress(Info(chain, sweep)) is None
    return stream.getvalue()


def test_a_pipe_receives_ten_lines_with_clusters_and_topics():
    lines = displayed(io.StringIO(), mode=True).splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("sweep 100 of 100: 4 clusters, 13 topics")


def test_the_time_left_ends_at_the_deadline(monkeypatch):
    monkeypatch.setattr(module.time, "monotonic", Clock(step=1.0))
    lines = displayed(io.StringIO(), mode=True, deadline=40.0).splitlines()
    left = [int(line.rpartition("0:")[2].removesuffix(" left")) for line in lines]
    assert max(left) < 40
    assert left[-1] == 0


@dataclass
class StagedInfo(Info):
    n_sweeps: int = 0


def test_the_total_of_a_run_in_stages_is_that_of_the_current_stage():
    for stream in (io.StringIO(), Terminal()):
        with Progress(100, 2, 1000, stream=stream, mode=True) as progress:
            for first, last in ((0, 100), (100, 200)):
                for chain in (0, 1):
                    for sweep in range(first + 1, last + 1):
                        progress(StagedInfo(chain, sweep, n_sweeps=last))
        output = stream.getvalue()
        last = "sweep 400 of 400" if isinstance(stream, io.StringIO) and "sweep" in output else ""
        assert last in output
        if stream.isatty():
            continue
        assert output.count("not converged after 200 sweeps: continuing to 400") == 1
    lines = [line for line in output.splitlines() if "200/200" in line]
    assert len(lines) >= 2


def test_a_short_run_prints_nothing_on_a_pipe():
    assert displayed(io.StringIO(), mode="auto") == ""


def test_a_long_run_prints_lines_on_a_pipe(monkeypatch):
    monkeypatch.setattr(module.time, "monotonic", Clock(step=0.5))
    assert len(displayed(io.StringIO(), mode="auto").splitlines()) == 10


def test_extra_lines_of_a_very_long_run_become_rarer(monkeypatch):
    monkeypatch.setattr(module.time, "monotonic", Clock(step=1.0))
    stream = io.StringIO()
    with Progress(1_000_000, 1, 1000, stream=stream) as progress:
        for sweep in range(1, 1001):
            progress(Info(0, sweep))
    printed = [int(line.split()[1]) for line in stream.getvalue().splitlines()]
    assert printed == [10, 30, 70, 150, 310, 630]


def test_lines_count_the_sweeps_of_all_chains():
    assert "sweep 300 of 300" in displayed(io.StringIO(), n_chains=3, mode=True)


def test_speed_and_remaining_time_exclude_sweeps_before_a_resume(monkeypatch):
    monkeypatch.setattr(module.time, "monotonic", Clock(step=2.0))
    stream = io.StringIO()
    with Progress(100, 1, 1000, mode=True, stream=stream) as progress:
        for sweep in range(61, 71):
            progress(Info(0, sweep))
    # Two seconds per sweep, 30 remaining.
    assert stream.getvalue().splitlines()[-1].endswith("500 tokens/s, 1:00 left")


def test_false_displays_nothing_on_a_terminal():
    assert displayed(Terminal(), mode=False) == ""


@pytest.mark.parametrize("n_chains", [1, 2])
def test_a_terminal_displays_a_bar_per_chain(n_chains, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    text = displayed(Terminal(), n_chains=n_chains)
    assert "100/100" in text
    assert "4 clusters, 13 topics" in text
    assert ("chain 2" in text) == (n_chains == 2)


def test_the_bar_is_closed_when_the_run_fails():
    progress = Progress(10, stream=Terminal())
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    assert progress(Info(0, 1)) is None


def test_an_unknown_mode_is_rejected():
    with pytest.raises(InputError, match="progress must be 'auto', True or False, got 'loud'"):
        Progress(10, mode="loud")


def test_durations_and_rates_are_short():
    assert [module._format_duration(s) for s in (5, 75, 3700)] == ["0:05", "1:15", "1:01:40"]
    assert [module._format_number(n) for n in (950.0, 1.5e3, 1234567.0)] == [
        "950",
        "1.5 k",
        "1.23 M",
    ]

"""The benchmarks of a GPU: what is simulated, what limits it, where answers are kept."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import __main__ as page
from benchmarks.limits import ISSUED, MOVED, Work
from benchmarks.questions import device
from benchmarks.settings import Settings
from benchmarks.simulation import simulate
from benchmarks.tables import Answer, Unavailable


def test_simulated_documents_have_the_size_that_is_asked_for():
    made = simulate(2_000, 60_000, 500, 4, 10)
    observations, entries = made.observations, made.observations.layout.words_of_group
    assert observations.n_groups == len(made.clusters) == 2_000
    assert observations.n_tokens == pytest.approx(60_000, rel=0.05)
    assert entries.count.sum() == observations.n_tokens == len(observations.word)
    first = np.repeat(entries.column[: entries.start[1]], entries.count[: entries.start[1]])
    np.testing.assert_array_equal(first, observations.word[: observations.group_start[1]])
    assert observations.word.max() < 500


def test_simulated_documents_of_a_cluster_are_alike():
    made = simulate(400, 40_000, 200, 2, 5)
    entries = made.observations.layout.words_of_group
    counts = np.zeros((400, 200))
    np.add.at(counts, (np.repeat(np.arange(400), np.diff(entries.start)), entries.column), 1.0)
    counts /= np.linalg.norm(counts, axis=1, keepdims=True)
    alike, same = counts @ counts.T, made.clusters[:, None] == made.clusters
    assert alike[same].mean() > alike[~same].mean() + 0.1


def test_limits_grow_with_what_is_worked_on():
    work = Work(1_000, 100_000, 70_000, 5_000, 32, 64, True)
    assert work.bytes_moved == 16 * 1_000 + 16 * 5_000 * 64 + 8 * 100_000
    assert work.bytes_of_rows == 4 * 100_000 * 64
    bytes_ms, rows_ms, instructions_ms = work.milliseconds
    assert bytes_ms == pytest.approx(1e3 * work.bytes_moved / MOVED)
    assert rows_ms == pytest.approx(1e3 * work.bytes_of_rows / MOVED)
    assert instructions_ms == pytest.approx(1e3 * 100_000 * (4 * 2 + 20) / ISSUED)
    shared = replace(work, varies=False)
    assert shared.bytes_of_rows == 4 * 70_000 * 32
    assert replace(shared, clusters=64).instructions > shared.instructions


@pytest.mark.parametrize("ask", [device.ask, device.ask_large])
def test_without_a_gpu_nothing_is_asked(ask, monkeypatch):
    monkeypatch.setattr(device, "describe_device", lambda: None)
    with pytest.raises(Unavailable):
        ask(Settings().quick())


def test_answers_of_another_machine_stay_and_take_none_with_them(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "RESULTS", tmp_path / "latest.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(page, "describe", lambda: {"processor": "one"})
    there = Answer("There", ["what"], [["x"]], machine={"GPU": "fast"})
    page.write({"memory": Answer("Here", ["what"], [["y"]])})
    monkeypatch.setattr(page, "describe", lambda: {"processor": "two"})
    page.write({"device": there})
    kept = json.loads(page.RESULTS.read_text())
    assert kept["machine"] == {"processor": "one"}
    assert set(kept["answers"]) == {"memory", "device"}
    page.write({"startup": Answer("New", ["what"], [["z"]])})
    kept = json.loads(page.RESULTS.read_text())
    assert kept["machine"] == {"processor": "two"}
    machines = {name: answer["machine"] for name, answer in kept["answers"].items()}
    assert machines == {"memory": {"processor": "one"}, "device": {"GPU": "fast"}, "startup": {}}
    assert "- GPU: fast" in page.PAGE.read_text()
    assert "- processor: one" in page.PAGE.read_text()
    monkeypatch.setattr(page, "describe", lambda: {"processor": "one"})
    page.write({"device": there})
    page.write({"growth": Answer("Again", ["what"], [["w"]])})
    kept = json.loads(page.RESULTS.read_text())["answers"]
    machines = {name: answer["machine"] for name, answer in kept.items()}
    assert machines == {
        "memory": {},
        "growth": {},
        "device": {"GPU": "fast"},
        "startup": {"processor": "two"},
    }

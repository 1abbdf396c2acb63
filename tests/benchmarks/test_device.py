"""The benchmarks of a GPU: what is simulated, what limits it, where results are stored."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import __main__ as page
from benchmarks.limits import BYTES_PER_SECOND, INSTRUCTIONS_PER_SECOND, Work
from benchmarks.questions import device, device_streamed
from benchmarks.settings import Settings
from benchmarks.simulation import simulate
from benchmarks.tables import Result, Unavailable


def test_simulated_documents_have_the_requested_size():
    drawn = simulate(2_000, 60_000, 500, 4, 10)
    observations, entries = drawn.observations, drawn.observations.layout.words_of_group
    assert observations.n_groups == len(drawn.clusters) == 2_000
    assert observations.n_tokens == pytest.approx(60_000, rel=0.05)
    assert entries.count.sum() == observations.n_tokens == len(observations.word)
    first = np.repeat(entries.column[: entries.start[1]], entries.count[: entries.start[1]])
    np.testing.assert_array_equal(first, observations.word[: observations.group_start[1]])
    assert observations.word.max() < 500


def test_simulated_documents_of_a_cluster_are_similar():
    drawn = simulate(400, 40_000, 200, 2, 5)
    entries = drawn.observations.layout.words_of_group
    counts = np.zeros((400, 200))
    np.add.at(counts, (np.repeat(np.arange(400), np.diff(entries.start)), entries.column), 1.0)
    counts /= np.linalg.norm(counts, axis=1, keepdims=True)
    similarity, same = counts @ counts.T, drawn.clusters[:, None] == drawn.clusters
    assert similarity[same].mean() > similarity[~same].mean() + 0.1


def test_limits_grow_with_the_sizes():
    work = Work(1_000, 100_000, 70_000, 5_000, 32, 64, True)
    assert work.bytes_moved == 16 * 1_000 + 16 * 5_000 * 64 + 8 * 100_000
    assert work.bytes_of_rows == 4 * 100_000 * 64
    bytes_ms, rows_ms, instructions_ms = work.milliseconds
    assert bytes_ms == pytest.approx(1e3 * work.bytes_moved / BYTES_PER_SECOND)
    assert rows_ms == pytest.approx(1e3 * work.bytes_of_rows / BYTES_PER_SECOND)
    assert instructions_ms == pytest.approx(1e3 * 100_000 * (4 * 2 + 20) / INSTRUCTIONS_PER_SECOND)
    shared = replace(work, groups_vary=False)
    assert shared.bytes_of_rows == 4 * 70_000 * 32
    assert replace(shared, clusters=64).instructions > shared.instructions


@pytest.mark.parametrize("run", [device.run, device.run_large, device_streamed.run])
def test_without_a_gpu_the_benchmark_is_unavailable(run, monkeypatch):
    monkeypatch.setattr(device, "describe_device", lambda: None)
    with pytest.raises(Unavailable):
        run(Settings().quick())


def test_results_of_another_machine_are_stored_with_its_description(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "RESULTS", tmp_path / "latest.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(page, "describe", lambda: {"processor": "one"})
    other = Result("Other", ["what"], [["x"]], machine={"GPU": "fast"})
    page.write({"memory": Result("This", ["what"], [["y"]])})
    monkeypatch.setattr(page, "describe", lambda: {"processor": "two"})
    page.write({"device": other})
    stored = json.loads(page.RESULTS.read_text())
    assert stored["machine"] == {"processor": "one"}
    assert set(stored["results"]) == {"memory", "device"}
    page.write({"startup": Result("New", ["what"], [["z"]])})
    stored = json.loads(page.RESULTS.read_text())
    assert stored["machine"] == {"processor": "two"}
    machines = {name: result["machine"] for name, result in stored["results"].items()}
    assert machines == {"memory": {"processor": "one"}, "device": {"GPU": "fast"}, "startup": {}}
    assert "- GPU: fast" in page.PAGE.read_text()
    assert "- processor: one" in page.PAGE.read_text()
    monkeypatch.setattr(page, "describe", lambda: {"processor": "one"})
    page.write({"device": other})
    page.write({"growth": Result("Again", ["what"], [["w"]])})
    stored = json.loads(page.RESULTS.read_text())["results"]
    machines = {name: result["machine"] for name, result in stored.items()}
    assert machines == {
        "memory": {},
        "growth": {},
        "device": {"GPU": "fast"},
        "startup": {"processor": "two"},
    }

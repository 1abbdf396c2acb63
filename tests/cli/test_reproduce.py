"""mc2 reproduce: results, tables and figures in files, or an error message."""

import json
import os

import pytest

from mcsquared.cli import reproduce
from tests.cli.commands import invoke, rejected


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The quickest experiment, run once."""
    out = tmp_path_factory.mktemp("reproduced")
    result = invoke("reproduce", "correlation", "--scale", "tiny", "--jobs", 1, "--out", out)
    assert result.exit_code == 0, result.output
    return out, result


def test_results_tables_and_figures_are_written(done):
    out, result = done
    assert sorted(os.listdir(out / "results")) == ["correlation.json", "correlation.md"]
    assert os.listdir(out / "figures") == ["correlation-probability.png"]
    record = json.loads((out / "results" / "correlation.json").read_text())
    assert record["command"] == "mc2 reproduce correlation --seeds 1 --scale tiny"
    assert record["seeds"] == [0]
    assert "corrected" in result.stdout
    assert "two groups" in result.stdout
    assert "correlation.json" in result.stdout


def test_results_contain_no_local_paths(done, tmp_path):
    out, _ = done
    for name in ("correlation.json", "correlation.md"):
        text = (out / "results" / name).read_text()
        assert str(out) not in text
        assert str(tmp_path.parent) not in text


def test_tables_and_figures_can_be_redrawn_from_the_results(done):
    out, _ = done
    picture = out / "figures" / "correlation-probability.png"
    table = (out / "results" / "correlation.md").read_text()
    picture.unlink()
    result = invoke("reproduce", "correlation", "--redraw", "--out", out)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 10_000
    assert (out / "results" / "correlation.md").read_text() == table
    assert "two groups" in result.stdout


def test_redraw_requires_results(tmp_path):
    sentence = rejected(invoke("reproduce", "correlation", "--redraw", "--out", tmp_path))
    assert "--redraw requires existing results" in sentence


def test_a_damaged_result_is_rejected(tmp_path):
    (tmp_path / "results").mkdir()
    for text in ("{", "[]", '{"rows": 3}'):
        (tmp_path / "results" / "correlation.json").write_text(text)
        sentence = rejected(invoke("reproduce", "correlation", "--redraw", "--out", tmp_path))
        assert "correlation.json" in sentence


def test_an_unknown_experiment_is_rejected_before_anything_runs(tmp_path):
    result = invoke("reproduce", "correlation", "table9", "--scale", "tiny", "--out", tmp_path)
    assert "'table9'" in rejected(result)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [("--scale", "huge", "full, tiny, got 'huge'"), ("--set", "birds", "got 'birds'")],
)
def test_invalid_options_are_rejected(tmp_path, option, value, expected):
    result = invoke("reproduce", "correlation", option, value, "--out", tmp_path)
    assert expected in rejected(result)


def test_a_missing_data_set_is_reported_and_the_next_experiment_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(
        reproduce.experiments().find("length"),
        "run",
        lambda seed, setting: reproduce.experiments().sets.load("labelme8", tmp_path),
    )
    result = invoke("reproduce", "length", "correlation", "--scale", "tiny", "--out", tmp_path)
    assert result.exit_code == 2
    assert "length: data set labelme8 cannot be read" in " ".join(result.stderr.split())
    assert os.listdir(tmp_path / "results") == ["correlation.json", "correlation.md"]


def test_an_interrupted_run_reports_what_was_written(tmp_path, monkeypatch):
    def interrupt(seed, setting):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce.experiments().find("length"), "run", interrupt)
    result = invoke("reproduce", "correlation", "length", "--scale", "tiny", "--out", tmp_path)
    assert result.exit_code == 130
    assert "interrupted; written: correlation" in result.stderr


def test_finished_seeds_of_an_interrupted_run_are_reused(tmp_path, monkeypatch):
    module = reproduce.experiments().find("length")
    asked = []

    def run(seed, setting, last=1):
        asked.append(seed)
        if seed > last:
            raise KeyboardInterrupt
        return [{"context": "none", "n_groups": 20, "n_words": 5, "nmi": 0.5 + seed}]

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "figures", lambda record: {})
    command = ("reproduce", "length", "--scale", "tiny", "--seeds", 3, "--jobs", 1)
    assert invoke(*command, "--out", tmp_path).exit_code == 130
    assert os.listdir(tmp_path / "results") == ["length.unfinished.jsonl"]

    monkeypatch.setattr(module, "run", lambda seed, setting: run(seed, setting, 2))
    assert invoke(*command, "--out", tmp_path, "--resume").exit_code == 0
    assert asked == [0, 1, 2, 2]
    assert sorted(os.listdir(tmp_path / "results")) == ["length.json", "length.md"]
    record = json.loads((tmp_path / "results" / "length.json").read_text())
    assert [row["nmi"] for row in record["rows"]] == [0.5, 1.5, 2.5]
    assert len(record["seconds_by_seed"]) == 3


def test_seeds_of_a_different_run_are_not_reused(tmp_path):
    running, unfinished = (reproduce._submodule(name) for name in ("running", "unfinished"))
    path = tmp_path / "length.unfinished.jsonl"
    outcome = running.Outcome(0, [{"seed": 0, "nmi": 0.5}], {}, 1.0)
    unfinished.FinishedSeeds(path, "length", running.Setting("tiny")).add(outcome)
    same = unfinished.FinishedSeeds(path, "length", running.Setting("tiny"))
    assert same.read(range(2)) == [outcome]
    assert same.read(range(1, 2)) == []
    other = unfinished.FinishedSeeds(path, "length", running.Setting("full"))
    assert other.read(range(2)) == []


@pytest.mark.slow
def test_all_experiments_run_at_tiny_scale_without_any_data(tmp_path, monkeypatch):
    monkeypatch.delenv("MCSQUARED_DATA", raising=False)
    result = invoke("reproduce", "all", "--scale", "tiny", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    written = {path.stem for path in (tmp_path / "results").glob("*.json")}
    assert written == set(reproduce.experiments().NAMES)

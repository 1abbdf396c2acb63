"""mc2 fit: a model, or an error message and no file."""

import functools
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mcsquared import MC2
from mcsquared.callbacks import StopWhenFlat
from mcsquared.cli.fit import checkpoint_path
from mcsquared.errors import ModelFileError
from mcsquared.markup import plural
from tests.cli.commands import fit_command, invoke, papers, rejected

pytestmark = pytest.mark.usefixtures("short_fits")

COMMAND = "from mcsquared import cli, progress; progress.FIRST_PAUSE = 0.3; cli.main()"


def files_in(folder: Path) -> set[str]:
    return set(os.listdir(folder))


def test_fit_writes_a_model_and_nothing_else(papers_file, tmp_path):
    out = tmp_path / "papers.mc2"
    result = invoke(*fit_command(papers_file, out))
    assert result.exit_code == 0, result.output
    assert files_in(tmp_path) == {"papers.csv", "papers.mc2"}
    model = MC2.load(out)
    found = f"{plural(model.n_clusters_, 'cluster')}, {plural(model.n_topics_, 'topic')}, saved"
    assert found in result.stdout
    assert model.posterior_.cluster_of_group.shape == (10, 40)
    assert set(model.posterior_.contexts) == {"year", "authors"}


def test_fit_prints_how_contexts_were_interpreted(papers_file, tmp_path):
    result = invoke(*fit_command(papers_file, tmp_path / "papers.mc2"))
    assert re.search(r"year: .*gaussian", result.stderr)
    assert re.search(r"authors: .*bag", result.stderr)


def test_the_same_seed_gives_the_same_draws_and_another_seed_others(papers_file, tmp_path):
    draws = []
    for seed in (1, 1, 2):
        out = tmp_path / "papers.mc2"
        assert invoke(*fit_command(papers_file, out, "--seed", seed)).exit_code == 0
        draws.append(MC2.load(out).posterior_.trace["log_joint"].to_numpy())
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_paper_means_an_infinite_lam(papers_file, tmp_path):
    out = tmp_path / "papers.mc2"
    assert invoke(*fit_command(papers_file, out, "--paper")).exit_code == 0
    assert np.isinf(MC2.load(out).posterior_.priors.lam)


@pytest.mark.parametrize(("options", "lam"), [(["--lam", 10], 10.0), ([], MC2().lam)])
def test_groups_vary_by_default_and_lam_fixes_how_much(papers_file, tmp_path, options, lam):
    out = tmp_path / "papers.mc2"
    assert invoke(*fit_command(papers_file, out, *options)).exit_code == 0
    assert MC2.load(out).posterior_.priors.lam == lam


def test_paper_and_a_finite_lam_are_rejected_together(papers_file, tmp_path):
    result = invoke(*fit_command(papers_file, tmp_path / "m.mc2", "--paper", "--lam", 10))
    assert "--paper requires --lam inf" in rejected(result)


@pytest.mark.parametrize("lam", [0, -1, "nan"])
def test_a_lam_that_is_not_positive_is_rejected(papers_file, tmp_path, lam):
    result = invoke(*fit_command(papers_file, tmp_path / "m.mc2", "--lam", lam))
    assert "a positive number" in rejected(result)


def test_the_family_given_with_a_column_is_used(papers_file, tmp_path):
    out = tmp_path / "papers.mc2"
    command = ["fit", papers_file, "--text", "abstract", "--context", "year:categorical"]
    assert invoke(*command, "--out", out, "--sweeps", 12, "--burn-in", 2).exit_code == 0
    assert MC2.load(out).posterior_.priors.contexts["year"].name == "categorical"


# ---------------------------------------------------------------- rejected before the fit


@pytest.mark.parametrize(("sweeps", "draws"), [(2, 1), (6, 3), (60, 10), (300, 40)])
def test_a_run_of_any_length_keeps_draws(papers_file, tmp_path, sweeps, draws):
    out = tmp_path / "papers.mc2"
    command = ("fit", papers_file, "--text", "abstract", "--out", out, "--sweeps", sweeps)
    assert invoke(*command).exit_code == 0
    assert len(MC2.load(out).posterior_.cluster_of_group) == draws


@pytest.fixture
def never_fitted(monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("the run must not start")

    monkeypatch.setattr(MC2, "fit", fail)


@pytest.mark.usefixtures("never_fitted")
def test_a_target_folder_that_does_not_exist_is_rejected_before_the_run(papers_file, tmp_path):
    result = invoke(*fit_command(papers_file, tmp_path / "nowhere" / "papers.mc2"))
    assert "does not exist" in rejected(result)
    assert files_in(tmp_path) == {"papers.csv"}


@pytest.mark.usefixtures("never_fitted")
def test_a_folder_as_target_is_rejected(papers_file, tmp_path):
    assert "cannot be written" in rejected(invoke(*fit_command(papers_file, tmp_path)))


@pytest.mark.usefixtures("never_fitted")
def test_the_data_file_is_not_overwritten(papers_file):
    before = papers_file.read_bytes()
    assert "must differ from the input files" in rejected(
        invoke(*fit_command(papers_file, papers_file))
    )
    assert papers_file.read_bytes() == before


@pytest.mark.usefixtures("never_fitted")
def test_resume_without_a_checkpoint_is_rejected(papers_file, tmp_path):
    result = invoke(*fit_command(papers_file, tmp_path / "m.mc2", "--resume"))
    assert "m.mc2.checkpoint does not exist" in rejected(result)


@pytest.mark.usefixtures("never_fitted")
def test_a_checkpoint_is_not_overwritten_silently(papers_file, tmp_path):
    checkpoint = checkpoint_path(tmp_path / "m.mc2")
    checkpoint.write_bytes(b"hours of work")
    assert "--resume" in rejected(invoke(*fit_command(papers_file, tmp_path / "m.mc2")))
    assert checkpoint.read_bytes() == b"hours of work"


@pytest.mark.usefixtures("never_fitted")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"--text": "abstrakt"}, "abstrakt"),
        ({"--text": "year"}, "year"),
        ({"--context": "yeer"}, "yeer"),
        ({"--context": "year:gausian"}, "add the family, such as 'year:gausian:categorical'"),
        ({"--context": "subject:gaussian"}, "subject"),
    ],
)
def test_the_error_names_an_invalid_column(papers_file, tmp_path, change, sentence):
    options = {"--text": "abstract", "--context": "year", "--out": tmp_path / "m.mc2"} | change
    result = invoke("fit", papers_file, *(part for pair in options.items() for part in pair))
    assert sentence in rejected(result)
    assert files_in(tmp_path) == {"papers.csv"}


def damaged_files(folder: Path) -> dict[str, Path]:
    """Return files that cannot be read, for different reasons."""
    table = papers()
    made = {
        name: folder / name for name in ("absent.csv", "empty.csv", "header.csv", "cut.parquet")
    }
    made["empty.csv"].write_bytes(b"")
    made["header.csv"].write_text("abstract,year,authors\n")
    table.to_parquet(folder / "whole.parquet")
    whole = (folder / "whole.parquet").read_bytes()
    made["cut.parquet"].write_bytes(whole[: len(whole) // 2])
    made["cut.jsonl"] = folder / "cut.jsonl"
    text = table.to_json(orient="records", lines=True)
    made["cut.jsonl"].write_text(text[: len(text) // 2])
    made["folder.csv"] = folder / "folder.csv"
    made["folder.csv"].mkdir()
    made["papers.docx"] = folder / "papers.docx"
    made["papers.docx"].write_bytes(b"PK\x03\x04" + bytes(range(256)))
    return made


@pytest.mark.usefixtures("never_fitted")
@pytest.mark.parametrize(
    "name",
    [
        *("absent.csv", "empty.csv", "header.csv", "cut.parquet", "cut.jsonl"),
        *("folder.csv", "papers.docx"),
    ],
)
def test_the_error_names_an_unreadable_file(tmp_path, name):
    path = damaged_files(tmp_path)[name]
    before = files_in(tmp_path)
    assert name in rejected(invoke(*fit_command(path, tmp_path / "m.mc2")))
    assert files_in(tmp_path) == before


def test_bad_settings_are_rejected(papers_file, tmp_path):
    settings = (("--burn-in", 30, "burn_in"), ("--checkpoint-every", 0, "checkpoint_every"))
    for option, value, sentence in (*settings, ("--sweeps", "9" * 20, "<= 2147483647, got 999")):
        result = invoke(*fit_command(papers_file, tmp_path / "m.mc2", option, value))
        assert sentence in rejected(result)
    assert files_in(tmp_path) == {"papers.csv"}


def test_a_checkpoint_of_another_corpus_is_rejected_and_kept(papers_file, tmp_path):
    out = tmp_path / "m.mc2"
    interrupted_checkpoint(papers_file, out)
    other = tmp_path / "other.csv"
    papers(seed=1).to_csv(other, index=False)
    before = checkpoint_path(out).read_bytes()
    assert "checkpoint" in rejected(invoke(*fit_command(other, out, "--resume")))
    assert checkpoint_path(out).read_bytes() == before


def test_a_damaged_checkpoint_is_rejected(papers_file, tmp_path):
    out = tmp_path / "m.mc2"
    checkpoint_path(out).write_bytes(b"not a checkpoint")
    assert "checkpoint" in rejected(invoke(*fit_command(papers_file, out, "--resume")))
    assert not out.exists()


# ---------------------------------------------------------------- interrupted and resumed


def interrupt_after(n_sweeps: int):
    """Return a replacement of the progress callback that presses Ctrl-C after some sweeps."""

    def press(self, info):
        if info.sweep == n_sweeps:
            signal.raise_signal(signal.SIGINT)

    return press


def interrupted_checkpoint(file: Path, out: Path, n_sweeps: int = 20, chains: int = 1):
    """Run a fit that is interrupted after ``n_sweeps`` sweeps of a chain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcsquared.progress.Progress.__call__", interrupt_after(n_sweeps))
        result = invoke(*fit_command(file, out, "--chains", chains))
    assert result.exit_code == 130, result.output
    assert checkpoint_path(out).exists()
    return result


def test_an_interrupted_fit_keeps_its_draws_and_prints_how_to_resume(papers_file, tmp_path):
    out = tmp_path / "m.mc2"
    result = interrupted_checkpoint(papers_file, out)
    assert "--resume" in result.stderr
    assert re.search(r"after \d+ of 30 sweeps", result.stderr)
    assert 0 < len(MC2.load(out).posterior_.cluster_of_group) < 10


@pytest.mark.parametrize("chains", [1, 2])
def test_a_resumed_fit_ends_in_the_draws_of_an_uninterrupted_one(papers_file, tmp_path, chains):
    whole, stopped = tmp_path / "whole.mc2", tmp_path / "stopped.mc2"
    assert invoke(*fit_command(papers_file, whole, "--chains", chains)).exit_code == 0
    interrupted_checkpoint(papers_file, stopped, chains=chains)
    result = invoke(*fit_command(papers_file, stopped, "--chains", chains, "--resume"))
    assert result.exit_code == 0, result.output
    assert not checkpoint_path(stopped).exists()
    first, second = MC2.load(whole).posterior_, MC2.load(stopped).posterior_
    np.testing.assert_array_equal(first.cluster_of_group, second.cluster_of_group)
    columns = ["sweep", "n_clusters", "n_topics", "log_joint", "alpha", "v", "eta"]
    pd.testing.assert_frame_equal(first.trace[columns], second.trace[columns])


def test_a_model_that_cannot_be_saved_is_not_lost(papers_file, tmp_path, monkeypatch):
    out = tmp_path / "m.mc2"

    def full(*arguments):
        raise ModelFileError("m.mc2 cannot be written: no space left on the disk")

    with monkeypatch.context() as patch:
        patch.setattr(MC2, "save", full)
        sentence = rejected(invoke(*fit_command(papers_file, out)))
    assert "no space left" in sentence
    assert "--resume" in sentence
    assert invoke(*fit_command(papers_file, out, "--resume")).exit_code == 0
    assert files_in(tmp_path) == {"papers.csv", "m.mc2"}


def test_an_interrupt_before_the_first_kept_draw_writes_no_model(papers_file, tmp_path):
    out = tmp_path / "m.mc2"
    result = interrupted_checkpoint(papers_file, out, n_sweeps=4)
    assert "before the first kept draw" in result.stderr
    assert not out.exists()
    assert invoke(*fit_command(papers_file, out, "--resume")).exit_code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_and_the_printed_command_resumes(papers_file, tmp_path, number, code):
    out = tmp_path / "m.mc2"
    command = fit_command(papers_file, out, "--sweeps", 10_000, "--thin", 100, "--chains", 2)
    arguments = [str(a) for a in command]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    for line in process.stderr:
        if line.startswith("sweep "):
            break
    time.sleep(0.2)
    assert "is in use by another run" in rejected(invoke(*arguments))
    process.send_signal(number)
    message = process.stderr.read()
    assert (process.wait(timeout=60), "Traceback" in message) == (code, False)
    advice = shlex.split(message.splitlines()[-1].partition("continue with: ")[2])
    assert advice == ["mc2", *arguments, "--resume"]
    assert files_in(tmp_path) - {"m.mc2"} == {"papers.csv", "m.mc2.checkpoint"}


def test_a_folder_as_the_model_is_rejected(papers_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (".", "..", "/", tmp_path):
        assert "cannot be written" in rejected(invoke(*fit_command(papers_file, folder)))
    assert files_in(tmp_path) == {"papers.csv"}


def test_a_run_whose_traces_are_flat_ends_early_and_is_complete(papers_file, tmp_path, monkeypatch):
    easy = functools.partial(StopWhenFlat, min_sweeps=10, max_rhat=100.0, min_ess=0.0)
    monkeypatch.setattr("mcsquared.callbacks.StopWhenFlat", easy)
    out = tmp_path / "papers.mc2"
    command = fit_command(papers_file, out, "--chains", 2, "--stop-when-flat")
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert "the traces are flat after 40 of 60 sweeps" in result.stderr
    assert len(MC2.load(out).posterior_.trace) == 40
    assert files_in(tmp_path) == {"papers.csv", "papers.mc2"}  # no checkpoint is left


def test_a_run_that_is_not_flat_is_completed(papers_file, tmp_path):
    out = tmp_path / "papers.mc2"
    result = invoke(*fit_command(papers_file, out, "--stop-when-flat"))
    assert result.exit_code == 0, result.output
    assert "flat" not in result.stderr
    assert len(MC2.load(out).posterior_.trace) == 30


# ---------------------------------------------------------------- auto and a time limit


@pytest.fixture
def short_stages(monkeypatch):
    monkeypatch.setattr("mcsquared.schedule.FIRST_STAGE", 8)
    monkeypatch.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 16)


def auto_command(file: Path, out: Path, *more: object) -> list[object]:
    command = ["fit", file, "--text", "abstract", "--out", out, "--sweeps", "auto"]
    return [*command, "--chains", 1, *more]


@pytest.mark.usefixtures("short_stages")
def test_auto_prints_one_sentence_on_convergence(papers_file, tmp_path):
    out = tmp_path / "papers.mc2"
    result = invoke(*auto_command(papers_file, out, "--chains", 2))
    assert result.exit_code == 0, result.output
    notes = [line for line in result.stderr.splitlines() if line.startswith("mc2: note:")]
    [note] = MC2.load(out).posterior_.notes[-1:]
    assert notes[0] == f"mc2: note: {note}"
    assert notes[1].startswith("mc2: note: the clusters of one half of the chains")
    assert note.startswith("not converged after 16 sweeps of 2 chains")
    assert files_in(tmp_path) == {"papers.csv", "papers.mc2"}


@pytest.mark.usefixtures("short_stages")
def test_an_interrupted_auto_run_resumes_to_the_same_draws(papers_file, tmp_path):
    whole, stopped = tmp_path / "whole.mc2", tmp_path / "stopped.mc2"
    assert invoke(*auto_command(papers_file, whole)).exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcsquared.progress.Progress.__call__", interrupt_after(10))
        result = invoke(*auto_command(papers_file, stopped))
    assert result.exit_code == 130, result.output
    assert "interrupted after 10 sweeps" in result.stderr
    assert invoke(*auto_command(papers_file, stopped, "--resume")).exit_code == 0
    first, second = MC2.load(whole).posterior_, MC2.load(stopped).posterior_
    np.testing.assert_array_equal(first.cluster_of_group, second.cluster_of_group)
    assert not checkpoint_path(stopped).exists()


@pytest.mark.parametrize("sweeps", ["auto", 500])
def test_a_run_out_of_time_is_saved_and_can_be_resumed(papers_file, tmp_path, sweeps):
    out = tmp_path / "papers.mc2"
    command = ["fit", papers_file, "--text", "abstract", "--out", out, "--sweeps", sweeps]
    command += ["--chains", 1]
    result = invoke(*command, "--max-seconds", 0.001)
    assert result.exit_code == 0, result.output
    assert "stopped by --max-seconds; continue with: mc2 " in result.stderr
    assert len(MC2.load(out).posterior_.trace) == 1
    assert files_in(tmp_path) == {"papers.csv", "papers.mc2", "papers.mc2.checkpoint"}
    assert invoke(*command, "--max-seconds", 0.5, "--resume").exit_code == 0
    assert len(MC2.load(out).posterior_.trace) > 1


@pytest.mark.usefixtures("never_fitted")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--sweeps", "auto", "--burn-in", 3], "--burn-in requires --sweeps N, got --sweeps auto"),
        (["--sweeps", "auto", "--thin", 3], "--thin requires --sweeps N"),
        (["--sweeps", "auto", "--stop-when-flat"], "--stop-when-flat requires --sweeps N"),
        (["--sweeps", 0], "--sweeps must be an integer >= 1 or auto, got 0"),
        (["--sweeps", "lots"], "--sweeps must be an integer >= 1 or auto, got lots"),
    ],
)
def test_options_that_exclude_auto_are_named(papers_file, tmp_path, options, sentence):
    result = invoke("fit", papers_file, "--text", "abstract", "--out", tmp_path / "m.mc2", *options)
    assert sentence in rejected(result)


def test_a_time_limit_must_be_positive(papers_file, tmp_path):
    result = invoke(*fit_command(papers_file, tmp_path / "m.mc2", "--max-seconds", 0))
    assert "max_seconds must be a positive number" in rejected(result)


def test_fit_without_a_text_column_lists_the_columns_of_the_file(papers_file, tmp_path):
    text = rejected(invoke("fit", papers_file, "--out", tmp_path / "papers.mc2"))
    assert "--text" in text
    assert "abstract, year, authors, subject, got none; the longest texts are in 'abstract'" in text
    assert files_in(tmp_path) == {"papers.csv"}


def test_output_files_have_default_names(papers_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke("fit", "papers.csv", "--text", "abstract", "--sweeps", 10).exit_code == 0
    assert invoke("report", "papers.mc2").exit_code == 0
    assert invoke("predict", "papers.mc2", "papers.csv").exit_code == 0
    made = {"papers.mc2", "papers.html", "papers-clusters.csv"}
    assert files_in(tmp_path) == {"papers.csv"} | made


def test_fit_prints_advice_and_the_next_command(papers_file, tmp_path):
    out = tmp_path / "papers.mc2"
    result = invoke(*fit_command(papers_file, out, "--names", "subject"))
    assert "increase --sweeps" in result.stderr
    command = result.stdout.splitlines()[-1].removeprefix("next: mc2 ")
    page = tmp_path / "papers.html"
    assert invoke(*shlex.split(command), "--out", page).exit_code == 0
    assert page.exists()

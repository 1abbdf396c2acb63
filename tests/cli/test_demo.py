"""mc2 demo: clusters of the letters and of the standard library, and their reports."""

import importlib
import re
import shutil
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.cli import demo
from tests.cli.commands import invoke, rejected


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_demo_finds_the_four_clusters_prints_them_and_writes_a_report(folder):
    result = invoke("demo", "letters")
    assert result.exit_code == 0, result.output
    assert "4 clusters (true: 4)" in result.stdout
    assert float(re.search(r"NMI ([\d.]+)", result.stdout)[1]) > 0.95
    for mean in (2, 4, 6, 8):
        assert re.search(rf"\b({mean - 1}\.9|{mean}\.[01])\d\b", result.stdout)
    page = folder / "mc2-demo-letters.html"
    assert page.as_uri() in result.stdout.replace("\n", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


PACKAGES = (
    *("asyncio", "concurrent", "ctypes", "curses", "email", "http", "importlib", "json"),
    *("lib2to3", "logging", "multiprocessing", "tkinter", "unittest", "urllib", "wsgiref", "xml"),
)


@pytest.fixture
def part_of_the_library(tmp_path_factory, monkeypatch):
    """Some packages serve as the standard library, which takes seconds to read."""
    source = Path(sysconfig.get_paths()["stdlib"])
    part = tmp_path_factory.mktemp("library")
    for name in PACKAGES:
        if (source / name).exists():  # not all versions and systems have all of them
            shutil.copytree(source / name, part / name, ignore=shutil.ignore_patterns("*.pyc"))
    library = importlib.import_module("mcsquared.datasets.standard_library")
    paths = SimpleNamespace(get_paths=lambda: {"stdlib": part})
    monkeypatch.setattr(library, "sysconfig", paths)


@pytest.mark.usefixtures("part_of_the_library")
def test_the_standard_library_is_clustered_and_its_packages_stay_together(folder, monkeypatch):
    monkeypatch.setattr(demo, "STDLIB_SWEEPS", 30)
    monkeypatch.setattr(demo, "STDLIB_BURN_IN", 20)
    fitted = {}
    monkeypatch.setattr(
        demo, "module_table", lambda model: fitted.setdefault("model", model).labels_
    )
    result = invoke("demo", "stdlib", "--out", "modules.html")
    assert result.exit_code == 0, result.output
    assert (folder / "modules.html").exists()
    model = fitted["model"]
    names = np.asarray(model.posterior_.group_names)
    package = np.array([name.split(".")[0] for name in names])
    for known in ["asyncio"] + ["tkinter"] * ("tkinter" in package):
        labels = model.labels_[package == known]
        together = np.bincount(labels).max() / labels.size
        by_chance = np.bincount(model.labels_).max() / model.labels_.size
        assert together > max(0.4, 2 * by_chance)


def test_the_table_of_clusters_has_sizes_and_names(monkeypatch):
    monkeypatch.setattr(demo, "MAX_LISTED_CLUSTERS", 2)
    data = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0)
    model = mc2.MC2(n_sweeps=60, burn_in=30, random_state=0, progress=False).fit(data.corpus)
    table = demo.module_table(model)
    assert table.row_count == min(2, model.n_clusters_)
    assert list(table.columns[2].cells) == model.posterior_.clusters()["name"].tolist()[:2]
    sizes = [int(text) for text in table.columns[1].cells]
    assert sizes == np.sort(np.bincount(model.labels_))[::-1][:2].tolist()


def test_the_error_names_an_unknown_demo():
    assert "'birds'" in rejected(invoke("demo", "birds"))


def test_a_report_that_cannot_be_written_is_rejected_before_the_fit(folder):
    assert "nowhere" in rejected(invoke("demo", "letters", "--out", "nowhere/page.html"))

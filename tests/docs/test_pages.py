"""The code of the tutorial and the how-to pages runs; the site has all pages and names."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mcsquared.cli import app
from tests.docs.pages import DOCS, blocks
from tests.docs.public_names import public_objects

ROOT = DOCS.parent
PAGES = ["tutorial.md", "cluster.md"]
PAGES += sorted(f"how-to/{path.name}" for path in (DOCS / "how-to").glob("*.md"))


def a_tenth_of_the_sweeps(code):
    return re.sub(r"(\b(?:n_sweeps|burn_in)=|--(?:sweeps|burn-in) )(\d+)0\b", r"\1\2", code)


@pytest.mark.usefixtures("short_fits")
@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("mcsquared.schedule.FIRST_STAGE", 8)
    monkeypatch.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 16)
    names = {"__name__": "__main__"}
    ran = 0
    for block in blocks(page, a_tenth_of_the_sweeps):
        if block.kind == "python":
            offset = "\n" * (block.line - 1)  # a traceback then has the line of the page
            exec(compile(offset + block.code, str(DOCS / page), "exec"), names)
            ran += 1
        for command in block.commands() if block.kind == "sh" else ():
            result = CliRunner().invoke(app, command)
            assert result.exit_code == 0, f"mc2 {' '.join(command)}: {result.output}"
            ran += 1
    assert ran > 0


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_every_public_name_is_in_the_reference():
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^::: ([\w.]+)", text, re.MULTILINE))
    names = {item.__name__ for item in public_objects().values()}
    assert {name.rpartition(".")[2] for name in listed} >= names


def test_links_to_pages_and_files_exist():
    broken = []
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(DOCS)}: {target}")
    assert broken == []


def test_architecture_lists_the_steps_of_the_sweep_in_their_order():
    from docs import hooks
    from mcsquared.samplers.sweep import BLOCKED_STEPS

    assert hooks.STEPS in (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `\w+\.py` \| .+ \|$", hooks.steps_table(), re.MULTILINE)
    assert rows == [step.__name__ for step in BLOCKED_STEPS]


def test_files_that_architecture_names_exist():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8").split("## Recipe")[0]
    text = text.split("## The sweep")[0]
    paths = set(re.findall(r"`([\w/]+\.py)`", text))
    assert len(paths) > 15
    assert [
        path for path in sorted(paths) if not (ROOT / "src" / "mcsquared" / path).exists()
    ] == []


def test_lines_that_the_recipes_of_architecture_change_exist_in_their_order():
    missing = []
    for diff in (block.code for block in blocks("architecture.md") if block.kind == "diff"):
        for part in re.split(r"^\+\+\+ ", diff, flags=re.MULTILINE)[1:]:
            name, *lines = part.splitlines()
            if not (ROOT / name).exists():  # a new file
                continue
            present = iter((ROOT / name).read_text(encoding="utf-8").splitlines())
            old = [line[1:] for line in lines if line.strip() and line[0] in " -"]
            missing += [f"{name}: {line}" for line in old if line not in present]
    assert missing == []


def test_every_figure_is_used():
    pages = [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "mkdocs.yml"]
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    unused = [path.name for path in (DOCS / "images").iterdir() if Path(path).name not in text]
    assert unused == []

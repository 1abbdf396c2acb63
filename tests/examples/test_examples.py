"""Every example runs without data, writes a figure and a report, and is in the gallery."""

import ast
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from docs import notebooks

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NAMES = [path.stem for path in EXAMPLES]
LARGEST = 200_000  # bytes of a committed figure


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("short_fits")
def test_example_runs_without_data_and_writes_a_figure_and_a_report(
    name, tmp_path, monkeypatch, capsys
):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MCSQUARED_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "drawn.png", "12"])
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    plt.close("all")
    output = capsys.readouterr().out
    assert ("simulated data" in output) == (name != "letters")
    assert "drawn.png" in output
    picture = plt.imread(tmp_path / "drawn.png")[:, :, :3]
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50, "the figure is nearly empty"
    page = (tmp_path / "drawn.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert name.capitalize() in page


@pytest.mark.parametrize("name", NAMES)
def test_gallery_includes_the_example_and_its_figure(name):
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert f"\n[`examples/{name}.py`](../examples/{name}.py)\n" in gallery
    assert f"(images/{name}.png)" in gallery
    assert (ROOT / "docs" / "images" / f"{name}.png").stat().st_size < LARGEST


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_notebook_has_the_code_of_the_example_and_runs_it(path):
    """CI runs the notebooks in Jupyter: `make notebooks`."""
    cells = notebooks.notebook(path)["cells"]
    *code, call = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    module = ast.parse(path.read_text(encoding="utf-8"))
    statements = ast.parse("\n\n".join(code)).body
    assert [ast.dump(part) for part in statements] == [ast.dump(part) for part in module.body[1:-1]]
    default = re.search(r'\["(\w+\.png)", "(\d+)"\]', path.read_text(encoding="utf-8"))
    assert call == f"main(Path({default[1]!r}), {default[2]})"
    assert cells[0]["source"].startswith("# ")
    assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_example_uses_the_public_api_alone(path):
    imported = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    ours = [
        line for line in imported if line[:1] in (["import"], ["from"]) and "mcsquared" in line[1]
    ]
    assert ours == [["import", "mcsquared", "as", "mc2"]]

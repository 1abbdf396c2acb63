"""The package as a whole: fast to import, small modules, a README whose code runs."""

import ast
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mcsquared
from tests.cli.commands import papers

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "mcsquared"
HEAVY = {"numba", "sklearn", "pandas", "polars", "pyarrow", "scipy", "matplotlib", "anndata"}
MAX_LINES = 450


def modules_loaded_by(code: str) -> set[str]:
    """Return the top-level modules that a new interpreter has loaded after running ``code``."""
    report = (
        "import json, sys; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
    )
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy():
    assert not modules_loaded_by("import mcsquared") & HEAVY


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['mc2', '--help']\n"
        "from mcsquared.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code"
    )
    loaded = modules_loaded_by(code)
    assert "typer" in loaded
    assert not loaded & (HEAVY | {"numpy"})


@pytest.mark.parametrize("name", sorted(set(mcsquared.__all__) - {"__version__"}))
def test_every_public_name_can_be_imported(name):
    assert getattr(mcsquared, name) is not None
    assert name in dir(mcsquared)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mcsquared.nothing  # noqa: B018


def test_no_module_is_too_long():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("src", "tests", "benchmarks", "examples", "experiments")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert lengths
    assert {path: n for path, n in lengths.items() if n > MAX_LINES} == {}


def test_every_module_has_a_docstring():
    missing = [
        str(path.relative_to(ROOT))
        for path in SOURCE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert missing == []


def test_readme_has_both_commands_and_the_default_model():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    first_lines = readme[:1500]
    lam = mcsquared.MC2().lam
    written = f"`lam=Gamma({lam.shape:g}, {lam.rate:g})`"
    assert f"By default groups may vary within their cluster** ({written}" in first_lines
    assert "the paper's original model, which does not allow this, is `lam=inf`" in first_lines


def test_figures_and_files_linked_by_the_readme_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", readme)
    named = re.findall(r"`(\w+\.(?:md|cff))`", readme)
    assert named
    assert [path for path in targets + named if not (ROOT / path).exists()] == []


def test_python_in_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mcsquared.schedule.FIRST_STAGE", 20)
    monkeypatch.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 40)
    names = {"papers": papers(44).assign(authors=lambda frame: frame["authors"].str.split("; "))}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(compile(block, "README.md", "exec"), names)
    assert names["model"].n_clusters_ == 2
    assert mcsquared.MC2.load("papers.mc2").n_clusters_ == 2


def test_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {mcsquared.__version__}\n" in citation
    assert importlib.metadata.version("mcsquared") == mcsquared.__version__


def test_ci_installs_the_base_package_and_every_extra_for_users():
    spec = importlib.util.spec_from_file_location("test_install", ROOT / ".ci" / "test_install.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - {"docs", "dev"}
    assert set(script.CASES) == {"base", "sdist"} | extras
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert f"case: [{', '.join(script.CASES)}]" in workflow


def test_all_includes_every_extra_that_needs_no_gpu():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(extras) >= {"plot", "report", "diagnostics", "baselines", "gpu", "cluster", "dev"}
    (everything,) = extras["all"]
    named = everything.removeprefix("mcsquared[").removesuffix("]").split(",")
    assert set(named) == set(extras) - {"gpu", "all", "docs", "dev"}


def test_the_base_is_light():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split("[<>=]", requirement)[0] for requirement in project["dependencies"]}
    numeric = {"numpy", "scipy", "scikit-learn", "pandas", "numba", "narwhals", "safetensors"}
    assert names == numeric | {"typer", "rich"}


def release_check():
    spec = importlib.util.spec_from_file_location("check_release", ROOT / ".ci/check_release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.release_problems


def test_the_tag_of_the_present_version_can_be_released():
    assert release_check()(f"v{mcsquared.__version__}") == []


@pytest.mark.parametrize("tag", ["0.1.0", "v0.0.9", "v99.0.0"])
def test_a_tag_that_disagrees_with_the_version_or_the_changelog_is_refused(tag):
    assert release_check()(tag) != []

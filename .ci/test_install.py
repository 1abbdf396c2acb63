"""Build the sdist and the wheel, install them into empty environments, and use them there.

Usage: ``python .ci/test_install.py [CASE ...]``, by default every case. ``base`` is the wheel
without extras, ``sdist`` the source distribution without extras, and every other case the wheel
with the extra of that name. Each case has its own environment, so that a missing requirement is
noticed. Uses the standard library alone. A case takes about three minutes, mostly to compile.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TABLE = (
    "text,year\nants and bees,1990\nbees and ants,1991\ncars and vans,2001\nvans and cars,2002\n"
)
COMMANDS = """
mc2 --version
mc2 fit papers.csv --text text --context year --sweeps 20 --burn-in 10 --out papers.mc2
mc2 predict papers.mc2 papers.csv --out clusters.csv
mc2 report papers.mc2 --out papers.html
"""
FIT = """
import mcsquared as mc2
corpus = mc2.datasets.letters(n_groups_per_cluster=5, random_state=0).corpus
model = mc2.MC2(n_sweeps=10, burn_in=5, thin=1, random_state=0, progress=False)
"""
USES = {
    "plot": "model.fit(corpus); mc2.plots.cluster_topics(model).figure.savefig('topics.png')",
    "report": "mc2.write_report(model.fit(corpus), 'letters.html', corpus=corpus)",
    "diagnostics": """
model.fit(corpus)
model.posterior_.to_arviz()
model.posterior_.to_pyldavis()
""",
    "baselines": "mc2.baselines.LDA(4, n_sweeps=10, burn_in=5, random_state=0).fit(corpus)",
    "cluster": """
from distributed import Client
with Client(n_workers=1, processes=False, dashboard_address=None) as client:
    mc2.distributed.fit(model, corpus, client=client)
assert len(model.labels_) == len(corpus)
""",
    # A machine without a GPU must say so; one with a GPU must fit.
    "gpu": """
model.set_params(device="cuda")
try:
    model.fit(corpus)
except mc2.errors.InputError as error:
    assert "requires a GPU" in str(error) and "not installed" not in str(error), error
""",
}
# Without the extra, the message must name it.
MISSING = """
try:
    mc2.baselines.LDA(4).fit(corpus)
except mc2.errors.MissingPackageError as error:
    assert "pip install 'mcsquared[baselines]'" in str(error), error
else:
    raise AssertionError("tomotopy must not be a requirement of the base install")
"""
CASES = ("base", "sdist", *USES, "all")


def run(*command: object, folder: Path) -> None:
    """Run a command in a folder outside the checkout, which must not be imported."""
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], cwd=folder, check=True)


def environment(folder: Path, *requirements: object) -> Path:
    """Create an environment with some packages; return the folder of its programs."""
    run(sys.executable, "-m", "venv", folder, folder=folder.parent)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", *requirements, folder=folder.parent)
    return programs


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it."""
    python = environment(folder / "build", "build", "twine") / "python"
    dist = folder / "dist"
    run(python, "-m", "build", "--outdir", dist, ROOT, folder=folder)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    run(python, "-m", "twine", "check", "--strict", sdist, wheel, folder=folder)
    return sdist, wheel


def check(case: str, sdist: Path, wheel: Path, folder: Path) -> None:
    """Install one case into its environment, and use it."""
    folder.mkdir()
    if case in ("base", "sdist"):
        programs = environment(folder / "installed", sdist if case == "sdist" else wheel)
        (folder / "papers.csv").write_text(TABLE, encoding="utf-8")
        for line in COMMANDS.split("\n")[1:-1]:
            command, *arguments = line.split()
            run(programs / command, *arguments, folder=folder)
        code = FIT + MISSING
    else:
        programs = environment(folder / "installed", f"{wheel}[{case}]")
        used = [name for name in USES if name != "gpu"] if case == "all" else [case]
        code = FIT + "\n".join(USES[name] for name in used)
    (folder / "use.py").write_text(code, encoding="utf-8")
    run(programs / "python", "use.py", folder=folder)


def main(cases: list[str]) -> None:
    """Check some cases, or all of them."""
    unknown = set(cases) - set(CASES)
    if unknown:
        sys.exit(f"cases must be among {', '.join(CASES)}, got {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sdist, wheel = build(folder)
        for case in cases or CASES:
            check(case, sdist, wheel, folder / case)
            print(f"{case}: installed and used", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

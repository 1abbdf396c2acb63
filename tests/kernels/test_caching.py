"""Compiled kernels are cached in a writable folder, next to their source, or not at all."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import mcsquared
from mcsquared.kernels import caching

KERNEL = """
from mcsquared.kernels.caching import njit

@njit(cache=True)
def double(x):
    return 2 * x
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return a function that imports the kernel afresh, as a new process would."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv(caching.VARIABLE, raising=False)

    def imported():
        spec = importlib.util.spec_from_file_location("kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    return imported


@pytest.fixture
def nothing_writable(tmp_path, monkeypatch):
    """Neither the package nor the home folder nor temporary folders: a file is in their place."""
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # or Python makes __pycache__
    monkeypatch.setenv("HOME", str(file))
    monkeypatch.setenv("XDG_CACHE_HOME", str(file / "cache"))
    monkeypatch.setattr(caching.tempfile, "gettempdir", lambda: str(file))
    # Not writable, not even for root.
    monkeypatch.setattr(caching.InTreeCacheLocator, "ensure_cache_path", refuse)


def refuse(locator):
    raise PermissionError(13, "permission denied")


def make_folder(locator):
    Path(locator.get_cache_path()).mkdir(parents=True, exist_ok=True)


def cached(folder):
    return sorted(path.suffix for path in folder.rglob("*.nb?"))


def test_kernels_are_kept_next_to_their_source(kernel, tmp_path):
    assert kernel()(3) == 6
    assert cached(tmp_path / "__pycache__") == [".nbc", ".nbi"]


def test_kernels_are_kept_in_the_folder_that_the_user_has_chosen(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv(caching.VARIABLE, str(tmp_path / "chosen"))
    assert kernel()(3) == 6
    assert cached(tmp_path / "chosen") == [".nbc", ".nbi"]
    assert not cached(tmp_path / "__pycache__")
    again = kernel()
    assert again(3) == 6
    assert again.stats.cache_hits


def test_kernels_compiled_next_to_their_source_are_used_wherever_others_are_kept(
    kernel, tmp_path, monkeypatch
):
    kernel()(3)
    monkeypatch.setenv(caching.VARIABLE, str(tmp_path / "chosen"))
    used = kernel()
    assert used(3) == 6
    assert used.stats.cache_hits
    assert not cached(tmp_path / "chosen")


def test_without_a_writable_folder_kernels_are_compiled_in_each_process(kernel, nothing_writable):
    used = kernel()
    with pytest.warns(UserWarning, match="cannot be cached .* set MCSQUARED_CACHE to a writable"):
        assert used(3) == 6
    assert not used.stats.cache_hits


def test_a_temporary_folder_is_used_where_package_and_home_are_read_only(
    kernel, nothing_writable, tmp_path, monkeypatch
):
    monkeypatch.setattr(caching.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(caching.TemporaryFolder, "ensure_cache_path", make_folder)
    with pytest.warns(UserWarning, match="cached in .*: set MCSQUARED_CACHE to a permanent folder"):
        assert kernel()(3) == 6
    assert cached(caching.TemporaryFolder.folder()) == [".nbc", ".nbi"]
    again = kernel()
    assert again(3) == 6
    assert again.stats.cache_hits


def test_kernels_are_used_from_a_read_only_package(kernel, request):
    kernel()(3)
    request.getfixturevalue("nothing_writable")
    used = kernel()
    assert used(3) == 6
    assert used.stats.cache_hits


def test_a_temporary_folder_is_used_only_if_no_other_user_can_write_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr(caching.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = caching.TemporaryFolder.folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    assert caching.TemporaryFolder.folder() is None
    folder.rmdir()
    folder.symlink_to(tmp_path)
    assert caching.TemporaryFolder.folder() is None


def test_processes_that_compile_at_the_same_time_keep_their_versions_apart(tmp_path, monkeypatch):
    """Both read the index before either writes: the second must not get the first one's file."""
    first, second = (caching.CacheFile(str(tmp_path), "double", "stamp") for _ in range(2))
    for file, key in ((first, "int64"), (second, "float64")):
        monkeypatch.setattr(file, "_load_index", dict)
        file.save(key, f"version of {key}")
    assert len(list(tmp_path.glob("double.*.nbc"))) == 2
    fresh = caching.CacheFile(str(tmp_path), "double", "stamp")
    assert (fresh.load("int64"), fresh.load("float64")) == (None, "version of float64")


def test_a_damaged_cache_is_compiled_again(kernel, tmp_path):
    kernel()(3)
    for path in (tmp_path / "__pycache__").glob("*.nb?"):
        path.write_bytes(path.read_bytes()[:20])
    assert kernel()(3) == 6


LOAD = """
import sys
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    import mcsquared as mc2
    mc2.MC2.load(sys.argv[1])
    import mcsquared.cli, mcsquared.cli.fit, mcsquared.report
print(len(compiled.buffer))
"""


def test_importing_and_loading_a_model_compile_nothing(tmp_path):
    path = tmp_path / "model.mc2"
    schedule = {"n_sweeps": 4, "burn_in": 2, "thin": 1, "random_state": 0}
    mcsquared.MC2(**schedule, progress=False).fit([["a", "b"], ["b"]]).save(path)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    command = [sys.executable, "-c", LOAD, str(path)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"


USE = """
import os, sys
import mcsquared as mc2
package = os.path.dirname(mc2.__file__)
assert not os.access(package, os.W_OK) and not os.access(os.environ["HOME"], os.W_OK)
corpus = mc2.Corpus.from_tokens([["ant", "bee"], ["bee"], ["cat", "ant"]])
schedule = {"n_sweeps": 4, "burn_in": 2, "thin": 1, "random_state": 0}
model = mc2.MC2(**schedule, progress=False).fit(corpus)
model.predict(corpus)
model.save("model.mc2")
mc2.write_report(mc2.MC2.load("model.mc2"), "report.html")

from mcsquared.cli import app
with open("papers.csv", "w") as file:
    file.write("text,year\\nants and bees,1990\\nbees and cats,1991\\ncats and ants,2001\\n")
app(["fit", "papers.csv", "--text", "text", "--context", "year", "--sweeps", "4",
     "--out", "papers.mc2"], standalone_mode=False)
app(["predict", "papers.mc2", "papers.csv", "--out", "clusters.csv"], standalone_mode=False)
app(["report", "papers.mc2", "--out", "papers.html"], standalone_mode=False)
"""

READ_ONLY = """
for folder in "$1" "$2"; do mount --bind "$folder" "$folder" && \
mount -o remount,bind,ro "$folder" || exit 77; done
shift 2
exec "$@"
"""


def unprivileged(package, home):
    """Return a command that runs another one without the right to write to two folders."""
    prefix = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "-Urm"]
    command = [*prefix, "sh", "-c", READ_ONLY, "sh", str(package), str(home)]
    if os.getuid() == 0 and shutil.which("setpriv"):
        # Another user, who may read the interpreter wherever it is installed.
        command += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        command += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"]
    return command


@pytest.fixture
def open_folder():
    """Return a folder for every user; those of pytest are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (folder, folder / "home", folder / "out"):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        yield folder


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_an_unprivileged_user_fits_predicts_and_reports_with_read_only_package_and_home(
    open_folder,
):
    package, home, out = Path(mcsquared.__file__).parent, open_folder / "home", open_folder / "out"
    prefix = unprivileged(package, home)
    tried = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"unshare and mount are not permitted: {tried.stderr.strip()}")
    # Kernels of this process are used, wherever they are.
    environment = os.environ | {"HOME": str(home), "PYTHONPATH": str(package.parent)}
    environment.pop("XDG_CACHE_HOME", None)
    command = [*prefix, sys.executable, "-c", USE]
    run = subprocess.run(
        command, env=environment, cwd=out, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    for page in ("report.html", "papers.html"):
        assert (out / page).stat().st_size > 10_000
    assert len((out / "clusters.csv").read_text().splitlines()) == 4


def test_the_first_compilation_is_announced_once_with_its_duration(kernel, monkeypatch, capsys):
    monkeypatch.setattr(caching, "announced", [])
    double = kernel()
    assert double(2) == 4
    assert double(2.5) == 5.0
    assert capsys.readouterr().err == f"{caching.ANNOUNCEMENT}\n"
    assert "compiling" in caching.ANNOUNCEMENT
    assert "minutes" in caching.ANNOUNCEMENT

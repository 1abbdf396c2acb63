"""Dependencies: their licences, the lock file, the lowest versions, the list for a release."""

import importlib.util
import re
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def dependencies():
    spec = importlib.util.spec_from_file_location("dependencies", ROOT / ".ci/dependencies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_licences_of_all_dependencies_are_allowed(dependencies):
    packages = dependencies.installed("all", "dev")
    assert {"numpy", "numba", "arviz", "pytest", "click", "llvmlite"} <= packages.keys()
    assert dependencies.licence_problems(packages) == []


@pytest.mark.parametrize("text", ["", "GPL-3.0-only", "GNU Affero AGPL", "Proprietary"])
def test_a_licence_that_is_missing_or_not_allowed_is_named(dependencies, monkeypatch, text):
    monkeypatch.setattr(dependencies, "licence", lambda package: text)
    problems = dependencies.licence_problems(dependencies.installed())
    assert len(problems) == len(dependencies.installed())


def test_the_sbom_lists_the_installed_packages(dependencies):
    packages = dependencies.installed("all")
    components = dependencies.sbom(packages)["components"]
    assert [part["name"] for part in components] == sorted(packages)
    assert all(part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}" for part in components)


def test_the_lowest_versions_are_those_of_the_project(dependencies):
    lowest = dependencies.lowest("all")
    assert {"numpy==1.26", "numba==0.60", "matplotlib==3.8", "arviz==0.19"} <= set(lowest)


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("SECURITY.md", "## Reporting a vulnerability"),
        ("SECURITY.md", "SHA-256 detects damage, not tampering"),
        (".github/workflows/nightly.yml", r"dependencies\.py lowest > (\S+)[\s\S]*--constraint \1"),
        (".github/workflows/nightly.yml", "make image"),
        (".github/workflows/release.yml", r"dependencies\.py sbom"),
        ("Makefile", r"dependencies\.py licences"),
        ("Makefile", "pip install .*--require-hashes .*requirements.lock"),
        ("Dockerfile", r"python -m mcsquared\.compile[\s\S]*\nUSER [1-9]\d*\n"),
        (".ci/test_image", "--read-only .*--user [1-9]"),
    ],
)
def test_what_is_checked_outside_of_the_tests_is_set_up(file, pattern):
    assert re.search(pattern, (ROOT / file).read_text(encoding="utf-8"))


def test_the_lock_file_has_all_requirements_with_hashes(dependencies):
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pattern = r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}"
    found = dict(re.fullmatch(pattern, line).groups() for line in lines)
    for requirement in dependencies.requirements("all", "dev"):
        version = found[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"run make lock: {requirement}"

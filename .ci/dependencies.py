"""Check the licences of all dependencies, or list them.

Usage: ``python .ci/dependencies.py COMMAND``, where COMMAND is

- ``licences``: fail if a package of this environment has none, or one that is not allowed;
- ``sbom``: print the packages of this environment as CycloneDX 1.5;
- ``lowest``: print the lowest versions that pyproject.toml allows, as constraints;
- ``lock REPORT``: print the packages of a report of ``pip install --dry-run`` with their hashes.
"""

import json
import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

# Licences that allow use and redistribution beside BSD-3-Clause code: permissive ones, and weak
# copyleft of packages that are imported unchanged.
ALLOWED = re.compile(
    r"\b(MIT|BSD|0BSD|ISC|Apache|PSF|Python|MPL|Mozilla|Unlicense|HPND|CC0|Zlib|LGPL|NCSA|BSL)\b",
    re.IGNORECASE,
)
FORBIDDEN = re.compile(
    r"(?<!L)(?<!Lesser )\b(GPL|General Public License|AGPL|SSPL|Commons Clause)\b"
)
# Packages whose metadata do not name their licence, which was read in their repository.
KNOWN: dict[str, str] = {}


def requirements(*extras: str) -> list[Requirement]:
    """Return the requirements of the project and of some of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = list(project["dependencies"])
    for extra in extras:
        listed += project["optional-dependencies"][extra]
    found = [Requirement(line) for line in listed]
    nested = [extra for r in found if r.name == project["name"] for extra in r.extras]
    others = [r for r in found if r.name != project["name"]]
    return others + (requirements(*nested)[len(project["dependencies"]) :] if nested else [])


def installed(*extras: str) -> dict[str, Distribution]:
    """Return the installed packages that the project needs, directly or not, by name."""
    packages: dict[str, Distribution] = {}
    left = requirements(*extras)
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name in packages:
            continue
        try:
            packages[name] = distribution(requirement.name)
        except PackageNotFoundError:
            continue  # for another platform or version of Python
        for line in packages[name].requires or ():
            needed = Requirement(line)
            chosen = [{"extra": extra} for extra in ("", *requirement.extras)]
            if needed.marker is None or any(needed.marker.evaluate(c) for c in chosen):
                left.append(needed)
    return dict(sorted(packages.items()))


def licence(package: Distribution) -> str:
    """Return the licence of a package as its metadata state it; empty if they do not."""
    data = package.metadata
    name = canonicalize_name(data["Name"])
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in data.get_all("Classifier", [])
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    stated = [KNOWN.get(name), data.get("License-Expression"), ", ".join(classifiers)]
    stated.append((data.get("License") or "").strip().partition("\n")[0][:80])
    return next((text for text in stated if text), "")


def licence_problems(packages: dict[str, Distribution]) -> list[str]:
    """Return one sentence per package whose licence is missing or not allowed."""
    found = {name: licence(package) for name, package in packages.items()}
    return [
        f"{name}: the licence must be permissive or weak copyleft, got {text or 'none'}"
        for name, text in found.items()
        if not ALLOWED.search(text) or (FORBIDDEN.search(text) and " OR " not in text)
    ]


def sbom(packages: dict[str, Distribution]) -> dict[str, object]:
    """Return a CycloneDX document that lists the packages."""
    version = re.search(
        r'^__version__ = "(.+)"$',
        (ROOT / "src/mcsquared/__init__.py").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert version is not None
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component("mcsquared", version[1], "BSD-3-Clause")},
        "components": [
            _component(name, package.version, licence(package))
            for name, package in packages.items()
        ],
    }


def _component(name: str, version: str, text: str) -> dict[str, object]:
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [{"license": {"name": text}}],
    }


def lowest(*extras: str) -> list[str]:
    """Return each requirement at the lowest version that it allows."""
    lines = {}
    for requirement in requirements(*extras):
        least = [part.version for part in requirement.specifier if part.operator == ">="]
        if least:
            lines[canonicalize_name(requirement.name)] = f"{requirement.name}=={least[0]}"
    return sorted(lines.values())


def locked(report: str) -> list[str]:
    """Return the packages of a report by pip, with the SHA-256 of each file."""
    lines = []
    for entry in json.loads(Path(report).read_text(encoding="utf-8"))["install"]:
        data, file = entry["metadata"], entry["download_info"]
        if "archive_info" in file:  # the project itself is a folder
            digest = file["archive_info"]["hashes"]["sha256"]
            name = canonicalize_name(data["name"])
            lines.append(f"{name}=={data['version']} --hash=sha256:{digest}")
    return sorted(lines)


def main(command: str, *arguments: str) -> None:
    """Run one of the commands."""
    if command == "licences":
        sys.exit("\n".join(licence_problems(installed("all", "dev"))) or None)
    if command == "sbom":
        print(json.dumps(sbom(installed("all")), indent=2))
    elif command == "lowest":
        print("\n".join(lowest("all")))
    elif command == "lock":
        print("\n".join(locked(*arguments)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])

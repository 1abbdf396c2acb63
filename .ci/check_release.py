"""Check that a release tag agrees with the package, CITATION.cff and CHANGELOG.md.

Usage: ``python .ci/check_release.py v0.2.0``. Uses the standard library alone.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def release_problems(tag: str, root: Path = ROOT) -> list[str]:
    """Return one sentence per disagreement; an empty list if the tag can be released."""
    version = tag.removeprefix("v")
    problems = []
    if not re.fullmatch(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?", tag):
        problems.append(f"tag must have the form v1.2.3 or v1.2.3rc1, got {tag}")
    for path, pattern in {
        "src/mcsquared/__init__.py": r'^__version__ = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
    }.items():
        found = re.search(pattern, (root / path).read_text(encoding="utf-8"), re.MULTILINE)
        if found is None or found[1] != version:
            problems.append(f"{path} must have version {version}, got {found and found[1]}")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    if not re.search(heading, changes, re.MULTILINE):
        problems.append(f"CHANGELOG.md must have a section '## {version} (YYYY-MM-DD)'")
    return problems


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit("\n".join(release_problems(sys.argv[1])) or None)

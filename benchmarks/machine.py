"""Where and with what a run was made: processor, versions, date, load."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["describe"]

PACKAGES = ("mcsquared", "numpy", "scipy", "numba", "scikit-learn", "pandas", "tomotopy")


def describe(command: str) -> dict[str, str]:
    """Return facts about this run that a reader needs; the machine's name is not one of them."""
    load = os.getloadavg()[0]
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"`{command}`",
        "load average at the end": f"{load:.1f} on {os.cpu_count()} cores",
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"

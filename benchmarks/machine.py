"""Description of a run: processor, versions, date, load."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("mcsquared", "numpy", "scipy", "numba", "scikit-learn", "pandas", "tomotopy")
DEVICE_PACKAGES = ("numba-cuda", "numba", "numpy", "scipy")


def describe() -> dict[str, str]:
    """Return processor, system and versions, without the name of the machine."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    }


def describe_device() -> dict[str, str] | None:
    """Return the GPU, its host and versions; None if there is no GPU."""
    try:
        from numba import cuda

        from mcsquared.kernels.cuda.launch import SIMULATED
        from mcsquared.kernels.cuda.memory import unavailable_reason
    except ImportError:
        return None
    if SIMULATED or unavailable_reason():
        return None
    name, driver = cuda.get_current_device().name, cuda.cudadrv.driver.get_version()
    memory = cuda.current_context().get_memory_info()[1] / 1e9
    named = name.decode() if isinstance(name, bytes) else name
    versions = ", ".join(f"{package} {_version(package)}" for package in DEVICE_PACKAGES)
    return {
        "GPU": f"{named}, {memory:.0f} GB, CUDA {'.'.join(map(str, driver))}",
        "host processor": f"{_processor()}, {os.cpu_count()} cores",
        "versions": f"Python {platform.python_version()}, {versions}",
    }


def describe_run(command: str) -> str:
    """Return the command, the date and the load average in one line."""
    date, load = datetime.now(UTC).date().isoformat(), os.getloadavg()[0]
    return f"`{command}`, {date}, load average {load:.1f} on {os.cpu_count()} cores"


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

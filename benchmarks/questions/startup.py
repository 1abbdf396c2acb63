"""Start-up time of the command and of imports."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measure import Timing, cpu_seconds_of_command, run_job
from benchmarks.settings import Settings
from benchmarks.tables import Result, Target

HELP = "mc2 --help"


def run(settings: Settings) -> Result:
    python = sys.executable
    commands = {
        'python -c "pass"': [python, "-c", "pass"],
        'python -c "import mcsquared"': [python, "-c", "import mcsquared"],
        'python -c "import numpy"': [python, "-c", "import numpy"],
        'python -c "import sklearn"': [python, "-c", "import sklearn"],
        'python -c "from mcsquared import MC2"': [python, "-c", "from mcsquared import MC2"],
        HELP: [str(Path(python).with_name("mc2")), "--help"],
    }
    cpu = {name: Timing() for name in commands}
    wall = {name: Timing() for name in commands}
    for number in range(settings.repeats + 1):
        for name, command in commands.items():
            seconds = cpu_seconds_of_command(command)
            if number:  # the first run reads the files from disk
                cpu[name].add(seconds[0])
                wall[name].add(seconds[1])
    loaded = run_job("import_module", module="mcsquared")["loaded"]
    return Result(
        title="Start-up",
        columns=("command", "CPU-s", "fastest", "wall s", "fastest"),
        rows=[
            (name, cpu[name].median, cpu[name].fastest, wall[name].median, wall[name].fastest)
            for name in commands
        ],
        targets=[Target(HELP, cpu[HELP].median, 0.6, False, "CPU-s")],
        notes=[
            f"Medians of {settings.repeats}. `import mcsquared` loads "
            f"{', '.join(loaded) or 'none of numba, scikit-learn, pandas, SciPy and NumPy'}.",
            "The target applies to an idle machine, where wall time is close to CPU time; on a "
            "busy machine use the CPU-seconds.",
        ],
    )

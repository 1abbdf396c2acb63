"""Record or compare golden runs: ``python -m tests.golden record|compare [CASE ...]``.

Each case is fitted in a process of its own. Hashes cover the labels, the trace (all but seconds),
every array of the saved model and some predictions. They hold for one kind of CPU and one set of
versions, so a comparison on another machine must record the old tree there first.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.golden.cases import CASES, SIMULATED

RECORD = Path(__file__).with_name("golden.json")


def run_case(name: str) -> dict[str, str]:
    """Fit one case in this process; return a hash for everything it leaves."""
    return {key: _hash(value) for key, value in CASES[name]().items() if not _is_timed(key)}


def _is_timed(key: str) -> bool:
    """Return whether it is the stored trace: its rows are in the hashes, but one is the seconds."""
    return key.split()[-1] == "trace"


def _hash(array) -> str:
    import numpy as np

    array = np.ascontiguousarray(array)
    if array.dtype == object:
        array = array.astype(str)
    text = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(text + array.tobytes()).hexdigest()[:16]


def run_in_process(name: str) -> dict[str, str]:
    """Fit one case in a new process, the CUDA simulator enabled where the case needs it."""
    environment = dict(os.environ)
    if name in SIMULATED:
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [sys.executable, "-m", "tests.golden", "run", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(command: str, *names: str) -> int:
    """Carry out one of the commands; return the exit status."""
    if command == "run":
        print(json.dumps(run_case(names[0])))
        return 0
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    different = 0
    for name in names or CASES:
        if command == "compare" and name not in known:
            print(f"{name}: not recorded", flush=True)
            different += 1
            continue
        found = run_in_process(name)
        if command == "record":
            known[name] = found
            RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
            print(f"{name}: {len(found)} hashes recorded", flush=True)
            continue
        keys = {key for key in known[name].keys() | found if not _is_timed(key)}
        apart = sorted(key for key in keys if known[name].get(key) != found.get(key))
        different += bool(apart)
        print(
            f"{name}: {'identical' if not apart else 'DIFFERENT: ' + ', '.join(apart)}", flush=True
        )
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

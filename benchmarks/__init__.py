"""Speed, memory and quality beside other packages, in one run: ``python -m benchmarks``."""

import os

# One thread for linear algebra, before anything loads it: CPU-seconds are compared, and a library
# that spins on a second core would be charged for it.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

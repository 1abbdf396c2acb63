"""Speed, memory and quality compared with other packages: ``python -m benchmarks``."""

import os

# One thread for linear algebra, set before any library is loaded: CPU-seconds are compared, and
# waiting on a second core would count.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

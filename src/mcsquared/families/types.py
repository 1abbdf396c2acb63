"""Types that all families share."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Observations"]

Floats: TypeAlias = NDArray[np.float64]

# Each family documents its own numeric form: a vector, a matrix, codes, or a sparse matrix.
Observations: TypeAlias = Any

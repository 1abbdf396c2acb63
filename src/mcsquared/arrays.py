"""Array types for annotations; docstrings give the shapes."""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Objects = NDArray[np.object_]
Integers = NDArray[np.integer]  # of any width
CountArray = NDArray[np.signedinteger]  # int32, or int64 if a count exceeds 2³¹ − 1

Rng = np.random.Generator

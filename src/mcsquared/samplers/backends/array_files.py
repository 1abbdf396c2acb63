"""Small arrays in scratch files, which every step reads and writes again."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 8  # bytes; every array in a file begins at a multiple of it


class ArrayFiles:
    """The arrays of each shard, in a file of their own: ``name-3`` for shard 3.

    Types and shapes stay in memory: parsing the header of an NPY file takes longer than reading a
    small array.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._stem = str(folder / name)
        self._dtypes_and_shapes: dict[int, list[tuple[np.dtype[Any], tuple[int, ...]]]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._dtypes_and_shapes

    def write(self, number: int, arrays: Sequence[NDArray[Any]]) -> None:
        """Write the arrays of a shard."""
        # Overwritten in place: ext4 flushes a file that is emptied and written again at once.
        with open(self._path(number), "r+b" if number in self else "wb") as file:
            for array in arrays:
                rows = np.ascontiguousarray(array)
                file.write(rows.data)
                file.write(bytes(-rows.nbytes % ALIGNMENT))
            file.truncate()
        self._dtypes_and_shapes[number] = [(array.dtype, array.shape) for array in arrays]

    def read(self, number: int) -> list[NDArray[Any]]:
        """Read the arrays of a shard."""
        content, arrays, first = np.fromfile(self._path(number), np.uint8), [], 0
        for dtype, shape in self._dtypes_and_shapes[number]:
            n_bytes = math.prod(shape) * dtype.itemsize
            arrays.append(content[first : first + n_bytes].view(dtype).reshape(shape))
            first += n_bytes + -n_bytes % ALIGNMENT
        return arrays

    def remove(self, number: int) -> None:
        """Delete the file of a shard."""
        del self._dtypes_and_shapes[number]
        os.unlink(self._path(number))

    def _path(self, number: int) -> str:
        return f"{self._stem}-{number}"

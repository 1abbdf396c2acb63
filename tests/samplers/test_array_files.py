"""Arrays of a shard return from their scratch file as they were written."""

import numpy as np
import pytest

from mcsquared.samplers.backends.array_files import ALIGNMENT, ArrayFiles

ARRAYS = [
    np.arange(5, dtype=np.int32),
    np.zeros((0, 3)),
    np.array([1, 0, 1], np.uint8),
    np.arange(6.0).reshape(2, 3),
    np.arange(12.0).reshape(3, 4).T,
    np.zeros(0, np.int64),
]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for array, other in zip(found, expected, strict=True):
        assert (array.dtype, array.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(array, other)


@pytest.fixture
def files(tmp_path):
    return ArrayFiles(tmp_path, "sides")


def test_arrays_of_every_type_and_shape_return(files):
    files.write(3, ARRAYS)
    assert 3 in files
    assert 2 not in files
    found = files.read(3)
    assert_same(found, ARRAYS)
    # Kernels are compiled for arrays of this kind.
    assert all(a.flags.c_contiguous and a.flags.aligned and a.flags.writeable for a in found)
    assert all(a.ctypes.data % ALIGNMENT == 0 for a in found)


@pytest.mark.parametrize("second", [ARRAYS[:1], [*ARRAYS, *ARRAYS]], ids=["shorter", "longer"])
def test_a_file_is_written_again(files, second, tmp_path):
    files.write(0, ARRAYS)
    files.write(0, second)
    assert_same(files.read(0), second)
    n_bytes = sum(array.nbytes + -array.nbytes % ALIGNMENT for array in second)
    assert (tmp_path / "sides-0").stat().st_size == n_bytes


def test_a_removed_file_is_gone(files, tmp_path):
    for number in (0, 1):
        files.write(number, ARRAYS)
    files.remove(0)
    assert 0 not in files
    assert [path.name for path in tmp_path.iterdir()] == ["sides-1"]
    assert_same(files.read(1), ARRAYS)

"""Arrays and texts can be decoded from a page."""

import base64
import json

import numpy as np
import pytest

from mcsquared.markup import shorten
from mcsquared.report.packing import embedded_json, pack, pack_shares

TYPES = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "i4": np.int32, "i8": np.int64}
TYPES |= {"f4": np.float32, "f8": np.float64}


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), TYPES[packed["type"]])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 255], "u1"),
        ([0, 256], "u2"),
        ([70_000], "u4"),
        ([-1, 5], "i4"),
        ([-(2**40)], "i8"),
        ([True, False], "u1"),
        ([0.5, 2001.0], "f4"),
        ([2.0**25 + 1.0], "f8"),
    ],
)
def test_arrays_use_the_smallest_type_that_fits(values, kind):
    packed = pack(values)
    assert packed["type"] == kind
    np.testing.assert_array_equal(unpacked(packed), values)


def test_an_empty_array_and_missing_numbers_can_be_packed():
    assert len(unpacked(pack(np.zeros(0)))) == 0
    np.testing.assert_array_equal(unpacked(pack([np.nan, 1.0])), [np.nan, 1.0])


def test_shares_are_bytes():
    np.testing.assert_array_equal(unpacked(pack_shares([0.0, 0.5, 1.0, np.nan])), [0, 128, 255, 0])


def test_json_round_trip_replaces_only_nan_and_infinity():
    data = {"a": [1, 2.5, float("inf"), None], "b": ("<&>", np.int64(3), np.array([1, 2]))}
    found = json.loads(embedded_json(data))
    assert found == {"a": [1, 2.5, None, None], "b": ["<&>", 3, [1, 2]]}


def test_long_texts_end_in_an_ellipsis():
    assert shorten("short", 10) == "short"
    assert shorten("a text that is long", 8) == "a text…"

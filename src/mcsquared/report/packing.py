"""Encode the data of a report: arrays in base64, JSON that is safe inside HTML."""

import base64
import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsquared.arrays import Floats

Packed = dict[str, str]

# Integers below it are exact in float32.
_EXACT_IN_FLOAT32 = 2**24

# UTF-8 cannot encode a lone half of a surrogate pair.
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
# "</script>", "<!--" and "]]>" would end the element that contains the JSON; the two separators end
# lines in JavaScript, but not in JSON.
_ESCAPED = "<>&\u2028\u2029"


def pack(values: ArrayLike) -> Packed:
    """Return an array as its type and its bytes in base64, in row-major order.

    Integers use the smallest type that fits, floats four bytes unless large values need eight.
    """
    array = np.ascontiguousarray(values)
    if array.dtype.kind in "biu":
        array = array.astype(_smallest(array))
    else:
        finite = array[np.isfinite(array)]
        large = np.abs(finite).max(initial=0.0) >= _EXACT_IN_FLOAT32
        array = array.astype(np.float64 if large else np.float32)
    little = array.astype(array.dtype.newbyteorder("<"))
    name = f"{array.dtype.kind}{array.dtype.itemsize}"
    return {"type": name, "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def pack_shares(values: ArrayLike) -> Packed:
    """Return shares in 0..1 as bytes 0..255; NaN becomes 0."""
    shares = np.nan_to_num(np.asarray(values, np.float64))
    return pack(np.round(np.clip(shares, 0.0, 1.0) * 255.0).astype(np.uint8))


def pack_lists(values: list[NDArray[Any]], shares: list[NDArray[Any]]) -> dict[str, Packed]:
    """Return lists of indices and their shares, concatenated, with the lengths of the lists."""
    return {
        "lengths": pack(np.array([len(one) for one in values], np.int64)),
        "values": pack(np.concatenate([np.zeros(0, np.int64), *values])),
        "shares": pack(np.concatenate([np.zeros(0), *shares])),
    }


def as_numbers(values: ArrayLike) -> Floats:
    """Return numbers as float64, and dates as days since 1970."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        array = (array - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    return array.astype(np.float64)


def _smallest(array: NDArray[Any]) -> type[np.integer[Any]]:
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    if low < 0:
        return np.int32 if low >= -(2**31) and high < 2**31 else np.int64
    if high >= 2**32:
        raise OverflowError(f"{high} does not fit in 32 bits")
    return np.min_scalar_type(high).type


def embedded_json(data: Any) -> str:
    """Return JSON that can be embedded in a script element."""
    text = json.dumps(_json_types(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = _LONE_SURROGATES.sub("\ufffd", text)
    for character in _ESCAPED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _json_types(value: Any) -> Any:
    """Convert to JSON types; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(name): _json_types(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_json_types(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

"""Numbers and texts as a page holds them: arrays in base64, JSON that no parser of HTML minds."""

from __future__ import annotations

import base64
import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Packed", "clipped", "embedded_json", "pack", "pack_shares"]

Packed = dict[str, str]

# Whole numbers up to here survive a float of 32 bits.
_EXACT_IN_FLOAT32 = 2**24

# Half of a surrogate pair alone cannot be written in UTF-8.
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
# "</script>", "<!--" and "]]>" would end or confuse the element that holds the JSON; the two
# separators are ends of lines to JavaScript, though not to JSON.
_ESCAPED = "<>&\u2028\u2029"


def pack(values: ArrayLike) -> Packed:
    """Return an array as its type and its bytes in base64, row after row.

    Whole numbers take the fewest bytes that hold them, fractions four unless they need eight.
    """
    array = np.ascontiguousarray(values)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind in "iu":
        array = array.astype(_smallest(array))
    else:
        finite = array[np.isfinite(array)]
        large = np.abs(finite).max(initial=0.0) >= _EXACT_IN_FLOAT32
        array = array.astype(np.float64 if large else np.float32)
    little = array.astype(array.dtype.newbyteorder("<"))
    name = {"u": "u", "i": "i", "f": "f"}[array.dtype.kind] + str(array.dtype.itemsize)
    return {"type": name, "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def pack_shares(values: ArrayLike) -> Packed:
    """Return shares from 0 to 1 as bytes: 255 is all; NaN counts as nothing."""
    shares = np.nan_to_num(np.asarray(values, np.float64))
    return pack(np.round(np.clip(shares, 0.0, 1.0) * 255.0).astype(np.uint8))


def _smallest(array: NDArray[Any]) -> type[np.integer[Any]]:
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    if low < 0:
        return np.int32 if low >= -(2**31) and high < 2**31 else np.int64
    for kind in (np.uint8, np.uint16, np.uint32):
        if high <= np.iinfo(kind).max:
            return kind
    raise OverflowError(f"{high} is too large for a page")


def clipped(text: Any, most: int) -> str:
    """Return a text of at most so many characters, the last an ellipsis where some are left out."""
    words = str(text)
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def embedded_json(data: Any) -> str:
    """Return JSON that may stand between the tags of a script element."""
    text = json.dumps(_plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = _LONE_SURROGATES.sub("\ufffd", text)
    for character in _ESCAPED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plain(value: Any) -> Any:
    """Return the same in JSON's own types; a number that is none becomes null."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

"""Decode text files whose encoding may be unknown."""

import codecs
import gzip
import re
import zlib
from collections.abc import Callable
from pathlib import Path

from mcsquared.errors import InputError, input_errors

_SAMPLE_LENGTH = 400_000  # bytes used to detect the encoding
_MIN_COMMON = 0.85  # share of the letters beyond ASCII that are common in the language
_MIN_KANA = 0.3  # share of these letters that are kana, in a Japanese text


def read_text(path: Path, encoding: str | None) -> tuple[str, list[str]]:
    """Return the text of a file, and a note if its encoding is not certain."""
    message = f"{path} cannot be read and may be truncated"
    with input_errors(message, OSError, EOFError, ValueError, zlib.error):
        content = path.read_bytes()
        if path.suffix.lower() == ".gz":
            content = gzip.decompress(content)
    notes = []
    if encoding is None:
        encoding = detect_encoding(content)
        if encoding not in ("utf-8", "utf-16"):  # a byte order mark leaves no doubt
            notes.append(
                f"{path.name} is not in UTF-8 and was read as {encoding}; if letters are wrong, "
                "pass encoding= (--encoding in mc2)"
            )
    try:
        # Spreadsheets write a byte order mark, which is not part of the first name.
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeError as error:
        position = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(
            f"{path} is not encoded in {encoding}{position}; pass its encoding (encoding=, or "
            "--encoding in mc2)"
        ) from error
    except LookupError as error:
        raise InputError(f"encoding must be a known encoding, got {encoding!r}") from error
    if "\0" in text:
        raise InputError(f"{path} is not a text file in {encoding}: it contains zero bytes")
    if not text.strip():
        raise InputError(f"{path} must have one row per group, got an empty file")
    return text, notes


def detect_encoding(content: bytes) -> str:
    """Return the encoding of a text: UTF-16 with a byte order mark, UTF-8, or a likely older one.

    Examples
    --------
    >>> [detect_encoding("这家酒店的房间很好".encode(name)) for name in ("utf-8", "gb18030")]
    ['utf-8', 'gb18030']
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if _decoded(content, "utf-8") is not None:
        return "utf-8"
    sample = content[:_SAMPLE_LENGTH]
    if len(sample) < len(content):  # a character must not be cut
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    for encoding, is_common, min_share in _EAST_ASIAN:
        text = _decoded(sample, encoding)
        letters = [letter for letter in text or "" if letter > "\x7f" and letter.isalpha()]
        if letters and sum(map(is_common, letters)) >= min_share * len(letters):
            return encoding
    return "latin-1" if _decoded(content, "cp1252") is None else "cp1252"


def _decoded(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_common_in(encoding: str, first: int, last: int) -> Callable[[str], bool]:
    """Return a test for letters whose first byte lies in the range of the common characters."""

    def is_common(letter: str) -> bool:
        code = letter.encode(encoding, errors="ignore")
        return len(code) == 2 and first <= code[0] <= last

    return is_common


def _is_matched_by(pattern: str) -> Callable[[str], bool]:
    return lambda letter: re.match(pattern, letter) is not None


# Encodings of two bytes per character overlap: Japanese and Korean have letters of their own and
# are tried first. Text in Latin, Cyrillic or Greek letters either cannot be decoded or gives rare
# characters.
_EAST_ASIAN = (
    ("cp932", _is_matched_by("[ぁ-ヿ]"), _MIN_KANA),
    ("euc_jp", _is_matched_by("[ぁ-ヿ]"), _MIN_KANA),
    ("cp949", _is_matched_by("[가-힣]"), 0.97),
    ("gb18030", _is_common_in("gb2312", 0xB0, 0xD7), _MIN_COMMON),
    ("big5", _is_common_in("big5", 0xA4, 0xC6), _MIN_COMMON),
)

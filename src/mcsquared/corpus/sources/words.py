"""How texts are split into words by default: patterns, function words, scripts without spaces."""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from operator import itemgetter
from typing import Any

import numpy as np

from mcsquared.arrays import Bools, Int64s
from mcsquared.checks import check_boolean
from mcsquared.errors import InputError
from mcsquared.markup import shorten

# Words of two or more letters or digits. "don't" is one word; the "ll" of "we'll" is not a word.
TOKEN_PATTERN = r"\b(?!(?<=\w['’])(?:ll|re|ve)\b)\w\w+(?:['’]t\b)?"
_KEPT_PATTERNS = {
    "hashtags": r"[#@]\w\w+",
    "emojis": "[\U0001f1e6-\U0001faff\u2600-\u27bf]",
}
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_LINE_END = re.compile(r"<br\s*/?>|</(?:p|div|li|tr|td|h[1-6])>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|table|tbody|"
    r"td|th|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
# A language is detected by the share of its function words among all tokens or, in case some of
# them were removed before, by the number of those that are frequent.
_MIN_FUNCTION_SHARE = 0.15
_MIN_FUNCTION_WORDS = 8  # twice as many if they must be frequent
_MIN_SHARE_OF_WORD = 5e-4  # of all tokens, for a frequent function word
_MIN_FURTHER_SHARE = 0.05  # of all tokens, for a second language
_MIN_UNSPACED = 0.2  # share of the letters
_MIN_EMOJIS = 0.1  # share of the texts
_MIN_PASSAGE_WORDS = 4  # mean number of words of the items of a list that is not a list of words
_MAX_SAMPLED = 1000  # lists used to tell passages from words
_MIN_LINE_WORDS = 5  # of a line that is reported if many texts contain it
_MIN_LINE_SHARE, _MIN_REPEATED = 0.05, 10  # share and number of the texts that contain it
_UNSPACED_SCRIPTS = {
    "CJK": "Chinese or Japanese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "THAI": "Thai",
    "LAO": "Lao",
    "KHMER": "Khmer",
    "MYANMAR": "Burmese",
}

# Options of `Corpus.from_texts` that apply to new texts as well.
_SPLITTING_OPTIONS = (
    *("lowercase", "token_pattern", "ngram_range", "ngrams", "keep"),
    *("analyzer", "strip_accents", "stop_words", "binary", "character_pairs"),
)
# Arguments that say how words are found, so that pairs of characters are not the default.
_WORD_OPTIONS = ("token_pattern", "tokenizer", "analyzer", "ngrams", "ngram_range")
_UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_UNSPACED_RUN = re.compile(f"([{_UNSPACED}]+)")


@cache
def _words_by_language() -> dict[str, list[str]]:
    """Return the function words of each language, from a file with a paragraph per language."""
    text = (resources.files("mcsquared.corpus.sources") / "function_words.txt").read_text(
        encoding="utf-8"
    )
    parts = (part.partition(":") for part in text.split("\n\n"))
    return {language: words.split() for language, _, words in parts}


def function_words(language: str) -> list[str]:
    """Return the function words of a language, such as "english"."""
    languages = _words_by_language()
    if language not in languages:
        raise InputError(
            f"stop_words must be a list of words, 'auto', None or one of "
            f"{', '.join(languages)}, got {language!r}"
        )
    return languages[language]


def detect_function_words(names: Sequence[str], frequency: Int64s) -> dict[str, set[str]]:
    """Return the languages of the texts and their function words; none if these are rare.

    ``names`` are the words or n-grams, ``frequency`` the number of tokens of each. The language
    whose function words are most frequent is first; further ones must have many of their own.
    """
    share_of = dict(zip(names, frequency / max(frequency.sum(), 1), strict=True))
    found: dict[str, set[str]] = {}
    while True:
        best, most = None, _MIN_FURTHER_SHARE if found else 0.0
        for language, words in _words_by_language().items():
            new = set(words).difference(*found.values())
            shares = np.array([share_of[word] for word in new if word in share_of])
            is_common = np.sum(shares >= _MIN_SHARE_OF_WORD) >= 2 * _MIN_FUNCTION_WORDS
            is_common |= len(shares) >= _MIN_FUNCTION_WORDS and shares.sum() > _MIN_FUNCTION_SHARE
            if is_common and shares.sum() > most:
                best, most = language, shares.sum()
        if best is None:
            return found
        found[best] = set(function_words(best))


def plain_text(text: str) -> str:
    """Return a text without HTML tags and entities, which would be counted as words.

    >>> plain_text("Fish &amp; chips<br>for 3 &lt; 4")
    'Fish & chips for 3 < 4'
    """
    if "<" in text:
        text = _TAG.sub(" ", text)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text


def joined_passages(
    values: Iterable[Any], vocabulary: Sequence[str] | None = None
) -> list[Any] | None:
    r"""Return lists of passages, such as paragraphs, as one text each; None for other values.

    Passages have several words and rarely occur twice. No list is joined if the ``vocabulary`` of a
    model contains entries of several words.

    >>> joined_passages([["The room was clean and quiet.", "We will come back next year!"], None])
    ['The room was clean and quiet.\n\nWe will come back next year!', None]
    >>> joined_passages([["machine learning", "topic"]])
    """
    values = list(values)
    listed = [value for value in values if isinstance(value, list | tuple | np.ndarray)]
    items = [item for value in listed[:_MAX_SAMPLED] for item in value if isinstance(item, str)]
    n_words = sum(len(item.split()) for item in items)
    if n_words < max(1, _MIN_PASSAGE_WORDS * len(items)) or 2 * len({*items}) <= len(items):
        return None
    if vocabulary is not None and any(" " in word for word in vocabulary):
        return None
    return [
        "\n\n".join(map(str, value)) if isinstance(value, list | tuple | np.ndarray) else value
        for value in values
    ]


def emoji_note(texts: Sequence[str | None], options: dict[str, Any]) -> str | None:
    """Return a note if many texts contain emojis that the options do not keep."""
    if any(options.get(name) is not None for name in (*_WORD_OPTIONS, "keep")) or not texts:
        return None
    emoji = re.compile(_KEPT_PATTERNS["emojis"])
    share = sum(emoji.search(text or "") is not None for text in texts) / len(texts)
    if share < _MIN_EMOJIS:
        return None
    return (
        f"{share:.0%} of the texts contain emojis, which are not counted; keep=['emojis'] (--keep "
        "emojis in mc2 fit) counts them as words"
    )


def repeated_line_note(texts: Sequence[str | None]) -> str | None:
    """Return a note on the most frequent line, such as a signature, if many texts contain it."""
    seen: Counter[str] = Counter()
    for text in filter(None, texts):
        lines = {line.strip() for line in plain_text(_LINE_END.sub("\n", text)).split("\n")} - {""}
        if len(lines) > 1:
            seen.update(line for line in lines if len(line.split()) >= _MIN_LINE_WORDS)
    line, n_texts = max(seen.items(), key=itemgetter(1), default=("", 0))
    if n_texts < max(_MIN_LINE_SHARE * len(texts), _MIN_REPEATED):
        return None
    return (
        f"the line {shorten(line, 60)!r} is in {n_texts} of {len(texts)} texts: remove lines that "
        "many texts share, such as signatures and quoted replies, because they form topics"
    )


def unspaced_language(texts: Iterable[str | None]) -> str | None:
    """Return the language of texts in a script without spaces between words; None for others."""
    counts: dict[str, int] = {}
    n_letters = 0
    for text in texts:
        for letter in filter(str.isalpha, (text or "")[:1000]):
            n_letters += 1
            if letter > "\u0e00":
                script = unicodedata.name(letter, "").partition(" ")[0]
                counts[script] = counts.get(script, 0) + 1
    counts = {script: n for script, n in counts.items() if script in _UNSPACED_SCRIPTS}
    if sum(counts.values()) <= _MIN_UNSPACED * n_letters:
        return None
    return _UNSPACED_SCRIPTS[max(counts, key=lambda script: (script != "CJK", counts[script]))]


def uses_character_pairs(options: dict[str, Any], language: str | None) -> bool:
    """Return whether words of scripts without spaces are pairs of characters.

    ``language`` is that of `unspaced_language`, ``options`` are those of `Corpus.from_texts`.
    """
    if "character_pairs" in options:
        return check_boolean("character_pairs", options["character_pairs"])
    return language is not None and not any(name in options for name in _WORD_OPTIONS)


def character_pairs(words: Iterable[str]) -> list[str]:
    """Split runs of characters of scripts without spaces into overlapping pairs.

    >>> character_pairs(["手机屏幕", "good"])
    ['手机', '机屏', '屏幕', 'good']
    """
    found = []
    for word in words:
        for i, part in enumerate(_UNSPACED_RUN.split(word)):
            if i % 2 and len(part) > 2:
                found += [part[j : j + 2] for j in range(len(part) - 1)]
            elif len(part) > 1:
                found.append(part)
    return found


def vectorizer_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of ``CountVectorizer``, given those of `Corpus.from_texts`.

    ``keep`` and ``ngrams`` are replaced by a token pattern and ``ngram_range``, the name of a
    language by its function words (except "english", for which scikit-learn has a list), and
    ``stop_words="auto"`` by None. ``character_pairs`` is dropped.
    """
    options = dict(options)
    options.pop("character_pairs", None)
    keep, ngrams = options.pop("keep", ()), options.pop("ngrams", None)
    if ngrams is not None:
        options["ngram_range"] = (1, ngrams) if isinstance(ngrams, int) else tuple(ngrams)
    stop_words = options.get("stop_words")
    if stop_words == "auto":
        options["stop_words"] = None
    elif isinstance(stop_words, str) and stop_words != "english":
        options["stop_words"] = function_words(stop_words)
    if "token_pattern" not in options and "tokenizer" not in options:
        for kind in keep:
            if kind not in _KEPT_PATTERNS:
                kinds = " or ".join(map(repr, _KEPT_PATTERNS))
                raise InputError(f"keep must contain only {kinds}, got {kind!r}")
        patterns = [*(_KEPT_PATTERNS[kind] for kind in keep), TOKEN_PATTERN]
        options["token_pattern"] = "|".join(patterns)
    return options


def is_function_ngram(names: Sequence[str], words: set[str]) -> Bools:
    """Return whether each word or n-gram consists of these words only: bool (n_names,)."""
    return np.array([all(part in words for part in name.lower().split(" ")) for name in names])


def storable_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that determine how a text is split, if they can be stored as JSON."""
    chosen = {name: options[name] for name in _SPLITTING_OPTIONS if name in options}
    return chosen if all(_is_json(value) for value in chosen.values()) else {}


def _is_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_json(part) for part in value)
    return value is None or isinstance(value, str | int | float | bool)

"""How texts are split into words by default: patterns, function words, scripts without spaces."""

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mcsquared.arrays import Bools, Int64s
from mcsquared.checks import check_boolean
from mcsquared.errors import InputError

# Words of two or more letters or digits. "don't" is one word; the "ll" of "we'll" is not a word.
TOKEN_PATTERN = r"\b(?!(?<=\w['’])(?:ll|re|ve)\b)\w\w+(?:['’]t\b)?"
_KEPT_PATTERNS = {
    "hashtags": r"[#@]\w\w+",
    "emojis": "[\U0001f1e6-\U0001faff\u2600-\u27bf]",
}
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|table|tbody|"
    r"td|th|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_MIN_FUNCTION_SHARE = 0.15  # share of all tokens; below it, they have probably been removed already
_MIN_FUNCTION_WORDS = 8  # distinct function words
_MIN_UNSPACED = 0.2  # share of the letters
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

_FUNCTION_WORDS = {
    "english": """
        a about above after again against all also am an and any are aren't as at be because been
        before being below between both but by can can't cannot could couldn't did didn't do does
        doesn't doing don't down during each either else ever every few for from further get gets
        had hadn't has hasn't have haven't having he her here hers herself him himself his how
        however i if in into is isn't it its itself just let may me might mine more most much must
        mustn't my myself neither no nor not now of off often on once only onto or other our ours
        ourselves out over own per rather same shall she should shouldn't since so some such than
        that the their theirs them themselves then there these they this those though through thus
        to too under until up upon us very via was wasn't we were weren't what when where whether
        which while who whom whose why will with within without won't would wouldn't yet you your
        yours yourself yourselves""",
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderen anderer anderes auch
        auf aus bei beim bin bis bist da damit dann das dass dein deine dem den denn der des dessen
        die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer
        eines er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin
        hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder
        jedes jetzt kann kein keine keinem keinen keiner können könnte man mehr mein meine mich mir
        mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen
        seiner sich sie sind so solche soll sollte sondern um und uns unser unter vom von vor wann
        war waren warum was weil welche welchem welchen welcher wenn wer werde werden wie wieder
        will wir wird wo wurde wurden während zu zum zur zwischen über""",
    "french": """
        ai alors au aucun aussi autre aux avait avant avec avoir ayant beaucoup bien car ce ceci
        cela celle celles celui ces cet cette ceux chaque chez comme comment dans de depuis des donc
        dont du elle elles en encore entre es est et était étaient étant été être eu eux fait faire
        fois font il ils je jusqu la le les leur leurs lors lui là ma mais me mes moi moins mon même
        ne ni non nos notre nous on ont ou où par parce pas pendant peu peut plus plusieurs pour
        pourquoi qu quand que quel quelle quelles quels qui sa sans se selon sera ses si son sont
        sous sur ta tandis te tes toi ton tous tout toute toutes trop très tu un une vers voici
        voilà vos votre vous à ça""",
    "spanish": """
        a al algo algunas algunos ante antes aquel aquella aquí así aún cada como con contra cual
        cuando de del desde donde dos durante e el ella ellas ellos en entre era eran es esa esas
        ese eso esos esta estaba estado estas este esto estos está están fue fueron ha había han
        hasta hay haya he la las le les lo los me mi mis mucho muy más ni no nos nosotros nuestra
        nuestro o os otra otras otro otros para pero poco por porque pues que quien quienes qué se
        sea ser si sido sin sino sobre solo son su sus también tan tanto te tenía ti tiene tienen
        toda todas todo todos tu tus un una unas uno unos usted y ya yo él""",
    "italian": """
        a ad ai al all alla alle allo anch anche ancora avere aveva c che chi ci come con contro
        cui da dal dall dalla dalle dei del dell della delle dello di dopo dove e ed era erano
        essere fra gli ha hanno ho i il in io la le lei li lo loro lui ma me mi mia mio molto ne
        nei nel nell nella nelle noi non nostra nostro o ogni per perché più poi prima qualche
        quale quando quanto quell quella quelle quelli quello quest questa queste questi questo
        qui se sei si sia solo sono sopra sotto sta stata stato su sua sue sui sul sull sulla
        suo tra tu tutta tutte tutti tutto un una uno vi voi è""",
    "dutch": """
        aan al alle als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus
        een en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik
        in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of
        om omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor want
        waren was wat we werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou
        zouden""",
    "portuguese": """
        a ao aos as até com como da das de dela dele deles depois do dos e ela elas ele eles em
        entre era eram essa essas esse esses esta estas este estes está estão eu foi foram há isso
        isto já lhe mais mas me mesmo meu minha muito na nas nem no nos nossa nosso não num numa o
        os ou para pela pelas pelo pelos por qual quando que quem se seja sem ser seu seus são só
        sua suas também te tem tinha todo todos tu um uma você é à às""",
}


def function_words(language: str) -> list[str]:
    """Return the function words of a language, such as "english"."""
    if language not in _FUNCTION_WORDS:
        raise InputError(
            f"stop_words must be a list of words, 'auto', None or one of "
            f"{', '.join(_FUNCTION_WORDS)}, got {language!r}"
        )
    return _FUNCTION_WORDS[language].split()


def detect_function_words(names: Sequence[str], frequency: Int64s) -> tuple[str, set[str]] | None:
    """Return the language whose function words are most frequent, and these; None if they are rare.

    ``names`` are the words or n-grams, ``frequency`` the number of tokens of each.
    """
    position = {name: i for i, name in enumerate(names)}
    best, total = None, frequency.sum()
    most = _MIN_FUNCTION_SHARE * total
    for language in _FUNCTION_WORDS:
        positions = [position[word] for word in function_words(language) if word in position]
        if len(positions) >= _MIN_FUNCTION_WORDS and frequency[positions].sum() > most:
            best, most = language, frequency[positions].sum()
    return None if best is None else (best, set(function_words(best)))


def plain_text(text: str) -> str:
    """Return a text without HTML tags and entities, which would be counted as words.

    >>> plain_text("Fish &amp; chips<br>for 3 &lt; 4")
    'Fish & chips for 3 < 4'
    """
    if "<" in text:
        text = _TAG.sub(" ", text)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text


def unspaced_language(texts: Iterable[str | None]) -> str | None:
    """Return the language of texts whose script has no spaces between words, if there are many."""
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

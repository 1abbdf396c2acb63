"""Names of clusters and topics: what most groups of a cluster have, what distinguishes a topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mcsquared.arrays import Floats, Int32s, Int64s, Objects
from mcsquared.corpus import Column
from mcsquared.markup import shorten
from mcsquared.posterior.content import MIN_LIFT, common_items
from mcsquared.posterior.shared_values import (
    MAX_VALUE_LENGTH,
    MIN_NAMING_LIFT,
    MIN_SHARE,
    last_phrase,
    naming_gain,
    shared_values,
    value_gains,
)
from mcsquared.posterior.tables import token_share_of_topic

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

# Phrases about contexts: any, those of most groups of a cluster that are rarer in other clusters,
# or those of most groups whether rarer or not, with the name of the context.
PhraseKind = Literal["any", "distinctive", "usual"]

N_WORDS = 3  # in a name
N_PHRASES = 2  # about contexts or dimensions in a name
MIXED = "mixed: "  # before the name of a cluster without a word or value of half of its groups
NAMING_RELEVANCE = 0.4  # weight of frequency against distinctiveness
MAX_WORD_LENGTH = 60  # characters
_N_CANDIDATES = 12  # words or items considered for a name
_MIN_SECOND_SHARE = 0.2  # of the groups, for further words of a name
_MIN_DEVIATION = 0.5  # of a low or high mean from the overall mean, in standard deviations
_MAX_NARROW_SD = 0.5  # standard deviation of a narrow cluster, in standard deviations of all groups
# Two letters or more, or one of a script whose characters are syllables or words; or a name of
# several words that may have numbers, such as "LED lamp, 9 W".
_WORDLIKE = re.compile(
    r"([^\W\d_]{2,}|[\u0e00-\u109f\u1780-\u17ff\u3040-\u9fff])([-'’ _][^\W\d_]+)*"
    r"|(?=.*\b[^\W\d_]{3,}\b).+ .+"
)

# Values that say nothing without the name of their context: "yes", "7", "5 to 10", "DE".
_NEEDS_CONTEXT = re.compile(
    r"[!-~]{1,2}|yes|nein|nee|oui|non|sim|não|[\W\d_]*(to|bis|à|a|-)?[\W\d_]*", re.I
)


def cluster_names(posterior: Posterior, dimensions: Sequence[str] | None = None) -> list[str]:
    """Return a unique name for each cluster; empty if nothing is distinctive.

    Every group counts once, so a single long group cannot determine the name. Words and values that
    are as common in other clusters stand at the end, values with the name of their context. If no
    word and no value is in half of the groups, the name starts with "mixed: ". ``dimensions`` are
    the names of the dimensions of vectors.
    """
    words = None if posterior.vocabulary is None else TopicWords(posterior)
    has_words = words is not None and words.readable
    contexts = _context_phrases(posterior, "distinctive" if has_words else "any")
    given = posterior.given_names.get("clusters", {})
    if words is not None and words.readable:
        parts = _word_phrases(posterior, words, contexts)
        names = _unique([x.phrases for x in parts], given, [x.last for x in parts])
        return [
            f"{MIXED}{name}" if name and x.is_mixed and k not in given else name
            for k, (name, x) in enumerate(zip(names, parts, strict=True))
        ]
    if any(contexts) or not posterior.parameters or words is not None:
        phrases = [x[:N_PHRASES] for x in contexts]
    else:
        phrases = _mean_phrases(posterior, posterior.token_shares, dimensions)
    return _unique(phrases, given)


def topic_names(posterior: Posterior, dimensions: Sequence[str] | None = None) -> list[str]:
    """Return a unique name for each topic: words, items of a bag it occurs with, or dimensions."""
    given = posterior.given_names.get("topics", {})
    words = None if posterior.vocabulary is None else TopicWords(posterior)
    if words is not None and words.readable:
        return _unique([words.distinct(row) for row in words.topics], given)
    bag = _first_bag(posterior)
    if bag is not None:
        table = posterior.context_given_topic(bag).to_numpy()
        items = _items_of_topics(posterior.contexts[bag], table, posterior.tokens_of_topic)
        return _unique([[f"with {', '.join(row)}"] if row else [] for row in items], given)
    if words is not None:
        return _unique([[]] * posterior.n_topics, given)
    return _unique(_mean_phrases(posterior, np.eye(posterior.n_topics), dimensions), given)


class TopicWords:
    """The words of a model with their probabilities in topics and overall."""

    def __init__(self, posterior: Posterior) -> None:
        self.vocabulary: Objects = np.asarray(posterior.vocabulary)
        # Words without tokens have a small probability in every topic, but do not describe it.
        self.topics = np.where(posterior.words_in_topic, posterior.components, 0.0)
        self.overall = np.maximum(token_share_of_topic(posterior) @ self.topics, 1e-300)
        frequency = posterior.word_frequency
        self.frequency = np.zeros_like(self.overall, np.int64) if frequency is None else frequency
        sample = self.vocabulary[np.argsort(-self.frequency, kind="stable")[:200]]
        wordlike = [bool(_WORDLIKE.fullmatch(word)) for word in sample]
        # Codes such as "vw12" or "sift7" are not names.
        self.readable = bool(np.mean(wordlike) > 0.6) if wordlike else False

    def relevant(self, probability: Floats, relevance: float, limit: int) -> Int64s:
        """Return indices of the words with the largest r ln p + (1 − r) ln (p / overall).

        ``relevance`` is r, ``probability`` is p: float64 (n_words,).
        """
        if len(probability) == 0:
            return np.zeros(0, np.int64)
        log_p = np.log(np.maximum(probability, 1e-300))
        score = log_p - (1.0 - relevance) * np.log(self.overall)
        # Rare words have the highest lift, but are not representative.
        score = np.where(probability * len(probability) > 0.5, score, -np.inf)
        limit = min(limit, len(score))
        best = np.argpartition(-score, limit - 1)[:limit]
        best = best[np.isfinite(score[best])]
        return best[np.lexsort((best, -score[best]))]

    def texts(self, words: Iterable[int] | Int64s) -> list[str]:
        """Return the shortened words with these indices."""
        return [shorten(self.vocabulary[w], MAX_WORD_LENGTH) for w in words]

    def distinct(self, probability: Floats) -> list[str]:
        """Return relevant words, at most one per stem; empty if the words are codes."""
        if not self.readable:
            return []
        return _one_per_stem(
            self.texts(self.relevant(probability, NAMING_RELEVANCE, _N_CANDIDATES))
        )

    def name(self, probability: Floats) -> str:
        """Return a few words as the name of a topic; empty if words are codes."""
        return ", ".join(self.distinct(probability)[:N_WORDS])


def _unique(
    phrases: list[list[str]], given: dict[int, str], last: Sequence[str] | None = None
) -> list[str]:
    """Join the first phrases of each list into a name; no two have the same phrases, unless empty.

    If possible, no two start with the same phrase. ``given`` has names chosen by the user, ``last``
    a phrase that ends each name, or "".
    """
    names: list[str] = []
    used, used_sets = set(given.values()), [{*name.split(", ")} for name in given.values()]
    first_phrases: set[str] = set()
    for number, candidates in enumerate(phrases):
        if number in given:
            names.append(given[number])
            continue
        end = [last[number]] if last and last[number] else []
        n_words = N_WORDS - len(end)
        first = next((x for x in candidates[:n_words] if x not in first_phrases), None)
        ordered = candidates if first is None else [first, *(x for x in candidates if x != first)]
        chosen, n_used = ordered[:n_words] + end, n_words
        while {*chosen} in used_sets and n_used < len(ordered):
            n_used += 1
            chosen = [*ordered[: n_words - 1], ordered[n_used - 1], *end]
        name = ", ".join(chosen)
        if name and (name in used or {*chosen} in used_sets):
            name = next(
                f"{name} ({i})" for i in range(2, len(used) + 3) if f"{name} ({i})" not in used
            )
        used.add(name)
        used_sets.append({*chosen})
        first_phrases.update(chosen[:1])
        names.append(name)
    return names


class _NameParts(NamedTuple):
    """The parts of the name of a cluster."""

    phrases: list[str]
    last: str = ""  # a word or value of most groups that is as common in others, or a range
    is_mixed: bool = False  # no word or value is in half of the groups


def _word_phrases(
    posterior: Posterior, words: TopicWords, contexts: list[list[str]]
) -> list[_NameParts]:
    """Return naming words for each cluster, preceded by a context value if no word is common.

    The phrases contain a word or value of at least half of the groups, if there is one; otherwise
    the first phrase is the word of most groups. See `last_phrase` for ranges and absent values.
    """
    content = posterior.cluster_content
    if content is None or posterior.document_frequency is None:
        return [_NameParts(words.distinct(row @ words.topics)) for row in posterior.token_shares]
    usual_values, shared = _context_phrases(posterior, "usual"), shared_values(posterior)
    gains = value_gains(posterior)
    sizes = np.bincount(posterior.labels)
    overall = posterior.document_frequency / posterior.n_fitted
    result: list[_NameParts] = []
    best_words: list[list[int]] = []
    for k, size in enumerate(sizes):
        listed = content.words[k] >= 0
        items, shares = content.words[k][listed], content.n_groups[k][listed] / size
        distinctive, characteristic, usual = _ranked(items, shares, overall[items])
        values, is_mixed = contexts[k][:N_PHRASES], False
        best, gain = distinctive[:1], gains[k]
        if best:
            gain = naming_gain(shares, overall[items])[items == best[0]].item()
        last = last_phrase(shared[k], gain, bool(values and not best), best in best_words)
        best_words += [best] if best else []
        if last:
            characteristic = characteristic or items[:1].tolist()
        elif not distinctive and not values:
            fallback = words.texts(usual[:1]) or usual_values[k][:1]
            is_mixed = not fallback
            last = fallback[0] if fallback and characteristic else ""
            if not last:
                distinctive = usual or items[:1].tolist()  # the first is the word of most groups
                values = [] if usual else fallback
        alternatives = content.alternatives[k][content.alternatives[k] >= 0]
        if is_mixed and len(alternatives):
            result.append(_NameParts([" or ".join(words.texts(alternatives))]))
            continue
        chosen = list(dict.fromkeys([*distinctive[:1], *characteristic, *distinctive]))
        texts = words.texts(chosen[:_N_CANDIDATES])
        named = [text for text in _one_per_stem(texts) if text != last]
        # A value after the words may tell clusters with the same words apart.
        phrases = [*named, *values] if distinctive else [*values, *named]
        result.append(_NameParts(phrases, last, is_mixed))
    return result


def _ranked(items: Int32s, share: Floats, overall: Floats) -> tuple[list[int], ...]:
    """Return majority items with a lift, characteristic items, and majority items without a lift.

    ``share`` and ``overall`` are the shares of the cluster's groups and of all groups that have an
    item. Majority items are in most of the cluster's groups; an item has a lift if it is clearly
    more common in the cluster than overall. A majority item comes first in the second list, too.
    """
    lifted, characteristic = (share >= lift * overall for lift in (MIN_NAMING_LIFT, MIN_LIFT))
    order = np.lexsort((items, -naming_gain(share, overall)))
    common = share >= MIN_SHARE
    selected = (common & lifted, characteristic & (share >= _MIN_SECOND_SHARE), common & ~lifted)
    first, second, third = ([int(items[i]) for i in order if mask[i]] for mask in selected)
    return first, list(dict.fromkeys([*first[:1], *second])), third


def _one_per_stem(words: list[str]) -> list[str]:
    """Return the words without those that share a stem with an earlier one."""
    chosen: list[str] = []
    for word in words:
        if not any(_same_stem(word, other) for other in chosen):
            chosen.append(word)
    return chosen


def _same_stem(one: str, other: str) -> bool:
    """Return whether two words share a stem: unit and units, policy and policies."""
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return common >= max(3, shorter - 2)


def _first_bag(posterior: Posterior) -> str | None:
    return next((name for name, column in posterior.contexts.items() if column.kind == "bag"), None)


def _items_of_topics(column: Column, table: Floats, weight: Int64s) -> list[list[str]]:
    """Return the items that distinguish each topic from the mean of all topics.

    ``table`` has a row per item and a column per topic.
    """
    overall = np.maximum(table @ (weight / max(weight.sum(), 1)), 1e-300)
    gain = table * np.log(np.maximum(table, 1e-300) / overall[:, None])
    best = np.argsort(-gain, axis=0, kind="stable")[:N_PHRASES].T
    names: Any = column.categories
    lifted = table > MIN_NAMING_LIFT * overall[:, None]
    return [
        [shorten(names[v], MAX_VALUE_LENGTH) for v in row if v < len(names) and lifted[v, m]]
        for m, row in enumerate(best)
    ]


def _context_phrases(posterior: Posterior, kind: PhraseKind) -> list[list[str]]:
    """Return phrases about the contexts of each cluster.

    If there are bags, only the first context with a phrase is used, bags first.
    """
    columns = sorted(posterior.contexts.items(), key=lambda pair: pair[1].kind != "bag")
    has_bag = bool(columns) and columns[0][1].kind == "bag"
    result: list[list[str]] = [[] for _ in range(posterior.n_clusters)]
    for name, column in columns:
        for phrases, added in zip(result, _phrases(posterior, name, column, kind), strict=True):
            if not (has_bag and phrases):
                phrases += added
    return result


def _phrases(posterior: Posterior, name: str, column: Column, kind: PhraseKind) -> list[list[str]]:
    """Return phrases about a context for each cluster: values, "low ...", "high ..." or none."""
    short = shorten(name, MAX_VALUE_LENGTH)
    if column.kind == "bag":
        return _common_values(posterior, column, short, kind)
    if column.kind in ("category", "boolean"):
        values = [f"not {short}", short]
        if column.categories is not None:
            values = [shorten(value, MAX_VALUE_LENGTH) for value in column.categories]
            values = [
                f"{short}: {value}" if kind == "usual" or _NEEDS_CONTEXT.fullmatch(value) else value
                for value in values
            ]
        counts = np.zeros((posterior.n_clusters, len(values)))
        codes = np.asarray(column.observations(), np.int64)
        np.add.at(counts, (posterior.labels[column.observed], codes), 1.0)
        min_lift = 0.0 if kind == "usual" else MIN_NAMING_LIFT
        return _majority_values(counts, np.bincount(posterior.labels), values, min_lift)
    if kind != "any" or column.kind == "vector":
        return [[] for _ in range(posterior.n_clusters)]
    return [[phrase] if phrase else [] for phrase in _number_phrases(posterior, column, short)]


def _common_values(
    posterior: Posterior, column: Column, name: str, kind: PhraseKind
) -> list[list[str]]:
    """Return the items of a bag that characterise each cluster, those of most groups first."""
    items, n_groups = common_items(posterior.labels, column.values, _N_CANDIDATES)
    n_with_item = np.bincount(column.values.indices, minlength=column.values.shape[1])
    overall = n_with_item / max(posterior.n_groups, 1)
    names: Any = column.categories
    label = f"{name}: " if kind == "usual" else ""
    result = []
    for row, number, size in zip(items, n_groups, np.bincount(posterior.labels), strict=True):
        listed = row >= 0
        share = number[listed] / size
        distinctive, characteristic, usual = _ranked(row[listed], share, overall[row[listed]])
        chosen = {"any": characteristic, "distinctive": distinctive, "usual": usual}[kind]
        result.append([label + shorten(names[v], MAX_VALUE_LENGTH) for v in chosen[:N_PHRASES]])
    return result


def _majority_values(
    counts: Floats, sizes: Int64s, values: list[str], min_lift: float
) -> list[list[str]]:
    """Return the value of most groups of each cluster, if ``min_lift`` times as common as overall.

    ``counts`` are the numbers of groups with each value, (n_clusters, n_values).
    """
    if not values:
        return [[] for _ in sizes]
    overall, shares = counts.sum(axis=0) / sizes.sum(), counts / sizes[:, None]
    best = shares.argmax(axis=1)
    return [
        [values[v]] if row[v] >= max(MIN_SHARE, min_lift * overall[v]) else []
        for v, row in zip(best, shares, strict=True)
    ]


def _number_phrases(posterior: Posterior, column: Column, name: str) -> list[str]:
    """Return "low ..." or "high ..." for each cluster, "... near 5" if it is narrow, or nothing."""
    ends = ("early", "late") if column.kind == "date" else ("low", "high")
    values = np.asarray(column.observations(), np.float64)
    labels, n_clusters = posterior.labels[column.observed], posterior.n_clusters
    sd = float(values.std()) if len(values) else 0.0
    if not sd > 0:
        return [""] * n_clusters
    counts = np.maximum(np.bincount(labels, minlength=n_clusters), 1)
    means = np.bincount(labels, values - values.mean(), n_clusters) / counts
    residual = np.square(values - values.mean() - means[labels])
    narrow = np.bincount(labels, residual, n_clusters) < counts * np.square(_MAX_NARROW_SD * sd)
    phrases = []
    for mean, is_narrow in zip(means, narrow, strict=True):
        if abs(mean) >= _MIN_DEVIATION * sd:
            phrases.append(f"{ends[int(mean > 0)]} {name}")
        else:
            centre = column.display(np.array([values.mean() + mean]))[0]
            text = str(centre)[:10] if column.kind == "date" else f"{float(centre):.3g}"
            phrases.append(f"{name} near {text}" if is_narrow else "")
    return phrases


def _mean_phrases(
    posterior: Posterior, mixture: Floats, dimensions: Sequence[str] | None
) -> list[list[str]]:
    """Return the dimensions in which the mean of a mixture of topics is clearly low or high.

    ``mixture`` has a row of topic shares per name. Deviations from the overall mean are in standard
    deviations of the topics' means.
    """
    means, weights = posterior.components, token_share_of_topic(posterior)
    names = [*(dimensions or ())]
    names += [f"dimension {d}" for d in range(len(names), means.shape[1])]
    overall = weights @ means
    sd = np.sqrt(weights @ np.square(means - overall))
    deviation = (mixture @ means - overall) / np.where(sd > 0, sd, np.inf)
    return [
        [
            f"{'high' if row[d] > 0 else 'low'} {shorten(names[d], MAX_VALUE_LENGTH)}"
            for d in np.argsort(-np.abs(row), kind="stable")[:N_PHRASES]
            if abs(row[d]) >= _MIN_DEVIATION
        ]
        for row in deviation
    ]

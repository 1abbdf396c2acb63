"""Similarity of the topics of two draws, by their most probable words."""

from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit


class MainWords(NamedTuple):
    """The most probable words of each topic."""

    start: np.ndarray  # int64 (n_topics + 1,): words of topic m are start[m]:start[m + 1]
    word: np.ndarray  # int32 (n,)
    root: np.ndarray  # float32 (n,): √p(w)


@njit(cache=True, nogil=True, error_model="numpy")
def find_main_words(indptr, indices, data, scale, minimum):
    """Return the words whose count times the topic's ``scale`` is at least ``minimum``.

    Counts are a CSR matrix (n_topics, n_words); ``scale`` is float (n_topics,).
    """
    n_topics, n = indptr.size - 1, 0
    start = np.zeros(n_topics + 1, np.int64)
    for m in range(n_topics):
        for entry in range(indptr[m], indptr[m + 1]):
            n += data[entry] * scale[m] >= minimum
        start[m + 1] = n
    word, root, n = np.empty(n, np.int32), np.empty(n, np.float32), 0
    for m in range(n_topics):
        for entry in range(indptr[m], indptr[m + 1]):
            if data[entry] * scale[m] >= minimum:
                word[n], root[n] = indices[entry], np.sqrt(data[entry] * scale[m])
                n += 1
    return MainWords(start, word, root)


@njit(cache=True, nogil=True, error_model="numpy")
def most_similar(main, others, n_words):
    """Return for each topic the most similar one of the others, and Σ_w √(p(w) q(w)).

    Their shapes are (n_topics,), int64 and float32.
    """
    n_topics, n_others = main.start.size - 1, others.start.size - 1
    first = np.zeros(n_words + 1, np.int64)  # the words of the others, by word
    for word in others.word:
        first[word + 1] += 1
    for w in range(n_words):
        first[w + 1] += first[w]
    topic, root = np.empty(others.word.size, np.int64), np.empty(others.word.size, np.float32)
    position = first[:-1].copy()
    for m in range(n_others):
        for entry in range(others.start[m], others.start[m + 1]):
            at = position[others.word[entry]]
            topic[at], root[at] = m, others.root[entry]
            position[others.word[entry]] += 1
    best, similarity = np.zeros(n_topics, np.int64), np.zeros(n_topics, np.float32)
    total = np.empty(n_others, np.float32)
    for m in range(n_topics):
        total[:] = 0.0
        for entry in range(main.start[m], main.start[m + 1]):
            for at in range(first[main.word[entry]], first[main.word[entry] + 1]):
                total[topic[at]] += main.root[entry] * root[at]
        if n_others:
            best[m] = total.argmax()
            similarity[m] = total[best[m]]
    return best, similarity

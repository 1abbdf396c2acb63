"""The paper's simulation study: groups of pixels drawn from letters, with a Gaussian context.

In `letters` the groups of a cluster share the letters of one word of the phrase
"INTERNATIONAL CONFERENCE MACHINE LEARNING". Its four clusters are identifiable, its thirteen
letters are not: given the clusters, the data determine only four distributions of pixels
(docs/errata.md, erratum 13). `identifiable_letters` has many clusters of few letters, which
identify the letters as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from mcsquared.arrays import Bools, Floats, Int32s, Rng
from mcsquared.checks import check_integer
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families.dirichlet import count_matrix, draw_categories

HEIGHT, WIDTH = 7, 5

PHRASE = ("INTERNATIONAL", "CONFERENCE", "MACHINE", "LEARNING")

# No letter's black pixels are a subset of another's: if F were contained in E, every E could also
# be explained by F and a remainder, and the two would not be identifiable.
_DRAWINGS = """
 I      N      T      E      R      A      O
.###.  #...#  #####  #####  ####.  ..#..  .###.
..#..  #...#  ..#..  #....  #...#  .#.#.  #...#
..#..  ##..#  ..#..  #....  #...#  #...#  #...#
..#..  #.#.#  ..#..  ###..  ####.  #...#  #...#
..#..  #..##  ..#..  #....  #.#..  #####  #...#
..#..  #...#  ..#..  #....  #..#.  #...#  #...#
.###.  #...#  ..#..  #####  #...#  #...#  .###.

 L      C      F      M      H      G
#....  .####  #####  #...#  #...#  .###.
#....  #...#  #....  ##.##  #...#  #...#
#....  #....  #....  #.#.#  #...#  #....
#....  #....  ####.  #.#.#  #####  #..##
#....  #....  #....  #...#  #...#  #...#
#...#  #....  #....  #...#  #...#  #...#
#####  .####  #....  #...#  #...#  .###.
"""


def _read_drawings(text: str) -> dict[str, Bools]:
    """Return one (7, 5) image per letter of the drawings above."""
    images = {}
    for block in text.strip("\n").split("\n\n"):
        names, *rows = (line.split() for line in block.split("\n"))
        for letter, image in zip(names, zip(*rows, strict=True), strict=True):
            images[letter] = np.array([list(row) for row in image]) == "#"
            images[letter].flags.writeable = False
    return images


_IMAGES = _read_drawings(_DRAWINGS)

# In order of first appearance in the phrase, so that topic 0 is "I".
ALPHABET = "".join(dict.fromkeys("".join(PHRASE)))


def bitmap(letter: str) -> Bools:
    """Return the image of a letter of `ALPHABET`: bool (7, 5), true for black pixels."""
    return _IMAGES[letter]


def pixel_names() -> list[str]:
    """Return the vocabulary of the images: "r0c0" to "r6c4", row by row."""
    return [f"r{row}c{column}" for row in range(HEIGHT) for column in range(WIDTH)]


@dataclass(frozen=True)
class Letters:
    """A corpus of letters with its true clusters, topics and parameters.

    Attributes
    ----------
    corpus : Corpus
        Pixels as words ("r0c0", ...) and one context, "position".
    cluster_of_group : int32 (n_groups,)
    topic_of_token : int32 (n_tokens,)
        In the order of the corpus: sorted by group, then by word.
    word_given_topic : float64 (n_topics, 35)
        Each letter is uniform over its black pixels.
    topic_given_cluster : float64 (n_clusters, n_topics)
        Uniform over the letters of the cluster.
    names : tuple of str
        The letter of each topic.
    context_means, context_sds : float64 (n_clusters,)

    Examples
    --------
    >>> truth = mc2.datasets.letters(n_groups_per_cluster=10)
    >>> truth.corpus.n_groups, len(truth.names), truth.topic_given_cluster.shape
    (40, 13, (4, 13))
    """

    corpus: Corpus
    cluster_of_group: Int32s
    topic_of_token: Int32s
    word_given_topic: Floats
    topic_given_cluster: Floats
    names: tuple[str, ...]
    context_means: Floats
    context_sds: Floats


def letters(
    n_groups_per_cluster: int = 100,
    n_words_per_group: int = 50,
    context_means: ArrayLike | None = None,
    context_sds: ArrayLike = (0.3, 0.5, 0.4, 0.6),
    words: Sequence[str] = PHRASE,
    random_state: int | np.random.Generator | None = 0,
) -> Letters:
    """Draw the paper's synthetic corpus of pixels: one cluster per word of the phrase.

    Parameters
    ----------
    n_groups_per_cluster, n_words_per_group : int
        In the paper, 100 groups of 50 words (pixels).
    context_means : array-like of shape (n_clusters,), optional
        Means of the Gaussian contexts, by default 2, 4, 6, 8, ...
    context_sds : array-like of shape (n_clusters,) or float
        Standard deviations of the contexts, repeated if there are more clusters than values. The
        paper states only that they differ.
    words : sequence of str
        Words of the phrase, one per cluster, whose letters are the topics of the cluster; repeated
        letters count once, as in the paper.
    random_state : int, Generator or None

    Examples
    --------
    >>> mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    Corpus(40 groups, 2000 tokens, 35 words, contexts: position)
    """
    sizes, contexts = (n_groups_per_cluster, n_words_per_group), (context_means, context_sds)
    letters_of_cluster = [tuple(dict.fromkeys(word)) for word in words]
    return _draw(letters_of_cluster, sizes, contexts, np.random.default_rng(random_state))


def identifiable_letters(
    n_clusters: int = 40,
    letters_per_cluster: int = 3,
    n_groups_per_cluster: int = 25,
    n_words_per_group: int = 50,
    context_means: ArrayLike | None = None,
    context_sds: ArrayLike = 0.5,
    random_state: int | np.random.Generator | None = 0,
) -> Letters:
    """Draw a corpus whose letters are identifiable: many clusters of few letters.

    No two clusters have the same letters, and the letters are used as evenly as possible. With 25
    groups per cluster a chain that starts at the truth stays near the true letters (cosine 0.99
    after 600 sweeps); with 10 it does not (0.79). The other parameters are those of `letters`.

    Examples
    --------
    >>> truth = mc2.datasets.identifiable_letters(n_clusters=6, n_groups_per_cluster=5)
    >>> (truth.topic_given_cluster > 0).sum(axis=1)
    array([3, 3, 3, 3, 3, 3])
    """
    n_clusters = check_integer("n_clusters", n_clusters, 1)
    size = check_integer("letters_per_cluster", letters_per_cluster, 1)
    possible = comb(len(ALPHABET), size)
    if n_clusters > possible:
        raise InputError(
            f"n_clusters must be <= {possible}, the number of sets of {size} letters, "
            f"got {n_clusters}"
        )
    rng = np.random.default_rng(random_state)
    sizes, contexts = (n_groups_per_cluster, n_words_per_group), (context_means, context_sds)
    return _draw(_balanced_sets(n_clusters, size, rng), sizes, contexts, rng)


def _balanced_sets(n_sets: int, size: int, rng: Rng) -> list[tuple[str, ...]]:
    """Draw distinct sets of letters, preferring the letters used least so far."""
    unused = np.array(list(combinations(range(len(ALPHABET)), size)))
    uses = np.zeros(len(ALPHABET), dtype=np.int64)
    chosen = []
    for _ in range(n_sets):
        cost = uses[unused].sum(axis=1)
        row = rng.choice(np.flatnonzero(cost == cost.min()))
        uses[unused[row]] += 1
        chosen.append(tuple(ALPHABET[letter] for letter in unused[row]))
        unused = np.delete(unused, row, axis=0)
    return chosen


def _draw(
    letters_of_cluster: list[tuple[str, ...]],
    sizes: tuple[int, int],
    contexts: tuple[ArrayLike | None, ArrayLike],
    rng: Rng,
) -> Letters:
    n_clusters = len(letters_of_cluster)
    if n_clusters == 0 or not all(letters_of_cluster):
        raise InputError(f"words must be non-empty strings, got {letters_of_cluster!r:.60}")
    per_cluster = check_integer("n_groups_per_cluster", sizes[0], 1)
    per_group = check_integer("n_words_per_group", sizes[1], 0)
    means, sds = _context_parameters(*contexts, n_clusters)

    names = tuple(dict.fromkeys(letter for chosen in letters_of_cluster for letter in chosen))
    for letter in names:
        if letter not in _IMAGES:
            raise InputError(f"words must consist of the letters {ALPHABET}, got {letter!r}")
    pixels = np.array([bitmap(letter).ravel() for letter in names], dtype=np.float64)
    word_given_topic = pixels / pixels.sum(axis=1, keepdims=True)
    uses = np.array([[letter in chosen for letter in names] for chosen in letters_of_cluster])
    topic_given_cluster = uses / uses.sum(axis=1, keepdims=True)

    cluster = np.repeat(np.arange(n_clusters, dtype=np.int32), per_cluster)
    group = np.repeat(np.arange(cluster.size), per_group)
    topic = draw_categories(topic_given_cluster, cluster[group], rng)
    word = draw_categories(word_given_topic, topic, rng)
    order = np.lexsort((word, group))
    counts = count_matrix(group, word, (cluster.size, pixels.shape[1]))
    position = rng.normal(means[cluster], sds[cluster])
    return Letters(
        corpus=Corpus(counts, contexts={"position": position}, vocabulary=pixel_names()),
        cluster_of_group=cluster,
        topic_of_token=topic[order],
        word_given_topic=word_given_topic,
        topic_given_cluster=topic_given_cluster,
        names=names,
        context_means=means,
        context_sds=sds,
    )


def _context_parameters(
    context_means: ArrayLike | None, context_sds: ArrayLike, n_clusters: int
) -> tuple[Floats, Floats]:
    if context_means is None:
        context_means = 2.0 * np.arange(1, n_clusters + 1)
    means = np.asarray(context_means, dtype=np.float64)
    if means.shape != (n_clusters,) or not np.isfinite(means).all():
        raise InputError(
            f"context_means must be {n_clusters} finite numbers, one per cluster, "
            f"got {context_means!r:.60}"
        )
    sds = np.asarray(context_sds, dtype=np.float64)
    if sds.ndim > 1 or sds.size == 0 or not (np.isfinite(sds).all() and (sds >= 0).all()):
        raise InputError(f"context_sds must be finite numbers >= 0, got {context_sds!r:.60}")
    return means, np.resize(sds, n_clusters)

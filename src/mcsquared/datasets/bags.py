"""Bags of categories as context columns: from lists of names, or from a matrix of counts."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus import Column

__all__ = ["bag_of_lists", "merged_bag", "title_words"]


def merged_bag(
    name: str, matrix: sparse.csr_matrix, given: Sequence[str] | NDArray[np.object_]
) -> Column:
    """Return a bag column from counts (n_groups, n_names); columns of one name are added up.

    Files hold some categories twice: "sky" of labelme8, say.
    """
    code = {category: i for i, category in enumerate(dict.fromkeys(given))}
    place = sparse.csr_matrix(
        (
            np.ones(len(given), dtype=np.int32),
            (np.arange(len(given)), [code[category] for category in given]),
        ),
        shape=(len(given), len(code)),
    )
    return Column(name, "bag", matrix @ place, np.array(list(code), dtype=object))


def bag_of_lists(name: str, bags: Iterable[list[str]]) -> Column:
    """Return a bag column from lists of strings; categories are sorted."""
    lists = list(bags)
    categories = sorted({item for items in lists for item in items})
    code = {category: i for i, category in enumerate(categories)}
    owner = np.repeat(np.arange(len(lists)), [len(items) for items in lists])
    item = np.array([code[item] for items in lists for item in items], dtype=np.int64)
    ones = np.ones(item.size, dtype=np.int32)
    matrix = sparse.csr_matrix((ones, (owner, item)), shape=(len(lists), len(categories)))
    return Column(name, "bag", matrix, np.array(categories, dtype=object))


def title_words(title: str) -> list[str]:
    """Return the words of a title in lower case, of three letters and more, but for stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = re.findall(r"[a-z]{3,}", title.lower())
    return [word for word in words if word not in ENGLISH_STOP_WORDS]

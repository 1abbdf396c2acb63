"""Bags of categories as context columns: from lists of names, or from a matrix of counts."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus import Column


def merged_bag(
    name: str, matrix: sparse.csr_matrix, names: Sequence[str] | NDArray[np.object_]
) -> Column:
    """Return a bag column from counts (n_groups, n_names); columns of the same name are added up.

    Some files list a category twice, such as "sky" in labelme8.
    """
    code = {category: i for i, category in enumerate(dict.fromkeys(names))}
    columns = [code[category] for category in names]
    ones = np.ones(len(names), dtype=np.int32)
    merge = sparse.csr_matrix(
        (ones, (np.arange(len(names)), columns)), shape=(len(names), len(code))
    )
    return Column(name, "bag", matrix @ merge, np.array(list(code), dtype=object))


def bag_of_lists(name: str, lists: Iterable[list[str]]) -> Column:
    """Return a bag column from lists of strings; categories are sorted."""
    bags = list(lists)
    categories, code = np.unique([item for bag in bags for item in bag], return_inverse=True)
    group = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    ones = np.ones(code.size, dtype=np.int32)
    matrix = sparse.csr_matrix((ones, (group, code)), shape=(len(bags), len(categories)))
    return Column(name, "bag", matrix, np.array([str(c) for c in categories], dtype=object))


def title_words(title: str) -> list[str]:
    """Return the lower-case words of a title, of three letters or more, without stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = re.findall(r"[a-z]{3,}", title.lower())
    return [word for word in words if word not in ENGLISH_STOP_WORDS]

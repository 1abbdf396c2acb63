"""Readers of data sets in the layouts of their publishers: text files and MATLAB files.

`readers` has the data sets of the experiments, each prepared as one file. This module reads the
original downloads: the topic modelling toolbox (NIPS), the bags of words of the UCI repository,
the titles of PNAS, and NUS-WIDE. The default folder is that of the environment variable
MCSQUARED_DATA. docs/data.md describes each file.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.arrays import Bools, Int64s, Integers, Objects
from mcsquared.corpus import Column, Corpus
from mcsquared.datasets.files import (
    Folder,
    find_file,
    merged_bag,
    read_counts,
    read_integers,
    read_lines,
    title_words,
)
from mcsquared.datasets.readers import DataSet
from mcsquared.errors import InputError
from mcsquared.families.dirichlet import count_matrix

TOOLBOX = "NIPS volumes 0-12 of the topic modelling toolbox of Steyvers and Griffiths"
UCI = "a bag-of-words data set of the UCI machine learning repository"
PNAS = "the titles of PNAS, 1915-2005, as collected by S. Roweis (pnas_all.tar)"
NUS_WIDE = "NUS-WIDE (Chua et al. 2009), its low-level features, tags, ground truth and image list"


def load_nips_toolbox(folder: Folder = None) -> DataSet:
    """Read NIPS from the MATLAB files of the topic modelling toolbox.

    ``bagofwords_nips.mat`` and ``words_nips.mat`` are required. ``titles_nips.mat`` adds group
    names and the context ``title`` (words of the title), ``authors_nips.mat`` and
    ``authordoc_nips.mat`` add the context ``authors``. The toolbox has no years.

    Examples
    --------
    >>> from scipy.io import savemat
    >>> savemat("bagofwords_nips.mat", {"WS": [[1.0, 2, 2]], "DS": [[1.0, 1, 2]]})
    >>> savemat("words_nips.mat", {"WO": np.array([["net"], ["map"]], dtype=object)})
    >>> mc2.datasets.load_nips_toolbox(".").corpus
    Corpus(2 groups, 3 tokens, 2 words, contexts: none)
    """
    path = find_file(folder, "bagofwords_nips.mat", TOOLBOX, "WS and DS, word and group of a token")
    word, group = (_read_indices(path, name) for name in ("WS", "DS"))
    if len(word) != len(group):
        raise InputError(
            f"WS and DS of {path.name} must have the same length, got {len(word)} and {len(group)}"
        )
    vocabulary = _cells(find_file(folder, "words_nips.mat", TOOLBOX, "WO, the words"), "WO")
    titles = _optional_cells(path.with_name("titles_nips.mat"), "titles")
    n_groups = int(group.max(initial=-1)) + 1 if titles is None else len(titles)
    _check_range(path, "WS", word, len(vocabulary))
    _check_range(path, "DS", group, n_groups)
    contexts: dict[str, Any] = {}
    names = _optional_cells(path.with_name("authors_nips.mat"), "AN")
    if names is not None:
        authors = find_file(folder, "authordoc_nips.mat", TOOLBOX, "AD, authors × groups")
        contexts["authors"] = merged_bag(
            "authors", _author_matrix(authors, len(names), n_groups), names
        )
    if titles is not None:
        contexts["title"] = [title_words(title) for title in titles]
    counts = count_matrix(group, word, (n_groups, len(vocabulary)))
    return DataSet(Corpus(counts, contexts, group_names=titles, vocabulary=vocabulary))


def load_uci(name: str, folder: Folder = None) -> DataSet:
    r"""Read a bag-of-words data set of the UCI repository: nips, kos, enron, nytimes or pubmed.

    Parameters
    ----------
    name : str
        The files are ``docword.<name>.txt``, plain or with ``.gz``, and ``vocab.<name>.txt``.

    Examples
    --------
    >>> with open("docword.tiny.txt", "w") as docword, open("vocab.tiny.txt", "w") as vocab:
    ...     _ = docword.write("2\n2\n2\n1 1 5\n2 2 3\n"), vocab.write("ant\nbee\n")
    >>> mc2.datasets.load_uci("tiny", ".").corpus
    Corpus(2 groups, 8 tokens, 2 words, contexts: none)
    """
    layout = "the numbers of documents, words and entries, then lines of document, word and count"
    find = partial(find_file, folder, source=UCI, gzipped=True)
    path = find(f"docword.{name}.txt", layout=layout)
    vocabulary = read_lines(find(f"vocab.{name}.txt", layout="one line per word"))
    entries = read_integers(path, 3, n_header=3)
    n_groups, n_words, n_entries = _header(path)
    if len(entries) != n_entries:
        raise InputError(f"file {path.name} must have {n_entries} entries, got {len(entries)}")
    if len(vocabulary) != n_words:
        raise InputError(f"vocab.{name}.txt must have {n_words} words, got {len(vocabulary)}")
    group, word, count = entries.T
    _check_range(path, "document number", group - 1, n_groups)
    _check_range(path, "word number", word - 1, n_words)
    if len(count) and count.min() < 1:
        raise InputError(f"counts in {path.name} must be >= 1, got {count.min()}")
    counts = sparse.coo_matrix((count, (group - 1, word - 1)), shape=(n_groups, n_words)).tocsr()
    return DataSet(Corpus(counts, vocabulary=vocabulary))


def load_pnas(folder: Folder = None) -> DataSet:
    r"""Read the titles of PNAS with their years: ``alltitles``, ``alltimes``, ``allstopwords``.

    Words are separated by white space and lower-cased; stop words are dropped if the file of stop
    words exists.

    Examples
    --------
    >>> with open("alltitles", "w") as titles, open("alltimes", "w") as times:
    ...     _ = titles.write("On the genetics of mice\nA virus\n"), times.write("2 1915\n")
    >>> mc2.datasets.load_pnas(".").corpus.contexts["year"].values
    array([1915., 1915.])
    """
    find = partial(find_file, folder, source=PNAS, gzipped=True)
    path = find("alltitles", layout="one title per line")
    layout = "lines of a number of titles and their time, in the order of alltitles"
    times_path = find("alltimes", layout=layout)
    titles = read_lines(path)
    stop_path = path.with_name("allstopwords")
    stop = set(" ".join(read_lines(stop_path)).lower().split()) if stop_path.is_file() else set()
    try:
        times = np.array(
            [[float(number) for number in line.split()] for line in read_lines(times_path)]
        )
        number, year = times.T
        year = np.repeat(year, number.astype(np.int64))
    except ValueError as error:
        raise InputError(f"file {times_path.name} must contain {layout}") from error
    if len(year) != len(titles):
        raise InputError(
            f"file {times_path.name} must have times for {len(titles)} titles, got {len(year)}"
        )
    tokens = [[word for word in title.lower().split() if word not in stop] for title in titles]
    contexts = {"year": Column("year", "number", year)}
    return DataSet(Corpus.from_tokens(tokens, contexts, group_names=titles))


def load_nus_wide(folder: Folder = None, concepts: Sequence[str] | None = None) -> DataSet:
    r"""Read NUS-WIDE: 500 visual words as content, the 1,000 most frequent tags as context.

    Files are expected at their paths in the original archives: ``Low_Level_Features/BoW_int.dat``,
    ``NUS_WID_Tags/AllTags1k.txt`` and ``TagList1k.txt``,
    ``Groundtruth/AllLabels/Labels_<concept>.txt``, ``ConceptsList/Concepts81.txt`` (unless
    ``concepts`` are given) and ``ImageList/Imagelist.txt``.

    Parameters
    ----------
    concepts : list of str, optional
        Read only the images with exactly one of these concepts, as in clustering experiments. By
        default, all images.

    Returns
    -------
    DataSet
        Labels: ``label``, the concepts of the image joined by "|"; and ``split``, "train" or
        "test", if ``ImageList/TrainImagelist.txt`` exists.

    Examples
    --------
    >>> from pathlib import Path
    >>> files = {"ImageList/Imagelist.txt": "cat1.jpg\ncow1.jpg\n"}
    >>> files |= {"Groundtruth/AllLabels/Labels_cat.txt": "1\n0\n"}
    >>> files |= {"Groundtruth/AllLabels/Labels_cow.txt": "0\n1\n"}
    >>> files |= {"Low_Level_Features/BoW_int.dat": "2 0\n1 3\n"}
    >>> files |= {"NUS_WID_Tags/TagList1k.txt": "fur\n", "NUS_WID_Tags/AllTags1k.txt": "1\n0\n"}
    >>> for name, text in files.items():
    ...     Path(name).parent.mkdir(parents=True, exist_ok=True)
    ...     _ = Path(name).write_text(text)
    >>> mc2.datasets.load_nus_wide(".", concepts=["cat", "cow"]).labels["label"].tolist()
    ['cat', 'cow']
    """
    find = partial(find_file, folder, source=NUS_WIDE, gzipped=True)
    names = _image_names(find("ImageList/Imagelist.txt", layout="one path per line"))
    if concepts is None:
        chosen = read_lines(find("ConceptsList/Concepts81.txt", layout="names of concepts"))
    else:
        chosen = list(concepts)
    layout = "0 or 1 on each line, in the order of Imagelist.txt"
    has_concept = np.column_stack(
        [
            _read_flags(find(f"Groundtruth/AllLabels/Labels_{name}.txt", layout=layout), len(names))
            for name in chosen
        ]
    )
    keep = np.ones(len(names), bool) if concepts is None else has_concept.sum(axis=1) == 1
    if not keep.any():
        raise InputError(f"no image has exactly one of the concepts {concepts!r}")
    path = find("Low_Level_Features/BoW_int.dat", layout="500 counts on each line")
    counts = read_counts(path, None, keep)
    tags = read_lines(find("NUS_WID_Tags/TagList1k.txt", layout="one tag per line"))
    path = find("NUS_WID_Tags/AllTags1k.txt", layout="0 or 1 for each tag, one line per image")
    contexts = {"tags": merged_bag("tags", read_counts(path, len(tags), keep), tags)}
    words = [f"visual{number}" for number in range(counts.shape[1])]
    corpus = Corpus(counts, contexts, group_names=names[keep], vocabulary=words)
    concept_names = np.array(chosen, dtype=object)
    joined = ["|".join(concept_names[row]) for row in has_concept[keep]]
    labels = {"label": np.array(joined, dtype=object)}
    train = path.parents[1] / "ImageList" / "TrainImagelist.txt"
    if train.is_file():
        in_train = np.isin(names[keep].astype(str), _image_names(train).astype(str))
        labels["split"] = np.where(in_train, "train", "test").astype(object)
    return DataSet(corpus, labels)


def _image_names(path: Path) -> Objects:
    """Return the paths of images with forward slashes."""
    return np.array([line.replace("\\", "/") for line in read_lines(path)], dtype=object)


def _read_flags(path: Path, length: int) -> Bools:
    flags = read_integers(path, 1)[:, 0]
    if len(flags) != length or not np.isin(flags, (0, 1)).all():
        raise InputError(
            f"file {path.name} must have 0 or 1 on each of {length} lines, got {len(flags)} lines "
            f"with values {np.unique(flags)[:5].tolist()}"
        )
    return flags == 1


def _header(path: Path) -> list[int]:
    """Return the numbers of documents, words and entries at the start of a docword file."""
    try:
        first = [int(line) for line in read_lines(path, limit=3)]
    except ValueError:
        first = []
    if len(first) != 3 or min(first) < 0:
        raise InputError(f"file {path.name} must start with three lines: documents, words, entries")
    return first


def _check_range(path: Path, name: str, numbers: Integers, size: int) -> None:
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
        outside = numbers.min() if numbers.min() < 0 else numbers.max()
        raise InputError(f"{name} in {path.name} must be in 1..{size}, got {outside + 1}")


def _matlab(path: Path, name: str) -> Any:
    from scipy.io import loadmat

    try:
        return loadmat(path, variable_names=[name])[name]
    except KeyError:
        raise InputError(f"file {path.name} has no variable {name!r}") from None
    except Exception as error:  # loadmat documents no exceptions for corrupt files
        raise InputError(f"file {path.name} cannot be read as a MATLAB file: {error}") from error


def _read_indices(path: Path, name: str) -> Int64s:
    """Return a vector of one-based indices as zero-based indices."""
    values = np.asarray(_matlab(path, name)).ravel()
    if values.dtype.kind not in "iuf" or not np.array_equal(values, np.floor(values)):
        raise InputError(f"variable {name!r} of {path.name} must contain integers")
    return values.astype(np.int64) - 1


def _cells(path: Path, name: str) -> list[str]:
    """Return a cell array of strings."""
    cells = np.asarray(_matlab(path, name), dtype=object).ravel()
    return ["".join(map(str, np.ravel(cell))).strip() for cell in cells]


def _optional_cells(path: Path, name: str) -> list[str] | None:
    return _cells(path, name) if path.is_file() else None


def _author_matrix(path: Path, n_authors: int, n_groups: int) -> sparse.csr_matrix:
    pairs = sparse.csr_matrix(_matlab(path, "AD"))
    if pairs.shape != (n_authors, n_groups):
        raise InputError(
            f"variable 'AD' of {path.name} must have shape {(n_authors, n_groups)}, "
            f"got {pairs.shape}"
        )
    return sparse.csr_matrix(pairs.T != 0, dtype=np.int32)

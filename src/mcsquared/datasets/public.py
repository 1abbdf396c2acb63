"""Readers of sets in the layouts that their makers published: text files and MATLAB files.

`readers` has the sets of the experiments, each in one file of ours. Here are the layouts that
others download: the topic modelling toolbox (NIPS), the bags of words of the UCI repository, the
titles of PNAS, and NUS-WIDE. docs/data.md says what each file holds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus import Column, Corpus
from mcsquared.datasets.bags import bag_of_lists, merged_bag, title_words
from mcsquared.datasets.files import Folder, find_file
from mcsquared.datasets.readers import DataSet
from mcsquared.datasets.text_files import count_rows, find_text, read_integers, read_lines
from mcsquared.datasets.tokens import count_matrix
from mcsquared.errors import InputError

__all__ = ["load_nips_toolbox", "load_nus_wide", "load_pnas", "load_uci"]

TOOLBOX = "NIPS volumes 0-12 of the topic modelling toolbox of Steyvers and Griffiths"
UCI = "a bag of words of the UCI machine learning repository"
PNAS = "the titles of PNAS, 1915-2005, as collected by S. Roweis (pnas_all.tar)"
NUS_WIDE = "NUS-WIDE (Chua et al. 2009), its low-level features, tags, ground truth and image list"


def load_nips_toolbox(folder: Folder = None) -> DataSet:
    """Read NIPS from the MATLAB files of the topic modelling toolbox.

    ``bagofwords_nips.mat`` and ``words_nips.mat`` must be there. With ``titles_nips.mat`` the
    groups have names and the context ``title`` (words of the title), with ``authors_nips.mat`` and
    ``authordoc_nips.mat`` the context ``authors``. The toolbox has no years.

    Examples
    --------
    >>> from scipy.io import savemat
    >>> savemat("bagofwords_nips.mat", {"WS": [[1.0, 2, 2]], "DS": [[1.0, 1, 2]]})
    >>> savemat("words_nips.mat", {"WO": np.array([["net"], ["map"]], dtype=object)})
    >>> mc2.datasets.load_nips_toolbox(".").corpus
    Corpus(2 groups, 3 tokens, 2 words, contexts: none)
    """
    path = find_file(folder, "bagofwords_nips.mat", TOOLBOX, "WS and DS, word and group of a token")
    word, group = (_ones_based(path, name) for name in ("WS", "DS"))
    if len(word) != len(group):
        raise InputError(f"file {path.name} has {len(word)} words WS, but {len(group)} groups DS")
    vocabulary = _cells(find_file(folder, "words_nips.mat", TOOLBOX, "WO, the words"), "WO")
    titles = _optional_cells(path.with_name("titles_nips.mat"), "titles")
    n_groups = int(group.max(initial=-1)) + 1 if titles is None else len(titles)
    _check_range(path, "WS", word, len(vocabulary))
    _check_range(path, "DS", group, n_groups)
    contexts: dict[str, Column] = {}
    names = _optional_cells(path.with_name("authors_nips.mat"), "AN")
    if names is not None:
        authors = find_file(folder, "authordoc_nips.mat", TOOLBOX, "AD, authors × groups")
        contexts["authors"] = merged_bag(
            "authors", _author_matrix(authors, len(names), n_groups), names
        )
    if titles is not None:
        contexts["title"] = bag_of_lists("title", map(title_words, titles))
    counts = count_matrix(group, word, (n_groups, len(vocabulary)))
    return DataSet(Corpus(counts, contexts, group_names=titles, vocabulary=vocabulary))


def load_uci(name: str, folder: Folder = None) -> DataSet:
    r"""Read a bag of words of the UCI repository: nips, kos, enron, nytimes or pubmed.

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
    path = find_text(folder, f"docword.{name}.txt", UCI, layout)
    vocabulary = read_lines(find_text(folder, f"vocab.{name}.txt", UCI, "a line for each word"))
    entries = read_integers(path, 3, n_header=3)
    n_groups, n_words, n_entries = _header(path)
    if len(entries) != n_entries:
        raise InputError(
            f"file {path.name} has {len(entries)} entries, but says that there are {n_entries}"
        )
    if len(vocabulary) != n_words:
        raise InputError(f"vocab.{name}.txt has {len(vocabulary)} words, but {n_words} are wanted")
    group, word, count = entries.T
    _check_range(path, "the number of a document", group - 1, n_groups)
    _check_range(path, "the number of a word", word - 1, n_words)
    if len(count) and count.min() < 1:
        raise InputError(f"file {path.name} holds a count of {count.min()}, but 1 is the least")
    counts = sparse.coo_matrix((count, (group - 1, word - 1)), shape=(n_groups, n_words)).tocsr()
    return DataSet(Corpus(counts, vocabulary=vocabulary))


def load_pnas(folder: Folder = None) -> DataSet:
    r"""Read the titles of PNAS with their years: ``alltitles``, ``alltimes``, ``allstopwords``.

    Words are what stands between spaces, in lower case, but for stop words. Where the file of stop
    words is absent, none are left out.

    Examples
    --------
    >>> with open("alltitles", "w") as titles, open("alltimes", "w") as times:
    ...     _ = titles.write("On the genetics of mice\nA virus\n"), times.write("2 1915\n")
    >>> mc2.datasets.load_pnas(".").corpus.contexts["year"].values
    array([1915., 1915.])
    """
    path = find_text(folder, "alltitles", PNAS, "a title on each line")
    layout = "lines of a number of titles and the time of them, in the order of alltitles"
    times_path = find_text(folder, "alltimes", PNAS, layout)
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
        raise InputError(f"file {times_path.name} is not as it should be: {layout}") from error
    if len(year) != len(titles):
        raise InputError(
            f"file {times_path.name} has times of {len(year)} titles, but there are {len(titles)}"
        )
    tokens = [[word for word in title.lower().split() if word not in stop] for title in titles]
    contexts = {"year": Column("year", "number", year)}
    return DataSet(Corpus.from_tokens(tokens, contexts, group_names=titles))


def load_nus_wide(folder: Folder = None, concepts: Sequence[str] | None = None) -> DataSet:
    r"""Read NUS-WIDE: 500 visual words as content, the 1,000 most frequent tags as context.

    Files are looked for where the makers' archives put them: ``Low_Level_Features/BoW_int.dat``,
    ``NUS_WID_Tags/AllTags1k.txt`` and ``TagList1k.txt``, ``Groundtruth/AllLabels/Labels_<concept>
    .txt``, ``ConceptsList/Concepts81.txt`` and ``ImageList/Imagelist.txt``.

    Parameters
    ----------
    concepts : list of str, optional
        Only images of exactly one of these concepts are read, as in experiments on clusters. None:
        all images.

    Returns
    -------
    DataSet
        Labels: ``label``, the concept, or all of an image's concepts joined by "|"; and ``split``,
        "train" or "test", where ``ImageList/TrainImagelist.txt`` is there.

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
    names = _names(read_lines(_nus_wide(folder, "ImageList/Imagelist.txt", "a path on each line")))
    layout = "0 or 1 on each line, in the order of Imagelist.txt"
    wanted = concepts
    if wanted is None:
        wanted = read_lines(_nus_wide(folder, "ConceptsList/Concepts81.txt", "names of concepts"))
    held = np.column_stack(
        [
            _truth(_nus_wide(folder, f"Groundtruth/AllLabels/Labels_{name}.txt", layout), names)
            for name in wanted
        ]
    )
    keep = np.ones(len(names), bool) if concepts is None else held.sum(axis=1) == 1
    if not keep.any():
        raise InputError(f"concepts is {concepts!r}, but no image has exactly one of them")
    counts = count_rows(
        _nus_wide(folder, "Low_Level_Features/BoW_int.dat", "500 counts on each line"), None, keep
    )
    tags = read_lines(_nus_wide(folder, "NUS_WID_Tags/TagList1k.txt", "a tag on each line"))
    rows = _nus_wide(folder, "NUS_WID_Tags/AllTags1k.txt", "0 or 1 for each tag, a line an image")
    contexts = {"tags": merged_bag("tags", count_rows(rows, len(tags), keep), tags)}
    words = [f"visual{number}" for number in range(counts.shape[1])]
    corpus = Corpus(counts, contexts, group_names=names[keep], vocabulary=words)
    found = np.array(wanted, dtype=object)
    labels = {"label": np.array(["|".join(found[row]) for row in held[keep]], dtype=object)}
    train = Path(rows).parents[1] / "ImageList" / "TrainImagelist.txt"
    if train.is_file():
        in_train = np.isin(names[keep].astype(str), _names(read_lines(train)).astype(str))
        labels["split"] = np.where(in_train, "train", "test").astype(object)
    return DataSet(corpus, labels)


def _nus_wide(folder: Folder, name: str, layout: str) -> Path:
    return find_text(folder, name, NUS_WIDE, layout)


def _names(lines: list[str]) -> NDArray[np.object_]:
    """Return the paths of images, written with slashes."""
    return np.array([line.replace("\\", "/") for line in lines], dtype=object)


def _truth(path: Path, names: NDArray[np.object_]) -> NDArray[np.bool_]:
    flags = read_integers(path, 1)[:, 0]
    if len(flags) != len(names) or not np.isin(flags, (0, 1)).all():
        raise InputError(
            f"file {path.name} has {len(flags)} lines, but 0 or 1 for each of {len(names)} images "
            "is wanted"
        )
    return flags == 1


def _header(path: Path) -> list[int]:
    """Return the three numbers that a docword file begins with."""
    try:
        first = [int(line) for line in read_lines(path, most=3)]
    except ValueError:
        first = []
    if len(first) != 3 or min(first) < 0:
        raise InputError(
            f"file {path.name} does not begin with three lines: documents, words, entries"
        )
    return first


def _check_range(path: Path, name: str, numbers: NDArray[np.integer], size: int) -> None:
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
        outside = numbers.min() if numbers.min() < 0 else numbers.max()
        raise InputError(
            f"file {path.name} holds {outside + 1} as {name}, but 1 to {size} are wanted"
        )


def _matlab(path: Path, name: str) -> Any:
    """Return one variable of a MATLAB file."""
    from scipy.io import loadmat

    try:
        return loadmat(path, variable_names=[name])[name]
    except KeyError:
        raise InputError(f"file {path.name} holds no variable {name!r}") from None
    except Exception as error:  # a broken file fails in as many ways as the format has parts
        raise InputError(f"file {path.name} cannot be read as a MATLAB file: {error}") from error


def _ones_based(path: Path, name: str) -> NDArray[np.int64]:
    """Return a vector of numbers that count from 1, as numbers that count from 0."""
    values = np.asarray(_matlab(path, name)).ravel()
    if values.dtype.kind not in "iuf" or not np.array_equal(values, np.floor(values)):
        raise InputError(f"variable {name!r} of {path.name} does not hold whole numbers")
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
            f"variable 'AD' of {path.name} has shape {pairs.shape}, but {(n_authors, n_groups)} "
            "is wanted"
        )
    return sparse.csr_matrix(pairs.T != 0, dtype=np.int32)

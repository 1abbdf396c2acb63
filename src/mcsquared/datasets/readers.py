"""Readers of the public data sets that the experiments use; the user brings the files.

Every reader takes a folder, or the one that the environment variable MCSQUARED_DATA names, and
returns a `DataSet`: a corpus with its contexts, and apart from it the labels that no model may
see. docs/data.md says where each set comes from and how its file is laid out.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus import Column, Corpus
from mcsquared.datasets.bags import bag_of_lists, merged_bag, title_words
from mcsquared.datasets.files import Archive, Folder, find_file
from mcsquared.errors import InputError

__all__ = [
    "DataSet",
    "load_labelme",
    "load_nips",
    "load_poliblog",
    "load_reuters",
    "load_schools",
    "load_un",
    "load_wiki",
]

_COUNTS = "a CSR matrix of word counts (data, indices, indptr, shape), vocab"


@dataclass(frozen=True)
class DataSet:
    """A corpus, and what is known about its groups but is no context.

    Attributes
    ----------
    corpus : Corpus
    labels : dict from name to array of length n_groups
        Classes to compare clusters with, splits and the like.

    Examples
    --------
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee"], ["car"]])
    >>> mc2.datasets.DataSet(corpus, {"label": np.array(["insects", "traffic"])}).corpus.n_groups
    2
    """

    corpus: Corpus
    labels: dict[str, NDArray] = field(default_factory=dict)


def load_nips(folder: Folder = None) -> DataSet:
    """Read the paper's NIPS set: 1,740 papers with year, authors and the words of the title.

    Labels: ``split`` (the split of the 2016 follow-up paper where it could be recovered) and
    ``year_how`` (how the year of each paper was found).

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2])
    >>> words |= dict(vocab=["net", "map"])
    >>> authors = dict(data=[1, 1], indices=[0, 0], indptr=[0, 1, 2], shape=[2, 1])
    >>> words |= {f"authors_{name}": array for name, array in authors.items()}
    >>> words |= dict(author_names=["Ng A"], year=[1987, 1999], title=["Spiking Nets", "Maps"])
    >>> np.savez("nips12.npz", **words, year_how=["exact", ""], uai16_split=["train", "test"])
    >>> mc2.datasets.load_nips(".").corpus
    Corpus(2 groups, 3 tokens, 2 words, contexts: year, authors, title)
    """
    archive, counts, vocabulary = _open(
        folder,
        "nips12.npz",
        "NIPS volumes 0-12 as in the topic modelling toolbox of Steyvers and Griffiths",
        f"{_COUNTS}, year, title, author_names and a CSR matrix of authors (authors_data, ...)",
    )
    n_groups = counts.shape[0]
    titles = archive.strings("title", n_groups)
    contexts = {
        "year": _numbers("year", archive, n_groups),
        "authors": _bag("authors", archive, "authors_", "author_names", n_groups),
        "title": bag_of_lists("title", map(title_words, titles)),
    }
    corpus = Corpus(counts, contexts, group_names=titles, vocabulary=vocabulary)
    return DataSet(
        corpus,
        {
            "split": archive.strings("uai16_split", n_groups),
            "year_how": archive.strings("year_how", n_groups),
        },
    )


def load_labelme(folder: Folder = None) -> DataSet:
    """Read 2,688 outdoor images: visual words, tags as context, and eight scenes as ``label``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2])
    >>> words |= dict(vocab=["v0", "v1"])
    >>> words |= {f"tags_{name}": words[name] for name in ("data", "indices", "indptr", "shape")}
    >>> words |= dict(tag_names=["sky", "sea"], filename=["a.jpg", "b.jpg"])
    >>> np.savez("labelme8.npz", **words, label=[0, 1], class_names=["coast", "street"])
    >>> mc2.datasets.load_labelme(".").labels["label"].tolist()
    ['coast', 'street']
    """
    archive, counts, vocabulary = _open(
        folder,
        "labelme8.npz",
        "the eight scene categories of Oliva and Torralba with their LabelMe annotations",
        f"{_COUNTS}, label, class_names, filename, tag_names and a CSR matrix of tags",
    )
    n_groups = counts.shape[0]
    contexts = {"tags": _bag("tags", archive, "tags_", "tag_names", n_groups)}
    names = archive.strings("filename", n_groups)
    corpus = Corpus(counts, contexts, group_names=names, vocabulary=vocabulary)
    return DataSet(corpus, {"label": _classes(archive, n_groups)})


def load_wiki(folder: Folder = None) -> DataSet:
    """Read 2,866 Wikipedia images: SIFT words, ten numbers of the article's text as context.

    Labels: ``label`` (ten categories) and ``split``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2])
    >>> words |= dict(vocab=["v0", "v1"])
    >>> words |= dict(topic10=np.full((2, 10), 0.1), label=[0, 1], class_names=["art", "war"])
    >>> np.savez("wiki_crossmodal.npz", **words, split=["train", "test"], image_id=["a", "b"])
    >>> mc2.datasets.load_wiki(".").corpus.contexts["article"].kind
    'vector'
    """
    archive, counts, vocabulary = _open(
        folder,
        "wiki_crossmodal.npz",
        "the Wikipedia cross-modal retrieval set of Rasiwasia et al. (2010)",
        f"{_COUNTS}, topic10, label, class_names, split and image_id",
    )
    n_groups = counts.shape[0]
    values = archive.array("topic10", n_groups).astype(np.float64)
    contexts = {"article": Column("article", "vector", values)}
    names = archive.strings("image_id", n_groups)
    corpus = Corpus(counts, contexts, group_names=names, vocabulary=vocabulary)
    labels = {"label": _classes(archive, n_groups), "split": archive.strings("split", n_groups)}
    return DataSet(corpus, labels)


def load_reuters(folder: Folder = None) -> DataSet:
    """Read 19,043 newswires with day and places; a few of them have no words.

    Labels: ``topics`` (one string, joined by "|", empty where there is none) and ``split``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2])
    >>> words |= dict(vocab=["oil", "tax"])
    >>> words |= dict(day=[1, 2], places=["usa|uk", "japan"], topics=["crude", ""])
    >>> words |= dict(title=["A", "B"], lewissplit=["TRAIN", "TEST"], newid=["1", "2"])
    >>> np.savez("reuters21578.npz", **words)
    >>> mc2.datasets.load_reuters(".").corpus.contexts["places"].categories.tolist()
    ['japan', 'uk', 'usa']
    """
    archive, counts, vocabulary = _open(
        folder,
        "reuters21578.npz",
        "Reuters-21578, distribution 1.0 (D. D. Lewis)",
        f"{_COUNTS}, day, places and topics (joined by |), title, lewissplit and newid",
    )
    n_groups = counts.shape[0]
    contexts = {
        "day": _numbers("day", archive, n_groups),
        "places": bag_of_lists("places", _split(archive.strings("places", n_groups))),
    }
    names = archive.strings("newid", n_groups)
    corpus = Corpus(counts, contexts, group_names=names, vocabulary=vocabulary)
    labels = {
        "topics": archive.strings("topics", n_groups),
        "title": archive.strings("title", n_groups),
        "split": archive.strings("lewissplit", n_groups),
    }
    return DataSet(corpus, labels)


def load_poliblog(folder: Folder = None) -> DataSet:
    """Read 5,000 political blog posts of 2008 with their day; labels ``rating`` and ``blog``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2])
    >>> words |= dict(vocab=["tax", "war"])
    >>> words |= dict(day=[1, 366], rating=["Liberal", "Conservative"], blog=["tp", "ha"])
    >>> np.savez("poliblog5k.npz", **words)
    >>> mc2.datasets.load_poliblog(".").corpus
    Corpus(2 groups, 3 tokens, 2 words, contexts: day)
    """
    archive, counts, vocabulary = _open(
        folder,
        "poliblog5k.npz",
        "poliblog5k of the R package stm",
        f"{_COUNTS}, day, rating and blog",
    )
    n_groups = counts.shape[0]
    contexts = {"day": _numbers("day", archive, n_groups)}
    labels = {name: archive.strings(name, n_groups) for name in ("rating", "blog")}
    return DataSet(Corpus(counts, contexts, vocabulary=vocabulary), labels)


def load_un(folder: Folder = None) -> DataSet:
    """Read 10,952 speeches of the UN General Debate with year and country.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2])
    >>> words |= dict(vocab=["war", "aid"])
    >>> np.savez("ungdc.npz", **words, year=[1946, 2024], country=["NOR", "FJI"], session=[1, 79])
    >>> mc2.datasets.load_un(".").corpus.group_names.tolist()
    ['NOR 1946', 'FJI 2024']
    """
    archive, counts, vocabulary = _open(
        folder,
        "ungdc.npz",
        "the UN General Debate corpus (Jankin, Baturo and Dasandi)",
        f"{_COUNTS}, year, country and session",
    )
    n_groups = counts.shape[0]
    countries, codes = np.unique(archive.array("country", n_groups), return_inverse=True)
    names = np.array([str(country) for country in countries], dtype=object)
    year = _numbers("year", archive, n_groups)
    contexts = {
        "year": year,
        "country": Column("country", "category", codes.reshape(-1).astype(np.int32), names),
    }
    speech = [f"{names[c]} {y:.0f}" for c, y in zip(codes.reshape(-1), year.values, strict=True)]
    corpus = Corpus(counts, contexts, group_names=speech, vocabulary=vocabulary)
    return DataSet(corpus, {"session": archive.array("session", n_groups)})


def load_schools(folder: Folder = None) -> DataSet:
    r"""Read 65 schools of pupils: two scores a pupil as content, gender and intake as contexts.

    Content: ``normexam`` and ``standLRT`` of each pupil. Contexts: ``schgend`` (mixed, boys,
    girls) and ``schavg``, the average intake score.

    Examples
    --------
    >>> with open("mlmRev_Exam.csv", "w") as file:
    ...     _ = file.write("school,normexam,standLRT,schgend,schavg\n1,0.3,0.6,mixed,0.2\n")
    >>> mc2.datasets.load_schools(".").corpus
    Corpus(1 groups, 1 vectors of width 2, contexts: gender, intake)
    """
    name = "mlmRev_Exam.csv"
    layout = "a header and one line per pupil: school, normexam, standLRT, schgend, schavg, ..."
    path = find_file(folder, name, "Exam of the R package mlmRev (inner London schools)", layout)
    try:
        with path.open(encoding="utf-8", newline="") as opened:
            pupils = list(csv.DictReader(opened))
        schools = sorted({pupil["school"] for pupil in pupils}, key=lambda school: int(school))
        members = [[pupil for pupil in pupils if pupil["school"] == s] for s in schools]
        scores = [
            np.array([[float(p["normexam"]), float(p["standLRT"])] for p in school])
            for school in members
        ]
        genders = [school[0]["schgend"] for school in members]
        intake = np.array([float(school[0]["schavg"]) for school in members])
    except (KeyError, TypeError, ValueError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"file {name} is not as it should be: {layout}; found {error}") from error
    if not schools:
        raise InputError(f"file {name} has no pupils; it holds {layout}")
    contexts = {
        "gender": np.array(genders, dtype=object),
        "intake": Column("intake", "number", intake),
    }
    return DataSet(Corpus(scores, contexts, group_names=schools))


def _open(
    folder: Folder, name: str, source: str, layout: str
) -> tuple[Archive, sparse.csr_matrix, list[str]]:
    archive = Archive(find_file(folder, name, source, layout))
    counts = archive.matrix()
    return archive, counts, list(archive.strings("vocab", counts.shape[1]))


def _numbers(name: str, archive: Archive, n_groups: int) -> Column:
    return Column(name, "number", archive.array(name, n_groups).astype(np.float64))


def _bag(name: str, archive: Archive, prefix: str, names: str, n_groups: int) -> Column:
    matrix = archive.matrix(prefix)
    if matrix.shape[0] != n_groups:
        raise InputError(
            f"the matrix {prefix}data of {archive.path.name} has {matrix.shape[0]} rows,"
            f" but {n_groups} are wanted"
        )
    given = archive.strings(names, matrix.shape[1])
    return merged_bag(name, matrix, given)


def _split(values: Iterable[str]) -> Iterable[list[str]]:
    return (re.split(r"[|\s]+", value.strip("| ")) if value else [] for value in values)


def _classes(archive: Archive, n_groups: int) -> NDArray[np.object_]:
    label = archive.array("label", n_groups)
    names = archive.strings("class_names")
    if label.dtype.kind not in "iu" or (
        label.size and not 0 <= label.min() <= label.max() < names.size
    ):
        raise InputError(f"array 'label' of {archive.path.name} points outside class_names")
    return names[label]

"""Readers of the public data sets that the experiments use; the user provides the files.

Every reader takes a folder, by default that of the environment variable MCSQUARED_DATA, and
returns a `DataSet`: a corpus with its contexts, and labels that are not given to the model.
docs/data.md lists the source of each data set and the layout of its file.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mcsquared.corpus import Column, Corpus
from mcsquared.datasets.files import Archive, Folder, find_file, title_words
from mcsquared.datasets.un_regions import UN_REGIONS
from mcsquared.errors import InputError


@dataclass(frozen=True)
class DataSet:
    """A corpus, and labels of its groups that are not given to the model.

    Attributes
    ----------
    corpus : Corpus
    labels : dict from name to array of length n_groups
        Classes to compare clusters with, train/test splits and similar data.

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

    Labels: ``split`` (the split of the 2016 follow-up paper, as far as it could be recovered) and
    ``year_how`` (how the year of each paper was determined).

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], vocab=["a", "b"])
    >>> authors = dict(data=[1, 1], indices=[0, 0], indptr=[0, 1, 2], shape=[2, 1])
    >>> words |= {f"authors_{name}": array for name, array in authors.items()}
    >>> words |= dict(author_names=["Ng A"], year=[1987, 1999], title=["Spiking Nets", "Maps"])
    >>> np.savez("nips12.npz", **words, year_how=["exact", ""], uai16_split=["train", "test"])
    >>> mc2.datasets.load_nips(".").corpus
    Corpus(2 groups, 3 tokens, 2 words, contexts: year, authors, title)
    """
    archive = Archive(
        folder,
        "nips12.npz",
        "NIPS volumes 0-12 as in the topic modelling toolbox of Steyvers and Griffiths",
        "year, title, author_names and a CSR matrix of authors (authors_data, ...)",
    )
    titles = archive.strings("title")
    contexts = {
        "year": archive.numbers("year"),
        "authors": archive.bag("authors", "author_names"),
        "title": [title_words(title) for title in titles],
    }
    labels = {"split": archive.strings("uai16_split"), "year_how": archive.strings("year_how")}
    return DataSet(archive.corpus(contexts, titles), labels)


def load_labelme(folder: Folder = None) -> DataSet:
    """Read 2,688 outdoor images: visual words, tags as context, and eight scenes as ``label``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], vocab=["a", "b"])
    >>> words |= {f"tags_{name}": words[name] for name in ("data", "indices", "indptr", "shape")}
    >>> words |= dict(tag_names=["sky", "sea"], filename=["a.jpg", "b.jpg"])
    >>> np.savez("labelme8.npz", **words, label=[0, 1], class_names=["coast", "street"])
    >>> mc2.datasets.load_labelme(".").labels["label"].tolist()
    ['coast', 'street']
    """
    archive = Archive(
        folder,
        "labelme8.npz",
        "the eight scene categories of Oliva and Torralba with their LabelMe annotations",
        "label, class_names, filename, tag_names and a CSR matrix of tags",
    )
    contexts = {"tags": archive.bag("tags", "tag_names")}
    corpus = archive.corpus(contexts, archive.strings("filename"))
    return DataSet(corpus, {"label": archive.classes()})


def load_wiki(folder: Folder = None) -> DataSet:
    """Read 2,866 Wikipedia images: SIFT words, and ten topic proportions of the article as context.

    Labels: ``label`` (ten categories) and ``split``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], vocab=["a", "b"])
    >>> words |= dict(topic10=np.full((2, 10), 0.1), label=[0, 1], class_names=["art", "war"])
    >>> np.savez("wiki_crossmodal.npz", **words, split=["train", "test"], image_id=["a", "b"])
    >>> mc2.datasets.load_wiki(".").corpus.contexts["article"].kind
    'vector'
    """
    archive = Archive(
        folder,
        "wiki_crossmodal.npz",
        "the Wikipedia cross-modal retrieval set of Rasiwasia et al. (2010)",
        "topic10, label, class_names, split and image_id",
    )
    values = archive.array("topic10").astype(np.float64)
    contexts = {"article": Column("article", "vector", values)}
    corpus = archive.corpus(contexts, archive.strings("image_id"))
    return DataSet(corpus, {"label": archive.classes(), "split": archive.strings("split")})


def load_reuters(folder: Folder = None) -> DataSet:
    """Read 19,043 newswires with day and places; a few of them have no words.

    Labels: ``topics`` (joined by "|", empty if there are none), ``title`` and ``split``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], vocab=["a", "b"])
    >>> words |= dict(day=[1, 2], places=["usa|uk", "japan"], topics=["crude", ""])
    >>> words |= dict(title=["A", "B"], lewissplit=["TRAIN", "TEST"], newid=["1", "2"])
    >>> np.savez("reuters21578.npz", **words)
    >>> mc2.datasets.load_reuters(".").corpus.contexts["places"].categories.tolist()
    ['japan', 'uk', 'usa']
    """
    archive = Archive(
        folder,
        "reuters21578.npz",
        "Reuters-21578, distribution 1.0 (D. D. Lewis)",
        "day, places and topics (joined by |), title, lewissplit and newid",
    )
    contexts = {"day": archive.numbers("day"), "places": _split(archive.strings("places"))}
    labels = {
        "topics": archive.strings("topics"),
        "title": archive.strings("title"),
        "split": archive.strings("lewissplit"),
    }
    return DataSet(archive.corpus(contexts, archive.strings("newid")), labels)


def load_poliblog(folder: Folder = None) -> DataSet:
    """Read 5,000 political blog posts of 2008 with their day; labels ``rating`` and ``blog``.

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], vocab=["a", "b"])
    >>> words |= dict(day=[1, 366], rating=["Liberal", "Conservative"], blog=["tp", "ha"])
    >>> np.savez("poliblog5k.npz", **words)
    >>> mc2.datasets.load_poliblog(".").corpus
    Corpus(2 groups, 3 tokens, 2 words, contexts: day)
    """
    archive = Archive(
        folder, "poliblog5k.npz", "poliblog5k of the R package stm", "day, rating and blog"
    )
    labels = {name: archive.strings(name) for name in ("rating", "blog")}
    return DataSet(archive.corpus({"day": archive.numbers("day")}), labels)


def load_un(folder: Folder = None) -> DataSet:
    """Read 10,952 speeches of the UN General Debate with year and country.

    Labels: ``session``, and ``region``, the regional group of the country (None for observers).

    Examples
    --------
    >>> words = dict(data=[2, 1], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], vocab=["a", "b"])
    >>> np.savez("ungdc.npz", **words, year=[1946, 2024], country=["NOR", "FJI"], session=[1, 79])
    >>> mc2.datasets.load_un(".").corpus.group_names.tolist()
    ['NOR 1946', 'FJI 2024']
    """
    archive = Archive(
        folder,
        "ungdc.npz",
        "the UN General Debate corpus (Jankin, Baturo and Dasandi)",
        "year, country and session",
    )
    country, year = archive.strings("country"), archive.numbers("year")
    names, codes = np.unique(country, return_inverse=True)
    contexts = {
        "year": year,
        "country": Column("country", "category", codes.astype(np.int32), names),
    }
    speeches = [f"{name} {y:.0f}" for name, y in zip(country, year.values, strict=True)]
    region = np.array([UN_REGIONS.get(str(name)) for name in country], dtype=object)
    labels = {"session": archive.array("session"), "region": region}
    return DataSet(archive.corpus(contexts, speeches), labels)


def load_schools(folder: Folder = None) -> DataSet:
    r"""Read the pupils of 65 schools: two scores per pupil as content, two contexts per school.

    Content: ``normexam`` and ``standLRT`` of each pupil. Contexts: ``gender`` (the file's
    ``schgend``: mixed, boys, girls) and ``intake`` (``schavg``, the average intake score).

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
        schools = sorted({pupil["school"] for pupil in pupils}, key=int)
        pupils_of_school = [[pupil for pupil in pupils if pupil["school"] == s] for s in schools]
        scores = [
            np.array([[float(p["normexam"]), float(p["standLRT"])] for p in school])
            for school in pupils_of_school
        ]
        genders = [school[0]["schgend"] for school in pupils_of_school]
        intake = np.array([float(school[0]["schavg"]) for school in pupils_of_school])
    except (KeyError, TypeError, ValueError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"file {name} must contain {layout}; got {error}") from error
    if not schools:
        raise InputError(f"file {name} must contain {layout}; got no pupils")
    contexts = {
        "gender": np.array(genders, dtype=object),
        "intake": Column("intake", "number", intake),
    }
    return DataSet(Corpus(scores, contexts, group_names=schools))


def _split(values: Iterable[str]) -> list[list[str]]:
    return [re.split(r"[|\s]+", value.strip("| ")) if value else [] for value in values]

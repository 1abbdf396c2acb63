"""Corpora: groups of tokens with contexts, in memory or on disk, and how they are read."""

from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.content import Vectors, Words
from mcsquared.corpus.conversion import as_corpus
from mcsquared.corpus.corpus import Corpus
from mcsquared.corpus.disk import DiskCorpus, ParquetFolder
from mcsquared.corpus.levels import Level

__all__ = [
    "Column",
    "Corpus",
    "DiskCorpus",
    "Level",
    "ParquetFolder",
    "Vectors",
    "Words",
    "as_corpus",
]

"""Corpora: groups of tokens with contexts, in memory or on disk, and how they are read."""

from mcsquared.corpus.accept import as_corpus
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.content import Vectors, Words
from mcsquared.corpus.corpus import Corpus
from mcsquared.corpus.disk import DiskCorpus, ParquetFolder

__all__ = ["Column", "Corpus", "DiskCorpus", "ParquetFolder", "Vectors", "Words", "as_corpus"]

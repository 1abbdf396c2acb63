"""Corpora larger than memory: folders of Parquet files, written once to flat files on disk."""

from mcsquared.corpus.stored.folder import ParquetFolder
from mcsquared.corpus.stored.store import DiskCorpus

__all__ = ["DiskCorpus", "ParquetFolder"]

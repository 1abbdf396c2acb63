"""A folder of Parquet files as a corpus larger than memory."""

import copy
import errno
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

from mcsquared.corpus.disk import DiskCorpus
from mcsquared.errors import InputError, import_optional, input_errors

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_MIN_MEMORY = 10**6


class ParquetFolder:
    """A folder of Parquet files, one row per group, as a corpus larger than memory.

    The files are read in the order of their names; hidden ones and those that begin with "_" are
    skipped. `MC2.fit` opens the folder itself.

    Parameters
    ----------
    path : path
        The folder, or a single Parquet file.
    text : str or pair of str, optional
        The column of the content: texts, lists of words, lists of codes (integers: indices
        into ``vocabulary``, or else names themselves), maps from word to count; or a pair, a column
        of lists of words and one of lists of their counts. By default the first of these that
        exists: "tokens", "text", "words" with "counts", "counts".
    contexts : "all", None, str or list of str
        Columns that are contexts. "all": every remaining column.
    bags : dict from column to separator, optional
        Contexts whose strings hold several categories; see `Corpus.from_frame`.
    group_names : str, optional
        The column of the names of groups; by default they are "0", "1", ...
    vocabulary : sequence of str, optional
        Count these words alone.
    memory : str or number
        Limit for the whole process during a fit, such as "2GB" or "500 MiB". The distinct words and
        the distinct categories of the contexts must fit.
    scratch : path, optional
        Where `open` creates its folder, which takes about 12 bytes for each distinct word of a
        group (twice that while it is written) and 8 for each number. By default the system's
        folder for temporary files, which must not be in memory.
    **vectorizer
        Arguments of ``CountVectorizer`` for texts; see `Corpus.from_texts`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> Path("papers").mkdir()
    >>> for year in (1990, 2000):
    ...     papers = pd.DataFrame({"tokens": [["ant", "bee"], ["car"]], "year": [year, None]})
    ...     papers.to_parquet(f"papers/{year}.parquet")
    >>> folder = mc2.ParquetFolder("papers", memory="500MB")
    >>> folder
    ParquetFolder('papers')
    >>> mapping = folder.check()
    >>> with folder.open() as disk:
    ...     print(disk)
    DiskCorpus(4 groups, 6 tokens, 3 words, contexts: year)
    """

    def __init__(
        self,
        path: str | PathLike[str],
        text: str | Sequence[str] | None = None,
        contexts: Sequence[str] | str | None = "all",
        *,
        bags: Mapping[str, str | None] | Sequence[str] | None = None,
        group_names: str | None = None,
        vocabulary: Sequence[str] | None = None,
        memory: str | float = "2GB",
        scratch: str | PathLike[str] | None = None,
        **vectorizer: Any,
    ) -> None:
        with input_errors(f"path must be the name of a folder, got {path!r:.60}", TypeError):
            self.path = Path(path)
        self.text, self.contexts, self.bags = text, contexts, bags
        self.group_names, self.vocabulary = group_names, vocabulary
        self.words_of_codes = vocabulary  # also after `counted_in`
        self.memory = bytes_of(memory)
        self.scratch = scratch
        self.vectorizer = vectorizer

    def __repr__(self) -> str:
        return f"ParquetFolder({str(self.path)!r})"

    def open(self) -> DiskCorpus:
        """Read the files once into a scratch folder and return the corpus.

        The scratch folder is removed if that fails.

        Examples
        --------
        >>> disk = folder.open()
        >>> disk[2:4].group_names.tolist()
        ['2', '3']
        >>> disk.close()
        """
        mapping = self.check()
        from mcsquared.corpus.sources.parquet import read_folder

        scratch = self._scratch()
        try:
            return read_folder(self, mapping, scratch)
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            if isinstance(error, OSError):
                raise _disk_error(scratch, error) from error
            raise

    def check(self) -> Any:
        """Check the files and their columns; only their metadata are read."""
        import_optional("pyarrow", "pyarrow", "reading Parquet files")
        from mcsquared.corpus.sources.parquet import map_columns

        return map_columns(self)

    def counted_in(self, vocabulary: Sequence[str]) -> "ParquetFolder":
        """Return the same folder with another vocabulary: that of a model.

        Examples
        --------
        >>> with folder.counted_in(["bee"]).open() as disk:
        ...     disk.n_tokens
        2
        """
        other = copy.copy(self)
        other.vocabulary = vocabulary
        return other

    def _scratch(self) -> Path:
        where = tempfile.gettempdir() if self.scratch is None else self.scratch
        message = f"scratch must be a writable folder, got {str(where)!r}"
        with input_errors(message, OSError, TypeError, ValueError):
            folder = tempfile.mkdtemp(prefix="mcsquared-", dir=self.scratch)
        return Path(folder)


def _disk_error(scratch: Path, error: OSError) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"scratch: the disk of {scratch.parent} is full")
    return InputError(f"scratch: {scratch} cannot be written to ({error})")


def bytes_of(memory: Any) -> int:
    """Return a number of bytes: "2GB", "500 MiB", 2e9."""
    found = None
    if isinstance(memory, str):
        match = _SIZE.fullmatch(memory)
        unit = match[2].lower() if match else ""
        if match and unit in _UNITS:
            with suppress(ValueError):  # such as 1.2.3
                found = float(match[1]) * _UNITS[unit]
    elif isinstance(memory, Real):
        found = float(memory)
    if found is None or not _MIN_MEMORY <= found < 2**62:
        raise InputError(f"memory must be a size of at least 1 MB, such as '2GB', got {memory!r}")
    return int(found)

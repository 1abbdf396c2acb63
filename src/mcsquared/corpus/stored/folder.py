"""A folder of Parquet files as a corpus larger than memory."""

import copy
import errno
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

from mcsquared.corpus.stored.store import DiskCorpus
from mcsquared.errors import InputError

__all__ = ["ParquetFolder", "bytes_of"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_LEAST_MEMORY = 10**6


class ParquetFolder:
    """A folder of Parquet files, one row per group, as a corpus larger than memory.

    The files are read in the order of their names; hidden ones and those that begin with "_" are
    left out. `MC2.fit` opens the folder by itself.

    Parameters
    ----------
    path : path
        The folder, or a single Parquet file.
    text : str or pair of str, optional
        The column of the content: texts, lists of words, lists of codes (whole numbers: indices
        into ``vocabulary``, or else names themselves), maps from word to count; or a pair, a column
        of lists of words and one of lists of their counts. By default the first of these that there
        is: "tokens", "text", "words" with "counts", "counts".
    contexts : "all", None, str or list of str
        Columns that are contexts. "all": every column that has no other part.
    bags : dict from column to separator, optional
        Contexts whose strings hold several categories; see `Corpus.from_frame`.
    group_names : str, optional
        The column of the names of groups; by default they are "0", "1", ...
    vocabulary : sequence of str, optional
        Count these words alone.
    memory : str or number
        Limit of memory for the whole program during a fit, such as "2GB" or "500 MiB". Reading
        takes a small part of it. The different words, and the different categories of the contexts,
        must fit.
    scratch : path, optional
        Where `open` makes its folder, which takes about 12 bytes for each different word of a
        group (twice that while it is written) and 8 for each number. By default the system's
        folder for temporary files, which must not be one in memory.
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
    >>> with folder.open() as stored:
    ...     print(stored)
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
        try:
            self.path = Path(path)
        except TypeError as error:
            raise InputError(f"path is {path!r:.60}, but the name of a folder is wanted") from error
        self.text, self.contexts, self.bags = text, contexts, bags
        self.group_names, self.vocabulary = group_names, vocabulary
        self._words_of_codes = vocabulary  # whatever words are counted later
        self.memory = bytes_of(memory)
        self.scratch = scratch
        self.vectorizer = vectorizer

    def __repr__(self) -> str:
        return f"ParquetFolder({str(self.path)!r})"

    def open(self) -> DiskCorpus:
        """Read the files once, write what they hold to a scratch folder, and return it.

        Nothing is left behind where that fails.

        Examples
        --------
        >>> stored = folder.open()
        >>> stored[2:4].group_names.tolist()
        ['2', '3']
        >>> stored.close()
        """
        roles = self.check()
        from mcsquared.corpus.stored.writing import write

        scratch = self._scratch()
        try:
            words = (self.vocabulary, self._words_of_codes)
            return write(roles, scratch, self.memory, *words, self.vectorizer)
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            if isinstance(error, OSError):
                raise _disk_error(scratch, error) from error
            raise

    def check(self) -> Any:
        """Refuse a folder whose files or columns are not as they should be; read their heads alone.

        Examples
        --------
        >>> checked = folder.check()
        """
        try:
            from mcsquared.corpus.stored.roles import roles_of
        except ImportError as error:
            raise InputError(
                f"{self.path} is a folder of Parquet files, and reading it needs pyarrow: "
                "pip install pyarrow"
            ) from error
        return roles_of(self.path, self.text, self.contexts, self.bags, self.group_names)

    def counted_in(self, vocabulary: Sequence[str]) -> "ParquetFolder":
        """Return the same folder, in which these words alone are counted: those of a model.

        Examples
        --------
        >>> with folder.counted_in(["bee"]).open() as stored:
        ...     stored.n_tokens
        2
        """
        other = copy.copy(self)
        other.vocabulary = vocabulary
        return other

    def _scratch(self) -> Path:
        try:
            return Path(tempfile.mkdtemp(prefix="mcsquared-", dir=self.scratch))
        except (OSError, TypeError, ValueError) as error:
            where = tempfile.gettempdir() if self.scratch is None else self.scratch
            raise InputError(
                f"scratch is {str(where)!r}, but a folder that can be written to is wanted "
                f"({error})"
            ) from error


def _disk_error(scratch: Path, error: OSError) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(
            f"scratch: the disk of {scratch.parent} is full, but a folder with more space is wanted"
        )
    return InputError(f"scratch: {scratch} cannot be written to ({error})")


def bytes_of(memory: Any) -> int:
    """Return a number of bytes: "2GB", "500 MiB", 2e9."""
    found = None
    if isinstance(memory, str):
        match = _SIZE.fullmatch(memory)
        unit = match[2].lower() if match else ""
        if match and unit in _UNITS | _BINARY:
            try:
                found = float(match[1]) * (_UNITS | _BINARY)[unit]
            except ValueError:
                found = None
    elif isinstance(memory, Real):
        found = float(memory)
    if found is None or not _LEAST_MEMORY <= found < 2**62:
        raise InputError(
            f"memory is {memory!r}, but a size of at least 1 MB is wanted, such as '2GB'"
        )
    return int(found)

"""Convert data frames of any library to content, contexts and group names."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.checks import check_choice
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.columns.infer import DURATION_NOTE, bag_from, column_from
from mcsquared.corpus.columns.values import as_list, is_missing
from mcsquared.corpus.content import Vectors, Words
from mcsquared.corpus.sources.arrays import content_from
from mcsquared.corpus.sources.texts import BufferedWords, count_texts, count_tokens
from mcsquared.corpus.sources.vectors import vectors_from_lists
from mcsquared.corpus.sources.words import joined_passages
from mcsquared.errors import InputError

_MIN_TEXT_LENGTH = 12  # mean length of the strings of a column that may contain texts
_CODE = re.compile("[!-~]*")  # a URL, an identifier, a number or a single word
_MAX_LISTED = 20  # columns named in an error
_MIN_DISTINCT_SHARE = 0.5  # of group names; if fewer are distinct, rows may be tokens of groups


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a data frame or a file, by name."""

    columns: dict[str, Any]
    n_rows: int
    source: str = "frame"  # name of the table in errors: "frame", or the name of a file
    row_names: list[Any] | None = None  # names of the rows, from the index of a data frame
    # Names shared by several columns, which therefore cannot be selected.
    duplicated: frozenset[str] = field(default_factory=frozenset)
    # Converts the values of a column, such as the strings of a CSV file.
    interpret: Callable[[Any], Any] | None = None
    notes: list[str] = field(default_factory=list)  # notes on how the table was read

    def raw(self, name: Any, argument: str) -> Any:
        """Return a column as it was read."""
        if str(name) in self.duplicated:
            raise InputError(
                f"{argument} must name a unique column, got {str(name)!r}, which {self.source} has "
                "several times"
            )
        if str(name) not in self.columns:
            raise InputError(
                f"{argument} must name a column of {self.source}, got {str(name)!r}; "
                f"{self._hint(str(name))}"
            )
        return self.columns[str(name)]

    def typed(self, name: Any, argument: str) -> Any:
        """Return a column with its values converted by ``interpret``."""
        values = self.raw(name, argument)
        return values if self.interpret is None else self.interpret(values)

    def longest_texts(self) -> str | None:
        """Return the name of the column with the longest texts; None if all strings are short."""
        lengths = {
            name: sum(_text_length(field) for field in joined_passages(values) or values)
            for name, values in self.columns.items()
            if isinstance(values, list)
        }
        longest = max(lengths, key=lambda name: lengths[name], default=None)
        is_text = longest is not None and lengths[longest] >= _MIN_TEXT_LENGTH * self.n_rows
        return longest if is_text else None

    def _hint(self, name: str) -> str:
        """Return advice on a name that is not a column: its parts, a similar name, or all names."""
        parts = [column for column in self.columns if column.startswith(f"{name}.")]
        if parts:
            return f"it has parts: {_listed(parts)}"
        several = [part.strip() for part in name.split(",")]
        if len(several) > 1 and all(part in self.columns for part in several):
            return f"pass {' and '.join(map(repr, several))} separately"
        near = get_close_matches(name, self.columns, n=1)
        if near:
            return f"did you mean {near[0]!r}?"
        return f"its columns are {_listed(list(self.columns)) or 'none'}"

    def check_unique(self) -> None:
        """Raise `InputError` if two columns have the same name."""
        if self.duplicated:
            raise InputError(
                f"{self.source} must have unique column names, got {min(self.duplicated)!r} twice"
            )


def _text_length(field: Any) -> int:
    """Return the length of a text; 0 for a URL, an identifier or a number."""
    return len(field) if isinstance(field, str) and not _CODE.fullmatch(field) else 0


def _listed(names: list[str]) -> str:
    """Return the first names, quoted."""
    more = ", ..." if len(names) > _MAX_LISTED else ""
    return ", ".join(map(repr, names[:_MAX_LISTED])) + more


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame of pandas, polars, pyarrow or a similar library."""
    if isinstance(value, np.ndarray | list | tuple | Mapping | str) or sparse.issparse(value):
        return False
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(value):
        return True  # narwhals raises on duplicate column names; the caller reports them
    wrapped = nw.from_native(value, pass_through=True, allow_series=True)
    return isinstance(wrapped, nw.DataFrame | nw.LazyFrame)


def table_of(frame: Any, source: str = "frame") -> Table:
    """Return a data frame of any library as a table; a table is returned unchanged."""
    if isinstance(frame, Table):
        return frame
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(frame):
        return _pandas_table(frame, source)
    try:
        wrapped = nw.from_native(frame, pass_through=True)
        if isinstance(wrapped, nw.LazyFrame):
            wrapped = wrapped.collect()
        if not isinstance(wrapped, nw.DataFrame):
            raise InputError(f"{source} must be a data frame, got {type(frame).__name__}")
        columns = {str(name): wrapped.get_column(name).to_native() for name in wrapped.columns}
    except nw.exceptions.NarwhalsError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{source} must be a valid data frame: {reason}") from error
    return Table(columns, len(wrapped), source)


def _pandas_table(frame: Any, source: str) -> Table:
    names = [
        " ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns
    ]
    repeated = frozenset(name for name, count in Counter(names).items() if count > 1)
    columns = {name: frame.iloc[:, i] for i, name in enumerate(names)}
    return Table(columns, len(frame), source, index_names(frame), repeated)


def index_names(frame: Any) -> list[Any] | None:
    """Return the row names of a pandas frame or series; None for a RangeIndex."""
    index = getattr(frame, "index", None)
    if index is None or not hasattr(index, "nlevels") or type(index).__name__ == "RangeIndex":
        return None
    return [", ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in index]


def contexts_from(contexts: Any, n_groups: int) -> dict[str, Column]:
    """Return context columns from a frame, a series or a dict of columns, one row per group."""
    if contexts is None or isinstance(contexts, Mapping):
        columns = {str(name): values for name, values in (contexts or {}).items()}
        table = Table(columns, n_groups, "contexts")
    elif is_frame(contexts):
        table = table_of(contexts, "contexts")
        if table.n_rows != n_groups:
            raise InputError(
                f"contexts must have one row per group ({n_groups}), got {table.n_rows}"
            )
    elif getattr(contexts, "name", None) is not None and hasattr(contexts, "dtype"):
        table = Table({str(contexts.name): contexts}, n_groups, "contexts")
    else:
        raise InputError(
            f"contexts must be a data frame or a dict from name to column, got "
            f"{type(contexts).__name__}"
        )
    table.check_unique()
    return context_columns(table, list(table.columns), None, n_groups)


def context_columns(
    table: Table, names: Sequence[Any] | str | None, bags: Any, n_groups: int
) -> dict[str, Column]:
    """Return the named columns of a table as contexts; see `bag_separators` for ``bags``."""
    listed = name_list(names, "contexts")
    separators = bag_separators(bags, listed)
    columns = {}
    for name in listed:
        if name in separators:
            column = bag_from(name, table.raw(name, "contexts"), separators[name])
        else:
            column = column_from(name, table.typed(name, "contexts"))
        if len(column) != n_groups:
            raise InputError(
                f"context {name!r} must have one row per group ({n_groups}), got {len(column)}"
            )
        columns[name] = column
    return columns


def name_list(names: Any, argument: str) -> list[str]:
    """Return one or several column names as a list of distinct strings."""
    if names is None:
        return []
    if isinstance(names, str):
        return [names]
    if isinstance(names, Mapping) or is_frame(names) or not isinstance(names, Iterable):
        raise InputError(f"{argument} must be a list of column names, got {type(names).__name__}")
    listed = [str(name) for name in names]
    for name in listed:
        if listed.count(name) > 1:
            raise InputError(f"{argument} must name each column once, got {name!r} twice")
    return listed


def bag_separators(bags: Any, names: list[str]) -> dict[str, str | None]:
    """Return the separator of each context declared as a bag; None if it is not given."""
    if bags is None:
        return {}
    if isinstance(bags, str) or not isinstance(bags, Iterable):
        bags = [bags]
    separators = dict(bags) if isinstance(bags, Mapping) else dict.fromkeys(bags)
    for name in separators:
        if name not in names:
            raise InputError(f"bags must be contexts ({', '.join(names) or 'none'}), got {name!r}")
    return separators


def corpus_parts(
    table: Table,
    text: Any,
    contexts: Any,
    content: Any,
    bags: Any,
    group_names: Any,
    vocabulary: Any,
    vectorizer: dict[str, Any],
) -> tuple[Any, dict[str, Column], Any]:
    """Return the content, the contexts and the group names of a table."""
    if text is not None and content is not None:
        raise InputError("text and content must not both be given")
    if table.n_rows == 0:
        raise InputError(f"{table.source} must have at least one group, got zero rows")
    columns = context_columns(table, contexts, bags, table.n_rows)
    names = table.row_names if group_names is None else group_names
    if isinstance(group_names, str):
        names = as_list(table.raw(group_names, "group_names"))
        if len(set(map(str, names))) < _MIN_DISTINCT_SHARE * len(names):
            table.notes.append(
                f"most group names in {group_names!r} occur several times: if the table has one "
                "row per token, use Corpus.from_long (--long in mc2 fit)"
            )
    if text is not None:
        return text_content(table, text, vocabulary, vectorizer), columns, names
    _check_no_word_options(vectorizer, vocabulary, "without a text column")
    others = [*columns, *([group_names] if isinstance(group_names, str) else [])]
    return numeric_content(table, content, others), columns, names


def text_content(
    table: Table, name: Any, vocabulary: Sequence[str] | None, vectorizer: dict[str, Any]
) -> BufferedWords | Vectors:
    """Return the content of a column of texts, of lists of words, or of vectors."""
    values = as_list(table.typed(name, "text"))
    vectors = vectors_from_lists(values)
    if vectors is not None:
        reason = f"if column {str(name)!r} contains vectors"
        _check_no_word_options(vectorizer, vocabulary, reason)
        return vectors
    if (joined := joined_passages(values, vocabulary)) is not None:
        values = joined
        table.notes.append(
            f"the lists of {str(name)!r} contain passages, not words: each is read as one text"
        )
    first = next((value for value in values if not is_missing(value)), None)
    try:
        if isinstance(first, Iterable) and not isinstance(first, str | bytes | Mapping):
            return count_tokens(values, vocabulary)
        is_raw = joined is None and isinstance(first, str)
        texts = as_list(table.raw(name, "text")) if is_raw else values
        return count_texts(texts, vocabulary, f"column {str(name)!r}", **vectorizer)
    except InputError as error:
        if first is not None and not isinstance(first, str):
            is_number = isinstance(first, Number) and not isinstance(first, bool)
            kind = "numbers" if is_number else f"{type(first).__name__} values"
            longest = table.longest_texts()
            hint = f"; the longest texts are in {longest!r}" if longest is not None else ""
            raise InputError(
                f"text must name a column of texts, got {str(name)!r}, which contains {kind}{hint}"
            ) from error
        raise


def _check_no_word_options(vectorizer: dict[str, Any], vocabulary: Any, reason: str) -> None:
    """Raise `InputError` if options of words are given; ``reason`` says why there are no words."""
    options = [*vectorizer, *(["vocabulary"] if vocabulary is not None else [])]
    if options:
        raise InputError(f"{', '.join(options)} must not be given {reason}")


def numeric_content(
    table: Table, names: Any, others: Sequence[str], kind: str = "auto"
) -> Words | Vectors:
    """Return the content of numeric columns: counts if all are integers, else vectors.

    Without names, all columns except ``others`` are content.
    """
    listed = (
        [name for name in table.columns if name not in others]
        if names is None
        else name_list(names, "content")
    )
    if not listed:
        raise InputError(
            f"content must have at least one column of {table.source}, got none; name the text or "
            "the content columns"
        )
    columns = []
    for name in listed:
        values = _numeric_column(name, table.typed(name, "content"))
        if values is None:
            raise InputError(
                f"content must consist of columns of numbers, got {name!r} of {table.source}; use "
                "Corpus.from_frame with text= (a column of texts) or content= (columns of numbers)"
            )
        columns.append(values)
    matrix: NDArray[Any] = np.column_stack(columns) if table.n_rows else np.empty((0, len(listed)))
    return _name_words(content_from(matrix, kind), listed)


def _numeric_column(name: str, values: Any) -> NDArray[Any] | None:
    """Return integers or floats, depending on the type of the values; None if not numeric."""
    array = np.asarray(values) if not isinstance(values, list) else np.array(values, dtype=object)
    if array.dtype.kind in "biuf":
        return array
    column = column_from(name, values)
    if column.kind not in ("number", "boolean") or column.note == DURATION_NOTE:
        return None
    is_whole = not np.isnan(column.values).any() and _has_integer_dtype(values)
    return column.values.astype(np.int64) if is_whole else column.values


def _has_integer_dtype(values: Any) -> bool:
    dtype = str(getattr(values, "dtype", getattr(values, "type", ""))).lower()
    if dtype and dtype != "object":
        return dtype.startswith(("int", "uint", "bool"))
    return all(isinstance(value, int | np.integer | np.bool_) for value in values)


def frame_content(frame: Any, kind: str = "auto") -> tuple[Words | Vectors, list[Any] | None]:
    """Return the content of a frame of numeric columns, and its row names."""
    table = table_of(frame, "content")
    table.check_unique()
    if table.columns and hasattr(frame, "sparse") and _all_sparse(frame):
        content = content_from(frame.sparse.to_coo(), kind)
        return _name_words(content, list(table.columns)), table.row_names
    return numeric_content(table, None, (), kind), table.row_names


def _name_words(content: Words | Vectors, columns: list[str]) -> Words | Vectors:
    """Return content whose words, if any, are named by the columns."""
    if isinstance(content, Words):
        return Words(content.counts, np.array(columns, dtype=object))
    return content


def _all_sparse(frame: Any) -> bool:
    return all(
        hasattr(dtype, "subtype") and str(dtype).startswith("Sparse") for dtype in frame.dtypes
    )


def anndata_parts(
    data: Any, contexts: Sequence[str] | str | None, layer: str | None, content: str
) -> tuple[Words | Vectors, Table, list[str]]:
    """Return the content, a table of the selected contexts, and the group names.

    ``data`` may be any object with the attributes of AnnData, which need not be installed.
    """
    lacking = [name for name in ("X", "obs", "obs_names", "var_names") if not hasattr(data, name)]
    if lacking:
        raise InputError(
            f"data must be AnnData, got {type(data).__name__} without {', '.join(lacking)}"
        )
    check_choice("content", content, ("counts", "vectors"))
    names = [str(name) for name in data.obs_names]
    observations = table_of(data.obs, "obs")
    embeddings = getattr(data, "obsm", {})
    columns = {}
    for name in name_list(contexts, "contexts"):
        if name not in observations.columns and name in embeddings:
            columns[name] = _embedding(name, embeddings[name])
        else:
            columns[name] = observations.raw(name, "contexts")
    matrix = _matrix(data, layer)
    vocabulary = [str(name) for name in data.var_names] if content == "counts" else None
    return content_from(matrix, content, vocabulary), Table(columns, len(names), "obs"), names


def _matrix(data: Any, layer: str | None) -> Any:
    if layer is None:
        matrix, argument = data.X, "data.X"
    else:
        layers = getattr(data, "layers", {})
        if layer not in layers:
            names = ", ".join(map(repr, layers)) or "none"
            raise InputError(f"layer must be one of {names}, got {layer!r}")
        matrix, argument = layers[layer], f"layer {layer!r}"
    if matrix is None:
        raise InputError(f"{argument} must be a matrix, got None")
    if hasattr(matrix, "to_memory"):  # backed by a file
        matrix = matrix.to_memory()
    return matrix if sparse.issparse(matrix) else np.asarray(matrix)


def _embedding(name: str, values: Any) -> Any:
    if sparse.issparse(values):
        return values
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"obsm[{name!r}] must be a matrix of numbers, got {array.dtype} {array.shape}"
        )
    return array

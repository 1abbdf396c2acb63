"""Groups of tokens with contexts, in memory."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any

from mcsquared.arrays import Objects
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.columns.convert import aligned_content, aligned_contexts
from mcsquared.corpus.content import ContentSizes, Vectors, Words, names_array
from mcsquared.corpus.levels import (
    LevelsMixin,
    describe_levels,
    level_parts,
    levels_of_table,
    take_groups,
)
from mcsquared.corpus.rows import check_same_order, random_test_mask, row_index
from mcsquared.corpus.sources import frames
from mcsquared.corpus.sources.arrays import content_from
from mcsquared.corpus.sources.texts import BufferedWords, count_texts, count_tokens
from mcsquared.corpus.summary import fingerprint, size_line, summary_html
from mcsquared.errors import InputError

_logger = logging.getLogger("mcsquared")


class Corpus(LevelsMixin, ContentSizes):
    """Groups with their content and contexts.

    Parameters
    ----------
    content : matrix, list of arrays, frame, Words or Vectors
        A sparse matrix, or a dense one of integers or booleans: counts of words, one row per group.
        A list of arrays of shape (n_tokens, width): vectors. A dense matrix of floats: one vector
        per group. A frame is read like a matrix; if it contains counts, its columns are the words.
    contexts : frame or dict of columns, optional
        One row per group. The family of a column is inferred from its type; see `describe`.
    group_names : sequence of str, optional
        By default the index of a pandas frame unless it is a RangeIndex, else "0", "1", ...
    vocabulary : sequence of str, optional
        The words, one per column of a count matrix.

    Attributes
    ----------
    content : Words or Vectors
    contexts : dict from str to Column
    levels : tuple of Level
        Levels above groups, the lowest first; see `from_frame`.
    group_names : ndarray of object, shape (n_groups,)
    notes : list of str
        Notes on how the data were read, one sentence each.
    dropped_words, dropped_tokens : int
        Numbers of distinct words that were dropped (by frequency, or because they are not in a
        given vocabulary) and of their tokens.

    Examples
    --------
    >>> counts = np.array([[2, 0, 1], [0, 3, 0]])
    >>> corpus = mc2.Corpus(counts, {"year": [1990, None]}, vocabulary=["ant", "bee", "car"])
    >>> corpus
    Corpus(2 groups, 6 tokens, 3 words, contexts: year)
    >>> corpus.n_groups, corpus.n_tokens, corpus.n_words, corpus.tokens_per_group.tolist()
    (2, 6, 3, [3, 3])
    >>> corpus[corpus.contexts["year"].observed].group_names.tolist(), corpus.vocabulary.tolist()
    (['0'], ['ant', 'bee', 'car'])
    >>> corpus.word_frequency.tolist(), corpus.document_frequency.tolist(), corpus.shape
    ([2, 3, 1], [1, 1, 1], (2, 3))
    >>> print(corpus.describe())
    2 groups, 6 tokens, 3 words
    year: number, family gaussian, 1 of 2 observed, 1990 to 1990
    >>> corpus.fingerprint() == corpus[::-1].fingerprint()
    False
    """

    source: Any = None  # the `DiskCorpus` of a `SampledCorpus`
    text_options: Mapping[str, Any] = MappingProxyType({})  # how texts were split into words

    def __init__(
        self,
        content: Any,
        contexts: Any = None,
        group_names: Iterable[Any] | None = None,
        vocabulary: Sequence[str] | None = None,
    ) -> None:
        notes: list[str] = []
        self.dropped_words = self.dropped_tokens = 0
        if isinstance(content, BufferedWords):
            self.dropped_words, self.dropped_tokens = content.dropped_words, content.dropped_tokens
            self.text_options = content.options
            notes, content = content.notes, content.read((0, content.rows.n_rows))
        default_names = frames.index_names(contexts)
        if frames.is_frame(content):
            if vocabulary is not None:
                raise InputError(
                    "vocabulary must be None if content is a frame, whose columns are the words"
                )
            check_same_order(content, contexts)
            content, row_names = frames.frame_content(content)
            default_names = row_names or default_names
        self.content: Words | Vectors = content_from(content, vocabulary=vocabulary)
        self.contexts: dict[str, Column] = frames.contexts_from(contexts, self.n_groups)
        names = default_names if group_names is None else group_names
        names = range(self.n_groups) if names is None else names
        self.group_names = names_array(names, self.n_groups, "group_names", "group")
        self.notes = notes + _column_notes(self.contexts)
        for note in self.notes:
            _logger.info("%s", note)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        contexts: Any = None,
        *,
        group_names: Iterable[Any] | None = None,
        vocabulary: Sequence[str] | None = None,
        **vectorizer: Any,
    ) -> "Corpus":
        """Return a corpus of texts, tokenised and counted by scikit-learn's ``CountVectorizer``.

        Parameters
        ----------
        texts : iterable of str
            None or NaN gives a group without content.
        contexts, group_names : see Corpus
        vocabulary : sequence of str, optional
            Count only these words, such as those of a model.
        **vectorizer
            Arguments of ``CountVectorizer``. Defaults: lower case, words of two or more letters
            ("don't" is one word), ``max_df=0.5`` and, above 100 texts, ``min_df=2`` and
            ``stop_words="auto"``, which drops the function words of the texts' language
            (alternatives: a list, a language such as "german", or None). ``ngrams=2`` counts pairs
            of words as well, and ``keep`` may list "hashtags" and "emojis". Tags and entities of
            HTML are removed. In scripts without spaces, such as Chinese, pairs of characters are
            counted unless ``character_pairs=False``; pass a ``tokenizer`` of the language to count
            words. `notes` reports dropped words. A model splits new texts in the same way.

        Examples
        --------
        >>> texts = ["An ant, a bee; the bee!", "Two cars"]
        >>> mc2.Corpus.from_texts(texts, {"year": [1990, 2000]}, stop_words="english").n_tokens
        4
        """
        check_same_order(texts, contexts)
        names = frames.index_names(texts) if group_names is None else group_names
        return cls(count_texts(texts, vocabulary, **vectorizer), contexts, names)

    @classmethod
    def from_tokens(
        cls,
        tokens: Iterable[Iterable[str]],
        contexts: Any = None,
        *,
        group_names: Iterable[Any] | None = None,
        vocabulary: Sequence[str] | None = None,
    ) -> "Corpus":
        """Return a corpus of tokenised groups; an empty list gives a group without content.

        Examples
        --------
        >>> mc2.Corpus.from_tokens([["ant", "bee", "bee"], []]).tokens_per_group
        array([3, 0])
        """
        check_same_order(tokens, contexts)
        names = frames.index_names(tokens) if group_names is None else group_names
        return cls(count_tokens(tokens, vocabulary), contexts, names)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        text: str | None = None,
        contexts: Sequence[str] | str | None = None,
        *,
        content: Sequence[str] | str | None = None,
        bags: Mapping[str, str | None] | Sequence[str] | None = None,
        group_names: Any = None,
        vocabulary: Sequence[str] | None = None,
        levels: Sequence[str] | str | None = None,
        level_contexts: Mapping[str, Any] | None = None,
        **vectorizer: Any,
    ) -> "Corpus":
        """Return a corpus from a pandas, polars or pyarrow data frame, one row per group.

        Parameters
        ----------
        frame : data frame
        text : str, optional
            The column that contains the texts, lists of words, lists of vectors, or one vector per
            group (a list of floats).
        contexts : str or list of str, optional
            Columns that are contexts; by default none.
        content : list of str, optional
            Numeric columns to use instead of a text: counts if they are integers, else the
            coordinates of one vector per group. Without ``text``, by default all remaining columns.
        bags : dict from column to separator, optional
            Contexts whose strings contain several categories. The separator None stands for ";" if
            the column contains it, else for "|" or ",", whichever more values contain.
        group_names : str or sequence of str, optional
            The name of a column, or the names of the groups.
        vocabulary, **vectorizer : see from_texts
        levels : str or list of str, optional
            Columns that name the unit of each group, such as its country; several levels must be
            nested, the lowest first. Contexts that are constant within units move to their level.
        level_contexts : dict from str to data frame, optional
            Contexts of the units of a level, whose names are in the column of the same name.

        Examples
        --------
        >>> import pandas as pd
        >>> papers = pd.DataFrame({"text": ["ants and bees", "a car"], "by": ["Ann; Bob", None]})
        >>> mc2.Corpus.from_frame(papers, "text", contexts="by", bags=["by"]).contexts["by"]
        Column('by: bag, family bag, 1 of 2 observed, 2 categories')
        """
        options = (content, bags, group_names, vocabulary, vectorizer)
        table = frames.table_of(frame)
        parsed, columns, names = frames.corpus_parts(table, text, contexts, *options)
        found_levels, columns, notes = levels_of_table(table, levels, level_contexts, columns)
        corpus = cls._with_notes(parsed, columns, names, [*table.notes, *notes])
        corpus.levels = found_levels
        return corpus

    @classmethod
    def _with_notes(cls, content: Any, contexts: Any, names: Any, notes: list[str]) -> "Corpus":
        corpus = cls(content, contexts, names)
        corpus.notes = [*notes, *corpus.notes]
        return corpus

    @classmethod
    def from_long(
        cls,
        frame: Any,
        group: str,
        value: Sequence[str] | str | None = None,
        text: str | None = None,
        contexts: Sequence[str] | str | None = None,
        *,
        bags: Mapping[str, str | None] | Sequence[str] | None = None,
        **vectorizer: Any,
    ) -> "Corpus":
        """Return a corpus from a frame with one row per token: a word, a vector or a text.

        Parameters
        ----------
        group : str
            Column that names the group of each row.
        value : str or list of str, optional
            Column of words, one per row, or columns of numbers, one vector per row.
        text : str, optional
            Column of texts, to pass instead of ``value``; those of a group are joined.
        contexts, bags, **vectorizer : see from_frame; the first value of a group is used

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"doc": list("aab"), "word": ["ant", "bee", "car"]})
        >>> mc2.Corpus.from_long(rows, group="doc", value="word").tokens_per_group
        array([2, 1])
        """
        from mcsquared.corpus.sources.long import long_parts

        columns = (group, value, text, contexts, bags)
        return cls._with_notes(*long_parts(frames.table_of(frame), *columns, vectorizer))

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        text: str | None = None,
        contexts: Sequence[str] | str | None = None,
        *,
        format: str | None = None,
        encoding: str | None = None,
        sep: str | None = None,
        **options: Any,
    ) -> "Corpus":
        r"""Read a corpus from a CSV, TSV, JSONL or Parquet file, one row per group.

        Parameters
        ----------
        path : path
        format : {"csv", "tsv", "jsonl", "parquet"}, optional
            By default inferred from the suffix of the file name.
        encoding, sep : str, optional
            Encoding of a text file and separator of a CSV file; detected by default.
        text, contexts, **options : see from_frame

        Examples
        --------
        >>> with open("papers.csv", "w") as file:
        ...     print("text,year", "ants and bees,1990", "a car,", sep="\n", file=file)
        >>> mc2.Corpus.read("papers.csv", text="text", contexts="year").contexts["year"].values
        array([1990.,   nan])
        """
        from mcsquared.corpus.sources.files import read_table

        return cls.from_frame(read_table(path, format, encoding, sep), text, contexts, **options)

    @classmethod
    def from_anndata(
        cls,
        data: Any,
        contexts: Sequence[str] | str | None = None,
        *,
        layer: str | None = None,
        content: str = "counts",
        bags: Mapping[str, str | None] | Sequence[str] | None = None,
    ) -> "Corpus":
        """Return a corpus from an AnnData object: cells are groups, genes are words.

        Parameters
        ----------
        data : AnnData, or anything with its ``X``, ``obs``, ``var_names`` and ``obs_names``
        contexts : str or list of str, optional
            Columns of ``obs``, or keys of ``obsm``, which become vectors.
        layer : str, optional
            Layer to use instead of ``X``.
        content : {"counts", "vectors"}
        bags : see from_frame

        Examples
        --------
        >>> from anndata import AnnData
        >>> cells = AnnData(counts.astype("float32"))
        >>> cells.obs["age"] = [3, 5]
        >>> mc2.Corpus.from_anndata(cells, contexts="age")
        Corpus(2 groups, 6 tokens, 3 words, contexts: age)
        """
        parsed, table, group_names = frames.anndata_parts(data, contexts, layer, content)
        columns = frames.context_columns(table, list(table.columns), bags, parsed.n_groups)
        return cls(parsed, columns, group_names)

    def __repr__(self) -> str:
        contexts, levels = ", ".join(self.contexts) or "none", [level.name for level in self.levels]
        listed = f", levels: {', '.join(levels)}" if levels else ""
        return f"Corpus({size_line(self)}, contexts: {contexts}{listed})"

    def _repr_html_(self) -> str:
        return summary_html(self)

    def describe(self) -> str:
        """Return lines on the content, on each context (kind, family, ...) and level, and notes."""
        lines = [size_line(self), *(column.describe() for column in self.contexts.values())]
        lines += describe_levels(self.levels)
        column_notes = _column_notes(self.contexts)  # already in the lines of the columns
        return "\n".join([*lines, *(note for note in self.notes if note not in column_notes)])

    def fingerprint(self) -> str:
        """Return the SHA-256 of content, contexts, group names and levels, in hexadecimal."""
        content = self.content
        parts = [content.counts] if isinstance(content, Words) else [content.start, content.values]
        columns = [(column, column.values) for column in self.contexts.values()]
        levels = level_parts(self.levels)
        parts, columns = [*parts, *levels.parents], [*columns, *levels.columns]
        return fingerprint(parts, self.vocabulary, columns, [self.group_names, *levels.names])

    def __getitem__(self, rows: Any) -> "Corpus":
        """Return the groups selected by a slice, a mask or an array of indices."""
        index = row_index(rows, self.n_groups)
        contexts = {name: column[index] for name, column in self.contexts.items()}
        selected = self._with_data(self.content[index], contexts, self.group_names[index])
        selected.levels = take_groups(self.levels, index)
        return selected

    def split(self, test_size: float = 0.2, random_state: Any = None) -> tuple["Corpus", "Corpus"]:
        """Split the groups at random into (train, test), each in the original order.

        Parameters
        ----------
        test_size : float or int
            A share between 0 and 1, or a number of groups.
        random_state : int, Generator, RandomState or None

        Examples
        --------
        >>> train, test = corpus.split(test_size=1, random_state=0)
        >>> len(train), len(test)
        (1, 1)
        """
        in_test = random_test_mask(test_size, random_state, self.n_groups)
        return self[~in_test], self[in_test]

    def with_contexts(self, contexts: Any) -> "Corpus":
        """Return the same content with other contexts, a frame or a dict of columns.

        Examples
        --------
        >>> corpus.with_contexts({"place": ["sea", "wood"]}).contexts["place"].kind
        'category'
        """
        columns = frames.contexts_from(contexts, self.n_groups)
        replaced = self._with_data(self.content, columns, self.group_names)
        old = _column_notes(self.contexts)
        replaced.notes = [note for note in self.notes if note not in old] + _column_notes(columns)
        return replaced

    def aligned_to(
        self,
        vocabulary: Sequence[str] | Objects | None,
        contexts: Mapping[str, Column] | None = None,
        width: int | None = None,
    ) -> "Corpus":
        """Return the corpus with the vocabulary and the categories of the training data.

        Parameters
        ----------
        vocabulary : sequence of str, or None
            The training vocabulary; other words are dropped. None for vectors.
        contexts : dict from str to Column, optional
            The training columns. The result has exactly these; an unseen category becomes
            missing, and a context that the corpus does not have is missing in every group.
        width : int, optional
            Width of the training vectors.

        Examples
        --------
        >>> corpus.aligned_to(["bee", "car", "dog"]).content.counts.toarray().tolist()
        [[0, 1, 0], [3, 0, 0]]
        """
        notes: list[str] = []
        content, *dropped = aligned_content(self.content, vocabulary, width, notes)
        columns = aligned_contexts(self.contexts, contexts or {}, self.n_groups, notes)
        aligned = self._with_data(content, columns, self.group_names)
        aligned.notes += notes
        aligned.dropped_words, aligned.dropped_tokens = dropped
        return aligned

    def _with_data(
        self, content: Words | Vectors, contexts: dict[str, Column], names: Any
    ) -> "Corpus":
        """Return a corpus of these data, with the other attributes of this one."""
        result = Corpus.__new__(Corpus)
        result.content, result.contexts, result.group_names = content, contexts, names
        result.notes, result.text_options = list(self.notes), self.text_options
        result.levels = self.levels
        result.dropped_words, result.dropped_tokens = self.dropped_words, self.dropped_tokens
        return result


def _column_notes(contexts: Mapping[str, Column]) -> list[str]:
    return [f"context {name}: {column.note}" for name, column in contexts.items() if column.note]

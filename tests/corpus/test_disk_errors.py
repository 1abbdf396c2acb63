"""Errors in a folder are reported in one sentence, and no files remain."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mcsquared as mc2

TOKENS = {"tokens": [["a", "b"], ["b"]]}


def vector(width, n=2):
    return pa.array([[0.5] * width] * n, pa.list_(pa.float64(), width))


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        (
            [{"tokens": pa.array([], pa.list_(pa.string()))}],
            {},
            "data must contain at least one group, got zero rows",
        ),
        (
            [{"x": [1.0]}],
            {},
            "or a column 'counts' of maps, got x",
        ),
        (
            [{"counts": [1]}],
            {},
            "or a column 'counts' of maps, got counts",
        ),
        ([TOKENS], {"text": "tokans"}, "did you mean 'tokens'?"),
        (
            [TOKENS],
            {"text": 3},
            "must be the name of a column, or of a column of words and one of counts, got 3",
        ),
        ([TOKENS], {"text": ("tokens",)}, "got ('tokens',)"),
        ([TOKENS], {"contexts": ["year"]}, "contexts must name a column of 0.parquet, got 'year'"),
        ([TOKENS], {"contexts": 3}, "contexts must be a list of column names, got int"),
        ([TOKENS], {"group_names": "id"}, "group_names must name a column of 0.parquet, got 'id'"),
        (
            [TOKENS],
            {"group_names": ["a", "b"]},
            "group_names must be the name of a column, got list",
        ),
        ([TOKENS], {"bags": ["year"]}, "bags must be contexts (none), got 'year'"),
        ([TOKENS], {"vocabulary": "abc"}, "vocabulary must be a list of words, got 'abc'"),
        (
            [TOKENS],
            {"vocabulary": ["a", "a"]},
            "vocabulary must contain unique words, got 'a' twice",
        ),
        ([TOKENS, {"text": ["a", "b"]}], {}, "text must name a column of 1.parquet, got 'tokens'"),
        ([TOKENS, {**TOKENS, "x": [1, 2]}], {}, "1.parquet must have the columns of 0.parquet if"),
        (
            [{"tokens": [1, 2]}],
            {},
            "text must name a column of texts, of lists of words or codes, of maps",
        ),
        (
            [{"vectors": vector(2)}, {"vectors": vector(3)}],
            {},
            "column 'vectors' must contain vectors of one width, got 2 and 3 (1.parquet)",
        ),
        (
            [{"vectors": [[[0.5], [1.5]], [[0.5, 1.0]]]}],
            {},
            "column 'vectors' must contain vectors of one width, got 1 and 2 (0.parquet)",
        ),
        (
            [{"vectors": [[[0.5, 1.0], []]]}],
            {},
            "must contain vectors of one width, got 0 and 2",
        ),
        (
            [{"vectors": [[[0.5]], [[0.5], None]]}],
            {},
            "column 'vectors' must contain vectors, got a missing one (0.parquet)",
        ),
        (
            [{"vectors": [[0.5, None]]}],
            {},
            "column 'vectors' must not contain missing numbers or NaN (0.parquet)",
        ),
        (
            [{"vectors": [[[0.5, 1.0]]]}, {"vectors": [[[0.5, np.nan]]]}],
            {},
            "column 'vectors' must not contain missing numbers or NaN (1.parquet)",
        ),
        (
            [{"vectors": [[0.5, np.inf]]}],
            {},
            "column 'vectors' must contain finite numbers, got an infinite value (inf)",
        ),
        ([{"vectors": [[1e200]]}], {}, "column 'vectors' must be <= 1e+150 in magnitude"),
        (
            [{"vectors": [[1, 2], [3, 4]]}],
            {},
            "column 'vectors' must contain vectors of floats, got lists of codes in 0.parquet",
        ),
        (
            [{"x": [[1.0, 2.0]]}, {"x": [[1, 2]]}],
            {"text": "x"},
            "got vectors in 0.parquet and lists of codes in 1.parquet",
        ),
        (
            [{"x": [[1.0]]}, {"x": [[[1.0]]]}],
            {"text": "x"},
            "got vectors in 0.parquet and lists of vectors in 1.parquet",
        ),
        (
            [{"vectors": [[], []]}],
            {},
            "column 'vectors' must contain vectors of floats, got empty lists in 0.parquet",
        ),
        (
            [{"vectors": pa.array([[], None], pa.list_(pa.float64()))}],
            {},
            "column 'vectors' must contain at least one vector, got none",
        ),
        (
            [{"vectors": vector(2)}],
            {"vocabulary": ["a", "b"]},
            "vocabulary must be None if column 'vectors' contains vectors",
        ),
        (
            [{"vectors": vector(2)}],
            {"min_df": 2, "lowercase": False},
            "min_df, lowercase must not be given if column 'vectors' contains vectors",
        ),
        (
            [{"x": [0.5, 1.5], "y": ["a", "b"]}],
            {"content": ["x", "y"]},
            "content must consist of columns of numbers, got 'y' of type string in 0.parquet",
        ),
        (
            [{"x": [0.5, 1.5]}, {"x": [["a"], ["b"]]}],
            {"content": "x"},
            "content must consist of columns of numbers, got 'x' of type list<element: string> in",
        ),
        (
            [{"x": [0.5, 1.5]}, {"x": [0.5, None]}],
            {"content": "x"},
            "content must not contain missing numbers or NaN (1.parquet)",
        ),
        (
            [{"x": [0.5, -np.inf]}],
            {"content": "x"},
            "content must contain finite numbers, got an infinite value (inf) (0.parquet)",
        ),
        (
            [{"x": [1, 2]}],
            {"content": "x"},
            "content must have at least one column of floats, got integers",
        ),
        ([{"x": [0.5]}], {"content": ["x", "z"]}, "content must name a column of 0.parquet"),
        ([{"x": [0.5]}], {"content": []}, "content must have at least one column, got none"),
        ([{"x": [0.5]}], {"content": "x", "text": "x"}, "text and content must not both be given"),
        (
            [{"x": vector(2), "n": [[1], [2]]}],
            {"text": ("x", "n")},
            "text must name a column of lists of words and one of lists of integers",
        ),
        (
            [{"tokens": [[b"a"], [b"b"]]}],
            {},
            "got 'tokens' of type list<element: binary> in 0.parquet",
        ),
        ([{"tokens": [["a", None]]}], {}, "must contain lists of words, got a missing word"),
        (
            [TOKENS, {"tokens": ["a b", "c"]}],
            {},
            "got lists of words in 0.parquet and texts in 1.parquet",
        ),
        (
            [{"tokens": [[1], [2]]}, TOKENS],
            {},
            "got lists of codes in 0.parquet and lists of words in 1.parquet",
        ),
        (
            [{"tokens": [[3], [-1]]}],
            {"vocabulary": ["a", "b"]},
            "must contain codes below 2, the number of words in vocabulary, got 3",
        ),
        ([{"tokens": [[], []]}], {}, "column 'tokens' must contain at least one word, got none"),
        ([{"tokens": pa.nulls(2)}], {}, "must contain at least one text, got only missing values"),
        (
            [{"text": pa.array([None, None], pa.string())}],
            {},
            "must contain at least one text, got only missing values",
        ),
        ([{"text": ["a", "!"]}], {}, "at least one word (by default, two or more alphanumeric"),
        ([{"text": ["ab", "cd"]}], {"min_df": 2}, "none of 2 words remain"),
        (
            [{"text": ["ab", "cd"]}],
            {"min_df": -1},
            "(number of texts) or a float in [0, 1] (share of texts), got -1",
        ),
        ([{"text": ["ab", "cd"]}], {"n_grams": 2}, "vectorizer arguments"),
        ([{"words": [["a"]], "counts": [[1, 2]]}], {}, "got 1 words and 2 counts in one group"),
        (
            [{"words": [["a"]], "counts": [[-1]]}],
            {},
            "must contain integer counts from 0 to 2147483647, got -1",
        ),
        (
            [{"words": [["a"]], "counts": [[0.5]]}],
            {},
            "must contain integer counts from 0 to 2147483647, got 0.5",
        ),
        (
            [{"words": [["a"]], "counts": [[2**40]]}],
            {},
            "must contain integer counts from 0 to 2147483647, got 1099511627776",
        ),
        (
            [{"words": [["a", "a"]], "counts": [[2**31 - 1, 1]]}],
            {},
            "content must contain counts <= 2147483647, got 2147483648",
        ),
        (
            [{"words": [["a", "b"]], "counts": [[2**31 - 1, 1]]}],
            {},
            "a group must have <= 2147483647 tokens, got 2147483648",
        ),
        (
            [{"words": ["a"], "counts": [[1]]}],
            {},
            "of type string and 'counts' of type list<element: int64>",
        ),
        (
            [{**TOKENS, "x": [1, 2]}, {**TOKENS, "x": ["a", "b"]}],
            {},
            "of one kind, got numbers in 0.parquet and strings in 1.parquet",
        ),
        (
            [{**TOKENS, "x": vector(2)}, {**TOKENS, "x": vector(3)}],
            {},
            "context 'x' must contain vectors of one width, got 2 and 3 (1.parquet)",
        ),
        (
            [{**TOKENS, "x": [[0.5], [1.0]]}, {**TOKENS, "x": [[1.0], [0.5, 2.0]]}],
            {},
            "lists of fractional numbers of different lengths",
        ),
        (
            [{**TOKENS, "x": [1.0, np.inf]}],
            {},
            "must contain finite numbers, got an infinite value (inf)",
        ),
        (
            [{**TOKENS, "x": [[["a"]], [["b"]]]}],
            {},
            "must contain lists of categories, got lists inside lists",
        ),
        ([{**TOKENS, "x": pa.array([1, 2], pa.time32("s"))}], {}, "strings or lists, got a time"),
        ([{**TOKENS, "x": [b"\xff", b"a"]}], {}, "bytes that are not UTF-8"),
        ([{**TOKENS, "x": [[b"\xff"], [b"a"]]}], {}, "bytes that are not UTF-8"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_in_one_sentence(refuses, tables, options, message):
    assert message in refuses(*tables, **options)


def test_an_error_names_the_column_and_the_file_once(refuses):
    message = refuses({"text": ["ab", "cd"]}, n_grams=2)
    assert message.startswith("column 'text' cannot be counted with these vectorizer arguments: ")
    assert message.count("column 'text'") == message.count("0.parquet") == 1


def test_paths_without_parquet_files_are_refused(tmp_path, scratch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("nothing")
    for path, message in (
        (tmp_path / "no", "does not exist"),
        (tmp_path / "empty", "at least one Parquet file"),
    ):
        with pytest.raises(mc2.InputError, match=message):
            mc2.ParquetFolder(path, scratch=scratch).open()
    with pytest.raises(
        mc2.InputError, match="path must be the path of a folder or a Parquet file, got 3"
    ):
        mc2.ParquetFolder(3)


def test_hidden_and_other_files_are_skipped_and_a_single_file_is_accepted(tmp_path, scratch):
    for name in ("b.parquet", "a.pq", "_c.parquet", ".d.parquet"):
        parquet.write_table(pa.table({"tokens": [[name]]}), tmp_path / name)
    (tmp_path / "readme.txt").write_text("nothing")
    (tmp_path / "sub.parquet").mkdir()
    with mc2.ParquetFolder(tmp_path, scratch=scratch).open() as disk:
        assert disk.vocabulary.tolist() == ["a.pq", "b.parquet"]
        assert disk[0:1].content.counts.toarray().tolist() == [[1, 0]]
    with mc2.ParquetFolder(tmp_path / "b.parquet", scratch=scratch).open() as disk:
        assert disk.vocabulary.tolist() == ["b.parquet"]


def test_two_columns_with_the_same_name_are_refused(tmp_path, scratch):
    table = pa.table([pa.array([["a"]])] * 2, ["tokens", "tokens"])
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(
        mc2.InputError, match=r"a\.parquet must have unique column names, got 'tokens' twice"
    ):
        mc2.ParquetFolder(tmp_path, scratch=scratch).open()


def test_a_file_without_rows_among_others_is_fine(tmp_path, scratch):
    table = pa.table({**TOKENS, "x": [1, 2]})
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table[:0], tmp_path / "b.parquet")
    with mc2.ParquetFolder(tmp_path, scratch=scratch).open() as disk:
        assert disk.n_groups == 2


@pytest.mark.parametrize("damage", ["cut", "page", "text", "empty"])
def test_a_damaged_file_is_refused_by_name(damage, tmp_path, scratch):
    table = pa.table({"tokens": [[f"word {i}"] for i in range(2000)]})
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table, tmp_path / "b.parquet", compression="gzip", use_dictionary=False)
    content = (tmp_path / "b.parquet").read_bytes()
    middle = len(content) // 2
    broken = {
        "cut": content[:middle],
        "page": content[:100] + bytes(middle - 100) + content[middle:],
        "text": b"not a Parquet file",
        "empty": b"",
    }[damage]
    (tmp_path / "b.parquet").write_bytes(broken)
    with pytest.raises(mc2.InputError, match=r"b\.parquet is not a complete Parquet file"):
        mc2.ParquetFolder(tmp_path, scratch=scratch).open()


def test_without_pyarrow_the_error_names_it(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pyarrow")]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("parquet", "arrow"):
        monkeypatch.delitem(sys.modules, f"mcsquared.corpus.sources.{name}")
    with pytest.raises(mc2.InputError, match=r"requires pyarrow, .*: pip install 'pyarrow'"):
        mc2.ParquetFolder(tmp_path).open()

"""Files: CSV, TSV, JSONL and Parquet, valid and damaged."""

import datetime
import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mcsquared.corpus import Corpus, Vectors, Words
from mcsquared.errors import InputError

PAPERS = pd.DataFrame(
    {
        "title": ["first", "second", "third"],
        "abstract": ['cats, "big" cats\nand dogs', "cows eat grass", "emus run"],
        "year": [2001.0, np.nan, 2003.0],
        "authors": ["Ada; Bob", "Eve", None],
        "place": ["Rome", None, "NA"],
        "open": [True, False, True],
        "day": ["2001-02-03", None, "2003-12-31"],
    }
)
CONTEXTS = ["year", "authors", "place", "open", "day"]
KINDS = ["number", "bag", "category", "boolean", "date"]


def write(frame, path):
    kind = path.name.split(".")[1]
    if kind in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame = frame.assign(day=pd.to_datetime(frame["day"])) if "day" in frame else frame
        frame.to_parquet(path)
    return path


def read(path, **arguments):
    return Corpus.read(
        path, text="abstract", contexts=CONTEXTS, bags={"authors": None}, max_df=1.0, **arguments
    )


@pytest.mark.parametrize(
    "name", ["p.csv", "p.tsv", "p.jsonl", "p.parquet", "p.csv.gz", "p.jsonl.gz"]
)
def test_every_format_gives_the_same_corpus(tmp_path, name):
    corpus = read(write(PAPERS, tmp_path / name), group_names="title")
    assert [column.kind for column in corpus.contexts.values()] == KINDS
    observed = {name: column.observed.tolist() for name, column in corpus.contexts.items()}
    assert observed == {
        "year": [True, False, True],
        "authors": [True, True, False],
        "place": [True, False, True],
        "open": [True, True, True],
        "day": [True, False, True],
    }
    assert corpus.contexts["authors"].categories.tolist() == ["Ada", "Bob", "Eve"]
    day = corpus.contexts["day"]
    assert str(day.display(day.values)[0])[:10] == "2001-02-03"
    assert corpus.group_names.tolist() == ["first", "second", "third"]
    assert corpus.vocabulary.tolist() == sorted(
        ["cats", "big", "and", "dogs", "cows", "eat", "grass", "emus", "run"]
    )
    np.testing.assert_array_equal(corpus.tokens_per_group, [5, 3, 2])
    expected = write(PAPERS, tmp_path / "again.csv")
    assert read(expected, group_names="title").fingerprint() == corpus.fingerprint()


def test_columns_of_numbers_are_content_if_there_is_no_text(tmp_path):
    frame = pd.DataFrame({"id": ["x", "y"], "year": [1, 2], "ant": [0, 3], "bee": [1, 0]})
    for name in ("c.csv", "c.jsonl", "c.parquet"):
        path = write(frame, tmp_path / name)
        corpus = Corpus.read(path, contexts="year", group_names="id")
        assert isinstance(corpus.content, Words)
        assert corpus.vocabulary.tolist() == ["ant", "bee"]
        np.testing.assert_array_equal(corpus.content.counts.toarray(), [[0, 1], [3, 0]])
        halves = frame.assign(ant=[0.5, 1.5])
        vectors = Corpus.read(write(halves, path), content=["ant", "bee"])
        assert isinstance(vectors.content, Vectors)
        with pytest.raises(
            InputError,
            match=r"must consist of columns of numbers, got .*; use Corpus.from_frame with text=",
        ):
            Corpus.read(path)


@pytest.mark.parametrize(
    ("fields", "kind", "observed"),
    [
        (["1", "NA", "3"], "number", [True, False, True]),
        (["1.5e3", "", "-.5"], "number", [True, False, True]),
        (["true", "FALSE", "nan"], "boolean", [True, True, False]),
        (["2001-01-01", "null", "2001-01-01 10:00"], "date", [True, False, True]),
        (["2001-01-01T10:00:00Z", "2001-01-01T10:00:00+02:00", ""], "date", [True, True, False]),
        (["2001-01", "2001-02", "2001-03"], "date", [True, True, True]),
        (["Namibia", "NA", "None"], "category", [True, True, True]),
        (["2001-13-45", "2001-01-01", ""], "category", [True, True, False]),
        (["1_000", "2", "3"], "category", [True, True, True]),
        (["", "NA", ""], "number", [False, False, False]),
        ([" a ", "a", "b"], "category", [True, True, True]),
    ],
)
def test_the_fields_of_a_csv_file_are_given_types(tmp_path, fields, kind, observed):
    path = tmp_path / "f.csv"
    path.write_text("text,x\n" + "".join(f"some words,{field}\n" for field in fields))
    column = Corpus.read(path, text="text", contexts=["x"]).contexts["x"]
    assert column.kind == kind
    assert column.observed.tolist() == observed


def test_times_with_zones_are_converted_to_utc(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("text,x\nsome words,2001-01-01T01:00:00+01:00\nmore words,2001-01-01\n")
    column = Corpus.read(path, text="text", contexts=["x"]).contexts["x"]
    assert column.values[0] == column.values[1] == 11323


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes(b"\xef\xbb\xbftext,x\r\nsome words,1\r\n\r\nother words,2\r\n")
    corpus = Corpus.read(path, text="text", contexts=["x"])
    assert len(corpus) == 2


def test_an_index_column_without_a_name_can_be_used(tmp_path):
    path = tmp_path / "f.csv"
    PAPERS.to_csv(path)
    corpus = Corpus.read(path, text="abstract", contexts=["column 1"])
    np.testing.assert_array_equal(corpus.contexts["column 1"].values, [0, 1, 2])


def test_texts_may_be_longer_than_the_csv_module_allows_by_default(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("text\n" + "word " * 100_000 + "\nother\n")
    assert Corpus.read(path, text="text").n_tokens == 100_001


def test_json_lines_may_lack_keys_and_hold_lists(tmp_path):
    rows = [{"t": "ab cd", "tags": ["x", "y"]}, {"t": "cd", "v": [1.0, 2.0]}, {"tags": []}]
    path = tmp_path / "f.ndjson"
    path.write_text("\n".join(map(json.dumps, rows)))
    corpus = Corpus.read(path, text="t", contexts=["tags", "v"], max_df=1.0)
    assert [column.kind for column in corpus.contexts.values()] == ["bag", "vector"]
    np.testing.assert_array_equal(corpus.tokens_per_group, [2, 1, 0])


def test_parquet_keeps_types_also_from_polars_and_from_a_folder(tmp_path):
    frame = pl.DataFrame(
        {
            "text": ["ab cd", "ef", None],
            "tags": [["x"], None, []],
            "day": [datetime.date(2001, 1, 1), None, None],
            "kind": pl.Series(["b", "a", None], dtype=pl.Categorical),
            "point": pl.Series([[1.0, 2.0], None, [3.0, 4.0]], dtype=pl.Array(pl.Float64, 2)),
        }
    )
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:2].write_parquet(folder / "1.parquet")
    frame[2:].write_parquet(folder / "2.parquet")
    frame.write_parquet(tmp_path / "whole.parquet")
    for path in (folder, tmp_path / "whole.parquet"):
        corpus = Corpus.read(path, text="text", contexts=["tags", "day", "kind", "point"])
        kinds = [column.kind for column in corpus.contexts.values()]
        assert kinds == ["bag", "date", "category", "vector"]
        assert len(corpus) == 3


def test_the_format_and_the_encoding_can_be_named(tmp_path):
    path = tmp_path / "papers.dat"
    path.write_bytes("text\tx\nna\xefve caf\xe9\t1\n\xfcber uns\t2\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"path must end in \.csv.* unless format= is given"):
        Corpus.read(path, text="text")
    with pytest.raises(InputError, match=r"is not encoded in utf-8 \(byte 9\); pass its enc"):
        Corpus.read(path, text="text", format="tsv", encoding="utf-8")
    corpus = Corpus.read(path, text="text", format="tsv", encoding="latin-1")
    assert "café" in corpus.vocabulary
    with pytest.raises(InputError, match="encoding must be a known encoding, got 'klingon'"):
        Corpus.read(path, text="text", format="tsv", encoding="klingon")
    with pytest.raises(
        InputError, match="format must be one of 'csv', 'jsonl', 'parquet', 'tsv', got"
    ):
        Corpus.read(path, text="text", format="xlsx")


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.parquet"])
def test_an_empty_file_is_refused(tmp_path, name):
    path = tmp_path / name
    for content in (b"", b"  \n\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"got an empty file|not a complete Parquet file"):
            read(path)


def test_a_file_with_a_header_alone_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("abstract,year\n")
    with pytest.raises(
        InputError, match=r"p\.csv must have at least one group, got a header without rows"
    ):
        Corpus.read(path, text="abstract")
    write(PAPERS[:0], tmp_path / "p.parquet")
    with pytest.raises(InputError, match="must have at least one group, got zero rows"):
        read(tmp_path / "p.parquet")


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.parquet", "p.csv.gz"])
def test_a_truncated_file_is_refused(tmp_path, name):
    path = write(pd.concat([PAPERS] * 21, ignore_index=True), tmp_path / name)
    whole = path.read_bytes()
    cut = len(whole) // 2
    if name.endswith(("csv", "tsv")):
        cut = whole.index(b"Rome", cut)  # within a row; a cut between rows leaves a valid file
    path.write_bytes(whole[:cut])
    with pytest.raises(InputError, match=r"truncated|not a complete Parquet file"):
        read(path)


def test_a_quote_that_is_never_closed_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('text,x\n"some words,1\nmore,2\n')
    with pytest.raises(InputError, match="it may be truncated"):
        Corpus.read(path, text="text")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "p.csv",
            "t,x\na,1,2\n",
            "must have 2 fields per line as in its header, got 3 in line 2; it may be truncated",
        ),
        (
            "p.csv",
            "t,x\na\n",
            "must have 2 fields per line as in its header, got 1 in line 2; it may be truncated",
        ),
        ("p.csv", "t\0,x\na,1\n", "zero bytes"),
        ("p.jsonl", "[1, 2]\n", r"p\.jsonl must contain JSON objects, got a list in line 1"),
        ("p.jsonl", '{"t": "a"}\n{"t": \n', "invalid JSON in line 2"),
        (
            "p.jsonl",
            '{"t": "a", "t": "b"}\n',
            r"p\.jsonl has invalid JSON in line 1 \(duplicate key\); it may be truncated",
        ),
        ("p.jsonl", '{"t": ' + "9" * 5000 + "}\n", "invalid JSON in line 1"),
        ("p.jsonl", "[" * 100_000 + "\n", "invalid JSON in line 1"),
        (
            "p.parquet",
            "PAR1 not really",
            r"not a complete Parquet file",
        ),
        ("p.csv.gz", "not gzip", "cannot be read"),
        ("p.xlsx", "PK", r"path must end in \.csv.* unless format= is given, got p.xlsx; export"),
        ("papers", "t,x", r"path must end in \.csv.* unless format= is given"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        Corpus.read(path, text="t")
    assert "\n" not in str(caught.value)


def test_a_broken_gzip_file_is_refused(tmp_path):
    path = tmp_path / "p.csv.gz"
    whole = bytearray(gzip.compress(b"t,x\n" + b"words,1\n" * 100))
    whole[20] ^= 0xFF
    path.write_bytes(whole)
    with pytest.raises(InputError, match="cannot be read"):
        Corpus.read(path, text="t")


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "no/folder.jsonl", "bad\0name.csv"])
def test_a_file_that_does_not_exist_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"does not exist|cannot be read"):
        Corpus.read(tmp_path / name, text="t")
    with pytest.raises(InputError, match="must be a file or contain Parquet files"):
        Corpus.read(tmp_path, text="t")
    with pytest.raises(InputError, match="path must be the path of a file"):
        Corpus.read(3, text="t")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"text": "year"},
            "got 'year', which contains numbers; the longest texts are in 'abstract'",
        ),
        (
            {"text": "day"},
            "text must name a column of texts, got 'day', which contains datetime values",
        ),
        (
            {"text": "open"},
            "text must name a column of texts, got 'open', which contains bool values",
        ),
        ({"text": "nothing"}, "text must name a column of p.csv, got 'nothing'"),
        ({"text": "abstract", "contexts": ["yeer"]}, "did you mean 'year'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, arguments, message):
    path = write(PAPERS, tmp_path / "p.csv")
    with pytest.raises(InputError, match=message):
        Corpus.read(path, **arguments)


def test_the_error_for_a_missing_file_names_a_similar_one(tmp_path):
    write(PAPERS, tmp_path / "papers.csv")
    with pytest.raises(InputError, match=r"does not exist; did you mean '.*papers\.csv'"):
        Corpus.read(tmp_path / "paper.csv", text="abstract")
    with pytest.raises(InputError, match=r"does not exist$"):
        Corpus.read(tmp_path / "nowhere" / "paper.csv", text="abstract")


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e200", "9" * 400])
def test_numbers_that_are_not_finite_or_too_large_are_refused(tmp_path, value):
    path = tmp_path / "p.csv"
    path.write_text(f"t,x\nsome words,1\nother words,{value}\n")
    with pytest.raises(InputError, match=r"context 'x' must (contain|be)"):
        Corpus.read(path, text="t", contexts=["x"])
    with pytest.raises(InputError, match=r"content must (contain|be)"):
        Corpus.read(path, content=["x"])

"""Any input gives a valid corpus or an InputError."""

import csv
import datetime
import gzip
import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from mcsquared.corpus import Corpus, Words, as_corpus
from mcsquared.errors import InputError

MANY = settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 5),
    st.floats(),
    st.floats(width=16, allow_nan=False),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.times(),
    st.timedeltas(),
    st.sampled_from([np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.float32(1.5), np.int8(3)]),
)
LISTS = st.one_of(
    st.lists(SCALARS, max_size=3),
    st.lists(st.text(max_size=2), max_size=3),
    st.lists(st.floats(-9, 9), min_size=2, max_size=2),
    st.frozensets(st.integers(0, 4), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(-1, 9) | st.floats(), max_size=3),
    arrays.arrays(
        st.sampled_from([np.float64, np.int64, object]), st.integers(0, 3), fill=st.just(1)
    ),
)
ENTRIES = st.one_of(SCALARS, LISTS)


def columns_of(n_rows):
    """Columns, mostly of one kind, sometimes mixed, sometimes of another length."""
    kinds = [
        st.integers(-5, 5),
        st.floats(-1e9, 1e9) | st.just(np.nan),
        st.booleans(),
        st.text(max_size=3),
        st.dates(),
        st.datetimes(timezones=st.none() | st.timezones()),
        st.lists(st.text(max_size=2) | st.none(), max_size=3),
        st.lists(st.floats(-9, 9), min_size=2, max_size=2),
        LISTS,
        ENTRIES,
    ]
    lists = st.sampled_from(kinds).flatmap(
        lambda kind: st.lists(kind | st.none(), min_size=n_rows, max_size=n_rows)
    )
    wrapped = st.tuples(
        lists, st.sampled_from([list, tuple, pd.Series, pl_series, object_array])
    ).map(lambda pair: pair[1](pair[0]))
    any_array = arrays.arrays(
        st.sampled_from(
            ["f8", "f4", "i8", "u1", "?", "U2", "S2", "M8[D]", "M8[ns]", "m8[s]", "c16", object]
        ),
        st.sampled_from([(n_rows,), (n_rows, 2), (n_rows, 1, 1), (n_rows + 1,), ()]),
        fill=st.nothing(),
    )
    categorical = lists.map(lambda values: pd.Series(list(map(str, values))).astype("category"))
    # Mostly columns that can be used, so that what comes after reading them is tried as well.
    return st.sampled_from([wrapped] * 6 + [any_array] * 2 + [categorical, ENTRIES]).flatmap(
        lambda strategy: strategy
    )


def polars_accepts(values):
    """Return whether polars can hold the values; it panics on other mixtures of types."""
    types = {type(value) for value in values} - {type(None)}
    entries = [entry for value in values if type(value) is list for entry in value]
    in_lists = {type(entry) for entry in entries} - {type(None)}
    return (
        len(types) <= 1 and types <= {bool, float, str, list, datetime.date} and in_lists <= {str}
    )


def pl_series(values):
    return pl.Series(values) if polars_accepts(values) else values


def object_array(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@st.composite
def contents(draw):
    """Valid and invalid content."""
    n_groups, width = draw(st.integers(0, 4)), draw(st.integers(0, 3))
    numbers = arrays.arrays(
        st.sampled_from(["i8", "u8", "i1", "?", "f8", "f2", "c16", object, "U1"]),
        draw(st.sampled_from([(n_groups, width), (n_groups,), (n_groups, width, 2)])),
    )
    counts = arrays.arrays("i8", (n_groups, width), elements=st.integers(0, 9))
    reals = arrays.arrays("f8", (n_groups, width), elements=st.floats(-9, 9))
    sparse_floats = arrays.arrays("f8", (n_groups, width)).map(sparse.csr_matrix)
    ragged = st.lists(
        arrays.arrays(
            "f8", st.tuples(st.integers(0, 3), st.integers(width, width + 1) | st.just(width))
        ),
        max_size=4,
    )
    other = st.one_of(
        st.lists(ENTRIES, max_size=4),
        st.lists(st.lists(st.text(max_size=3), max_size=3), max_size=4),
        st.lists(st.text(max_size=9) | st.none(), max_size=4),
        ENTRIES,
    )
    frames = counts.map(lambda matrix: pd.DataFrame(matrix)) | reals.map(lambda m: pl.DataFrame(m))
    return draw(
        st.one_of(
            counts,
            counts.map(sparse.coo_matrix),
            reals,
            numbers,
            sparse_floats,
            ragged,
            frames,
            other,
        )
    )


def check(corpus):
    """Check the invariants of a corpus."""
    n_groups = len(corpus)
    assert n_groups == corpus.n_groups > 0
    assert corpus.tokens_per_group.shape == (n_groups,)
    assert corpus.tokens_per_group.sum() == corpus.n_tokens
    assert len(corpus.group_names) == n_groups
    if isinstance(corpus.content, Words):
        counts = corpus.content.counts
        assert counts.dtype == np.int32
        assert (counts.data > 0).all()
        assert counts.has_canonical_format
        assert len(set(corpus.vocabulary)) == corpus.n_words == counts.shape[1] > 0
    else:
        assert np.isfinite(corpus.content.values).all()
        assert corpus.content.width > 0
    for name, column in corpus.contexts.items():
        assert name == column.name
        assert len(column) == len(column.observed) == n_groups
        observations = column.observations()
        assert observations.shape[0] == column.observed.sum()
        check_family(column, observations)
    assert len(corpus.describe()) > 0
    assert len(corpus.fingerprint()) == 64
    aligned = corpus.aligned_to(corpus.vocabulary, corpus.contexts)
    assert aligned.fingerprint() == corpus.fingerprint()
    backwards = corpus[::-1][::-1]
    assert backwards.fingerprint() == corpus.fingerprint()


def check_family(column, observations):
    """Check that the family of a column accepts it, or that the error is one sentence."""
    try:
        filled = column.fill_family(column.default_family())
    except InputError as error:  # a variance that cannot be computed in float64
        assert "rescale" in str(error) or "finite variance" in str(error)
        assert "\n" not in str(error)
        return
    assert np.isfinite(filled.statistics(observations)).all()


def attempt(make):
    """Check the corpus that is made, or that the error is one sentence."""
    try:
        corpus = make()
    except InputError as error:
        message = str(error)
    else:
        check(corpus)
        return
    assert message
    assert "\n" not in message


@MANY
@given(contents(), st.sampled_from(["auto", "auto", "counts", "vectors"]))
def test_any_content_gives_a_corpus_or_an_input_error(content, kind):
    attempt(lambda: as_corpus(content, content=kind))


def test_a_context_of_tiny_values_is_a_corpus_that_must_be_rescaled():
    check(Corpus(np.ones((2, 2), int), {"x": [0.0, 5.821843017844754e-153]}))


@MANY
@given(st.data())
def test_any_contexts_give_a_corpus_or_an_input_error(data):
    n_groups = data.draw(st.integers(1, 4))
    contexts = data.draw(st.dictionaries(st.text(max_size=3), columns_of(n_groups), max_size=2))
    attempt(lambda: Corpus(np.ones((n_groups, 2), int), contexts))


@MANY
@given(st.data())
def test_any_frame_gives_a_corpus_or_an_input_error(data):
    n_rows = data.draw(st.sampled_from([0, 1, 2, 3, 4]))

    def column(kinds):
        kind = data.draw(st.sampled_from(kinds))
        return data.draw(st.lists(kind, min_size=n_rows, max_size=n_rows))

    words = st.text("abc ", max_size=12) | st.none()
    columns = {
        "text": column([words, words, words, st.lists(st.text(max_size=2)), SCALARS]),
        "x": column([st.integers(0, 9), st.floats(-9, 9), st.text(max_size=3), ENTRIES]),
        "y": column([st.text("ab;,", max_size=5), st.lists(st.text(max_size=2)), SCALARS]),
        "z": column([st.integers(0, 9), st.floats(0, 9), st.integers()]),
    }
    for_polars = {name: values for name, values in columns.items() if polars_accepts(values)}
    use_polars = data.draw(st.booleans())
    frame = pl.DataFrame(for_polars) if use_polars else pd.DataFrame(columns)
    arguments = {
        "text": data.draw(st.sampled_from(["text", "text", "text", "x", None, "nowhere"])),
        "contexts": data.draw(st.lists(st.sampled_from(["x", "y", "z"]), max_size=3, unique=True)),
        "bags": data.draw(st.sampled_from([None, None, {"y": None}, {"x": ";"}])),
        "group_names": data.draw(st.sampled_from([None, None, "x", "nowhere"])),
    }
    attempt(lambda: Corpus.from_frame(frame, **arguments))


@MANY
@given(st.data())
def test_any_index_gives_a_part_or_an_input_error(data):
    corpus = Corpus(np.eye(4, dtype=int), {"year": [1, None, 3, 4], "tags": [["a"], [], ["b"], []]})
    rows = data.draw(
        st.one_of(
            st.slices(6),
            st.lists(st.integers(-6, 6)),
            st.lists(st.booleans()),
            arrays.arrays(st.sampled_from(["i8", "u1", "f8", "?", "U1"]), st.integers(0, 5)),
            ENTRIES,
        )
    )
    attempt(lambda: corpus[rows])


CSV_TEXT = st.lists(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=5), min_size=1, max_size=3), max_size=5
).map(lambda rows: "\n".join(",".join(row) for row in rows))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)
JSON_TEXT = st.lists(
    st.dictionaries(st.sampled_from(["text", "x", "y"]), JSON_VALUES, max_size=3) | JSON_VALUES,
    max_size=4,
).map(lambda rows: "\n".join(map(json.dumps, rows)))


def read_or_refuse(path, **arguments):
    attempt(lambda: Corpus.read(path, **arguments))


@MANY
@given(st.data())
def test_any_bytes_in_a_file_give_a_corpus_or_an_input_error(tmp_path, data):
    suffix = data.draw(st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz"]))
    text = st.one_of(CSV_TEXT, JSON_TEXT).map(lambda string: string.encode("utf-8", "replace"))
    content = data.draw(st.binary(max_size=60) | text | text.map(lambda b: b"text,x\n" + b))
    path = tmp_path / f"any{suffix}"
    if suffix == ".csv.gz" and data.draw(st.booleans()):
        content = gzip.compress(content)
    path.write_bytes(content)
    read_or_refuse(
        path,
        text=data.draw(st.sampled_from([None, "text", "x"])),
        contexts=data.draw(st.sampled_from([None, ["x"], ["x", "y"]])),
        bags=data.draw(st.sampled_from([None, {"x": None}])),
        encoding=data.draw(st.sampled_from(["utf-8", "latin-1", "utf-16", "ascii"])),
    )


FIELDS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.integers().map(str),
    st.floats().map(str),
    st.dates().map(str),
    st.datetimes(timezones=st.none() | st.timezones()).map(str),
    st.sampled_from(["", "NA", "true", "False", "a;b", "1,5", "2001-02", "0001-01-01T00:00+14:00"]),
)


@MANY
@given(st.data())
def test_any_fields_of_a_csv_file_give_a_corpus_or_an_input_error(tmp_path, data):
    columns = [
        data.draw(
            st.lists(st.text(st.characters(codec="utf-8"), max_size=20), min_size=1, max_size=5)
        )
    ]
    for _ in range(2):
        kind = data.draw(st.sampled_from([FIELDS, *FIELDS.original_strategies]))
        size = len(columns[0])
        columns.append(data.draw(st.lists(kind, min_size=size, max_size=size)))
    path = tmp_path / "fields.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "x", "y"], *zip(*columns, strict=True)])
    read_or_refuse(
        path,
        text=data.draw(st.sampled_from([None, "text", "text", "text", "x"])),
        contexts=data.draw(st.sampled_from([None, ["x"], ["x", "y"]])),
        bags=data.draw(st.sampled_from([None, None, {"x": None}])),
        group_names=data.draw(st.sampled_from([None, "y"])),
    )


@MANY
@given(st.lists(JSON_VALUES, min_size=1, max_size=4), st.sampled_from(["text", "x", None]))
def test_any_json_values_give_a_corpus_or_an_input_error(tmp_path, values, text):
    path = tmp_path / "any.jsonl"
    path.write_text("\n".join(json.dumps({"text": "some words", "x": value}) for value in values))
    read_or_refuse(path, text=text, contexts=None if text == "x" else ["x"])


def valid_files():
    frame = pd.DataFrame(
        {
            "text": ["some words", "other, words", 'a "quoted" word'] * 8,
            "x": [1.5, None, 3.0] * 8,
            "y": pd.to_datetime(["2001-01-01", None, "2002-02-02"] * 8),
            "z": [["a", "b"], [], None] * 8,
        }
    )
    simple = frame.drop(columns="z")
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    return {
        ".csv": simple.to_csv(index=False).encode(),
        ".tsv": simple.to_csv(index=False, sep="\t").encode(),
        ".jsonl": frame.to_json(orient="records", lines=True, date_format="iso").encode(),
        ".parquet": parquet.getvalue(),
        ".csv.gz": gzip.compress(simple.to_csv(index=False).encode(), mtime=0),
    }


WHOLE = valid_files()


@MANY
@given(st.data())
def test_a_damaged_file_gives_a_corpus_or_an_input_error(tmp_path, data):
    suffix = data.draw(st.sampled_from(sorted(WHOLE)))
    content = bytearray(WHOLE[suffix])
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / f"damaged{suffix}"
    path.write_bytes(content)
    read_or_refuse(path, text="text", contexts=["x", "y"])


@pytest.mark.parametrize("suffix", sorted(WHOLE))
def test_undamaged_files_are_read(tmp_path, suffix):
    path = tmp_path / f"whole{suffix}"
    path.write_bytes(WHOLE[suffix])
    corpus = Corpus.read(path, text="text", contexts=["x", "y"])
    check(corpus)
    assert [column.kind for column in corpus.contexts.values()] == ["number", "date"]


@MANY
@given(st.lists(st.dates() | st.none(), min_size=1).filter(any))
def test_dates_are_restored(dates):
    column = Corpus(np.ones((len(dates), 1), int), {"day": dates}).contexts["day"]
    displayed = column.display(column.values).astype("M8[D]").tolist()
    assert displayed == dates


@MANY
@given(
    st.lists(st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2050, 1, 1)), min_size=1)
)
def test_times_are_restored_to_the_microsecond(moments):
    column = Corpus(np.ones((len(moments), 1), int), {"at": moments}).contexts["at"]
    assert column.display(column.values).astype("M8[us]").tolist() == moments


@MANY
@given(st.lists(st.lists(st.text(min_size=1, max_size=3), max_size=5), min_size=1).filter(any))
def test_every_token_is_counted(tokens):
    corpus = Corpus.from_tokens(tokens)
    counts, words = corpus.content.counts.toarray(), corpus.vocabulary.tolist()
    assert words == sorted(words)
    for j, group in enumerate(tokens):
        assert [group.count(word) for word in words] == counts[j].tolist()

"""A folder of Parquet files with vectors holds the corpus that the same vectors make in memory."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import mcsquared as mc2
from mcsquared.corpus import buffers
from mcsquared.corpus.sources import parquet as parquet_source
from mcsquared.errors import InputError

FLOAT = pa.float64()
LISTS = [
    pa.list_(pa.list_(FLOAT)),
    pa.large_list(pa.list_(FLOAT, 2)),
    pa.list_(pa.large_list(pa.float32())),
    pa.list_(pa.list_(pa.int16())),
    pa.list_(pa.list_(pa.decimal128(9, 2), 2)),
]


@pytest.fixture(autouse=True, params=["whole", "in small pieces"])
def _batch_size(request, monkeypatch):
    """Run each test with data that fit into one batch and block, and with data that do not."""
    if request.param == "in small pieces":
        monkeypatch.setattr(parquet_source, "_MIN_BATCH_BYTES", 1)
        monkeypatch.setattr(parquet_source, "_MAX_BATCH_BYTES", 200)
        monkeypatch.setattr(buffers, "BLOCK_ENTRIES", 7)


def groups_of(seed, n_groups=40, width=2):
    """Return groups of 0 to 5 vectors of whole numbers, which every type can hold."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 6, n_groups)
    return [rng.integers(-9, 9, (n, width)).astype(float) for n in sizes]


def write(folder, *columns, **others):
    folder.mkdir(exist_ok=True)
    for number, column in enumerate(columns):
        table = pa.table({"vectors": column})
        for name, values in others.items():
            table = table.append_column(name, [values[number]])
        parquet.write_table(table, folder / f"{number:03}.parquet", row_group_size=11)
    return folder


def assert_same(disk, corpus):
    whole = disk[0 : disk.n_groups]
    np.testing.assert_array_equal(whole.content.start, corpus.content.start)
    np.testing.assert_array_equal(whole.content.values, corpus.content.values)
    assert whole.content.values.dtype == np.float64
    assert whole.content.values.flags.c_contiguous
    assert whole.group_names.tolist() == corpus.group_names.tolist()
    assert disk.describe() == corpus.describe()
    assert whole.fingerprint() == corpus.fingerprint() == disk.fingerprint()
    assert (disk.n_groups, disk.n_tokens, disk.n_words) == (corpus.n_groups, corpus.n_tokens, 0)
    assert disk.vocabulary is disk.word_frequency is disk.document_frequency is None
    assert disk.content.width == corpus.content.width
    np.testing.assert_array_equal(disk.lengths(0, disk.n_groups), corpus.tokens_per_group)


@pytest.mark.parametrize("kind", LISTS, ids=str)
def test_lists_of_vectors_of_every_type_are_those_in_memory(kind, tmp_path):
    groups, nested = groups_of(0), lambda part: [group.tolist() for group in part]
    if types_are_decimal(kind):
        nested = decimals
    folder = write(
        tmp_path / "folder",
        *(pa.array(nested(part), kind) for part in (groups[:25], groups[25:26], groups[26:])),
    )
    with mc2.ParquetFolder(folder).open() as disk:
        assert_same(disk, mc2.Corpus(groups))


def types_are_decimal(kind):
    return pa.types.is_decimal(kind.value_type.value_type)


def decimals(part):
    from decimal import Decimal

    return [[[Decimal(int(x)) for x in row] for row in group] for group in part]


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("is_fixed", [True, False], ids=["fixed", "variable"])
def test_a_group_may_be_one_vector(width, is_fixed, tmp_path):
    matrix = np.random.default_rng(0).normal(size=(30, width))
    kind = pa.list_(FLOAT, width) if is_fixed else pa.list_(FLOAT)
    folder = write(
        tmp_path / "folder", pa.array(matrix[:20].tolist(), kind), pa.array(matrix[20:].tolist())
    )
    with mc2.ParquetFolder(folder).open() as disk:
        assert_same(disk, mc2.Corpus(matrix))


@pytest.mark.parametrize("kind", [pa.list_(FLOAT, 2), pa.list_(FLOAT)], ids=str)
def test_a_group_whose_vector_is_missing_has_none(kind, tmp_path):
    folder = write(tmp_path / "folder", pa.array([None, [1.0, 2.0], None, [3.0, 4.0]], kind))
    nothing = np.zeros((0, 2))
    groups = [nothing, np.array([[1.0, 2.0]]), nothing, np.array([[3.0, 4.0]])]
    with mc2.ParquetFolder(folder).open() as disk:
        assert_same(disk, mc2.Corpus(groups))


def test_files_with_only_empty_groups_do_not_determine_the_width(tmp_path):
    empty = [
        pa.array([[], []]),
        pa.nulls(3),
        pa.array([[], None], pa.list_(pa.list_(FLOAT))),
    ]
    groups = groups_of(1, 9)
    vectors = pa.array([group.tolist() for group in groups])
    folder = write(tmp_path / "folder", *empty, vectors, *empty)
    nothing = [np.zeros((0, 2))] * 7
    with mc2.ParquetFolder(folder).open() as disk:
        assert_same(disk, mc2.Corpus([*nothing, *groups, *nothing]))


def test_contexts_and_names_belong_to_the_groups(tmp_path):
    groups = groups_of(2)
    year = [None if j % 3 == 0 else float(j) for j in range(40)]
    kind = [None if j % 7 == 0 else "abc"[j % 3] for j in range(40)]
    name = [f"image {j}" for j in range(40)]
    halves = slice(0, 15), slice(15, 40)
    columns = [pa.array([group.tolist() for group in groups[half]]) for half in halves]
    others = {
        column: [pa.array(values[half]) for half in halves]
        for column, values in (("year", year), ("kind", kind), ("name", name))
    }
    folder = write(tmp_path / "folder", *columns, **others)
    corpus = mc2.Corpus(groups, {"year": year, "kind": kind}, name)
    with mc2.ParquetFolder(folder, group_names="name").open() as disk:
        assert_same(disk, corpus)
        for rows in (slice(3, 9), [0, 1, 7, 8, 30], np.arange(40) % 4 == 1):
            part = disk[rows]
            assert part.fingerprint() == corpus[rows].fingerprint()
        copy = pickle.loads(pickle.dumps(disk))
        assert copy[5:20].fingerprint() == corpus[5:20].fingerprint()


def test_the_fingerprint_depends_on_every_number_and_on_the_division_into_groups(tmp_path):
    found = []
    for number, groups in enumerate(
        (
            [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]],
            [[[1.0, 2.0], [3.0, 4.5]], [[5.0, 6.0]]],
            [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]],
            [[[1.0], [2.0], [3.0], [4.0]], [[5.0], [6.0]]],
        )
    ):
        with mc2.ParquetFolder(write(tmp_path / str(number), pa.array(groups))).open() as disk:
            found.append(disk.fingerprint())
    assert len(set(found)) == 4


def test_a_column_of_vectors_is_the_content_if_nothing_else_is(tmp_path):
    path = tmp_path / "one.parquet"
    vectors, words = [[0.5, 1.0], [1.5, 2.0]], [["a"], ["b"]]
    for column in ("tokens", "text"):
        parquet.write_table(pa.table({"vectors": vectors, column: words}), path)
        with mc2.ParquetFolder(path, contexts=None).open() as disk:
            assert disk.n_words == 2
        with mc2.ParquetFolder(path, text="vectors", contexts=None).open() as disk:
            assert (disk.n_words, disk.content.width) == (0, 2)
    table = {"vectors": vectors, "words": words, "counts": [[1], [2]]}
    parquet.write_table(pa.table(table), path)
    with mc2.ParquetFolder(path).open() as disk:
        assert (disk.n_tokens, disk.contexts["vectors"].kind) == (3, "vector")


def test_columns_of_numbers_are_coordinates(tmp_path):
    rng = np.random.default_rng(3)
    columns = {
        "x": rng.normal(size=30),
        "n": rng.integers(0, 9, 30),
        "is_new": rng.random(30) < 0.5,
        "year": np.arange(30.0),
    }
    content = ["x", "n", "is_new"]
    corpus = mc2.Corpus.from_frame(pa.table(columns), contexts="year", content=content)
    for number, rows in enumerate((slice(0, 12), slice(12, 30))):
        part = pa.table({name: values[rows] for name, values in columns.items()})
        parquet.write_table(part, tmp_path / f"{number}.parquet", row_group_size=5)
    with mc2.ParquetFolder(tmp_path, content=content).open() as disk:
        assert_same(disk, corpus)
        assert list(disk.contexts) == ["year"]


def test_files_of_integers_are_coordinates_if_others_have_floats(tmp_path):
    for number, values in enumerate(([1, 2], [0.5, 1.5])):
        parquet.write_table(pa.table({"x": values}), tmp_path / f"{number}.parquet")
    with mc2.ParquetFolder(tmp_path, content="x").open() as disk:
        assert_same(disk, mc2.Corpus(np.array([[1.0], [2.0], [0.5], [1.5]])))


@pytest.mark.parametrize("kind", LISTS, ids=str)
def test_a_table_in_memory_has_the_vectors_of_a_folder(kind, tmp_path):
    groups = groups_of(4)
    nested = decimals(groups) if types_are_decimal(kind) else [group.tolist() for group in groups]
    column = pa.array([None if j % 9 == 0 else group for j, group in enumerate(nested)], kind)
    path = write(tmp_path / "folder", column) / "000.parquet"
    with mc2.ParquetFolder(path).open() as disk:
        for frame in (pa.table({"vectors": column}), parquet.read_table(path).to_pandas()):
            assert_same(disk, mc2.Corpus.from_frame(frame, "vectors"))
        assert_same(disk, mc2.Corpus.read(path, "vectors"))


def test_a_vector_per_row_may_begin_with_an_integer():
    frame = {"vectors": [[1, 2.5], [], None, [3, 4]]}
    corpus = mc2.Corpus.from_frame(pd.DataFrame(frame), "vectors")
    assert corpus.tokens_per_group.tolist() == [1, 0, 0, 1]
    assert corpus.content.values.tolist() == [[1.0, 2.5], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [[[0.5], [0.5, 1.0]]],
            r"content\[0\] must consist of vectors of numbers, all of one width",
        ),
        ([[[0.5]], [[0.5], None]], r"content\[1\] must be|content\[1\] must consist of vectors"),
        ([[[0.5]], [[0.5, 1.0]]], r"got 1 in content\[0\] and 2 in content\[1\]"),
        ([[0.5, 1.0], [0.5]], r"got 2 in content\[0\] and 1 in content\[1\]"),
        ([[0.5, None]], "content must not contain NaN"),
        ([[0.5, np.inf]], "content must contain finite numbers"),
        ([[0.5], ["a"]], r"content\[1\] must consist of vectors of numbers"),
    ],
)
def test_invalid_vectors_of_a_table_are_refused(column, message):
    with pytest.raises(InputError, match=message):
        mc2.Corpus.from_frame(pd.DataFrame({"vectors": column}), "vectors")


def test_options_for_words_are_refused_with_vectors():
    frame = pd.DataFrame({"vectors": [[0.5, 1.0]]})
    for options in ({"min_df": 2}, {"vocabulary": ["a"]}):
        with pytest.raises(InputError, match=f"{next(iter(options))} must not be given if column"):
            mc2.Corpus.from_frame(frame, "vectors", **options)

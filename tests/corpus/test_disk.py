"""A folder of Parquet files gives the same corpus as its rows in memory."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import mcsquared as mc2
from mcsquared.corpus import buffers
from mcsquared.corpus.sources import parquet as parquet_source
from tests.corpus.parquet_columns import COLUMNS, random_table


@pytest.fixture(autouse=True, params=["whole", "in small batches"])
def _batch_size(request, monkeypatch):
    """Run each test with data that fit into one batch and block, and with data that do not."""
    if request.param == "in small batches":
        monkeypatch.setattr(parquet_source, "_MIN_BATCH_BYTES", 1)
        monkeypatch.setattr(parquet_source, "_MAX_BATCH_BYTES", 700)
        monkeypatch.setattr(buffers, "BLOCK_ENTRIES", 7)


def write(folder, *tables, **options):
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        if isinstance(table, dict):
            table = pa.table(table)
        parquet.write_table(table, folder / f"{number:03}.parquet", row_group_size=11, **options)
    return folder


def in_memory(folder, text, contexts, **options):
    """Return the corpus of all rows, read as one table."""
    tables = []
    for path in sorted(folder.iterdir()):
        with parquet.ParquetFile(path) as file:
            tables += [file.read_row_group(group) for group in range(file.num_row_groups)]
    whole = pa.concat_tables(tables, promote_options="permissive")
    return mc2.Corpus.from_frame(whole, text, contexts, **options)


def assert_same(disk, corpus):
    whole = disk[0 : disk.n_groups]
    for name, column in corpus.contexts.items():
        other = whole.contexts[name]
        assert (other.kind, other.note) == (column.kind, column.note), name
        if column.categories is not None:
            assert other.categories.tolist() == column.categories.tolist(), name
            assert disk.contexts[name].categories.tolist() == column.categories.tolist()
        assert disk.contexts[name].kind == column.kind
        assert len(disk.contexts[name]) == 0
    assert list(whole.contexts) == list(corpus.contexts)
    assert whole.vocabulary.tolist() == corpus.vocabulary.tolist()
    assert whole.group_names.tolist() == corpus.group_names.tolist()
    assert disk.describe() == corpus.describe()
    assert whole.notes == corpus.notes == disk.notes
    assert whole.dropped_words == corpus.dropped_words == disk.dropped_words
    assert whole.dropped_tokens == corpus.dropped_tokens == disk.dropped_tokens
    assert whole.fingerprint() == corpus.fingerprint() == disk.fingerprint()
    assert (disk.n_groups, disk.n_tokens) == (corpus.n_groups, corpus.n_tokens)
    np.testing.assert_array_equal(disk.lengths(0, disk.n_groups), corpus.tokens_per_group)
    counts = corpus.content.counts
    np.testing.assert_array_equal(disk.word_frequency, np.asarray(counts.sum(axis=0)).ravel())
    np.testing.assert_array_equal(disk.document_frequency, counts.getnnz(axis=0))


def check(folder, text="tokens", contexts=None, **options):
    with mc2.ParquetFolder(folder, text, contexts, **options).open() as disk:
        assert_same(disk, in_memory(folder, text, contexts, **options))


# ------------------------------------------------------------------------------ random tables


@pytest.mark.parametrize("name", COLUMNS)
def test_a_context_of_every_type_equals_the_one_in_memory(name, tmp_path):
    tables = [random_table(seed, n, [name]) for seed, n in ((1, 30), (2, 1), (3, 25))]
    check(write(tmp_path / "folder", *tables), contexts=[name])


@pytest.mark.parametrize("name", COLUMNS)
def test_files_in_which_a_context_is_missing_do_not_determine_its_kind(name, tmp_path):
    shares = (1.0, 0.3, 1.0)
    tables = [random_table(seed, 15, [name], share) for seed, share in enumerate(shares)]
    check(write(tmp_path / "folder", *tables), contexts=[name])


@pytest.mark.parametrize("name", COLUMNS)
def test_a_context_without_observations_equals_the_one_in_memory(name, tmp_path):
    tables = [random_table(seed, 15, [name], 1.0) for seed in range(2)]
    check(write(tmp_path / "folder", *tables), contexts=[name])


def test_all_contexts_are_taken_in_the_order_of_the_file(tmp_path):
    names = [name for name in COLUMNS if name != "float"]
    tables = [random_table(seed, 20, [*names, "float"]) for seed in range(3)]
    folder = write(tmp_path / "folder", *tables)
    with mc2.ParquetFolder(folder).open() as disk:
        assert_same(disk, in_memory(folder, "tokens", [*names, "float"]))
    with mc2.ParquetFolder(folder, contexts=None).open() as disk:
        assert disk.contexts == {}
        assert_same(disk, in_memory(folder, "tokens", None))


def test_a_folder_written_by_pandas_equals_its_frames(tmp_path):
    frames = []
    (tmp_path / "folder").mkdir()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "text": ["ants and bees", None, "bees, cars"],
                "year": [1990 + seed, None, 2000],
                "day": pd.to_datetime(["2020-01-01", None, "2020-02-03"]),
                "flag": [True, False, True],
                "tags": [["b", "a"], [], None],
                "by": [None, None, None] if seed == 0 else ["Ann", None, "Bob"],
                "place": rng.normal(size=(3, 2)).tolist(),
            },
            index=[f"row {seed} {i}" for i in range(3)],
        )
        frame.to_parquet(tmp_path / "folder" / f"{seed}.parquet")
        frames.append(frame)
    contexts = ["year", "day", "flag", "tags", "by", "place"]
    corpus = mc2.Corpus.from_frame(
        pd.concat(frames, ignore_index=True), "text", contexts, vocabulary=["bees", "cars"]
    )
    with mc2.ParquetFolder(tmp_path / "folder", vocabulary=["bees", "cars"]).open() as disk:
        assert_same(disk, corpus)  # an index without a name is not a context


def test_a_column_with_several_numeric_types_is_numeric(tmp_path):
    tokens = [["a"], ["b"]]
    tables = [
        {"tokens": tokens, "x": pa.array([1, None], pa.int8())},
        {"tokens": tokens, "x": [True, False]},
        {"tokens": tokens, "x": [0.5, None]},
        {"tokens": tokens, "x": pa.nulls(2)},
    ]
    frames = [pa.table(table).to_pandas() for table in tables]
    values = [value for table in tables for value in pa.table(table)["x"].to_pylist()]
    frame = pd.concat(frames)[["tokens"]].reset_index(drop=True)
    corpus = mc2.Corpus.from_frame(frame.assign(x=pd.Series(values, dtype=object)), "tokens", "x")
    with mc2.ParquetFolder(write(tmp_path / "folder", *tables)).open() as disk:
        assert_same(disk, corpus)


# ------------------------------------------------------------------------------ content


TEXTS = [
    [["ants and bees", "Bees! bees? ants", None], ["a car", "", "cars and vans and ants"]],
    [[f"common w{i % 40} w{i % 7} only{i}" for i in range(90)], [None, "w1 w2"] * 20],
]


@pytest.mark.parametrize("texts", TEXTS, ids=["few", "many"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stop_words": "english", "ngram_range": (1, 2)},
        {"min_df": 1, "max_df": 1.0, "max_features": 5},
        {"binary": True, "lowercase": False, "token_pattern": r"\w"},
        {"vocabulary": ["zebra", "w1", "ants", "bees"]},
    ],
    ids=["defaults", "pairs of words", "most common", "letters", "given words"],
)
def test_texts_have_the_same_words_as_in_memory(texts, options, tmp_path):
    folder = write(tmp_path / "folder", *({"text": pa.array(part, pa.string())} for part in texts))
    check(folder, "text", **options)


def test_texts_whose_words_are_all_frequent_keep_them(tmp_path):
    folder = write(tmp_path / "folder", {"text": ["ant", "ant ant"]}, {"text": ["ant", "ant"]})
    check(folder, "text")


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.int64()])
def test_codes_are_names_of_words(kind, tmp_path):
    parts = [[[10, 2, 2], None, []], [[1, 3, 2], [100]]]
    folder = write(
        tmp_path / "folder", *({"tokens": pa.array(part, pa.list_(kind))} for part in parts)
    )
    check(folder)
    check(folder, vocabulary=["2", "10", "7"])  # numbers as strings are names


def test_codes_are_indices_into_a_vocabulary(tmp_path):
    folder = write(tmp_path / "folder", {"tokens": [[1, 0, 1], [2]]}, {"tokens": [[2, 2], None]})
    groups = [["bee", "ant", "bee"], ["car"], ["car", "car"], []]
    corpus = mc2.Corpus.from_tokens(groups, vocabulary=["ant", "bee", "car", "dog"])
    codes = mc2.ParquetFolder(folder, vocabulary=["ant", "bee", "car", "dog"])
    with codes.open() as disk:
        assert_same(disk, corpus)
    with codes.counted_in(["car", "bee"]).open() as disk:  # codes keep their meaning
        assert_same(disk, mc2.Corpus.from_tokens(groups, vocabulary=["car", "bee"]))
    with mc2.ParquetFolder(folder).counted_in(["car", "1"]).open() as disk:
        assert disk.word_frequency.tolist() == [0, 2]


COUNTS = [[[("b", 2), ("a", 1)], None, []], [[("c", 0), ("a", 3)], [("b", None), ("d", 1)]]]
COUNTED = [["a", "b", "b"], [], [], ["a", "a", "a"], ["d"]]


@pytest.mark.parametrize("number", [pa.int16(), pa.float64()])
def test_maps_hold_counts(number, tmp_path):
    kind = pa.map_(pa.string(), number)
    folder = write(tmp_path / "folder", *({"counts": pa.array(part, kind)} for part in COUNTS))
    with mc2.ParquetFolder(folder).open() as disk:
        assert_same(disk, mc2.Corpus.from_tokens(COUNTED))
    with mc2.ParquetFolder(folder, vocabulary=["d", "b"]).open() as disk:
        assert_same(disk, mc2.Corpus.from_tokens(COUNTED, vocabulary=["d", "b"]))


def test_words_and_counts_in_two_columns_belong_together(tmp_path):
    tables = [
        {
            "words": [None if row is None else [word for word, _ in row] for row in part],
            "counts": [None if row is None else [count for _, count in row] for row in part],
            "year": [1990.0] * len(part),
        }
        for part in [*COUNTS, [[("b", 1), ("b", 2)]]]
    ]
    folder = write(tmp_path / "folder", *tables)
    groups = [*COUNTED, ["b", "b", "b"]]
    with mc2.ParquetFolder(folder).open() as disk:
        assert_same(disk, mc2.Corpus.from_tokens(groups, {"year": [1990.0] * 6}))
    with mc2.ParquetFolder(folder, ("words", "counts"), None).open() as disk:
        assert_same(disk, mc2.Corpus.from_tokens(groups))


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
        pa.list_(pa.string(), 2),
    ],
    ids=str,
)
def test_lists_of_words_of_every_type_are_read(kind, tmp_path):
    parts = [[["b", "a"], None, ["a", "a"]], [["c", "a"], ["zoo", "b"]]]
    folder = write(tmp_path / "folder", *({"tokens": pa.array(part, kind)} for part in parts))
    check(folder)


def test_files_with_only_empty_groups_are_accepted(tmp_path):
    tables = [{"tokens": [[], None]}, {"tokens": [["a"]]}, {"tokens": pa.nulls(2)}]
    corpus = mc2.Corpus.from_tokens([[], [], ["a"], [], []])
    with mc2.ParquetFolder(write(tmp_path / "folder", *tables)).open() as disk:
        assert_same(disk, corpus)


def test_the_first_column_with_a_known_name_is_the_content(tmp_path):
    table = {"text": ["ant bee", "car"], "tokens": [["x"], ["y"]]}
    folder = write(tmp_path / "folder", table)
    with mc2.ParquetFolder(folder, contexts=None).open() as disk:
        assert disk.vocabulary.tolist() == ["x", "y"]
    with mc2.ParquetFolder(folder, "text").open() as disk:
        assert disk.vocabulary.tolist() == ["ant", "bee", "car"]
        assert disk.contexts["tokens"].kind == "bag"


# ------------------------------------------------------------------------------ bags and names


@pytest.mark.parametrize(
    ("values", "separator"),
    [
        ([["Ada; Bob", None, "Cy"], ["Bob;Ada;;", " ; ", "Cy, Dee"]], None),
        ([["Ada, Bob", None, "Cy"], ["", ",", "Bob"]], None),
        ([["Ada|Bob", None, "Cy;"], ["|Cy | Cy", "", "Bob"]], "|"),
        ([["Ada|Bob", None, "Cy"], ["Cy | Dee", "Dee, Ed", "Bob"]], None),
        ([["", None, ","], [None, None, None]], None),
    ],
)
def test_strings_are_split_as_in_memory(values, separator, tmp_path):
    tables = [{"tokens": [["a"]] * len(part), "by": pa.array(part, pa.string())} for part in values]
    folder = write(tmp_path / "folder", *tables)
    check(folder, contexts=["by"], bags={"by": separator})


@pytest.mark.parametrize("values", [[3, None, 5], [["a", "b"], None, ["b"]]])
def test_a_declared_bag_need_not_hold_strings(values, tmp_path):
    folder = write(tmp_path / "folder", {"tokens": [["a"]] * 3, "by": values})
    check(folder, contexts=["by"], bags=["by"])


@pytest.mark.parametrize(
    "names",
    [
        ["a", "é", None, ""],
        [3, 4, None, 5],
        [0.5, None, 1.0, 2.0],
        pd.date_range("2020-01-01", periods=4),
    ],
    ids=["strings", "integers", "floats", "dates"],
)
def test_groups_are_named_by_a_column(names, tmp_path):
    table = {"tokens": [["a"], ["b"], [], ["c"]], "name": names}
    folder = write(tmp_path / "folder", table, table)
    check(folder, group_names="name")
    with mc2.ParquetFolder(folder, group_names="name").open() as disk:
        assert disk.contexts == {}
        assert disk.group_name(5) == disk[4:6].group_names[1]


# ------------------------------------------------------------------------------ parts


@pytest.fixture
def disk(tmp_path):
    names = ["float", "string", "bag", "vector", "day"]
    tables = [random_table(seed, 25, names) for seed in range(3)]
    folder = write(tmp_path / "folder", *tables)
    with mc2.ParquetFolder(folder).open() as corpus:
        yield corpus


@pytest.mark.parametrize(
    "rows",
    [slice(3, 20), slice(None, 9), slice(-5, None), slice(0, 75, 7), [4], [1, 2, 3, 40, 41, 74]],
    ids=str,
)
def test_a_part_equals_that_part_of_the_whole(rows, disk):
    part = disk[rows]
    assert part.fingerprint() == disk[0:75][rows].fingerprint()
    assert part.vocabulary is disk.vocabulary
    assert part.contexts["string"].categories is disk.contexts["string"].categories
    assert part.content.counts.dtype == np.int32
    assert part.content.counts.has_canonical_format


def test_lengths_of_a_part_are_its_tokens(disk):
    np.testing.assert_array_equal(disk.lengths(10, 30), disk[10:30].tokens_per_group)
    assert disk.lengths(10, 30).dtype == np.int64


@pytest.mark.parametrize("rows", [slice(5, 5), [], [75], "a", slice("a", None)], ids=str)
def test_a_part_without_groups_is_refused(rows, disk):
    with pytest.raises(mc2.InputError):
        disk[rows]


def test_a_name_beyond_the_groups_is_refused(disk):
    with pytest.raises(mc2.InputError, match="from 0 to 74"):
        disk.group_name(75)


def test_a_copy_in_another_process_reads_but_does_not_remove(disk):
    copy = pickle.loads(pickle.dumps(disk))
    assert copy[3:9].fingerprint() == disk[3:9].fingerprint()
    copy.close()
    del copy
    assert disk.folder.exists()
    assert disk[3:9].n_groups == 6


def test_the_fingerprint_does_not_depend_on_files_or_memory(tmp_path):
    table = random_table(0, 40, ["float", "bag"])
    one = write(tmp_path / "one", table)
    many = write(tmp_path / "many", table[:7], table[7:8], table[8:])
    prints = set()
    for folder, memory in ((one, "2GB"), (many, 1_000_000), (many, "1.5 GiB")):
        with mc2.ParquetFolder(folder, memory=memory).open() as disk:
            prints.add(disk.fingerprint())
    assert len(prints) == 1
    with mc2.ParquetFolder(one, contexts="bag").open() as disk:
        assert disk.fingerprint() not in prints

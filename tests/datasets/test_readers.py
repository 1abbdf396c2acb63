"""Readers of the public sets: tiny files of the same layout, and the real ones where they are."""

import numpy as np
import pytest
from scipy import sparse

from mcsquared.datasets import (
    load_labelme,
    load_nips,
    load_poliblog,
    load_reuters,
    load_schools,
    load_un,
    load_wiki,
)
from mcsquared.errors import InputError

READER_OF = {
    "nips12.npz": load_nips,
    "labelme8.npz": load_labelme,
    "wiki_crossmodal.npz": load_wiki,
    "reuters21578.npz": load_reuters,
    "poliblog5k.npz": load_poliblog,
    "ungdc.npz": load_un,
    "mlmRev_Exam.csv": load_schools,
}


def csr(prefix, dense):
    matrix = sparse.csr_matrix(dense)
    return {
        f"{prefix}data": matrix.data.astype(np.uint16),
        f"{prefix}indices": matrix.indices.astype(np.uint16),
        f"{prefix}indptr": matrix.indptr.astype(np.int64),
        f"{prefix}shape": np.array(matrix.shape),
    }


WORDS = {**csr("", [[2, 0, 1], [0, 0, 0], [1, 3, 0]]), "vocab": np.array(["net", "learn", "model"])}

TINY = {
    "nips12.npz": {
        **WORDS,
        "year": np.array([1987, 1990, 1999]),
        "year_how": np.array(["exact"] * 3),
        "title": np.array(["On the Learning of Networks", "Networks", "Optimal Optimal Brains"]),
        "author_names": np.array(["A_B", "C_D"]),
        "uai16_split": np.array(["train", "test", "train"]),
        **csr("authors_", [[1, 1], [0, 1], [0, 0]]),
    },
    "labelme8.npz": {
        **WORDS,
        "label": np.array([1, 0, 1], np.int8),
        "class_names": np.array(["coast", "forest"]),
        "filename": np.array(["a.jpg", "b.jpg", "c.jpg"]),
        "tag_names": np.array(["sky", "sea", "sky"]),
        **csr("tags_", [[1, 0, 2], [0, 0, 0], [0, 1, 0]]),
    },
    "wiki_crossmodal.npz": {
        **WORDS,
        "topic10": np.ones((3, 10), np.float32),
        "label": np.array([0, 1, 0], np.int8),
        "class_names": np.array(["art", "biology"]),
        "split": np.array(["train", "test", "train"]),
        "image_id": np.array(["x", "y", "z"]),
    },
    "reuters21578.npz": {
        **WORDS,
        "day": np.array([56, 57, 58]),
        "places": np.array(["usa|el-salvador", "", "uk usa"]),
        "topics": np.array(["cocoa", "", "grain|wheat"]),
        "title": np.array(["A", "B", "C"]),
        "lewissplit": np.array(["TRAIN", "TEST", "TRAIN"]),
        "newid": np.array([1, 2, 5]),
    },
    "poliblog5k.npz": {
        **WORDS,
        "day": np.array([1, 2, 366]),
        "rating": np.array(["Liberal", "Liberal", "Conservative"]),
        "blog": np.array(["db", "db", "ha"]),
    },
    "ungdc.npz": {
        **WORDS,
        "country": np.array(["ARG", "BEL", "ARG"]),
        "session": np.array([1, 1, 2]),
        "year": np.array([1946, 1946, 1947]),
    },
}
PUPILS = (
    "rownames,school,normexam,schgend,schavg,standLRT\n"
    "1,10,0.5,mixed,0.1,0.6\n2,2,-1.5,girls,-0.2,0.2\n3,10,1.25,mixed,0.1,-0.5\n"
)


@pytest.fixture
def tiny_folder(tmp_path):
    for name, arrays in TINY.items():
        np.savez(tmp_path / name, **arrays)
    (tmp_path / "mlmRev_Exam.csv").write_text(PUPILS)
    return tmp_path


def test_nips_has_years_authors_and_title_words(tiny_folder):
    found = load_nips(tiny_folder)
    assert found.corpus.contexts["year"].values.tolist() == [1987, 1990, 1999]
    authors = found.corpus.contexts["authors"]
    assert authors.values.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]
    assert authors.observed.tolist() == [True, True, False]
    title = found.corpus.contexts["title"]
    assert list(title.categories) == ["brains", "learning", "networks", "optimal"]
    assert title.values.toarray().tolist() == [[0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 2]]
    assert found.labels["split"].tolist() == ["train", "test", "train"]


def test_tags_of_one_name_are_added_up(tiny_folder):
    found = load_labelme(tiny_folder)
    tags = found.corpus.contexts["tags"]
    assert list(tags.categories) == ["sky", "sea"]
    assert tags.values.toarray().tolist() == [[3, 0], [0, 0], [0, 1]]
    assert found.labels["label"].tolist() == ["forest", "coast", "forest"]
    assert list(found.corpus.group_names) == ["a.jpg", "b.jpg", "c.jpg"]


def test_wiki_has_a_vector_of_the_article(tiny_folder):
    found = load_wiki(tiny_folder)
    assert found.corpus.contexts["article"].values.shape == (3, 10)
    assert found.labels["label"].tolist() == ["art", "biology", "art"]


def test_reuters_has_days_and_places_and_keeps_empty_newswires(tiny_folder):
    found = load_reuters(tiny_folder)
    places = found.corpus.contexts["places"]
    assert list(places.categories) == ["el-salvador", "uk", "usa"]
    assert places.values.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 1]]
    assert found.corpus.tokens_per_group.tolist() == [3, 0, 4]
    assert found.labels["topics"].tolist() == ["cocoa", "", "grain|wheat"]
    assert list(found.corpus.group_names) == ["1", "2", "5"]


def test_poliblog_and_the_debates(tiny_folder):
    posts = load_poliblog(tiny_folder)
    assert list(posts.corpus.contexts) == ["day"]
    assert set(posts.labels) == {"rating", "blog"}
    speeches = load_un(tiny_folder)
    assert list(speeches.corpus.group_names) == ["ARG 1946", "BEL 1946", "ARG 1947"]
    assert speeches.corpus.contexts["country"].values.tolist() == [0, 1, 0]


def test_schools_are_groups_of_pupils_in_the_order_of_their_numbers(tiny_folder):
    corpus = load_schools(tiny_folder).corpus
    assert list(corpus.group_names) == ["2", "10"]
    assert corpus.content.values.tolist() == [[-1.5, 0.2], [0.5, 0.6], [1.25, -0.5]]
    assert corpus.content.start.tolist() == [0, 1, 3]
    assert list(corpus.contexts["gender"].categories[corpus.contexts["gender"].values]) == [
        "girls",
        "mixed",
    ]


def test_the_environment_names_the_folder(tiny_folder, monkeypatch):
    monkeypatch.setenv("MCSQUARED_DATA", str(tiny_folder))
    assert load_nips().corpus.n_groups == 3


@pytest.mark.parametrize("reader", READER_OF.values())
def test_an_absent_file_is_named_with_its_source_and_layout(reader, tmp_path):
    with pytest.raises(
        InputError, match=r"has no file .*the data set is .*contains .*docs/data.md"
    ):
        reader(tmp_path)


@pytest.mark.parametrize("reader", READER_OF.values())
def test_without_a_folder_the_environment_variable_is_named(reader, monkeypatch):
    monkeypatch.delenv("MCSQUARED_DATA", raising=False)
    with pytest.raises(InputError, match="MCSQUARED_DATA is not set"):
        reader()


def test_every_array_that_is_missing_is_named(tiny_folder):
    for name, arrays in TINY.items():
        for absent in arrays:
            kept = {key: value for key, value in arrays.items() if key != absent}
            np.savez(tiny_folder / name, **kept)
            with pytest.raises(InputError, match=f"{name} has no array '{absent}'"):
                READER_OF[name](tiny_folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"vocab": np.array(["only"])}, "'vocab' of nips12.npz must have"),
        ({"year": np.array([1.0])}, "'year' of nips12.npz must have"),
        ({"indices": np.array([0, 2, 0, 7])}, "must be in CSR form"),
        ({"indptr": np.array([0, 9, 9, 9])}, "must be in CSR form"),
        ({"shape": np.array([3])}, "nips12.npz"),
        ({"authors_shape": np.array([4, 2])}, "nips12.npz"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_one_sentence(tiny_folder, change, sentence):
    np.savez(tiny_folder / "nips12.npz", **{**TINY["nips12.npz"], **change})
    with pytest.raises(InputError, match=sentence):
        load_nips(tiny_folder)


def test_labels_outside_the_classes_are_refused(tiny_folder):
    arrays = {**TINY["labelme8.npz"], "label": np.array([0, 1, 2], np.int8)}
    np.savez(tiny_folder / "labelme8.npz", **arrays)
    with pytest.raises(InputError, match="must contain indices into class_names"):
        load_labelme(tiny_folder)


def test_a_file_cut_in_half_is_refused_in_one_sentence(tiny_folder):
    path = tiny_folder / "nips12.npz"
    whole = path.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(InputError, match=r"nips12\.npz cannot be read"):
            load_nips(tiny_folder)


def test_a_pickle_is_never_opened(tiny_folder):
    np.savez(tiny_folder / "nips12.npz", vocab=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="cannot be read"):
        load_nips(tiny_folder)


@pytest.mark.parametrize(
    "text", ["", "school,normexam\n1,0.5\n", PUPILS.replace("0.5", "half"), "rownames,school\n"]
)
def test_a_broken_list_of_pupils_is_refused_in_one_sentence(tiny_folder, text):
    (tiny_folder / "mlmRev_Exam.csv").write_text(text)
    with pytest.raises(InputError, match=r"mlmRev_Exam\.csv"):
        load_schools(tiny_folder)


REAL = {
    "nips12.npz": (1740, 2_301_375, 13_649),
    "labelme8.npz": (2688, 1_851_574, 200),
    "wiki_crossmodal.npz": (2866, 2_641_533, 128),
    "reuters21578.npz": (19_043, 1_288_171, 12_034),
    "poliblog5k.npz": (5000, 1_005_745, 2632),
    "ungdc.npz": (10_952, 13_646_599, 16_776),
    "mlmRev_Exam.csv": (65, 4059, 0),
}


@pytest.mark.parametrize("name", REAL)
def test_the_real_sets_have_their_published_sizes(name, data_folder):
    if not (data_folder / name).is_file():
        pytest.skip(f"{name} is not in the folder of the real data sets (docs/data.md)")
    found = READER_OF[name](data_folder)
    sizes = (found.corpus.n_groups, found.corpus.n_tokens, found.corpus.n_words)
    assert sizes == REAL[name]
    for label in found.labels.values():
        assert len(label) == found.corpus.n_groups

"""Readers of the layouts that others publish, on tiny files written here."""

import gzip

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from mcsquared.datasets import load_nips_toolbox, load_nus_wide, load_pnas, load_uci
from mcsquared.errors import InputError


def cells(*strings):
    """A column of MATLAB's cells."""
    array = np.empty((len(strings), 1), dtype=object)
    array[:, 0] = strings
    return array


@pytest.fixture
def toolbox(tmp_path):
    savemat(
        tmp_path / "bagofwords_nips.mat",
        {"WS": np.array([[1.0, 1, 3, 2, 2, 2]]), "DS": np.array([[1.0, 1, 1, 3, 3, 3]])},
    )
    savemat(tmp_path / "words_nips.mat", {"WO": cells("net", "learn", "model")})
    titles = cells("Networks of Spikes", "Learning Fast", "On Learning")
    savemat(tmp_path / "titles_nips.mat", {"titles": titles})
    savemat(tmp_path / "authors_nips.mat", {"AN": cells("Ng_A", "Jordan_M")})
    pairs = sparse.csc_matrix(np.array([[1.0, 0, 1], [1, 1, 0]]))
    savemat(tmp_path / "authordoc_nips.mat", {"AD": pairs})
    return tmp_path


def test_the_toolbox_has_words_titles_and_authors(toolbox):
    corpus = load_nips_toolbox(toolbox).corpus
    assert corpus.content.counts.toarray().tolist() == [[2, 0, 1], [0, 0, 0], [0, 3, 0]]
    assert list(corpus.vocabulary) == ["net", "learn", "model"]
    assert list(corpus.group_names) == ["Networks of Spikes", "Learning Fast", "On Learning"]
    authors = corpus.contexts["authors"]
    assert list(authors.categories) == ["Ng_A", "Jordan_M"]
    assert authors.values.toarray().tolist() == [[1, 1], [0, 1], [1, 0]]
    assert list(corpus.contexts["title"].categories) == ["fast", "learning", "networks", "spikes"]


def test_the_toolbox_without_titles_and_authors_is_words_alone(toolbox):
    for name in ("titles", "authors", "authordoc"):
        (toolbox / f"{name}_nips.mat").unlink()
    corpus = load_nips_toolbox(toolbox).corpus
    assert corpus.n_groups == 3
    assert corpus.contexts == {}


@pytest.mark.parametrize(
    ("name", "variables", "sentence"),
    [
        (
            "bagofwords_nips",
            {"WS": [[1.0, 4]], "DS": [[1.0, 1]]},
            r"WS in bagofwords_nips.mat must be in 1\.\.3, got 4",
        ),
        ("bagofwords_nips", {"WS": [[1.0, 0]], "DS": [[1.0, 1]]}, "WS in .*got 0"),
        ("bagofwords_nips", {"WS": [[1.0, 1]], "DS": [[1.0, 9]]}, "DS in .*got 9"),
        ("bagofwords_nips", {"WS": [[1.0]], "DS": [[1.0, 1]]}, "same length, got 1 and 2"),
        ("bagofwords_nips", {"WS": [[1.5]], "DS": [[1.0]]}, "'WS' of bagofwords_nips.mat must"),
        ("bagofwords_nips", {"WS": [[1.0]]}, "has no variable 'DS'"),
        ("authordoc_nips", {"AD": np.eye(2)}, r"'AD' of authordoc_nips.mat .* got \(2, 2\)"),
    ],
)
def test_a_broken_toolbox_is_refused_in_one_sentence(toolbox, name, variables, sentence):
    savemat(toolbox / f"{name}.mat", variables)
    with pytest.raises(InputError, match=sentence):
        load_nips_toolbox(toolbox)


def test_a_matlab_file_cut_in_half_is_refused(toolbox):
    path = toolbox / "bagofwords_nips.mat"
    whole = path.read_bytes()
    for share in (0.0, 0.3, 0.7):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(InputError, match=r"bagofwords_nips\.mat"):
            load_nips_toolbox(toolbox)


DOCWORD = "3\n4\n4\n1 1 2\n1 4 1\n3 2 5\n3 3 1\n"
VOCABULARY = "a\nb\nc\nd\n"


@pytest.fixture
def uci(tmp_path):
    (tmp_path / "docword.kos.txt").write_text(DOCWORD)
    (tmp_path / "vocab.kos.txt").write_text(VOCABULARY)
    return tmp_path


def test_uci_counts_are_read_and_empty_documents_kept(uci):
    corpus = load_uci("kos", uci).corpus
    assert corpus.content.counts.toarray().tolist() == [[2, 0, 0, 1], [0, 0, 0, 0], [0, 5, 1, 0]]
    assert list(corpus.vocabulary) == ["a", "b", "c", "d"]


def test_compressed_uci_files_are_the_same(uci):
    plain = load_uci("kos", uci).corpus
    for name in ("docword.kos.txt", "vocab.kos.txt"):
        with gzip.open(uci / f"{name}.gz", "wb") as file:
            file.write((uci / name).read_bytes())
        (uci / name).unlink()
    assert load_uci("kos", uci).corpus.fingerprint() == plain.fingerprint()


def test_uci_files_without_entries_have_empty_documents(uci):
    (uci / "docword.kos.txt").write_text("2\n4\n0\n")
    assert load_uci("kos", uci).corpus.tokens_per_group.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must start with three lines"),
        ("3\nfour\n4\n1 1 2\n", "must start with three lines"),
        (DOCWORD[:-6], "must have 4 entries, got 3"),
        (DOCWORD.replace("3 2 5", "4 2 5"), r"document number in .* must be in 1\.\.3, got 4"),
        (DOCWORD.replace("3 2 5", "3 0 5"), "word number in .* got 0"),
        (DOCWORD.replace("3 2 5", "3 2 -5"), "counts in .* got -5"),
        (DOCWORD.replace("3 2 5", "3 2 5.5"), "cannot be read"),
        (DOCWORD.replace("3 2 5", "3 2"), "cannot be read"),
        (DOCWORD.replace("3\n4\n4", "3\n5\n4", 1), "must have 5 words, got 4"),
        ("1\n4\n1\n1 1\n", "must have 3 numbers per line, got 2"),
    ],
)
def test_broken_uci_files_are_refused_in_one_sentence(uci, text, sentence):
    (uci / "docword.kos.txt").write_text(text)
    with pytest.raises(InputError, match=sentence):
        load_uci("kos", uci)


def test_a_compressed_file_cut_in_half_is_refused(uci):
    whole = gzip.compress(DOCWORD.encode())
    (uci / "docword.kos.txt").unlink()
    for data in (whole[:20], b"not compressed", b""):
        (uci / "docword.kos.txt.gz").write_bytes(data)
        with pytest.raises(InputError, match=r"docword\.kos\.txt\.gz"):
            load_uci("kos", uci)


@pytest.fixture
def pnas(tmp_path):
    (tmp_path / "alltitles").write_text("On the Genetics of Mice\nThe Of\nMice mice and maize\n")
    (tmp_path / "alltimes").write_text("   2 1915\n   1 1916.5\n")
    (tmp_path / "allstopwords").write_text("on the\nof and\n")
    return tmp_path


def test_titles_of_pnas_have_words_but_for_stop_words_and_times(pnas):
    corpus = load_pnas(pnas).corpus
    assert list(corpus.vocabulary) == ["genetics", "maize", "mice"]
    assert corpus.content.counts.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 2]]
    assert corpus.contexts["year"].values.tolist() == [1915.0, 1915.0, 1916.5]
    assert corpus.group_names[0] == "On the Genetics of Mice"
    (pnas / "allstopwords").unlink()
    assert load_pnas(pnas).corpus.n_words == 7


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        ("2 1915\n", "must have times for 3 titles, got 2"),
        ("2 1915\nx 1916\n", "alltimes must contain lines"),
        ("2\n1\n", "alltimes must contain lines"),
        ("2 1915\n1\n", "alltimes must contain lines"),
        ("-2 1915\n1 1916\n", "alltimes must contain lines"),
        ("", "alltimes must contain lines"),
    ],
)
def test_times_that_do_not_fit_the_titles_are_refused(pnas, times, sentence):
    (pnas / "alltimes").write_text(times)
    with pytest.raises(InputError, match=sentence):
        load_pnas(pnas)


NUS_WIDE = {
    "ImageList/Imagelist.txt": "cat\\1.jpg\ndog\\2.jpg\ncat\\3.jpg\nsky\\4.jpg\n",
    "ImageList/TrainImagelist.txt": "cat\\1.jpg\nsky\\4.jpg\n",
    "ConceptsList/Concepts81.txt": "cat\ndog\nsky\n",
    "Groundtruth/AllLabels/Labels_cat.txt": "1\n0\n1\n0\n",
    "Groundtruth/AllLabels/Labels_dog.txt": "0\n1\n1\n0\n",
    "Groundtruth/AllLabels/Labels_sky.txt": "1\n0\n0\n0\n",
    "Low_Level_Features/BoW_int.dat": "1 0 2 \n0 0 0 \n0 3 0 \n4 0 0 \n",
    "NUS_WID_Tags/TagList1k.txt": "fur\nnature\nfur\n",
    "NUS_WID_Tags/AllTags1k.txt": "1\t0\t1\n0\t1\t0\n0\t0\t0\n0\t1\t0\n",
}


@pytest.fixture
def nus_wide(tmp_path):
    for name, text in NUS_WIDE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_nus_wide_has_visual_words_tags_and_concepts(nus_wide):
    found = load_nus_wide(nus_wide)
    corpus = found.corpus
    assert corpus.content.counts.toarray().tolist() == [[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, 0]]
    assert list(corpus.vocabulary) == ["visual0", "visual1", "visual2"]
    assert list(corpus.group_names) == ["cat/1.jpg", "dog/2.jpg", "cat/3.jpg", "sky/4.jpg"]
    tags = corpus.contexts["tags"]
    assert list(tags.categories) == ["fur", "nature"]
    assert tags.values.toarray().tolist() == [[2, 0], [0, 1], [0, 0], [0, 1]]
    assert found.labels["label"].tolist() == ["cat|sky", "dog", "cat|dog", ""]
    assert found.labels["split"].tolist() == ["train", "test", "test", "train"]


def test_images_of_exactly_one_of_some_concepts_can_be_chosen(nus_wide):
    (nus_wide / "ImageList" / "TrainImagelist.txt").unlink()
    (nus_wide / "ConceptsList" / "Concepts81.txt").unlink()
    found = load_nus_wide(nus_wide, concepts=["cat", "dog"])
    assert found.corpus.content.counts.toarray().tolist() == [[1, 0, 2], [0, 0, 0]]
    assert found.corpus.contexts["tags"].values.toarray().tolist() == [[2, 0], [0, 1]]
    assert found.labels["label"].tolist() == ["cat", "dog"]
    assert set(found.labels) == {"label"}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("Low_Level_Features/BoW_int.dat", "1 0 2\n", r"BoW_int\.dat must have 4 lines, got 1"),
        ("Low_Level_Features/BoW_int.dat", "1 0 2\n" * 9, r"BoW_int\.dat must have 4 lines, got 9"),
        (
            "Low_Level_Features/BoW_int.dat",
            "1 0 -2\n" * 4,
            r"BoW_int\.dat must contain counts, got -2",
        ),
        ("Low_Level_Features/BoW_int.dat", "1 0 b\n" * 4, r"BoW_int\.dat cannot be read"),
        ("Low_Level_Features/BoW_int.dat", "", r"BoW_int\.dat must have 4 lines, got 0"),
        ("NUS_WID_Tags/TagList1k.txt", "fur\n", "must have 1 numbers per line, got 3"),
        ("Groundtruth/AllLabels/Labels_cat.txt", "1\n", "Labels_cat.txt must have .*got 1 lines"),
        (
            "Groundtruth/AllLabels/Labels_cat.txt",
            "1\n0\n2\n0\n",
            "Labels_cat.txt must have .*got 4 lines",
        ),
    ],
)
def test_broken_files_of_nus_wide_are_refused_in_one_sentence(nus_wide, name, text, sentence):
    (nus_wide / name).write_text(text)
    with pytest.raises(InputError, match=sentence):
        load_nus_wide(nus_wide)


def test_concepts_that_no_image_has_alone_are_refused(nus_wide):
    (nus_wide / "Groundtruth/AllLabels/Labels_sky.txt").write_text("0\n" * 4)
    with pytest.raises(InputError, match="no image has exactly one"):
        load_nus_wide(nus_wide, concepts=["sky"])


@pytest.mark.parametrize(
    "read", [load_nips_toolbox, load_pnas, load_nus_wide, lambda folder: load_uci("kos", folder)]
)
def test_an_absent_file_is_named_with_its_source_and_layout(read, tmp_path, monkeypatch):
    with pytest.raises(
        InputError, match=r"has no file .*the data set is .*contains .*docs/data.md"
    ):
        read(tmp_path)
    monkeypatch.delenv("MCSQUARED_DATA", raising=False)
    with pytest.raises(InputError, match="MCSQUARED_DATA is not set"):
        read(None)

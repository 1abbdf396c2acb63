"""mc2 predict: a table of new groups."""

import os
import re

import numpy as np
import pandas as pd
import pytest

from mcsquared import MC2
from mcsquared.storage import read_file, write_file
from mcsquared.storage.models import MODEL_KIND
from tests.cli.commands import invoke, papers, rejected


@pytest.fixture
def new_file(tmp_path):
    path = tmp_path / "new.csv"
    papers(12, seed=5).drop(columns="subject").to_csv(path, index=False)
    return path


def test_predict_writes_cluster_probability_and_topic_shares(fitted, new_file, tmp_path):
    out = tmp_path / "out.csv"
    result = invoke("predict", fitted, new_file, "--out", out)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out)
    model = MC2.load(fitted)
    topics = [f"topic_{m}" for m in range(model.n_topics_)]
    head = ["group", "cluster", "probability", "new_cluster_probability"]
    assert list(table.columns) == head + topics
    assert len(table) == 12
    np.testing.assert_allclose(table[topics].sum(axis=1), 1.0, atol=1e-3)
    assert table["probability"].between(0, 1).all()
    assert table["new_cluster_probability"].between(0, 1).all()
    digits = re.findall(r"\.([0-9]+)", out.read_text().partition("\n")[2])
    assert max(len(part.lstrip("0")) for part in digits) <= 4, "readable numbers"
    assert table["cluster"].between(0, model.n_clusters_ - 1).all()


def test_papers_of_one_subject_are_predicted_into_one_cluster(fitted, new_file, tmp_path):
    out = tmp_path / "out.csv"
    invoke("predict", fitted, new_file, "--out", out)
    cluster = pd.read_csv(out)["cluster"]
    assert cluster[::2].nunique() == cluster[1::2].nunique() == 1
    assert cluster[0] != cluster[1]


def test_frequent_words_of_the_new_file_are_counted(fitted, tmp_path):
    """Frequency limits apply to the fit only: all new texts may contain the same word."""
    new = tmp_path / "new.csv"
    pd.DataFrame({"abstract": ["kernel margin kernel"] * 3}).to_csv(new, index=False)
    out = tmp_path / "out.csv"
    result = invoke("predict", fitted, new, "--out", out)
    assert result.exit_code == 0, result.output
    assert (pd.read_csv(out)["probability"] > 0.6).all()


def test_a_text_column_of_another_name_can_be_given(fitted, new_file, tmp_path):
    renamed = tmp_path / "renamed.csv"
    pd.read_csv(new_file).rename(columns={"abstract": "body"}).to_csv(renamed, index=False)
    out = tmp_path / "out.csv"
    assert "abstract" in rejected(invoke("predict", fitted, renamed, "--out", out))
    assert not out.exists()
    assert invoke("predict", fitted, renamed, "--out", out, "--text", "body").exit_code == 0


def test_a_context_that_the_new_file_does_not_have_is_missing(fitted, new_file, tmp_path):
    bare = tmp_path / "bare.csv"
    pd.read_csv(new_file)[["abstract", "year"]].to_csv(bare, index=False)
    result = invoke("predict", fitted, bare, "--out", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    assert "authors" in result.stderr


def test_words_and_authors_unseen_in_training_are_ignored(fitted, tmp_path):
    new = tmp_path / "new.csv"
    unseen = {"abstract": ["zebra lion", "kernel zebra"], "authors": ["Zoe", "Dan; Zoe"]}
    pd.DataFrame({**unseen, "year": [None, 2000]}).to_csv(new, index=False)
    result = invoke("predict", fitted, new, "--out", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    assert np.isfinite(pd.read_csv(tmp_path / "out.csv")["probability"]).all()


@pytest.mark.parametrize("content", [b"", b"garbage", "half"])
def test_a_truncated_model_file_is_rejected(fitted, new_file, tmp_path, content):
    model = tmp_path / "bad.mc2"
    whole = fitted.read_bytes()
    model.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    out = tmp_path / "out.csv"
    assert "bad.mc2" in rejected(invoke("predict", model, new_file, "--out", out))
    assert not out.exists()


def test_a_missing_model_or_file_is_rejected(fitted, new_file, tmp_path):
    out = tmp_path / "out.csv"
    assert "no.mc2" in rejected(invoke("predict", tmp_path / "no.mc2", new_file, "--out", out))
    assert "no.csv" in rejected(invoke("predict", fitted, tmp_path / "no.csv", "--out", out))
    assert not out.exists()


def test_input_files_are_not_overwritten(fitted, new_file):
    assert "must differ from the input files" in rejected(
        invoke("predict", fitted, new_file, "--out", fitted)
    )
    assert "must differ from the input files" in rejected(
        invoke("predict", fitted, new_file, "--out", new_file)
    )


def test_a_target_folder_that_does_not_exist_is_rejected(fitted, new_file, tmp_path):
    result = invoke("predict", fitted, new_file, "--out", tmp_path / "nowhere" / "out.csv")
    assert "does not exist" in rejected(result)


def test_a_full_disk_leaves_the_old_table(fitted, new_file, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "no space left" in rejected(invoke("predict", fitted, new_file, "--out", out))
    assert out.read_text() == "old"
    assert set(os.listdir(tmp_path)) == {"new.csv", "out.csv"}


def test_a_full_disk_is_reported_with_the_name_of_the_file(fitted, new_file, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "out.csv" in rejected(invoke("predict", fitted, new_file, "--out", tmp_path / "out.csv"))


def test_groups_without_a_known_word_are_predicted_from_their_contexts(fitted, tmp_path):
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    for texts in ([None, None], ["? !", "a"], ["zebra", "lion"]):
        pd.DataFrame({"abstract": texts, "year": [1990, 2000]}).to_csv(new, index=False)
        result = invoke("predict", fitted, new, "--out", out)
        assert result.exit_code == 0, result.output
        assert pd.read_csv(out)["cluster"].nunique() == 2


def test_dropped_words_are_reported(fitted, tmp_path):
    new = tmp_path / "new.csv"
    pd.DataFrame({"abstract": ["kernel zebra lion", "zebra"]}).to_csv(new, index=False)
    result = invoke("predict", fitted, new, "--out", tmp_path / "out.csv")
    assert "2 words outside the vocabulary were dropped (3 tokens)" in result.stderr


def test_a_model_file_with_an_array_of_another_size_is_rejected_by_name(fitted, new_file, tmp_path):
    tensors, meta = read_file(fitted, MODEL_KIND)
    tensors["labels"] = tensors["labels"][:-1]
    write_file(tmp_path / "short.mc2", MODEL_KIND, tensors, meta)
    out = tmp_path / "out.csv"
    sentence = rejected(invoke("predict", tmp_path / "short.mc2", new_file, "--out", out))
    assert "short.mc2" in sentence
    assert "'labels'" in sentence
    assert not out.exists()


def test_names_that_a_spreadsheet_would_run_are_escaped_unless_raw(fitted, tmp_path):
    names = ["=1+1", "+1", "-x", "@sum", "\tx", "plain", "a=b"]
    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    pd.DataFrame({"name": names, "abstract": ["kernel margin"] * len(names)}).to_csv(
        file, index=False
    )
    for options, start in ([], "'"), (["--raw"], ""):
        result = invoke("predict", fitted, file, "--names", "name", "--out", out, *options)
        assert result.exit_code == 0, result.output
        written = pd.read_csv(out)["group"].tolist()
        assert [w.strip() for w in written[:4]] == [f"{start}{name}" for name in names[:4]]
        assert written[5:] == names[5:]


def test_a_column_with_nearly_the_name_of_a_context_is_pointed_out(fitted, new_file, tmp_path):
    renamed = tmp_path / "renamed.csv"
    pd.read_csv(new_file).rename(columns={"authors": "autors"}).to_csv(renamed, index=False)
    result = invoke("predict", fitted, renamed, "--out", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    assert "no column 'authors' (is it 'autors'?), so this context is missing" in result.stderr


def test_model_and_file_in_the_wrong_order_are_pointed_out(fitted, new_file):
    for command in ("predict", "evaluate"):
        message = rejected(invoke(command, new_file, fitted))
        assert f"{new_file} is not a model file" in message
        assert "MODEL must come before FILE" in message
        assert "header" not in message

"""Text files are whole or absent."""

import os

import pytest

from mcsquared.errors import ModelFileError
from mcsquared.storage import write_text


def test_text_is_written_and_replaces_what_was_there(tmp_path):
    path = tmp_path / "out.csv"
    for text in ("a\n1\n", "ä,b\r\n2,3\n"):
        write_text(path, text)
        assert path.read_bytes().decode() == text
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="does not exist"):
        write_text(tmp_path / "nowhere" / "out.csv", "text")

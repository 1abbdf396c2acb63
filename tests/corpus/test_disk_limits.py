"""A scratch folder that is full, missing or interrupted, and a memory limit that is too small."""

import errno
import gc
import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mcsquared as mc2
from mcsquared.corpus import buffers
from mcsquared.corpus.disk import parse_bytes
from mcsquared.corpus.sources import parquet as parquet_source
from tests.corpus.test_disk_errors import TOKENS


def one_file(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    parquet.write_table(pa.table({**TOKENS, "by": ["x", "y"]}), path / "0.parquet")
    return path


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("after", [1, 5, 7])
def test_a_full_disk_is_reported_and_leaves_no_files(number, after, tmp_path, scratch, monkeypatch):
    append, calls = buffers.FileBuffer.append, []

    def full(self, values):
        calls.append(values)
        if len(calls) > after:
            raise OSError(number, os.strerror(number))
        append(self, values)

    monkeypatch.setattr(buffers.FileBuffer, "append", full)
    with pytest.raises(mc2.InputError, match=r"scratch: the disk of .* is full"):
        mc2.ParquetFolder(one_file(tmp_path), scratch=scratch).open()


def test_a_failed_write_raises_an_error(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is always full")
    file = buffers.FileBuffer("/dev/full", np.int32)
    with pytest.raises(OSError, match="No space left"):
        file.append([1, 2, 3])


def test_another_disk_error_is_reported(tmp_path, scratch, monkeypatch):
    def broken(self, values):
        raise OSError(errno.EIO, "no disk")

    monkeypatch.setattr(buffers.FileBuffer, "append", broken)
    with pytest.raises(mc2.InputError, match="cannot be written to"):
        mc2.ParquetFolder(one_file(tmp_path), scratch=scratch).open()


def test_an_interrupt_leaves_no_files(tmp_path, scratch, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet_source, "_add_context", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mc2.ParquetFolder(one_file(tmp_path), scratch=scratch).open()


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_scratch_folder_that_cannot_be_created_is_refused(name, tmp_path):
    path = one_file(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(mc2.InputError, match=f"scratch must be a writable folder, got '.*{name}'"):
        mc2.ParquetFolder(path, scratch=tmp_path / name).open()


def test_closing_a_corpus_removes_its_folder_and_all_files_in_it(tmp_path, scratch):
    disk = mc2.ParquetFolder(one_file(tmp_path), scratch=scratch).open()
    assert disk.folder.parent == scratch
    (disk.folder / "labels").write_text("of a sampler")
    disk.close()
    disk.close()
    assert not disk.folder.exists()
    with pytest.raises(mc2.InputError, match="must stay open"):
        disk[0:1]


def test_an_unreferenced_corpus_is_deleted(tmp_path, scratch):
    path = mc2.ParquetFolder(one_file(tmp_path), scratch=scratch).open().folder
    gc.collect()
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_does_not_remove_the_folder(tmp_path, scratch):
    with mc2.ParquetFolder(one_file(tmp_path), scratch=scratch).open() as disk:
        child = os.fork()
        if not child:
            disk.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert disk[0:2].n_groups == 2


# ------------------------------------------------------------------------------ memory


def test_a_column_with_more_labels_than_fit_into_memory_is_refused(refuses):
    names = [f"row {i}" for i in range(3000)]
    message = refuses({"tokens": [["a"]] * 3000, "id": names}, memory=1_000_000)
    assert "context 'id' has at least 3000 distinct values, which do not fit into memory" in message


def test_more_words_than_fit_into_memory_are_refused(refuses):
    message = refuses({"tokens": [[f"word {i}"] for i in range(3000)]}, memory=1_000_000)
    assert "column 'tokens' has at least 3000 distinct values" in message


@pytest.mark.parametrize(
    ("memory", "n_bytes"),
    [
        ("2GB", 2 * 10**9),
        ("500 MB", 5 * 10**8),
        ("1.5gib", 3 * 2**29),
        ("64M", 64 * 10**6),
        ("2e9", 2 * 10**9),
        ("3000kB", 3 * 10**6),
        (2e9, 2 * 10**9),
        (np.int64(10**7), 10**7),
    ],
)
def test_memory_is_a_size(memory, n_bytes):
    assert parse_bytes(memory) == n_bytes
    assert mc2.ParquetFolder("papers", memory=memory).memory == n_bytes


@pytest.mark.parametrize(
    "memory", ["much", "", "2XB", "-2GB", "1..5GB", "1kB", 0, -1, True, None, np.nan, np.inf, 1e99]
)
def test_an_invalid_size_is_refused(memory):
    with pytest.raises(mc2.InputError, match=r"memory must be a size of at least 1 MB.*, got"):
        mc2.ParquetFolder("papers", memory=memory)

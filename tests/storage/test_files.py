"""Files are whole or absent, and a bad one gives one documented error."""

import builtins
import errno
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcsquared.errors import ModelFileError
from mcsquared.locks import try_lock
from mcsquared.storage import files, locked
from mcsquared.storage.files import check_target, read_file, write_file, write_text

TENSORS = {
    "labels": np.arange(12, dtype=np.int32).reshape(3, 4),
    "flags": np.array([True, False, True]),
    "weights": np.linspace(0.0, 1.0, 7),
    "empty": np.zeros((0, 3), np.int64),
    "text": np.frombuffer("Zürich".encode(), np.uint8),
}
META = {"name": "Zürich \U0001f600", "numbers": [1, 2.5, None], "infinite": float("inf")}


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "a.mc2"
    write_file(path, "posterior", TENSORS, META)
    return path


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def split(path: Path) -> tuple[dict, bytes]:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def join(path: Path, header: dict | bytes, body: bytes) -> None:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + body)


def test_what_was_written_is_read_back_exactly(written):
    tensors, meta = read_file(written, "posterior")
    assert meta == META
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        np.testing.assert_array_equal(tensors[name], tensor)
        tensors[name][...] = 0  # what is read belongs to the reader


def test_safetensors_itself_reads_the_file(written):
    from safetensors.numpy import load_file

    loaded = load_file(written)
    np.testing.assert_array_equal(loaded["labels"], TENSORS["labels"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    meta=st.dictionaries(st.text(max_size=5), JSON, max_size=4),
    shape=st.lists(st.integers(0, 4), max_size=3),
    dtype=st.sampled_from(["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", ">f8"]),
    fortran=st.booleans(),
    name=st.text(max_size=5),
)
def test_any_array_name_and_json_survive(tmp_path_factory, meta, shape, dtype, fortran, name):
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype))
    array = np.asfortranarray(array) if fortran else array
    path = tmp_path_factory.mktemp("any") / "a.mc2"
    write_file(path, "k", {f"tensor {name}": array}, meta)
    tensors, read = read_file(path, "k")
    name = f"tensor {name}"
    assert read == meta
    np.testing.assert_array_equal(tensors[name], array)
    assert tensors[name].shape == array.shape


def test_a_file_follows_the_umask_and_not_a_private_mode(written):
    umask = os.umask(0)
    os.umask(umask)
    assert written.stat().st_mode & 0o777 == 0o666 & ~umask


def test_writing_through_a_link_keeps_the_link(written, tmp_path):
    link = tmp_path / "link.mc2"
    link.symlink_to(written)
    write_file(link, "posterior", {}, {"new": 1})
    assert link.is_symlink()
    assert read_file(written, "posterior") == ({}, {"new": 1})


def test_an_object_array_is_refused():
    with pytest.raises(TypeError, match="'a' has dtype object"):
        write_file("x.mc2", "k", {"a": np.array(["a"], object)}, {})


def test_metadata_without_end_is_refused_when_written(tmp_path):
    with pytest.raises(ModelFileError, match="must have <="):
        write_file(tmp_path / "a.mc2", "k", {}, {"a": "x" * (33 * 2**20)})
    assert names(tmp_path) == []


# Writing that fails -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("step", ["_write_all", "replace", "open"])
def test_a_failed_write_says_why_and_leaves_the_old_file(written, monkeypatch, number, step):
    before = written.read_bytes()

    def fail(*arguments, **options):
        raise OSError(number, os.strerror(number))

    def fail_halfway(stream, header, arrays):
        stream.write(header)
        fail()

    if step == "_write_all":
        monkeypatch.setattr(files, "_write_all", fail_halfway)
    elif step == "replace":
        monkeypatch.setattr(os, "replace", fail)
    else:
        monkeypatch.setattr(builtins, "open", fail)
    with pytest.raises(ModelFileError, match="cannot be written") as caught:
        write_file(written, "posterior", TENSORS, {"new": 1})
    monkeypatch.undo()
    assert "\n" not in str(caught.value)
    if number == errno.ENOSPC:
        assert "no space left" in str(caught.value)
    assert written.read_bytes() == before
    assert names(written.parent) == ["a.mc2"]


def test_an_interrupted_write_leaves_the_old_file(written, monkeypatch):
    before = written.read_bytes()

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(written, "posterior", TENSORS, {"new": 1})
    assert written.read_bytes() == before
    assert names(written.parent) == ["a.mc2"]


@pytest.mark.skipif(sys.platform != "linux", reason="file size limits as Linux has them")
def test_a_real_limit_on_the_disk_leaves_the_old_file(written):
    """The operating system itself refuses the bytes, in a process with a limit."""
    before = written.read_bytes()
    script = f"""
        import resource, signal
        import numpy as np
        from mcsquared.storage.files import write_file
        from mcsquared.errors import ModelFileError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            write_file({str(written)!r}, "posterior", {{"a": np.zeros(10**6)}}, {{}})
        except ModelFileError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert "cannot be written: the file is larger than allowed" in done.stdout
    assert written.read_bytes() == before
    assert names(written.parent) == ["a.mc2"]


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_device_is_never_replaced_by_a_file(tmp_path):
    """Checked on a pipe, since a failing test must not destroy a real device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        write_file(pipe, "k", TENSORS, {})
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        read_file(pipe, "k")
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"folder .*nowhere does not exist"):
        write_file(tmp_path / "nowhere" / "a.mc2", "k", TENSORS, {})
    with pytest.raises(ModelFileError, match="does not exist"):
        check_target(tmp_path / "nowhere" / "deeper" / "a.mc2")
    assert names(tmp_path) == []


def test_a_folder_in_place_of_the_file_and_a_file_in_place_of_the_folder(written, tmp_path):
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        write_file(tmp_path, "k", TENSORS, {})
    with pytest.raises(ModelFileError, match="cannot be written"):
        write_file(written / "b.mc2", "k", TENSORS, {})
    with pytest.raises(ModelFileError):
        write_file(tmp_path / ("x" * 300), "k", TENSORS, {})
    with pytest.raises(ModelFileError):
        write_file("a\0b", "k", TENSORS, {})
    assert names(tmp_path) == ["a.mc2"]


@pytest.mark.parametrize("readonly", ["file", "folder"])
def test_a_read_only_target_is_left_alone(written, monkeypatch, readonly):
    """Root may write anywhere, so the system's answer is simulated."""
    before = written.read_bytes()
    refused = written if readonly == "file" else written.parent
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != refused)
    with pytest.raises(ModelFileError, match="read-only"):
        write_file(written, "posterior", TENSORS, {})
    assert written.read_bytes() == before
    assert names(written.parent) == ["a.mc2"]


def test_what_a_killed_writer_left_is_removed_but_a_live_part_is_not(written):
    left, live = (written.parent / f".a.mc2.{letter * 12}.part" for letter in "ab")
    other = written.parent / ".b.mc2.aaaaaaaaaaaa.part"
    for part in (left, live, other):
        part.write_bytes(b"half")
    with open(live, "rb") as stream:
        assert try_lock(stream.fileno())
        write_file(written, "posterior", {}, {})
        assert names(written.parent) == sorted(["a.mc2", live.name, other.name])
    write_text(written, "text")
    assert names(written.parent) == sorted(["a.mc2", other.name])


# Locks ------------------------------------------------------------------------------------


def test_a_path_is_locked_for_one_run_at_a_time(tmp_path):
    path = tmp_path / "a.mc2"
    with locked(path):
        with pytest.raises(ModelFileError, match="is in use by another run"), locked(path):
            pass
        with locked(tmp_path / "b.mc2"):
            pass
    with locked(path):
        pass
    assert not names(tmp_path)


def test_a_lock_does_not_outlive_its_process(tmp_path):
    path = tmp_path / "a.mc2"
    script = f"""if True:
        import os, signal
        from mcsquared.storage import locked
        with locked({str(path)!r}):
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert names(tmp_path) == [".a.mc2.lock"]
    with locked(path):
        pass
    assert not names(tmp_path)


# Reading what is bad ----------------------------------------------------------------------


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"b\.mc2 does not exist"):
        read_file(tmp_path / "b.mc2", "posterior")
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        read_file(tmp_path, "posterior")
    with pytest.raises(ModelFileError):
        read_file("a\0b", "posterior")


def test_another_kind_version_or_writer_is_named(written, tmp_path):
    from safetensors.numpy import save_file

    with pytest.raises(ModelFileError, match="kind 'checkpoint', got 'posterior'"):
        read_file(written, "checkpoint")
    header, body = split(written)
    header["__metadata__"]["schema"] = "7"
    join(written, header, body)
    with pytest.raises(ModelFileError, match="schema version 1, got '7'"):
        read_file(written, "posterior")
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": np.zeros(2)}, foreign)
    with pytest.raises(ModelFileError, match="was not written by mcsquared"):
        read_file(foreign, "posterior")


def test_a_changed_byte_anywhere_is_detected(written):
    """Every byte of a file decides: no single flip goes through unseen."""
    data = written.read_bytes()
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1 << (position % 8)
        written.write_bytes(changed)
        try:
            tensors, meta = read_file(written, "posterior")
        except ModelFileError:
            continue
        # A flip of JSON's white space, or of a letter's case in an escape, changes nothing.
        assert meta == META
        for name, tensor in TENSORS.items():
            np.testing.assert_array_equal(tensors[name], tensor)


def test_a_file_cut_anywhere_is_detected(written):
    data = written.read_bytes()
    for length in range(len(data)):
        written.write_bytes(data[:length])
        with pytest.raises(ModelFileError):
            read_file(written, "posterior")
    written.write_bytes(data + b"\0")
    with pytest.raises(ModelFileError):
        read_file(written, "posterior")


@settings(max_examples=200, deadline=None)
@given(header=st.binary(max_size=60) | JSON, body=st.binary(max_size=30), cut=st.integers(0, 99))
def test_any_bytes_give_the_documented_error(tmp_path_factory, header, body, cut):
    path = tmp_path_factory.mktemp("any") / "a.mc2"
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(encoded).to_bytes(8, "little") + encoded + body)[:cut])
    with pytest.raises(ModelFileError):
        read_file(path, "k")


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 10**6,
        b'{"a":' * 10**5 + b"1" + b"}" * 10**5,
        b'{"__metadata__":{"a":{"b":"c"}}}',
        b'{"__metadata__":{"schema":"\xff"}}',
        b'{"a":{"dtype":"F64","shape":[0,9223372036854775807],"data_offsets":[0,0]}}',
        b'{"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}}',
        b'{"a":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,8000000000000]}}',
        b'{"a":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}}',
        b'{"a":{"dtype":"C64","shape":[0],"data_offsets":[0,0]}}',
        b"{}",
        b"null",
    ],
)
def test_a_hostile_header_gives_the_documented_error(tmp_path, header):
    path = tmp_path / "hostile.mc2"
    join(path, header, b"")
    with pytest.raises(ModelFileError):
        read_file(path, "posterior")


@pytest.mark.parametrize(
    "text",
    ["[" * 10**6, '{"a":' * 10**5, "[]", "1", "", "{", '{"a":' + "9" * 10**5 + "}", "\x00"],
)
def test_hostile_json_with_a_right_checksum_gives_the_documented_error(tmp_path, text):
    path = tmp_path / "hostile.mc2"
    metadata = {"schema": "1", "kind": "k", "meta": text, "sha256": files._digest("k", text, {})}
    join(path, {"__metadata__": metadata}, b"")
    with pytest.raises(ModelFileError):
        read_file(path, "k")


def test_a_name_that_leaves_no_room_for_the_part_is_refused_beforehand(tmp_path):
    check_target(tmp_path / ("n" * 200))
    with pytest.raises(ModelFileError, match="its name is too long"):
        check_target(tmp_path / ("n" * 240))

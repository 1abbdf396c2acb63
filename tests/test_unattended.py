"""Checkpoints when something goes wrong: a full disk, a second run, SIGTERM."""

import errno
import os
import signal

import pytest

from mcsquared.errors import ModelFileError
from mcsquared.storage import read_file
from tests.test_chain import assert_same_draws
from tests.test_checkpoint import at_every_sweep as at_every_sweep
from tests.test_checkpoint import make_corpus, make_model

pytestmark = pytest.mark.usefixtures("short_fits")


def test_a_full_disk_gives_a_warning_and_the_next_write_is_tried_again(
    tmp_path, at_every_sweep, monkeypatch
):
    corpus, path = make_corpus("words"), tmp_path / "run"
    fsync, full = os.fsync, []

    def fsync_or_fail(descriptor):
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    def fill(info):
        if info.sweep == 20:
            full.append(1)
        if info.sweep == 25:
            assert read_file(path, "checkpoint")[1]["chains"]["0"]["sweep"] == 20
            full.clear()

    monkeypatch.setattr(os, "fsync", fsync_or_fail)
    with pytest.warns(UserWarning, match="cannot be written: no space left .*; the run continues"):
        fitted = make_model(checkpoint=path, callbacks=[fill]).fit(corpus)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]
    assert read_file(path, "checkpoint")[1]["chains"]["0"]["sweep"] == 40
    assert_same_draws(make_model().fit(corpus).posterior_, fitted.posterior_)


def test_only_one_run_at_a_time_can_use_a_checkpoint(tmp_path):
    corpus, path = make_corpus("words"), tmp_path / "run"

    def start_second_run(info):
        with pytest.raises(ModelFileError, match="is in use by another run"):
            make_model(checkpoint=path).fit(corpus)
        return info.sweep == 2

    make_model(checkpoint=path).set_params(burn_in=0, callbacks=[start_second_run]).fit(corpus)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_sigterm_writes_the_checkpoint_and_ends_the_process(tmp_path):
    corpus, path = make_corpus("words"), tmp_path / "run"

    def terminate(info):
        if info.sweep == 20:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(SystemExit) as ended:
        make_model(2, checkpoint=path).set_params(n_jobs=1, callbacks=[terminate]).fit(corpus)
    assert ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert read_file(path, "checkpoint")[1]["chains"]["0"]["sweep"] == 20
    resumed = make_model(2, checkpoint=path).fit(corpus).posterior_
    assert_same_draws(make_model(2).fit(corpus).posterior_, resumed)

"""A fit to a folder of Parquet files draws what a fit in memory draws, a shard at a time."""

import os
import signal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

import mcsquared as mc2
from mcsquared.checkpoint import Checkpoint
from mcsquared.cli.app import app
from mcsquared.errors import InputError, ModelFileError
from mcsquared.fitting import disk
from mcsquared.storage import read_file, write_file
from tests.samplers.test_python_families import DrawnVisits
from tests.test_chain import assert_same_draws

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("short_fits")

N_GROUPS = 240
SCHEDULE = {"n_sweeps": 12, "burn_in": 4, "thin": 2, "random_state": 3, "progress": False}
both = pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(1, 0.1)], ids=["shared", "varying"])


@pytest.fixture(scope="module")
def frame():
    drawn = mc2.datasets.simulate(
        N_GROUPS, tokens_per_group=25, n_words=60, lam=20.0, random_state=0
    )
    rng = np.random.default_rng(0)
    rows = drawn.corpus.content.counts
    return pd.DataFrame(
        {
            "tokens": [[f"w{word:02}" for word in np.repeat(r.indices, r.data)] for r in rows],
            "year": np.where(rng.random(N_GROUPS) < 0.2, np.nan, rng.normal(size=N_GROUPS)),
            "kind": [None if j % 7 == 0 else "abc"[j % 3] for j in range(N_GROUPS)],
        }
    )


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("groups")
    for number in range(4):
        frame[number * 60 : (number + 1) * 60].to_parquet(path / f"part-{number}.parquet")
    return path


@pytest.fixture
def on_disk(monkeypatch):
    """Leave the corpus on disk, in five shards, though it is small."""
    monkeypatch.setattr(disk, "bytes_of", lambda source: 10**18)
    monkeypatch.setattr(disk, "shards_for", lambda observations: 5)
    monkeypatch.setattr(disk, "max_in_memory", lambda source: disk.MAX_SAMPLED)
    monkeypatch.setattr("mcsquared.samplers.steps.topic_moves.SWEEPS_BEFORE_MOVES", 4)
    return monkeypatch


def in_memory(frame):
    return mc2.Corpus.from_frame(frame, text="tokens", contexts=["year", "kind"])


@both
def test_a_small_folder_is_fitted_as_a_corpus_in_memory(lam, frame, folder):
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(in_memory(frame))
    model = mc2.MC2(lam=lam, **SCHEDULE).fit(mc2.ParquetFolder(folder))
    assert_same_draws(model.posterior_, alone.posterior_)


@both
def test_shards_read_from_disk_draw_what_memory_draws(lam, frame, folder, on_disk):
    alone = mc2.MC2(lam=lam, n_chains=2, **SCHEDULE).fit(in_memory(frame))
    model = mc2.MC2(lam=lam, n_chains=2, **SCHEDULE).fit(mc2.ParquetFolder(folder))
    assert_same_draws(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.labels_, alone.labels_)


def test_shards_read_from_disk_draw_what_memory_draws_with_effects(frame, folder, on_disk):
    model = mc2.MC2(effects=["kind", "year"], **SCHEDULE)
    alone = mc2.MC2(effects=["kind", "year"], **SCHEDULE).fit(in_memory(frame)).posterior_
    found = model.fit(mc2.ParquetFolder(folder)).posterior_
    assert_same_draws(found, alone)
    for draw, other in zip(found.parameters, alone.parameters, strict=True):
        np.testing.assert_array_equal(draw.effects.weights, other.effects.weights)
        assert (draw.effects.tables != other.effects.tables).nnz == 0


@both
def test_shards_read_from_disk_draw_what_memory_draws_with_a_background(
    lam, frame, folder, on_disk
):
    contexts = {"year": mc2.Gaussian(background=True), "kind": "categorical"}
    model = mc2.MC2(contexts=contexts, lam=lam, **SCHEDULE)
    alone = mc2.MC2(contexts=contexts, lam=lam, **SCHEDULE).fit(in_memory(frame)).posterior_
    found = model.fit(mc2.ParquetFolder(folder)).posterior_
    assert_same_draws(found, alone)
    for draw, other in zip(found.parameters, alone.parameters, strict=True):
        np.testing.assert_array_equal(draw.background, other.background)


@both
def test_stages_on_disk_draw_what_memory_draws(lam, frame, folder, on_disk):
    """Every chain has its own labels on disk, which the next stage continues."""
    on_disk.setattr("mcsquared.schedule.FIRST_STAGE", 6)
    on_disk.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 24)
    options = {"lam": lam, "n_sweeps": "auto", "n_chains": 2, "random_state": 3, "progress": False}
    with pytest.warns(ConvergenceWarning, match="not converged after 24 sweeps of 2 chains"):
        alone = mc2.MC2(**options).fit(in_memory(frame))
    with pytest.warns(ConvergenceWarning):
        model = mc2.MC2(**options).fit(mc2.ParquetFolder(folder))
    assert_same_draws(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.labels_, alone.labels_)


@both
def test_stages_on_disk_find_the_draws_of_groups_that_are_not_shown(lam, folder, on_disk):
    on_disk.setattr(disk, "MAX_SAMPLED", 100)
    options = {"lam": lam, "n_chains": 2, "random_state": 3, "progress": False}
    fixed = {"n_sweeps": 24, "burn_in": 12, "thin": 4, "keep_parameters": 2}
    expected = mc2.MC2(**options, **fixed).fit(mc2.ParquetFolder(folder))
    on_disk.setattr("mcsquared.schedule.FIRST_STAGE", 6)
    on_disk.setattr("mcsquared.fitting.checks.MAX_SWEEPS", 24)
    with pytest.warns(ConvergenceWarning):
        model = mc2.MC2(**options, n_sweeps="auto").fit(mc2.ParquetFolder(folder))
    draws = [fitted.posterior_.cluster_of_group for fitted in (model, expected)]
    np.testing.assert_array_equal(*draws)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


@both
def test_a_corpus_on_disk_may_have_a_user_family(lam, frame, on_disk, tmp_path):
    rng = np.random.default_rng(1)
    load = np.where(rng.random(N_GROUPS) < 0.1, np.nan, rng.gamma(2.0, size=N_GROUPS))
    frame = frame[["tokens", "kind"]].assign(load=load)
    frame.to_parquet(tmp_path / "groups.parquet")
    options = {"lam": lam, "contexts": {"kind": "auto", "load": DrawnVisits()}, **SCHEDULE}
    corpus = mc2.Corpus.from_frame(frame, text="tokens", contexts=["kind", "load"])
    alone = mc2.MC2(**options).fit(corpus)
    model = mc2.MC2(**options).fit(mc2.ParquetFolder(tmp_path))
    assert_same_draws(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.labels_, alone.labels_)


@both
def test_any_number_of_shards_draws_the_same_where_some_groups_are_shown(lam, folder, on_disk):
    models = []
    on_disk.setattr(disk, "MAX_SAMPLED", 100)
    for n_shards in (1, 7):
        on_disk.setattr(disk, "shards_for", lambda observations, n=n_shards: n)
        models.append(mc2.MC2(lam=lam, **SCHEDULE).fit(mc2.ParquetFolder(folder)))
    assert_same_draws(*(model.posterior_ for model in models))
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)


@both
def test_labels_of_all_groups_agree_with_those_shown_and_with_predictions(
    lam, frame, folder, on_disk, tmp_path
):
    on_disk.setattr(disk, "MAX_SAMPLED", 100)
    schedule = SCHEDULE | {"n_sweeps": 40, "burn_in": 20}
    model = mc2.MC2(lam=lam, **schedule).fit(mc2.ParquetFolder(folder))
    posterior = model.posterior_
    assert model.labels_.shape == (N_GROUPS,)
    assert (posterior.n_groups, posterior.n_fitted) == (100, N_GROUPS)
    sampled = posterior.group_names.astype(int)
    np.testing.assert_array_equal(model.labels_[sampled], posterior.labels)
    predicted = model.predict(mc2.ParquetFolder(folder))
    np.testing.assert_array_equal(predicted, model.predict(in_memory(frame)))
    assert (predicted == model.labels_).mean() > 0.8
    assert "a random sample of 100" in " ".join(posterior.notes)
    model.save(tmp_path / "some.mc2")
    again = mc2.MC2.load(tmp_path / "some.mc2")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.posterior_.n_fitted == N_GROUPS


@both
@pytest.mark.parametrize("sampled", [N_GROUPS, 100], ids=["all shown", "some shown"])
def test_a_run_on_disk_resumes_from_its_checkpoint(lam, sampled, folder, on_disk, tmp_path):
    on_disk.setattr(disk, "MAX_SAMPLED", sampled)
    on_disk.setattr("mcsquared.checkpoint.SECONDS_BETWEEN_WRITES", 0.0)
    path, settings = tmp_path / "run", SCHEDULE | {"lam": lam, "n_chains": 2}
    whole = mc2.MC2(**settings).fit(mc2.ParquetFolder(folder))
    for chain, sweep in ((0, 3), (0, 7), (1, 5)):

        def kill(info, chain=chain, sweep=sweep):
            if (info.chain, info.sweep) == (chain, sweep):
                raise RuntimeError("killed")

        with pytest.raises(RuntimeError, match="killed"):
            mc2.MC2(checkpoint=path, callbacks=[kill], **settings).fit(mc2.ParquetFolder(folder))
    on_disk.setattr(disk, "MAX_SAMPLED", 50)  # less memory: the sample of the run is used
    resumed = mc2.MC2(checkpoint=path, **settings).fit(mc2.ParquetFolder(folder))
    assert_same_draws(resumed.posterior_, whole.posterior_)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    again = mc2.MC2(checkpoint=path, **settings).fit(mc2.ParquetFolder(folder))
    assert_same_draws(again.posterior_, whole.posterior_)


@both
def test_a_warm_start_on_disk_continues_as_in_memory(lam, frame, folder, on_disk):
    alone = mc2.MC2(lam=lam, warm_start=True, **SCHEDULE).fit(in_memory(frame))
    model = mc2.MC2(lam=lam, warm_start=True, **SCHEDULE).fit(mc2.ParquetFolder(folder))
    for _ in range(2):
        assert_same_draws(
            model.fit(mc2.ParquetFolder(folder)).posterior_, alone.fit(in_memory(frame)).posterior_
        )


def test_checkpoints_on_disk_are_validated(folder, on_disk, tmp_path):
    path, settings = tmp_path / "run", SCHEDULE | {"lam": 5.0}
    mc2.MC2(checkpoint=path, **settings).fit(mc2.ParquetFolder(folder))
    tensors, meta = read_file(path, "checkpoint")
    for name, wrong in (
        ("0.labels.clusters", 10**6),
        ("0.labels.topics", 65535),
        ("0.labels.sample", N_GROUPS),
        ("0.row_of_draw", 99),
        ("0.category_counts.data", -1),
    ):
        changed = tensors[name].copy()
        changed[0] = wrong
        write_file(path, "checkpoint", tensors | {name: changed}, meta)
        with pytest.raises(ModelFileError):
            mc2.MC2(checkpoint=path, **settings).fit(mc2.ParquetFolder(folder))


def test_the_command_line_resumes_a_fit_to_a_folder(folder, on_disk, tmp_path, monkeypatch):
    run, out = CliRunner().invoke, tmp_path / "a.mc2"
    fit = ["fit", str(folder), "--context", "year", "--sweeps", "12", "--out", str(out)]
    checkpoint = tmp_path / "a.mc2.checkpoint"

    def interrupt(self, run, ended):
        save(self, run, True)
        if run.sweeps_done == 6:
            raise RuntimeError("killed")

    save = Checkpoint.save
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "save", interrupt)
        assert run(app, fit).exit_code != 0
    assert checkpoint.exists()
    found = run(app, [*fit, "--resume"])
    assert found.exit_code == 0, found.output
    assert not checkpoint.exists()
    resumed = mc2.MC2.load(out).posterior_
    out.unlink()
    assert run(app, fit).exit_code == 0
    assert_same_draws(mc2.MC2.load(out).posterior_, resumed)


def test_the_scratch_folder_is_gone_after_a_fit(folder, on_disk, tmp_path):
    mc2.MC2(**SCHEDULE).fit(mc2.ParquetFolder(folder, scratch=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_scratch_folder_of_a_killed_process_is_removed_by_the_next_run(folder, tmp_path):
    child = os.fork()
    if not child:
        disk_corpus = mc2.ParquetFolder(folder, scratch=tmp_path).open()
        assert disk_corpus.folder.exists()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    [left] = tmp_path.iterdir()
    with (
        mc2.ParquetFolder(folder, scratch=tmp_path).open() as first,
        mc2.ParquetFolder(folder, scratch=tmp_path).open() as second,
    ):
        assert not left.exists()
        assert sorted(tmp_path.iterdir()) == sorted([first.folder, second.folder])
    assert list(tmp_path.iterdir()) == []


def test_a_limit_that_nothing_fits_into_is_refused(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(disk, "bytes_of", lambda source: 10**18)
    with pytest.raises(InputError, match=r"memory must be at least .* MB, got 10 MB"):
        mc2.MC2(**SCHEDULE).fit(mc2.ParquetFolder(folder, memory="10MB", scratch=tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sampler": "collapsed", "lam": np.inf},
            "sampler must be 'blocked' for a corpus larger than memory",
        ),
    ],
)
def test_what_a_corpus_on_disk_does_not_take_is_refused(options, message, folder, on_disk):
    with pytest.raises(InputError, match=message):
        mc2.MC2(**SCHEDULE, **options).fit(mc2.ParquetFolder(folder))


def test_questions_that_need_a_corpus_in_memory_say_so(frame, folder):
    model = mc2.MC2(**SCHEDULE).fit(in_memory(frame))
    with pytest.raises(InputError, match="must be a corpus in memory"):
        model.perplexity(mc2.ParquetFolder(folder))


def test_the_command_line_fits_predicts_and_reports_from_a_folder(folder, tmp_path):
    model, table, page = (str(tmp_path / name) for name in ("a.mc2", "a.csv", "a.html"))
    run = CliRunner().invoke
    fit = ["fit", str(folder), "--context", "year", "--sweeps", "8", "--out", model]
    assert run(app, fit).exit_code == 0
    found = run(app, ["predict", model, str(folder), "--out", table])
    assert found.exit_code == 0, found.output
    assert len(pd.read_csv(table)) == N_GROUPS
    assert run(app, ["report", model, "--out", page]).exit_code == 0


@both
def test_a_cluster_draws_the_same_from_a_folder(lam, frame, folder, on_disk):
    distributed = pytest.importorskip("distributed")
    on_disk.setattr("mcsquared.distributed.backend.shards_for", lambda observations: 5)
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(in_memory(frame))
    with distributed.Client(n_workers=2, processes=False, dashboard_address=None) as client:
        model = mc2.distributed.fit(mc2.MC2(lam=lam, **SCHEDULE), str(folder), client=client)
    assert_same_draws(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.labels_, alone.labels_)


def test_a_corpus_with_more_tokens_than_32_bits_count_stays_in_shards_that_have_fewer(
    frame, folder, monkeypatch
):
    alone = mc2.MC2(**SCHEDULE).fit(in_memory(frame))
    n_tokens = alone.posterior_.tokens_per_group.sum()
    monkeypatch.setattr(disk, "MAX_TOKENS", n_tokens // 3)
    made = []
    monkeypatch.setattr(disk, "partial", lambda *given: made.append(given[-1]) or partial(*given))
    model = mc2.MC2(**SCHEDULE).fit(mc2.ParquetFolder(folder))
    assert 3 < made[0] < 6
    assert_same_draws(model.posterior_, alone.posterior_)

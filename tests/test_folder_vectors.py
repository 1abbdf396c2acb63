"""A fit to vectors in a folder of Parquet files draws what a fit in memory draws."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import mcsquared as mc2
from mcsquared.cli.app import app
from mcsquared.errors import InputError, ModelFileError
from mcsquared.fitting import disk
from mcsquared.storage import read_file, write_file
from tests.samplers.test_python_families import DrawnVisits
from tests.test_chain import assert_same_draws

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("short_fits")

N_GROUPS = 160
SCHEDULE = {"n_sweeps": 10, "burn_in": 4, "thin": 2, "random_state": 3, "progress": False}
both = pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(1, 0.1)], ids=["shared", "varying"])


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 5, (3, 3))
    sizes = [0 if j % 9 == 0 else int(rng.integers(1, 9)) for j in range(N_GROUPS)]
    return [centres[j % 3] + rng.normal(size=(n, 3)) for j, n in enumerate(sizes)]


@pytest.fixture(scope="module")
def contexts():
    rng = np.random.default_rng(1)
    year = np.arange(N_GROUPS) % 3 + rng.normal(0, 0.1, N_GROUPS)
    return pd.DataFrame(
        {
            "year": np.where(rng.random(N_GROUPS) < 0.2, np.nan, year),
            "kind": [None if j % 7 == 0 else "abc"[j % 3] for j in range(N_GROUPS)],
        }
    )


@pytest.fixture(scope="module")
def corpus(groups, contexts):
    return mc2.Corpus(groups, contexts)


@pytest.fixture(scope="module")
def path(groups, contexts, tmp_path_factory):
    path = tmp_path_factory.mktemp("groups")
    frame = contexts.assign(vectors=[group.tolist() for group in groups])
    for number in range(4):
        frame[number * 40 : (number + 1) * 40].to_parquet(path / f"part-{number}.parquet")
    return path


@pytest.fixture
def folder(path):
    return mc2.ParquetFolder(path)


@pytest.fixture
def on_disk(monkeypatch):
    """Leave the corpus on disk, in five shards, though it is small."""
    monkeypatch.setattr(disk, "bytes_of", lambda source: 10**18)
    monkeypatch.setattr(disk, "shards_for", lambda observations: 5)
    monkeypatch.setattr(disk, "max_in_memory", lambda source: disk.MAX_SAMPLED)
    monkeypatch.setattr("mcsquared.samplers.steps.topic_moves.SWEEPS_BEFORE_MOVES", 4)
    return monkeypatch


def assert_same_content(found, expected):
    for draw, other in zip(found.parameters, expected.parameters, strict=True):
        np.testing.assert_array_equal(draw.content_statistics, other.content_statistics)


@both
@pytest.mark.parametrize("content", ["auto", "vectors", mc2.Gaussian()], ids=str)
def test_a_small_folder_is_fitted_as_a_corpus_in_memory(content, lam, corpus, folder):
    if not isinstance(content, str):
        content = mc2.MultivariateGaussian()
    alone = mc2.MC2(content=content, lam=lam, **SCHEDULE).fit(corpus).posterior_
    model = mc2.MC2(content=content, lam=lam, **SCHEDULE).fit(folder)
    assert_same_draws(model.posterior_, alone)
    assert_same_content(model.posterior_, alone)


@both
def test_shards_read_from_disk_draw_what_memory_draws(lam, corpus, folder, on_disk):
    alone = mc2.MC2(lam=lam, n_chains=2, **SCHEDULE).fit(corpus)
    model = mc2.MC2(lam=lam, n_chains=2, **SCHEDULE).fit(folder)
    assert_same_draws(model.posterior_, alone.posterior_)
    assert_same_content(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    np.testing.assert_array_equal(model.predict(folder), alone.predict(corpus))
    np.testing.assert_array_equal(model.transform(folder), alone.transform(corpus))


@both
def test_shards_with_wide_vectors_draw_what_memory_draws(lam, corpus, folder, on_disk):
    """With the methods for many dimensions, used here for three."""
    on_disk.setattr(mc2.MultivariateGaussian, "is_wide", True)
    alone = mc2.MC2(lam=lam, n_jobs=2, **SCHEDULE).fit(corpus)
    model = mc2.MC2(lam=lam, **SCHEDULE).fit(folder)
    assert_same_draws(model.posterior_, alone.posterior_)
    assert_same_content(model.posterior_, alone.posterior_)


@pytest.mark.parametrize("content", ["auto", mc2.MultivariateGaussian()], ids=["auto", "full"])
def test_shards_read_from_disk_draw_what_memory_draws_with_effects(
    content, corpus, folder, on_disk
):
    options = {"content": content, "effects": ["kind", "year"], **SCHEDULE}
    alone = mc2.MC2(**options).fit(corpus).posterior_
    found = mc2.MC2(**options).fit(folder).posterior_
    assert_same_draws(found, alone)
    assert_same_content(found, alone)


@both
def test_vectors_on_disk_may_have_a_user_family(lam, on_disk, tmp_path):
    rng = np.random.default_rng(1)
    groups = [rng.gamma(1.0 + 4 * (j % 2), size=(j % 5, 1)) for j in range(60)]
    pd.DataFrame({"vectors": [group.tolist() for group in groups]}).to_parquet(
        tmp_path / "groups.parquet"
    )
    options = {"lam": lam, "content": DrawnVisits(), **SCHEDULE}
    alone = mc2.MC2(**options).fit(mc2.Corpus(groups)).posterior_
    found = mc2.MC2(**options).fit(mc2.ParquetFolder(tmp_path)).posterior_
    assert_same_draws(found, alone)
    assert_same_content(found, alone)


def test_columns_of_numbers_are_fitted_as_in_memory(contexts, on_disk, tmp_path):
    rng = np.random.default_rng(2)
    frame = contexts.assign(x=rng.normal(size=N_GROUPS), y=np.arange(N_GROUPS) % 3)
    frame.to_parquet(tmp_path / "groups.parquet")
    corpus = mc2.Corpus.from_frame(frame, contexts=["year", "kind"], content=["x", "y"])
    folder = mc2.ParquetFolder(tmp_path, content=["x", "y"])
    alone, model = mc2.MC2(**SCHEDULE).fit(corpus), mc2.MC2(**SCHEDULE).fit(folder)
    assert_same_draws(model.posterior_, alone.posterior_)
    assert_same_content(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.predict(folder), alone.predict(corpus))


@both
def test_any_number_of_shards_draws_the_same_where_some_groups_are_shown(lam, folder, on_disk):
    models = []
    on_disk.setattr(disk, "MAX_SAMPLED", 70)
    for n_shards in (1, 7):
        on_disk.setattr(disk, "shards_for", lambda observations, n=n_shards: n)
        models.append(mc2.MC2(lam=lam, **SCHEDULE).fit(folder))
    posteriors = [model.posterior_ for model in models]
    assert_same_draws(*posteriors)
    assert_same_content(*posteriors)
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)


@both
def test_labels_of_all_groups_agree_with_those_shown_and_with_predictions(
    lam, corpus, folder, on_disk, tmp_path
):
    on_disk.setattr(disk, "MAX_SAMPLED", 70)
    model = mc2.MC2(lam=lam, **SCHEDULE | {"n_sweeps": 40, "burn_in": 20}).fit(folder)
    posterior = model.posterior_
    assert (posterior.n_groups, posterior.n_fitted) == (70, N_GROUPS)
    sampled = posterior.group_names.astype(int)
    np.testing.assert_array_equal(model.labels_[sampled], posterior.labels)
    predicted = model.predict(folder)
    np.testing.assert_array_equal(predicted, model.predict(corpus))
    assert (predicted == model.labels_).mean() > 0.8
    model.save(tmp_path / "some.mc2")
    again = mc2.MC2.load(tmp_path / "some.mc2")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.predict(folder), predicted)


@both
@pytest.mark.parametrize("sampled", [N_GROUPS, 70], ids=["all shown", "some shown"])
def test_a_run_on_disk_resumes_from_its_checkpoint(lam, sampled, folder, on_disk, tmp_path):
    on_disk.setattr(disk, "MAX_SAMPLED", sampled)
    on_disk.setattr("mcsquared.checkpoint.SECONDS_BETWEEN_WRITES", 0.0)
    path, settings = tmp_path / "run", SCHEDULE | {"lam": lam}
    whole = mc2.MC2(**settings).fit(folder)

    def kill(info):
        if info.sweep == 6:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        mc2.MC2(checkpoint=path, callbacks=[kill], **settings).fit(folder)
    resumed = mc2.MC2(checkpoint=path, **settings).fit(folder)
    assert_same_draws(resumed.posterior_, whole.posterior_)
    assert_same_content(resumed.posterior_, whole.posterior_)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)


@pytest.mark.parametrize("content", ["auto", DrawnVisits()], ids=["built-in", "user"])
def test_checkpoints_of_vectors_on_disk_are_validated(content, groups, on_disk, tmp_path):
    (tmp_path / "groups").mkdir()
    visits = [np.floor(np.abs(group[:, :1])).tolist() for group in groups]
    pd.DataFrame({"vectors": visits}).to_parquet(tmp_path / "groups" / "one.parquet")
    folder = mc2.ParquetFolder(tmp_path / "groups")
    path, settings = tmp_path / "run", SCHEDULE | {"lam": 5.0, "content": content}
    whole = mc2.MC2(checkpoint=path, **settings).fit(folder)
    tensors, meta = read_file(path, "checkpoint")
    for name, wrong in (
        ("0.labels.topics", 65535),
        ("0.topics_in_cluster.data", 10**6),
        ("0.topic_statistics", np.nan if content != "auto" else 12345.0),
    ):
        changed = tensors[name].copy()
        changed.flat[0] = wrong
        write_file(path, "checkpoint", tensors | {name: changed}, meta)
        with pytest.raises(ModelFileError):
            mc2.MC2(checkpoint=path, **settings).fit(folder)
    write_file(path, "checkpoint", tensors, meta)
    again = mc2.MC2(checkpoint=path, **settings).fit(folder)
    assert_same_content(again.posterior_, whole.posterior_)


@both
def test_a_warm_start_on_disk_continues_as_in_memory(lam, corpus, folder, on_disk):
    alone = mc2.MC2(lam=lam, warm_start=True, **SCHEDULE).fit(corpus)
    model = mc2.MC2(lam=lam, warm_start=True, **SCHEDULE).fit(folder)
    assert_same_draws(model.fit(folder).posterior_, alone.fit(corpus).posterior_)
    assert_same_content(model.posterior_, alone.posterior_)


@both
def test_a_cluster_draws_the_same_from_a_folder(lam, corpus, path, on_disk):
    distributed = pytest.importorskip("distributed")
    on_disk.setattr("mcsquared.distributed.backend.shards_for", lambda observations: 5)
    alone = mc2.MC2(lam=lam, **SCHEDULE).fit(corpus)
    with distributed.Client(n_workers=2, processes=False, dashboard_address=None) as client:
        model = mc2.distributed.fit(mc2.MC2(lam=lam, **SCHEDULE), str(path), client=client)
    assert_same_draws(model.posterior_, alone.posterior_)
    assert_same_content(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.labels_, alone.labels_)


def test_a_limit_counts_the_numbers_of_vectors(folder, on_disk, monkeypatch, tmp_path):
    """Wide vectors need more memory than narrow ones, so fewer groups fit."""
    monkeypatch.undo()
    wide = tmp_path / "wide"
    wide.mkdir()
    pd.DataFrame({"vectors": [[[0.5] * 300] * 3] * 50}).to_parquet(wide / "one.parquet")
    with mc2.ParquetFolder(wide).open() as source:
        n_bytes, n_numbers = disk.bytes_of(source), 50 * 3 * 300
        assert n_bytes > 8 * n_numbers
        monkeypatch.setattr(disk, "memory_in_use", lambda: source.memory - n_bytes)
        assert disk.max_in_memory(source) == 12


def test_predictions_refuse_content_of_another_kind(folder, path, tmp_path):
    model = mc2.MC2(**SCHEDULE).fit(folder)
    frames = {
        "words": {"tokens": [["ant", "bee"], ["car"]]},
        "wide": {"vectors": [[[0.5, 1.0]], [[0.5, 2.0]]]},
    }
    for name, columns in frames.items():
        (tmp_path / name).mkdir()
        pd.DataFrame(columns).to_parquet(tmp_path / name / "one.parquet")
    words, wide = (mc2.ParquetFolder(tmp_path / name) for name in frames)
    with pytest.raises(InputError, match="content must contain vectors as in training, got words"):
        model.predict(words)
    with pytest.raises(InputError, match="X has 2 features, but MC2 is expecting 3 features"):
        model.predict(wide)
    with pytest.raises(
        InputError, match="column 'vectors' must contain words as in training, got vectors"
    ):
        mc2.MC2(**SCHEDULE).fit(words).predict(wide)
    with pytest.raises(InputError, match=r"must contain counts .*, got vectors"):
        mc2.MC2(content="counts", **SCHEDULE).fit(folder)
    with pytest.raises(InputError, match=r"must contain vectors .*, got counts"):
        mc2.MC2(content="vectors", **SCHEDULE).fit(words)


def test_the_command_line_fits_predicts_and_reports_from_a_folder(path, folder, tmp_path):
    out, table, page = (str(tmp_path / name) for name in ("a.mc2", "a.csv", "a.html"))
    run = CliRunner().invoke
    fit = ["fit", str(path), "--context", "year", "--sweeps", "8", "--out", out]
    found = run(app, fit)
    assert found.exit_code == 0, found.output
    assert "topic 0:" in found.output
    found = run(app, ["predict", out, str(path), "--out", table])
    assert found.exit_code == 0, found.output
    predicted = mc2.MC2.load(out).predict(folder)
    np.testing.assert_array_equal(pd.read_csv(table)["cluster"], predicted)
    assert run(app, ["report", out, "--out", page]).exit_code == 0
    found = run(app, [*fit, "--out", str(tmp_path / "b.mc2"), "--min-df", "2"])
    assert found.exit_code != 0
    assert "min_df must not be given if column 'vectors' contains vectors" in found.output


@pytest.mark.parametrize("options", [["--long", "kind"], ["--value", "year"]], ids=" ".join)
def test_the_command_line_does_not_ignore_options_of_long_tables(options, path, tmp_path):
    out = tmp_path / "a.mc2"
    found = CliRunner().invoke(app, ["fit", str(path), *options, "--out", str(out)])
    assert found.exit_code != 0
    assert "--long" in found.output
    assert not out.exists()


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_file_has_the_vectors_of_a_folder(suffix, corpus, groups, contexts, path, tmp_path):
    frame, file = contexts.assign(vectors=[g.tolist() for g in groups]), tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(file)
    else:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        file.write_text("\n".join(map(json.dumps, rows)))
    read = mc2.Corpus.read(file, "vectors", ["year", "kind"])
    assert read.fingerprint() == corpus.fingerprint()
    run, out, table = CliRunner().invoke, str(tmp_path / "a.mc2"), str(tmp_path / "a.csv")
    for command in (
        ["fit", str(file), "--text", "vectors", "--context", "year", "--sweeps", "8", "--out", out],
        ["predict", out, str(file), "--out", table],
        ["report", out, "--data", str(file), "--out", str(tmp_path / "a.html")],
    ):
        found = run(app, command)
        assert found.exit_code == 0, found.output
    from_file = pd.read_csv(table)
    assert run(app, ["predict", out, str(path), "--out", table]).exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv(table), from_file)

"""A fit to a folder of Parquet files with levels above groups draws what a fit in memory draws."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import mcsquared as mc2
from mcsquared.cli.app import app
from mcsquared.errors import InputError
from mcsquared.fitting import disk
from tests.test_chain import assert_same_draws

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("short_fits")

N_GROUPS = 150
SCHEDULE = {"n_sweeps": 8, "burn_in": 4, "thin": 2, "random_state": 3, "progress": False}
LEVELS = ["school", "district"]
both = pytest.mark.parametrize("lam", [np.inf, mc2.Gamma(1, 0.1)], ids=["shared", "varying"])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    school = rng.integers(0, 12, N_GROUPS)
    first = 4 * (school % 3)
    return pd.DataFrame(
        {
            "tokens": [[f"w{a + w}" for w in rng.integers(0, 4, 20)] for a in first],
            "year": rng.normal(size=N_GROUPS),
            "school": [None if j % 11 == 0 else int(s) for j, s in enumerate(school)],
            "district": [None if s == 5 else "nsw"[s % 3] for s in school],
        }
    ).astype({"school": "Int64"})


@pytest.fixture(scope="module")
def schools():
    return pd.DataFrame({"school": range(12), "size": [np.nan, *np.linspace(0.0, 3.0, 11)]})


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("groups")
    for number in range(3):
        frame[number * 50 : (number + 1) * 50].to_parquet(path / f"part-{number}.parquet")
    return path


@pytest.fixture
def folder(path, schools):
    return mc2.ParquetFolder(path, levels=LEVELS, level_contexts={"school": schools})


@pytest.fixture
def corpus(frame, schools):
    given = {"levels": LEVELS, "level_contexts": {"school": schools}}
    return mc2.Corpus.from_frame(frame, text="tokens", contexts=["year"], **given)


@pytest.fixture
def on_disk(monkeypatch):
    """Leave the corpus on disk, in five shards, though it is small."""
    monkeypatch.setattr(disk, "bytes_of", lambda source: 10**18)
    monkeypatch.setattr(disk, "shards_for", lambda observations: 5)
    monkeypatch.setattr(disk, "max_in_memory", lambda source: disk.MAX_SAMPLED)
    return monkeypatch


def assert_same_types(one, other):
    assert [units.name for units in one.units] == [units.name for units in other.units] == LEVELS
    for units, others in zip(one.units, other.units, strict=True):
        np.testing.assert_array_equal(units.unit_names, others.unit_names)
        np.testing.assert_array_equal(units.type_of_unit, others.type_of_unit)
        np.testing.assert_array_equal(units.trace, others.trace)


def test_a_folder_has_the_levels_of_a_frame(folder, corpus):
    with folder.open() as opened:
        whole, part = opened[0 : opened.n_groups], opened[[3, 140]]
        for found, expected in zip(whole.levels, corpus.levels, strict=True):
            np.testing.assert_array_equal(found.unit_names, expected.unit_names)
            np.testing.assert_array_equal(found.parent_of_child, expected.parent_of_child)
            assert list(found.contexts) == list(expected.contexts)
        np.testing.assert_array_equal(
            part.levels[0].parent_of_child, corpus.levels[0].parent_of_child[[3, 140]]
        )
        assert opened.fingerprint() == whole.fingerprint()
        assert "school: level of 12 units, 136 of 150 groups belong to one" in opened.describe()


@both
def test_shards_read_from_disk_draw_what_memory_draws(lam, folder, corpus, on_disk):
    alone = mc2.MC2(lam=lam, n_chains=2, **SCHEDULE).fit(corpus)
    model = mc2.MC2(lam=lam, n_chains=2, **SCHEDULE).fit(folder)
    assert_same_draws(model.posterior_, alone.posterior_)
    assert_same_types(model.posterior_, alone.posterior_)
    np.testing.assert_array_equal(model.labels_, alone.labels_)


def test_a_sample_has_the_types_of_all_units(folder, on_disk, tmp_path):
    on_disk.setattr(disk, "MAX_SAMPLED", 40)
    models = []
    for n_shards in (1, 4):
        on_disk.setattr(disk, "shards_for", lambda observations, n=n_shards: n)
        models.append(mc2.MC2(**SCHEDULE).fit(folder))
    assert_same_draws(*(model.posterior_ for model in models))
    assert_same_types(*(model.posterior_ for model in models))
    posterior = models[0].posterior_
    assert (posterior.n_groups, posterior.n_fitted) == (40, N_GROUPS)
    assert len(posterior.level("school").labels) == 12
    np.testing.assert_allclose(posterior.cluster_given_type("school").sum(axis=1), 1.0)
    models[0].save(tmp_path / "some.mc2")
    again = mc2.MC2.load(tmp_path / "some.mc2")
    assert_same_types(again.posterior_, posterior)
    np.testing.assert_array_equal(again.predict(folder), models[0].predict(folder))


@pytest.mark.parametrize("sampled", [N_GROUPS, 40], ids=["all shown", "some shown"])
def test_a_run_on_disk_resumes_from_its_checkpoint(sampled, folder, on_disk, tmp_path):
    on_disk.setattr(disk, "MAX_SAMPLED", sampled)
    on_disk.setattr("mcsquared.checkpoint.SECONDS_BETWEEN_WRITES", 0.0)

    def kill(info):
        if info.sweep == 5:
            raise RuntimeError("killed")

    whole = mc2.MC2(**SCHEDULE).fit(folder)
    with pytest.raises(RuntimeError, match="killed"):
        mc2.MC2(checkpoint=tmp_path / "run", callbacks=[kill], **SCHEDULE).fit(folder)
    resumed = mc2.MC2(checkpoint=tmp_path / "run", **SCHEDULE).fit(folder)
    assert_same_draws(resumed.posterior_, whole.posterior_)
    assert_same_types(resumed.posterior_, whole.posterior_)


def test_the_command_line_reads_levels_of_a_folder(path, schools, tmp_path):
    schools.to_csv(tmp_path / "schools.csv", index=False)
    level = ["--level", "school", "--level-context", f"school={tmp_path / 'schools.csv'}:size"]
    options = ["--text", "tokens", *level, "--sweeps", "6", "--seed", "3"]
    out = tmp_path / "model.mc2"
    result = CliRunner().invoke(app, ["fit", str(path), *options, "--out", str(out)])
    assert result.exit_code == 0, result.output
    (units,) = mc2.MC2.load(out).posterior_.units
    assert (units.name, len(units.unit_names), list(units.contexts)) == ("school", 12, ["size"])


def test_a_column_is_a_level_or_a_context(path):
    with pytest.raises(InputError, match="must not share a column, got 'school' in both"):
        mc2.ParquetFolder(path, contexts=["school"], levels="school").check()
    with pytest.raises(InputError, match="levels must name a column"):
        mc2.ParquetFolder(path, levels="city").check()

"""mc2 fit --level: units above groups, their contexts from another file, and prediction."""

import pandas as pd
import pytest

from mcsquared import MC2
from tests.cli.commands import fit_command, invoke, papers, rejected

pytestmark = pytest.mark.usefixtures("short_fits")

JOURNALS = pd.DataFrame(
    {
        "journal": [f"J{i}" for i in range(6)],
        "publisher": ["P", "Q"] * 3,
        "impact": [3.0, 1.0, 3.2, None, 2.9, 1.1],
        "motto": [f"motto {i}" for i in range(6)],
    }
)


@pytest.fixture
def files(tmp_path):
    table = papers()
    table["journal"] = [f"J{j % 6}" if j else None for j in range(len(table))]
    table.to_csv(tmp_path / "papers.csv", index=False)
    JOURNALS.to_csv(tmp_path / "journals.csv", index=False)
    return tmp_path


def fit(folder, *more):
    return invoke(*fit_command(folder / "papers.csv", folder / "m.mc2", *more))


def test_a_level_and_its_contexts_are_fitted_and_used_for_new_groups(files):
    above = f"journal={files / 'journals.csv'}:publisher,impact"
    result = fit(files, "--level", "journal", "--level-context", above)
    assert result.exit_code == 0, result.output
    assert "level journal: " in result.stdout
    posterior = MC2.load(files / "m.mc2").posterior_
    assert list(posterior.level("journal").contexts) == ["publisher", "impact"]
    assert (posterior.units[0].parent_of_child < 0).sum() == 1
    result = invoke("predict", files / "m.mc2", files / "papers.csv", "--out", files / "p.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(files / "p.csv")) == 40
    papers(6).to_csv(files / "new.csv", index=False)
    result = invoke("predict", files / "m.mc2", files / "new.csv", "--out", files / "p.csv")
    assert "has no column 'journal', so the journal of a group is not known" in result.stderr


@pytest.fixture
def fitted(files):
    above = f"journal={files / 'journals.csv'}:publisher,impact"
    assert fit(files, "--level", "journal", "--level-context", above).exit_code == 0
    return files / "m.mc2"


def predicted(model, file, *more):
    out = model.with_name("p.csv")
    result = invoke("predict", model, file, "--out", out, *more)
    assert result.exit_code == 0, result.output
    return pd.read_csv(out), result.stderr


def test_contexts_of_new_units_are_read_from_a_file_or_from_the_table(fitted, files):
    new = papers(6).assign(journal=["new P", "J1", "new Q"] * 2)
    contexts = pd.DataFrame({"journal": ["new P", "new Q"], "publisher": list("PQ"), "extra": 1})
    contexts.to_csv(files / "new journals.csv", index=False)
    new.to_csv(files / "new.csv", index=False)
    without, message = predicted(fitted, files / "new.csv")
    assert "2 of 3 units of journal not seen in training: types are predicted" in message
    above = ["--level-context", f"journal={files / 'new journals.csv'}"]
    given, _ = predicted(fitted, files / "new.csv", *above)
    changed = (given != without).any(axis=1)
    assert changed[[0, 2, 3, 5]].any()
    assert not changed[[1, 4]].any()
    new.merge(contexts, how="left").to_csv(files / "joined.csv", index=False)
    pd.testing.assert_frame_equal(predicted(fitted, files / "joined.csv")[0], given)
    (files / "folder").mkdir()
    new.to_parquet(files / "folder" / "new.parquet")
    pd.testing.assert_frame_equal(predicted(fitted, files / "folder", *above)[0], given)
    message = (
        "--level-context must be of a level of the model and the file (journal), got 'magazine'"
    )
    wrong = ["--level-context", f"magazine={files / 'new journals.csv'}"]
    assert message in rejected(invoke("predict", fitted, files / "new.csv", *wrong))


def test_classes_that_are_constant_within_units_are_compared_with_the_clusters(fitted, files):
    table = pd.read_csv(files / "papers.csv").merge(JOURNALS, how="left")
    table.to_csv(files / "all.csv", index=False)
    for column in ("publisher", "motto"):  # a context of the units, and a column it does not know
        result = invoke("evaluate", fitted, files / "all.csv", "--labels", column)
        assert result.exit_code == 0, result.output
        assert "classes of 39 groups" in result.stdout
        assert "constant within" not in result.stderr


def test_without_columns_all_of_the_file_are_contexts(files):
    result = fit(files, "--level", "journal", "--level-context", f"journal={files}/journals.csv")
    assert result.exit_code == 0, result.output
    level = MC2.load(files / "m.mc2").posterior_.level("journal")
    assert list(level.contexts) == ["publisher", "impact", "motto"]


WRONG = [
    (("--level-context", "journal=x.csv"), "must be of a --level (none), got 'journal'"),
    (("--level", "journal", "--level-context", "journal"), "must be LEVEL=FILE[:COLUMNS]"),
    (("--level", "magazine"), "levels must name a column of"),
    (
        ("--level", "journal", "--level-context", "journal=papers.csv:age"),
        "--level-context must name a column of",
    ),
    (
        ("--level", "subject", "--level-context", "subject=journals.csv"),
        "must have a column 'subject' with the names of the units",
    ),
    (
        ("--level", "journal", "--long", "subject", "--value", "year"),
        "--level requires a file with one row per group, got --long",
    ),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_levels_that_do_not_fit_are_refused(files, options, message, monkeypatch):
    monkeypatch.chdir(files)
    assert message in rejected(fit(files, *options))

"""New files are read in the same way as the training file."""

from pathlib import Path

import numpy as np
import pytest

from mcsquared import MC2
from mcsquared.cli.reading import FileOptions, read_for_model, separator_of_items
from mcsquared.corpus import Column
from mcsquared.corpus.sources import files
from mcsquared.corpus.sources.files import read_table
from tests.cli.commands import invoke, papers


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    """A model whose authors are separated by bars, with ambiguous codes."""
    folder = tmp_path_factory.mktemp("coded")
    frame = papers().drop(columns="year")
    frame["authors"] = frame["authors"].str.replace("; ", "|")
    frame["code"] = ["007", "A12", "true", "NA", "2014-06"] * 8
    frame.to_csv(folder / "papers.csv", index=False)
    options = ["--context", "authors:bag:|", "--context", "code", "--sweeps", 20]
    file, out = folder / "papers.csv", folder / "papers.mc2"
    result = invoke("fit", file, "--text", "abstract", "--out", out, *options)
    assert result.exit_code == 0, result.output
    return MC2.load(out), frame


def read_rows(coded, path: Path, rows: slice):
    """Write some training rows to a separate file and read them for the model."""
    model, frame = coded
    frame.iloc[rows].to_csv(path, index=False)
    corpus = read_for_model(model, FileOptions(path))
    return corpus.aligned_to(model.posterior_.vocabulary, model.posterior_.contexts)


def test_bags_are_split_at_the_separator_of_the_fit(coded, tmp_path):
    authors = read_rows(coded, tmp_path / "new.csv", slice(None)).contexts["authors"]
    trained = coded[0].posterior_.contexts["authors"]
    np.testing.assert_array_equal(authors.values.toarray(), trained.values.toarray())


@pytest.mark.parametrize("row", range(5))
def test_a_single_category_is_read_as_in_training(coded, tmp_path, row):
    code = read_rows(coded, tmp_path / "new.csv", slice(row, row + 1)).contexts["code"]
    assert code.categories[code.values[0]] == coded[1]["code"][row]


def test_numbers_that_were_categories_in_training_remain_categories(tmp_path):
    frame = papers().drop(columns=["authors", "year"])
    frame["place"] = [1, 2] * 20
    file, out = tmp_path / "papers.csv", tmp_path / "papers.mc2"
    frame.to_csv(file, index=False)
    options = ["--context", "place:categorical", "--sweeps", 20]
    assert invoke("fit", file, "--text", "abstract", "--out", out, *options).exit_code == 0
    model = MC2.load(out)
    new = tmp_path / "new.csv"
    frame.assign(place=[2.0, None] * 20).head(2).to_csv(new, index=False)
    corpus = read_for_model(model, FileOptions(new))
    place = corpus.aligned_to(model.posterior_.vocabulary, model.posterior_.contexts).contexts
    assert place["place"].values.tolist() == [1, -1]


def test_a_comma_in_an_item_implies_another_separator():
    for items, separator in ((["Nguyen, Vu"], ";"), (["Vu"], None)):
        bag = Column("authors", "bag", np.ones((1, 1), int), np.array(items, object))
        assert separator_of_items(bag) == separator


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "report"])
def test_a_command_parses_its_file_once(command, tmp_path, monkeypatch):
    file, out = tmp_path / "papers.csv", tmp_path / "papers.mc2"
    papers().to_csv(file, index=False)
    fit = ("fit", file, "--text", "abstract", "--context", "year", "--sweeps", 12, "--out", out)
    if command != "fit":
        assert invoke(*fit).exit_code == 0
    parsed = []

    def parse(path, **options):
        parsed.append(path)
        return read_table(path, **options)

    monkeypatch.setattr(files, "read_table", parse)
    arguments = {
        "fit": fit,
        "predict": ("predict", out, file, "--out", tmp_path / "out.csv"),
        "evaluate": ("evaluate", out, file),
        "report": ("report", out, "--data", file, "--out", tmp_path / "out.html"),
    }
    result = invoke(*arguments[command])
    assert result.exit_code == 0, result.output
    assert parsed == [file]

"""Options of mc2 fit for text and for messy files."""

import numpy as np

from mcsquared import MC2
from mcsquared.cli.reading import FileOptions, read_for_model, texts_for_model
from tests.cli.commands import invoke, rejected


def succeeds(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def test_options_for_words_are_those_of_python(tmp_path):
    path = tmp_path / "notes.csv"
    lines = ["id;word;text"]
    lines += [f"{j % 6};w{j % 3};The Ant and the BEE #go number{j % 2}" for j in range(24)]
    path.write_text("\n".join(lines), encoding="latin-1")
    stop = tmp_path / "stop.txt"
    stop.write_text("and\nnumber0\n")
    out = tmp_path / "notes.mc2"
    common = ["--sweeps", "4", "--burn-in", "2", "--out", str(out)]
    options = ["--stop-words", str(stop), "--no-lowercase", "--keep", "hashtags", "--max-df", "1.0"]
    succeeds("fit", path, "--text", "text", *options, "--ngrams", "2", "--min-df", "2", *common)
    words = set(MC2.load(out).posterior_.vocabulary)
    assert {"The", "Ant", "BEE", "#go", "number1", "The Ant"} <= words
    assert not {"and", "number0"} & words
    found = succeeds("predict", out, path, "--out", str(tmp_path / "p.csv"))
    assert "24 groups" in found.stdout
    out.unlink()
    succeeds("fit", path, "--long", "id", "--value", "word", *common)
    posterior = MC2.load(out).posterior_
    assert posterior.n_groups == 6
    np.testing.assert_array_equal(posterior.tokens_per_group, 4)
    found = succeeds("predict", out, path, "--out", str(tmp_path / "q.csv"))
    assert "6 groups" in found.stdout
    file = FileOptions(path)
    table = file.table()
    corpus = read_for_model(MC2.load(out), file, training=table)
    listed = texts_for_model(MC2.load(out), file, table, corpus)
    assert len(listed) == 6
    assert listed[0] == "w0 ×4"
    for more, number in [([], "neither"), (["--value", "word", "--text", "text"], "both")]:
        sentence = rejected(invoke("fit", path, "--long", "id", *more, *common))
        assert f"--long requires either --value or --text, got {number}" in sentence

"""mc2 report: a page from a model file, with or without its data."""

from mcsquared import MC2
from tests.cli.commands import invoke, papers, rejected


def test_report_writes_a_page(fitted, tmp_path):
    out = tmp_path / "papers.html"
    result = invoke("report", fitted, "--out", out)
    assert result.exit_code == 0, result.output
    assert "2 clusters" in result.stdout
    assert out.as_uri() in result.stdout
    page = out.read_text(encoding="utf-8")
    assert "<title>papers</title>" in page
    assert '"group_shares":false' in page


def test_with_the_data_each_group_has_its_own_topics(fitted, tmp_path):
    data, out = tmp_path / "papers.csv", tmp_path / "papers.html"
    papers().to_csv(data, index=False)
    result = invoke("report", fitted, "--data", data, "--out", out, "--title", "A <b> title")
    assert result.exit_code == 0, result.output
    page = out.read_text(encoding="utf-8")
    assert '"group_shares":true' in page
    assert "A &lt;b&gt; title</title>" in page


def test_words_dropped_by_the_fit_are_not_reported_again(fitted, tmp_path):
    data, out = tmp_path / "papers.csv", tmp_path / "papers.html"
    table = papers()
    table["abstract"] += " withered"
    table.to_csv(data, index=False)
    result = invoke("report", fitted, "--data", data, "--out", out)
    assert result.exit_code == 0, result.output
    assert "note" not in result.output
    again = invoke("predict", fitted, data, "--out", tmp_path / "out.csv")
    assert "outside the vocabulary" in again.output, "of new groups it is worth knowing"


def test_data_other_than_the_training_data_are_rejected(fitted, tmp_path):
    data, out = tmp_path / "papers.csv", tmp_path / "papers.html"
    papers(12).to_csv(data, index=False)
    sentence = rejected(invoke("report", fitted, "--data", data, "--out", out))
    assert "got 12" in sentence
    assert not out.exists()


def test_input_files_are_never_overwritten(fitted):
    before = fitted.read_bytes()
    assert "must differ from the input files" in rejected(invoke("report", fitted, "--out", fitted))
    assert fitted.read_bytes() == before
    assert "does not exist" in rejected(invoke("report", fitted, "--out", "nowhere/page.html"))


def test_labels_of_a_report_are_stored_in_the_model(fitted, tmp_path):
    labels = tmp_path / "labels.json"
    labels.write_text('{"clusters": {"0": "Neurons"}, "topics": {}}')
    out = tmp_path / "named.html"
    result = invoke("report", fitted, "--out", out, "--labels", labels)
    assert result.exit_code == 0, result.output
    assert "Neurons" in out.read_text(encoding="utf-8")
    assert MC2.load(fitted).posterior_.clusters()["name"][0] == "Neurons"
    labels.write_text("[1]")
    assert "--labels" in rejected(invoke("report", fitted, "--out", out, "--labels", labels))

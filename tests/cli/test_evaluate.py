"""mc2 evaluate: perplexities with their methods, scores of clusters."""

import re

import pandas as pd
import pytest

from mcsquared import MC2
from tests.cli.commands import invoke, papers, rejected


@pytest.fixture
def held_out(tmp_path):
    path = tmp_path / "test.csv"
    papers(12, seed=9).to_csv(path, index=False)
    return path


def perplexities(text: str) -> dict[str, float]:
    return {name: float(x) for name, x in re.findall(r"perplexity \(([^)]*)\): ([\d.]+)", text)}


@pytest.mark.parametrize(
    ("model", "whole"), [("fitted", "left_to_right"), ("fitted_as_in_the_paper", "exact")]
)
def test_every_perplexity_is_printed_with_its_method(request, held_out, model, whole):
    # Only the cheap methods are used by default.
    options = [] if whole == "exact" else ["--method", "completion", "--method", whole]
    result = invoke("evaluate", request.getfixturevalue(model), held_out, *options)
    assert result.exit_code == 0, result.output
    found = perplexities(result.stdout)
    assert set(found) == {"completion", whole}
    [reference] = re.findall(r"reference: ([\d.]+) with the word frequencies", result.stdout)
    assert max(found.values()) < float(reference) < 17
    # Eight words per subject, so between one and sixteen words.
    assert all(6 < value < 16 for value in found.values())


def test_the_figure_of_the_training_groups_is_a_reference(fitted, held_out, tmp_path, monkeypatch):
    monkeypatch.setattr("mcsquared.cli.fitted.MAX_TRAINING_GROUPS", 30)
    training = tmp_path / "training.csv"
    papers(40, seed=0).to_csv(training, index=False)
    result = invoke("evaluate", fitted, held_out, "--training", training)
    assert result.exit_code == 0, result.output
    pattern = r"reference: ([\d.]+) for 30 training groups, as if they were new"
    [reference] = re.findall(pattern, result.stdout)
    perplexity = perplexities(result.stdout)["completion"]
    assert 0.7 < float(reference) / perplexity < 1.3


def test_methods_can_be_chosen_and_contexts_given(fitted, fitted_as_in_the_paper, held_out):
    result = invoke("evaluate", fitted_as_in_the_paper, held_out, "--method", "printed")
    assert set(perplexities(result.stdout)) == {"printed"}
    assert "not a probability" in result.stdout
    for model, method in ((fitted, "left_to_right"), (fitted_as_in_the_paper, "exact")):
        result = invoke("evaluate", model, held_out, "--method", method, "--given-contexts")
        assert set(perplexities(result.stdout)) == {f"{method}, given the contexts"}


@pytest.mark.parametrize("method", ["exact", "printed"])
def test_methods_of_the_papers_model_are_rejected_for_a_finite_lam(fitted, held_out, method):
    sentence = rejected(invoke("evaluate", fitted, held_out, "--method", method))
    assert f"'{method}'" in sentence
    assert "requires lam=inf, got a finite lam" in sentence


def test_evaluation_is_deterministic(fitted, held_out):
    first, second = (invoke("evaluate", fitted, held_out) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert set(perplexities(first.stdout)) == {"completion"}
    assert first.stdout == second.stdout


def test_labels_score_the_clusters(fitted, held_out):
    result = invoke("evaluate", fitted, held_out, "--labels", "subject")
    assert result.exit_code == 0, result.output
    for score in ("purity", "NMI", "Rand index", "adjusted Rand index", "pairwise F-score"):
        assert f"{score}: 1.0000" in result.stdout


def test_a_numeric_column_can_be_the_labels(fitted, tmp_path):
    path = tmp_path / "test.csv"
    table = papers(12, seed=9)
    table.assign(subject=(table["subject"] == "kernel") + 1.5).to_csv(path, index=False)
    assert "NMI: 1.0000" in invoke("evaluate", fitted, path, "--labels", "subject").stdout


def test_groups_without_a_label_are_not_scored(fitted, tmp_path):
    path = tmp_path / "test.csv"
    table = papers(12, seed=9)
    table.loc[:3, "subject"] = None
    table.to_csv(path, index=False)
    result = invoke("evaluate", fitted, path, "--labels", "subject")
    assert "2 classes of 8 groups" in result.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--labels", "nothing"], "nothing"),
        (["--labels", "authors"], "one category per group"),
        (
            ["--method", "best"],
            "--method must be one of completion, exact, left_to_right, printed, got 'best'",
        ),
        (["--text", "body"], "body"),
    ],
)
def test_bad_options_are_rejected(fitted, held_out, options, sentence):
    assert sentence in rejected(invoke("evaluate", fitted, held_out, *options))


def test_labels_without_a_value_are_rejected(fitted, tmp_path):
    path = tmp_path / "test.csv"
    papers(12, seed=9).assign(subject=None).to_csv(path, index=False)
    assert "must be a column with values" in rejected(
        invoke("evaluate", fitted, path, "--labels", "subject")
    )


def test_a_model_fitted_in_python_requires_the_text_column(tmp_path, held_out):
    model = MC2(n_sweeps=4, burn_in=2, thin=1, random_state=0).fit(list(papers()["abstract"]))
    model.save(tmp_path / "python.mc2")
    assert "--text" in rejected(invoke("evaluate", tmp_path / "python.mc2", held_out))
    result = invoke("evaluate", tmp_path / "python.mc2", held_out, "--text", "abstract")
    assert result.exit_code == 0, result.output


def test_a_file_without_a_known_word_is_rejected(fitted, tmp_path):
    new = tmp_path / "new.csv"
    pd.DataFrame({"abstract": ["zebra lion", "lion"]}).to_csv(new, index=False)
    assert "no words of the model's vocabulary" in rejected(invoke("evaluate", fitted, new))


def test_an_unknown_column_of_labels_is_rejected_before_anything_is_printed(fitted, tmp_path):
    file = tmp_path / "test.csv"
    papers(6).to_csv(file, index=False)
    result = invoke("evaluate", fitted, file, "--labels", "subjct")
    assert "--labels must name a column of " in rejected(result)
    assert "got 'subjct'" in rejected(result)
    assert result.stdout == ""

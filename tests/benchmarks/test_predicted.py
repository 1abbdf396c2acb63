"""Predicted contexts are ranked and scored in the same way for all models."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import regressions
from benchmarks.corpora import simulated_corpus
from benchmarks.questions import effects, predicted, predicted_methods
from benchmarks.settings import Settings
from mcsquared import Corpus

pytest.importorskip("tomotopy")
TINY = replace(Settings().quick(), predicted_sweeps=4)


def corpus() -> Corpus:
    """Return groups whose first word tells their kind, and whose second one their year."""
    kind = np.arange(40) % 3
    words = [[f"kind{k}"] * 8 + [f"year{j % 2}"] * 8 for j, k in enumerate(kind)]
    return Corpus.from_tokens(
        words,
        {
            "kind": [f"k{k}" for k in kind],
            "year": 1990.0 + 10 * (np.arange(40) % 2) + np.arange(40) % 3,
        },
    )


TASKS = tuple(
    predicted_methods.Task(
        f"{context} of groups", "none.npz", context, corpus, 20, 20, 5.0, is_unit
    )
    for context, is_unit in (("kind", True), ("year", False))
)


def test_every_method_predicts_every_kind_of_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicted_methods, "TASKS", TASKS)
    monkeypatch.setattr(predicted_methods, "data_folder", lambda file: file)
    result = predicted_methods.run(TINY)
    assert all(len(row) == len(result.columns) for row in result.rows)
    kinds = {row[1]: row for row in result.rows if row[0] == "kind of groups"}
    years = {row[1]: row for row in result.rows if row[0] == "year of groups"}
    assert len(kinds) == 7
    assert len(years) == 6
    assert 0.0 <= kinds[predicted_methods.UNITS][2] <= kinds[predicted_methods.UNITS][3] == 1.0
    assert kinds["regression on TF-IDF"][2] == 1.0
    assert kinds["frequency"][3] == 1.0  # three kinds, five guesses
    assert years["regression on TF-IDF"][5] == 1.0
    assert years["frequency"][5] < 1.0


def test_groups_without_a_known_value_are_not_scored() -> None:
    train = Corpus.from_tokens([["a"], ["b"]], {"who": [["x"], ["y", "z"]]})
    test = Corpus.from_tokens([["a"], ["b"], ["b"]], {"who": [["x", "n"], ["y"], ["n"]]})
    found = np.array([["x", "y"], ["x", "y"], ["x", "y"]], object)
    task = predicted_methods.Task("", "", "who", corpus, 2, 3)
    first, among, *_, n_scored = predicted_methods.score(found, train, test, task)
    assert (first, among, n_scored) == (0.5, 1.0, 2)


def test_errors_of_numbers_are_those_of_their_means() -> None:
    data = Corpus.from_tokens([["a"], ["b"]], {"year": [1990.0, 2000.0]})
    found = np.array([[1991.0, 1989.0, 1993.0], [2020.0, 2015.0, 2025.0]])
    figures = predicted_methods.score(found, data, data, TASKS[1])
    assert figures == (None, None, 10.5, 0.5, 0.5, 2)


@pytest.mark.parametrize("kind", [predicted.CLUES, predicted.EFFECTS])
def test_contexts_of_the_held_out_groups_are_scored(kind: str) -> None:
    settings = replace(TINY, scale=1.0, whole_groups=3)
    one = predicted.fit_and_score(TASKS, kind, 0, settings)
    assert one.n_groups == 3
    assert 0.0 <= one.first <= one.among <= 1.0
    assert one.width > 0.0
    assert one.perplexity > 1.0
    words = replace(TASKS[0], context="kind")
    alone = predicted.fit_and_score((words,), kind, 0, settings)
    assert (alone.near, alone.median_error, alone.inside, alone.width) == (None,) * 4


def test_targets_are_means_over_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(
        tasks: tuple[object, ...], kind: str, seed: int, settings: Settings
    ) -> predicted.Scored:
        years = (0.8, 1.0, 0.94 + 0.02 * seed, 9.0) if len(tasks) == 2 else (None,) * 4
        ratio = 1.001 + 0.002 * seed if kind == predicted.EFFECTS else 1.0
        return predicted.Scored(0.39 + 0.02 * seed, 0.7, *years, ratio, 1.0, 5, 1.0)

    monkeypatch.setattr(predicted, "data_folder", lambda file: file)
    monkeypatch.setattr(predicted, "fit_and_score", score)
    result = predicted.run(Settings())
    assert all(len(row) == len(result.columns) for row in result.rows)
    found = [target.found for target in result.targets]
    assert found == pytest.approx([0.4, 0.7, 0.2, 0.8, 0.95, 0.95, 0.4, 0.2])
    assert [target.met for target in result.targets[:5]] == [True, False, True, True, True]


def test_the_most_frequent_values_come_first() -> None:
    train = Corpus.from_tokens([["a"]] * 4, {"kind": ["x", "y", "y", "z"]})
    ranked = regressions.by_frequency(train, train[:1], "kind")
    assert ranked[0, 0] == "y"
    assert set(ranked[0]) == {"x", "y", "z"}


def test_the_cost_of_effects_is_relative_to_the_same_contexts_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects, "speeches_for", lambda settings: None)
    monkeypatch.setattr(effects, "corpus_for", lambda settings: simulated_corpus(0.01))
    result = effects.run(replace(TINY, simulated=True, warm_up=1, sweeps=2, n_topics=10))
    assert [row[1] for row in result.rows] == [effects.CLUES, effects.EFFECTS]
    assert result.rows[0][-1] == 1.0
    assert result.targets[0].found == result.rows[1][-1]
    assert any("skipped" in note for note in result.notes)

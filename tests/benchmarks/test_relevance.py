"""Unrelated contexts: the same items in other groups, and columns that tell nothing."""

from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from benchmarks.questions import relevance
from benchmarks.questions.relevance import BAGS, JUNK, NONE, SETS, SINGLE, TRUE, Fitted
from benchmarks.settings import Settings
from mcsquared import Corpus

BAGS_OF_GROUPS = [["a", "b"], [], ["c"], ["a", "c", "d"], ["b"]]
COLUMN = Corpus.from_tokens([["w"]] * 5, {"tags": BAGS_OF_GROUPS}).contexts["tags"]


@pytest.mark.parametrize("case", [TRUE, SINGLE, BAGS])
def test_permuted_items_are_those_of_the_context(case: str) -> None:
    (values, family) = relevance.contexts_of(case, COLUMN, seed=1)["tags"]
    assert family == "bag"
    assert Counter(chain(*values)) == Counter(chain(*BAGS_OF_GROUPS))
    if case == TRUE:
        assert values == BAGS_OF_GROUPS
    if case == SINGLE:
        assert list(map(len, values)) == list(map(len, BAGS_OF_GROUPS))
    if case == BAGS:
        assert sorted(values) == sorted(BAGS_OF_GROUPS)


def test_unrelated_columns_are_added() -> None:
    contexts = relevance.contexts_of(JUNK, COLUMN, seed=1)
    assert list(contexts) == ["tags", "identifier", "random"]
    assert len(set(contexts["identifier"][0])) == 5
    assert relevance.contexts_of(NONE, COLUMN, seed=1) == {}


def test_permuted_items_are_compared_with_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    score = {NONE: 0.3, SINGLE: 0.33, BAGS: 0.1}

    def fit(name: str, case: str, seed: int, settings: Settings) -> Fitted:
        found = {} if case == NONE else {SETS[name].context: 0.01}
        return Fitted(score[case] + 0.01 * seed, 5, found)

    monkeypatch.setattr(relevance, "data_folder", lambda file: file)
    monkeypatch.setattr(relevance, "fit_once", fit)
    monkeypatch.setattr(relevance, "run_parallel", lambda work, calls: [work(*c) for c in calls])
    result = relevance.run(replace(Settings(), relevance_seeds=3))
    assert all(len(row) == len(result.columns) for row in result.rows)
    assert result.rows[0][2:] == (pytest.approx(0.31), 0.3, pytest.approx(0.32), 5, None)
    assert [row[6] for row in result.rows[1:3]] == pytest.approx([0.01, 0.01])
    assert [target.found for target in result.targets] == pytest.approx([0.03, 0.03])
    assert [target.met for target in result.targets] == [False, False]


def test_differences_of_the_consensus_have_standard_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = {TRUE: (0.6, 0.7, 0.65), JUNK: (0.62, 0.69, 0.70)}

    def fit(name: str, case: str, seed: int, settings: Settings) -> Fitted:
        score = agreement[case][seed]
        found = {"tags": 0.8}
        if case == JUNK:
            found |= {"identifier": 0.01, "random": 0.02 * seed}
        return Fitted(score, 5 + (case == JUNK), found, (score - 0.1, score - 0.2))

    monkeypatch.setattr(relevance, "data_folder", lambda file: "labelme" in file)
    monkeypatch.setattr(relevance, "fit_chains", fit)
    monkeypatch.setattr(relevance, "run_parallel", lambda work, calls: [work(*c) for c in calls])
    result = relevance.run_unrelated(replace(Settings(), unrelated_seeds=3))
    assert [row[7] for row in result.rows] == [pytest.approx(0.8), pytest.approx(0.8), None]
    assert [row[8:] for row in result.rows] == [(None, None), (0.01, 0.02), (None, None)]
    without, junk, difference = (row[2:7] for row in result.rows)
    assert without == pytest.approx((0.65, 0.05 / 3**0.5, 0.5, (0.005 / 6) ** 0.5, 5))
    assert difference[0] == pytest.approx(0.02)
    assert difference[1] == pytest.approx(np.std([0.02, -0.01, 0.05], ddof=1) / 3**0.5)
    assert difference[2:] == pytest.approx((0.02, np.hypot(without[3], junk[3]), 1))
    assert [target.met for target in result.targets] == [False, True, True]
    assert result.notes[-1] == "reuters21578 was left out."

"""Missing contexts: the removed values, and the figure."""

import numpy as np
import pytest

import mcsquared as mc2
from experiments import missing
from experiments.running import Setting, run_experiment


def corpus_of_all_kinds():
    contexts = {
        "number": np.array([1.5, 2.5, 3.5]),
        "vector": np.arange(6.0).reshape(3, 2),
        "category": ["a", "b", "a"],
        "bag": [["x", "y"], ["y"], ["z", "z"]],
    }
    return mc2.Corpus(np.ones((3, 2), dtype=int), contexts)


def test_removed_contexts_are_missing_and_others_are_unchanged():
    corpus = corpus_of_all_kinds()
    changed = missing.hide(corpus, np.array([1]))
    for name, column in changed.contexts.items():
        assert column.kind == corpus.contexts[name].kind
        np.testing.assert_array_equal(column.observed, [True, False, True])
        for row in (0, 2):
            before, after = corpus.contexts[name][[row]], column[[row]]
            assert (before.observations() != after.observations()).sum() == 0
    assert all(column.observed.all() for column in corpus.contexts.values())


def test_no_context_or_all_contexts_can_be_removed():
    corpus = mc2.datasets.letters(3, 20, random_state=0).corpus
    assert missing.hide(corpus, np.zeros(0, int)).fingerprint() == corpus.fingerprint()
    without = missing.hide(corpus, np.arange(corpus.n_groups))
    labels = mc2.MC2(n_sweeps=4, burn_in=2, thin=1, random_state=0).fit(without).labels_
    assert len(labels) == corpus.n_groups


@pytest.fixture(scope="module")
def record():
    return run_experiment("missing", Setting("tiny", chosen_sets=("labelme8",)), [0])


def test_every_share_is_scored_for_both_models(record):
    found = [(row["lam"], row["missing"]) for row in record["summary"]]
    assert found == [(lam, share) for lam in ("inf", "learnt") for share in missing.PERCENT]


def test_the_figure_has_our_means_and_those_of_the_paper(record):
    figure = missing.figures(record)["measures"]
    panel = figure.axes[0]
    ours = [row["purity"]["mean"] for row in record["summary"] if row["lam"] == "inf"]
    drawn = [list(line.get_ydata()) for line in panel.lines]
    assert ours in drawn
    assert [0.407, 0.338, 0.32, 0.313, 0.306] in drawn


def test_a_data_set_without_classes_is_rejected():
    with pytest.raises(mc2.InputError, match="nips12 must have known classes"):
        missing.run(0, Setting("tiny", chosen_sets=("nips12",)))

"""Letters: matching of topics and letters, and the figures."""

import numpy as np
import pytest

from experiments import letters
from experiments.running import Setting, run_experiment
from mcsquared import datasets


def test_letters_in_any_order_match_themselves():
    truth = datasets.letters(2, 5).word_given_topic
    order = np.random.default_rng(0).permutation(len(truth))
    matched, distance = letters.match_letters(truth[order], truth)
    np.testing.assert_array_equal(order[matched], np.arange(len(truth)))
    np.testing.assert_allclose(distance, 0.0, atol=1e-12)


def test_a_letter_without_a_topic_has_the_largest_distance():
    truth = datasets.letters(2, 5).word_given_topic
    matched, distance = letters.match_letters(truth[:4], truth)
    np.testing.assert_array_equal(matched[:4], np.arange(4))
    assert (matched[4:] == -1).all()
    assert (distance[4:] == 1.0).all()


@pytest.fixture(scope="module")
def record():
    return run_experiment("letters", Setting("tiny"), [0])


def test_every_method_is_scored_on_both_kinds_of_letters(record):
    found = {(row["data"], row["method"]) for row in record["summary"]}
    for data in letters.DATA:
        for method in ("MC2", "MC2 without context", "HDP", "LDA"):
            assert (data, method) in found
    for row in record["rows"]:
        assert 0 <= row["letters_found"] <= 13
        assert 0.0 <= row["letter_distance"] <= 1.0


def test_figures_have_the_letters_first_and_then_a_row_for_each_method(record):
    drawn = letters.figures(record)
    assert set(drawn) == {"clusters", "topics", "topics-identifiable"}
    images = [panel.images[0] for panel in drawn["topics"].axes if panel.images]
    truth = np.array(record["arrays"]["letters: truth"])
    for image, letter in zip(images, truth, strict=False):
        np.testing.assert_allclose(image.get_array(), letter.reshape(7, 5))

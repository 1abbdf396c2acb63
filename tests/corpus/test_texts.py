"""Texts and tokens: defaults, limits, and reports of dropped words."""

import logging

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError

TEXTS = ["the Cat sat", "the dog ran", "a cow, the cow", "the cat and dog"]


def test_words_are_lower_case_and_those_in_most_texts_are_dropped():
    corpus = Corpus.from_texts(TEXTS)
    assert corpus.vocabulary.tolist() == ["and", "cat", "cow", "dog", "ran", "sat"]
    assert corpus.content.counts[2, 2] == 2
    assert (corpus.dropped_words, corpus.dropped_tokens) == (1, 4)
    assert corpus.notes == [
        "1 of 7 words were dropped by min_df, max_df or max_features (4 of 13 tokens)"
    ]


def test_what_was_dropped_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="mcsquared"):
        Corpus.from_texts(TEXTS)
    assert "1 of 7 words were dropped" in caplog.text


def test_above_a_hundred_texts_a_word_in_one_text_is_dropped():
    texts = [f"word{i % 50} {'once' if i == 7 else ''}" for i in range(101)]
    assert "once" not in Corpus.from_texts(texts).vocabulary
    assert "once" in Corpus.from_texts(texts[:100]).vocabulary
    assert "once" in Corpus.from_texts(texts, min_df=1).vocabulary


def test_if_every_word_is_frequent_all_are_kept_with_a_note():
    corpus = Corpus.from_texts(["same words", "same words"])
    assert corpus.n_words == 2
    assert "more than half of the texts" in corpus.notes[0]


@pytest.mark.parametrize(
    "arguments",
    [
        {"min_df": 2, "max_df": 1.0},
        {"min_df": 0.3, "max_df": 0.9},
        {"min_df": 1, "max_df": 3},
        {"max_df": 1.0, "max_features": 4},
        {"max_df": 1.0, "ngram_range": (1, 2)},
        {"max_df": 1.0, "stop_words": "english"},
        {"max_df": 1.0, "lowercase": False, "token_pattern": r"[a-zA-Z]+"},
        {"max_df": 1.0, "binary": True},
        {"max_df": 1.0, "analyzer": str.split},
    ],
)
def test_the_arguments_do_what_they_do_in_scikit_learn(arguments):
    theirs = CountVectorizer(**arguments)
    counts = theirs.fit_transform(TEXTS)
    ours = Corpus.from_texts(TEXTS, **arguments)
    assert ours.vocabulary.tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(ours.content.counts.toarray(), counts.toarray())


def test_a_missing_text_is_a_group_without_content():
    for texts in ([*TEXTS, None], pd.Series([*TEXTS, np.nan]), pl.Series([*TEXTS, None])):
        corpus = Corpus.from_texts(texts)
        assert corpus.tokens_per_group[-1] == 0
        assert corpus.notes[0] == "1 of 5 texts are missing and have no content"
    assert Corpus.from_texts([*TEXTS, ""]).tokens_per_group[-1] == 0


def test_only_the_words_of_a_given_vocabulary_are_counted():
    corpus = Corpus.from_texts(["cat dog emu emu", "the"], vocabulary=["the", "dog", "cat"])
    np.testing.assert_array_equal(corpus.content.counts.toarray(), [[0, 1, 1], [1, 0, 0]])
    assert (corpus.dropped_words, corpus.dropped_tokens) == (1, 2)


def test_texts_in_any_script_are_split_into_words():
    corpus = Corpus.from_texts(["Ωμέγα naïve", "語学 emoji 😀"])
    assert corpus.vocabulary.tolist() == ["emoji", "naïve", "ωμέγα", "語学"]


@pytest.mark.parametrize(
    ("texts", "arguments", "message"),
    [
        ("one text", {}, "texts must be a list of strings, got str"),
        (7, {}, "texts must be a list of strings, got int"),
        ([], {}, "at least one group"),
        (["fine", 3], {}, r"texts\[1\] must be a string, got 3"),
        (["fine", b"bytes"], {}, r"texts\[1\] must be a string, got b'bytes'"),
        ([None, None], {}, "texts must contain at least one text, got only missing values"),
        (
            ["", "!"],
            {},
            r"at least one word \(by default, two or more alphanumeric characters\), got",
        ),
        (["one", "two"], {"min_df": 2}, "none of 2 words remain"),
        (
            ["one", "two"],
            {"min_df": "x"},
            r"integer >= 0 \(number of texts\) or a float in \[0, 1\] \(share of texts\), got 'x'",
        ),
        (
            ["one", "two"],
            {"max_df": 1.5},
            r"integer >= 0 \(number of texts\) or a float in \[0, 1\] \(share of texts\), got 1\.5",
        ),
        (
            ["one", "two"],
            {"min_df": True},
            r"integer >= 0 \(number of texts\) or a float in \[0, 1\] \(share of texts\), got True",
        ),
        (["one", "two"], {"max_features": 0}, "max_features must be an integer >= 1, got 0"),
        (["one", "two"], {"colour": "red"}, "unexpected keyword argument 'colour'"),
        (["one", "two"], {"ngram_range": (2, 1)}, "cannot be counted"),
        (["one", "two"], {"token_pattern": "("}, "cannot be counted"),
        (["one", "two"], {"vocabulary": "one"}, "list of words"),
        (["one", "two"], {"vocabulary": ["one", "one"]}, "'one' twice"),
        (["one", "two"], {"vocabulary": []}, "0 feature"),
    ],
)
def test_invalid_texts_are_refused(texts, arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        Corpus.from_texts(texts, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [list, tuple, iter, pd.Series, pl.Series])
def test_tokens_are_counted_in_alphabetical_order(make):
    corpus = Corpus.from_tokens(make([["b", "a", "b"], [], ["c"]]))
    assert corpus.vocabulary.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(
        corpus.content.counts.toarray(), [[1, 2, 0], [0, 0, 0], [0, 0, 1]]
    )


def test_tokens_may_be_integers_and_a_group_may_be_missing():
    corpus = Corpus.from_tokens([[3, 3, np.int64(4)], None])
    assert corpus.vocabulary.tolist() == ["3", "4"]
    np.testing.assert_array_equal(corpus.tokens_per_group, [3, 0])


def test_tokens_outside_a_vocabulary_are_dropped_and_counted():
    corpus = Corpus.from_tokens([["b", "x", "x"], ["y"]], vocabulary=["a", "b"])
    np.testing.assert_array_equal(corpus.content.counts.toarray(), [[0, 1], [0, 0]])
    assert (corpus.dropped_words, corpus.dropped_tokens) == (2, 3)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ("abc", "tokens must be a list of lists of words, got str"),
        (None, "tokens must be a list of lists of words, got NoneType"),
        ([], "at least one group"),
        ([[], []], "tokens must contain at least one word, got none"),
        (
            ["a text"],
            r"must be a list of words, got str \(Corpus\.from_texts splits texts into words\)",
        ),
        (
            [["a"], 3],
            r"must be a list of words, got int \(Corpus\.from_texts splits texts into words\)",
        ),
        ([["a", None]], r"tokens\[0\] must contain words \(strings\), got None"),
        ([["a", 1.5]], r"tokens\[0\] must contain words \(strings\), got 1\.5"),
        ([["a", ["b"]]], "must contain words \\(strings\\)"),
        ([[True]], r"tokens\[0\] must contain words \(strings\), got True"),
    ],
)
def test_invalid_tokens_are_refused(tokens, message):
    with pytest.raises(InputError, match=message):
        Corpus.from_tokens(tokens)


@pytest.mark.parametrize("texts", [[None, None], ["", "!"], ["zebra", None]])
def test_texts_without_a_word_of_a_given_vocabulary_are_groups_without_content(texts):
    corpus = Corpus.from_texts(texts, vocabulary=["lion", "tiger"])
    assert corpus.tokens_per_group.tolist() == [0, 0]
    assert corpus.vocabulary.tolist() == ["lion", "tiger"]

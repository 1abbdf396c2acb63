"""What used to be ignored, or matched by position, is an error."""

import math

import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared.errors import InputError

TOKENS = [["ant", "bee"], ["bee"], ["cat"]]
SCHEDULE = {"n_sweeps": 4, "burn_in": 2, "thin": 1, "random_state": 0, "progress": False}


@pytest.fixture(scope="module")
def fitted():
    contexts = {"year": [1.0, 2.0, 3.0], "tags": [["a"], ["b"], ["a"]]}
    return mc2.MC2(**SCHEDULE).fit(TOKENS, contexts=contexts)


@pytest.mark.parametrize(
    "names", [["yaer"], ["YEAR"], ["date"], ["year", "tgas"], ["year", "Tags"], ["a", "b", "c"]]
)
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_a_misspelt_context_is_an_error(fitted, names, method):
    contexts = {name: [1, 2, 3] for name in names}
    for arguments in ((TOKENS, contexts), (mc2.Corpus.from_tokens(TOKENS, contexts),)):
        with pytest.raises(InputError, match="contexts must have the names used in training"):
            getattr(fitted, method)(**dict(zip(("X", "contexts"), arguments, strict=False)))


def test_more_or_fewer_contexts_than_the_model_has_are_no_error(fitted):
    for contexts in ({"year": [1, 2, 3], "zzz": [1, 2, 3]}, {"year": [1, 2, 3]}, None):
        assert len(fitted.predict(TOKENS, contexts=contexts)) == 3


COUNTS = pd.DataFrame([[1, 0], [0, 1], [1, 1]], index=["a", "b", "c"], columns=["w", "v"])


@pytest.mark.parametrize("index", [["x", "y", "z"], ["c", "b", "x"], ["a", "a", "b"], [5, 6, 7]])
def test_contexts_with_another_index_are_an_error(index):
    frame = pd.DataFrame({"year": [1, 2, 3]}, index=index)
    for contexts in (frame, {"year": frame["year"]}):
        with pytest.raises(InputError, match="contexts must have the index of the content"):
            mc2.Corpus(COUNTS, contexts)


def test_a_default_index_says_nothing_about_the_rows():
    assert mc2.Corpus(COUNTS, pd.DataFrame({"year": [1, 2, 3]})).n_groups == 3
    assert mc2.Corpus(COUNTS.reset_index(drop=True), {"year": pd.Series([1, 2, 3])}).n_groups == 3


@pytest.mark.parametrize(
    "arguments",
    [
        {"missing": 2},
        {"missing": math.nan},
        {"missing": -0.1, "contexts": {"x": mc2.Gaussian(mean=0, rate=1)}},
        {"eta": 1e39},
        {"lam": 5e-324},
        {"random_state": "x"},
        {"n_words": 10**12},
        {"tokens_per_group": -1},
        {"n_groups": 10**12},
    ],
)
def test_arguments_of_simulate_that_are_out_of_range_are_refused(arguments):
    with pytest.raises(InputError, match=f"{next(iter(arguments))} "):
        mc2.datasets.simulate(**({"n_groups": 3} | arguments))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda model: model.score([[]]), "X must contain at least one token"),
        (lambda model: model.score([["unknown"]]), "X must contain at least one token"),
        (lambda model: model.save(None), "path must be a string or a Path, got None"),
        (lambda model: mc2.MC2.load(None), "path must be a string or a Path, got None"),
        (lambda model: mc2.write_report(model, None), "path must be a string or a Path, got None"),
        (
            lambda model: mc2.write_report(model, "r.html", image_shape="x"),
            r"image_shape must be \(height, width\), got 'x'",
        ),
        (
            lambda model: mc2.MC2(n_sweeps=99999999999999999999).fit(TOKENS),
            "n_sweeps must be an integer <= 2147483647, got 99999999999999999999",
        ),
        (
            lambda model: mc2.MC2(checkpoint_every=0).fit(TOKENS),
            "checkpoint_every must be a positive number, got 0",
        ),
    ],
)
def test_an_argument_that_cannot_be_gets_a_sentence(fitted, wrong, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        wrong(fitted)
    assert not list(tmp_path.iterdir())

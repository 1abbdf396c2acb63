"""Messages quote little of what users, and files from anywhere, bring along."""

import pickle

import pytest

import mcsquared as mc2
from mcsquared.errors import InputError, ModelFileError

LONG = "x" * 10_000
TOKENS = [["ant"], ["bee"]]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: mc2.MC2(contexts={LONG: "gaussian"}).fit(TOKENS),
        lambda: mc2.MC2(contexts={"year": LONG}).fit(TOKENS, contexts={"year": [1, 2]}),
        lambda: mc2.MC2(sampler=LONG).fit(TOKENS),
        lambda: mc2.MC2(n_sweeps=10**4000).fit(TOKENS),
        lambda: mc2.MC2(burn_in=-(10**4000)).fit(TOKENS),
        lambda: mc2.Corpus(TOKENS, {LONG: [1]}),
        lambda: mc2.Corpus(TOKENS, {"year": [LONG, {}]}),
        lambda: mc2.families.from_dict({"family": LONG}),
    ],
)
def test_messages_quote_at_most_a_hundred_characters(wrong):
    with pytest.raises((InputError, ModelFileError)) as caught:
        wrong()
    assert 20 < len(str(caught.value)) < 400
    assert "x" * 101 not in str(caught.value)
    assert "0" * 101 not in str(caught.value)


def test_text_between_two_quotes_is_kept_and_escaped_quotes_are_not_the_end():
    between = "contexts['x'] must be one of " + "some family, " * 12 + "got 'normal'"
    assert str(InputError(between)) == between
    value = "'\"" + LONG
    assert len(str(InputError(f"name must be short, got {value!r}"))) < 130


def test_a_shortened_message_is_the_same_in_another_process():
    error = InputError(f"name must be short, got {LONG!r}")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)

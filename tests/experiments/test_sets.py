"""The table of sets: every line works, with the file and without."""

import os

import numpy as np
import pytest

import mcsquared as mc2
from experiments import sets

FOLDER = os.environ.get("MCSQUARED_DATA")


@pytest.mark.parametrize("name", sets.SETS)
def test_a_stand_in_has_the_contexts_and_the_label_of_its_set(name):
    line, drawn = sets.entry(name), sets.stand_in(name)
    assert set(drawn.corpus.contexts) == set(line.contexts)
    assert set(drawn.labels) == ({line.label} if line.label else set())
    # The families of the line fit the columns: a fit would refuse them otherwise.
    model = mc2.MC2(contexts=dict(line.contexts), n_sweeps=2, burn_in=1, thin=1, progress=False)
    assert model.fit(drawn.corpus).labels_.shape == (drawn.corpus.n_groups,)


def test_contexts_of_a_stand_in_follow_its_clusters():
    drawn = sets.stand_in("poliblog5k")
    day = drawn.corpus.contexts["day"].values
    means = [day[drawn.labels["blog"] == f"class{k}"].mean() for k in range(4)]
    assert np.all(np.diff(means) > 1.0)


@pytest.mark.parametrize("name", sets.SETS)
def test_a_line_names_contexts_and_a_label_that_its_set_has(name):
    if FOLDER is None:
        pytest.skip("MCSQUARED_DATA names no folder of real sets")
    if name == "ungdc":
        pytest.skip("too large for a quick test")
    line = sets.entry(name)
    try:
        real = sets.load(name)
    except mc2.InputError as error:
        pytest.skip(str(error))
    assert set(line.contexts) <= set(real.corpus.contexts)
    assert line.label is None or line.label in real.labels


def test_a_set_that_is_not_there_is_named_with_where_it_comes_from(tmp_path):
    with pytest.raises(mc2.InputError, match=r"the set nips12 cannot be read.*nips12\.npz"):
        sets.load("nips12", tmp_path)


def test_an_unknown_set_is_refused_with_those_that_are_known():
    with pytest.raises(mc2.InputError, match=r"'birds'.*poliblog5k"):
        sets.entry("birds")

"""The data sets: every entry works, with the file and without."""

import os

import numpy as np
import pytest

import mcsquared as mc2
from experiments import sets

FOLDER = os.environ.get("MCSQUARED_DATA")


@pytest.mark.parametrize("name", sets.SETS)
def test_synthetic_data_have_the_contexts_and_the_label_of_the_data_set(name):
    line, drawn = sets.entry(name), sets.synthetic(name)
    assert set(drawn.corpus.contexts) == set(line.contexts)
    assert set(drawn.labels) == ({line.label} if line.label else set())
    # A fit checks that the families suit the columns.
    model = mc2.MC2(contexts=dict(line.contexts), n_sweeps=2, burn_in=1, thin=1, progress=False)
    assert model.fit(drawn.corpus).labels_.shape == (drawn.corpus.n_groups,)


def test_contexts_of_synthetic_data_depend_on_the_clusters():
    drawn = sets.synthetic("poliblog5k")
    day = drawn.corpus.contexts["day"].values
    means = [day[drawn.labels["blog"] == f"class{k}"].mean() for k in range(4)]
    assert np.all(np.diff(means) > 1.0)


@pytest.mark.parametrize("name", sets.SETS)
def test_contexts_and_label_of_an_entry_exist(name):
    if FOLDER is None:
        pytest.skip("MCSQUARED_DATA is not set")
    if name == "ungdc":
        pytest.skip("too large for a quick test")
    line = sets.entry(name)
    try:
        real = sets.load(name)
    except mc2.InputError as error:
        pytest.skip(str(error))
    assert set(line.contexts) <= set(real.corpus.contexts)
    assert line.label is None or line.label in real.labels


def test_a_missing_data_set_is_named_with_its_source(tmp_path):
    with pytest.raises(mc2.InputError, match=r"data set nips12 cannot be read.*nips12\.npz"):
        sets.load("nips12", tmp_path)


def test_an_unknown_data_set_is_rejected_with_the_known_ones():
    with pytest.raises(mc2.InputError, match=r"poliblog5k.*'birds'"):
        sets.entry("birds")

"""Model files written by released versions can be used."""

from pathlib import Path

import numpy as np
import pytest

import mcsquared as mc2

FILES = sorted((Path(__file__).parent / "released").glob("*.mc2"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_of_a_released_version_is_loaded_and_used(path, tmp_path):
    model = mc2.MC2.load(path)
    posterior = model.posterior_
    assert len(model.labels_) == posterior.n_groups
    assert len(posterior.clusters()) == model.n_clusters_
    assert len(posterior.topics(include_small=True)) == model.n_topics_
    new = [["ant", "bee"], ["van"]] if posterior.vocabulary is not None else [np.zeros((2, 2))]
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)
    mc2.write_report(model, tmp_path / "report.html")
    model.save(tmp_path / "again.mc2")
    np.testing.assert_array_equal(mc2.MC2.load(tmp_path / "again.mc2").labels_, model.labels_)


def test_there_are_files_of_words_and_vectors():
    assert {path.stem for path in FILES} >= {"words-0.1.0", "vectors-0.1.0"}

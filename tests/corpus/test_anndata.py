"""AnnData by duck typing."""

from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus, Vectors
from mcsquared.errors import InputError


@pytest.fixture
def cells():
    data = anndata.AnnData(
        sparse.csr_matrix(np.array([[1, 0, 2], [0, 3, 0]], dtype=np.float32)),
        obs=pd.DataFrame({"tissue": ["liver", None], "age": [3.5, 4.0]}, index=["c1", "c2"]),
        var=pd.DataFrame(index=["g1", "g2", "g3"]),
        obsm={"X_pca": np.array([[0.5, 1.0], [1.5, 2.0]])},
    )
    data.layers["scaled"] = np.array([[0.5, 0, 1], [0, 1, 0]])
    data.layers["dense"] = np.array([[1.0, 0, 2], [0, 3, 0]])
    return data


def test_cells_are_groups_and_genes_are_words(cells):
    corpus = Corpus.from_anndata(cells, contexts=["tissue", "age", "X_pca"])
    assert corpus.group_names.tolist() == ["c1", "c2"]
    assert corpus.vocabulary.tolist() == ["g1", "g2", "g3"]
    assert corpus.n_tokens == 6
    kinds = [column.kind for column in corpus.contexts.values()]
    assert kinds == ["category", "number", "vector"]
    assert Corpus.from_anndata(cells).contexts == {}


def test_a_layer_may_be_dense_and_holds_counts_unless_vectors_are_asked_for(cells):
    assert Corpus.from_anndata(cells, layer="dense").n_tokens == 6
    with pytest.raises(InputError, match="fractional count"):
        Corpus.from_anndata(cells, layer="scaled")
    vectors = Corpus.from_anndata(cells, layer="scaled", content="vectors")
    assert isinstance(vectors.content, Vectors)


def test_any_object_with_the_same_attributes_is_accepted(cells):
    names = ("X", "obs", "obs_names", "var_names")
    look_alike = SimpleNamespace(**{name: getattr(cells, name) for name in names})
    corpus = Corpus.from_anndata(look_alike, contexts="age")
    assert corpus.fingerprint() == Corpus.from_anndata(cells, contexts="age").fingerprint()


def test_invalid_arguments_are_refused(cells):
    for arguments, message in [
        ({"contexts": ["colour"]}, "contexts must name a column of obs, got 'colour'"),
        ({"layer": "raw"}, "layer must be one of 'scaled', 'dense', got 'raw'"),
        ({"content": "words"}, "content must be 'counts' or 'vectors', got 'words'"),
    ]:
        with pytest.raises(InputError, match=message):
            Corpus.from_anndata(cells, **arguments)
    with pytest.raises(InputError, match="got list without X, obs, obs_names, var_names"):
        Corpus.from_anndata([1, 2])
    with pytest.raises(InputError, match=r"data\.X must be a matrix, got None"):
        Corpus.from_anndata(anndata.AnnData(obs=cells.obs))

"""ArviZ and pyLDAvis take what the posterior gives them."""

import builtins
import warnings

import numpy as np
import pandas as pd
import pytest

from mcsquared.errors import InputError
from tests.posterior.models import make_posterior


@pytest.fixture(scope="module")
def posterior():
    return make_posterior()[0]


def test_arviz_gets_the_kept_scalars_by_chain(posterior):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
    data = posterior.to_arviz()
    assert dict(data.posterior.sizes) == {"chain": 2, "draw": 6}
    kept = posterior.trace[posterior.trace["kept"] & (posterior.trace["chain"] == 1)]
    np.testing.assert_array_equal(data.posterior["alpha"].sel(chain=1), kept["alpha"])
    np.testing.assert_array_equal(data.sample_stats["lp"].sel(chain=1), kept["log_joint"])
    assert "lam" not in data.posterior
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = arviz.summary(data, var_names=["alpha"])
    assert summary.loc["alpha", "mean"] == pytest.approx(
        posterior.trace.loc[posterior.trace["kept"], "alpha"].mean(), abs=1e-3
    )


def test_pyldavis_shows_the_topics_under_their_own_ids(posterior):
    pytest.importorskip("pyLDAvis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = posterior.to_pyldavis()
    shares = prepared.topic_coordinates["Freq"].sort_index() / 100
    weights = posterior.tokens_of_cluster @ posterior.topic_given_cluster.to_numpy()
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-6)
    assert prepared.topic_order == [0, 1, 2, 3]
    shown = prepared.topic_info[prepared.topic_info["Category"] == "Topic0"]
    assert set(shown.nlargest(3, "Freq")["Term"]) == {"wört3", "wört4", "wört5"}
    assert '"mdsDat"' in prepared.to_json()


def test_what_cannot_be_shown_is_said(posterior):
    with pytest.raises(InputError, match="vectors"):
        make_posterior(vectors=True)[0].to_pyldavis()
    few = make_posterior()[0]
    few.trace = pd.DataFrame()
    with pytest.raises(InputError, match="no trace"):
        few.to_arviz()


@pytest.mark.parametrize(
    ("method", "package"), [("to_arviz", "arviz"), ("to_pyldavis", "pyLDAvis")]
)
def test_a_missing_library_is_named_with_its_remedy(posterior, monkeypatch, method, package):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == package:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"{package} is not installed; pip install"):
        getattr(posterior, method)()

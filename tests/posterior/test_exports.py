"""Exports to ArviZ and pyLDAvis."""

import json
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from mcsquared.errors import InputError
from mcsquared.posterior.diagnostics import chains_of, effective_sample_size, split_rhat
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


@pytest.mark.parametrize("plot", ["plot_trace", "plot_rank", "plot_autocorr", "plot_posterior"])
def test_plots_of_arviz_draw_every_scalar(posterior, plot):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        # A fixed scalar has no density.
        names = ["n_clusters", "n_topics", "alpha", "v"]
        axes = getattr(arviz, plot)(posterior.to_arviz(), var_names=names)
    drawn = np.ravel(axes)
    assert len(drawn) == {"plot_trace": 8, "plot_autocorr": 8}.get(plot, 4)
    titles = " ".join(ax.get_title() for ax in drawn)
    assert all(name in titles for name in names)
    if plot == "plot_trace":
        lines = drawn[titles.split().index("alpha") | 1].get_lines()
        data = posterior.to_arviz().posterior["alpha"].to_numpy()
        np.testing.assert_allclose([line.get_ydata() for line in lines], data)
    matplotlib.pyplot.close("all")


def test_arviz_computes_the_same_rhat_from_the_kept_draws(posterior):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
        table = arviz.summary(posterior.to_arviz(), round_to="none")
    chains = chains_of(posterior.trace, "v", kept_only=True)
    assert list(table.index) == ["n_clusters", "n_topics", "alpha", "v", "eta"]
    assert table.loc["v", "r_hat"] == pytest.approx(split_rhat(chains))
    assert table.loc["v", "ess_bulk"] == pytest.approx(effective_sample_size(chains))


def test_pyldavis_keeps_the_order_of_the_topics(posterior, tmp_path):
    pyldavis = pytest.importorskip("pyLDAvis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = posterior.to_pyldavis()
    path = tmp_path / "topics.html"
    pyldavis.save_html(prepared, str(path))
    page = path.read_text(encoding="utf-8")
    (text,) = re.findall(r"_data = (\{.*?\});\n", page)
    data = json.loads(text)
    assert data["topic.order"] == list(range(posterior.n_topics))
    # By weight, as in our tables.
    assert data["mdsDat"]["topics"] == list(range(posterior.n_topics))
    table = pd.DataFrame({name: data["tinfo"][name] for name in ("Term", "Category", "Freq")})
    for topic, words in enumerate(posterior.topics(n_words=3)["words"]):
        listed = words.split(", ")  # words that occur in the topic
        terms = table[table["Category"] == f"Topic{topic}"].nlargest(len(listed), "Freq")
        assert set(terms["Term"]) == set(listed)


def test_pyldavis_keeps_the_ids_of_the_topics(posterior):
    pytest.importorskip("pyLDAvis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = posterior.to_pyldavis()
    shares = prepared.topic_coordinates["Freq"].sort_index() / 100
    weights = posterior.tokens_of_cluster @ posterior.token_shares
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-6)
    assert prepared.topic_order == [0, 1, 2, 3]
    terms = prepared.topic_info[prepared.topic_info["Category"] == "Topic0"]
    assert set(terms.nlargest(3, "Freq")["Term"]) == {"wört3", "wört4", "wört5"}
    assert '"mdsDat"' in prepared.to_json()


def test_invalid_exports_are_rejected(posterior):
    with pytest.raises(InputError, match="vectors"):
        make_posterior(vectors=True)[0].to_pyldavis()
    few = make_posterior()[0]
    few.trace = pd.DataFrame()
    with pytest.raises(InputError, match="no trace"):
        few.to_arviz()


@pytest.mark.parametrize(
    ("method", "package"), [("to_arviz", "arviz"), ("to_pyldavis", "pyLDAvis")]
)
def test_the_error_names_a_missing_package_and_its_extra(posterior, monkeypatch, method, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"requires {package}, .*: pip install"):
        getattr(posterior, method)()

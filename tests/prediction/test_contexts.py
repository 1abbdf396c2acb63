from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Bag, Gaussian, Poisson
from mcsquared.prediction import contexts as contexts_module
from mcsquared.prediction.contexts import context_distribution
from tests.prediction.models import Counts, make_posterior, words_corpus

N_CLUSTERS, N_WORDS = 3, 30
SIZES = [30, 20, 10]
WORDS = np.random.default_rng(7).dirichlet(np.full(N_WORDS, 0.1), N_CLUSTERS)
TRUTH = np.repeat(np.arange(N_CLUSTERS), SIZES)


def fitted(contexts, families=None):
    """A posterior with the true clusters and the given contexts."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(80, WORDS[k]) for k in TRUTH])
    per_cluster = np.array([counts[k == TRUTH].sum(axis=0) for k in range(N_CLUSTERS)])
    draw = Counts(TRUTH, np.diag(per_cluster.sum(axis=1)), per_cluster, [0.33] * 3, alpha=0.01)
    return make_posterior([draw, draw], contexts, families, beta=0.05)


def new_groups(labels, **options):
    rng = np.random.default_rng(1)
    return Corpus(sparse.csr_matrix([rng.multinomial(60, WORDS[k]) for k in labels]), **options)


def test_the_category_that_came_with_a_cluster_is_predicted_first():
    posterior = fitted({"place": np.array(["Rome", "Oslo", "Lima"])[TRUTH]})
    frame = context_distribution(posterior, new_groups([2, 0, 1]), "place")
    assert list(frame.columns) == ["group", "rank", "value", "probability"]
    assert frame.query("rank == 1")["value"].tolist() == ["Lima", "Rome", "Oslo"]
    assert frame["group"].tolist() == ["0"] * 3 + ["1"] * 3 + ["2"] * 3
    np.testing.assert_allclose(frame.groupby("group")["probability"].sum(), 1.0)
    first = frame.query("rank == 1")["probability"].to_numpy()
    # (10 + 0.1) / (10 + 3 · 0.1) in the smallest cluster, but for the chance of a new one.
    assert first[0] == pytest.approx(10.1 / 10.3, abs=0.01)
    for _, group in frame.groupby("group"):
        assert group["probability"].is_monotonic_decreasing


def test_the_context_itself_is_no_evidence():
    posterior = fitted({"place": np.array(["Rome", "Oslo", "Lima"])[TRUTH]})
    honest = context_distribution(posterior, new_groups([2, 0]), "place")
    given = new_groups([2, 0], contexts={"place": ["Oslo", "Oslo"]})
    pd.testing.assert_frame_equal(context_distribution(posterior, given, "place"), honest)


def test_other_contexts_are_evidence():
    posterior = fitted(
        {
            "place": np.array(["Rome", "Oslo", "Lima"])[TRUTH],
            "x": np.array([0.0, 50.0, 99.0])[TRUTH],
        }
    )
    silent = words_corpus([[], []], N_WORDS, contexts={"x": np.array([99.0, 0.0])})
    frame = context_distribution(posterior, silent, "place", top=1)
    assert frame["value"].tolist() == ["Lima", "Rome"]


def test_top_cuts_the_list_and_blocks_do_not_change_it(monkeypatch):
    tags = [[f"t{k}", f"u{j % 5}"] for j, k in enumerate(TRUTH)]
    posterior = fitted({"tags": tags}, {"tags": Bag()})
    test = new_groups([0, 1, 2, 0])
    whole = context_distribution(posterior, test, "tags", top=8)
    cut = context_distribution(posterior, test, "tags", top=2)
    pd.testing.assert_frame_equal(whole.query("rank <= 2").reset_index(drop=True), cut)
    assert cut.query("rank == 1")["value"].tolist() == ["t0", "t1", "t2", "t0"]
    np.testing.assert_allclose(whole.groupby("group")["probability"].sum(), 1.0)
    monkeypatch.setattr(contexts_module, "BATCH_GROUPS", 3)
    pd.testing.assert_frame_equal(context_distribution(posterior, test, "tags", top=8), whole)


def test_booleans_are_predicted_as_true_and_false():
    posterior = fitted({"open": np.array([True, False, True])[TRUTH]})
    frame = context_distribution(posterior, new_groups([0, 1]), "open")
    assert frame["value"].tolist() == [True, False, False, True]
    assert frame["probability"][0] == pytest.approx(31 / 32, abs=0.01)


def test_numbers_are_predicted_with_mean_spread_and_interval():
    rng = np.random.default_rng(3)
    posterior = fitted({"year": np.array([1950.0, 1980.0, 2010.0])[TRUTH] + rng.normal(0, 2, 60)})
    frame = context_distribution(posterior, new_groups([0, 1, 2]), "year")
    assert list(frame.columns) == ["group", "mean", "sd", "lower", "upper"]
    np.testing.assert_allclose(frame["mean"], [1950, 1980, 2010], atol=4)
    assert (frame["lower"] < frame["mean"]).all()
    assert (frame["mean"] < frame["upper"]).all()


def test_dates_come_back_as_dates():
    days = np.array(["1999-01-01", "2009-01-01", "2019-01-01"], "datetime64[ns]")[TRUTH]
    posterior = fitted({"day": days + np.arange(60).astype("timedelta64[D]")})
    frame = context_distribution(posterior, new_groups([1]), "day")
    assert frame["mean"].dtype.kind == "M"
    assert frame["lower"][0] < pd.Timestamp("2009-02-10") < frame["upper"][0]


def test_counts_are_predicted_as_counts():
    counts = np.random.default_rng(0).poisson(np.array([2.0, 30.0, 200.0])[TRUTH])
    posterior = fitted({"n": counts}, {"n": Poisson()})
    frame = context_distribution(posterior, new_groups([0, 1, 2]), "n")
    np.testing.assert_allclose(frame["mean"], [2, 30, 200], rtol=0.25)
    assert (frame["upper"] == np.floor(frame["upper"])).all()


def test_vectors_are_predicted_dimension_by_dimension():
    places = np.array([[0.0, 50.0], [10.0, 60.0], [20.0, 40.0]])[TRUTH]
    posterior = fitted({"place": places + np.random.default_rng(0).normal(size=(60, 2))})
    frame = context_distribution(posterior, new_groups([1, 0]), "place")
    assert frame["group"].tolist() == ["0", "0", "1", "1"]
    assert frame["dimension"].tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(frame["mean"], [10, 60, 0, 50], atol=2)


def test_unknown_names_and_tops_are_refused():
    posterior = fitted({"x": TRUTH.astype(float)})
    with pytest.raises(InputError, match=r"name must be a context of this model \(.*\), got 'y'"):
        context_distribution(posterior, new_groups([0]), "y")
    for top in (0, 1.5, True):
        with pytest.raises(InputError, match="top must be an integer >= 1, got"):
            context_distribution(posterior, new_groups([0]), "x", top=top)


@dataclass(frozen=True)
class UserFamily(Gaussian):
    name: ClassVar[str] = "my_own"


def test_a_family_of_the_users_own_is_refused_in_one_sentence():
    posterior = fitted({"x": TRUTH.astype(float)}, {"x": UserFamily()})
    with pytest.raises(InputError, match="UserFamily"):
        context_distribution(posterior, new_groups([0]), "x")

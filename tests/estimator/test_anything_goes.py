"""Whatever the corpus and the parameters are, a fit ends in a sound result or in an InputError."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mcsquared as mc2
from mcsquared.errors import InputError, ModelFileError
from tests.estimator.strategies import SILLY, SILLY_CONTENTS, SILLY_CONTEXTS, problems

pytestmark = pytest.mark.usefixtures("short_fits")

often = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def size(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def check(model, X, contexts, new, new_contexts):
    assert model.labels_.shape == (size(X),)
    assert model.labels_.dtype == np.int64
    assert set(model.labels_) == set(range(model.n_clusters_))
    for groups, columns in ((X, contexts), (new, new_contexts)):
        n = size(groups)
        shares = model.transform(groups, contexts=columns)
        assert shares.shape == (n, model.n_topics_)
        if model.n_topics_:
            np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
        probabilities = model.predict_proba(groups, contexts=columns)
        assert probabilities.shape == (n, model.n_clusters_)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
        assert (probabilities >= 0).all()
        newness = model.predict_new_proba(groups, contexts=columns)
        assert ((newness >= 0) & (newness <= 1)).all()
        np.testing.assert_array_equal(
            model.predict(groups, contexts=columns), probabilities.argmax(axis=1)
        )


@pytest.mark.filterwarnings("ignore:max_")
@often
@given(problems())
def test_sensible_input_is_always_fitted(problem):
    X, contexts, parameters, new, new_contexts = problem
    model = mc2.MC2(**parameters).fit(X, contexts=contexts)
    check(model, X, contexts, new, new_contexts)
    for bound, found in (("max_clusters", "n_clusters"), ("max_topics", "n_topics")):
        if parameters[bound] is not None:
            assert model.posterior_.trace[found].max() <= parameters[bound]
    for name in contexts:
        model.posterior_.context_given_cluster(name)
        model.predict_context(new, name, contexts=new_contexts)


@pytest.mark.parametrize(
    ("sampler", "lam"), [("blocked", np.inf), ("blocked", 2.0), ("collapsed", np.inf)]
)
@pytest.mark.parametrize("n_groups", [1, 3])
def test_groups_without_any_vector_are_fitted_and_new_ones_predicted(sampler, lam, n_groups):
    X, contexts = [np.zeros((0, 1))] * n_groups, {"x": [1.0] * n_groups}
    new, new_contexts = [np.ones((2, 1)), np.zeros((0, 1))], {"x": [1.0, None]}
    parameters = {"n_sweeps": 3, "burn_in": 0, "thin": 1, "random_state": 0, "progress": False}
    model = mc2.MC2(sampler=sampler, lam=lam, **parameters).fit(X, contexts=contexts)
    check(model, X, contexts, new, new_contexts)


@often
@given(
    problems(),
    st.sets(st.sampled_from(sorted(SILLY)), min_size=1, max_size=2).flatmap(
        lambda names: st.fixed_dictionaries({name: st.sampled_from(SILLY[name]) for name in names})
    ),
)
def test_silly_parameters_give_a_result_or_an_input_error(problem, silly):
    X, contexts, parameters, new, new_contexts = problem
    model = mc2.MC2(**(parameters | silly))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, contexts=contexts)
        except (InputError, ModelFileError) as error:
            assert len(str(error)) > 10
            return
        check(model, X, contexts, new, new_contexts)


@often
@given(
    problems(),
    st.sampled_from(["X", "contexts", "new", "new_contexts"]),
    st.data(),
)
def test_silly_data_give_a_result_or_an_input_error(problem, where, data):
    X, contexts, parameters, new, new_contexts = problem
    silly = SILLY_CONTEXTS if "contexts" in where else SILLY_CONTENTS
    parts = {"X": X, "contexts": contexts, "new": new, "new_contexts": new_contexts}
    parts[where] = data.draw(st.sampled_from(silly))
    model = mc2.MC2(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(parts["X"], contexts=parts["contexts"])
            model.predict_proba(parts["new"], contexts=parts["new_contexts"])
            model.transform(parts["new"], contexts=parts["new_contexts"])
        except InputError as error:
            assert len(str(error)) > 10

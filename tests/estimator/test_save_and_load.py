"""A model that was saved and loaded is the same model; a bad file is one documented error."""

import contextlib
import errno
import json
import math
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mcsquared as mc2
from mcsquared import families
from mcsquared.errors import InputError, ModelFileError
from mcsquared.families import Categorical, Gaussian
from mcsquared.storage import read_file, write_file
from tests.estimator.small import COUNTS, arrays, model
from tests.estimator.strategies import problems
from tests.estimator.test_contexts import TYPED
from tests.estimator.test_user_family import Visits
from tests.forgery import forged_array
from tests.test_chain import assert_same_draws

pytestmark = pytest.mark.usefixtures("short_fits")


@pytest.fixture(scope="module")
def fitted():
    return model(n_chains=2, keep_parameters=4).fit(COUNTS, contexts=TYPED)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.mc2"
    fitted.save(path)
    return path


def assert_same_model(first, second, X, contexts=None):
    assert_same_draws(first.posterior_, second.posterior_)
    pd.testing.assert_frame_equal(first.posterior_.trace, second.posterior_.trace)
    assert first.posterior_.priors.to_dict() == second.posterior_.priors.to_dict()
    assert first.posterior_.notes == second.posterior_.notes
    assert first.n_features_in_ == second.n_features_in_
    for name in ("labels_", "components_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    for name in ("predict_proba", "predict_new_proba", "transform"):
        np.testing.assert_array_equal(
            getattr(first, name)(X, contexts=contexts), getattr(second, name)(X, contexts=contexts)
        )


def test_a_loaded_model_is_the_saved_one(fitted, saved):
    loaded = mc2.MC2.load(saved)
    assert_same_model(fitted, loaded, COUNTS, TYPED)
    np.testing.assert_array_equal(loaded.feature_names_in_, fitted.feature_names_in_)
    pd.testing.assert_frame_equal(loaded.posterior_.topics(), fitted.posterior_.topics())
    pd.testing.assert_frame_equal(loaded.posterior_.clusters(), fitted.posterior_.clusters())
    for name in TYPED:
        pd.testing.assert_frame_equal(
            loaded.posterior_.context_given_cluster(name),
            fitted.posterior_.context_given_cluster(name),
        )
        pd.testing.assert_frame_equal(
            loaded.predict_context(COUNTS, name), fitted.predict_context(COUNTS, name)
        )
    assert loaded.perplexity(COUNTS) == fitted.perplexity(COUNTS)
    assert loaded.score(COUNTS) == fitted.score(COUNTS)


def test_a_loaded_model_saves_the_same_bytes(saved, tmp_path):
    mc2.MC2.load(saved).save(tmp_path / "again.mc2")
    assert (tmp_path / "again.mc2").read_bytes() == saved.read_bytes()


def test_parameters_are_saved_but_not_what_belongs_to_one_run(tmp_path):
    chosen = {
        "content": Categorical(0.3),
        "contexts": {"year": Gaussian(mean=1999.0), "age": "poisson"},
        "alpha": mc2.Gamma(2.0, 3.0),
        "v": 4,
        "eta": 0.5,
        "lam": math.inf,
        "max_topics": np.int64(40),
        "init": "random",
        "warm_start": True,
    }
    run = {"callbacks": [lambda info: None], "n_jobs": 2, "checkpoint": tmp_path / "run"}
    estimator = model(**chosen, **run).fit(COUNTS, contexts=TYPED)
    estimator.save(tmp_path / "model.mc2")
    loaded = mc2.MC2.load(tmp_path / "model.mc2")
    found = loaded.get_params()
    for name, value in chosen.items():
        assert found[name] == value
    defaults = mc2.MC2().get_params()
    for name in (*run, "progress"):
        assert found[name] == defaults[name]
    loaded.set_params(progress=False).fit(COUNTS, contexts=TYPED)
    np.testing.assert_array_equal(loaded.labels_, estimator.labels_)


def test_a_random_state_leaves_its_seed(tmp_path):
    estimator = model(random_state=np.random.RandomState(1)).fit(COUNTS)
    estimator.save(tmp_path / "model.mc2")
    loaded = mc2.MC2.load(tmp_path / "model.mc2")
    assert loaded.random_state is None
    assert loaded.posterior_.seed == estimator.posterior_.seed


@pytest.mark.parametrize("width", [1, 2])
def test_vectors_survive(tmp_path, width):
    X = arrays(width)
    estimator = model().fit(X)
    estimator.save(tmp_path / "model.mc2")
    assert_same_model(estimator, mc2.MC2.load(tmp_path / "model.mc2"), X)


def test_a_user_family_is_known_once_it_is_registered(tmp_path, monkeypatch):
    monkeypatch.setattr(families.registry, "_FAMILIES", dict(families.registry._FAMILIES))
    contexts = {"age": TYPED["age"]}
    estimator = model(contexts={"age": Visits()}).fit(COUNTS, contexts=contexts)
    estimator.save(tmp_path / "model.mc2")
    with pytest.raises(ModelFileError, match=r"family must be one of .*, got 'Visits'"):
        mc2.MC2.load(tmp_path / "model.mc2")
    families.register(Visits)
    assert_same_model(estimator, mc2.MC2.load(tmp_path / "model.mc2"), COUNTS, contexts)


@pytest.mark.filterwarnings("ignore:max_")
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems())
def test_any_model_survives(tmp_path, problem):
    X, contexts, parameters, new, new_contexts = problem
    estimator = mc2.MC2(**parameters).fit(X, contexts=contexts)
    estimator.save(tmp_path / "model.mc2")
    loaded = mc2.MC2.load(tmp_path / "model.mc2")
    assert loaded.get_params() | {"progress": False} == estimator.get_params()
    assert_same_model(estimator, loaded, new, new_contexts)


# Writing --------------------------------------------------------------------------------------


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        mc2.MC2().save(tmp_path / "model.mc2")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_does_not_exist_is_one_sentence(fitted, tmp_path):
    with pytest.raises(ModelFileError, match=r"its folder .* does not exist"):
        fitted.save(tmp_path / "no" / "model.mc2")


def test_a_full_disk_leaves_the_older_model(fitted, saved, tmp_path, monkeypatch):
    path = tmp_path / "model.mc2"
    path.write_bytes(b"older")

    def disk_is_full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(ModelFileError, match="no space left on the disk"):
        fitted.save(path)
    assert path.read_bytes() == b"older"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mc2"]


# Bad files ------------------------------------------------------------------------------------


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ModelFileError, match=r"none\.mc2 does not exist"):
        mc2.MC2.load(tmp_path / "none.mc2")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_file_cut_short_is_refused(saved, tmp_path, share):
    whole = saved.read_bytes()
    path = tmp_path / "cut.mc2"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelFileError, match=r"cut\.mc2"):
        mc2.MC2.load(path)


def test_a_thousand_mutated_files_are_refused(saved, tmp_path):
    rng = np.random.default_rng(4)
    whole, path = saved.read_bytes(), tmp_path / "mutated.mc2"
    header = int.from_bytes(whole[:8], "little") + 8
    for i in range(1000):
        data = bytearray(whole)
        # The header is small and says most, so every second change falls there.
        end = header if i % 2 else len(data)
        for position in rng.integers(0, end, rng.integers(1, 4)):
            data[position] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            mc2.MC2.load(path)


def forged(value):
    """Other values in the place of one that JSON holds."""
    if isinstance(value, dict) and value:
        return st.sampled_from(sorted(value)).flatmap(
            lambda key: st.one_of(
                st.just({name: entry for name, entry in value.items() if name != key}),
                forged(value[key]).map(lambda entry: value | {key: entry}),
            )
        )
    if isinstance(value, list) and value:
        return st.integers(0, len(value) - 1).flatmap(
            lambda i: st.one_of(
                st.just(value[:i] + value[i + 1 :]),
                forged(value[i]).map(lambda entry: [*value[:i], entry, *value[i + 1 :]]),
            )
        )
    return st.sampled_from([None, -1, 0, 2, 10**30, 1e300, "x", "", [], {}, True, "inf", [1, 2]])


def forgeries(array):
    limits = [-1, 0, 100, 2**31 - 1] if array.dtype.kind == "i" else [0, 255]
    limits = [-1.0, math.nan, math.inf, 1e308] if array.dtype.kind == "f" else limits
    return forged_array(array, limits)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_forged_file_is_refused_or_a_model(saved, tmp_path, data):
    """Forged: changed, and given the right digest again."""
    tensors, meta = read_file(saved, "model")
    part = data.draw(st.sampled_from(["meta", "parameters", "tensors"]))
    if part == "tensors":
        name = data.draw(st.sampled_from(sorted(tensors)))
        tensors[name] = data.draw(forgeries(tensors[name]))
    elif part == "parameters":
        meta["parameters"] = data.draw(forged(meta["parameters"]))
    else:
        meta = data.draw(forged(meta))
    path = tmp_path / "forged.mc2"
    write_file(path, "model", tensors, meta)
    try:
        with np.errstate(all="ignore"):
            loaded = mc2.MC2.load(path)
    except ModelFileError as error:
        assert len(str(error)) > 10
        return
    assert len(loaded.labels_) == len(COUNTS)
    # A finite lam is a model that may be stored, but not yet used for prediction.
    with contextlib.suppress(InputError):
        np.testing.assert_allclose(loaded.predict_proba(COUNTS).sum(axis=1), 1.0)


def test_a_cluster_that_cannot_be_is_refused_before_memory_is_allocated(saved, tmp_path):
    tensors, meta = read_file(saved, "model")
    tensors["cluster_of_group"][0, 0] = 2**31 - 1
    write_file(tmp_path / "forged.mc2", "model", tensors, meta)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="has more clusters than groups"):
        mc2.MC2.load(tmp_path / "forged.mc2")
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("contexts", [{"mapping": 3}, {"mapping": []}, {"gamma": 3}, {"family": 3}])
def test_a_parameter_of_the_wrong_type_is_refused(saved, tmp_path, contexts):
    tensors, meta = read_file(saved, "model")
    changed = meta | {"parameters": meta["parameters"] | {"contexts": contexts}}
    write_file(tmp_path / "forged.mc2", "model", tensors, changed)
    with pytest.raises(ModelFileError, match="has an invalid parameter"):
        mc2.MC2.load(tmp_path / "forged.mc2")


@pytest.mark.parametrize(
    "meta", [{}, {"posterior": {}}, {"posterior": {}, "parameters": {}}, {"parameters": 3}]
)
def test_a_file_without_a_posterior_is_refused(saved, tmp_path, meta):
    tensors, _ = read_file(saved, "model")
    write_file(tmp_path / "empty.mc2", "model", tensors, json.loads(json.dumps(meta)))
    with pytest.raises(ModelFileError):
        mc2.MC2.load(tmp_path / "empty.mc2")


def test_an_unknown_parameter_is_refused(saved, tmp_path):
    tensors, meta = read_file(saved, "model")
    for extra in ({"topics": 3}, {"callbacks": []}, {"checkpoint": "/tmp/x"}):
        changed = meta | {"parameters": meta["parameters"] | extra}
        write_file(tmp_path / "other.mc2", "model", tensors, changed)
        with pytest.raises(ModelFileError, match="parameters that this estimator does not have"):
            mc2.MC2.load(tmp_path / "other.mc2")

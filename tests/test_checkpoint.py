"""A run that was killed, however often, ends in the draws of one that was not."""

import functools
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mcsquared as mc2
from mcsquared import checkpoint as module
from mcsquared.chain import TRACE
from mcsquared.checkpoint import Checkpoint
from mcsquared.errors import ModelFileError
from mcsquared.model.parameters import LAM
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.sweep import BLOCKED, COLLAPSED
from mcsquared.storage import read_file, write_file
from tests.forgery import forged_array
from tests.test_chain import assert_same_draws

pytestmark = pytest.mark.usefixtures("short_fits")


def make_corpus(kind):
    rng = np.random.default_rng(5)
    year = rng.normal(2000, 5, 12)
    year[3] = np.nan
    contexts = {"year": year, "tags": [["a"], [], ["b", "c"]] * 4}
    if kind == "words":
        return mc2.Corpus(rng.poisson(1.5, (12, 6)), contexts=contexts)
    content = [rng.normal(0, 3, (n, 2)) for n in rng.integers(0, 6, 12)]
    return mc2.Corpus(content, contexts=contexts)


# Every form that a state has: labels of all tokens or counts, with tables or without.
KINDS = {
    "collapsed": {"sampler": "collapsed", "lam": math.inf},
    "λ = ∞": {"lam": math.inf},
    "λ fixed": {"lam": 3.0},
    "λ resampled": {"lam": mc2.Gamma(1, 0.1)},
}


def make_model(n_chains=1, **parameters):
    return mc2.MC2(
        n_sweeps=40,
        burn_in=6,
        thin=2,
        n_chains=n_chains,
        n_jobs=n_chains,
        keep_parameters=5,
        random_state=3,
        progress=False,
        **parameters,
    )


@pytest.fixture
def at_every_sweep(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_WRITES", 0.0)


class KilledError(Exception):
    pass


def killer(sweep, chain=0):
    def kill(info):
        if info.sweep == sweep and info.chain == chain:
            raise KilledError

    return kill


# Resuming -------------------------------------------------------------------------------------


def test_a_run_without_a_random_state_goes_on_with_the_seed_it_began_with(tmp_path, at_every_sweep):
    corpus, path = make_corpus("words"), tmp_path / "run"
    model = make_model(checkpoint=path).set_params(random_state=None, callbacks=[killer(11)])
    with pytest.raises(KilledError):
        model.fit(corpus)
    resumed = model.set_params(callbacks=()).fit(corpus).posterior_
    whole = make_model().set_params(random_state=resumed.seed).fit(corpus).posterior_
    assert_same_draws(resumed, whole)


# With two chains every form, with one a form of each content.
BROKEN = [(2, kind, sampling) for kind in ("words", "vectors") for sampling in KINDS]
BROKEN += [(1, "words", "λ resampled"), (1, "vectors", "collapsed")]


@pytest.mark.parametrize(("n_chains", "kind", "sampling"), BROKEN)
def test_a_run_that_broke_off_at_many_sweeps_ends_in_the_same_draws(
    tmp_path, at_every_sweep, kind, n_chains, sampling
):
    corpus, path = make_corpus(kind), tmp_path / "run.checkpoint"
    chosen = KINDS[sampling]
    whole = make_model(n_chains, **chosen).fit(corpus).posterior_
    for chain in range(n_chains):
        for sweep in (1, 2, 7, 12, 39, 40):
            broken = make_model(n_chains, checkpoint=path, **chosen)
            broken.set_params(n_jobs=1, callbacks=[killer(sweep, chain)])
            with pytest.raises(KilledError):
                broken.fit(corpus)
            _, meta = read_file(path, "checkpoint")
            assert meta["chains"][str(chain)]["sweep"] == sweep
    resumed = make_model(n_chains, checkpoint=path, **chosen).fit(corpus).posterior_
    assert_same_draws(whole, resumed)


# What tests.fuzz.kills interrupts.
CONDEMNED = [
    ("words", 1, "λ resampled"),
    ("words", 2, "λ resampled"),
    ("words", 1, "λ = ∞"),
    ("vectors", 1, "λ fixed"),
    ("vectors", 2, "λ = ∞"),
    ("words", 1, "collapsed"),
]


def test_a_process_killed_and_terminated_at_random_moments_ends_in_the_same_draws():
    code = "import sys; from tests.fuzz.parts import failures; sys.exit(failures('kills', 0, 20))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ
        | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_finished_run_is_read_back_without_a_sweep(tmp_path):
    corpus, path, heard = make_corpus("words"), tmp_path / "run", []
    first = make_model(checkpoint=path).fit(corpus).posterior_
    again = make_model(checkpoint=path, callbacks=[heard.append]).fit(corpus).posterior_
    assert_same_draws(first, again)
    assert heard == []


def test_a_run_that_a_callback_stopped_goes_on(tmp_path):
    corpus, path = make_corpus("words"), tmp_path / "run"
    stopped = make_model(checkpoint=path, callbacks=[lambda info: info.sweep == 20]).fit(corpus)
    assert len(stopped.posterior_.trace) == 20
    whole = make_model().fit(corpus).posterior_
    assert_same_draws(whole, make_model(checkpoint=path).fit(corpus).posterior_)


def test_a_warm_start_is_not_undone_by_an_older_checkpoint(tmp_path, at_every_sweep):
    corpus, path = make_corpus("words"), tmp_path / "run"
    plain = make_model(2, warm_start=True).fit(corpus).fit(corpus).posterior_
    saved = make_model(2, warm_start=True, checkpoint=path).fit(corpus)
    assert_same_draws(plain, saved.fit(corpus).posterior_)
    saved = make_model(2, warm_start=True, checkpoint=path).set_params(n_jobs=1)
    path.unlink()
    with pytest.raises(KilledError):
        saved.fit(corpus).set_params(callbacks=[killer(9)]).fit(corpus)
    resumed = make_model(2, checkpoint=path).fit(corpus).posterior_
    np.testing.assert_array_equal(
        resumed.cluster_of_group[resumed.chain_of_draw == 0],
        plain.cluster_of_group[plain.chain_of_draw == 0],
    )


def test_writes_are_some_time_apart_and_the_end_is_always_written(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(module, "write_file", lambda *args: written.append(args))
    model = make_model(checkpoint=tmp_path / "run")
    model.fit(make_corpus("words"))
    assert len(written) == 1
    monkeypatch.setattr(module, "SECONDS_BETWEEN_WRITES", 0.0)
    model.fit(make_corpus("words"))
    assert len(written) == 1 + 41


@pytest.mark.parametrize(("seconds", "n_writes"), [(1e-9, 40), (1e9, 1)])
def test_the_time_between_writes_can_be_set(tmp_path, monkeypatch, seconds, n_writes):
    written = []
    monkeypatch.setattr(module, "write_file", lambda *args: written.append(args))
    monkeypatch.setattr(module, "SECONDS_BETWEEN_WRITES", 1e9 if n_writes > 1 else 0.0)
    model = make_model(checkpoint=tmp_path / "run", checkpoint_every=seconds)
    model.fit(make_corpus("words"))
    assert len(written) == n_writes


# Checkpoints of another run -------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "run"
    make_model(2, checkpoint=path).fit(make_corpus("words"))
    return path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"alpha": 0.5}, "other priors"),
        ({"contexts": {}}, "other priors"),
        ({"random_state": 4}, "seed=3, not 4"),
        ({"n_sweeps": 50}, "n_sweeps=40, not 50"),
        ({"burn_in": 5}, "burn_in=6, not 5"),
        ({"thin": 1}, "thin=2, not 1"),
        ({"n_chains": 3}, "n_chains=2, not 3"),
        ({"init": "random"}, "init='auto', not 'random'"),
        ({"max_topics": 50}, "max_topics=None, not 50"),
        ({"lam": math.inf}, "other priors"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(written, change, sentence):
    before = written.read_bytes()
    model = make_model(2, checkpoint=written).set_params(**change)
    with pytest.raises(
        ModelFileError, match=f"was written for .*{sentence}.*: choose another file"
    ):
        model.fit(make_corpus("words"))
    assert written.read_bytes() == before


def test_a_checkpoint_of_another_corpus_is_refused(written):
    corpus = make_corpus("words")
    renamed = mc2.Corpus(corpus.content, corpus.contexts, [f"group {j}" for j in range(12)])
    for other in (corpus[::-1], corpus[:11], renamed, make_corpus("vectors")):
        with pytest.raises(ModelFileError, match="was written for another corpus"):
            make_model(2, checkpoint=written).fit(other)


def test_a_model_file_is_no_checkpoint_and_a_checkpoint_no_model(tmp_path, written):
    model = make_model(2).fit(make_corpus("words"))
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="of kind 'checkpoint', got 'model'"):
        model.set_params(checkpoint=tmp_path / "model").fit(make_corpus("words"))
    with pytest.raises(ModelFileError, match="of kind 'model', got 'checkpoint'"):
        mc2.MC2.load(written)


# Bad files and full disks ---------------------------------------------------------------------


def load(path, name="words", lam=LAM.default, sampler="blocked"):
    """Read a checkpoint as a fit would, without running on."""
    corpus = make_corpus(name)
    priors = Priors.for_corpus(corpus, lam=lam)
    observations = observe(corpus, priors)
    runs = Checkpoint(path, {}).load(observations, priors, sampler)
    return runs, observations, priors


@pytest.fixture(scope="module")
def whole(written):
    assert sorted(load(written)[0]) == [0, 1]
    return written.read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.9999])
def test_a_checkpoint_cut_short_is_refused(tmp_path, whole, share):
    path = tmp_path / "cut"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelFileError, match="cut"):
        load(path)


def test_two_hundred_mutated_checkpoints_are_refused(tmp_path, whole):
    rng = np.random.default_rng(8)
    path = tmp_path / "mutated"
    for _ in range(200):
        data = bytearray(whole)
        for position in rng.integers(0, len(data), rng.integers(1, 4)):
            data[position] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            load(path)


@pytest.fixture(scope="module")
def genuine(tmp_path_factory):
    """Return a checkpoint of each form, written once."""

    @functools.cache
    def write(name, sampling):
        path = tmp_path_factory.mktemp("genuine") / "run"
        make_model(2, checkpoint=path, **KINDS[sampling]).fit(make_corpus(name))
        return path

    return write


@pytest.mark.parametrize("sampling", KINDS)
@pytest.mark.parametrize("name", ["words", "vectors"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_forged_checkpoint_is_refused_or_sound(tmp_path, genuine, name, sampling, data):
    """Forged: changed, with a recomputed digest. Sound: a sweep can continue from it."""
    tensors, meta = read_file(genuine(name, sampling), "checkpoint")
    if data.draw(st.booleans()):
        name = data.draw(st.sampled_from(sorted(tensors)))
        tensors[name] = data.draw(forgeries(tensors[name]))
        if tensors[name] is None:
            del tensors[name]
    else:
        part = meta["chains"][data.draw(st.sampled_from(["0", "1"]))]
        key = data.draw(st.sampled_from(sorted(part)))
        part[key] = data.draw(st.sampled_from([-1, 0, 1, 2**40, 1e300, None, "x", [], 1.5, 17]))
    path = tmp_path / "forged"
    write_file(path, "checkpoint", tensors, meta)
    try:
        runs, observations, priors = load(path, name, **KINDS[sampling])
    except ModelFileError:
        return
    sampler = COLLAPSED if sampling == "collapsed" else BLOCKED
    for chain, run in runs.items():
        assert len(run.trace["sweep"]) == run.sweeps_done
        sampler.sweep(run.state, observations, priors, 3, chain)
        assert run.state.n_clusters >= 1
        assert run.state.counts.tokens_in_topic.sum() == observations.n_tokens
        assert run.state.topic_weights.sum() <= 1.0 + 1e-9


def forgeries(array):
    limits = {"i": [-1, 0, 1, 1000], "u": [0, 1, 1000, 65535]}
    values = limits.get(array.dtype.kind, [-1.0, np.nan, np.inf, 1e300])
    return st.one_of(forged_array(array, values), st.none())


@pytest.mark.parametrize(
    ("name", "sampling", "array"),
    [
        ("words", "λ resampled", "topic_of_token"),
        ("words", "λ resampled", "tables_in_cluster.data"),
        ("words", "λ resampled", "context_statistics"),
        ("words", "λ = ∞", "words_in_topic.data"),
        ("words", "λ = ∞", "topics_in_cluster.data"),
        ("words", "collapsed", "topic_of_token"),
        ("vectors", "λ resampled", "topic_statistics"),
        ("vectors", "λ = ∞", "context_statistics"),
    ],
)
def test_labels_counts_and_statistics_of_other_data_are_refused(
    tmp_path, genuine, name, sampling, array
):
    """Each in its range and of its type, but not what follows from the rest."""
    tensors, meta = read_file(genuine(name, sampling), "checkpoint")
    changed = tensors[f"0.{array}"].copy()
    changed.reshape(-1)[0] += 500
    write_file(tmp_path / "forged", "checkpoint", tensors | {f"0.{array}": changed}, meta)
    with pytest.raises(ModelFileError, match="does not contain a chain of this run"):
        load(tmp_path / "forged", name, **KINDS[sampling])


def test_a_state_of_the_other_sampler_is_refused(genuine):
    for written_by, read_by in (("collapsed", "λ = ∞"), ("λ = ∞", "collapsed")):
        with pytest.raises(ModelFileError, match="does not contain a chain of this run"):
            load(genuine("words", written_by), "words", **KINDS[read_by])


@pytest.mark.parametrize("bad", ["[]", "{}", '{"identity": 3}', '{"identity": null}'])
def test_a_checkpoint_that_says_nothing_is_refused(tmp_path, written, bad):
    tensors, _ = read_file(written, "checkpoint")
    path = tmp_path / "nothing"
    write_file(path, "checkpoint", tensors, json.loads(bad))
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("chains", [3, None, [], {"a": {}}, {"0": None}, {"0": {}}])
def test_a_checkpoint_with_other_chains_is_refused(tmp_path, written, chains):
    tensors, meta = read_file(written, "checkpoint")
    path = tmp_path / "chains"
    write_file(path, "checkpoint", tensors, meta | {"chains": chains})
    with pytest.raises(ModelFileError):
        load(path)


def test_a_folder_that_does_not_exist_is_refused_before_the_run(tmp_path):
    heard = []
    model = make_model(checkpoint=tmp_path / "no" / "run", callbacks=[heard.append])
    with pytest.raises(ModelFileError, match=r"no/run cannot be written: its folder .* not exist"):
        model.fit(make_corpus("words"))
    assert heard == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_checkpoint_without_a_finite_log_joint_is_refused(tmp_path, written, value):
    tensors, meta = read_file(written, "checkpoint")
    tensors["0.trace"] = tensors["0.trace"].copy()
    tensors["0.trace"][TRACE.index("log_joint"), 3] = value
    write_file(tmp_path / "forged", "checkpoint", tensors, meta)
    with pytest.raises(ModelFileError, match="its log joint is not finite"):
        load(tmp_path / "forged")

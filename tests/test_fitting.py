"""From a corpus to a posterior: what is refused, what is noted, what is handed on."""

import math
import threading
import warnings

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.errors import InputError
from mcsquared.fitting.checks import BYTES_PER_TOKEN, check_memory, check_sampler
from tests.test_chain import assert_same_draws

pytestmark = pytest.mark.usefixtures("short_fits")


class Custom(mc2.Gaussian):
    """A family without a kernel."""


class OtherStatistics(Custom):
    """A family whose statistics have no natural parameters."""

    def statistics(self, x):
        return super().statistics(x)


COUNTS = np.random.default_rng(2).poisson(1.0, (10, 5))


def model(**parameters):
    defaults = {"n_sweeps": 8, "burn_in": 2, "thin": 1, "random_state": 0, "progress": False}
    return mc2.MC2(**(defaults | parameters))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_sweeps": 0}, "n_sweeps must be an integer >= 1 or 'auto', got 0"),
        ({"n_sweeps": 2.0}, "n_sweeps must be an integer >= 1 or 'auto', got 2.0"),
        ({"n_sweeps": True}, "n_sweeps must be an integer >= 1 or 'auto', got True"),
        ({"burn_in": -1}, "burn_in must be an integer >= 0 or 'auto', got -1"),
        ({"thin": 0}, "thin must be an integer >= 1 or 'auto', got 0"),
        ({"n_chains": 0}, "n_chains must be an integer >= 1 or 'auto', got 0"),
        ({"keep_parameters": 0}, "keep_parameters must be an integer >= 1, got 0"),
        ({"max_clusters": 0}, "max_clusters must be an integer >= 1, got 0"),
        ({"max_topics": 1.5}, "max_topics must be an integer >= 1, got 1.5"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
        ({"burn_in": 8}, "n_sweeps=8 with burn_in=8 and thin=1 keeps no draw"),
        ({"thin": 7}, "keeps no draw"),
        ({"init": "best"}, "init must be 'auto' or 'random', got 'best'"),
        ({"random_state": -1}, "random_state must be None, a RandomState or an integer .*, got -1"),
        ({"random_state": "0"}, "random_state must be None, .* got '0'"),
        ({"callbacks": None}, "callbacks must be a list of callables, got None"),
        ({"callbacks": [3]}, "callbacks must be a list of callables, got .3."),
        ({"checkpoint": 3}, "checkpoint must be a path, got 3"),
        ({"progress": "yes"}, "progress must be 'auto', True or False, got 'yes'"),
        ({"sampler": "gibbs"}, "sampler must be one of 'auto', .*, got 'gibbs'"),
        ({"device": "tpu"}, "device must be 'cpu' or 'cuda', got 'tpu'"),
        ({"device": None}, "device must be 'cpu' or 'cuda', got None"),
        (
            {"device": "cuda", "sampler": "collapsed", "lam": math.inf},
            "device must be 'cpu' for the collapsed sampler, got 'cuda'",
        ),
        ({"sampler": "collapsed"}, "lam must be inf, .* for the collapsed sampler .* got Gamma"),
        (
            {"sampler": "collapsed", "lam": 1.0},
            "lam must be inf, .*sampler='blocked' takes any lam.*, got 1.0",
        ),
        ({"lam": 0.0}, "lam must be a positive number or a Gamma prior, got 0.0"),
        ({"lam": -1}, "lam must be a positive number or a Gamma prior, got -1"),
    ],
)
def test_a_parameter_that_cannot_be_is_named_before_anything_is_done(parameters, sentence):
    heard = []
    estimator = model(**({"callbacks": [heard.append]} | parameters))
    with pytest.raises(InputError, match=sentence):
        estimator.fit(COUNTS)
    assert heard == []
    assert not hasattr(estimator, "posterior_")


def test_without_a_gpu_one_sentence_says_so(monkeypatch):
    memory = pytest.importorskip("mcsquared.kernels.cuda.memory")
    monkeypatch.setattr(memory, "unavailable_reason", lambda: "no CUDA device was found")
    with pytest.raises(InputError, match="device 'cuda' requires a GPU: no CUDA device was found"):
        model(device="cuda").fit(COUNTS)


def test_a_gpu_requires_natural_parameters_of_a_content_family(monkeypatch):
    memory = pytest.importorskip("mcsquared.kernels.cuda.memory")
    monkeypatch.setattr(memory, "unavailable_reason", lambda: None)
    points = mc2.Corpus([np.ones((2, 1)), np.zeros((4, 1))])
    with pytest.raises(InputError, match="device 'cuda' requires a content family"):
        model(device="cuda", content=OtherStatistics()).fit(points)


@pytest.mark.parametrize("lam", [-math.inf, math.nan, "inf", None])
def test_only_a_positive_infinity_is_the_papers_model(lam):
    with pytest.raises(InputError, match="lam must be inf"):
        check_sampler("collapsed", "cpu", lam)


def test_the_automatic_sampler_is_the_blocked_one():
    for lam in (math.inf, 3.0, mc2.Gamma(1, 0.1)):
        automatic = model(sampler="auto", lam=lam).fit(COUNTS).posterior_
        assert_same_draws(automatic, model(sampler="blocked", lam=lam).fit(COUNTS).posterior_)
    assert_same_draws(automatic, model().fit(COUNTS).posterior_)


def test_the_samplers_of_the_papers_model_draw_from_numbers_of_their_own():
    collapsed, blocked = (
        model(sampler=sampler, lam=math.inf).fit(COUNTS).posterior_
        for sampler in ("collapsed", "blocked")
    )
    assert not np.array_equal(collapsed.trace["log_joint"], blocked.trace["log_joint"])


def test_a_posterior_has_arrays_of_fixed_types():
    corpus = mc2.Corpus(COUNTS, group_names=[f"g{j}" for j in range(10)])
    posterior = model(n_chains=2).fit(corpus).posterior_
    assert posterior.cluster_of_group.dtype == np.int32
    assert posterior.chain_of_draw.dtype == np.int32
    assert posterior.sweep_of_draw.dtype == np.int32
    assert posterior.group_names.tolist() == [f"g{j}" for j in range(10)]
    np.testing.assert_array_equal(posterior.word_frequency, COUNTS.sum(axis=0))
    np.testing.assert_array_equal(posterior.document_frequency, (COUNTS > 0).sum(axis=0))
    np.testing.assert_array_equal(posterior.tokens_per_group, COUNTS.sum(axis=1))
    assert posterior.seed == 0
    for draw in posterior.parameters:
        assert draw.topics_in_cluster.dtype == np.int32
        assert draw.content_statistics.dtype == np.int32


def test_vectors_have_no_words():
    posterior = model().fit(np.random.default_rng(0).normal(size=(10, 2))).posterior_
    assert posterior.vocabulary is None
    assert posterior.word_frequency is None
    assert all(isinstance(draw.content_statistics, np.ndarray) for draw in posterior.parameters)


def test_notes_of_the_corpus_are_kept():
    texts = ["apple pear", "apple plum", "apple fig", "nut pear"]
    corpus = mc2.Corpus.from_texts(texts)
    assert corpus.notes
    assert set(corpus.notes) <= set(model().fit(corpus).posterior_.notes)


def test_a_fit_leaves_the_corpus_as_it_was():
    corpus = mc2.Corpus(COUNTS, contexts={"x": np.arange(10.0)})
    before = corpus.fingerprint()
    model().fit(corpus)
    assert corpus.fingerprint() == before
    counts = COUNTS.copy()
    model().fit(counts)
    np.testing.assert_array_equal(counts, COUNTS)


def test_a_fit_off_the_main_thread_gives_the_same_draws():
    found = []
    thread = threading.Thread(target=lambda: found.append(model().fit(COUNTS).posterior_))
    thread.start()
    thread.join()
    assert_same_draws(found[0], model().fit(COUNTS).posterior_)


def test_a_quiet_fit_says_nothing(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(COUNTS, contexts={"x": np.arange(10.0)})
    assert capfd.readouterr() == ("", "")


def test_chains_that_disagree_are_reported_and_chains_that_agree_are_not():
    corpus = mc2.datasets.letters(random_state=0, n_groups_per_cluster=25).corpus
    apart = model(n_chains=2, n_sweeps=20, burn_in=5, init="random")
    with pytest.warns(UserWarning, match=r"the chains disagree: R-hat is above 1\.1 for"):
        apart.fit(corpus)
    assert "the chains disagree" in apart.posterior_.notes[-1]

    nothing = np.zeros((4, 1), np.int64)  # a prior of four groups is met at once
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = model(n_chains=2, n_sweeps=600, burn_in=10, alpha=1.0).fit(nothing)
    assert not any("disagree" in note for note in together.posterior_.notes)


def test_a_second_fit_forgets_the_first():
    estimator = model().fit(COUNTS)
    estimator.fit(np.random.default_rng(0).normal(size=(6, 2)))
    assert estimator.labels_.shape == (6,)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 2


def test_tokens_that_no_memory_holds_are_refused_before_they_are_laid_out():
    with pytest.raises(InputError, match=r"got 4,000,000,000,000 tokens, .* 128000 GB"):
        model().fit(np.full((2000, 1), 2_000_000_000))
    check_memory(10, memory=10 * BYTES_PER_TOKEN)
    with pytest.raises(InputError, match="got 11 tokens"):
        check_memory(11, memory=10 * BYTES_PER_TOKEN)

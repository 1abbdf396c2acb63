"""A corpus as arrays holds what the corpus holds, under every family."""

from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from mcsquared import observations as module
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Poisson
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.observations.layout import Layout
from tests.samplers.cases import CASES, every_case
from tests.samplers.test_user_family import Visits


@every_case
def test_tokens_are_those_of_the_corpus(case):
    observed, content = case.observations, case.corpus.content
    assert observed.n_groups == case.corpus.n_groups
    assert observed.n_tokens == case.corpus.n_tokens
    np.testing.assert_array_equal(np.diff(observed.group_start), case.corpus.tokens_per_group)
    if observed.n_words:
        group = np.repeat(np.arange(observed.n_groups), np.diff(observed.group_start))
        counts = sparse.coo_matrix(
            (np.ones(observed.n_tokens, int), (group, observed.word)), content.counts.shape
        )
        np.testing.assert_array_equal(counts.toarray(), content.counts.toarray())
    else:
        origin = getattr(case.priors.content, "origin", 0.0)
        np.testing.assert_allclose(observed.values + origin, content.values, rtol=1e-12)


@every_case
def test_every_context_is_there_in_the_form_of_its_kernel(case):
    observed = case.observations
    kernels = [family.kernel for family in case.priors.contexts.values()]
    assert len(observed.dense_families) == sum(kernel != "dirichlet" for kernel in kernels)
    assert len(observed.bag_families) == sum(kernel == "dirichlet" for kernel in kernels)
    assert observed.dense.observed.shape == (observed.n_groups, len(observed.dense_families))
    assert np.isfinite(observed.dense.values).all()
    assert observed.bags.start.shape == (len(observed.bag_families), observed.n_groups + 1)
    columns = case.priors.columns(case.corpus)
    dense = [name for name, family in case.priors.contexts.items() if family.kernel != "dirichlet"]
    for index, name in enumerate(dense):
        np.testing.assert_array_equal(observed.dense.observed[:, index], columns[name].observed)
        first, last = observed.dense.value_start[index : index + 2]
        rows = columns[name].observed
        origin = getattr(case.priors.contexts[name], "origin", 0.0)
        origin = np.zeros(1) if origin is None else np.asarray(origin)
        np.testing.assert_allclose(
            observed.dense.values[rows, first:last] + origin,
            columns[name].values[rows].reshape(rows.sum(), -1),
            rtol=1e-12,
        )


def test_bags_are_numbered_in_one_row():
    case = CASES["words_all_contexts"]
    observed, columns = case.observations, case.priors.columns(case.corpus)
    names = [name for name, family in case.priors.contexts.items() if family.kernel == "dirichlet"]
    first = 0
    for index, name in enumerate(names):
        column, size = columns[name], case.priors.contexts[name].size
        for j in range(observed.n_groups):
            begin, end = observed.bags.start[index, j : j + 2]
            row = np.zeros(size, int)
            row[observed.bags.category[begin:end] - first] = observed.bags.count[begin:end]
            if column.kind == "bag":
                expected = column.values[j].toarray()[0]
            else:
                expected = np.eye(size, dtype=int)[column.values[j]] * (column.values[j] >= 0)
            np.testing.assert_array_equal(row, expected)
        first += size
    assert observed.n_categories == first


def test_a_family_without_a_kernel_is_observed_through_its_statistics():
    corpus = CASES["poisson"].corpus
    priors = Priors.for_corpus(corpus, Visits(), {"visits": Visits(), "year": "auto"})
    observed = observe(corpus, priors)
    assert observed.content_kernel == -1
    assert observed.python_content.statistics.shape == (corpus.n_tokens, 2)
    assert observed.n_content_statistics == 2
    (visits,) = observed.python_contexts
    missing = ~corpus.contexts["visits"].observed
    assert missing.any()
    assert not visits.statistics[missing].any()
    assert (visits.statistics[~missing, 0] == 1).all()


def test_values_near_a_billion_keep_their_digits():
    values = 1e9 + np.array([0.25, -0.25, 0.5])
    corpus = Corpus(np.eye(3, dtype=int), contexts={"x": values})
    observed = observe(corpus, Priors.for_corpus(corpus))
    spread = observed.dense.values[:, 0]
    np.testing.assert_array_equal(spread - spread[0], values - values[0])
    assert np.abs(spread).max() < 1.0


def test_more_tokens_than_counts_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_TOKENS", 10)
    corpus = Corpus(np.array([[5, 6]]))
    with pytest.raises(InputError, match=r"must have <= 10 tokens in memory, got 11"):
        observe(corpus, Priors.for_corpus(corpus))


def test_no_contexts_and_no_content_are_empty_arrays():
    corpus = Corpus([np.zeros((0, 1))] * 3)
    observed = observe(corpus, Priors.for_corpus(corpus, Poisson()))
    assert (observed.n_tokens, observed.n_categories) == (0, 0)
    assert observed.values.shape == (0, 1)
    assert observed.dense.values.shape == (3, 0)
    assert {entry.name for entry in fields(observed)} >= {"group_start", "word", "dense", "bags"}


def test_words_of_groups_share_the_memory_of_the_corpus():
    corpus = Corpus(np.random.default_rng(0).poisson(0.7, (20, 12)))
    observations = observe(corpus, Priors.for_corpus(corpus))
    given = observations.layout.words_of_group
    assert np.shares_memory(given.column, corpus.content.counts.indices)
    alone = Layout(observations.group_start, observations.word, observations.n_words)
    for name in ("words_of_group", "groups_of_word"):
        for left, right in zip(
            getattr(alone, name), getattr(observations.layout, name), strict=True
        ):
            np.testing.assert_array_equal(left, right)
            assert left.dtype == right.dtype

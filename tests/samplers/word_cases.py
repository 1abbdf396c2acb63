"""Small corpora of words for the plain blocked sampler, and what it reads of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mcsquared.families import Categorical
from mcsquared.model.parameters import Gamma
from mcsquared.samplers.steps.collapsed import collapsed_step
from mcsquared.samplers.steps.slots import grow_slots
from mcsquared.samplers.steps.split_merge import split_and_merge_clusters
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.state import NO_BOUNDS
from tests.oracles.blocked import PlainData, PlainState
from tests.samplers.cases import case, make_contexts

N_GROUPS = 11
NAMES = ["year", "visits", "tags", "kind"]
FIXED = {"alpha": 1.0, "v": 2.0, "eta": 0.7}


def make_words(rng):
    """One frequent word, so that its tokens take several blocks; an empty group and a long one."""
    counts = rng.poisson(1.0, (N_GROUPS, 13))
    counts[:, 5] += rng.poisson(12.0, N_GROUPS)
    counts[3] = 0
    counts[6, 7] = 70
    return sparse.csr_matrix(counts)


def make_cases():
    rng = np.random.default_rng(20140622)
    contexts, words = make_contexts(rng), make_words(rng)
    frequent = sparse.csr_matrix(np.array([[2100, 1], [3, 0], [0, 2]] + [[1, 1]] * 8))
    family = Categorical(0.3)
    return {
        "words": case(words, family, contexts, []),
        "contexts": case(words, family, contexts, NAMES),
        "fixed_concentrations": case(words, family, contexts, ["year", "tags"], **FIXED),
        "large_shapes": case(words, Categorical(1.5), contexts, ["kind"]),
        "a_word_of_2000_tokens": case(frequent, family, contexts, ["tags"]),
    }


LAMS = {"infinite": math.inf, "fixed": 3.0, "resampled": Gamma(2.0, 0.5)}
CASES = {
    f"{name}-{how}": replace(case, priors=replace(case.priors, lam=lam))
    for name, case in make_cases().items()
    for how, lam in LAMS.items()
}

# What the plain sampler draws.
BLOCKED_ALONE = BLOCKED.without(collapsed_step).without(split_and_merge_clusters)

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def plain_data(case) -> PlainData:
    corpus, priors, observations = case.corpus, case.priors, case.observations
    contexts, bags = [], []
    for name, column in priors.columns(corpus).items():
        family, x = priors.contexts[name], column.observations()
        if family.kernel == "dirichlet":
            counts = np.zeros((corpus.n_groups, family.n_stats), np.int64)
            statistics = family.statistics(x)
            if sparse.issparse(statistics):
                statistics = statistics.toarray()
            counts[column.observed] = statistics
            bags.append((family.concentration, counts))
        else:
            contexts.append((family, x, column.observed))
    return PlainData(
        word=observations.word.astype(np.int64),
        group_of_token=np.repeat(np.arange(corpus.n_groups), np.diff(observations.group_start)),
        n_groups=corpus.n_groups,
        n_words=observations.n_words,
        concentration=priors.content.concentration,
        contexts=contexts,
        bags=bags,
    )


def plain_state(state) -> PlainState:
    return PlainState(
        cluster_of_group=state.cluster_of_group.astype(np.int64),
        topic_of_token=state.topic_of_token.astype(np.int64),
        words_in_topic=state.counts.words_in_topic.astype(np.int64),
        tables=state.tables.astype(np.int64),
        topic_weights=state.topic_weights.copy(),
        log_unused=float(state.log_unused[0]),
        alpha=state.alpha,
        v=state.v,
        eta=state.eta,
        lam=state.lam,
        sweep=state.sweep,
    )


def start(case, seed, chain):
    """A random start, and the plain one beside it."""
    state = BLOCKED.start(case.observations, case.priors, seed, chain, "random", 4, 5)
    grow_slots(state, NO_BOUNDS)
    return state, plain_state(state)


def add_plain_slots(plain, n_clusters, n_topics):
    """Add empty slots: what is there keeps its slot."""
    clusters, topics = n_clusters - len(plain.tables), n_topics - len(plain.topic_weights)
    plain.tables = np.pad(plain.tables, ((0, clusters), (0, topics)))
    plain.topic_weights = np.pad(plain.topic_weights, (0, topics))
    plain.words_in_topic = np.pad(plain.words_in_topic, ((0, 0), (0, topics)))

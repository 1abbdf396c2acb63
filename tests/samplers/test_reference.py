"""The compiled sampler and the plain NumPy one draw the same labels from the same numbers."""

import numpy as np
import pytest

from mcsquared.corpus import Words
from mcsquared.kernels.cpu.collapsed import UNROLLED
from mcsquared.model.priors import vector_observations
from mcsquared.samplers.steps.collapsed import COLLAPSED_MOVES
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import NO_BOUNDS
from tests.oracles import collapsed as plain_collapsed
from tests.samplers.cases import every_case


def plain_data(case):
    corpus, priors = case.corpus, case.priors
    observations = case.observations
    words = isinstance(corpus.content, Words)
    x = observations.word if words else vector_observations(corpus, priors.content)
    contexts = []
    for name, column in priors.columns(corpus).items():
        rows = np.zeros((corpus.n_groups, priors.contexts[name].n_stats))
        rows[column.observed] = priors.contexts[name].statistics(column.observations())
        contexts.append(rows)
    return plain_collapsed.PlainData(
        group_of_token=np.repeat(np.arange(corpus.n_groups), np.diff(observations.group_start)),
        content_family=priors.content,
        content=priors.content.statistics(x),
        context_families=list(priors.contexts.values()),
        contexts=contexts,
        lanes=UNROLLED if words else 1,
    )


def plain_state(state):
    active = np.flatnonzero(state.counts.tokens_in_topic)
    return plain_collapsed.PlainState(
        cluster_of_group=state.cluster_of_group.astype(np.int64),
        topic_of_token=state.topic_of_token.astype(np.int64),
        topic_weights={int(m): float(state.topic_weights[m]) for m in active},
        unused_weight=float(np.exp(state.log_unused[0])),
        alpha=state.alpha,
        v=state.v,
        eta=state.eta,
        sweep=state.sweep,
    )


@every_case
def test_compiled_and_plain_sampler_draw_the_same_labels(case):
    """Sweep after sweep; ε and the concentrations are redrawn in between, which both then share."""
    observations, data = case.observations, plain_data(case)
    state = case.start()
    moved = births = 0
    for _ in range(12):
        plain = plain_state(state)
        before = state.cluster_of_group.copy(), state.topic_of_token.copy()
        state.sweep += 1
        sweep = Sweep(state, observations, case.priors, NO_BOUNDS, Key(5, 2, state.sweep))
        for move in COLLAPSED_MOVES[:2]:  # clusters and topics
            move(sweep)
        plain_collapsed.sweep(plain, data, 5, 2)
        np.testing.assert_array_equal(state.cluster_of_group, plain.cluster_of_group)
        np.testing.assert_array_equal(state.topic_of_token, plain.topic_of_token)
        active = sorted(plain.topic_weights)
        np.testing.assert_array_equal(np.flatnonzero(state.topic_weights), active)
        expected = [plain.topic_weights[m] for m in active]
        np.testing.assert_allclose(state.topic_weights[active], expected, rtol=1e-9)
        assert np.exp(state.log_unused[0]) == pytest.approx(plain.unused_weight, rel=1e-9)
        moved += (state.cluster_of_group != before[0]).sum()
        births += len(set(active) - set(before[1].tolist()))
        for move in COLLAPSED_MOVES[2:]:
            move(sweep)
    assert moved > 10
    assert births > 0 or observations.n_tokens == 0

"""A negative control: with the cluster step as it is printed, the exactness test fails.

The appendix sums ε over the active topics only in Γ(Σ_m [v ε_m + c_km]); the sum should be 1.
"""

import pytest
from scipy.special import gammaln

from mcsquared.samplers.steps import clusters
from tests.statistics.agreement import compare, is_exact, row
from tests.statistics.corpora import missing_and_bag


def log_ratio(whole, in_cluster, n_tokens):
    """Return the misprinted factor of the cluster step: ln Γ(A) − ln Γ(A + N_j)."""
    return gammaln(whole + in_cluster) - gammaln(whole + in_cluster + n_tokens)


def walk_with(whole_prior):
    """Draw the clusters group by group with another weight of the whole prior in that factor."""
    lengths = missing_and_bag().corpus.content.tokens_per_group

    def walk(first, sweep, slots, contexts):
        state = sweep.state
        for j in range(first, len(lengths)):
            in_cluster = state.counts.tokens_in_cluster.astype(float)
            in_cluster[state.cluster_of_group[j]] -= lengths[j]
            extra = log_ratio(whole_prior(state), in_cluster, lengths[j])
            extra -= log_ratio(state.v, in_cluster, lengths[j])
            if clusters._draw(j, j + 1, extra, sweep, contexts) == j:
                return j
        return len(lengths)

    return walk


def printed(state):
    return state.v * state.topic_weights.sum()


def corrected(state):
    return state.v


def test_the_printed_cluster_step_fails_where_the_corrected_one_passes(monkeypatch):
    monkeypatch.setattr(clusters, "_draw_from", walk_with(corrected))
    assert is_exact(compare(missing_and_bag(), 6000, seed=2), allowance=0.03)
    monkeypatch.setattr(clusters, "_draw_from", walk_with(printed))
    found = compare(missing_and_bag(), 6000, seed=2)
    assert not is_exact(found, allowance=0.03)
    assert found["partition"].total_variation > 0.07


@pytest.mark.calibrate
def test_the_printed_cluster_step_is_far_from_exact_in_a_long_chain(monkeypatch, calibration):
    n_sweeps = 100_000
    monkeypatch.setattr(clusters, "_draw_from", walk_with(printed))
    found = compare(missing_and_bag(), n_sweeps, seed=1)
    measured = row(found)
    measured["note"] = f"fails, as it must; {measured['note']}"
    calibration("negative control: the printed cluster step", n=n_sweeps, **measured)
    assert not is_exact(found, allowance=0.01)
    assert found["partition"].total_variation > 0.07

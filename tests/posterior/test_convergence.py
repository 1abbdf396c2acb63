"""Whether chains have converged: R-hat of partitions, problems, and the sentence."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from mcsquared.posterior.convergence import (
    Assessment,
    Problem,
    agreement_summary,
    assess,
    assess_posterior,
    compare_partitions,
    convergence_summary,
)
from tests.posterior.models import make_posterior


def partitions(rng, n_draws, truth, noise):
    """Draw partitions around a true one, with labels in random order."""
    n_clusters = truth.max() + 1
    draws = []
    for _ in range(n_draws):
        moved = rng.random(len(truth)) < noise
        draw = np.where(moved, rng.integers(0, n_clusters, len(truth)), truth)
        draws.append(rng.permutation(n_clusters)[draw])
    return np.array(draws, np.int32)


def traces(*chains, burn_in=0):
    """Return the trace of chains whose only scalar that varies is the log joint."""
    frames = []
    for number, values in enumerate(chains):
        sweep = np.arange(1, len(values) + 1)
        frames.append(
            pd.DataFrame(
                {
                    "sweep": sweep,
                    "chain": number,
                    "kept": sweep > burn_in,
                    "n_clusters": 3,
                    "n_topics": 4,
                    "log_joint": values,
                    "seconds": 0.5,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


TRUTH = np.repeat(np.arange(4), 10)


def by_definition(chains, n_per_half):
    """Return R-hat of the vectors of all co-clustering indicators, summed over the pairs."""
    halves = []
    for chain in chains:
        middle = len(chain) // 2
        for half in (chain[:middle], chain[-middle:]):
            chosen = np.linspace(0, middle - 1, n_per_half).round().astype(int)
            together = half[chosen][:, :, None] == half[chosen][:, None, :]
            halves.append(together.reshape(n_per_half, -1).astype(float))
    within = np.mean([half.var(axis=0, ddof=1).sum() for half in halves])
    between = np.array([half.mean(axis=0) for half in halves]).var(axis=0, ddof=1).sum()
    return math.sqrt((n_per_half - 1) / n_per_half + between / within)


@pytest.mark.parametrize("n_draws", [4, 11, 40])
def test_partitions_are_compared_by_the_indicators_of_all_pairs(n_draws):
    rng = np.random.default_rng(1)
    chains = [partitions(rng, n_draws, TRUTH, noise) for noise in (0.1, 0.3, 0.3)]
    rhat, agreement = compare_partitions(chains)
    n_per_half = min(n_draws // 2, 10)
    assert rhat == pytest.approx(by_definition(chains, n_per_half))
    assert 0.2 < agreement < 0.9


def test_the_agreement_is_the_adjusted_rand_index_between_draws_of_different_chains():
    rng = np.random.default_rng(2)
    chains = [partitions(rng, 4, TRUTH, 0.2) for _ in range(2)]
    expected = [adjusted_rand_score(a, b) for a in chains[0] for b in chains[1]]
    assert compare_partitions(chains)[1] == pytest.approx(np.mean(expected))
    halves = chains[0][:2], chains[0][2:]
    expected = [adjusted_rand_score(a, b) for a in halves[0] for b in halves[1]]
    assert compare_partitions(chains[:1])[1] == pytest.approx(np.mean(expected))


def test_uncertain_partitions_of_chains_that_mix_do_not_disagree():
    rng = np.random.default_rng(3)
    chains = [partitions(rng, 40, TRUTH, 0.6) for _ in range(4)]
    rhat, agreement = compare_partitions(chains)
    assert agreement < 0.5
    assert rhat < 1.1
    trace = traces(*rng.normal(size=(4, 200)))
    assert assess(trace, chains).converged


def test_chains_in_different_partitions_have_not_converged_even_if_all_scalars_have():
    rng = np.random.default_rng(4)
    other = np.roll(TRUTH, 5)
    chains = [partitions(rng, 40, truth, 0.05) for truth in (TRUTH, TRUTH, other)]
    found = assess(traces(*rng.normal(size=(3, 200))), chains)
    assert not found.converged
    assert found.disagree
    [problem] = found.problems
    assert problem.description.startswith("clusters (adjusted Rand index between chains 0.")


def test_nearly_equal_partitions_agree_although_no_chain_varies():
    other = TRUTH.copy()
    other[0] = 3
    chains = [np.tile(truth, (20, 1)).astype(np.int32) for truth in (TRUTH, other)]
    assert compare_partitions(chains)[0] == math.inf
    trace = traces(*np.random.default_rng(5).normal(size=(2, 200)))
    assert compare_partitions(chains)[1] < 0.95
    assert not assess(trace, chains).converged
    large = [np.repeat(chain, 10, axis=1) for chain in chains]
    large[1][:, :10] = [0] * 9 + [3]  # one of 400 groups
    assert compare_partitions(large)[1] > 0.95
    assert assess(trace, large).converged


def test_equal_draws_have_converged():
    chains = [np.zeros((10, 5), np.int32)] * 2
    rhat, agreement = compare_partitions(chains)
    assert math.isnan(rhat)
    assert agreement == 1.0
    found = assess(traces(np.zeros(20), np.zeros(20)), chains)
    assert found.converged
    assert found.summary() == (
        "converged after 20 sweeps of 2 chains: adjusted Rand index between chains 1.00"
    )


def test_a_large_corpus_is_compared_by_a_sample_of_its_groups():
    rng = np.random.default_rng(6)
    truth = np.repeat(np.arange(4), 1000)
    agree = [partitions(rng, 8, truth, 0.1) for _ in range(2)]
    apart = [agree[0], partitions(rng, 8, np.roll(truth, 500), 0.1)]
    assert compare_partitions(agree)[0] < 1.1 < compare_partitions(apart)[0]


def test_few_draws_are_a_problem():
    found = assess(traces([1.0, 2.0, 1.5]), [np.zeros((3, 4), np.int32)])
    assert [problem.description for problem in found.problems] == [
        "too few draws to assess convergence"
    ]
    assert "; at least " in found.summary()
    assert not assess(traces([]), []).converged


def test_burn_in_is_not_assessed():
    rng = np.random.default_rng(7)
    chains = rng.normal(size=(2, 300))
    chains[:, :100] += 50
    draws = [partitions(rng, 20, TRUTH, 0.1) for _ in range(2)]
    assert assess(traces(*chains, burn_in=100), draws).converged
    found = assess(traces(*chains), draws)
    assert [problem.description[:16] for problem in found.problems] == ["log_joint (R-hat"]


def test_a_trend_and_too_few_effective_draws_are_problems():
    rng = np.random.default_rng(8)
    draws = [partitions(rng, 20, TRUTH, 0.1)]
    found = assess(traces(np.linspace(0, 5, 200) + rng.normal(size=200)), draws)
    assert found.disagree
    slow = np.repeat(rng.normal(size=60), 10)
    found = assess(traces(slow), draws)
    assert not found.disagree
    assert found.problems[0].description.startswith("log_joint (effective sample size ")


def test_the_prediction_of_sweeps_is_about_what_it_takes():
    rng = np.random.default_rng(9)
    draws = [partitions(rng, 20, TRUTH, 0.1)]

    def chain(n):
        values, noise = np.empty(n), rng.normal(size=n)
        values[0] = noise[0]
        for i in range(1, n):
            values[i] = 0.9 * values[i - 1] + noise[i]
        return values

    short = assess(traces(chain(400), burn_in=200), draws)
    assert not short.converged
    # An autocorrelation time of 19 needs about 1,900 sweeps after as many of burn-in.
    assert 1000 < short.more_sweeps + 400 < 12_000
    assert assess(traces(chain(12_000), burn_in=6_000), draws).converged


def test_a_scalar_with_an_effective_sample_size_but_without_rhat_has_a_finite_prediction():
    values = np.array([0.0] * 4 + [1.0] + [0.0] * 4)  # its middle is in neither half
    found = assess(traces(values), [np.zeros((4, 3), np.int32)])
    assert found.summary().startswith(
        "not converged after 9 sweeps of 1 chain: log_joint (effective"
    )
    assert 9 <= found.more_sweeps < 9 * 40


def assessment(**changes):
    given = {"n_sweeps": 600, "n_chains": 3, "n_after_burn_in": 300, "rhat": 1.3, "ess": 40.0}
    given |= {"agreement": 0.5, "problems": (), "seconds": 0.2}
    given |= {"n_sweeps_shortest": changes.get("n_sweeps", 600)}
    return Assessment(**(given | changes))


def test_the_sentence_names_problems_sweeps_and_time():
    problems = tuple(map(Problem, "abcde", (4, 3, 2, 2, 2)))
    found = assessment(problems=problems)
    assert found.more_sweeps == 2 * 4 * 300 - 600
    assert found.summary() == (
        "not converged after 600 sweeps of 3 chains: a, b, c and 2 more; "
        "about 1,800 more sweeps per chain are needed (18 minutes)"
    )
    assert found.summary(n_parallel=3).endswith("(6 minutes)")
    endless = assessment(problems=(Problem("a", math.inf),), n_chains=1, seconds=math.nan)
    assert endless.summary() == (
        "not converged after 600 sweeps of 1 chain: a; more than 11,000 more sweeps are needed"
    )
    assert assessment().summary() == (
        "converged after 600 sweeps of 3 chains: R-hat at most 1.30, effective sample size at "
        "least 40, adjusted Rand index between chains 0.50"
    )


def test_the_sentence_has_the_sweeps_of_the_shortest_and_the_longest_chain():
    problem = Problem("too few draws", 4.0)
    found = assessment(n_sweeps=40, n_sweeps_shortest=1, problems=(problem,))
    assert found.summary().startswith("not converged after 1 to 40 sweeps of 3 chains: too few")
    values = np.random.default_rng(0).normal(size=(2, 60))
    table = traces(*values, burn_in=10)
    table = table[(table["chain"] == 0) | (table["sweep"] <= 18)]
    found = assess(table, [np.zeros((4, 3), np.int32)] * 2)
    assert (found.n_sweeps_shortest, found.n_sweeps) == (18, 60)


def test_halves_of_the_chains_that_find_the_same_clusters_agree():
    posterior, _, _ = make_posterior(n_draws=24, noise=0.05)
    posterior.chain_of_draw = np.repeat(np.arange(8, dtype=np.int32), 3)
    assert posterior.split_half_agreement > 0.9
    index = f"(adjusted Rand index {posterior.split_half_agreement:.2f})"
    summary = agreement_summary(posterior)
    assert index in summary
    assert summary.endswith("so another run should find similar clusters")


def test_halves_that_differ_do_not_agree_although_each_is_certain():
    posterior, _, _ = make_posterior(n_draws=24, noise=0.0)
    posterior.chain_of_draw = np.repeat(np.arange(2, dtype=np.int32), 12)
    other = np.random.default_rng(0).permutation(posterior.cluster_of_group[0])
    posterior.cluster_of_group[12:] = other
    assert abs(posterior.split_half_agreement) < 0.3
    assert "differ; more chains" in agreement_summary(posterior)


def test_a_single_chain_has_no_halves():
    posterior, _, _ = make_posterior()
    posterior.chain_of_draw = np.zeros(posterior.n_draws, np.int32)
    assert math.isnan(posterior.split_half_agreement)
    assert agreement_summary(posterior) == ""


def test_the_summary_is_the_note_of_the_fit_or_computed():
    posterior, _, _ = make_posterior()
    assert convergence_summary(posterior) == assess_posterior(posterior).summary()
    posterior.notes.append("not converged after 600 sweeps of 2 chains: lam")
    assert convergence_summary(posterior) == "not converged after 600 sweeps of 2 chains: lam"

"""Weights of chains: equal by default, and used by everything that combines draws."""

from dataclasses import replace

import numpy as np
import pytest

from mcsquared.errors import InputError, ModelFileError
from mcsquared.evaluation.log_likelihood import log_completion, log_exact, log_left_to_right
from mcsquared.evaluation.perplexity import perplexity, split_halves, with_log_prior
from mcsquared.plots.clusters import group_features
from mcsquared.posterior.membership import likely_clusters
from mcsquared.posterior.weights import indices_by_weight, weights_of_draws
from mcsquared.prediction.contexts import context_distribution
from mcsquared.prediction.groups import align, cluster_probabilities
from mcsquared.prediction.parameters import parameters_of_draws
from mcsquared.report.content import cluster_overlap
from mcsquared.report.page import report_data
from mcsquared.storage import pack_posterior, unpack_posterior
from tests.posterior.models import make_posterior


@pytest.fixture(params=[np.inf, 5.0], ids=["shared", "varying"])
def made(request):
    posterior, corpus, _ = make_posterior(seed=1, n_draws=24, noise=0.3, lam=request.param)
    return posterior, corpus


def only_first_chain(posterior):
    chosen = posterior.chain_of_draw == 0
    return replace(
        posterior,
        cluster_of_group=posterior.cluster_of_group[chosen],
        chain_of_draw=posterior.chain_of_draw[chosen],
        sweep_of_draw=posterior.sweep_of_draw[chosen],
        parameters=[draw for draw in posterior.parameters if chosen[draw.index]],
        chain_weights=None,
    )


def results(posterior, corpus):
    """Return everything that combines draws."""
    finite = np.isfinite(posterior.parameters[0].lam)
    methods = ("completion", "left_to_right" if finite else "exact")
    found = {
        "labels": posterior.labels,
        "binder": posterior.consensus("binder"),
        "coclustering": posterior.coclustering().to_dense(np.arange(30)),
        "some": posterior.coclustering([3, 4, 20]).to_dense([0, 1, 2]),
        "clusters": posterior.clusters()["stability"],
        "topics": posterior.topics()["stability"],
        "representative": posterior.representative_groups(topic=0)["score"],
        "member": posterior.representative_groups(cluster=0)["score"],
        "overlap": cluster_overlap(posterior),
        "features": (group_features(posterior) @ group_features(posterior).T).toarray(),
        "components": posterior.components,
    }
    found |= {f"likely clusters {i}": part for i, part in enumerate(likely_clusters(posterior))}
    found["predict"], found["new"] = cluster_probabilities(posterior, corpus)
    for name in ("year", "place"):
        table = context_distribution(posterior, corpus, name)
        found[name] = table["mean" if name == "year" else "probability"]
    for method in methods:
        for given in (False, True):
            found[f"{method} {given}"] = perplexity(posterior, corpus, method, given).log_likelihood
    return found


def assert_close(first, second):
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_allclose(values, second[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_weights_are_equal_by_default_and_change_nothing(made):
    posterior, corpus = made
    np.testing.assert_array_equal(posterior.chain_weights, [0.5, 0.5])
    assert posterior.chain_weights.dtype == np.float64
    assert not posterior.is_weighted
    np.testing.assert_array_equal(posterior.draw_weights, np.ones(24))
    equal = replace(posterior, chain_weights=[0.5, 0.5])
    expected = results(posterior, corpus)
    for name, values in results(equal, corpus).items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def test_a_chain_without_weight_has_no_influence(made):
    posterior, corpus = made
    weighted = replace(posterior, chain_weights=[1.0, 0.0])
    assert weighted.is_weighted
    alone = only_first_chain(posterior)
    assert len(alone.parameters) < len(posterior.parameters)
    found, both = results(weighted, corpus), results(posterior, corpus)
    assert_close(found, results(alone, corpus))
    changed = [name for name, values in found.items() if not np.array_equal(values, both[name])]
    assert {"coclustering", "predict", "new", "year", "completion False"} <= set(changed)


def test_coclustering_is_the_weighted_mean_of_the_chains(made):
    posterior, _ = made
    both = replace(posterior, chain_weights=[0.8, 0.2]).coclustering().to_dense(np.arange(30))
    chains = [
        (
            posterior.cluster_of_group[posterior.chain_of_draw == chain, :, None]
            == posterior.cluster_of_group[posterior.chain_of_draw == chain, None, :]
        ).mean(axis=0)
        for chain in (0, 1)
    ]
    np.testing.assert_allclose(both, 0.8 * chains[0] + 0.2 * chains[1], atol=1e-12)


def test_the_consensus_follows_the_weights():
    rng = np.random.default_rng(0)
    truths = np.repeat([0, 1], 10), np.tile([0, 1], 10)
    posterior, _, _ = make_posterior(n_groups=20, n_draws=24)
    draws = [np.where(rng.random(20) < 0.05, 0, truths[t // 12]) for t in range(24)]
    posterior = replace(posterior, cluster_of_group=np.array(draws, np.int32))
    for chain in (0, 1):
        weights = np.where(np.arange(2) == chain, 0.75, 0.25)
        labels = replace(posterior, chain_weights=weights).labels
        same = (labels[:, None] == labels) == (truths[chain][:, None] == truths[chain])
        assert same.all()


@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.2), (0.98, 0.02, 0.0), (0.0, 0.0, 1.0)])
def test_chains_are_represented_by_their_weight(weights):
    chain_of_draw = np.repeat(np.arange(3, dtype=np.int32), 50)
    relative = weights_of_draws(chain_of_draw, np.array(weights), equal=False)
    assert relative.mean() == pytest.approx(1.0)
    chosen = indices_by_weight(chain_of_draw, relative)
    shares = np.bincount(chain_of_draw[chosen], minlength=3) / len(chosen)
    np.testing.assert_allclose(shares, weights, atol=0.02)
    assert len(np.unique(chosen)) == len(chosen)


def test_weights_of_chains_with_different_numbers_of_draws():
    chain_of_draw = np.repeat(np.arange(2, dtype=np.int32), [10, 40])
    relative = weights_of_draws(chain_of_draw, np.array([0.5, 0.5]), equal=False)
    assert relative[:10].sum() == pytest.approx(relative[10:].sum()) == 25.0
    posterior, _, _ = make_posterior(n_draws=12)
    uneven = replace(posterior, chain_of_draw=np.repeat([0, 1], [3, 9]), chain_weights=None)
    np.testing.assert_array_equal(uneven.chain_weights, [0.25, 0.75])  # each draw counts the same
    assert not uneven.is_weighted


@pytest.mark.parametrize(
    "weights", [[1.0], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], [[0.5, 0.5]], [0.5, 0.25, 0.25]]
)
def test_other_weights_are_refused(weights):
    posterior, _, _ = make_posterior()
    with pytest.raises(InputError, match="chain_weights must be 2 numbers >= 0 that sum to 1"):
        replace(posterior, chain_weights=weights)


def test_a_chain_without_draws_has_no_weight():
    posterior, _, _ = make_posterior()
    late = replace(posterior, chain_of_draw=posterior.chain_of_draw * 2, chain_weights=None)
    np.testing.assert_array_equal(late.chain_weights, [0.5, 0.0, 0.5])
    with pytest.raises(InputError, match="0 for chains without draws"):
        replace(late, chain_weights=[0.4, 0.2, 0.4])


def test_probabilities_of_groups_are_weighted_means_over_draws(made):
    posterior, corpus = made
    known = align(posterior, corpus)
    pairs = list(with_log_prior(parameters_of_draws(posterior), posterior, known, False))
    weights = np.random.default_rng(3).dirichlet(np.ones(len(pairs)))
    first, second = split_halves(known, np.random.default_rng(0))
    if np.isinf(posterior.parameters[0].lam):
        alone = np.exp([log_exact([pair], None, second) for pair in pairs])
        np.testing.assert_allclose(
            np.exp(log_exact(pairs, None, second, weights)), weights @ alone, rtol=1e-8
        )
        return
    alone = np.exp([log_left_to_right([pair], second, 4) for pair in pairs])
    np.testing.assert_allclose(
        np.exp(log_left_to_right(pairs, second, 4, weights)), weights @ alone, rtol=1e-8
    )
    # The weights do not depend on their scale, and a draw without weight does not count.
    again = log_completion(pairs, first, second, weights=7.0 * weights)
    np.testing.assert_allclose(again, log_completion(pairs, first, second, weights=weights))
    last = np.eye(len(pairs))[-1]
    np.testing.assert_allclose(
        log_completion(pairs, first, second, weights=last),
        log_completion(pairs[-1:], first, second),
    )


def test_weights_are_stored_in_model_files_only_if_they_differ(made):
    posterior, _ = made
    tensors, meta = pack_posterior(posterior)
    assert "chain_weights" not in tensors  # as in files of version 0.1.0
    np.testing.assert_array_equal(unpack_posterior(tensors, meta).chain_weights, [0.5, 0.5])
    tensors, meta = pack_posterior(replace(posterior, chain_weights=[0.9, 0.1]))
    again = unpack_posterior(tensors, meta)
    np.testing.assert_array_equal(again.chain_weights, [0.9, 0.1])
    for wrong in ([0.9, 0.2], [np.nan, 1.0], [1.0]):
        with pytest.raises(ModelFileError):
            unpack_posterior(tensors | {"chain_weights": np.array(wrong)}, meta)
    chains = np.full(24, 2**31 - 1, np.int32)
    with pytest.raises(ModelFileError):
        unpack_posterior(tensors | {"chain_of_draw": chains}, meta)


def test_the_report_names_the_weights(made):
    posterior, _ = made
    titles = [check["title"] for check in report_data(posterior)["checks"]]
    assert "Some chains have less weight" not in titles
    checks = report_data(replace(posterior, chain_weights=[0.9, 0.1]))["checks"]
    [text] = [check["text"] for check in checks if check["title"] == "Some chains have less weight"]
    assert "chain 0: 90%, chain 1: 10%" in text

"""Draws from the joint prior of labels and data: forwards, and by a chain of sweeps and new data.

Geweke (2004): a chain that alternates a sweep of the sampler and new data given the labels has the
joint prior of labels, concentrations and data as its distribution, if the sampler leaves the
posterior as it is.
"""

from dataclasses import replace

import numpy as np

from mcsquared.model.parameters import Gamma
from mcsquared.samplers.sweep import COLLAPSED
from mcsquared.state import count
from tests.statistics.forward import WORDS, Labels, draw, draw_index

N_BATCHES = 50


def statistics(labels, data, priors):
    """Bounded or light-tailed functions of everything that is drawn."""
    z, topics = labels.clusters, labels.topics
    n_clusters, n_topics = len(set(z)), len(set(topics))
    tokens, numbers, others = data.tokens, data.numbers, data.others
    found = {
        "alpha": labels.alpha,
        "v": labels.v,
        "eta": labels.eta,
        "log alpha": np.log(labels.alpha),
        "log v": np.log(labels.v),
        "log eta": np.log(labels.eta),
        "unused": labels.unused,
        "clusters": n_clusters,
        "topics": n_topics,
        "alpha × clusters": labels.alpha * n_clusters,
        "v × topics": labels.v * n_topics,
        "eta × topics": labels.eta * n_topics,
        "largest topic": max(map(topics.count, topics)),
        "groups 0 and 3 together": z[0] == z[3],
        "missing group with 0": z[1] == z[0],
        "empty group with 3": z[2] == z[3],
        "tokens 0 and 1 together": topics[0] == topics[1],
        "tokens 0 and 8 together": topics[0] == topics[8],
        "tokens 0 and 8 near": abs(tokens[0] - tokens[8]) < 0.5,
        "tokens 5 and 6 near": abs(tokens[5] - tokens[6]) < 0.5,
        "numbers 0 and 3 near": abs(numbers[0] - numbers[3]) < 1,
        "numbers 0 and 2 near": abs(numbers[0] - numbers[2]) < 1,
        "other contexts 0 and 2 alike": np.abs(others[0] - others[2]).sum() < 1,
    }
    if priors.lam != np.inf:
        found |= {"tables": labels.tables, "v × tables": labels.v * labels.tables}
    if isinstance(priors.lam, Gamma):
        found |= {
            "lam": labels.lam,
            "log lam": np.log(labels.lam),
            "lam × topics": labels.lam * n_topics,
            "lam × tables": labels.lam * labels.tables,
        }
    if priors.effects:
        weights, v, value_tables = labels.weights, labels.v_of_effects, labels.tables_of_values
        found |= {f"omega {s}": weight for s, weight in enumerate(weights)}
        found |= {f"omega {s} squared": weight**2 for s, weight in enumerate(weights)}
        found |= {f"log v of effect {c}": np.log(value) for c, value in enumerate(v)}
        found |= {
            "tables of values": value_tables,
            "omega 0 × tables": weights[0] * labels.tables,
            "omega 1 × tables of values": weights[1] * value_tables,
            "omega 1 × topics": weights[1] * n_topics,
            "omega 1, tokens 0 and 8": weights[1] * (topics[0] == topics[8]),
            "omega 2, tokens 0 and 3": weights[2] * (topics[0] == topics[3]),
            "omega 0, clusters 0 and 3": weights[0] * (z[0] == z[3]),
        }
    if priors.background_columns:
        found |= {
            "outliers": labels.outliers,
            "outliers squared": labels.outliers**2,
            "outliers × clusters": labels.outliers * n_clusters,
            "outliers, groups 0 and 3": labels.outliers * (z[0] == z[3]),
            "no outlier, groups 0 and 3": (labels.outliers == 0) * (z[0] == z[3]),
        }
    if priors.has_learned_contexts:
        log_g, base = np.log(labels.shapes.sum()), labels.shapes / labels.shapes.sum()
        found |= {
            "log g": log_g,
            "log g squared": log_g**2,
            "largest b": base.max(),
            "b of the first category": base[0],
            "b × entries": base[0] * others[:, 0].sum(),
            "log g × largest b": log_g * base.max(),
            "log g × alike": log_g * found["other contexts 0 and 2 alike"],
            "log g × clusters": log_g * n_clusters,
        }
    return found


def names(design):
    return list(statistics(*draw(design, np.random.default_rng(0)), design.priors))


def forward_draws(design, n, seed):
    rng = np.random.default_rng(seed)
    return [list(statistics(*draw(design, rng), design.priors).values()) for _ in range(n)]


def chain_draws(design, n, seed, sampler=COLLAPSED):
    """Alternate sweeps and new data given the labels."""
    rng = np.random.default_rng(seed)
    _, data = draw(design, rng)
    observations = design.observations(data)
    state = sampler.start(observations, design.priors, seed, 0, "random", 2, 2)
    knows_topics = len(state.topic_of_token) == observations.n_tokens
    rows = []
    for _ in range(n):
        sampler.sweep(state, observations, design.priors, seed, 0)
        z = state.cluster_of_group.tolist()
        if knows_topics:
            topics = state.topic_of_token.tolist()
            data = design.draw_data(z, topics, rng, state.category_shapes)
        else:
            topics, words = draw_tokens(state, design.lengths, rng)
            drawn = design.draw_data(z, topics, rng, state.category_shapes)
            data = replace(drawn, tokens=words)
        observations = design.replaced(observations, data)
        labels = labels_of(state, topics, observations)
        recount(state, topics, observations_given(observations, data))
        rows.append(list(statistics(labels, data, design.priors).values()))
    return rows


def draw_tokens(state, lengths, rng):
    """Draw topics and words of all tokens given z and the counts of those that they replace.

    Given the old tokens τ_k ~ Dir(v ε + c_k) and ψ_m ~ Dir(β + n_m), and given these the new ones
    are independent of the old. With τ and ψ summed out, new tokens come from urns that begin with
    the old counts. New topics take a stick of the unused weight, and topics that no new token has
    return theirs.
    """
    in_cluster, in_topic = state.counts.topics_in_cluster.copy(), state.counts.words_in_topic.copy()
    weights = {m: state.topic_weights[m] for m in np.flatnonzero(state.counts.tokens_in_topic)}
    log_unused = float(state.log_unused[0])  # in logs: a small η leaves less than a float holds
    topics, words = [], []
    for k in np.repeat(state.cluster_of_group, lengths):
        slots = list(weights)
        urn = [state.v * weights[m] + in_cluster[k, m] for m in slots]
        chosen = draw_index([*urn, state.v * np.exp(log_unused)], rng)
        if chosen == len(slots):
            slots.append(min(set(range(len(state.topic_weights))) - set(slots)))
            log_left = np.log1p(-rng.random()) / state.eta  # of a stick, b ~ Beta(1, η)
            weights[slots[-1]] = -np.expm1(log_left) * np.exp(log_unused)
            log_unused += log_left
        m = int(slots[chosen])
        w = draw_index((in_topic[:, m] + WORDS.concentration).tolist(), rng)
        in_cluster[k, m] += 1
        in_topic[w, m] += 1
        topics.append(m)
        words.append(w)
    left = set(topics)
    returned = [np.log(weight) for m, weight in weights.items() if m not in left]
    state.topic_weights[:] = 0.0
    state.topic_weights[list(left)] = [weights[m] for m in left]
    state.log_unused[0] = np.logaddexp.reduce([log_unused, *returned])
    return topics, np.array(words, np.int32)


def recount(state, topics, observations):
    """Count the new data, in the same slots; tables of groups belong to the labels and stay."""
    state.counts = count(
        observations,
        state.cluster_of_group,
        np.array(topics, np.int32),
        len(state.counts.groups_in_cluster),
        len(state.topic_weights),
    )


def observations_given(observations, data):
    """Return the observations with the values of a background apart, if there is one."""
    if data.foreground is None:
        return observations
    return observations.with_foreground(data.foreground[:, None])


def labels_of(state, topics, observations):
    """Return the labels before the new data: the outliers are those of the old ones."""
    sums = state.counts.context_statistics.sum(axis=0)
    return Labels(
        alpha=state.alpha,
        v=state.v,
        eta=state.eta,
        lam=state.lam,
        clusters=state.cluster_of_group.tolist(),
        topics=topics,
        tables=state.n_group_tables,
        unused=float(np.exp(state.log_unused[0])),
        shapes=state.category_shapes,
        outliers=sum(int(sums[columns.start]) for _, columns in observations.background_columns),
        **({} if state.effects is None else effects_of(state)),
    )


def effects_of(state):
    return {
        "weights": state.effects.weights.copy(),
        "v_of_effects": state.effects.v.copy(),
        "tables_of_values": int(state.effects.tables.sum()),
    }


def batch_means(chain):
    chain = np.array(chain, float)
    size = len(chain) // N_BATCHES
    return chain[: size * N_BATCHES].reshape(N_BATCHES, size, -1).mean(axis=1)


def scores(forward, chain):
    """z-scores of the chain's means, by batch means for the chain."""
    forward, chain = np.array(forward, float), np.array(chain, float)
    batches = batch_means(chain)
    variance = batches.var(axis=0, ddof=1) / N_BATCHES + forward.var(axis=0) / len(forward)
    return (chain.mean(axis=0) - forward.mean(axis=0)) / np.sqrt(variance)


def chance_of_largest(chain, z, n=20_000):
    """The probability that an exact chain has a score as large as the largest of ``z``.

    Statistics depend on each other: scores are drawn with the correlations of the batch means, and
    with the variances of ``N_BATCHES`` batches.
    """
    rng, correlation = np.random.default_rng(0), np.corrcoef(batch_means(chain).T)
    value, vector = np.linalg.eigh(correlation)
    normal = (rng.normal(size=(n, len(z))) * np.sqrt(np.maximum(value, 0.0))) @ vector.T
    by_chance = normal / np.sqrt(rng.chisquare(N_BATCHES - 1, (n, 1)) / (N_BATCHES - 1))
    return float((np.abs(by_chance).max(axis=1) >= np.abs(z).max()).mean())


def largest(z, design):
    """The statistic that is furthest off, with its score."""
    worst = int(np.abs(z).argmax())
    return f"{names(design)[worst]}: z = {z[worst]:.1f}"


def row(z, design):
    """Return the row of a joint test in the table of docs/calibration.md."""
    return {
        "largest_z": float(np.abs(z).max()),
        "note": f"{len(z)} statistics, rms {np.sqrt((z**2).mean()):.2f}, "
        f"largest for {names(design)[int(np.abs(z).argmax())]}",
    }

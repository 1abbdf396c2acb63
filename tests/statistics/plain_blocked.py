"""The blocked sampler in plain NumPy, straight from its conditionals, for tiny corpora.

One sweep draws the globals from counts, the labels of all groups given the globals, and the
concentrations and root weights from the new counts. Empty clusters and topics are represented by
``n_empty`` slots, which share the unused weight by Beta(1, ·) sticks; the last one takes the rest.

    ε_1..ε_M, ε_new     from the last sweep, ε_new broken into sticks
    τ_k  ~  Dir(v ε + O_k),   ψ_m, φ_k from their posteriors
    π_1..π_K, π_new  ~  Dir(n_1, ..., n_K, α),   π_new broken into sticks
    λ = ∞     z with the topics summed out, then every l_ji ∝ τ_km ψ_mw
    λ finite  every l_ji ∝ (n_jm + λ τ_km) ψ_mw, then z given l, then o_jm ~ CRT(n_jm, λ τ_km)
    λ from o, v from q_km ~ CRT(O_km, v ε_m), η from u_m = Σ_k q_km, ε ~ Dir(u, η), α from K
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import gammaln, logsumexp

from mcsquared.model.parameters import Gamma
from mcsquared.state import NO_BOUNDS

N_EMPTY = 30


@dataclass
class PlainState:
    """Labels numbered 0, 1, ... without gaps, tables O_km, ε and the log of its unused weight."""

    cluster_of_group: np.ndarray
    topic_of_token: np.ndarray
    tables: np.ndarray
    topic_weights: np.ndarray
    log_unused: np.ndarray
    alpha: float
    v: float
    eta: float
    lam: float
    rng: np.random.Generator

    @property
    def n_clusters(self):
        return int(self.cluster_of_group.max()) + 1

    @property
    def n_topics(self):
        return len(self.topic_weights)


def start(observations, priors, seed, chain, init, n_clusters, n_topics, bounds=NO_BOUNDS):
    """Return a state with random labels, and concentrations at their prior means."""
    rng = np.random.default_rng([seed, chain])
    clusters = compact(rng.integers(0, n_clusters, observations.n_groups))
    topics = compact(rng.integers(0, n_topics, observations.n_tokens))
    value = {
        name: prior.mean if isinstance(prior, Gamma) else prior
        for name in ("alpha", "v", "eta", "lam")
        for prior in [getattr(priors, name)]
    }
    weights = np.full(topics.max(initial=-1) + 1, 1 / (topics.max(initial=-1) + 2))
    log_unused = np.array([np.log(1 - weights.sum())])
    state = PlainState(clusters, topics, None, weights, log_unused, **value, rng=rng)
    state.tables = np.minimum(count_topics(state, observations), 1)
    state.tables = sum_by_label(state.tables, clusters, state.n_clusters)
    if state.lam == inf:
        state.tables = sum_by_label(count_topics(state, observations), clusters, state.n_clusters)
    return state


def sweep(state, observations, priors, seed, chain, bounds=NO_BOUNDS, n_empty=N_EMPTY):
    """Resample all labels and parameters of the state, in place."""
    rng, n_clusters, n_topics = state.rng, state.n_clusters, state.n_topics
    rest = np.exp(state.log_unused[0]) * sticks(n_empty, state.eta, rng)
    weights = np.append(state.topic_weights, rest)
    tables = np.pad(state.tables, ((0, n_empty), (0, n_empty)))
    topic_given_cluster = draw_dirichlet(state.v * weights + tables, rng)
    sizes = np.bincount(state.cluster_of_group, minlength=n_clusters).astype(float)
    *cluster_weights, new = draw_dirichlet(np.append(sizes, state.alpha)[None, :], rng)[0]
    with np.errstate(divide="ignore"):  # the last sticks may be shorter than any float
        log_prior = np.log(np.append(cluster_weights, new * sticks(n_empty, state.alpha, rng)))
    log_prior = log_prior + context_likelihoods(state, observations, n_clusters + n_empty)
    likelihood = content_likelihoods(state, observations, n_topics + n_empty)
    if state.lam == inf:
        tables_of_group = resample_blocked_labels(
            state, observations, log_prior, topic_given_cluster, likelihood
        )
    else:
        resample_varying_labels(state, observations, log_prior, topic_given_cluster, likelihood)
        tables_of_group = resample_lam_and_tables(state, observations, priors, topic_given_cluster)
    occupied = np.unique(state.topic_of_token)
    state.cluster_of_group = compact(state.cluster_of_group)
    state.topic_of_token = compact(state.topic_of_token)
    state.tables = sum_by_label(
        tables_of_group[:, occupied], state.cluster_of_group, state.n_clusters
    )
    resample_concentrations(state, priors, weights[occupied])


def resample_blocked_labels(state, observations, log_prior, topic_given_cluster, likelihood):
    """Draw z with the topics summed out, then l given z; return the tokens per group and topic."""
    group_of_token = groups_of_tokens(observations)
    log_words = np.log(likelihood @ topic_given_cluster.T)
    state.cluster_of_group = draw_columns(
        log_prior + sum_by_label(log_words, group_of_token, len(log_prior)), state
    )
    chosen = topic_given_cluster[state.cluster_of_group[group_of_token]]
    with np.errstate(divide="ignore"):
        state.topic_of_token = draw_columns(np.log(chosen * likelihood), state)
    return count_topics(state, observations, likelihood.shape[1])


def resample_varying_labels(state, observations, log_prior, topic_given_cluster, likelihood):
    """Draw l token by token given z and τ, then z given l and τ."""
    counts = count_topics(state, observations, likelihood.shape[1])
    for i, j in enumerate(groups_of_tokens(observations)):
        counts[j, state.topic_of_token[i]] -= 1
        prior = counts[j] + state.lam * topic_given_cluster[state.cluster_of_group[j]]
        cumulative = np.cumsum(prior * likelihood[i])
        m = int(np.searchsorted(cumulative, state.rng.random() * cumulative[-1], side="right"))
        state.topic_of_token[i] = m
        counts[j, m] += 1
    log_topics = np.zeros_like(log_prior)
    for j, m in zip(*np.nonzero(counts), strict=True):
        prior = state.lam * topic_given_cluster[:, m]
        log_topics[j] += gammaln(prior + counts[j, m]) - gammaln(prior)
    state.cluster_of_group = draw_columns(log_prior + log_topics, state)


def resample_lam_and_tables(state, observations, priors, topic_given_cluster):
    """Draw o_jm ~ CRT(n_jm, λ τ_km), then λ; return o_jm."""
    counts = count_topics(state, observations, topic_given_cluster.shape[1])
    prior = state.lam * topic_given_cluster[state.cluster_of_group]
    tables = draw_tables(counts, prior, state.rng)
    state.lam = resample_concentration(
        state.lam, priors.lam, counts.sum(axis=1), tables.sum(axis=1), state.rng
    )
    return tables


def resample_concentrations(state, priors, weights):
    """Draw q, v, η with ε summed out, ε, and α with π summed out."""
    rng = state.rng
    tables = draw_tables(state.tables, np.tile(state.v * weights, (state.n_clusters, 1)), rng)
    state.v = resample_concentration(
        state.v, priors.v, state.tables.sum(axis=1), tables.sum(axis=1), rng
    )
    total = tables.sum()
    state.eta = resample_concentration(state.eta, priors.eta, [total], [len(weights)], rng)
    log_weights = draw_log_gammas(np.append(tables.sum(axis=0), state.eta), rng)
    log_weights -= logsumexp(log_weights)
    state.topic_weights, state.log_unused = np.exp(log_weights[:-1]), log_weights[-1:]
    n_groups = len(state.cluster_of_group)
    state.alpha = resample_concentration(
        state.alpha, priors.alpha, [n_groups], [state.n_clusters], rng
    )


def resample_concentration(current, prior, customers, tables, rng):
    """Draw a concentration given the customers and tables of each of its restaurants."""
    if not isinstance(prior, Gamma):
        return current
    shape, rate = prior.shape, prior.rate
    for n, t in zip(customers, tables, strict=True):
        if n:
            rate -= np.log(rng.beta(current + 1, n))
            shape += t - (rng.random() < n / (n + current))
    return rng.gamma(shape, 1 / rate)


def draw_tables(customers, prior, rng):
    """Draw CRT(n, a) one customer after another."""
    tables = np.zeros_like(customers)
    for cell in zip(*np.nonzero(customers), strict=True):
        n_seated = np.arange(customers[cell])
        tables[cell] = (rng.random(len(n_seated)) * (prior[cell] + n_seated) < prior[cell]).sum()
    return tables


def sticks(n, concentration, rng):
    """Draw n stick-breaking weights that sum to 1; the last one takes the rest."""
    broken = np.append(rng.beta(1.0, concentration, n - 1), 1.0)
    return broken * np.cumprod(np.append(1.0, 1 - broken[:-1]))


def draw_log_gammas(shape, rng):
    """Draw the logs of gamma variates, finite for small shape parameters."""
    with np.errstate(divide="ignore"):
        return np.log(rng.gamma(shape + 1.0)) + np.log(rng.random(np.shape(shape))) / shape


def draw_dirichlet(alpha, rng):
    """Draw from the Dirichlet distribution of each row of ``alpha``."""
    logs = draw_log_gammas(alpha, rng)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))


def draw_columns(log_weights, state):
    """Draw the index of a column for every row, given log-probabilities up to a constant."""
    noise = state.rng.gumbel(size=log_weights.shape)
    return (log_weights + noise).argmax(axis=1)


def compact(labels):
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def sum_by_label(rows, labels, n):
    """Return the sum of the rows with each label: (n, n_columns)."""
    total = np.zeros((n, rows.shape[1]), rows.dtype)
    np.add.at(total, labels, rows)
    return total


def groups_of_tokens(observations):
    return np.repeat(np.arange(observations.n_groups), np.diff(observations.group_start))


def count_topics(state, observations, n_slots=None):
    """Return n_jm, the tokens per group and topic."""
    counts = np.zeros((observations.n_groups, n_slots or state.n_topics), int)
    np.add.at(counts, (groups_of_tokens(observations), state.topic_of_token), 1)
    return counts


def content_likelihoods(state, observations, n_slots):
    """p(w_ji | ψ_m) with ψ drawn from its posterior: (n_tokens, n_slots)."""
    family = observations.content_family
    x = observations.word if observations.n_words else undo_centring(family, observations.values)
    if not observations.n_tokens:
        return np.zeros((0, n_slots))
    stats = sum_by_label(family.statistics(x), state.topic_of_token, n_slots)
    return np.exp(family.log_likelihood(x, family.sample_parameters(stats, state.rng)))


def context_likelihoods(state, observations, n_slots):
    """Σ over contexts of log F(x_j | φ_k) with φ drawn from its posterior: (n_groups, n_slots)."""
    total = np.zeros((observations.n_groups, n_slots))
    for family, x, observed in contexts_of(observations):
        stats = sum_by_label(family.statistics(x), state.cluster_of_group[observed], n_slots)
        parameters = family.sample_parameters(stats, state.rng)
        total[observed] += family.log_likelihood(x, parameters)
    return total


def contexts_of(observations):
    """Yield the family, the observations and the mask of observed groups of every context."""
    dense, bags, first = observations.dense, observations.bags, 0
    for c, family in enumerate(observations.dense_families):
        columns = dense.values[:, dense.value_start[c] : dense.value_start[c + 1]]
        observed = dense.observed[:, c]
        yield family, undo_centring(family, columns[observed]), observed
    for c, family in enumerate(observations.bag_families):
        counts = np.zeros((observations.n_groups, family.n_stats), int)
        for j in range(observations.n_groups):
            entries = slice(bags.start[c, j], bags.start[c, j + 1])
            np.add.at(counts[j], bags.category[entries] - first, bags.count[entries])
        first += family.n_stats
        observed = counts.any(axis=1)
        x = counts if family.name == "bag" else counts.argmax(axis=1)
        yield family, x[observed], observed


def undo_centring(family, values):
    """Return values before centring, as a 1-D array unless the family takes vectors."""
    origin = getattr(family, "origin", None)
    values = values + (0.0 if origin is None else np.asarray(origin))
    return values if family.name == "multivariate_gaussian" else values[:, 0]

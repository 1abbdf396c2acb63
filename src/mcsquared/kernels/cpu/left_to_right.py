"""Estimates of the probability of whole groups for finite λ, given the globals.

    p(w_j)  =  Σ_k π_k p(w_j | z_j = k)

A few clusters are drawn from a proposal. In each, tokens are added one after another in a random
order (Wallach, Murray, Salakhutdinov and Mimno, "Evaluation methods for topic models", 2009). A
particle is an assignment of topics to the tokens added so far. Given it, the next token has the
probability

    p(w_n | l_<n, k)  =  Σ_m (n_m + λτ_km) ψ_m(w_n) / (n − 1 + λ).

Before the next token, topics of earlier tokens are resampled by moves that leave p(l_<n | w_<n, k)
invariant, as in Buntine, "Estimating likelihoods for topic models" (2009). With independent
particles, the product over tokens of the mean over particles would be biased. Here particles are
weighted and resampled, which makes the estimate of p(w_j | k) unbiased for any number of particles
and moves (Del Moral, "Feynman-Kac formulae", 2004). The weight of a cluster is its share of the
particles divided by the expected share, so that the estimate of p(w_j) is unbiased as well.
"""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.group_state import draw_in_logs, draw_product, log_sum
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.rng import uniform

# Every step has its own counter, so that no two draws share a random number.
ORDER, ALLOCATION, TOPICS, RESAMPLING, MOVES = range(5)


@njit(cache=True, error_model="numpy")
def shuffle(rows, order, seed, key):
    """Write a random permutation of ``rows`` to ``order``."""
    for i in range(rows.size):
        other = int(uniform(seed, key, 0, ORDER, i, 0) * (i + 1))
        order[i] = order[other]
        order[other] = rows[i]


@njit(cache=True, error_model="numpy")
def allocate(log_probability, n, n_copies, u, copies):
    """Allocate ``n_copies`` to the first n items in proportion to exp(log_probability).

    Systematic sampling with the random number ``u``: each of the ``copies``, int64, is its
    expectation, rounded up or down.
    """
    total, allocated, largest = 0.0, 0, 0
    for i in range(n):
        total += math.exp(log_probability[i])
        end = min(n_copies, max(allocated, math.ceil(total * n_copies - u)))
        copies[i] = end - allocated
        allocated = end
        if log_probability[i] > log_probability[largest]:
            largest = i
    copies[largest] += n_copies - allocated  # copies lost by rounding


@njit(cache=True, error_model="numpy")
def resample_topics(topic, counts, weights, rows, first, n_added, n_moves, k, model, work, counter):
    """Resample the topics of ``n_moves`` tokens of a particle, cyclically from ``first`` on.

    ``model`` is a `ClusterBases` and a `TokenLikelihoods`, ``work`` two rows of scratch, and
    ``counter`` is (seed, group key, number of the last token added, number of the particle).
    """
    (clusters, tokens), (logs, sums) = model, work
    base = clusters.base[k]
    for move in range(n_moves):
        i = (first + move) % n_added
        m = topic[i]
        counts[m] -= 1.0
        weights[m] = counts[m] + base[m]
        u = uniform(counter[0], counter[1], counter[2], MOVES, counter[3], move)
        m, total = draw_product(weights, tokens.likelihood[rows[i]], sums, u)
        if total == 0.0:
            log_base, log_row = clusters.log_base[k], tokens.log_likelihood[rows[i]]
            m, _ = draw_in_logs(counts, weights, log_base, log_row, logs, u)
        topic[i] = m
        counts[m] += 1.0
        weights[m] = counts[m] + base[m]


@njit(cache=True, error_model="numpy")
def resample(log_weight, n, particles, n_added, copies, u):
    """Resample the particles in proportion to their weights, if these are too unequal."""
    squares = 0.0
    for r in range(n):
        squares += math.exp(2.0 * log_weight[r])
    if squares * n < 2.0:  # the effective sample size exceeds n / 2
        return
    topic, counts, weights = particles
    allocate(log_weight, n, n, u, copies)
    donor = 0
    for r in range(n):
        if copies[r] > 0:
            continue
        while donor < n - 1 and copies[donor] < 2:
            donor += 1
        copies[donor] -= 1
        topic[r, :n_added] = topic[donor, :n_added]
        counts[r] = counts[donor]
        weights[r] = weights[donor]
    log_weight[:n] = -math.log(n)


@njit(cache=True, error_model="numpy")
def log_given_cluster(rows, k, n, n_moves, lam, model, particles, log_weight, copies, work, key):
    """Estimate log p(w_j | z_j = k) with ``n`` particles; ``key`` is (seed, group key)."""
    (clusters, tokens), (logs, sums) = model, work
    topic, counts, weights = particles
    counts[:n] = 0.0
    weights[:n] = clusters.base[k]
    log_weight[:n] = -math.log(n)
    log_total, cursor = 0.0, 0
    first_particle = k * log_weight.size  # no two clusters share random numbers
    for i in range(rows.size):
        likelihood, log_row = tokens.likelihood[rows[i]], tokens.log_likelihood[rows[i]]
        for r in range(n):
            u = uniform(key[0], key[1], i, TOPICS, first_particle + r, 0)
            m, total = draw_product(weights[r], likelihood, sums, u)
            if total > 0.0:
                log_weight[r] += math.log(total / (lam + i))
            else:
                log_base = clusters.log_base[k]
                m, log_token = draw_in_logs(counts[r], weights[r], log_base, log_row, logs, u)
                log_weight[r] += log_token - math.log(lam + i)
            topic[r, i] = m
            counts[r, m] += 1.0
            weights[r, m] = counts[r, m] + clusters.base[k, m]
        increment = log_sum(log_weight, n)
        log_total += increment
        log_weight[:n] -= increment
        if increment == -math.inf or i + 1 == rows.size:
            break
        u = uniform(key[0], key[1], i, RESAMPLING, first_particle, 0)
        resample(log_weight, n, particles, i + 1, copies, u)
        moves = min(n_moves, i + 1)
        for r in range(n):
            resample_topics(
                topic[r], counts[r], weights[r], rows, cursor, i + 1, moves, k, model, work,
                (key[0], key[1], i, first_particle + r),
            )  # fmt: skip
        cursor = (cursor + moves) % (i + 1)
    return log_total


@njit(cache=True, nogil=True, error_model="numpy")
def left_to_right(groups, tokens, clusters, lam, n_particles, n_moves, log_probability):
    """Estimate log p(w_j) of every group.

    Parameters
    ----------
    groups : PredictedGroups
        ``log_prior`` is normalised. Particles are allocated to clusters by ``log_proposal``, which
        should be close to log p(z_j = k | w_j) and must be finite where the prior is.
    tokens : TokenLikelihoods
    clusters : ClusterBases
    lam : float
    n_particles : int
        Total over all clusters.
    n_moves : int
        Number of earlier tokens, in turn, whose topics are resampled before a token is added.
    log_probability : float64 (n_groups,)
        Output, relative to the largest likelihood of each token, like `TokenLikelihoods`.
    """
    group_start, row_of_token, log_prior, log_proposal, key_of_group, seed = groups
    n_clusters, n_slots = clusters.base.shape
    longest = np.diff(group_start).max() if group_start.size > 1 else 0
    particles = (
        np.empty((n_particles, longest), np.int32),
        np.empty((n_particles, n_slots)),
        np.empty((n_particles, n_slots)),
    )
    work = (np.empty(n_slots), np.empty(n_slots + N_LANES))
    log_weight, copies = np.empty(n_particles), np.empty(n_particles, np.int64)
    order = np.empty(longest, np.int32)
    n_of_cluster, terms = np.empty(n_clusters, np.int64), np.empty(n_clusters)
    for j in range(group_start.size - 1):
        key = key_of_group[j]
        rows = order[: group_start[j + 1] - group_start[j]]
        if rows.size == 0:
            log_probability[j] = 0.0
            continue
        shuffle(row_of_token[group_start[j] : group_start[j + 1]], rows, seed, key)
        u = uniform(seed, key, 0, ALLOCATION, 0, 0)
        allocate(log_proposal[j], n_clusters, n_particles, u, n_of_cluster)
        n_terms = 0
        for k in range(n_clusters):
            if n_of_cluster[k] > 0:
                weight = math.log(n_of_cluster[k] / n_particles) - log_proposal[j, k]
                terms[n_terms] = log_prior[j, k] + weight + log_given_cluster(
                    rows, k, n_of_cluster[k], n_moves, lam, (clusters, tokens), particles,
                    log_weight, copies, work, (seed, key),
                )  # fmt: skip
                n_terms += 1
        log_probability[j] = log_sum(terms, n_terms)

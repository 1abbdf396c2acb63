"""The exact posterior of a tiny corpus with levels above groups.

Given the types of units, the labels one level below come from a Chinese restaurant franchise. With
C_tk children of type k in units of type t, q_tk tables, o_k children without a parent,
u_k = Σ_t q_tk + o_k and u = Σ_k u_k,

    p(labels below | types)  =  Π_t Γ(v) / Γ(v + C_t)  ·  Σ_q Π_tk s(C_tk, q_tk) v^{q_tk}
                                · α^K Γ(α) Π_k Γ(u_k) / Γ(α + u)

where α belongs to the level below. The types of the highest level are a Chinese restaurant.
"""

from collections import defaultdict
from itertools import product
from math import inf

import numpy as np
from scipy.special import gammaln

from tests.statistics.agreement import Visits, counted, distance, view_of_counts, view_of_labels
from tests.statistics.tiny import (
    Posterior,
    blocks,
    canonical,
    learned_marginal,
    nodes,
    partitions,
    product_of,
    stirling,
)
from tests.statistics.varying import VaryingPosterior


class ContextsOnly(Posterior):
    """Content, and contexts given clusters, without the prior of clusters."""

    def clusters(self, clusters):
        groups = blocks(clusters)
        return float(np.prod([marginal(groups) for marginal in self.contexts]))


class VaryingContextsOnly(VaryingPosterior, ContextsOnly):
    """The same at λ finite."""


def probability_of_children(types, parents, labels, v, alpha):
    """p(labels of children | types of their parents); parent -1: none."""
    n_rows, n_labels = max(types, default=-1) + 1, max(labels) + 1
    children = np.zeros((n_rows + 1, n_labels), int)
    for parent, label in zip(parents, labels, strict=True):
        children[types[parent] if parent >= 0 else n_rows, label] += 1
    ways = np.ones(1)
    for column in children.T:
        label_ways = np.ones(1)
        for n in column[:-1]:
            label_ways = np.convolve(label_ways, stirling(int(n)))
        seated = np.arange(len(label_ways)) + column[-1]
        label_ways = np.where(seated > 0, label_ways * np.exp(gammaln(np.maximum(seated, 1))), 0.0)
        ways = np.convolve(ways, label_ways)
    tables = np.arange(len(ways))
    (value_v, chance_v), (value_a, chance_a) = v, alpha
    in_rows = sum(
        (gammaln(value_v) - gammaln(value_v + n) for n in children[:-1].sum(axis=1)),
        np.zeros(len(value_v)),
    )
    at_v = chance_v @ (np.exp(in_rows)[:, None] * value_v[:, None] ** tables)
    u = tables + children[-1].sum()
    a = value_a[:, None]
    at_root = chance_a @ np.exp(n_labels * np.log(a) + gammaln(a) - gammaln(a + u))
    # Different numbers of tables have factors of their own, so both averages belong inside the sum.
    return float((ways * at_v * at_root).sum())


def restaurant(types, alpha):
    """p(types) of the highest level."""
    return probability_of_children((), [-1] * len(types), types, (np.ones(1), np.ones(1)), alpha)


def unit_marginals(tiny, level):
    """The marginal likelihoods of a level's contexts, as functions of a partition."""
    found = []
    for name, family in tiny.priors.levels[level.name].contexts.items():
        column = level.contexts[name].convert_for(family)
        rows = np.zeros((level.n_units, family.n_stats))
        rows[column.observed] = family.statistics(column.observations())
        if getattr(family, "is_learned", False):
            found.append(learned_marginal(family, rows.astype(int)))
        else:
            found.append(product_of(Posterior._marginals(family, rows)))
    return found


class TreePosterior:
    """The exact posterior: ``states`` is {((z, types of each level), columns): probability}.

    ``total`` is p(x), with the density of α of the clusters multiplied by ``factor(α)``.
    """

    def __init__(self, tiny, factor=np.ones_like):
        groups = (ContextsOnly if tiny.priors.lam == inf else VaryingContextsOnly)(tiny)
        self.columns = groups.columns
        levels, priors = tiny.corpus.levels, list(tiny.priors.levels.values())
        value, chance = nodes(tiny.priors.alpha)
        alphas = [(value, chance * factor(value)), *(nodes(prior.alpha) for prior in priors)]
        v = [nodes(prior.v) for prior in priors]
        marginals = [unit_marginals(tiny, level) for level in levels]
        by_clusters = defaultdict(list)
        for (clusters, columns), chance in groups.states.items():
            by_clusters[clusters].append((columns, chance))
        states = {}
        for types in product(*(partitions(level.n_units) for level in levels)):
            units_probability = restaurant(types[-1], alphas[-1])
            for labels, functions in zip(types, marginals, strict=True):
                units_probability *= np.prod([marginal(blocks(labels)) for marginal in functions])
            for i in range(1, len(levels)):
                parents = levels[i].parent_of_child
                units_probability *= probability_of_children(
                    types[i], parents, types[i - 1], v[i], alphas[i]
                )
            for clusters, found in by_clusters.items():
                parents = levels[0].parent_of_child
                prior = units_probability * probability_of_children(
                    types[0], parents, clusters, v[0], alphas[0]
                )
                for columns, chance in found:
                    states[(clusters, *types), columns] = prior * chance
        self.total = sum(states.values())
        self.states = {state: weight / self.total for state, weight in states.items()}


def run_tree(tiny, n_sweeps, seed, sampler, burn_in=100):
    """Sweep a tiny corpus with levels and note the state after every sweep."""
    exact, observations = TreePosterior(tiny), tiny.observations
    state = sampler.start(observations, tiny.priors, seed, 0, "random", 2, 2)
    has_topics = len(state.topic_of_token) == observations.n_tokens
    view = view_of_labels if has_topics else view_of_counts
    table = dict(exact.states) if has_topics else counted(exact.states)
    numbers, number_in_sweep = {}, np.empty(n_sweeps, int)
    for t in range(-burn_in, n_sweeps):
        sampler.sweep(state, observations, tiny.priors, seed, 0)
        if t >= 0:
            clusters, topics = view(exact, state)
            types = (canonical(level.type_of_unit.tolist()) for level in state.levels)
            number_in_sweep[t] = numbers.setdefault(((clusters, *types), topics), len(numbers))
    return Visits(list(numbers), number_in_sweep, table)


def types_and_clusters(state):
    return state[0]


def types(state):
    return state[0][1:]


def everything(state):
    return state


def numbers(state):
    """The numbers of clusters, of types of every level and of topics."""
    return (*(max(labels) + 1 for labels in state[0]), len(state[1]))


def compare_tree(tiny, n_sweeps, seed, sampler):
    """Run a chain and return its distances from the exact posterior by what is looked at."""
    visits = run_tree(tiny, n_sweeps, seed, sampler)
    summaries = (types_and_clusters, types, everything, numbers)
    return {summary.__name__: distance(visits, summary) for summary in summaries}

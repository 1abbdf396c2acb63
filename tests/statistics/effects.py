"""The exact posterior of a tiny corpus whose contexts act on topics.

A group's tables come from its sources: its cluster and the values of its effects. With d_jms tables
of topic m in group j from source s, o_jm = Σ_s d_jms, and the sources of all groups as restaurants,

    p(l | z)  =  Π_j Γ(λ) / Γ(λ + N_j)  ·  Σ_d Π_jm s(n_jm, o_jm) λ^{o_jm} o_jm! / Π_s d_jms!
                 · E_ω Π_jms w_js^{d_jms}
                 · Π_s Γ(v) / Γ(v + O_s)  ·  Σ_q Π_sm s(O_sm, q_sm) v^{q_sm}
                 · η^M Γ(η) Π_m Γ(u_m) / Γ(η + u)

with w_js = ω_s share_js / W_j, W_j the sum of ω over the sources that the group has, O_sm =
Σ_j d_jms and u_m = Σ_s q_sm. Every effect has a v of its own, from the same prior.
"""

from collections import defaultdict
from functools import cache
from itertools import pairwise, product
from math import factorial

import numpy as np
from scipy.special import roots_legendre

from tests.statistics.tiny import blocks, partitions, stirling
from tests.statistics.varying import VaryingPosterior

N_NODES = 30


def nodes_of_weights(n_effects):
    """Values of ω ~ Dir(1, ..., 1), and their probabilities: a quadrature, by breaking sticks."""
    x, chance = roots_legendre(N_NODES)
    x, chance = (x + 1) / 2, chance / 2
    value, weight = np.ones((1, 1)), np.ones(1)
    for c in range(n_effects):
        rest = n_effects - c
        density = rest * (1 - x) ** (rest - 1)  # of the share b ~ Beta(1, rest) of the stick
        left = value[:, None, -1:]
        parts = [
            np.broadcast_to(value[:, None, :-1], (len(value), N_NODES, c)),
            left * x[None, :, None],
            left * (1 - x)[None, :, None],
        ]
        value = np.concatenate(parts, axis=2).reshape(-1, c + 2)
        weight = (weight[:, None] * (chance * density)).ravel()
    return value, weight


def add(one, other):
    """The sums of two tuples of numbers."""
    return tuple(map(sum, zip(one, other, strict=True)))


class EffectsPosterior(VaryingPosterior):
    """The exact posterior with effects: ``states`` is {(z, columns): probability}.

    Restaurants are the clusters, then the values of all effects. Exponents are the numbers of
    tables by set of sources and kind of source: those of ω.
    """

    def __init__(self, tiny):
        priors = tiny.priors
        columns = {name: tiny.corpus.contexts[name] for name in priors.effects}
        columns |= priors.columns(tiny.corpus)
        self.kind_of_value, shares = [], []
        for number, (name, effect) in enumerate(priors.effects.items()):
            self.kind_of_value += [number + 1] * effect.n_values
            shares.append(effect.shares(columns[name]).toarray())
        self.shares = np.hstack(shares)
        kinds = [{0} | {self.kind_of_value[s] for s in np.flatnonzero(row)} for row in self.shares]
        self.kinds_of_group = [frozenset(found) for found in kinds]
        self.kinds = range(len(priors.effects) + 1)
        self.exponents = list(product(sorted(set(self.kinds_of_group), key=sorted), self.kinds))
        self.weights, self.chance_of_weights = nodes_of_weights(len(priors.effects))
        self.weight_factor = cache(self._weight_factor)
        self.seatings = cache(self._seatings)
        super().__init__(tiny)

    def _seatings(self, clusters, j, n):
        """Ways to seat n tokens of a topic in group j: {(tables, exponents): number}."""
        n_clusters, found = max(clusters) + 1, defaultdict(float)
        sources = [(0, clusters[j], 1.0)]
        sources += [
            (self.kind_of_value[s], n_clusters + s, self.shares[j, s])
            for s in np.flatnonzero(self.shares[j])
        ]
        for divided in product(range(n + 1), repeat=len(sources)):
            o = sum(divided)
            ways = stirling(n)[o] * factorial(o) if o <= n else 0.0
            tables, exponents = (
                [0] * (n_clusters + len(self.kind_of_value)),
                [0] * len(self.exponents),
            )
            for d, (kind, row, share) in zip(divided, sources, strict=True):
                ways *= share**d / factorial(d)
                tables[row] += d
                exponents[self.exponents.index((self.kinds_of_group[j], kind))] += d
            if ways:
                found[tuple(tables), tuple(exponents)] += ways
        return dict(found)

    def _ways(self, clusters, column):
        """Ways to seat the tokens of one topic: {(tables, exponents, u by kind): number}."""
        n_clusters, together = max(clusters) + 1, None
        for j, n in enumerate(column):
            seatings = self.seatings(clusters, j, int(n))
            together = seatings if together is None else joined(together, seatings)
        kind_of_row = np.array([0] * n_clusters + self.kind_of_value)
        found = defaultdict(float)
        for (tables, exponents), count in together.items():
            above = [np.ones(1) for _ in self.kinds]
            for kind, n in zip(kind_of_row, tables, strict=True):
                above[kind] = np.convolve(above[kind], stirling(n))
            for u in product(*(range(len(ways)) for ways in above)):
                ways = np.prod([ways[n] for ways, n in zip(above, u, strict=True)])
                if ways:
                    found[tables, exponents, u] += count * ways * factorial(max(sum(u) - 1, 0))
        return dict(found)

    def _of_table(self, clusters, table):
        lengths = tuple(np.sum(table, axis=0).astype(int).tolist()) if table else ()
        kind_of_row = [0] * (max(clusters) + 1) + self.kind_of_value
        ways = {((0,) * len(kind_of_row), (0,) * len(self.exponents), (0,) * len(self.kinds)): 1.0}
        for column in table:
            ways = joined(ways, self.ways(clusters, column))
        total = 0.0
        for (tables, exponents, u), count in ways.items():
            count *= self.lam_factor(lengths, sum(tables)) * self.eta_factor(len(table), sum(u))
            count *= self.weight_factor(exponents)
            for kind in self.kinds:
                rows = [n for n, other in zip(tables, kind_of_row, strict=True) if other == kind]
                count *= self.v_factor(tuple(sorted(rows)), u[kind])
            total += count
        return total

    def _weight_factor(self, exponents):
        """E Π (ω_s / W)^d over the distribution of ω."""
        value = np.ones(len(self.weights))
        for (has, kind), d in zip(self.exponents, exponents, strict=True):
            total = self.weights[:, sorted(has)].sum(axis=1)
            value = value * (self.weights[:, kind] / total) ** d
        return float(self.chance_of_weights @ value)


class MomentsOfWeights(EffectsPosterior):
    """Exact posterior means of ω_s, ω_s², the tables of every kind of source, and ω_s × tables.

    ``means`` has one value per name of ``names``; weights of states are vectors with one entry per
    name, the first of which is that of the state itself.
    """

    def __init__(self, tiny):
        kinds = range(len(tiny.priors.effects) + 1)
        self.names = [
            f"{what} {s}" for s in kinds for what in ("ω", "ω²", "tables", "ω × tables")
        ] + ["all tables squared"]
        super().__init__(tiny)

    def _weight_factor(self, exponents):
        """E f(ω, tables) Π (ω_s / W)^d, for every f."""
        value = np.ones(len(self.weights))
        tables = np.zeros(len(self.kinds))
        for (has, kind), d in zip(self.exponents, exponents, strict=True):
            value *= (self.weights[:, kind] / self.weights[:, sorted(has)].sum(axis=1)) ** d
            tables[kind] += d
        rows = [np.ones_like(value)]
        for w, n in zip(self.weights.T, tables, strict=True):
            rows += [w, w**2, np.full_like(w, n), w * n]
        rows.append(np.full_like(value, tables.sum() ** 2))
        return np.array(rows) @ (self.chance_of_weights * value)

    def _enumerate(self):
        total = 0.0
        for clusters in partitions(self.n_groups):
            prior = self.clusters(clusters)
            for topics in partitions(self.n_tokens):
                tokens = blocks(topics)
                content = np.prod([self.content(block) for block in tokens])
                total = total + prior * content * self.topics(clusters, tokens)
        self.means = total[1:] / total[0]
        return {}


def moments(state, effect_offsets):
    """Return the figures of `MomentsOfWeights.names` in one state of a chain."""
    value_tables = state.effects.tables.sum(axis=1)
    tables = [int(state.tables.sum())]
    tables += [int(value_tables[first:last].sum()) for first, last in pairwise(effect_offsets)]
    found = []
    for w, n in zip(state.effects.weights, tables, strict=True):
        found += [w, w**2, n, w * n]
    return [*found, sum(tables) ** 2]


def joined(ways, others):
    """The ways to do both, by the sums of their keys."""
    found = defaultdict(float)
    for key, count in ways.items():
        for other, more in others.items():
            found[tuple(map(add, key, other))] += count * more
    return dict(found)

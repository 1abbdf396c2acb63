"""The exact posterior of a tiny corpus whose groups vary inside their cluster: λ finite.

Two levels of tables are summed out, beside the root's weights: o_jm tables of topic m in group j,
each of them a customer of the group's cluster, and q_km tables in cluster k, each a customer of the
root:

    p(l | z)  =  Π_j Γ(λ) / Γ(λ + N_j)  ·  Σ_o Π_jm s(n_jm, o_jm) λ^{o_jm}
                 · Π_k Γ(v) / Γ(v + O_k)  ·  Σ_q Π_km s(O_km, q_km) v^{q_km}
                 · η^M Γ(η) Π_m Γ(u_m) / Γ(η + u)

with O_km = Σ_{j in k} o_jm, O_k = Σ_m O_km, u_m = Σ_k q_km and u = Σ_m u_m. Given (O_1, ..., O_K)
and u the sums do not depend on λ, v and η, and each of these has a factor of its own.
"""

from collections import defaultdict
from functools import cache
from itertools import product
from math import inf

import numpy as np
from scipy.special import gammaln

from tests.statistics.tiny import Posterior, blocks, columns_of, nodes, stirling


def exact_posterior(tiny):
    """The posterior of a tiny corpus under its own λ and effects."""
    if tiny.priors.effects:
        from tests.statistics.effects import EffectsPosterior

        return EffectsPosterior(tiny)
    return Posterior(tiny) if tiny.priors.lam == inf else VaryingPosterior(tiny)


@cache
def ways_in_clusters(occupied):
    """Σ over q_km of Π_k s(O_km, q_km), times Γ(u_m), by u_m: a list."""
    ways = np.ones(1)
    for tables in occupied:
        ways = np.convolve(ways, stirling(tables))
    ways[1:] *= np.exp(gammaln(np.arange(1, len(ways))))
    return ways


class VaryingPosterior(Posterior):
    """The exact posterior at λ finite: ``states`` is {(z, columns): probability}.

    Tokens are exchangeable inside a group, so that columns count per (group, word, topic).
    """

    def __init__(self, tiny):
        self.lam = nodes(tiny.priors.lam)
        self.ways = cache(self._ways)
        self.lam_factor = cache(self._lam_factor)
        self.v_factor = cache(self._v_factor)
        self.eta_factor = cache(self._eta_factor)
        self.of_table = cache(self._of_table)
        super().__init__(tiny)

    def columns(self, clusters, topics):
        groups = range(self.n_groups)
        return columns_of(groups, topics, self.group_of_token, self.word_of_token)

    def topics(self, clusters, tokens):
        table = tuple(sorted(self.counts(range(self.n_groups), block) for block in tokens))
        return self.of_table(clusters, table)

    def _of_table(self, clusters, table):
        """p(l | z) for tokens per topic (first level) and group (second level)."""
        lengths = tuple(np.sum(table, axis=0).astype(int).tolist()) if table else ()
        ways = {((0,) * (max(clusters) + 1), 0): 1.0}
        for column in table:
            together = defaultdict(float)
            for (tables, u), count in ways.items():
                for (more, u_of_topic), count_of_topic in self.ways(clusters, column).items():
                    sums = tuple(map(sum, zip(tables, more, strict=True)))
                    together[sums, u + u_of_topic] += count * count_of_topic
            ways = together
        return sum(
            count
            * self.lam_factor(lengths, sum(tables))
            * self.v_factor(tuple(sorted(tables)), u)
            * self.eta_factor(len(table), u)
            for (tables, u), count in ways.items()
        )

    def _ways(self, clusters, column):
        """Ways to seat the tokens of one topic, by its tables per cluster and at the root."""
        seatings = []
        for groups in blocks(clusters):
            ways = np.ones(1)
            for j in groups:
                ways = np.convolve(ways, stirling(column[j]))
            seatings.append(ways)
        found = {}
        for tables in product(*(range(len(ways)) for ways in seatings)):
            count = np.prod([ways[n] for ways, n in zip(seatings, tables, strict=True)])
            if count:
                above = ways_in_clusters(tuple(sorted(tables)))
                found |= {(tables, u): count * more for u, more in enumerate(above) if more}
        return found

    def _lam_factor(self, lengths, tables):
        value, chance = self.lam
        log_ratio = sum(gammaln(value) - gammaln(value + n) for n in lengths)
        return chance @ np.exp(tables * np.log(value) + log_ratio)

    def _v_factor(self, customers, u):
        value, chance = self.v
        log_ratio = sum(gammaln(value) - gammaln(value + n) for n in customers)
        return chance @ np.exp(u * np.log(value) + log_ratio)

    def _eta_factor(self, n_topics, u):
        value, chance = self.eta
        return chance @ np.exp(n_topics * np.log(value) + gammaln(value) - gammaln(value + u))

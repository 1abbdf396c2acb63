"""Corpora small enough that the posterior over all labels is a table, and that table.

All partitions of the groups and of the tokens are listed. The root's weights ε are summed out:

    p(l | z)  =  Π_k Γ(v) / Γ(v + c_k)
                 · Σ_q  Π_km s(c_km, q_km) v^{q_km}  ·  η^M Γ(η) Π_m Γ(u_m) / Γ(η + u)

with u_m = Σ_k q_km and u = Σ_m u_m. Given u the sum does not depend on v and η, so a table of
counts needs one list of coefficients for all concentrations.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np
from scipy.special import betaln, gammaln, roots_genlaguerre

from mcsquared.corpus import Corpus, Words
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors, vector_observations
from mcsquared.observations import observe
from mcsquared.samplers.steps.context_priors import MAX_G, MIN_G
from mcsquared.state import Bounds

N_NODES = 24  # of the quadrature over a concentration that has a prior


@dataclass(frozen=True)
class Tiny:
    """A corpus with its priors; ``bounds`` restrict the labels."""

    corpus: Corpus
    priors: Priors
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def observations(self):
        return observe(self.corpus, self.priors)


def partitions(n):
    """All partitions of n things, as labels numbered by first appearance."""
    labels = [()]
    for _ in range(n):
        labels = [(*old, new) for old in labels for new in range(max(old, default=-1) + 2)]
    return labels


def canonical(labels):
    """Labels renumbered by first appearance."""
    names = {}
    return tuple(names.setdefault(label, len(names)) for label in labels)


def columns_of(rows, topics, group_of_token, word_of_token):
    """The table of counts per (row, word, topic), topics in an order that has no names.

    The row of a group's tokens is its cluster, or the group itself.
    """
    columns = defaultdict(lambda: defaultdict(int))
    for i, m in enumerate(topics):
        columns[m][rows[group_of_token[i]], word_of_token[i]] += 1
    return tuple(sorted(tuple(sorted(column.items())) for column in columns.values()))


@cache
def stirling(n):
    """Unsigned Stirling numbers of the first kind, s(n, 0..n)."""
    row = np.ones(1)
    for i in range(n):
        row = np.append(0.0, row) + i * np.append(row, 0.0)
    return row


def nodes(prior):
    """Values of a concentration and their probabilities: one, or those of a quadrature."""
    if not isinstance(prior, Gamma):
        return np.array([float(prior)]), np.ones(1)
    x, weights = roots_genlaguerre(N_NODES, prior.shape - 1)
    return x / prior.rate, weights / weights.sum()


def nodes_of_g(prior):
    """Values of the concentration of a learned context, and their probabilities."""
    if isinstance(prior, Gamma):
        return nodes(prior)
    value = np.exp(np.linspace(np.log(MIN_G), np.log(MAX_G), 4001))
    chance = np.ones(len(value))
    chance[[0, -1]] = 0.5
    return value, chance / chance.sum()


def learned_marginal(family, rows):
    """Return the marginal likelihood of a partition, base measure and concentration summed out.

    With t_kv tables of category v in cluster k, t_v = Σ_k t_kv and T = Σ_v t_v,

        p(x | z)  =  Σ_t Π_kv s(n_kv, t_kv) · E[g^T Π_k Γ(g) / Γ(g + n_k)]
                     · Γ(V) / Γ(V + T) · Π_v Γ(1 + t_v)
    """
    value, chance = nodes_of_g(family.concentration)
    size = family.n_stats

    @cache
    def of_counts(table):
        ways = np.ones(1)
        for category in np.array(table).T:
            numbers = np.ones(1)
            for n in category:
                numbers = np.convolve(numbers, stirling(int(n)))
            ways = np.convolve(ways, numbers * np.exp(gammaln(1.0 + np.arange(len(numbers)))))
        log_seatings = sum(gammaln(value) - gammaln(value + sum(row)) for row in table)
        total = 0.0
        for n_tables, count in enumerate(ways):
            base_probability = np.exp(gammaln(size) - gammaln(size + n_tables))
            total += (
                count
                * base_probability
                * (chance @ np.exp(n_tables * np.log(value) + log_seatings))
            )
        return total

    def marginal(groups):
        return of_counts(tuple(tuple(rows[list(block)].sum(axis=0).tolist()) for block in groups))

    return marginal


def background_marginal(family, rows):
    """Return the marginal likelihood of a partition, summed over the values of the background.

    Σ_h B(1 + n_1, 1 + n_0) Π_k m(values of cluster k) m(values of the background)
    """
    observed = np.flatnonzero(rows.any(axis=1))

    @cache
    def marginal(groups):
        return float(np.exp(family.log_marginal(rows[list(groups)].sum(axis=0))))

    def of_partition(groups):
        total = 0.0
        for chosen in product((False, True), repeat=len(observed)):
            outliers = {int(j) for j, out in zip(observed, chosen, strict=True) if out}
            weight = np.exp(betaln(1 + len(observed) - len(outliers), 1 + len(outliers)))
            for block in groups:
                weight *= marginal(tuple(j for j in block if j not in outliers))
            total += weight * marginal(tuple(sorted(outliers)))
        return total

    return cache(lambda groups: of_partition(groups))


def product_of(marginal):
    """Return the marginal likelihood of a partition, given that of a set."""
    return lambda groups: np.prod([marginal(block) for block in groups])


class Posterior:
    """The exact posterior of a tiny corpus: ``states`` is {(z, columns): probability}.

    Tokens of a cluster are exchangeable: λ = ∞. `tests.statistics.varying` has the rest.
    """

    def __init__(self, tiny):
        self.tiny = tiny
        observations = tiny.observations
        self.n_groups, self.n_tokens = observations.n_groups, observations.n_tokens
        self.group_of_token = np.repeat(np.arange(self.n_groups), np.diff(observations.group_start))
        words = isinstance(tiny.corpus.content, Words)
        # Continuous tokens are all different: each is a word of its own.
        self.word_of_token = observations.word if words else np.arange(self.n_tokens)
        family = tiny.priors.content
        x = observations.word if words else vector_observations(tiny.corpus, family)
        self.content = self._marginals(family, family.statistics(x))
        self.contexts = []
        for name, column in tiny.priors.columns(tiny.corpus).items():
            family = tiny.priors.contexts[name]
            rows = np.zeros((self.n_groups, family.n_stats))
            rows[column.observed] = family.statistics(column.observations())
            if getattr(family, "is_learned", False):
                self.contexts.append(learned_marginal(family, rows.astype(int)))
            elif getattr(family, "background", False):
                of_partition = background_marginal(family, rows)
                self.contexts.append(lambda groups, f=of_partition: f(tuple(groups)))
            else:
                self.contexts.append(product_of(self._marginals(family, rows)))
        self.alpha, self.v, self.eta = (
            nodes(getattr(tiny.priors, name)) for name in ("alpha", "v", "eta")
        )
        self.topics_given_clusters = cache(self._topics_given_clusters)
        self.states = self._enumerate()

    @staticmethod
    def _marginals(family, rows):
        """Return the marginal likelihood of a set of rows as a function of the set."""

        @cache
        def marginal(groups):
            return float(np.exp(family.log_marginal(rows[list(groups)].sum(axis=0))))

        return marginal

    def _enumerate(self):
        bounds, states = self.tiny.bounds, defaultdict(float)
        all_topics = [
            (topics, blocks(topics))
            for topics in partitions(self.n_tokens)
            if bounds.topics is None or max(topics, default=-1) < bounds.topics
        ]
        content = [np.prod([self.content(block) for block in tokens]) for _, tokens in all_topics]
        for clusters in partitions(self.n_groups):
            if bounds.clusters is not None and max(clusters) >= bounds.clusters:
                continue
            prior = self.clusters(clusters)
            for (topics, tokens), likelihood in zip(all_topics, content, strict=True):
                weight = prior * likelihood * self.topics(clusters, tokens)
                states[clusters, self.columns(clusters, topics)] += weight
        total = sum(states.values())
        return {state: weight / total for state, weight in states.items()}

    def columns(self, clusters, topics):
        """What is left of the labels of the tokens when exchangeable ones lose their names."""
        return columns_of(clusters, topics, self.group_of_token, self.word_of_token)

    def topics(self, clusters, tokens):
        """p(l | z) for the tokens of every topic."""
        table = tuple(sorted(self.counts(clusters, block) for block in tokens))
        return self.topics_given_clusters(table)

    def counts(self, rows, block):
        """Tokens of one topic in each row."""
        counts = [0] * (max(rows) + 1)
        for i in block:
            counts[rows[self.group_of_token[i]]] += 1
        return tuple(counts)

    def clusters(self, clusters):
        """The prior of a partition of the groups, times the likelihood of the contexts."""
        groups = blocks(clusters)
        sizes = np.array([len(block) for block in groups])
        value, chance = self.alpha
        log_prior = len(sizes) * np.log(value) + gammaln(value) - gammaln(value + self.n_groups)
        result = (chance * np.exp(log_prior)).sum() * np.exp(gammaln(sizes).sum())
        for marginal in self.contexts:
            result *= marginal(groups)
        return result

    def _topics_given_clusters(self, table):
        """p(l | z) for tokens per topic (first level) and cluster (second level)."""
        coefficients = np.ones(1)
        for column in table:
            ways = np.ones(1)
            for n in column:
                ways = np.convolve(ways, stirling(n))
            ways[1:] *= np.exp(gammaln(np.arange(1, len(ways))))
            coefficients = np.convolve(coefficients, ways)
        u = np.arange(len(coefficients))
        (v, chance_v), (eta, chance_eta) = self.v, self.eta
        in_clusters = np.zeros_like(v)
        for n in np.sum(table, axis=0).astype(int) if table else []:
            in_clusters += gammaln(v) - gammaln(v + n)
        at_v = np.exp(in_clusters)[:, None] * v[:, None] ** u
        root = np.exp(len(table) * np.log(eta) + gammaln(eta) - gammaln(eta + u[:, None]))
        return chance_v @ (at_v * coefficients) @ root @ chance_eta


def blocks(labels):
    """The elements of each block of a partition."""
    return [
        tuple(i for i, label in enumerate(labels) if label == block)
        for block in range(max(labels, default=-1) + 1)
    ]

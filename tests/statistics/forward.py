"""The model forwards: concentrations, labels from restaurants, data from urns and parameters.

Written apart from the package's own simulation, so that a test of the samplers rests on the model's
definition alone.
"""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.families import Bag, Bernoulli, Categorical, Gaussian, Poisson
from mcsquared.kernels.cpu.contexts import BagContexts
from mcsquared.model.effects import Effect
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations, observe

CONCENTRATIONS = {"alpha": Gamma(2.0, 2.0), "v": Gamma(3.0, 1.5), "eta": Gamma(2.0, 1.5)}
WORDS, YEAR, TAGS = Categorical(0.5, 3), Gaussian(0.3, 0.5, 2.5, 2.0), Bag(0.6, 3)
G_RANGE = 0.1, 1e6  # log-uniform prior of the concentration of a learned context
NUMBERS, VISITS, LATE = Gaussian(-0.2, 0.4, 2.0, 1.5), Poisson(1.5, 0.5), Bernoulli(0.8, 1.2)


@dataclass(frozen=True)
class Labels:
    """Everything but the data: concentrations, z, l, tables of all groups and ε_new."""

    alpha: float
    v: float
    eta: float
    lam: float
    clusters: list
    topics: list
    tables: int
    unused: float
    shapes: np.ndarray | None = None  # g b of a learned context
    weights: np.ndarray | None = None  # ω, if contexts act on topics
    v_of_effects: np.ndarray | None = None
    tables_of_values: int = 0  # included in ``tables``
    outliers: int = 0  # numbers that come from a background


@dataclass(frozen=True)
class Data:
    """Tokens, one context per group in ``numbers`` (NaN where missing), and the other."""

    tokens: np.ndarray
    numbers: np.ndarray
    others: np.ndarray
    foreground: np.ndarray | None = None  # of numbers, if they have a background


def draw_index(weights, rng):
    """Return a table in proportion to its weight."""
    threshold = rng.random() * sum(weights)
    for index, weight in enumerate(weights):
        threshold -= weight
        if threshold < 0:
            return index
    return len(weights) - 1


class Restaurant:
    """Customers at tables with a dish each; the dish of a new table is ordered one level above."""

    def __init__(self, concentration, order):
        self.concentration, self.order = concentration, order
        self.customers, self.dishes = [], []

    def serve(self, rng):
        """Seat one customer and return the dish."""
        if self.concentration == np.inf:
            return self.order(rng)
        t = draw_index([*self.customers, self.concentration], rng)
        if t == len(self.customers):
            self.customers.append(0)
            self.dishes.append(self.order(rng))
        self.customers[t] += 1
        return self.dishes[t]


def root(eta):
    """The restaurant at the root: every table has a dish of its own, a new topic."""
    tables = Restaurant(eta, lambda rng: len(tables.dishes))
    return tables


def draw_labels(lengths, priors, rng):
    """Draw concentrations from their priors, z from a restaurant, l from a franchise.

    Groups are restaurants, whose tables are the customers of their cluster's; with λ = ∞ every
    token has a table to itself, so that it is the tokens that are customers of the cluster.
    """
    alpha, v, eta, lam = (
        prior.sample(rng) if isinstance(prior, Gamma) else prior
        for prior in (priors.alpha, priors.v, priors.eta, priors.lam)
    )
    cluster_restaurant = root(alpha)
    clusters = [cluster_restaurant.serve(rng) for _ in lengths]
    dishes = root(eta)
    restaurants = [Restaurant(v, dishes.serve) for _ in cluster_restaurant.dishes]
    topics = []
    for k, n in zip(clusters, lengths, strict=True):
        group = Restaurant(lam, restaurants[k].serve)
        topics += [group.serve(rng) for _ in range(n)]
    tables = sum(sum(cluster.customers) for cluster in restaurants)
    unused = rng.beta(eta, sum(dishes.customers)) if topics else 1.0
    return Labels(alpha, v, eta, lam, clusters, topics, tables, unused)


def draw_labels_with_effects(lengths, priors, effect_values, rng):
    """Draw labels where the tables of a group are customers of its cluster or of a value.

    ``effect_values`` has a list per group, of effects, values and shares of the values.
    """
    plain = draw_labels([0] * len(lengths), priors, rng)
    v_of_effects = [
        priors.v.sample(rng) if isinstance(priors.v, Gamma) else priors.v for _ in priors.effects
    ]
    weights = rng.dirichlet(np.ones(len(v_of_effects) + 1))
    dishes = root(plain.eta)
    restaurants = [Restaurant(plain.v, dishes.serve) for _ in set(plain.clusters)]
    values = defaultdict(dict)
    topics = []
    for k, n, found in zip(plain.clusters, lengths, effect_values, strict=True):
        choices, chances = [restaurants[k]], [weights[0]]
        for effect, value, share in found:
            new = Restaurant(v_of_effects[effect], dishes.serve)
            choices.append(values[effect].setdefault(value, new))
            chances.append(weights[effect + 1] * share)

        def order(rng, choices=choices, chances=chances):
            return choices[draw_index(chances, rng)].serve(rng)

        group = Restaurant(plain.lam, order)
        topics += [group.serve(rng) for _ in range(n)]
    tables = sum(sum(cluster.customers) for cluster in restaurants)
    value_tables = sum(sum(r.customers) for found in values.values() for r in found.values())
    return replace(
        plain,
        topics=topics,
        tables=tables + value_tables,
        unused=rng.beta(plain.eta, sum(dishes.customers)),
        weights=weights,
        v_of_effects=np.array(v_of_effects),
        tables_of_values=value_tables,
    )


def draw_gaussian(labels, family, rng):
    """Numbers whose mean and precision belong to their label."""
    parameters = {}
    for label in labels:
        if label not in parameters:
            precision = rng.gamma(family.shape, 1 / family.rate)
            mean = family.mean + rng.normal() / np.sqrt(family.strength * precision)
            parameters[label] = mean, 1 / np.sqrt(precision)
    return np.array([rng.normal(*parameters[label]) for label in labels])


def draw_shapes(family, rng):
    """g b of a learned context, from its prior; the fixed shapes of another."""
    if not family.is_learned:
        return np.full(family.n_stats, family.concentration)
    prior = family.concentration
    g = prior.sample(rng) if isinstance(prior, Gamma) else np.exp(rng.uniform(*np.log(G_RANGE)))
    return g * rng.dirichlet(np.ones(family.n_stats))


def draw_urn(labels, family, rng, shapes=None):
    """Categories from one Pólya urn per label."""
    shapes = [family.concentration] * family.n_stats if shapes is None else list(shapes)
    urns = defaultdict(shapes.copy)
    drawn = []
    for label in labels:
        word = draw_index(urns[label], rng)
        urns[label][word] += 1
        drawn.append(word)
    return np.array(drawn, np.int32)


class WordsDesign:
    """Words; a Gaussian context that one group lacks; bags of two, which another lacks."""

    name = "words, Gaussian and bag contexts"

    def __init__(self, lengths, missing_number, missing_bag, lam=np.inf, tags=TAGS):
        self.lengths = np.array(lengths)
        self.has_number = np.arange(len(lengths)) != missing_number
        self.has_bag = np.arange(len(lengths)) != missing_bag
        self.tags = tags
        self.priors = Priors(WORDS, {"year": YEAR, "tags": tags}, lam=lam, **CONCENTRATIONS)

    def draw_shapes(self, rng):
        """Draw the shapes of the bag from their prior."""
        return draw_shapes(self.tags, rng)

    def draw_data(self, clusters, topics, rng, shapes):
        """Draw all data given the labels and the shapes of the bag."""
        numbers = np.full(len(clusters), np.nan)
        seen = [k for k, has in zip(clusters, self.has_number, strict=True) if has]
        numbers[self.has_number] = draw_gaussian(seen, YEAR, rng)
        cluster_of_item = np.repeat(np.array(clusters)[self.has_bag], 2)
        bags = np.zeros((len(clusters), TAGS.n_stats), np.int32)
        groups = np.repeat(np.flatnonzero(self.has_bag), 2)
        np.add.at(bags, (groups, draw_urn(cluster_of_item.tolist(), self.tags, rng, shapes)), 1)
        return Data(draw_urn(topics, WORDS, rng), numbers, bags)

    def observations(self, data: Data) -> Observations:
        """The data as samplers read them, token by token in the order of the labels."""
        counts = np.zeros((len(self.lengths), WORDS.n_stats), int)
        counts[:, 0] = self.lengths
        contexts = {"year": data.numbers, "tags": sparse.csr_matrix(data.others)}
        observations = observe(Corpus(sparse.csr_matrix(counts), contexts), self.priors)
        return self.replaced(observations, data)

    @staticmethod
    def replaced(observations: Observations, data: Data) -> Observations:
        """The same groups and tokens with other data."""
        group, category = np.nonzero(data.others)
        start = np.searchsorted(group, np.arange(len(data.others) + 1))
        values = np.where(np.isnan(data.numbers), 0.0, data.numbers)[:, None] - YEAR.origin
        return replace(
            observations,
            word=data.tokens,
            dense=observations.dense._replace(values=values),
            bags=BagContexts(
                start=start[None, :].astype(np.int64),
                category=category.astype(np.int32),
                count=data.others[group, category],
                shapes=observations.bags.shapes,
                smoothing=observations.bags.smoothing,
            ),
        )


class BackgroundDesign(WordsDesign):
    """Words; a Gaussian context with a background that one group lacks; bags of two."""

    name = "words, a Gaussian context with a background and bags"

    def __init__(self, lengths, lam):
        super().__init__(lengths, missing_number=1, missing_bag=3, lam=lam)
        contexts = {"year": replace(YEAR, background=True), "tags": self.tags}
        self.priors = replace(self.priors, contexts=contexts)

    def draw_data(self, clusters, topics, rng, shapes):
        """Draw all data given the labels; a number is from its cluster with probability ρ."""
        data = super().draw_data(clusters, topics, rng, shapes)
        foreground = self.has_number & (rng.random(len(clusters)) < rng.random())
        sources = [k if is_in else -1 for k, is_in in zip(clusters, foreground, strict=True)]
        numbers = np.where(self.has_number, draw_gaussian(sources, YEAR, rng), np.nan)
        return replace(data, numbers=numbers, foreground=foreground)


class EffectsDesign(WordsDesign):
    """Words; a category and a bag that act on topics, are given, and lack some groups."""

    name = "words, a category and a bag that act on topics"
    effect_values = (
        [(0, 0, 1.0), (1, 0, 0.5), (1, 1, 0.5)],
        [(1, 1, 1.0)],
        [(0, 1, 1.0)],
        [(0, 0, 1.0)],
    )

    def __init__(self, lengths, lam, tags=TAGS):
        super().__init__(lengths, missing_number=1, missing_bag=3, lam=lam, tags=tags)
        effects = {"kind": Effect(2), "items": Effect(2)}
        self.priors = replace(self.priors, effects=effects)

    def observations(self, data: Data) -> Observations:
        """The data as samplers read them."""
        counts = np.zeros((len(self.lengths), WORDS.n_stats), int)
        counts[:, 0] = self.lengths
        contexts = {
            "year": data.numbers,
            "tags": sparse.csr_matrix(data.others),
            "kind": np.array(["a", None, "b", "a"], object),
            "items": sparse.csr_matrix([[1, 1], [0, 2], [0, 0], [0, 0]]),
        }
        observations = observe(Corpus(sparse.csr_matrix(counts), contexts), self.priors)
        return self.replaced(observations, data)


class NumbersDesign:
    """Numbers as content; counts that one group lacks; truth values."""

    name = "numbers, Poisson and Bernoulli contexts"

    def __init__(self, lengths, missing_number, lam=np.inf):
        self.lengths = np.array(lengths)
        self.has_number = np.arange(len(lengths)) != missing_number
        contexts = {"visits": VISITS, "late": LATE}
        self.priors = Priors(NUMBERS, contexts, lam=lam, **CONCENTRATIONS)

    def draw_shapes(self, rng):
        """Return None: there are no bags."""

    def draw_data(self, clusters, topics, rng, shapes):
        """Draw all data given the labels."""
        rates = {k: rng.gamma(VISITS.shape, 1 / VISITS.rate) for k in set(clusters)}
        chances = {k: rng.beta(LATE.a, LATE.b) for k in set(clusters)}
        visits = np.array([float(rng.poisson(rates[k])) for k in clusters])
        late = np.array([float(rng.random() < chances[k]) for k in clusters])
        visits[~self.has_number] = np.nan
        return Data(draw_gaussian(topics, NUMBERS, rng), visits, late)

    def observations(self, data: Data) -> Observations:
        """The data as samplers read them."""
        values = np.split(data.tokens[:, None], np.cumsum(self.lengths)[:-1])
        contexts = {"visits": data.numbers, "late": data.others.astype(bool)}
        return self.replaced(observe(Corpus(values, contexts), self.priors), data)

    @staticmethod
    def replaced(observations: Observations, data: Data) -> Observations:
        """The same groups and tokens with other data."""
        observed = ~np.isnan(data.numbers)
        contexts = np.column_stack([np.where(observed, data.numbers, 0.0), data.others])
        return replace(
            observations,
            values=data.tokens[:, None] - NUMBERS.origin,
            dense=observations.dense._replace(values=contexts),
        )


def draw(design, rng):
    """Draw labels and data from the prior."""
    lengths = design.lengths.tolist()
    if design.priors.effects:
        labels = draw_labels_with_effects(lengths, design.priors, design.effect_values, rng)
    else:
        labels = draw_labels(lengths, design.priors, rng)
    labels = replace(labels, shapes=design.draw_shapes(rng))
    data = design.draw_data(labels.clusters, labels.topics, rng, labels.shapes)
    if data.foreground is not None:
        labels = replace(labels, outliers=int((design.has_number & ~data.foreground).sum()))
    return labels, data

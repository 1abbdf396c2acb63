"""Geweke's joint test with a level above groups: its units draw types, their groups clusters."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.families import Gaussian
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import LevelPriors
from mcsquared.observations import observe
from mcsquared.observations.units import UnitContext, Units
from tests.statistics import joint_chain
from tests.statistics.forward import Restaurant, WordsDesign, draw_gaussian, root
from tests.statistics.joint_chain import labels_of, recount

GDP = Gaussian(0.1, 0.6, 2.5, 1.5)
ABOVE = LevelPriors({"gdp": GDP}, Gamma(2.0, 2.0), Gamma(2.0, 1.0))
PARENTS = [0, 0, 1, 1, -1]
HAS_GDP = np.array([True, True, False])
N_UNITS = 3  # the last has neither groups nor a context


@dataclass(frozen=True)
class Above:
    """Types of the units, their concentrations, and their context."""

    alpha: float
    v: float
    types: list
    gdp: np.ndarray


def draw_gdp(types, rng):
    """Draw the context of the units that have it."""
    gdp = np.full(N_UNITS, np.nan)
    gdp[HAS_GDP] = draw_gaussian(np.array(types)[HAS_GDP].tolist(), GDP, rng)
    return gdp


class LeveledDesign(WordsDesign):
    """Words of five groups, the last without a parent."""

    def __init__(self, lam):
        super().__init__([3, 2, 0, 2, 2], missing_number=1, missing_bag=3, lam=lam)
        self.priors = replace(self.priors, levels={"country": ABOVE})

    def draw(self, rng):
        """Draw everything from the prior: labels, data and the level above."""
        priors = self.priors
        alpha, v, eta, lam = (
            p.sample(rng) if isinstance(p, Gamma) else p
            for p in (priors.alpha, priors.v, priors.eta, priors.lam)
        )
        above_alpha, above_v = ABOVE.alpha.sample(rng), ABOVE.v.sample(rng)
        type_restaurant, cluster_restaurant = root(above_alpha), root(alpha)
        types = [type_restaurant.serve(rng) for _ in range(N_UNITS)]
        rows = [Restaurant(above_v, cluster_restaurant.serve) for _ in type_restaurant.dishes]
        clusters = [(rows[types[u]] if u >= 0 else cluster_restaurant).serve(rng) for u in PARENTS]
        dishes = root(eta)
        restaurants = [Restaurant(v, dishes.serve) for _ in cluster_restaurant.dishes]
        topics = []
        for k, n in zip(clusters, self.lengths.tolist(), strict=True):
            group = Restaurant(lam, restaurants[k].serve)
            topics += [group.serve(rng) for _ in range(n)]
        tables = sum(sum(cluster.customers) for cluster in restaurants)
        unused = rng.beta(eta, sum(dishes.customers))
        shapes = self.draw_shapes(rng)
        labels = joint_chain.Labels(alpha, v, eta, lam, clusters, topics, tables, unused, shapes)
        data = self.draw_data(clusters, topics, rng, shapes)
        return labels, data, Above(above_alpha, above_v, types, draw_gdp(types, rng))

    def leveled(self, data, gdp):
        """The observations of the groups and of the units."""
        plain = replace(self.priors, levels={})
        counts = np.zeros((len(self.lengths), 3), int)
        counts[:, 0] = self.lengths
        contexts = {"year": data.numbers, "tags": sparse.csr_matrix(data.others)}
        observations = observe(Corpus(counts, contexts), plain)
        units = Units("country", np.full(N_UNITS, -1, np.int32), [unit_context(gdp)])
        return replace(
            self.replaced(observations, data),
            parent_of_group=np.array(PARENTS, np.int32),
            levels=(units,),
        )


def unit_context(gdp):
    statistics = np.zeros((N_UNITS, GDP.n_stats))
    x = gdp[HAS_GDP]
    statistics[HAS_GDP] = GDP.statistics(x)
    return UnitContext(GDP, HAS_GDP, x, statistics)


def statistics(labels, data, above, priors):
    """Functions of everything that is drawn, at all levels."""
    z, t = labels.clusters, above.types
    n_types = len(set(t))
    together, same_type = z[0] == z[2], t[0] == t[1]
    return joint_chain.statistics(labels, data, priors) | {
        "level alpha": above.alpha,
        "level v": above.v,
        "log level alpha": np.log(above.alpha),
        "log level v": np.log(above.v),
        "types": n_types,
        "level alpha × types": above.alpha * n_types,
        "level v × clusters": above.v * len(set(z)),
        "units 0 and 1 of one type": same_type,
        "unit without groups with 0": t[2] == t[0],
        "siblings together": z[0] == z[1],
        "cousins together": together,
        "cousins × types": together * same_type,
        "level v × siblings": above.v * (z[0] == z[1]),
        "level v × cousins × types": above.v * together * same_type,
        "orphan with 0": z[4] == z[0],
        "level alpha × alpha": above.alpha * labels.alpha,
        "alpha × orphan": labels.alpha * (z[4] == z[0]),
        "gdp near": abs(above.gdp[0] - above.gdp[1]) < 1,
        "gdp near × types": (abs(above.gdp[0] - above.gdp[1]) < 1) * same_type,
    }


def names(design):
    return list(statistics(*design.draw(np.random.default_rng(0)), design.priors))


def forward_draws(design, n, seed):
    rng = np.random.default_rng(seed)
    return [list(statistics(*design.draw(rng), design.priors).values()) for _ in range(n)]


def chain_draws(design, n, seed, sampler):
    """Alternate sweeps and new data given the labels; λ must be finite."""
    rng = np.random.default_rng(seed)
    _, data, above = design.draw(rng)
    observations = design.leveled(data, above.gdp)
    state = sampler.start(observations, design.priors, seed, 0, "random", 2, 2)
    rows = []
    for _ in range(n):
        sampler.sweep(state, observations, design.priors, seed, 0)
        z, topics = state.cluster_of_group.tolist(), state.topic_of_token.tolist()
        data = design.draw_data(z, topics, rng, state.category_shapes)
        level = state.levels[0]
        gdp = draw_gdp(level.type_of_unit.tolist(), rng)
        units = replace(observations.levels[0], contexts=[unit_context(gdp)])
        observations = replace(design.replaced(observations, data), levels=(units,))
        recount(state, topics, observations)
        above = Above(level.alpha, level.v, level.type_of_unit.tolist(), gdp)
        found = statistics(labels_of(state, topics, observations), data, above, design.priors)
        rows.append(list(found.values()))
    return rows

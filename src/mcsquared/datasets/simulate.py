"""Draw a corpus from the prior of the model.

All random measures are integrated out, so nothing is truncated. Each Dirichlet process is a
Chinese restaurant; if its base measure is another Dirichlet process, every table is a customer of
the restaurant one level up:

    tokens of a group  →  the group's tables (λ)  →  the cluster's tables (v)  →  the root's (η)

A table of the root is a topic. With λ = ∞, the paper's model, every token has a table of its own
in its group and is thus a customer of the cluster's restaurant.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isinf, isnan
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mcsquared.arrays import Bools, Floats, Int32s, Int64s, Integers, Rng
from mcsquared.checks import as_float, check_concentration, check_integer
from mcsquared.corpus import Column, Corpus
from mcsquared.corpus.rows import generator_from
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.families.dirichlet import count_matrix
from mcsquared.families.registry import family_for_words


@dataclass(frozen=True)
class Assignments:
    """Clusters of groups and topics of tokens, drawn from the prior."""

    cluster_of_group: Int32s  # (n_groups,): numbered by first appearance
    topic_of_token: Int32s  # (n_tokens,): 0, 1, ... without gaps; tokens are sorted by group
    # (n_clusters, n_topics): number of tables of each cluster with each topic, the paper's o_km
    tables: Int32s


class Prior(Protocol):
    """A prior of a concentration, such as `mcsquared.Gamma`."""

    def sample(self, rng: Rng) -> float:
        """Draw a concentration."""


@dataclass(frozen=True)
class Simulated:
    """A corpus drawn from the prior, with its latent variables and parameters.

    Attributes
    ----------
    corpus : Corpus
    cluster_of_group : int32 (n_groups,)
    topic_of_token : int32 (n_tokens,)
        In the order of the corpus: sorted by group, then by word; vectors of a group are in the
        order in which they were drawn. Topics and clusters are numbered 0, 1, ... without gaps.
    tables : int32 (n_clusters, n_topics)
        Number of tables of each cluster with each topic, the paper's o_km.
    alpha, v, eta, lam : float
        The concentrations, given or drawn.
    content_family, context_families
        The families with every field set: the true prior.
    content_parameters, context_parameters
        The parameters of topics, and of clusters for each context, in the layout of
        ``family.sample_parameters``.

    Examples
    --------
    >>> drawn = mc2.datasets.simulate(20, lam=5.0, random_state=0)
    >>> len(drawn.cluster_of_group), len(drawn.topic_of_token), drawn.lam
    (20, 1000, 5.0)
    """

    corpus: Corpus
    cluster_of_group: Int32s
    topic_of_token: Int32s
    tables: Int32s
    alpha: float
    v: float
    eta: float
    lam: float
    content_family: ConjugateFamily
    context_families: dict[str, ConjugateFamily]
    content_parameters: Floats
    context_parameters: dict[str, Floats]


def simulate(
    n_groups: int,
    tokens_per_group: ArrayLike = 50,
    n_words: int = 100,
    content: ConjugateFamily | None = None,
    contexts: Mapping[str, ConjugateFamily] | None = None,
    alpha: float | Prior = 1.0,
    v: float | Prior = 1.0,
    eta: float | Prior = 1.0,
    lam: float | Prior = inf,
    missing: float | Mapping[str, ArrayLike] = 0.0,
    items_per_bag: ArrayLike = 3,
    random_state: int | np.random.Generator | None = None,
) -> Simulated:
    """Draw clusters, topics, parameters and a corpus exactly from the prior.

    The random measures are integrated out (Chinese restaurant processes rather than truncated
    stick-breaking), so nothing is approximated.

    Parameters
    ----------
    n_groups : int
    tokens_per_group : int or array-like of shape (n_groups,)
        Zero for a group without content.
    n_words : int
        Size of the vocabulary if ``content`` is not given: words with a symmetric Dirichlet prior
        of concentration 0.05.
    content : ConjugateFamily, optional
        A `Categorical` with a size gives words, any other family gives vectors.
    contexts : mapping from name to ConjugateFamily, optional
        Fields that are None are set to the defaults for a column without data.
    alpha, v, eta, lam : float, or an object with ``sample(rng)``
        Positive concentrations; ``lam=inf`` is the paper's model.
    missing : float or mapping from name to float or bool array of shape (n_groups,)
        Probability that a context is missing in a group, or a mask of the groups without it.
    items_per_bag : int or array-like of shape (n_groups,)
        Size of the bags of every `Bag` context; an empty bag is missing.
    random_state : int, Generator or None

    Examples
    --------
    >>> contexts = {"year": mc2.Gaussian(mean=2000, rate=9), "tag": mc2.Categorical(size=3)}
    >>> mc2.datasets.simulate(20, 30, contexts=contexts, missing=0.5, random_state=0).corpus
    Corpus(20 groups, 600 tokens, 100 words, contexts: year, tag)
    """
    rng = generator_from(random_state)
    n_groups = check_integer("n_groups", n_groups, 1)
    lengths = _as_counts("tokens_per_group", tokens_per_group, n_groups)
    items = _as_counts("items_per_bag", items_per_bag, n_groups)
    if content is None:
        content = family_for_words(check_integer("n_words", n_words, 1))
    content = _filled(content, "content")
    families = {
        name: _filled(family, f"contexts[{name!r}]") for name, family in (contexts or {}).items()
    }
    drawn = {
        name: _concentration(name, value, rng)
        for name, value in (("alpha", alpha), ("v", v), ("eta", eta), ("lam", lam))
    }
    assignments = draw_assignments(lengths, **drawn, rng=rng)
    values, topic, content_parameters = draw_content(lengths, assignments, content, rng)
    is_missing = _missing_masks(missing, tuple(families), n_groups, rng)
    columns, context_parameters = draw_contexts(assignments, families, is_missing, items, rng)
    return Simulated(
        corpus=Corpus(values, contexts=columns),
        cluster_of_group=assignments.cluster_of_group,
        topic_of_token=topic,
        tables=assignments.tables,
        **drawn,
        content_family=content,
        context_families=families,
        content_parameters=content_parameters,
        context_parameters=context_parameters,
    )


def chinese_restaurant(n_customers: int, concentration: float, rng: Rng) -> Int32s:
    """Draw the table of each customer, int32 (n_customers,), numbered by first appearance.

    Customer i (from 0) opens a new table with probability c / (c + i), and otherwise joins the
    table of one of the i earlier customers, chosen uniformly. A table is thus chosen in proportion
    to its number of customers.
    """
    earlier = np.arange(n_customers)
    if isinf(concentration):
        return earlier.astype(np.int32)
    opens = rng.random(n_customers) * (concentration + earlier) < concentration
    opens[:1] = True
    companion = np.where(opens, earlier, rng.integers(0, np.maximum(earlier, 1)))
    # Pointer jumping: every customer points to an earlier one, and each round doubles the length
    # of the jump, so all reach the customer who opened their table in log2(n) rounds.
    while True:
        further = companion[companion]
        if np.array_equal(further, companion):
            break
        companion = further
    return (np.cumsum(opens, dtype=np.int32) - 1)[companion]


def draw_assignments(
    tokens_per_group: Int64s, alpha: float, v: float, eta: float, lam: float = inf, *, rng: Rng
) -> Assignments:
    """Draw the clusters of groups and the topics of tokens."""
    cluster = chinese_restaurant(tokens_per_group.size, alpha, rng)
    n_clusters = int(cluster.max(initial=-1)) + 1
    group_of_token = np.repeat(np.arange(cluster.size), tokens_per_group)
    customer_of_token, group_of_customer = _restaurants(group_of_token, cluster.size, lam, rng)
    table_of_customer, cluster_of_table = _restaurants(
        cluster[group_of_customer], n_clusters, v, rng
    )
    topic_of_table = chinese_restaurant(cluster_of_table.size, eta, rng)
    tables = np.zeros((n_clusters, int(topic_of_table.max(initial=-1)) + 1), dtype=np.int32)
    np.add.at(tables, (cluster_of_table, topic_of_table), 1)
    return Assignments(cluster, topic_of_table[table_of_customer[customer_of_token]], tables)


def _restaurants(
    restaurant_of_customer: Integers, n_restaurants: int, concentration: float, rng: Rng
) -> tuple[Int64s, Integers]:
    """Draw the table of each customer in every restaurant, and the restaurant of each table.

    Tables are numbered across all restaurants. If the concentration is infinite, every customer has
    a table of their own.
    """
    order = np.argsort(restaurant_of_customer, kind="stable")
    table_of_customer = np.empty(order.size, dtype=np.int64)
    if isinf(concentration):
        table_of_customer[order] = np.arange(order.size)
        return table_of_customer, restaurant_of_customer[order]
    bounds = np.searchsorted(restaurant_of_customer[order], np.arange(n_restaurants + 1))
    n_tables, total = np.zeros(n_restaurants, dtype=np.int64), 0
    for r, (first, last) in enumerate(pairwise(bounds)):
        customers = order[first:last]
        table = chinese_restaurant(customers.size, concentration, rng)
        table_of_customer[customers] = total + table
        n_tables[r] = table.max(initial=-1) + 1
        total += int(n_tables[r])
    return table_of_customer, np.repeat(np.arange(n_restaurants), n_tables)


def draw_content(
    tokens_per_group: Int64s, assignments: Assignments, family: ConjugateFamily, rng: Rng
) -> tuple[Any, Int32s, Floats]:
    """Draw the parameters of topics and the content of groups, given the topics of tokens.

    Returns the content (a csr_matrix of counts or a list of arrays), the topics of its tokens in
    their order (words are sorted within each group), and the parameters (n_topics, n_parameters).
    """
    topic = assignments.topic_of_token
    n_topics = assignments.tables.shape[1]
    parameters = family.sample_parameters(np.zeros((n_topics, family.n_stats)), rng)
    if family.content_kind is None:
        raise InputError(f"content must be a family of words or vectors, got {family.name!r}")
    values = family.sample_observations(parameters, topic, rng)
    if family.content_kind == "words":
        group = np.repeat(np.arange(tokens_per_group.size), tokens_per_group)
        order = np.lexsort((values, group))
        counts = count_matrix(group, values, (tokens_per_group.size, family.n_stats))
        return counts, topic[order], parameters
    rows = values.reshape(topic.size, -1)
    return np.split(rows, np.cumsum(tokens_per_group)[:-1]), topic, parameters


def draw_contexts(
    assignments: Assignments,
    families: Mapping[str, ConjugateFamily],
    is_missing: Mapping[str, Bools],
    items_per_bag: Int64s,
    rng: Rng,
) -> tuple[dict[str, Column], dict[str, Floats]]:
    """Draw the parameters of clusters and the contexts of groups, given the clusters.

    ``is_missing`` has a mask of the groups for each context. Returns columns, and parameters of
    shape (n_clusters, n_parameters), by name.
    """
    cluster = assignments.cluster_of_group
    n_clusters = assignments.tables.shape[0]
    columns, parameters = {}, {}
    for name, family in families.items():
        prior = np.zeros((n_clusters, family.n_stats))
        parameters[name] = family.sample_parameters(prior, rng)
        items = np.where(is_missing[name], 0, items_per_bag)
        values = family.sample_observations(parameters[name], cluster, rng, items)
        columns[name] = _column(name, family, values, is_missing[name])
    return columns, parameters


def _column(name: str, family: ConjugateFamily, values: Any, is_missing: Bools) -> Column:
    kind, categories = family.column_kinds[0], None
    if kind == "category":
        categories = np.array([str(code) for code in range(family.n_stats)], dtype=object)
    if kind != "bag":  # a missing bag has no items
        values[is_missing] = -1 if kind == "category" else np.nan
    return Column(name, kind, values, categories)


def _filled(family: ConjugateFamily, argument: str) -> ConjugateFamily:
    try:
        return family.filled_without_data()
    except InputError as error:
        raise InputError(f"{argument}: {error}") from None


def _as_counts(name: str, value: ArrayLike, length: int) -> Int64s:
    """Return ``length`` integers >= 0, from a scalar or an array."""
    counts = np.asarray(value)
    if counts.dtype.kind not in "iu" or counts.ndim > 1 or (counts < 0).any():
        raise InputError(f"{name} must be an integer >= 0 or an array of them, got {value!r:.60}")
    if counts.ndim == 1 and counts.size != length:
        raise InputError(f"{name} must have one entry per group ({length}), got {counts.size}")
    return np.broadcast_to(counts.astype(np.int64), (length,)).copy()


def _concentration(name: str, value: float | Prior, rng: Rng) -> float:
    drawn = value if isinstance(value, Real) else getattr(value, "sample", lambda _: value)(rng)
    if not isinstance(drawn, Real) or isnan(drawn) or drawn <= 0:
        raise InputError(
            f"{name} must be a positive number or an object with a method sample, got {value!r}"
        )
    return inf if name == "lam" and drawn == inf else check_concentration(name, drawn)


def _missing_masks(
    missing: float | Mapping[str, ArrayLike], names: tuple[str, ...], n_groups: int, rng: Rng
) -> dict[str, Bools]:
    """Return the mask of the groups in which each context is missing."""
    given = missing if isinstance(missing, Mapping) else dict.fromkeys(names, missing)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(f"missing must refer to contexts {list(names)}, got {unknown[0]!r}")
    if not names and not (as_float(missing) == 0.0 or isinstance(missing, Mapping)):
        raise InputError(f"missing must be 0 without contexts, got {missing!r:.60}")
    result = {}
    for name in names:
        value = np.asarray(given.get(name, 0.0))
        if value.dtype.kind == "b" and value.shape == (n_groups,):
            result[name] = value
        elif value.dtype.kind in "fiu" and value.ndim == 0 and 0.0 <= value <= 1.0:
            result[name] = rng.random(n_groups) < value
        else:
            raise InputError(
                f"missing for {name!r} must be a number in [0, 1] or one boolean per group "
                f"({n_groups}), got {given[name]!r:.60}"
            )
    return result

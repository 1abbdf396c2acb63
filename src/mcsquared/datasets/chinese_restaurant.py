"""Draw clusters and topics from the prior by nested Chinese restaurant processes.

All random measures are integrated out, so nothing is truncated. Each Dirichlet process is a
Chinese restaurant; if its base measure is another Dirichlet process, every table is a customer of
the restaurant one level up:

    tokens of a group  →  the group's tables (λ)  →  the cluster's tables (v)  →  the root's (η)

A table of the root is a topic. With λ = ∞, the paper's model, every token has a table of its own
in its group and is thus a customer of the cluster's restaurant.
"""

from dataclasses import dataclass
from math import inf, isinf

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Int32s


@dataclass(frozen=True)
class Assignments:
    """Clusters of groups and topics of tokens, drawn from the prior.

    Attributes
    ----------
    cluster_of_group : int32 (n_groups,)
        Numbered by first appearance.
    topic_of_token : int32 (n_tokens,)
        Topics 0, 1, ... without gaps.
    tables_in_cluster : int32 (n_clusters, n_topics)
        Tables of each cluster that serve each topic (q_km of the model's notation).
    """

    cluster_of_group: Int32s
    topic_of_token: Int32s
    tables_in_cluster: Int32s


def draw_tables(n_customers: int, concentration: float, rng: np.random.Generator) -> Int32s:
    """Draw the table of each customer from a Chinese restaurant process.

    Customer i (from 0) opens a new table with probability c / (c + i), and otherwise joins the
    table of one of the i earlier customers, chosen uniformly. A table is thus chosen in proportion
    to its number of customers.

    Returns
    -------
    int32 (n_customers,)
        Tables are numbered by first appearance.
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
    tokens_per_group: NDArray[np.int64],
    alpha: float,
    v: float,
    eta: float,
    lam: float = inf,
    *,
    rng: np.random.Generator,
) -> Assignments:
    """Draw the clusters of groups and the topics of their tokens from the prior.

    Parameters
    ----------
    tokens_per_group : int64 (n_groups,)
        Zero for a group without content.
    alpha, v, eta, lam : float
        Positive concentrations; with infinity no table is shared.
    rng : Generator

    Returns
    -------
    Assignments
        Tokens are sorted by group.
    """
    cluster = draw_tables(tokens_per_group.size, alpha, rng)
    n_clusters = int(cluster.max(initial=-1)) + 1
    start = np.concatenate([[0], np.cumsum(tokens_per_group)])
    customer_of_token, cluster_of_customer = _draw_group_tables(start, cluster, lam, rng)

    table_of_customer = np.empty(cluster_of_customer.size, dtype=np.int64)
    cluster_of_table: list[NDArray[np.int64]] = []
    n_tables = 0
    by_cluster = np.argsort(cluster_of_customer, kind="stable")
    bounds = np.searchsorted(cluster_of_customer[by_cluster], np.arange(n_clusters + 1))
    for k in range(n_clusters):
        customers = by_cluster[bounds[k] : bounds[k + 1]]
        table = draw_tables(customers.size, v, rng)
        table_of_customer[customers] = n_tables + table
        opened = int(table.max(initial=-1)) + 1
        cluster_of_table.append(np.full(opened, k))
        n_tables += opened
    topic_of_table = draw_tables(n_tables, eta, rng)

    tables = np.zeros((n_clusters, int(topic_of_table.max(initial=-1)) + 1), dtype=np.int32)
    if n_tables:
        np.add.at(tables, (np.concatenate(cluster_of_table), topic_of_table), 1)
    return Assignments(cluster, topic_of_table[table_of_customer[customer_of_token]], tables)


def _draw_group_tables(
    start: NDArray[np.int64], cluster: Int32s, lam: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Int32s]:
    """Return the table of each token, numbered across all groups, and the cluster of each table."""
    n_groups = cluster.size
    if isinf(lam):
        group_of_token = np.repeat(np.arange(n_groups), np.diff(start))
        return np.arange(start[-1]), cluster[group_of_token]
    customer = np.empty(start[-1], dtype=np.int64)
    tables_of_group = np.zeros(n_groups, dtype=np.int64)
    n_tables = 0
    for j in range(n_groups):
        table = draw_tables(int(start[j + 1] - start[j]), lam, rng)
        customer[start[j] : start[j + 1]] = n_tables + table
        tables_of_group[j] = table.max(initial=-1) + 1
        n_tables += int(tables_of_group[j])
    return customer, np.repeat(cluster, tables_of_group)

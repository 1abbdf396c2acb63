"""Numbers of tables of clusters: q_km ~ CRT(O_km, v ε_m)."""

import numpy as np

from mcsquared.arrays import CountArray, Floats
from mcsquared.kernels.cpu.counts import draw_table_counts
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Key, Sweep

TABLE_COST = 200.0  # nanoseconds to draw the tables of one cell


def draw_cluster_tables(sweep: Sweep) -> None:
    """Draw the tables of clusters on the backend, given v and the ε of the globals."""
    sweep.cluster_tables = sweep.backend.draw_tables(sweep)


def draw_collapsed_tables(sweep: Sweep) -> None:
    """Draw the tables of clusters given the current v and ε."""
    state = sweep.state
    prior = state.v * state.topic_weights
    sweep.cluster_tables = draw_tables(state.counts.topics_in_cluster, prior, sweep.key)


def draw_tables(
    customers: CountArray,
    concentration: Floats,
    key: Key,
    threads: ThreadPool = SINGLE_THREAD,
    first_row: int = 0,
) -> CountArray:
    """Draw CRT(customers, concentration) exactly, of the shape and type of ``customers``.

    ``customers`` is int32 or int64 (n_restaurants, n_dishes), ``concentration`` (n_dishes,).
    Restaurant i uses the random numbers of row ``first_row + i``.
    """
    customers = np.ascontiguousarray(customers)
    concentration = np.ascontiguousarray(concentration, np.float64)

    def draw(first: int, last: int) -> CountArray:
        return draw_table_counts(customers[first:last], concentration, key, first_row + first)

    work = TABLE_COST * customers.size
    return np.concatenate(threads.map(len(customers), draw, work=work))

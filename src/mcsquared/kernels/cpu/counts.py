"""Operations on arrays of counts: contingency tables, CRT draws, the joint density of words."""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.lanes import N_LANES, nonzero_mask, trailing_zeros
from mcsquared.kernels.cpu.special import add_log, crt, log_rising_factorial
from mcsquared.kernels.rng import Step

TABLES = int(Step.TABLES)
# Factors of a rising factorial that are multiplied before a logarithm is taken.
MAX_PRODUCT_TABLES = 8


@njit(cache=True, nogil=True, error_model="numpy")
def draw_table_counts(customers, concentration, key, first_row=0):
    """Draw numbers of tables, o_km ~ CRT(c_km, a_m), for every cell.

    Parameters
    ----------
    customers : int32 or int64 (n_restaurants, n_dishes)
        The counts c_km of the restaurants from ``first_row`` on.
    concentration : float64 (n_dishes,)
        a.

    Returns
    -------
    int32 or int64 (n_restaurants, n_dishes)
        Of the same type as ``customers``.
    """
    n_rows, n_columns = customers.shape
    tables = np.zeros((n_rows, n_columns), customers.dtype)
    for k in range(n_rows):
        for m in range(n_columns):
            if customers[k, m] > 0:
                # At most 2²⁰ dishes: the index of a cell must not depend on the number of slots.
                index = ((first_row + k) << 20) + m
                tables[k, m] = crt(
                    customers[k, m], concentration[m], key[0], key[1], key[2], TABLES, index
                )
    return tables


@njit(cache=True, nogil=True, error_model="numpy")
def count_pairs(rows, columns, counts):
    """Add 1 to ``counts`` at every pair; NumPy would convert both arrays to 64-bit indices."""
    for i in range(rows.size):
        counts[rows[i], columns[i]] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def count_labels(labels, counts):
    """Add 1 to ``counts`` at every label; NumPy would convert the labels to 64-bit integers."""
    for i in range(labels.size):
        counts[labels[i]] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def renumber(labels, new_label, out):
    """Write the new label of every label to ``out``."""
    for i in range(labels.size):
        out[i] = new_label[labels[i]]


@njit(cache=True, nogil=True, error_model="numpy")
def count_topics_by_cluster(group_start, cluster_of_group, topic_of_token, counts):
    """Add the tokens of all groups to ``counts``, int32 (cluster slots, topic slots)."""
    for j in range(cluster_of_group.size):
        for i in range(group_start[j], group_start[j + 1]):
            counts[cluster_of_group[j], topic_of_token[i]] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def count_cells(entries, cluster_of_group, cells):
    """Add the tokens of all groups to ``cells``, int32 (n_words, cluster slots)."""
    for j in range(cluster_of_group.size):
        for e in range(entries.start[j], entries.start[j + 1]):
            cells[entries.column[e], cluster_of_group[j]] += entries.count[e]


@njit(cache=True, nogil=True, error_model="numpy")
def log_joint_of_words(first_chunk, last_chunk, chunk_start, words_in_topic, beta, tabulated, out):
    """Write Σ_m Σ_w [ln Γ(β + n_mw) − ln Γ(β)] over the words of each chunk to ``out``.

    Parameters
    ----------
    chunk_start : int64 (n_chunks + 1,)
        Bounds of the words of each chunk.
    words_in_topic : int32 or int64 (n_words, topic slots)
    tabulated : float64 (n,)
        The terms of small counts, from `log_rising_factorials`.
    out : float64 (n_chunks,)
    """
    cells, n_slots = words_in_topic.reshape(-1), words_in_topic.shape[1]
    for chunk in range(first_chunk, last_chunk):
        total = 0.0
        cell, end = chunk_start[chunk] * n_slots, chunk_start[chunk + 1] * n_slots
        while cell + N_LANES <= end:  # nearly all cells are empty; they are skipped
            occupied = nonzero_mask(cells, cell)
            while occupied != 0:
                n = cells[cell + trailing_zeros(occupied)]
                occupied &= occupied - 1
                total += tabulated[n] if n < tabulated.size else log_rising_factorial(beta, n)
            cell += N_LANES
        for left in range(cell, end):
            n = cells[left]
            total += tabulated[n] if n < tabulated.size else log_rising_factorial(beta, n)
        out[chunk] = total


@njit(cache=True, nogil=True, error_model="numpy")
def log_rising_factorials(beta, size):
    """Return ln Γ(β + n) − ln Γ(β) for n = 0 ... size − 1."""
    tabulated = np.empty(size)
    for n in range(size):
        tabulated[n] = log_rising_factorial(beta, n)
    return tabulated


@njit(cache=True, nogil=True, error_model="numpy")
def sum_log_rising_factorials(a, lengths, multiplicity):
    """Return Σ_i multiplicity[i] (ln Γ(a + n_i) − ln Γ(a)) with n_i = lengths[i].

    ``lengths`` and ``multiplicity`` are integer arrays of the same shape (n,).
    """
    total = 0.0
    for i in range(lengths.size):
        total += multiplicity[i] * log_rising_factorial(a, lengths[i])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def log_ratio_of_tables(log_shares, shape, tables):
    """Return Σ_km [ln Γ(a_m + O_km) − ln Γ(a_m) − O_km log τ_km].

    Parameters
    ----------
    log_shares : float64 (n_restaurants, n_dishes)
        log τ.
    shape : float64 (n_dishes,)
        a, positive where there are tables.
    tables : int32 or int64 (n_restaurants, n_dishes)
        O.
    """
    total, value, product = 0.0, 0.0, 1.0
    for k in range(len(tables)):
        for m in range(tables.shape[1]):
            n = tables[k, m]
            if n == 0:
                continue
            total -= n * log_shares[k, m]
            if n <= MAX_PRODUCT_TABLES:
                factor = shape[m]
                for i in range(1, n):
                    factor *= shape[m] + i
                value, product = add_log(value, product, factor)
            else:
                total += log_rising_factorial(shape[m], n)
    return total + value + math.log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def open_first_tables(group_start, topic_of_token, cluster_of_group, tables):
    """Add a table per topic of each group to ``tables``, int32 (cluster slots, topic slots)."""
    seen = np.full(tables.shape[1], -1, np.int64)
    for j in range(cluster_of_group.size):
        for i in range(group_start[j], group_start[j + 1]):
            m = topic_of_token[i]
            if seen[m] != j:
                seen[m] = j
                tables[cluster_of_group[j], m] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_columns(counts, columns):
    """Return some columns of an array of counts as the rows of a CSR matrix.

    Returns
    -------
    start : int64 (n_columns + 1,)
    row : int32 (n_entries,)
    count : int32 or int64 (n_entries,)
        Rows of ``counts``, in increasing order, and their counts.
    """
    start = np.zeros(columns.size + 1, np.int64)
    for r in range(counts.shape[0]):
        for c in range(columns.size):
            start[c + 1] += counts[r, columns[c]] != 0
    start = np.cumsum(start)
    row, count = np.empty(start[-1], np.int32), np.empty(start[-1], counts.dtype)
    position = start[:-1].copy()
    for r in range(counts.shape[0]):
        for c in range(columns.size):
            n = counts[r, columns[c]]
            if n != 0:
                row[position[c]] = r
                count[position[c]] = n
                position[c] += 1
    return start, row, count


@njit(cache=True, nogil=True, error_model="numpy")
def sort_by_word(word, position, order):
    """Write the tokens, sorted by word, to ``order``.

    ``position`` int64 (n_words,) is where the tokens of each word begin; on return, where they end.
    """
    for i in range(len(word)):
        order[position[word[i]]] = i
        position[word[i]] += 1

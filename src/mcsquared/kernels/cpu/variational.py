"""Expected topics of new groups given the globals, without sampling.

Zero-order collapsed variational inference (Asuncion et al. 2009): the responsibilities of the
topics for a token are

    γ_im  ∝  (E[n_jm] − γ_im + λ τ_m) ψ_m(w_ji),        E[n_jm]  =  Σ_i γ_im

Equal tokens of a group share their responsibilities, so that the cost grows with the number of
distinct words. All arrays of probabilities are float32, and rows of topics are padded with zeros.
"""

import numpy as np

from mcsquared.kernels.caching import njit

ZERO = np.float32(0.0)
WIDTH = 32  # rows of topics are padded to a multiple of this: loops have no remainder
MIN_SUM = np.float32(1e-30)  # smaller sums of a token's weights are imprecise


@njit(cache=True, nogil=True, error_model="numpy")
def add_word_counts(indptr, indices, data, row_of_word, scale, table):
    """Add n_mw × scale_m to the row of each word; ``row_of_word`` is −1 for words without one."""
    for m in range(indptr.size - 1):
        for entry in range(indptr[m], indptr[m + 1]):
            row = row_of_word[indices[entry]]
            if row >= 0:
                table[row, m] += np.float32(data[entry]) * scale[m]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def sum_rows(start, rows, occurrences, values, result):
    """Write Σ occurrences × values[row] over the entries of each group: float64 (n_groups, n)."""
    for j in range(start.size - 1):
        result[j] = 0.0
        for entry in range(start[j], start[j + 1]):
            row, number = rows[entry], np.float64(occurrences[entry])
            for k in range(values.shape[1]):
                result[j, k] += number * values[row, k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def mix_rows(start, rows, table, topics, result):
    """Write Σ_m θ_jm table[row, m] of every entry: float32 (n_entries,)."""
    for j in range(start.size - 1):
        for entry in range(start[j], start[j + 1]):
            row, total = rows[entry], np.float32(0.0)
            for m in range(table.shape[1]):
                total += topics[j, m] * table[row, m]
            result[entry] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def fold_in_topics(start, rows, occurrences, table, weights, n_passes, tolerance, counts):
    """Find the expected number of tokens of each topic in each group.

    Parameters
    ----------
    start : int64 (n_groups + 1,)
        Entries of group j are ``start[j]:start[j + 1]``.
    rows : int32 (n_entries,)
    occurrences : float32 (n_entries,)
    table : float32 (n_rows, n_topics)
        ψ_m of each distinct token, up to a factor per row.
    weights : float32 (n_groups, n_topics)
        λτ_m of the group's cluster.
    n_passes : int
        Maximum number of passes over the entries of a group.
    tolerance : float
        A group is finished if topics gain less than this share of its tokens in a pass.
    counts : float32 (n_groups, n_topics)
        Output: E[n_jm].
    """
    n_topics = table.shape[1]
    longest = np.diff(start).max() if start.size > 1 else 0
    shares = np.empty((longest, n_topics), np.float32)
    # Arrays of one row each: loops over views of rows are slower.
    given, before = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    products = np.empty(n_topics, np.float32)
    for j in range(start.size - 1):
        first, n_entries = start[j], start[j + 1] - start[j]
        size = occurrences[first : start[j + 1]].sum()
        shares[:n_entries] = 0.0
        given[:] = weights[j]
        counts[j] = 0.0
        for number in range(n_passes):
            before[:] = given
            for i in range(n_entries):
                row, occurs, total = rows[first + i], occurrences[first + i], ZERO
                for m in range(n_topics):
                    product = max(given[m] - shares[i, m], ZERO) * table[row, m]
                    products[m] = product
                    total += product
                if not total > MIN_SUM:  # the token is improbable in every topic of the group
                    products[:] = 0.0
                    products[table[row].argmax()] = total = np.float32(1.0)
                scale = np.float32(1.0) / total
                if number == 0:  # tokens start from the weights alone, in any order
                    for m in range(n_topics):
                        shares[i, m] = products[m] * scale
                        counts[j, m] += occurs * shares[i, m]
                else:
                    for m in range(n_topics):
                        share = products[m] * scale
                        given[m] += occurs * (share - shares[i, m])
                        shares[i, m] = share
            if number == 0:
                given += counts[j]
            elif np.abs(given - before).sum() <= 2.0 * tolerance * size:
                break
        counts[j] = np.maximum(given - weights[j], ZERO)

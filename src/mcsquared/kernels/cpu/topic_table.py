"""Tables of the probability of each word in each topic, and products with them.

ψ is sparse apart from its prior: ψ_m(w) = value_mw + shape_w × scale_m. Dense rows of a few hundred
words, a tile, are made where the same words are needed many times.
"""

from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit

ZERO = np.float32(0.0)
UNSIGNED = np.uint64  # an index that cannot be negative takes half of the time
WIDTH = 64  # rows of topics are padded to a multiple of this: loops have no remainder
MIX_BLOCKS = 16  # blocks of rows in `mix_rows`, so that a tile fits in the second-level cache
MIXED_GROUPS = 1024  # groups whose words `mix_rows` sorts together


class TopicTable(NamedTuple):
    """ψ of distinct tokens, each a row: value + shape × scale. All but indices are float32."""

    start: np.ndarray  # int64 (n_rows + 1,): entries of row w are start[w]:start[w + 1]
    topic: np.ndarray  # uint16 or int32 (n,)
    value: np.ndarray  # (n,)
    shape: np.ndarray  # (n_rows,): prior of the word
    scale: np.ndarray  # (n_topics,): 1 / (training tokens and prior)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_columns(indptr, indices, data, scale, start, topic, value):
    """Write the columns of a CSR matrix, times a scale per row, as rows of a table.

    ``start``, ``topic`` and ``value`` are those of `TopicTable`; ``start`` must contain zeros.
    """
    for entry in range(indices.size):
        start[indices[entry] + 1] += 1
    for w in range(start.size - 1):
        start[w + 1] += start[w]
    position = start[:-1].copy()
    for m in range(indptr.size - 1):
        for entry in range(indptr[m], indptr[m + 1]):
            w = indices[entry]
            topic[position[w]] = m
            value[position[w]] = np.float32(data[entry]) * scale[m]
            position[w] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def take_rows(table, rows, result):
    """Write ψ of some rows: float32 (n, n_topics)."""
    start, topic, value, shape, scale = table
    for i in range(rows.size):
        row = rows[i]
        result[i] = shape[row] * scale
        for entry in range(start[row], start[row + 1]):
            result[i, topic[entry]] += value[entry]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def mix_topics(table, rows, shares, result):
    """Write Σ_m τ_km ψ_m(w) of some rows: float32 (n, n_clusters); ``shares`` is transposed τ.

    Four entries at a time take a quarter of the memory traffic.
    """
    start, topic, value, shape, scale = table
    width, flat, mixed = UNSIGNED(shares.shape[1]), shares.ravel(), result.ravel()
    prior = np.zeros(shares.shape[1], np.float32)
    for m in range(scale.size):
        for k in range(width):
            prior[k] += scale[m] * shares[m, k]
    for i in range(rows.size):
        begin, row_shape = UNSIGNED(i) * width, shape[rows[i]]
        for k in range(width):
            mixed[begin + k] = row_shape * prior[k]
        entry, last = start[rows[i]], start[rows[i] + 1]
        while entry + 4 <= last:
            a, b = UNSIGNED(topic[entry]) * width, UNSIGNED(topic[entry + 1]) * width
            c, d = UNSIGNED(topic[entry + 2]) * width, UNSIGNED(topic[entry + 3]) * width
            w, x, y, z = value[entry], value[entry + 1], value[entry + 2], value[entry + 3]
            for k in range(width):
                first, second = w * flat[a + k] + x * flat[b + k], y * flat[c + k] + z * flat[d + k]
                mixed[begin + k] += first + second
            entry += 4
        while entry < last:
            a, w = UNSIGNED(topic[entry]) * width, value[entry]
            for k in range(width):
                mixed[begin + k] += w * flat[a + k]
            entry += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def sum_rows(start, rows, occurrences, values, result):
    """Write Σ occurrences × values[row] over the entries of each group: float64 (n_groups, n)."""
    width, flat, total = UNSIGNED(values.shape[1]), values.ravel(), result.ravel()
    for j in range(start.size - 1):
        begin = UNSIGNED(j) * width
        for k in range(width):
            total[begin + k] = 0.0
        entry, last = start[j], start[j + 1]
        while entry + 4 <= last:
            a, b = UNSIGNED(rows[entry]) * width, UNSIGNED(rows[entry + 1]) * width
            c, d = UNSIGNED(rows[entry + 2]) * width, UNSIGNED(rows[entry + 3]) * width
            w, x = occurrences[entry], occurrences[entry + 1]
            y, z = occurrences[entry + 2], occurrences[entry + 3]
            for k in range(width):
                first, second = w * flat[a + k] + x * flat[b + k], y * flat[c + k] + z * flat[d + k]
                total[begin + k] += first + second
            entry += 4
        while entry < last:
            a, w = UNSIGNED(rows[entry]) * width, occurrences[entry]
            for k in range(width):
                total[begin + k] += w * flat[a + k]
            entry += 1


@njit(cache=True, nogil=True, error_model="numpy")
def sum_groups(start, values):
    """Return the sum of the entries of each group: float64 (n_groups,)."""
    result = np.zeros(start.size - 1)
    for j in range(start.size - 1):
        for entry in range(start[j], start[j + 1]):
            result[j] += values[entry]
    return result


class Blocks(NamedTuple):
    """Entries of some groups, divided into blocks by their row of a table.

    Equal rows are in the same block, whatever the groups are.
    """

    bounds: np.ndarray  # int64: block b of group j is bounds[b * n_groups + j] to the next bound
    entry: np.ndarray  # int64 (n,): entries in this order
    tile_row: np.ndarray  # int32 (n,): their rows in the tile of the block
    first: np.ndarray  # int64 (n_blocks + 1,): the tile of block b has rows first[b]:first[b + 1]
    row: np.ndarray  # int32 (n_distinct,): rows of all tiles


@njit(cache=True, nogil=True, error_model="numpy")
def sort_entries(start, rows, n_blocks, shared, tile_row_of):
    """Divide the entries of groups into blocks.

    Parameters
    ----------
    start : int64 (n_groups + 1,)
        Entries of group j are ``start[j]:start[j + 1]``.
    rows : int32 (n_entries,)
    n_blocks : int
        A power of two.
    shared : bool
        Whether groups share rows, as they share words. Otherwise the block depends on the position
        in the group.
    tile_row_of : int32 (n_rows,)
        Scratch, −1 before and afterwards.
    """
    n_groups, n, n_seen = start.size - 1, start[-1] - start[0], 0
    bounds, first = np.zeros(n_blocks * n_groups + 1, np.int64), np.zeros(n_blocks + 1, np.int64)
    block, seen = np.empty(n, np.int32), np.empty(n, np.int32)
    for j in range(n_groups):
        for entry in range(start[j], start[j + 1]):
            row = rows[entry]
            b = (row if shared else entry - start[j]) & (n_blocks - 1)
            block[entry - start[0]] = b
            bounds[b * n_groups + j + 1] += 1
            if tile_row_of[row] < 0:
                tile_row_of[row] = first[b + 1]
                first[b + 1] += 1
                seen[n_seen] = entry
                n_seen += 1
    for i in range(bounds.size - 1):
        bounds[i + 1] += bounds[i]
    for b in range(n_blocks):
        first[b + 1] += first[b]
    position, order = bounds[:-1].copy(), np.empty(n, np.int64)
    tile_row, distinct = np.empty(n, np.int32), np.empty(n_seen, np.int32)
    for j in range(n_groups):
        for entry in range(start[j], start[j + 1]):
            cell = block[entry - start[0]] * n_groups + j
            order[position[cell]], tile_row[position[cell]] = entry, tile_row_of[rows[entry]]
            position[cell] += 1
    for entry in seen[:n_seen]:
        b, row = block[entry - start[0]], rows[entry]
        distinct[first[b] + tile_row_of[row]] = row
        tile_row_of[row] = -1
    return Blocks(bounds, order, tile_row, first, distinct)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def fill_tile(table, rows, scale, tile):
    """Write ψ of some rows to ``tile``, float32 (n × width,); ``scale`` is padded to the width."""
    first, topic, value, shape, _ = table
    width = UNSIGNED(scale.size)
    for i in range(rows.size):
        row, begin = UNSIGNED(rows[i]), UNSIGNED(i) * width
        row_shape = shape[row]
        for a in range(width):
            tile[begin + a] = row_shape * scale[a]
        for entry in range(UNSIGNED(first[row]), UNSIGNED(first[row + UNSIGNED(1)])):
            m = UNSIGNED(topic[entry])
            tile[begin + m] = value[entry] + row_shape * scale[m]


@njit(cache=True, nogil=True, error_model="numpy")
def padded(values):
    """Return an array whose last axis has zeros up to a multiple of `WIDTH`."""
    n = values.shape[-1]
    result = np.zeros((*values.shape[:-1], n + -n % WIDTH), np.float32)
    result[..., :n] = values
    return result


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def mix_tile(tile_rows, entries, tile, shares, result):
    """Write Σ_m θ_m ψ_m(w) of the entries of a block of one group; ``shares`` are θ, padded."""
    width = UNSIGNED(shares.size)
    for i in range(tile_rows.size):
        begin, total = UNSIGNED(tile_rows[i]) * width, ZERO
        for a in range(width):
            total += shares[a] * tile[begin + a]
        result[entries[i]] = total


@njit(cache=True, nogil=True, error_model="numpy")
def mix_rows(start, rows, table, topics, shared, result):
    """Write Σ_m θ_jm ψ_m(w) of every entry: float32 (n_entries,).

    ``topics``, float32 (n_groups, n_topics), are θ; for the others see `sort_entries`.
    """
    scale, tile_row_of = padded(table.scale), np.full(table.shape.size, -1, np.int32)
    for first in range(0, start.size - 1, MIXED_GROUPS):
        last = min(first + MIXED_GROUPS, start.size - 1)
        blocks = sort_entries(start[first : last + 1], rows, MIX_BLOCKS, shared, tile_row_of)
        shares, n_groups = padded(topics[first:last]), last - first
        tile = np.empty(np.diff(blocks.first).max() * scale.size, np.float32)
        for b in range(MIX_BLOCKS):
            fill_tile(table, blocks.row[blocks.first[b] : blocks.first[b + 1]], scale, tile)
            for j in range(n_groups):
                cell = b * n_groups + j
                part = slice(blocks.bounds[cell], blocks.bounds[cell + 1])
                mix_tile(blocks.tile_row[part], blocks.entry[part], tile, shares[j], result)

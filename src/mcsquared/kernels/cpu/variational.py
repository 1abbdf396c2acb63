"""Expected topics of new groups given the globals, without sampling.

Collapsed variational inference of order zero (Asuncion et al. 2009): the weights θ of the topics
and the responsibilities γ of topics for a token solve

    θ_m  =  λτ_m + Σ_w n_w γ_wm,        γ_wm  =  (θ_m − γ_wm) ψ_m(w) / Y_w

hence γ_wm = θ_m ψ_m(w) / (Y_w + ψ_m(w)), with Y_w such that Σ_m γ_wm = 1. To first order this is
Z − Σ_m θ_m ψ_m(w)² / Z for Z = Σ_m θ_m ψ_m(w), so that γ need not be stored. Equal tokens of a
group share their responsibilities.

The words of the vocabulary are divided into blocks, and θ is updated after every block of a group's
words (incremental EM, Neal and Hinton 1998): three passes are closer to the sampler than seven that
update θ at their end. From the second pass on, updates are over-relaxed. The groups of a batch
share the dense rows of a block, which stay in the second-level cache. The blocks of a group depend
on its own words only, so that its topics do not depend on the other groups.
"""

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.topic_table import (
    UNSIGNED,
    WIDTH,
    ZERO,
    fill_tile,
    padded,
    sort_entries,
)

N_BLOCKS = 16  # of words; a power of two
RELAXATION = np.float32(0.5)  # additional share of an update, from the second pass on
MIN_SUM = np.float32(1e-30)  # smaller sums of a token's weights are imprecise
MIN_OTHERS = np.float32(0.25)  # lower bound of Y_w / Σ_m θ_m ψ_m(w)
MAX_GROWTH = np.float32(4.0)  # upper bound of (θ' / θ)² in an extrapolation
GROUPS_PER_UPDATE = 1024  # groups whose words are sorted together
BATCH_SIZE = 1 << 21  # floats of the counts of all blocks of a batch of groups: 8 MB
KEPT_SIZE = 1 << 18  # floats of tiles that are kept from pass to pass: 1 MB


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def weigh_others(tile_rows, tile, weights, others):
    """Write Y_w of the entries of a block to ``others``; 0 if a word is improbable in all topics.

    ``weights`` are θ, padded, and ``tile`` is from `fill_tile`.
    """
    width = UNSIGNED(weights.size)
    for i in range(tile_rows.size):
        begin, total, square = UNSIGNED(tile_rows[i]) * width, ZERO, ZERO
        for a in range(width):
            product = weights[a] * tile[begin + a]
            total += product
            square += product * tile[begin + a]
        others[i] = ZERO
        if total > MIN_SUM:
            others[i] = max(total - square / total, MIN_OTHERS * total)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def add_ratios(tile_rows, occurrences, tile, others, weights, ratios):
    """Add Σ_w n_w ψ_m(w) / (Y_w + ψ_m(w)) over the entries of a block to ``ratios``."""
    width, i = UNSIGNED(weights.size), 0
    while i < tile_rows.size:
        begin, other, n = UNSIGNED(tile_rows[i]) * width, others[i], occurrences[i]
        if other == ZERO:
            best = tile[begin : begin + width].argmax()
            weights[best] = max(weights[best], MIN_SUM)
            ratios[best] += n / weights[best]
        elif i + 1 < tile_rows.size and others[i + 1] > ZERO:
            # Two entries at a time take less memory traffic.
            i += 1
            second, next_other, more = UNSIGNED(tile_rows[i]) * width, others[i], occurrences[i]
            for a in range(width):
                x, y = tile[begin + a], tile[second + a]
                ratios[a] += n * x / (other + x) + more * y / (next_other + y)
        else:
            for a in range(width):
                ratios[a] += n * tile[begin + a] / (other + tile[begin + a])
        i += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def replace_part(weights, ratios, relaxation, part, counts):
    """Replace a block's part of the counts, extrapolated by ``relaxation``."""
    for a in range(UNSIGNED(weights.size)):
        new = weights[a] * ratios[a]
        new = max(new + relaxation * (new - part[a]), ZERO)
        counts[a] += new - part[a]
        part[a] = new


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def extrapolate(base, ratios, weights):
    """Replace the weights θ of a group by θ' (θ' / θ)², scaled to the sum of θ'."""
    total, scaled_total = ZERO, ZERO
    for a in range(weights.size):
        new = base[a] + weights[a] * ratios[a]
        growth = new / max(weights[a], MIN_SUM)
        total += new
        weights[a] = new * min(growth * growth, MAX_GROWTH)
        scaled_total += weights[a]
    if scaled_total > ZERO:
        weights *= total / scaled_total


@njit(cache=True, nogil=True, error_model="numpy")
def fold_in_batch(blocks, occurrences, table, weights, n_passes):
    """Return the expected counts of a batch of groups, padded; see `fold_in_topics`."""
    n_groups, scale, base = len(weights), padded(table.scale), padded(weights)
    counts = np.zeros_like(base)
    parts = np.zeros((blocks.bounds.size - 1, base.shape[1]), np.float32)
    width, longest = scale.size, np.diff(blocks.bounds).max()
    current, ratios = np.empty(width, np.float32), np.empty(width, np.float32)
    others = np.empty(longest, np.float32)
    is_kept = blocks.row.size * width <= KEPT_SIZE
    n_rows = blocks.row.size if is_kept else np.diff(blocks.first).max()
    tiles = np.empty(n_rows * width, np.float32)
    for number in range(n_passes.max()):
        relaxation = RELAXATION if number else ZERO
        for b in range(blocks.first.size - 1):
            tile = tiles[blocks.first[b] * width if is_kept else 0 :]
            if number == 0 or not is_kept:
                fill_tile(table, blocks.row[blocks.first[b] : blocks.first[b + 1]], scale, tile)
            for j in range(n_groups):
                cell = b * n_groups + j
                entries = slice(blocks.bounds[cell], blocks.bounds[cell + 1])
                if entries.start == entries.stop or number >= n_passes[j]:
                    continue
                for a in range(width):
                    current[a], ratios[a] = base[j, a] + counts[j, a], ZERO
                tile_rows = blocks.tile_row[entries]
                weigh_others(tile_rows, tile, current, others)
                add_ratios(tile_rows, occurrences[entries], tile, others, current, ratios)
                replace_part(current, ratios, relaxation, parts[cell], counts[j])
    return counts


@njit(cache=True, nogil=True, error_model="numpy")
def fold_in_topics(start, rows, occurrences, table, weights, n_passes, shared, counts):
    """Find the expected number of tokens of each topic in each group.

    Parameters
    ----------
    start : int64 (n_groups + 1,)
        Entries of group j are ``start[j]:start[j + 1]``.
    rows : int32 (n_entries,)
    occurrences : float32 (n_entries,)
    table : TopicTable
        ψ_m of each distinct token, up to a factor per row.
    weights : float32 (n_groups, n_topics)
        λτ_m of the group's cluster.
    n_passes : int64 (n_groups,)
        Number of passes over the entries of each group.
    shared : bool
        Whether groups share rows of the table, as they share words.
    counts : float32 (n_groups, n_topics)
        Output: Σ_w n_w γ_wm.
    """
    n_topics, n_groups = weights.shape[1], start.size - 1
    tile_row_of = np.full(table.shape.size, -1, np.int32)
    step = max(1, BATCH_SIZE // ((n_topics + WIDTH) * N_BLOCKS)) if shared else 1
    for first in range(0, n_groups, step):
        batch = slice(first, min(first + step, n_groups))
        bounds = start[first : batch.stop + 1]
        blocks = sort_entries(bounds, rows, N_BLOCKS, shared, tile_row_of)
        sorted_occurrences = occurrences[blocks.entry]
        found = fold_in_batch(blocks, sorted_occurrences, table, weights[batch], n_passes[batch])
        counts[batch] = found[:, :n_topics]


@njit(cache=True, nogil=True, error_model="numpy")
def update_topics(start, rows, occurrences, table, weights, initial, counts):
    """Update the counts of topics that were found with a similar table of words.

    One pass gives the weights θ' = λτ + Σ_w n_w γ_w from the previous ones θ. The result is
    proportional to θ' (θ' / θ)², since a pass covers about a third of the distance.

    Parameters are those of `fold_in_topics`; ``initial``, float32 (n_groups, n_topics), are the
    counts from which the pass starts. Rows are shared.
    """
    n_topics = weights.shape[1]
    scale, tile_row_of = padded(table.scale), np.full(table.shape.size, -1, np.int32)
    for first in range(0, start.size - 1, GROUPS_PER_UPDATE):
        batch = slice(first, min(first + GROUPS_PER_UPDATE, start.size - 1))
        bounds, n_groups = start[first : batch.stop + 1], batch.stop - first
        blocks = sort_entries(bounds, rows, N_BLOCKS, True, tile_row_of)
        sorted_occurrences, base = occurrences[blocks.entry], padded(weights[batch])
        current = base + padded(initial[batch])
        ratios = np.zeros_like(current)
        others = np.empty(np.diff(blocks.bounds).max(), np.float32)
        tile = np.empty(np.diff(blocks.first).max() * scale.size, np.float32)
        for b in range(N_BLOCKS):
            fill_tile(table, blocks.row[blocks.first[b] : blocks.first[b + 1]], scale, tile)
            for j in range(n_groups):
                cell = b * n_groups + j
                entries = slice(blocks.bounds[cell], blocks.bounds[cell + 1])
                tile_rows = blocks.tile_row[entries]
                weigh_others(tile_rows, tile, current[j], others)
                numbers = sorted_occurrences[entries]
                add_ratios(tile_rows, numbers, tile, others, current[j], ratios[j])
        for j in range(n_groups):
            extrapolate(base[j], ratios[j], current[j])
            for m in range(n_topics):
                counts[first + j, m] = max(current[j, m] - weights[first + j, m], ZERO)

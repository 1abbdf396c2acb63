"""Topics and clusters of all groups given the globals, and the counts that follow."""

from dataclasses import replace

import numpy as np

from mcsquared.arrays import Bools, CountArray, Int64s
from mcsquared.kernels.cpu.cells import blocks_per_pass, draw_cells
from mcsquared.observations import MAX_TOKENS
from mcsquared.samplers.steps.contexts import draw_missing_bags
from mcsquared.samplers.threads import ThreadPool, add_in_order
from mcsquared.samplers.types import Cells, Globals, Sums, Sweep
from mcsquared.state import State


def sweep_groups(sweep: Sweep) -> None:
    """Draw every group's topics and cluster on the backend; update the counts."""
    draw_missing_bags(sweep)
    sweep.sums = sweep.backend.sweep_groups(sweep.globals)
    if sweep.topic_sums:
        sweep.sums = replace(sweep.sums, **sweep.topic_sums)
    update_counts(sweep.state, sweep.sums)


def update_counts(state: State, sums: Sums) -> None:
    """Replace the counts of a state by new sums; None leaves a count unchanged."""
    counts = state.counts
    counts.groups_in_cluster = sums.groups
    counts.category_totals = sums.totals
    counts.context_statistics = add_in_order(sums.context_statistics)
    if sums.categories is not None:
        counts.category_counts = sums.categories.T
    if sums.topics_in_cluster is not None:
        state.set_topics_in_cluster(sums.topics_in_cluster)
    if sums.tables_in_cluster is not None:
        state.tables_in_cluster = sums.tables_in_cluster
    if sums.tables_of_values is not None:
        assert state.effects is not None
        state.effects.tables = sums.tables_of_values
    if sums.words_in_topic is not None:
        counts.words_in_topic = sums.words_in_topic
    if sums.topic_statistics is not None:
        counts.topic_statistics = add_in_order(sums.topic_statistics)
    if sums.children is not None:
        state.levels[0].children, state.levels[0].orphans = sums.children[:-1], sums.children[-1]


def draw_cell_topics(sweep: Sweep) -> None:
    """Draw the topics of words by (cluster, word) cell (λ = ∞).

    Tokens of a cell are exchangeable, so it does not matter which groups they belong to. The step
    does nothing if topics are drawn by token or were drawn on a device.
    """
    cells, globals_, state = sweep.sums.cells, sweep.globals, sweep.state
    if cells is None:
        return
    layout, words = sweep.observations.layout, state.counts.words_in_topic
    dtype = count_dtype(sweep.observations.n_tokens)
    if words.dtype != dtype:
        words = state.counts.words_in_topic = np.empty(words.shape, dtype)
    arguments = (cells, layout.word_start, layout.word_chunk_start, globals_, sweep.backend.threads)
    topics = draw_topics_of_cells(*arguments, words)
    clear_closed_slots(topics, words, globals_.weights.topic_weights > 0.0)
    state.set_topics_in_cluster(topics)


def count_dtype(n_tokens: int) -> type[np.signedinteger]:
    """Return the type of counts that may be as large as the number of tokens."""
    return np.int64 if n_tokens > MAX_TOKENS else np.int32


def draw_topics_of_cells(
    cells: Cells,
    word_start: Int64s,
    bounds: Int64s,
    globals_: Globals,
    threads: ThreadPool,
    words: CountArray,
) -> CountArray:
    """Draw the topics of the cells of some words; return their counts by cluster and topic.

    ``word_start`` (n_words + 1,) is the first token of each word, if tokens are sorted by word, and
    ``bounds`` (n_chunks + 1,) are chunks of the words, whose rows of ``words`` (n_words, topic
    slots) are overwritten by their counts.
    """
    variates, shares = globals_.content, globals_.scaled_shares
    n_slots, per_pass = shares.shape[1], blocks_per_pass(shares.shape[1])
    cells_of_word = (cells.entries, word_start, cells.cluster_of_column)
    weights = (shares.reshape(-1), variates.reshape(-1), globals_.key)

    def draw(first: int, last: int) -> CountArray:
        topics = np.zeros(shares.shape, words.dtype)
        part, out = (bounds[first], bounds[last]), (topics.reshape(-1), words.reshape(-1))
        draw_cells(*part, n_slots, per_pass, *cells_of_word, *weights, *out)
        return topics

    work = 5.0 * float(word_start[bounds[-1]] - word_start[bounds[0]]) + 1.1 * words.size
    first, *others = threads.map(len(bounds) - 1, draw, work=work)
    return sum(others, start=first)


def clear_closed_slots(topics: CountArray, words: CountArray, is_open: Bools) -> None:
    """Move tokens that rounding put into slots without weight to a neighbouring open slot.

    This is very rare, see `mcsquared.kernels.cpu.cells`, but bounds on the number of topics must
    hold. Counts by cluster and by word are changed in the same way.
    """
    for m in np.flatnonzero(~is_open & topics.any(axis=0)):
        candidates = np.flatnonzero(is_open)
        neighbour = candidates[max(int(np.searchsorted(candidates, m)) - 1, 0)]
        for counts in (topics, words):
            counts[:, neighbour] += counts[:, m]
            counts[:, m] = 0

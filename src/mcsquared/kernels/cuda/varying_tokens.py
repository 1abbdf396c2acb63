"""Topics of words in groups that vary within their cluster (λ finite): one warp per group.

    p(l_ji = m)  ∝  (n_jm + λ τ_km) ψ_mw        n_jm excludes token i

As in the CPU kernel, a block is sixteen consecutive topics, one per lane, and topics are ordered by
lane. Thread 2 i handles the first half of the blocks of lane i, and thread 2 i + 1 the second half,
so that a sum over threads visits the topics in the order of the CPU. The counts and weights of a
thread stay in its registers.
"""

from functools import cache

from numba import cuda, float32, int32, int64, uint32, uint64

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cuda.launch import N_WARPS, one_warp_each
from mcsquared.kernels.cuda.rng import two_uniforms
from mcsquared.kernels.cuda.warp import (
    ballot,
    count_topics,
    ffs,
    running_sum,
    shuffle,
    thread_of_warp,
    warp_of_block,
    warp_of_grid,
)
from mcsquared.kernels.rng import BLOCK, Step

TOPICS = int(Step.TOPICS)


@cache
def sweep_tokens(n_blocks):
    """Return a kernel that draws the topics of all tokens and counts them by word.

    It is compiled for ``n_blocks`` blocks of sixteen topic slots. ``base`` is λ τ_km, ``factors``
    ψ_mw up to a common factor, float32 (n_words × topic slots,). Counts are added to
    ``words_in_topic``, int32 (n_words × topic slots,).
    """
    per_thread = (n_blocks + 1) // 2  # blocks per thread
    stride = n_blocks * N_LANES

    @one_warp_each(fastmath=True)
    def kernel(
        n_groups,
        first_group,
        first_token,
        order,
        group_start,
        word,
        base,
        factors,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topic_of_token,
        words_in_topic,
    ):
        count = cuda.shared.array((N_WARPS, stride), int32)
        thread, warp, warp_index = thread_of_warp(), warp_of_block(), warp_of_grid()
        if warp_index >= n_groups:
            return
        n = cuda.local.array(per_thread, float32)
        weight = cuda.local.array(per_thread, float32)
        factor = cuda.local.array(per_thread, float32)
        next_factor = cuda.local.array(per_thread, float32)
        sums = cuda.local.array(per_thread, float32)
        # The first topic of a thread; the others follow at intervals of sixteen.
        first_topic = (thread & int32(1)) * int32(per_thread * N_LANES) + (thread >> int32(1))
        j = order[warp_index]
        first, last = group_start[j], group_start[j + 1]
        row = int64(cluster_of_group[j]) * stride
        # Topics are counted in shared memory; then each thread copies the counts of its topics.
        count_topics(stride, first, last, topic_of_token, count)
        # If the number of blocks is odd, half of the threads have no last block: they read the
        # factor of their first block instead, with a weight of 0.
        last_topic = first_topic + int32((per_thread - 1) * N_LANES)
        lacks_last_block = last_topic >= int32(stride)
        if lacks_last_block:
            last_topic = first_topic
        for r in range(per_thread):
            n[r] = float32(0.0)
            weight[r] = float32(0.0)
            if r < per_thread - 1 or not lacks_last_block:
                n[r] = float32(count[warp, first_topic + r * N_LANES])
                weight[r] = base[row + first_topic + r * N_LANES]

        random_block = (first_token + first) // BLOCK + first_group + j
        u0 = u1 = float32(0.0)
        is_second_half = False
        begin = first
        while begin < last:
            i = begin + thread
            topic = int32(0)
            word_of_thread = int32(0)
            if i < last:
                topic = int32(topic_of_token[i])
                word_of_thread = int32(word[i])
            # A block of random numbers has 64 of them, for two passes.
            if not is_second_half:
                u0, u1 = two_uniforms(seed, chain, sweep, TOPICS, random_block, thread)
                random_block += 1
            u_of_thread = u1 if is_second_half else u0
            is_second_half = not is_second_half
            n_tokens = int32(min(int64(32), last - begin))
            word_row = uint64(uint32(shuffle(word_of_thread, 0))) * uint64(stride)
            for r in range(per_thread - 1):
                next_factor[r] = factors[word_row + uint64(uint32(first_topic + r * N_LANES))]
            next_factor[per_thread - 1] = factors[word_row + uint64(uint32(last_topic))]
            for t in range(n_tokens):
                for r in range(per_thread):
                    factor[r] = next_factor[r]
                next_word = uint32(shuffle(word_of_thread, min(t + 1, 31)))
                word_row = uint64(next_word) * uint64(stride)
                for r in range(per_thread - 1):
                    next_factor[r] = factors[word_row + uint64(uint32(first_topic + r * N_LANES))]
                next_factor[per_thread - 1] = factors[word_row + uint64(uint32(last_topic))]
                old = shuffle(topic, t)
                u = shuffle(u_of_thread, t)
                distance = old - first_topic
                total = float32(0.0)
                for r in range(per_thread):
                    if distance == int32(r * N_LANES):
                        n[r] -= float32(1.0)
                    total += (n[r] + weight[r]) * factor[r]
                    sums[r] = total
                running = running_sum(total, thread)
                threshold = u * shuffle(running, 31)
                beyond = ballot(running > threshold)
                drawn = old  # kept if, by rounding, no sum exceeds the threshold
                if beyond != 0:
                    source = int32(ffs(beyond))
                    # At least 0, because otherwise rounding could select a topic of weight 0.
                    rest = max(threshold - (running - total), float32(0.0))
                    passed = int32(0)
                    for r in range(per_thread):
                        passed += int32(sums[r] <= rest)
                    passed = shuffle(passed, source)
                    if passed < int32(per_thread):
                        block_of_topic = (source & int32(1)) * int32(per_thread) + passed
                        drawn = block_of_topic * int32(N_LANES) + (source >> int32(1))
                distance = drawn - first_topic
                for r in range(per_thread):
                    if distance == int32(r * N_LANES):
                        n[r] += float32(1.0)
                if thread == t:
                    topic = drawn
            if i < last:
                topic_of_token[i] = topic
                cuda.atomic.add(words_in_topic, int64(word_of_thread) * stride + topic, 1)
            begin += 32

    return kernel

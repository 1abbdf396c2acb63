"""Topics of words in groups whose mixtures vary around their cluster's: one warp for each group.

    p(l_ji = m)  ∝  (n_jm + λ τ_km) ψ_mw        n_jm without the token

Topics lie in the order of the CPU's kernel, sixteen lanes of blocks: thread 2 i has the first half
of the blocks of lane i, thread 2 i + 1 the second half, so that a sum over threads visits the
topics in the CPU's order. A thread's counts and weights stay in its registers.
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
    """Return a kernel that draws the topics of all tokens, and counts them by word.

    It is compiled for ``n_blocks`` blocks of sixteen topic slots. Counts are added to
    ``words_in_topic``, int32 (n_words × topic slots,).
    """
    per_thread = (n_blocks + 1) // 2  # blocks of a thread
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
        thread, warp, at = thread_of_warp(), warp_of_block(), warp_of_grid()
        if at >= n_groups:
            return
        n = cuda.local.array(per_thread, float32)
        weight = cuda.local.array(per_thread, float32)
        factor = cuda.local.array(per_thread, float32)
        following = cuda.local.array(per_thread, float32)
        sums = cuda.local.array(per_thread, float32)
        # The first of a thread's topics; the others follow sixteen apart.
        first_topic = (thread & int32(1)) * int32(per_thread * N_LANES) + (thread >> int32(1))
        j = order[at]
        first, last = group_start[j], group_start[j + 1]
        row = int64(cluster_of_group[j]) * stride
        # Counted in shared memory, then each thread takes the counts of its topics.
        count_topics(stride, first, last, topic_of_token, count)
        # Where the number of blocks is odd, half the threads have no last block: they read the
        # factor of their first instead, with a weight of 0.
        final = first_topic + int32((per_thread - 1) * N_LANES)
        is_none = final >= int32(stride)
        if is_none:
            final = first_topic
        for r in range(per_thread):
            n[r] = float32(0.0)
            weight[r] = float32(0.0)
            if r < per_thread - 1 or not is_none:
                n[r] = float32(count[warp, first_topic + r * N_LANES])
                weight[r] = base[row + first_topic + r * N_LANES]

        block = (first_token + first) // BLOCK + first_group + j
        number0 = number1 = float32(0.0)
        second = False
        begin = first
        while begin < last:
            i = begin + thread
            topic = int32(0)
            word_of_thread = int32(0)
            if i < last:
                topic = int32(topic_of_token[i])
                word_of_thread = int32(word[i])
            # A block of random numbers serves 64 tokens.
            if not second:
                number0, number1 = two_uniforms(seed, chain, sweep, TOPICS, block, thread)
                block += 1
            number = number1 if second else number0
            second = not second
            n_tokens = int32(min(int64(32), last - begin))
            at_word = uint64(uint32(shuffle(word_of_thread, 0))) * uint64(stride)
            for r in range(per_thread - 1):
                following[r] = factors[at_word + uint64(uint32(first_topic + r * N_LANES))]
            following[per_thread - 1] = factors[at_word + uint64(uint32(final))]
            for t in range(n_tokens):
                for r in range(per_thread):
                    factor[r] = following[r]
                at_word = uint64(uint32(shuffle(word_of_thread, min(t + 1, 31)))) * uint64(stride)
                for r in range(per_thread - 1):
                    following[r] = factors[at_word + uint64(uint32(first_topic + r * N_LANES))]
                following[per_thread - 1] = factors[at_word + uint64(uint32(final))]
                old = shuffle(topic, t)
                u = shuffle(number, t)
                off = old - first_topic
                total = float32(0.0)
                for r in range(per_thread):
                    if off == int32(r * N_LANES):
                        n[r] -= float32(1.0)
                    total += (n[r] + weight[r]) * factor[r]
                    sums[r] = total
                running = running_sum(total, thread)
                threshold = u * shuffle(running, 31)
                beyond = ballot(running > threshold)
                drawn = old  # by rounding no sum may be above the threshold: then the token stays
                if beyond != 0:
                    holder = int32(ffs(beyond))
                    # Not below 0, or rounding could draw a topic without weight.
                    rest = max(threshold - (running - total), float32(0.0))
                    passed = int32(0)
                    for r in range(per_thread):
                        passed += int32(sums[r] <= rest)
                    passed = shuffle(passed, holder)
                    if passed < int32(per_thread):
                        at_block = (holder & int32(1)) * int32(per_thread) + passed
                        drawn = at_block * int32(N_LANES) + (holder >> int32(1))
                off = drawn - first_topic
                for r in range(per_thread):
                    if off == int32(r * N_LANES):
                        n[r] += float32(1.0)
                if thread == t:
                    topic = drawn
            if i < last:
                topic_of_token[i] = topic
                cuda.atomic.add(words_in_topic, int64(word_of_thread) * stride + topic, 1)
            begin += 32

    return kernel

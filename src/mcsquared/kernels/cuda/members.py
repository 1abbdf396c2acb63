"""Groups that vary around their cluster, on the GPU: a warp of 32 threads for each group.

    p(l_ji = m)  ∝  (n_jm + λ τ_km) ψ_mw        n_jm without the token

Topics lie in the order of the CPU's kernel, sixteen lanes of blocks: thread 2 i has the first half
of the blocks of lane i, thread 2 i + 1 the second half, so that a sum over threads runs through the
topics as the CPU's does. A thread's counts and weights stay in its registers.
"""

from functools import cache

from numba import cuda, float32, int32, int64, uint32, uint64

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cuda.numbers import four_words, place_of, unit
from mcsquared.kernels.cuda.warp import N_WARPS, THREADS, first_of, meet, running_sum, shuffle, vote
from mcsquared.kernels.rng import BLOCK, Step

__all__ = ["sweep_tokens"]

TOPICS = int(Step.TOPICS)


def sweep_tokens(
    n_groups,
    first_group,
    first_token,
    slots,
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
    """Draw the topics of all tokens, and count them by word.

    Parameters
    ----------
    first_group, first_token : int
        Groups and tokens of the corpus before these: random numbers are those of the whole.
    order : int64 (n_groups,)
        The groups, longest first: the last ones to be worked on are short.
    slots : (int, int)
        Of clusters and topics.
    base : float32 (cluster slots × topic slots,)
        λ τ_km.
    factors : float32 (n_words × topic slots,)
        ψ_mw, a word's row after another; any common factor.
    topic_of_token : uint16 (n_tokens,)
    words_in_topic : int32 (n_words × topic slots,)
        Counts are added to it.
    """
    kernel = _sweep_tokens_of(slots[1] // N_LANES)
    grid = max((n_groups + N_WARPS - 1) // N_WARPS, 1)
    kernel[grid, THREADS](
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
    )


@cache
def _sweep_tokens_of(n_blocks):
    """Return the kernel for so many blocks of sixteen topic slots: known when it is compiled."""
    own = (n_blocks + 1) // 2  # blocks of a thread
    stride = n_blocks * N_LANES

    @cuda.jit(fastmath=True)
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
        thread = int32(cuda.threadIdx.x & 31)
        warp = cuda.threadIdx.x // 32
        at = int64(cuda.blockIdx.x) * N_WARPS + warp
        if at >= n_groups:
            return
        n = cuda.local.array(own, float32)
        weight = cuda.local.array(own, float32)
        factor = cuda.local.array(own, float32)
        following = cuda.local.array(own, float32)
        sums = cuda.local.array(own, float32)
        # The first of a thread's topics; the others follow sixteen apart.
        mine = (thread & int32(1)) * int32(own * N_LANES) + (thread >> int32(1))
        j = order[at]
        first, last = group_start[j], group_start[j + 1]
        row = int64(cluster_of_group[j]) * stride
        # Counted where all threads can reach, then each takes its own topics' counts.
        for m in range(thread, stride, 32):
            count[warp, m] = 0
        meet()
        for i in range(first + thread, last, 32):
            cuda.atomic.add(count, (warp, int32(topic_of_token[i])), 1)
        meet()
        # Where the number of blocks is odd, the last block of half the threads is none: they read
        # the factor of their first instead, and it weighs nothing.
        final = mine + int32((own - 1) * N_LANES)
        is_none = final >= int32(stride)
        if is_none:
            final = mine
        for r in range(own):
            n[r] = float32(0.0)
            weight[r] = float32(0.0)
            if r < own - 1 or not is_none:
                n[r] = float32(count[warp, mine + r * N_LANES])
                weight[r] = base[row + mine + r * N_LANES]

        place = place_of(TOPICS, 0)
        block = uint64((first_token + first) // BLOCK + first_group + j) * uint64(16)
        counter = uint64(thread & int32(15))
        low = thread < int32(16)
        number0 = number1 = float32(0.0)
        second = False
        begin = first
        while begin < last:
            i = begin + thread
            topic = int32(0)
            own_word = int32(0)
            if i < last:
                topic = int32(topic_of_token[i])
                own_word = int32(word[i])
            # Four words of sixteen counters are the numbers of 64 tokens.
            if not second:
                w0, w1, w2, w3 = four_words(
                    block + counter, uint64(sweep), place, uint64(seed), uint64(chain)
                )
                number0 = unit(w0) if low else unit(w1)
                number1 = unit(w2) if low else unit(w3)
                block += uint64(16)
            number = number1 if second else number0
            second = not second
            n_tokens = int32(min(int64(32), last - begin))
            at_word = uint64(uint32(shuffle(own_word, 0))) * uint64(stride)
            for r in range(own - 1):
                following[r] = factors[at_word + uint64(uint32(mine + r * N_LANES))]
            following[own - 1] = factors[at_word + uint64(uint32(final))]
            for t in range(n_tokens):
                for r in range(own):
                    factor[r] = following[r]
                at_word = uint64(uint32(shuffle(own_word, min(t + 1, 31)))) * uint64(stride)
                for r in range(own - 1):
                    following[r] = factors[at_word + uint64(uint32(mine + r * N_LANES))]
                following[own - 1] = factors[at_word + uint64(uint32(final))]
                old = shuffle(topic, t)
                u = shuffle(number, t)
                off = old - mine
                total = float32(0.0)
                for r in range(own):
                    if off == int32(r * N_LANES):
                        n[r] -= float32(1.0)
                    total += (n[r] + weight[r]) * factor[r]
                    sums[r] = total
                upto = running_sum(total, thread)
                threshold = u * shuffle(upto, 31)
                beyond = vote(upto > threshold)
                drawn = old  # by rounding no sum may be beyond the threshold: then the token stays
                if beyond != 0:
                    holder = int32(first_of(beyond))
                    # Not below 0, lest by rounding a topic without weight is drawn.
                    rest = max(threshold - (upto - total), float32(0.0))
                    passed = int32(0)
                    for r in range(own):
                        passed += int32(sums[r] <= rest)
                    passed = shuffle(passed, holder)
                    if passed < int32(own):
                        drawn = ((holder & int32(1)) * int32(own) + passed) * int32(N_LANES) + (
                            holder >> int32(1)
                        )
                off = drawn - mine
                for r in range(own):
                    if off == int32(r * N_LANES):
                        n[r] += float32(1.0)
                if thread == t:
                    topic = drawn
            if i < last:
                topic_of_token[i] = topic
                cuda.atomic.add(words_in_topic, int64(own_word) * stride + topic, 1)
            begin += 32

    return kernel

"""What no GPU of a kind can be faster than: bytes that must move, instructions that must be issued.

Both are counted for words, from below: what is left out (contexts, tables as small as clusters ×
topics) is small beside it, and a sweep that reached a limit would do nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ISSUED", "MOVED", "Work"]

MOVED = 4.8e12  # bytes/s: memory of an H200, by its data sheet
ISSUED = 132 * 4 * 1.98e9  # instructions of 32 threads/s: processors, schedulers of each, clock


@dataclass(frozen=True)
class Work:
    """The size of a sweep over words.

    Parameters
    ----------
    entries : int
        Different words of each group, summed over groups.
    clusters, topics : int
        Slots, the empty ones included: kernels work on all of them.
    varies : bool
        Whether λ is finite.
    """

    groups: int
    tokens: int
    entries: int
    words: int
    clusters: int
    topics: int
    varies: bool

    @property
    def bytes_moved(self) -> float:
        """Return the bytes of what is read once and of what is written once."""
        # A group's bounds, and its cluster before and after; a topic's words: old counts are read,
        # ψ is written and read again, new counts are written.
        every = 16 * self.groups + 16 * self.words * self.topics
        if self.varies:
            return every + 8 * self.tokens  # a word, its topic before and after
        # Words with counts; mixtures and tokens by (word, cluster), each written and read.
        return every + 8 * self.entries + 16 * self.words * self.clusters

    @property
    def bytes_of_rows(self) -> float:
        """Return the bytes of rows that tokens or entries look up, had no cache any of them."""
        row = self.tokens * self.topics if self.varies else self.entries * self.clusters
        return 4.0 * row

    @property
    def instructions(self) -> float:
        """Return instructions of warps: those without which no topic or cluster can be drawn."""
        by_topic, by_cluster = -(-self.topics // 32), -(-self.clusters // 32)
        if self.varies:
            # For 32 topics: load ψ, add n + λτ, multiply and add, compare. For a token: a sum over
            # 32 threads in five steps of two, a vote, a threshold, four values from other threads.
            return self.tokens * (4 * by_topic + 20)
        # For 32 clusters: load, multiply and add. A token's number and its search: 110 for 32.
        return self.entries * 2 * by_cluster + self.tokens * 110 / 32

    @property
    def milliseconds(self) -> tuple[float, float, float]:
        """Return the limits: bytes moved, rows without a cache, instructions."""
        seconds = (
            self.bytes_moved / MOVED,
            self.bytes_of_rows / MOVED,
            self.instructions / ISSUED,
        )
        return (1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2])

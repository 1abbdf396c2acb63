"""Lower bounds on the time of a sweep on a GPU: bytes to be moved, instructions to be issued.

They apply to words; contexts and tables of clusters × topics are neglected.
"""

from __future__ import annotations

from dataclasses import dataclass

BYTES_PER_SECOND = 4.8e12  # memory bandwidth of an H200 (data sheet)
# Warp instructions: multiprocessors × schedulers per multiprocessor × clock.
INSTRUCTIONS_PER_SECOND = 132 * 4 * 1.98e9


@dataclass(frozen=True)
class Work:
    """The size of a sweep over words.

    Parameters
    ----------
    entries : int
        Distinct words of each group, summed over groups.
    clusters, topics : int
        Slots, including empty ones: kernels process all of them.
    groups_vary : bool
        Whether λ is finite.
    """

    groups: int
    tokens: int
    entries: int
    words: int
    clusters: int
    topics: int
    groups_vary: bool

    @property
    def bytes_moved(self) -> float:
        """Return the number of bytes that are read or written, each once."""
        # The bounds of a group, its old and new cluster; per word and topic: old counts are read,
        # ψ is written and read, new counts are written.
        common = 16 * self.groups + 16 * self.words * self.topics
        if self.groups_vary:
            return common + 8 * self.tokens  # a word, its old and new topic
        # Words with counts; mixtures and token counts by (word, cluster), each written and read.
        return common + 8 * self.entries + 16 * self.words * self.clusters

    @property
    def bytes_of_rows(self) -> float:
        """Return the bytes read if every token or entry reads its whole row from memory."""
        n_values = self.tokens * self.topics if self.groups_vary else self.entries * self.clusters
        return 4.0 * n_values

    @property
    def instructions(self) -> float:
        """Return the warp instructions that are necessary to draw topics and clusters."""
        topic_steps, cluster_steps = -(-self.topics // 32), -(-self.clusters // 32)
        if self.groups_vary:
            # Per 32 topics: load ψ, add n + λτ, multiply and add, compare. Per token: a sum over
            # 32 threads in five steps of two, a ballot, a threshold, four shuffles.
            return self.tokens * (4 * topic_steps + 20)
        # Per 32 clusters: load, multiply and add. Random numbers and search: 110 per 32 tokens.
        return self.entries * 2 * cluster_steps + self.tokens * 110 / 32

    @property
    def milliseconds(self) -> tuple[float, float, float]:
        """Return the lower bounds by `bytes_moved`, `bytes_of_rows` and `instructions`."""
        seconds = (
            self.bytes_moved / BYTES_PER_SECOND,
            self.bytes_of_rows / BYTES_PER_SECOND,
            self.instructions / INSTRUCTIONS_PER_SECOND,
        )
        return (1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2])

"""The prior of a split or merge of clusters if there are levels above groups.

The mixtures Π_t of types over clusters are integrated out given the weights π at the root, of which
a split divides one. A_t and B_t are the numbers of groups on the two sides whose parent has type t,
S_t is their sum, and o_A and o_B are the numbers of groups without a parent:

    π_A = u π_S,   π_B = (1 − u) π_S,   u ~ q = Beta(a_A, a_B)
    log gain  =  log α − log u − log(1 − u) + o_A log u + o_B log(1 − u) − log q(u)
                 + Σ_t [ ln (vπ_A)^(A_t) + ln (vπ_B)^(B_t) − ln (vπ_S)^(S_t) ]

where x^(n) = Γ(x + n) / Γ(x), v is that of the lowest level, and a_A is the expected number of
draws of A from the root if the weight were divided equally. The log gain takes the place of
log α + ln Γ(n_A) + ln Γ(n_B) − ln Γ(n_S) in `mcsquared.samplers.steps.split_merge`.
"""

import numpy as np
from scipy.special import betaln, digamma

from mcsquared.arrays import Bools, Floats, Int32s
from mcsquared.families.numerics import log_rising_factorial
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.divisions import RowCount, count_rows
from mcsquared.samplers.steps.concentrations import draw_dp_weights
from mcsquared.samplers.steps.levels import draw_crt
from mcsquared.samplers.types import Key, Sweep

MIN_WEIGHT = 1e-300


class RootWeights:
    """Weights π of the clusters at the root, updated as clusters are split and merged."""

    weights: Floats  # π (cluster slots,); 0 for empty slots
    first_shares: Floats  # u of every pair

    def __init__(self, sweep: Sweep, key: Key) -> None:
        self.sweep, state = sweep, sweep.state
        self.rng = key.generator(Step.TYPE_MOVES)
        occupied = state.root_counts > 0
        self.weights = np.zeros(len(occupied))
        drawn, _ = draw_dp_weights(state.root_counts[occupied], state.alpha, self.rng)
        self.weights[occupied] = np.maximum(drawn, MIN_WEIGHT)

    @property
    def row_of_unit(self) -> Int32s:
        """The type of every unit and, at the end, the row of groups without a parent."""
        assert self.sweep.globals.parent_weights is not None
        return self.sweep.globals.parent_weights.row_of_unit

    def log_gain(self, clusters: Int32s, is_split: Bools) -> Floats:
        """Draw the shares of the first sides of splits; return the log gain of every pair.

        ``clusters`` (n_pairs, 2) are those of the anchors.
        """
        state, n_pairs = self.sweep.state, len(clusters)
        argument = RowCount(self.row_of_unit, 2 * n_pairs + 1)
        rows = self.sweep.backend.sum_groups(count_rows, argument)["rows"][:, : 2 * n_pairs]
        by_pair = rows.reshape(len(rows), n_pairs, 2).astype(np.float64)
        inside, orphans, v = by_pair[:-1], by_pair[-1], state.levels[0].v
        first, second = self.weights[clusters].T
        total = np.where(is_split, first, first + second)
        shapes = orphans + mean_tables(inside, 0.5 * v * total[:, None]).sum(axis=0)
        drawn = self.rng.beta(shapes[:, 0], shapes[:, 1])
        share = np.clip(np.where(is_split, drawn, first / total), MIN_WEIGHT, 1.0 - 1e-16)
        self.first_shares = share
        both = np.stack([share, 1.0 - share], axis=1)
        logs = np.log(both)
        value = np.log(state.alpha) - logs.sum(axis=1) + (orphans * logs).sum(axis=1)
        value += log_rising_factorial(v * both * total[:, None], inside).sum(axis=(0, 2))
        value -= log_rising_factorial(v * total, inside.sum(axis=2)).sum(axis=0)
        log_proposal = ((shapes - 1.0) * logs).sum(axis=1) - betaln(shapes[:, 0], shapes[:, 1])
        return np.asarray(value - log_proposal)

    def split(self, pair: int, a: int, b: int) -> None:
        """Divide the weight of cluster a between a and b."""
        if b >= len(self.weights):
            self.weights = np.pad(self.weights, (0, b + 1 - len(self.weights)))
        share, total = self.first_shares[pair], self.weights[a]
        self.weights[[a, b]] = max(share * total, MIN_WEIGHT), max((1 - share) * total, MIN_WEIGHT)

    def merge(self, a: int, b: int) -> None:
        """Add the weight of cluster b to that of a."""
        self.weights[[a, b]] = self.weights[a] + self.weights[b], 0.0

    def redraw_tables(self) -> None:
        """Draw the tables of the new clusters, whose groups are counted by type of their parent."""
        state = self.sweep.state
        level, n_slots = state.levels[0], len(state.counts.groups_in_cluster)
        weights = np.pad(self.weights, (0, n_slots - len(self.weights)))
        tables = draw_crt(level.children, level.v * weights, self.rng)
        level.draws_below = tables.sum(axis=0) + level.orphans


def mean_tables(customers: Floats, concentration: Floats) -> Floats:
    """Return the mean of CRT(customers, concentration), elementwise; 0 without customers."""
    a = np.maximum(np.broadcast_to(concentration, customers.shape), MIN_WEIGHT)
    mean = a * (digamma(a + customers) - digamma(a))
    return np.where(customers > 0, np.maximum(mean, 1.0), 0.0)

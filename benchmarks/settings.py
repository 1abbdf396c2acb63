"""How long and how large a run is; every question reads the same settings."""

from dataclasses import dataclass, replace

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Sizes of a run; the defaults are those of the committed table.

    Parameters
    ----------
    n_topics, n_clusters : int
        What every contender starts with.
    warm_up : int
        Sweeps before any is timed: the first compiles, and those from a random start cost less or
        more than later ones.
    sweeps : int
        Timed sweeps of each contender, one after the other in turn.
    fit_sweeps : int
        Sweeps of the whole fits whose memory is measured.
    consensus_groups, consensus_draws : int
    repeats : int
        How often a command is started to time it.
    simulated : bool
        Use a simulated corpus even where the NIPS set is at hand.
    scale : float
        Size of the simulated corpus against NIPS.
    """

    n_topics: int = 100
    n_clusters: int = 30
    warm_up: int = 20
    sweeps: int = 15
    fit_sweeps: int = 20
    consensus_groups: int = 100_000
    consensus_draws: int = 100
    repeats: int = 7
    simulated: bool = False
    scale: float = 1.0
    seed: int = 0

    def quick(self) -> "Settings":
        """Return settings that end in a minute or two and say little about speed."""
        return replace(
            self, warm_up=2, sweeps=3, fit_sweeps=5, consensus_groups=10_000, repeats=2, scale=0.1
        )

"""Prior correlation of two tokens (appendix A.1.3), by simulation.

The paper derives P(φ ∈ A1, φ' ∈ A2) for the parameters of two tokens of one group and of two
groups, with all measures integrated out. Its formulas are wrong: if A1 and A2 are the whole space
they do not give 1 (docs/errata.md, lines 1 and 2). This experiment draws the measures: the root
from DP(η S), clusters from DP(v Q0), the clusters of groups by breaking the sticks of GEM(α). A
Dirichlet process restricted to the four cells of A1 and A2 is a Dirichlet distribution, and sticks
are broken until one of the two groups is assigned, so nothing is truncated. The same probability
also follows from how often two tokens share a topic in corpora of `mcsquared.datasets.simulate`,
which does not use measures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mcsquared as mc2

from .running import Setting

__all__ = ["KEYS", "SEEDS", "TITLE", "corrected", "figures", "printed", "run"]

TITLE = "Probability that φ ∈ A1 and φ' ∈ A2, by simulation and by formula (appendix A.1.3)"
KEYS = ("pair", "alpha", "v", "eta")
SEEDS = 5

PAIRS = ("one group", "two groups")
V = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ALPHA_AND_ETA = ((1.0, 2.0), (5.0, 0.5))
# S of the four cells: in both sets, in the first alone, in the second alone, in neither.
CELLS = np.array([0.25, 0.05, 0.05, 0.65])
IN_FIRST, IN_SECOND = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
BOTH, FIRST, SECOND = CELLS[0], CELLS @ IN_FIRST, CELLS @ IN_SECOND


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Simulate every choice of concentrations and evaluate both formulas."""
    rng = np.random.default_rng(seed)
    n_draws, n_corpora = setting.choose((100_000, 1_000), (2_000, 20))
    rows = []
    for alpha, eta in ALPHA_AND_ETA:
        for v in V:
            drawn = draw_measures(alpha, v, eta, n_draws, rng)
            by_corpora = draw_corpora(alpha, v, eta, n_corpora, rng)
            for pair in PAIRS:
                rows.append(
                    {
                        "pair": pair,
                        "alpha": alpha,
                        "v": v,
                        "eta": eta,
                        "simulated": drawn[pair],
                        "by_corpora": by_corpora[pair],
                        "corrected": corrected(pair, alpha, v, eta),
                        "printed": printed(pair, alpha, v, eta),
                    }
                )
    return rows


def corrected(pair: str, alpha: float, v: float, eta: float) -> float:
    """Return the probability by the corrected formulas (docs/errata.md, lines 1b and 1c)."""
    at_root = (BOTH + eta * FIRST * SECOND) / (1.0 + eta)
    if pair == "one group":
        return float((BOTH + v * at_root) / (1.0 + v))
    scale = (1.0 + alpha) * (1.0 + v)
    return float(BOTH / scale + (v + alpha * (1.0 + v)) / scale * at_root)


def printed(pair: str, alpha: float, v: float, eta: float) -> float:
    """Return the probability by the formulas of the paper."""
    inner = v * (v + 1.0)
    at_root = (BOTH + FIRST * SECOND) / (eta * (eta + 1.0))
    if pair == "one group":
        return float((BOTH + at_root) / inner)
    return float((BOTH + (alpha * inner + 1.0) * at_root) / ((1.0 + alpha) * inner))


def draw_measures(
    alpha: float, v: float, eta: float, n_draws: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the mean of Q(A1) Q'(A2) over draws of all measures."""
    root = _dirichlet(np.broadcast_to(eta * CELLS, (n_draws, CELLS.size)), rng)
    one, other = _dirichlet(v * root, rng), _dirichlet(v * root, rng)
    second = np.where(_same_cluster(alpha, n_draws, rng), one @ IN_SECOND, other @ IN_SECOND)
    first = one @ IN_FIRST
    return {
        "one group": float(np.mean(first * (one @ IN_SECOND))),
        "two groups": float(np.mean(first * second)),
    }


def draw_corpora(
    alpha: float, v: float, eta: float, n_corpora: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the probabilities from simulated corpora of two groups of two tokens."""
    shared = np.zeros(2)
    for _ in range(n_corpora):
        drawn = mc2.datasets.simulate(
            2, tokens_per_group=2, n_words=4, alpha=alpha, v=v, eta=eta, random_state=rng
        )
        topic = drawn.topic_of_token
        shared += topic[0] == topic[1], topic[0] == topic[2]
    shares = shared / n_corpora
    probabilities = shares * BOTH + (1.0 - shares) * FIRST * SECOND
    return dict(zip(PAIRS, map(float, probabilities), strict=True))


def _same_cluster(alpha: float, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return whether two groups are assigned to the same stick of GEM(α): bool (n_draws,)."""
    same = np.zeros(n_draws, dtype=bool)
    unassigned = np.arange(n_draws)
    while unassigned.size:
        share = rng.beta(1.0, alpha, unassigned.size)
        assigned = rng.random((2, unassigned.size)) < share
        same[unassigned[assigned.all(axis=0)]] = True
        # If only one group has this stick, the other gets a different one.
        unassigned = unassigned[~assigned.any(axis=0)]
    return same


def _dirichlet(concentrations: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one Dirichlet vector per row of concentrations, which may be very small.

    Gammas of small shape underflow; log Γ(a) is drawn as log Γ(a + 1) + log(U) / a instead.
    """
    boosted = np.log(rng.standard_gamma(concentrations + 1.0))
    with np.errstate(divide="ignore"):
        logs = boosted + np.log(rng.random(concentrations.shape)) / concentrations
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """Plot the probability over v: simulated points, corrected and printed lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    colours = dict(zip(ALPHA_AND_ETA, ("#0072B2", "#D55E00"), strict=True))
    for panel, pair in zip(panels, PAIRS, strict=True):
        for (alpha, eta), colour in colours.items():
            rows = [
                row
                for row in record["summary"]
                if (row["pair"], row["alpha"], row["eta"]) == (pair, alpha, eta)
            ]
            v = [row["v"] for row in rows]
            name = f"α = {alpha:g}, η = {eta:g}"
            for formula, line in (("corrected", "-"), ("printed", ":")):
                values = [row[formula]["mean"] for row in rows]
                panel.plot(v, values, line, color=colour, label=f"{formula}, {name}")
            simulated = [row["simulated"]["mean"] for row in rows]
            panel.plot(v, simulated, "o", color=colour, ms=5, label=f"simulated, {name}")
        panel.axhline(1.0, color="grey", lw=0.8)
        panel.set(xscale="log", yscale="log", xlabel="v", title=f"Two tokens of {pair}")
        panel.set_xticks(V, [f"{v:g}" for v in V], minor=False)
        panel.minorticks_off()
    panels[0].set_ylabel("P(φ ∈ A1, φ' ∈ A2)")
    panels[0].annotate("probabilities are at most 1", (4.0, 1.08), color="grey", fontsize=8)
    panels[1].legend(fontsize=7, frameon=False)
    return {"probability": figure}

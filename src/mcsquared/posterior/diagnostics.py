"""Convergence diagnostics for scalars of the chains: R-hat, effective sample sizes, advice.

Rank-normalised split R-hat, bulk and tail effective sample size: Vehtari, Gelman, Simpson,
Carpenter and Bürkner, "Rank-normalization, folding, and localization" (2021). Every chain is split
in two halves, so that the diagnostics are defined for a single chain, too.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from mcsquared.arrays import Floats
from mcsquared.model.parameters import CONCENTRATIONS

MAX_RHAT = 1.1  # above it, chains disagree; Vehtari et al. (2021) recommend 1.01 for final results
MIN_ESS = 100.0  # below it, means and intervals are imprecise

_LOW_ESS = (
    f"effective sample size below {MIN_ESS:.0f}, so estimates are imprecise: increase n_sweeps"
)

# Scalars that do not depend on the numbering of labels.
SCALARS = ("n_clusters", "n_topics", "log_joint", *CONCENTRATIONS)


def diagnostics(trace: pd.DataFrame, notes: Sequence[str] = ()) -> pd.DataFrame:
    """Return scalar, mean, sd, rhat, ess_bulk, ess_tail and advice for scalars of the trace.

    The trace has a row per sweep and chain; sweeps before a chain's first kept one are burn-in.
    ``notes`` of the fit name the bounds that were reached. R-hat and sample sizes of a constant are
    NaN. The advice is empty if there is no problem; ``.attrs["advice"]`` lists each piece once.
    """
    rows = []
    for name in filter(trace.__contains__, SCALARS):
        chains = chains_of(trace, name)
        if name in CONCENTRATIONS and CONCENTRATIONS[name].may_be_infinite and not _varies(chains):
            continue
        mean = chains.mean() if chains.size else np.nan
        sd = chains.std(ddof=1) if chains.size > 1 else np.nan
        rhat, size = split_rhat(chains), effective_sample_size(chains)
        advice = _advice(name, chains, rhat, size, notes)
        rows.append((name, mean, sd, rhat, size, tail_sample_size(chains), advice))
    columns = ["scalar", "mean", "sd", "rhat", "ess_bulk", "ess_tail", "advice"]
    table = pd.DataFrame(rows, columns=columns)
    table.attrs["advice"] = _summary(table["scalar"], table["advice"])
    return table


def _advice(
    name: str, chains: Floats, rhat: float, sample_size: float, notes: Iterable[str]
) -> str:
    """Return advice on one scalar; empty if there is no problem."""
    bound = name.replace("n_", "max_", 1) + "="  # notes start with it: "max_topics=100 was reached"
    if any(note.startswith(bound) for note in notes):
        return f"the bound {bound[:-1]} was reached: increase it unless it is intended"
    if chains.shape[-1] < 4:
        return "too few sweeps after burn-in to assess convergence: increase n_sweeps"
    if rhat > MAX_RHAT:
        if len(chains) < 2 or any(split_rhat(chain[None, :]) > MAX_RHAT for chain in chains):
            return "not converged: increase n_sweeps and burn_in"
        return "each chain is stable, but chains differ: inspect each one or increase n_sweeps"
    if sample_size < MIN_ESS:
        factor = MIN_ESS / max(sample_size, 1.0)
        return (
            f"effective sample size {sample_size:.0f}: {factor:.2g} times as many sweeps after "
            f"burn-in would give {MIN_ESS:.0f}"
        )
    return ""


def _summary(scalars: Iterable[str], advice: Iterable[str]) -> list[str]:
    """Return each piece of advice once, after the scalars it applies to."""
    lines: dict[str, list[str]] = {}
    for name, sentence in zip(scalars, advice, strict=True):
        if sentence:
            # Effective sample sizes differ between scalars; the remedy does not.
            low = sentence.startswith("effective sample size")
            lines.setdefault(_LOW_ESS if low else sentence, []).append(name)
    return [f"{', '.join(names)}: {sentence}" for sentence, names in lines.items()]


def chains_of(trace: pd.DataFrame, name: str, kept_only: bool = False) -> Floats:
    """Return a scalar after burn-in: float64 (n_chains, n_sweeps of the shortest chain)."""
    series = []
    for _, chain in trace.groupby("chain", sort=True):
        kept = chain["kept"].to_numpy(dtype=bool)
        if kept.any():
            values = chain[name].to_numpy(dtype=np.float64)
            series.append(values[kept] if kept_only else values[np.argmax(kept) :])
    shortest = min(map(len, series), default=0)
    return np.array([values[-shortest:] for values in series]).reshape(len(series), shortest)


def split_rhat(chains: Floats) -> float:
    """Return the rank-normalised split R-hat: the larger of its values for location and scale."""
    if not _varies(chains):
        return float("nan")
    halves = _split(chains)
    spread = np.abs(halves - np.median(halves))
    return max(_rhat(_normal_scores(halves)), _rhat(_normal_scores(spread)))


def effective_sample_size(chains: Floats) -> float:
    """Return the bulk effective sample size, that of the mean of the normal scores."""
    if not _varies(chains):
        return float("nan")
    return _sample_size(_normal_scores(_split(chains)))


def tail_sample_size(chains: Floats) -> float:
    """Return the tail effective sample size, the smaller of those of the 5% and 95% quantiles."""
    if not _varies(chains):
        return float("nan")
    below = [chains <= quantile for quantile in np.quantile(chains, (0.05, 0.95))]
    return min(_sample_size(_split(tail.astype(np.float64))) for tail in below)


def _varies(chains: Floats) -> bool:
    enough = chains.ndim == 2 and chains.shape[0] > 0 and chains.shape[1] >= 4
    return bool(enough and np.isfinite(chains).all() and np.ptp(chains) > 0)


def _split(chains: Floats) -> Floats:
    """Return twice as many chains of half the length; an odd middle value is dropped."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: Floats) -> Floats:
    """Return the normal quantiles of the values' average ranks (Blom's offsets)."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    ranks = rankdata(chains).reshape(chains.shape)
    return ndtri((ranks - 0.375) / (chains.size + 0.25))


def _rhat(chains: Floats) -> float:
    n_draws = chains.shape[1]
    if not np.ptp(chains, axis=1).any():  # not the variance, which rounding makes positive
        return float("inf") if np.ptp(chains) else float("nan")
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    return float(np.sqrt((n_draws - 1) / n_draws + between / within))


def _sample_size(chains: Floats) -> float:
    """Return the effective sample size by Geyer's initial monotone sequence.

    The autocorrelation at lag t combines within- and between-chain variance:
    1 − (within − mean autocovariance at t) / total. Autocovariances are computed by FFT.
    """
    from scipy.fft import next_fast_len

    n_chains, n_draws = chains.shape
    if np.ptp(chains) == 0.0:
        return float(chains.size)
    centred = chains - chains.mean(axis=1, keepdims=True)
    length = next_fast_len(2 * n_draws, real=True)
    transform = np.fft.rfft(centred, length, axis=1)
    covariance = np.fft.irfft(np.abs(transform) ** 2, length, axis=1)[:, :n_draws] / n_draws
    within = covariance[:, 0].mean() * n_draws / (n_draws - 1.0)
    total = within * (n_draws - 1.0) / n_draws
    if n_chains > 1:
        total += chains.mean(axis=1).var(ddof=1)
    correlation = 1.0 - (within - covariance.mean(axis=0)) / total
    correlation[0] = 1.0
    # The effective sample size of antithetic chains may exceed their length; the bound limits it.
    time = max(_autocorrelation_time(correlation), 1.0 / np.log10(chains.size))
    return float(chains.size / time)


def _autocorrelation_time(correlation: Floats) -> float:
    """Return −1 + 2 Σ over pairs of lags up to the first negative pair, made non-increasing."""
    n_pairs = max(-(-(len(correlation) - 4) // 2), 0)
    pairs = correlation[: 2 * n_pairs].reshape(n_pairs, 2).sum(axis=1)
    n_used = int(np.argmin(np.append(pairs, 0.0) > 0.0))
    # The first lag after the truncation is included if it is positive.
    tail = max(correlation[2 * n_used], 0.0) if n_used else 0.0
    return float(-1.0 + 2.0 * np.minimum.accumulate(pairs[:n_used]).sum() + tail)

"""How much the values of a context raise or lower topics, if the context acts on topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pandas as pd

from mcsquared.arrays import Floats, Objects, Rng
from mcsquared.errors import InputError
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.posterior.tables import align_topics

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

INTERVAL = (0.05, 0.95)  # probabilities of the bounds of 90% intervals
N_SAMPLES = 200  # of the topic weights of a value, in all draws together
BLOCK_SIZE = 1 << 24  # entries of the largest array: 128 MB
STREAM = 6  # of random numbers; 5 is that of `relevance`, `prediction.parameters` has 0 to 3


class ContextEffects:
    """Effects of contexts on topics; a base class of `Posterior`."""

    def effects(self, name: str) -> pd.DataFrame:
        """Return how much a context raises or lowers topics: value, topic, effect, low, high.

        Only for contexts in ``effects`` of the model. The effect of a value is the difference it
        makes to the expected topic shares of a group, compared with the average over the values:
        0.02 means two percentage points more. ``low`` and ``high`` are the bounds of a 90% interval
        over the draws.

        Examples
        --------
        >>> model = mc2.MC2(n_sweeps=20, effects=["position"], random_state=0, progress=False)
        >>> model.fit(corpus).posterior_.effects("position").columns.tolist()
        ['value', 'topic', 'effect', 'low', 'high']
        """
        summary = effects_of(cast("Posterior", self), name)
        n_values, n_topics = summary.effect.shape
        return pd.DataFrame(
            {
                "value": np.repeat(summary.values, n_topics),
                "topic": np.tile(np.arange(n_topics), n_values),
                "effect": summary.effect.ravel(),
                "low": summary.low.ravel(),
                "high": summary.high.ravel(),
            }
        )


class EffectSummary(NamedTuple):
    """Effects of values with 90% intervals, each (n_values, n_topics)."""

    values: Objects
    effect: Floats
    low: Floats
    high: Floats


def effects_of(posterior: Posterior, name: str) -> EffectSummary:
    """Return the effects of a context on the topics shown in tables."""
    effects = posterior.priors.effects
    if name not in effects:
        names = ", ".join(map(repr, effects)) or "none"
        raise InputError(f"name must be one of the effects of this model ({names}), got {name!r}")
    n_values, n_topics = effects[name].n_values, posterior.n_listed_topics
    result = np.zeros((3, n_values, n_topics))
    block = max(BLOCK_SIZE // max(N_SAMPLES * n_topics, 1), 1)
    rng = np.random.default_rng(np.random.SeedSequence(posterior.seed, spawn_key=(STREAM,)))
    for first in range(0, n_values, block):
        rows = slice(first, min(first + block, n_values))
        samples = np.concatenate(list(_samples(posterior, name, rows, rng)))
        result[:, rows] = summarise(samples, INTERVAL)
    return EffectSummary(effects[name].labels(posterior.contexts[name]), *result)


def summarise(samples: Floats, interval: tuple[float, float]) -> Floats:
    """Return mean, lower and upper bound, (3, n_values, n_topics); the samples are sorted in place.

    ``samples`` are (n_samples, n_values, n_topics), NaN for topics without a counterpart in a draw.
    """
    samples.sort(axis=0)  # NaN last
    n_samples = len(samples) - np.isnan(samples[:, 0]).sum(axis=0)
    last, topics = np.maximum(n_samples - 1, 0), np.arange(samples.shape[2])
    result = np.empty((3, *samples.shape[1:]))
    result[0] = np.nansum(samples, axis=0) / np.maximum(n_samples, 1)
    for part, probability in enumerate(interval, start=1):
        index = np.round(probability * last).astype(np.int64)
        result[part] = np.nan_to_num(samples[index, :, topics].T)
    return result


def _samples(posterior: Posterior, name: str, rows: slice, rng: Rng) -> Iterator[Floats]:
    """Yield samples of the effects of some values: (n_samples, n_values, n_topics)."""
    n_topics, weights = posterior.n_listed_topics, posterior.parameter_weights
    drawn = zip(posterior.parameters, posterior.counterparts, strict=True)
    for weight, (draw, topic) in zip(weights, drawn, strict=True):
        n_samples = round(N_SAMPLES * weight / weights.sum())
        if weight == 0.0 or n_samples == 0:
            continue
        shape, average, effect_weight = _dirichlet_shapes(posterior, draw, name)
        gammas = rng.standard_gamma(
            np.maximum(shape[rows], 1e-300), (n_samples, *shape[rows].shape)
        )
        shares = gammas / np.maximum(gammas.sum(axis=2, keepdims=True), 1e-300)
        effects = effect_weight * (shares[:, :, :-1] - average[:-1])
        yield align_topics(effects, topic, n_topics, fill=np.nan)


def _dirichlet_shapes(
    posterior: Posterior, draw: ParameterDraw, name: str
) -> tuple[Floats, Floats, float]:
    """Return the Dirichlet parameters of an effect's values, their average topic shares, and ω.

    The arrays are (n_values, n_topics + 1) and (n_topics + 1,); the last column is the sum of all
    unused topics.
    """
    assert draw.effects is not None
    priors = posterior.priors
    number, offsets = list(priors.effects).index(name), priors.effect_offsets
    tables = draw.effects.tables[offsets[number] : offsets[number + 1]].toarray()
    topics = np.append(draw.topic_weights, draw.unused_weight)
    shape = float(draw.effects.v[number]) * topics + np.pad(tables, ((0, 0), (0, 1)))
    means = shape / np.maximum(shape.sum(axis=1, keepdims=True), 1e-300)
    n_groups = np.asarray(priors.effects[name].shares(posterior.contexts[name]).sum(axis=0)).ravel()
    average = n_groups @ means / max(float(n_groups.sum()), 1e-300)
    return shape, average, float(draw.effects.weights[number + 1])

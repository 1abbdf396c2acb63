"""The values of each group's effects, in the layout that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from mcsquared.arrays import Integers
from mcsquared.corpus.content import entries_of_rows
from mcsquared.errors import InputError
from mcsquared.kernels.cpu.effects import EffectValues

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.model.priors import Priors


def observe_effects(corpus: Corpus, priors: Priors) -> EffectValues | None:
    """Return the values of the effects of all groups; None without effects."""
    if not priors.effects:
        return None
    if not priors.content.can_sample:
        raise InputError(
            "effects require a content family with sample_parameters and log_likelihood, got "
            f"{type(priors.content).__name__}"
        )
    columns = {name: corpus.contexts[name] for name in priors.effects} | priors.columns(corpus)
    shares, effects, pattern = [], [], np.zeros(corpus.n_groups, np.int32)
    for number, (name, effect) in enumerate(priors.effects.items()):
        value_shares = effect.shares(columns[name])
        pattern |= (np.diff(value_shares.indptr) > 0).astype(np.int32) << number
        shares.append(value_shares)
        effects += [number + 1] * effect.n_values
    joined = sparse.hstack(shares, format="csr")
    joined.sort_indices()
    return EffectValues(
        start=joined.indptr.astype(np.int64),
        row=joined.indices.astype(np.int32),
        effect=np.array(effects, np.int32)[joined.indices],
        share=joined.data.astype(np.float32),
        pattern=pattern,
    )


def take_effects(values: EffectValues | None, groups: Integers) -> EffectValues | None:
    """Return the values of selected groups."""
    if values is None:
        return None
    chosen, start = entries_of_rows(values.start, groups)
    return EffectValues(
        start=start,
        row=values.row[chosen],
        effect=values.effect[chosen],
        share=values.share[chosen],
        pattern=values.pattern[groups],
    )

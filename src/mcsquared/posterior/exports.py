"""Export the posterior to ArviZ and pyLDAvis."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.errors import InputError
from mcsquared.posterior.diagnostics import SCALARS, chains_of

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior


def to_arviz(posterior: Posterior) -> Any:
    """Return the label-free scalars of the kept draws as ``arviz.InferenceData``.

    The log joint density is ``lp`` in the sample statistics. Chains are cut to the shortest one.
    """
    arviz = _import("arviz")
    if posterior.trace.empty:
        raise InputError("to_arviz requires a trace, but the posterior has no trace")
    scalars = {
        name: chains_of(posterior.trace, name, kept_only=True)
        for name in SCALARS
        if name in posterior.trace
    }
    log_joint = scalars.pop("log_joint")
    finite = {name: values for name, values in scalars.items() if np.isfinite(values).all()}
    return arviz.from_dict(posterior=finite, sample_stats={"lp": log_joint})


def to_pyldavis(posterior: Posterior, **options: Any) -> Any:
    """Return the topics prepared for ``pyLDAvis.display`` and ``pyLDAvis.save_html``.

    Topics keep their ids.

    Parameters
    ----------
    **options
        Passed to ``pyLDAvis.prepare``.
    """
    if posterior.vocabulary is None or posterior.word_frequency is None:
        raise InputError("to_pyldavis requires words, but the content of this model is vectors")
    if posterior.n_topics < 3:
        raise InputError(
            f"to_pyldavis requires at least three topics, but there are {posterior.n_topics}"
        )
    pyldavis = _import("pyLDAvis")
    # pyLDAvis does not accept words that never occur.
    occurs = posterior.word_frequency > 0
    words = posterior.components[:, occurs]
    groups = posterior.tokens_per_group > 0
    topics = posterior.topic_of_tokens[posterior.labels[groups]]
    settings = {"sort_topics": False, "start_index": 0, "n_jobs": 1, "R": min(30, occurs.sum())}
    return pyldavis.prepare(
        words / words.sum(axis=1, keepdims=True),
        topics,
        posterior.tokens_per_group[groups],
        posterior.vocabulary[occurs],
        posterior.word_frequency[occurs],
        **(settings | options),
    )


def _import(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f'{package} is not installed; pip install "mcsquared[diagnostics]" provides it'
        ) from error

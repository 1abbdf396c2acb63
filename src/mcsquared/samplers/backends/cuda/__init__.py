"""Groups on a GPU: the corpus and its labels stay there, globals go in and counts come out.

Steps over groups, tokens, words, categories and topics of clusters are kernels; the concentrations
are drawn on the host, by the steps of all backends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from mcsquared.errors import InputError
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.content.python_families import is_integrated
from mcsquared.samplers.threads import ThreadPool

__all__ = ["cuda_backend", "missing_gpu"]


def cuda_backend(observations: Observations, priors: Priors) -> Callable[[ThreadPool], Backend]:
    """Copy a corpus to the GPU; return a function that makes the backend of a chain."""
    check_device(observations)
    from mcsquared.samplers.backends.cuda.backend import CudaBackend
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus

    corpus = DeviceCorpus(observations, varies=priors.lam != math.inf)
    return partial(CudaBackend, observations, priors, corpus)


def missing_gpu() -> str | None:
    """Return why no GPU can be used, or None if one can."""
    try:
        from mcsquared.kernels.cuda.memory import unavailable_reason
    except ImportError as error:
        return f"numba-cuda is not installed ({error}): pip install 'mcsquared[gpu]'"
    reason: str | None = unavailable_reason()
    return reason


def check_device(observations: Observations) -> None:
    """Raise an error if no GPU can be used, or a family cannot be used on one."""
    reason = missing_gpu()
    if reason is not None:
        raise InputError(f"device 'cuda' requires a GPU: {reason}")
    if observations.python_content is not None:
        name = type(observations.content_family).__name__
        raise InputError(
            "device 'cuda' requires a content family with kernels, got the Python family "
            f"{name}; use device='cpu'"
        )
    for context in observations.python_contexts:
        if is_integrated(context):
            raise InputError(
                "device 'cuda' requires context families with sample_parameters, got "
                f"{type(context.family).__name__}; use device='cpu'"
            )

"""Groups on a GPU: the corpus and its labels stay on the device; globals and counts are copied.

Steps over groups, tokens, words, categories and topics of clusters run as kernels; concentrations
are drawn on the host, by the same steps as with other backends.
"""

import math
from collections.abc import Callable
from functools import partial

from mcsquared.errors import InputError
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.content.python_families import integrated_families
from mcsquared.samplers.threads import ThreadPool

__all__ = ["cuda_backend", "missing_gpu"]


def cuda_backend(observations: Observations, priors: Priors) -> Callable[[ThreadPool], Backend]:
    """Copy a corpus to the GPU; return a function that creates the backend of a chain."""
    reason = missing_gpu()
    if reason is not None:
        raise InputError(f"device 'cuda' requires a GPU: {reason}")
    check_families(observations)
    from mcsquared.samplers.backends.cuda.backend import CudaBackend
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus

    corpus = DeviceCorpus(observations, groups_vary=priors.lam != math.inf)
    return partial(CudaBackend, observations, priors, corpus)


def missing_gpu() -> str | None:
    """Return the reason why no GPU can be used, or None if one can."""
    try:
        from mcsquared.kernels.cuda.memory import unavailable_reason
    except ImportError as error:
        return f"numba-cuda is not installed ({error}): pip install 'mcsquared[gpu]'"
    return unavailable_reason()


def check_families(observations: Observations) -> None:
    """Raise `InputError` for families that require a CPU."""
    content = observations.python_content
    if content is not None and not content.family.has_natural_parameters:
        raise InputError(
            "device 'cuda' requires a content family with natural_parameters, got "
            f"{type(content.family).__name__}; use device='cpu'"
        )
    for family in integrated_families(observations):
        raise InputError(
            "device 'cuda' requires families with sample_parameters and log_likelihood, got "
            f"{type(family).__name__}; use device='cpu'"
        )

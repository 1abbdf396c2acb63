"""Groups on a GPU: the corpus, its labels and the counts of words and categories stay there.

Small globals and counts are copied between host and device. Shards of a corpus that does not fit on
the GPU, and labels of a corpus on disk, are copied while kernels run.

Steps over groups, tokens, words, categories and topics of clusters run as kernels; concentrations
are drawn on the host, by the same steps as with other backends.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from mcsquared.errors import InputError
from mcsquared.model.priors import Priors
from mcsquared.observations import MAX_TOKENS, Observations
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.content.python_families import integrated_families
from mcsquared.samplers.threads import ThreadPool

__all__ = ["cuda_backend", "missing_gpu"]


def cuda_backend(
    observations: Observations, priors: Priors, n_shards: int = 1
) -> Callable[[ThreadPool], Backend]:
    """Copy a corpus to the GPU; return a function that creates the backend of a chain.

    ``n_shards`` is the smallest number of shards of which each fits into host memory.
    """
    reason = missing_gpu()
    if reason is not None:
        raise InputError(f"device 'cuda' requires a GPU: {reason}")
    check_families(observations)
    check_word_counts(observations)
    from mcsquared.samplers.backends.cuda.backend import CudaBackend
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus

    corpus = DeviceCorpus(observations, priors.lam != math.inf, n_shards=n_shards)
    return partial(CudaBackend, observations, priors, corpus)


def missing_gpu() -> str | None:
    """Return the reason why no GPU can be used, or None if one can."""
    try:
        from mcsquared.kernels.cuda.memory import unavailable_reason
    except ImportError as error:
        return f"numba-cuda is not installed ({error}): pip install 'mcsquared[gpu]'"
    return unavailable_reason()


def check_word_counts(observations: Observations) -> None:
    """Raise `InputError` if the counts of a word may exceed the 32-bit counts of the GPU."""
    is_large = observations.n_tokens > MAX_TOKENS
    largest = np.diff(observations.layout.word_start).max(initial=0) if is_large else 0
    if largest > MAX_TOKENS:
        raise InputError(
            f"device 'cuda' requires <= {MAX_TOKENS} tokens of each word, got {largest}; use "
            "device='cpu'"
        )


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

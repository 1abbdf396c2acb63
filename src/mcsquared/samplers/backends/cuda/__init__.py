"""Groups on a GPU: the corpus and its labels stay there, globals go in and counts come out.

Steps over groups, tokens, words, categories and topics of clusters are kernels; the handful of
concentrations is drawn at home, by the code that the CPU has for it.
"""

from __future__ import annotations

from mcsquared.errors import InputError
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.backend import CudaBackend
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
from mcsquared.samplers.content.python_families import is_integrated

__all__ = ["CudaBackend", "DeviceCorpus", "check_device", "missing_gpu"]


def missing_gpu() -> str | None:
    """Return why no GPU can be used here; None where one can."""
    try:
        from mcsquared.kernels.cuda.memory import missing
    except ImportError as error:
        return f"numba-cuda is not installed ({error}): pip install 'mcsquared[gpu]'"
    reason: str | None = missing()
    return reason


def check_device(observations: Observations) -> None:
    """Refuse what no GPU can do: where there is none, and families that only Python knows."""
    reason = missing_gpu()
    if reason is not None:
        raise InputError(f"device is 'cuda', but no GPU can be used here: {reason}")
    if observations.python_content is not None:
        raise InputError(
            f"device is 'cuda', but the family {type(observations.content_family).__name__} of the "
            "content is one of your own; device='cpu' takes it"
        )
    for context in observations.python_contexts:
        if is_integrated(context):
            raise InputError(
                f"device is 'cuda', but the family {type(context.family).__name__} does not say "
                "how its parameters are drawn (sample_parameters); device='cpu' takes it"
            )

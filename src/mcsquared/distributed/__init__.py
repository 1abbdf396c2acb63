"""Fits on a cluster of machines: Dask workers hold the groups, and only counts are sent.

In every sweep each worker receives the counts and parameters that all groups share, and returns the
sums over its groups, which are added on the way; their sizes do not depend on the number of groups.
With the same seed, the draws are those of a single machine, for any number of workers.
"""

from __future__ import annotations

import os
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from mcsquared import __version__
from mcsquared.corpus import ParquetFolder
from mcsquared.distributed.backend import DaskBackend
from mcsquared.errors import InputError, import_optional, input_errors
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda import missing_gpu

if TYPE_CHECKING:
    from mcsquared.estimator import MC2

__all__ = ["connect", "fit"]

SECONDS_TO_CONNECT = 20


def fit(model: MC2, corpus: Any, *, client: Any, contexts: Any = None) -> MC2:
    """Fit a model with its groups on the workers of a Dask cluster, and return it.

    Parameters
    ----------
    model : MC2
        Its sampler must be blocked; chains run one after another. With ``device="cuda"`` every
        worker uses its GPU; draws are then the same up to rounding.
    corpus : Corpus, or what `MC2.fit` takes, or the path of a folder of Parquet files
        A path is short for ``ParquetFolder(path)``, with its default columns and memory limit. The
        corpus must fit into the memory of all workers together.
    client : distributed.Client
        Client of any Dask cluster whose workers have mcsquared installed.
    contexts : frame or dict of columns, optional

    Examples
    --------
    >>> from distributed import Client
    >>> texts = ["ants and bees", "bees, ants, bees", "a car, a van", "vans and cars"]
    >>> quick = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0)
    >>> with Client(n_workers=2, processes=False, dashboard_address=None) as client:
    ...     model = mc2.distributed.fit(quick, texts, client=client)
    >>> bool((model.labels_ == quick.fit(texts).labels_).all())
    True
    """
    _check(model, client)
    if isinstance(corpus, str | os.PathLike):
        corpus = ParquetFolder(corpus)

    def backend(observations: Observations, priors: Priors) -> Any:
        return partial(DaskBackend, observations, priors, client, device=model.device)

    return model._fit(corpus, contexts, backend)


def connect(address: str) -> Any:
    """Return a client of the Dask scheduler at an address.

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster:
    ...     with mc2.distributed.connect(cluster.scheduler_address) as client:
    ...         len(client.nthreads())
    2
    """
    distributed = import_optional("distributed", "mcsquared[cluster]", "a cluster")
    message = f"cluster must be the address of a Dask scheduler, got {address!r}"
    # Dask raises TypeError for TLS without certificates.
    certificates = f"cluster {address!r} requires certificates in Dask's configuration"
    with (
        input_errors(message, OSError, TimeoutError, ValueError),
        input_errors(certificates, TypeError),
    ):
        client = distributed.Client(address, timeout=SECONDS_TO_CONNECT)
    return client


def _check(model: MC2, client: Any) -> None:
    if not all(hasattr(client, name) for name in ("submit", "scatter", "nthreads")):
        raise InputError(f"client must be a distributed.Client, got {client!r}")
    if client.asynchronous or client.status != "running":
        status = "asynchronous" if client.asynchronous else client.status
        raise InputError(f"client must be connected and synchronous, got one that is {status}")
    if model.sampler == "collapsed":
        raise InputError("sampler must be 'blocked' on a cluster, got 'collapsed'")
    _check_workers(client)
    if model.device == "cuda":
        _check_gpus(client)


def _check_workers(client: Any) -> None:
    """Raise an error if there are no workers, or if they have another version of mcsquared."""
    # A function of the standard library: workers without mcsquared can run it.
    call = (resolve_name, "mcsquared:__version__")
    versions = client.run(*call, on_error="return")
    if not versions:
        raise InputError("client must have at least one worker, got none: wait for workers first")
    try:
        versions["the scheduler"] = client.run_on_scheduler(*call)  # which unpickles tasks
    except ImportError as error:
        versions["the scheduler"] = error
    for where, version in versions.items():
        if version != __version__:
            found = f"an error ({version})" if isinstance(version, Exception) else version
            raise InputError(
                f"mcsquared at {where} must be {__version__}, as on the client, got {found}"
            )


def _check_gpus(client: Any) -> None:
    """Raise an error if a worker has no GPU."""
    for worker, reason in client.run(missing_gpu).items():
        if reason is not None:
            raise InputError(f"device 'cuda' requires a GPU on worker {worker}: {reason}")

"""Fits on a cluster of machines: Dask's workers hold the groups, and only counts travel.

In every sweep the globals go out to all workers and the counts of each come back; their sizes do
not depend on the number of groups. The draws are those of one machine for the same seed, whatever
the number of workers.
"""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

from mcsquared.errors import InputError
from mcsquared.fitting import elsewhere
from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.samplers.blocked.shards import Globals, Labels, Shards, Sums, move_shard
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

if TYPE_CHECKING:
    from mcsquared.estimator import MC2

__all__ = ["fit"]

SWEEPS_BETWEEN_COPIES = 20  # of labels, from which a shard goes on whose worker was lost
MOST_ATTEMPTS = 5  # to move a shard, each on workers that are alive then


def fit(model: MC2, corpus: Any, *, client: Any, contexts: Any = None) -> MC2:
    """Fit a model with its groups on the workers of a Dask cluster, and return it.

    Parameters
    ----------
    model : MC2
        With ``device="cpu"`` and the blocked sampler; chains run one after another.
    corpus : Corpus, or what `MC2.fit` takes
    client : distributed.Client
        Of any cluster; its workers need mcsquared.
    contexts : frame or dict of columns, optional

    Examples
    --------
    >>> from distributed import Client
    >>> corpus = mc2.datasets.bars(random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=6, burn_in=2, thin=2, random_state=0)
    >>> with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
    ...     model = mc2.distributed.fit(model, corpus, client=client)  # doctest: +SKIP
    """
    _check(model, client)

    def places(observations: Observations, priors: Priors) -> Any:
        return partial(OnCluster, observations, priors, client)

    with elsewhere(places):
        return model.fit(corpus, contexts=contexts)


def _check(model: MC2, client: Any) -> None:
    for name in ("submit", "scatter", "gather", "scheduler_info"):
        if not hasattr(client, name):
            raise InputError(f"client is {client!r}, but a distributed.Client is wanted")
    if not client.scheduler_info()["workers"]:
        raise InputError("client has no workers, but one at least is wanted: wait for them first")
    if model.device != "cpu" or model.sampler == "collapsed":
        raise InputError(
            f"the model has device={model.device!r} and sampler={model.sampler!r}, but a cluster "
            "takes device='cpu' and the blocked sampler"
        )


class OnCluster(Shards):
    """Shards that Dask's workers hold, each with the labels of its groups.

    A worker that is lost takes its shards along: they are sent to another one with the last labels
    that were copied home, and go through the sweeps since then again, to the same draws.

    Attributes
    ----------
    bytes_of_sweep : int
        Sent and received in the last sweep, all workers together.
    """

    def __init__(
        self, observations: Observations, priors: Priors, client: Any, workers: Workers = ONE
    ) -> None:
        n_workers = len(client.scheduler_info()["workers"])
        super().__init__(observations, priors, n_workers, workers)
        self.client = client
        self.bytes_of_sweep = 0

    def put(self, state: State) -> None:
        """Deal out shards and labels."""
        super().put(state)
        self._since: list[Globals] = []
        self._held = [self._send(number) for number in range(len(self.shards))]

    def _send(self, number: int) -> tuple[Any, Any]:
        """Return a shard and its labels, as last copied home, on some worker."""
        names = list(self.client.scheduler_info()["workers"])
        where = [names[number % len(names)]]
        given = (self.shards[number], self.labels[number])
        return tuple(self.client.scatter(part, workers=where, hash=False) for part in given)

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Collect the labels."""
        self._copy_home()
        super().fetch(state, clusters_only)

    def _copy_home(self) -> None:
        """Copy the labels of all shards, so that sweeps before this one may be forgotten."""
        for number in range(len(self.shards)):
            self.labels[number] = self._ask(number, lambda n: self._held[n][1])
        self._since = []

    def move_all(self, given: Globals) -> list[Sums]:
        """Have every shard moved; return what each sends back, in their order."""
        sent = self.client.scatter(given, broadcast=True, hash=False)
        asked = [self._submit(number, sent) for number in range(len(self.shards))]
        found = []
        self._since.append(given)
        for number, (labels, sums) in enumerate(asked):
            self._held[number] = (self._held[number][0], labels)
            found.append(self._ask(number, lambda _, sums=sums: sums, is_new=True))
        outgoing = len(pickle.dumps(given)) * len(self.client.scheduler_info()["workers"])
        self.bytes_of_sweep = outgoing + sum(len(pickle.dumps(part)) for part in found)
        if len(self._since) >= SWEEPS_BETWEEN_COPIES:
            self._copy_home()
        return found

    def _submit(self, number: int, given: Any) -> tuple[Any, Any]:
        """Ask for a move; return its labels and sums to come."""
        shard, labels = self._held[number]
        moved = self.client.submit(move_shard, shard, labels, given, pure=False)
        return (
            self.client.submit(_first, moved, pure=False),
            self.client.submit(_second, moved, pure=False),
        )

    def _ask(self, number: int, what: Any, is_new: bool = False) -> Any:
        """Return what a shard has; if its worker is lost, have another do all of it again."""
        from distributed import CancelledError, KilledWorker

        future = what(number)
        for attempt in range(MOST_ATTEMPTS):
            try:
                return future.result()
            except (CancelledError, KilledWorker, OSError) as error:
                if attempt + 1 == MOST_ATTEMPTS:
                    raise
                reason = error
            sums = self._replay(number, reason)
            future = sums if is_new else self._held[number][1]
        raise AssertionError("unreachable")

    def _replay(self, number: int, reason: Exception) -> Any:
        """Send a shard anew and let it go through the sweeps since the last copy of its labels."""
        self.client.wait_for_workers(1, timeout=300)
        self._held[number] = self._send(number)
        sums = None
        for given in self._since:
            sent = self.client.scatter(given, hash=False)
            labels, sums = self._submit(number, sent)
            self._held[number] = (self._held[number][0], labels)
        return sums


def _first(pair: tuple[Labels, Sums]) -> Labels:
    return pair[0]


def _second(pair: tuple[Labels, Sums]) -> Sums:
    return pair[1]

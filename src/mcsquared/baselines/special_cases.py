"""Special cases of MC2 without contexts or without content (theorem 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mcsquared.chain import Callback
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.estimator import MC2
from mcsquared.families import ConjugateFamily
from mcsquared.model.parameters import ALPHA, ETA, Concentration, V

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False)
class NestedDP(MC2):
    """Nested Dirichlet process mixture with shared atoms: `MC2` with ``lam=inf``, no contexts.

    Contexts of a corpus are ignored. The remaining parameters, the attributes and the methods are
    those of `MC2`.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.NestedDP(n_sweeps=50, burn_in=20, random_state=0).fit(corpus)
    >>> len(model.labels_)
    40
    """

    content: str | ConjugateFamily = "auto"
    alpha: Concentration = ALPHA.default
    v: Concentration = V.default
    eta: Concentration = ETA.default
    sampler: str = "auto"
    n_sweeps: int = 600
    burn_in: int = 100
    thin: int = 5
    n_chains: int = 1
    n_jobs: int | None = None
    max_clusters: int | None = None
    max_topics: int | None = None
    init: str = "auto"
    keep_parameters: int = 10
    random_state: int | np.random.RandomState | None = None
    progress: Any = "auto"
    callbacks: Sequence[Callback] = ()

    def __post_init__(self) -> None:
        super().__init__(contexts={}, lam=math.inf, **self.get_params(deep=False))


@dataclass(eq=False, repr=False)
class DPMixture(ClusterMixin, BaseEstimator):
    """Dirichlet process mixture of the contexts: `MC2` of groups without content.

    Parameters
    ----------
    contexts : "auto" or dict
        "auto": every context of the corpus, families by type. A dict from column to family or
        family name selects columns.
    alpha : float or Gamma
        Concentration of the clusters.
    sampler, n_sweeps, burn_in, thin, n_chains, n_jobs, max_clusters, keep_parameters, \
random_state, progress
        As in `MC2`.

    Attributes
    ----------
    labels_ : int64 (n_groups,)
        Cluster of each group: the consensus of the draws, numbered by decreasing size.
    n_clusters_ : int
    posterior_ : Posterior
        Without topics.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.DPMixture(n_sweeps=50, burn_in=20, random_state=0).fit(corpus)
    >>> len(model.labels_)
    40
    """

    contexts: str | Mapping[str, str | ConjugateFamily] = "auto"
    alpha: Concentration = ALPHA.default
    sampler: str = "auto"
    n_sweeps: int = 600
    burn_in: int = 100
    thin: int = 5
    n_chains: int = 1
    n_jobs: int | None = None
    max_clusters: int | None = None
    keep_parameters: int = 10
    random_state: int | np.random.RandomState | None = None
    progress: Any = "auto"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : Corpus, frame or dict of columns
            A corpus with contexts, or the contexts themselves, one row per group.
        y : ignored

        Examples
        --------
        >>> model.fit(corpus[:20]).labels_.shape
        (20,)
        """
        corpus = _without_content(X)
        if not corpus.contexts or self.contexts == {}:
            raise InputError("X must have at least one context, got none")
        # Without topics, their concentrations have no effect.
        self.model_ = MC2(v=1.0, eta=1.0, lam=math.inf, **self.get_params()).fit(corpus)
        self.posterior_ = self.model_.posterior_
        self.labels_, self.n_clusters_ = self.model_.labels_, self.model_.n_clusters_
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most likely cluster of each group, given its contexts.

        Examples
        --------
        >>> model.predict(corpus[:3]).shape
        (3,)
        """
        return self._fitted().predict(_without_content(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each cluster, given that it is not a new one.

        Examples
        --------
        >>> model.predict_proba(corpus[:3]).sum(axis=1).round(6)
        array([1., 1., 1.])
        """
        return self._fitted().predict_proba(_without_content(X))

    def predict_new_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability that a group belongs to a cluster that training did not have.

        Examples
        --------
        >>> bool((model.predict_new_proba(corpus[:3]) < 1).all())
        True
        """
        return self._fitted().predict_new_proba(_without_content(X))

    def predict_context(self, X: Any, name: str, top: int | None = None) -> pd.DataFrame:
        """Return what the context ``name`` of each group most likely is, given the others.

        Examples
        --------
        >>> model.predict_context(corpus[:3], "position").columns.tolist()
        ['group', 'mean', 'sd', 'lower', 'upper']
        """
        return self._fitted().predict_context(_without_content(X), name, top=top)

    def _fitted(self) -> MC2:
        check_is_fitted(self)
        return self.model_


def _without_content(X: Any) -> Corpus:
    """Return the groups with their contexts and without tokens."""
    if isinstance(X, Corpus):
        n_groups, contexts, names = X.n_groups, X.contexts, X.group_names
    else:
        n_groups, contexts, names = _n_rows(X), X, None
    return Corpus(sparse.csr_matrix((n_groups, 1), dtype=np.int32), contexts, names)


def _n_rows(columns: Any) -> int:
    if isinstance(columns, Mapping):
        columns = next(iter(columns.values()), ())
    try:
        return int(columns.shape[0]) if hasattr(columns, "shape") else len(columns)
    except TypeError:
        required = "X must be a corpus, a frame or a dict of columns"
        raise InputError(f"{required}, got {columns!r:.60}") from None

"""The two models that MC2 becomes when one side of the data is left out (theorem 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.estimator import MC2
from mcsquared.model.parameters import ALPHA, ETA, V

if TYPE_CHECKING:
    import pandas as pd

    from mcsquared.chain import Callback
    from mcsquared.families import ConjugateFamily
    from mcsquared.model.parameters import Concentration

__all__ = ["DPMixture", "NestedDP"]


class NestedDP(MC2):
    """Nested Dirichlet process mixture with shared atoms: `MC2` with ``lam=inf``, no contexts.

    Contexts of a corpus are not looked at. The parameters that are left, the attributes and the
    methods are those of `MC2`.

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.NestedDP(n_sweeps=50, burn_in=20, random_state=0).fit(corpus)
    >>> len(model.labels_)
    40
    """

    def __init__(
        self,
        content: str | ConjugateFamily = "auto",
        alpha: Concentration = ALPHA.default,
        v: Concentration = V.default,
        eta: Concentration = ETA.default,
        sampler: str = "auto",
        n_sweeps: int = 600,
        burn_in: int = 100,
        thin: int = 5,
        n_chains: int = 1,
        n_jobs: int | None = None,
        max_clusters: int | None = None,
        max_topics: int | None = None,
        init: str = "auto",
        keep_parameters: int = 10,
        random_state: int | np.random.RandomState | None = None,
        progress: Any = "auto",
        callbacks: Sequence[Callback] = (),
    ) -> None:
        super().__init__(
            content=content,
            contexts={},
            alpha=alpha,
            v=v,
            eta=eta,
            lam=math.inf,
            sampler=sampler,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            thin=thin,
            n_chains=n_chains,
            n_jobs=n_jobs,
            max_clusters=max_clusters,
            max_topics=max_topics,
            init=init,
            keep_parameters=keep_parameters,
            random_state=random_state,
            progress=progress,
            callbacks=callbacks,
        )


class DPMixture(ClusterMixin, BaseEstimator):
    """Dirichlet process mixture of the contexts: `MC2` of groups whose content is not looked at.

    Parameters
    ----------
    contexts : "auto" or dict
        "auto": every context of the corpus, families by type. A dict from column to family or
        family name uses those columns alone.
    alpha : float or Gamma
        Concentration of the clusters.
    sampler, n_sweeps, burn_in, thin, n_chains, n_jobs, max_clusters, keep_parameters, \
random_state, progress
        As those of `MC2`.

    Attributes
    ----------
    labels_ : int64 (n_groups,)
        Cluster of each group: the consensus of the draws, numbered by decreasing size.
    n_clusters_ : int
    posterior_ : Posterior
        Without topics.

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.DPMixture(n_sweeps=50, burn_in=20, random_state=0).fit(corpus)
    >>> len(model.labels_)
    40
    """

    def __init__(
        self,
        contexts: str | Mapping[str, str | ConjugateFamily] = "auto",
        alpha: Concentration = ALPHA.default,
        sampler: str = "auto",
        n_sweeps: int = 600,
        burn_in: int = 100,
        thin: int = 5,
        n_chains: int = 1,
        n_jobs: int | None = None,
        max_clusters: int | None = None,
        keep_parameters: int = 10,
        random_state: int | np.random.RandomState | None = None,
        progress: Any = "auto",
    ) -> None:
        self.contexts = contexts
        self.alpha = alpha
        self.sampler = sampler
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.max_clusters = max_clusters
        self.keep_parameters = keep_parameters
        self.random_state = random_state
        self.progress = progress

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
            raise InputError("X has no contexts to cluster by, but at least one is wanted")
        # Nothing depends on the concentrations of topics, of which there are none.
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
    """Return the groups with their contexts and no token: a mixture of contexts alone."""
    contexts = X.contexts if isinstance(X, Corpus) else X
    n_groups = X.n_groups if isinstance(X, Corpus) else _n_rows(X)
    nothing = sparse.csr_matrix((n_groups, 1), dtype=np.int32)
    names = X.group_names if isinstance(X, Corpus) else None
    return Corpus(nothing, contexts, names)


def _n_rows(columns: Any) -> int:
    if isinstance(columns, Mapping):
        columns = next(iter(columns.values()), ())
    try:
        return int(columns.shape[0]) if hasattr(columns, "shape") else len(columns)
    except TypeError:
        raise InputError(
            f"X is {columns!r:.60}, but a corpus, a frame or a dict of columns is wanted"
        ) from None

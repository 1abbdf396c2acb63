"""Special cases of MC2: without contexts, with and without levels, or without content."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.estimator import MC2
from mcsquared.model.parameters import Concentration
from mcsquared.posterior import Posterior


@dataclass(eq=False, repr=False)
class SpecialCase(MC2):
    """Base class of special cases: ``lam=inf``, on the CPU, without checkpoints and warm starts."""

    lam: Concentration = field(default=math.inf, init=False)
    device: str = field(default="cpu", init=False)
    checkpoint: Any = field(default=None, init=False)
    checkpoint_every: Any = field(default=None, init=False)
    warm_start: bool = field(default=False, init=False)


@dataclass(eq=False, repr=False)
class NestedDP(SpecialCase):
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

    contexts: Any = field(default_factory=dict, init=False)


@dataclass(eq=False, repr=False)
class MLCHDP(NestedDP):
    """Multi-level clustering hierarchical Dirichlet process (Wulsin, Jensen and Litt 2012).

    The three-level model without contexts: `NestedDP` of a corpus with levels above groups. Every
    level is clustered, and clusters are shared: a type of units is a mixture of clusters of groups,
    and a cluster is a mixture of topics. The authors cluster channels (groups) of seizures of
    patients. Contexts at all levels are ignored; concentrations are resampled.

    ``labels_`` has the cluster of each group, ``posterior_.level(name).labels`` the type of each
    unit. The remaining parameters, the attributes and the methods are those of `MC2`.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> corpus = corpus.with_contexts({"page": [f"page {j % 8}" for j in range(40)]})
    >>> corpus = corpus.with_levels("page")
    >>> model = mc2.baselines.MLCHDP(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> model.labels_.shape, model.posterior_.level("page").labels.shape
    ((40,), (8,))
    """

    sampler: str = field(default="blocked", init=False)

    def fit(self, X: Any, y: Any = None, *, contexts: Any = None) -> Self:
        """Fit the model to a corpus with levels above groups.

        Parameters
        ----------
        X : Corpus
        y, contexts : ignored
        """
        if not isinstance(X, Corpus) or not X.levels:
            raise InputError("X must be a corpus with levels above groups, got none")
        return super().fit(X)


@dataclass(eq=False, repr=False)
class DPMixture(SpecialCase):
    """Dirichlet process mixture of the contexts: `MC2` of groups without content.

    The methods are those of `MC2`; content is ignored.

    Parameters
    ----------
    contexts : "auto" or dict
        "auto": every column of the corpus, with a family for its type. A dict from column to family
        or family name: only these columns.
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

    content: Any = field(default="auto", init=False)
    v: Concentration = field(default=1.0, init=False)  # without topics, v and eta have no effect
    eta: Concentration = field(default=1.0, init=False)
    max_topics: int | None = field(default=None, init=False)
    init: str = field(default="auto", init=False)
    callbacks: Any = field(default=(), init=False)

    def fit(self, X: Any, y: Any = None, *, contexts: Any = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : Corpus, frame or dict of columns
            A corpus with contexts, or the contexts themselves, one row per group.
        y : ignored
        contexts : frame or dict of columns, optional
            Replaces the contexts of ``X``.
        """
        corpus = _without_content(X if contexts is None else contexts)
        if not corpus.contexts or self.contexts == {}:
            raise InputError("X must have at least one context, got none")
        return super().fit(corpus)

    def _prepare(self, X: Any, contexts: Any) -> tuple[Posterior, Corpus]:
        return super()._prepare(_without_content(X if contexts is None else contexts), None)


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
        raise InputError(
            f"X must be a corpus, a frame or a dict of columns, got {columns!r:.60}"
        ) from None

"""The scikit-learn estimator: parameters, fit, predictions, files."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.chain import Callback
from mcsquared.checkpoint import saved_groups
from mcsquared.checks import check_choice
from mcsquared.corpus import Corpus, ParquetFolder, Vectors, as_corpus
from mcsquared.corpus.columns.column import distinct_note
from mcsquared.corpus.sources.frames import is_frame
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.fitting.checks import check_sampler, checked_schedule, seed_from
from mcsquared.fitting.disk import check_no_contexts, folder_batches, load_or_sample
from mcsquared.fitting.fit import BackendFactory, EarlierFit, Fit, StopReason
from mcsquared.model.parameters import ALPHA, ETA, LAM, Concentration, V, values_of
from mcsquared.model.priors import Priors, chosen_contexts
from mcsquared.posterior import Posterior
from mcsquared.prediction import groups as prediction
from mcsquared.prediction.contexts import context_distribution
from mcsquared.samplers.threads import n_threads_for
from mcsquared.schedule import DEFAULT_SWEEPS, Schedule, StagedSchedule
from mcsquared.state import Bounds
from mcsquared.storage.models import load_model, save_model
from mcsquared.transformer import TopicTransformer

__all__ = ["MC2"]

MATRIX_KINDS = ("counts", "vectors")


@dataclass(eq=False, repr=False)
class MC2(ClusterMixin, TopicTransformer):
    """Joint clustering of groups and topic modelling of their content, using the groups' contexts.

    With ``lam=inf`` this is the model of Nguyen, Phung, Nguyen, Venkatesh and Bui (ICML 2014), in
    which all groups of a cluster have the same topic shares. By default, the topic shares of groups
    vary around those of their cluster, as most real data require.

    Parameters
    ----------
    content : "auto", "counts", "vectors", family or family name
        Family of the content of a topic. "auto": `Categorical` for words, a Gaussian for vectors.
        "counts" or "vectors": the same, for a matrix of word counts or of one vector per group.
    contexts : "auto" or dict
        "auto": every column of the corpus, with a family for its type, except categories whose
        values are all distinct. A dict from column to family or family name: only these columns.
    alpha, v, eta : float or Gamma
        Concentrations of clusters, of topics in a cluster and of topics at the root. A number fixes
        the concentration; with a `Gamma` prior it is resampled. The defaults are ``Gamma(1, 1)``,
        ``Gamma(1, 0.1)`` and ``Gamma(1, 1)``.
    lam : float or Gamma
        Concentration of a group's topics around those of its cluster, ``Gamma(1, 0.1)`` by default.
        ``inf`` is the paper's model.
    sampler : {"auto", "collapsed", "blocked"}
        "auto" is "blocked", which is fast and parallel; "collapsed" is the paper's sampler with
        corrections and requires ``lam=inf``.
    device : {"cpu", "cuda"}
        "cuda" runs the blocked sampler on a GPU and requires the extra "gpu". A corpus on disk or
        larger than the memory of the GPU is copied to it in parts.
    n_sweeps, burn_in, thin : int or "auto"
        Total number of sweeps, number of initial sweeps to discard, interval of kept sweeps. With
        ``n_sweeps="auto"`` the fit ends when its chains have converged; `posterior_.notes` states
        whether they have; see Notes. ``burn_in`` and ``thin`` must be "auto" as well: half of the
        sweeps are discarded, and about 100 draws kept. Otherwise, "auto" means 100 and 5 (or less).
    max_seconds : float, optional
        Time limit: the fit ends after the sweep in which it is exceeded, with the draws so far.
        With ``n_sweeps="auto"`` it replaces the limit on the number of sweeps, and with
        ``n_chains="auto"`` fewer chains run if their starts take long.
    n_chains : int or "auto"
        Independent chains; all results combine the draws of all chains. "auto": 8 to 32 with
        ``n_sweeps="auto"``, see Notes, and 1 with a number of sweeps.
    n_jobs : int, optional
        Cores, divided among chains and their threads; -1 for all, by default one. Draws do not
        depend on it.
    max_clusters, max_topics : int, optional
        Hard upper bounds, reported when reached.
    init : {"auto", "random"}
        Initial clusters and topics: found from the data, or random.
    keep_parameters : int
        Number of kept draws, evenly spaced over all chains, that store topics; predictions are
        averaged over these.
    random_state : int, RandomState or None
    progress : {"auto", True, False}
    callbacks : sequence of callables
        Called with a `SweepInfo` after every sweep; the run stops if one returns True.
        ``mc2.callbacks.StopWhenFlat()`` stops chains whose traces are flat.
    checkpoint : path, optional
        File to which the chains are written regularly; if it exists, fitting resumes from it.
        Only one run can use it at a time. On SIGTERM it is written and the process exits.
    checkpoint_every : float, optional
        Seconds between checkpoints (default: 20).
    warm_start : bool
        Whether ``fit`` continues the chains of the previous call.
    mark_unsettled : bool
        Whether `labels_` is -1 for groups without a clear cluster (see `posterior_.unsettled()`)
        instead of their most probable cluster; only if all groups fit into memory.
    effects : sequence of str
        Contexts that act on topics: the topic shares of a group then follow its cluster and these
        contexts. Requires a finite ``lam``.
    fold_in : {"auto", "gibbs"}
        How clusters and topics of new groups are found for a finite ``lam``: by variational
        inference (clusters only of groups of 500 tokens or more), or by sampling.

    Attributes
    ----------
    labels_ : int64 (n_groups,)
        Cluster of each group: the consensus of the draws, numbered by decreasing size.
    n_clusters_, n_topics_ : int
    components_ : float64 (n_topics_, n_words)
        Word probabilities of each topic, rows sum to 1; for vectors, the means of the topics.
    posterior_ : Posterior
    n_features_in_ : int
    feature_names_in_ : ndarray of object
        The words, if they have names.

    Notes
    -----
    With ``n_sweeps="auto"`` all chains run in stages: to 40 sweeps, 80, 160, 320 and, with
    ``max_seconds``, to twice as many in each further stage. Corpora of up to 125,000 tokens have 8
    chains of at most 320 sweeps, those of 250,000 tokens 16 of 160, those of a million 32 of 40.
    Above 3 million tokens there are fewer chains again, which need less memory. The first half of
    the sweeps is burn-in. After each stage the fit ends if the chains have converged: R-hat of all
    scalars of `posterior_.diagnostics()` is at most 1.1, their effective sample size is at least
    100, and the partitions of the chains agree (R-hat at most 1.1, or an adjusted Rand index of at
    least 0.95). Otherwise, a ``ConvergenceWarning`` at the end reports what has not converged and
    estimates how many more sweeps are needed.

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> train, new = corpus[:36], corpus[36:]
    >>> model = mc2.MC2(n_sweeps=50, burn_in=20, random_state=0).fit(train)
    >>> len(model.labels_), model.components_.shape == (model.n_topics_, 35)
    (36, True)
    >>> model.predict(new).shape, model.transform(new).shape == (4, model.n_topics_)
    ((4,), True)
    >>> model.predict_proba(new).sum(axis=1).round(6)
    array([1., 1., 1., 1.])
    >>> bool((model.predict_new_proba(new) < 1).all()), model.score(new) < 0
    (True, True)
    >>> mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit_predict([["ant"], ["car"]]).shape
    (2,)
    >>> model.save("letters.mc2")
    >>> bool((mc2.MC2.load("letters.mc2").labels_ == model.labels_).all())
    True
    """

    content: str | ConjugateFamily = "auto"
    contexts: str | Mapping[str, str | ConjugateFamily] = "auto"
    alpha: Concentration = ALPHA.default
    v: Concentration = V.default
    eta: Concentration = ETA.default
    lam: Concentration = LAM.default
    sampler: str = "auto"
    device: str = "cpu"
    n_sweeps: int | str = DEFAULT_SWEEPS
    burn_in: int | str = "auto"
    thin: int | str = "auto"
    n_chains: int | str = "auto"
    n_jobs: int | None = None
    max_clusters: int | None = None
    max_topics: int | None = None
    init: str = "auto"
    keep_parameters: int = 10
    random_state: int | np.random.RandomState | None = None
    progress: Any = "auto"
    callbacks: Sequence[Callback] = ()
    checkpoint: str | os.PathLike[str] | None = None
    warm_start: bool = False
    max_seconds: float | None = None
    mark_unsettled: bool = False
    checkpoint_every: float | None = None
    effects: Sequence[str] = ()
    fold_in: str = "auto"

    _earlier: EarlierFit | None = field(default=None, init=False)
    _stopped: StopReason | None = field(default=None, init=False)  # why the last fit ended early

    def fit(self, X: Any, y: Any = None, *, contexts: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Corpus, list of str, list of lists of str, matrix, list of arrays, or ParquetFolder
        y : ignored
        contexts : frame or dict of columns, optional
            One row per group; replaces the contexts of a corpus.

        Examples
        --------
        >>> texts = ["ants and bees", "bees, ants, bees", "a car, a van", "vans and cars"]
        >>> quick = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0)
        >>> len(quick.fit(texts, contexts={"year": [1990, 1991, None, 2005]}).labels_)
        4
        """
        if is_frame(y):
            warnings.warn("y is ignored; pass contexts with contexts=...", stacklevel=2)
        if isinstance(y, Mapping):
            raise InputError("y must not be a mapping, got one; pass contexts with contexts=...")
        return self._fit(X, contexts)

    def _fit(self, X: Any, contexts: Any, backend: BackendFactory | None = None) -> Self:
        """Fit the model with a backend, which by default depends on the corpus and the device."""
        schedule = checked_schedule(self)
        check_choice("fold_in", self.fold_in, prediction.FOLD_IN)
        seed = seed_from(self.random_state, self.checkpoint)
        if not isinstance(X, ParquetFolder):
            corpus = as_corpus(X, contexts, content=self._matrix_kind())
            return self._fit_corpus(corpus, schedule, seed, backend)
        check_no_contexts(contexts)
        with X.open() as source:
            if self.warm_start and self._earlier:
                groups: Int64s | None = self._earlier.groups
            else:
                groups = saved_groups(self.checkpoint, source.n_groups)
            corpus = as_corpus(load_or_sample(source, seed, groups), content=self._matrix_kind())
            return self._fit_corpus(corpus, schedule, seed, backend)

    def _fit_corpus(
        self,
        corpus: Corpus,
        schedule: Schedule | StagedSchedule,
        seed: int,
        backend: BackendFactory | None,
    ) -> Self:
        contexts, distinct = chosen_contexts(corpus, self.contexts)
        priors = Priors.for_corpus(
            corpus,
            content="auto" if self._matrix_kind() != "auto" else self.content,
            contexts=contexts,
            effects=self.effects,
            **values_of(self),
        )
        fit = Fit(
            priors=priors,
            schedule=schedule.for_corpus((corpus.source or corpus).n_tokens, priors.content.cost),
            n_threads=n_threads_for(self.n_jobs),
            seed=seed,
            # JSON, as in checkpoints, cannot represent NumPy integers.
            bounds=Bounds(
                *(None if n is None else int(n) for n in (self.max_clusters, self.max_topics))
            ),
            init=self.init,
            sampler=check_sampler(self.sampler, self.device, self.lam),
            callbacks=tuple(self.callbacks),
            progress=self.progress,
            checkpoint=None if self.checkpoint is None else os.fspath(self.checkpoint),
            checkpoint_every=self.checkpoint_every,
            device=self.device,
            backend=backend,
            max_seconds=math.inf if self.max_seconds is None else float(self.max_seconds),
        )
        earlier = self._earlier if self.warm_start else None
        result = fit.run(corpus, earlier.states_for(fit, corpus) if earlier else [])
        result.posterior.notes[:0] = [distinct_note(column) for column in distinct]
        self._set_fitted(result.posterior, result.labels)
        self._stopped = result.stopped
        if isinstance(corpus.content, Vectors):
            # Components of a user-defined family may have another width than the data.
            self.n_features_in_ = corpus.content.width
        self._earlier = EarlierFit(fit, corpus, result.states) if self.warm_start else None
        return self

    def _set_fitted(self, posterior: Posterior, labels: Int32s | None = None) -> None:
        """Set the fitted attributes; ``labels`` may cover more groups than the posterior."""
        self.posterior_ = posterior
        if labels is None:
            labels = posterior.consensus(mark_unsettled=self.mark_unsettled)
        self.labels_ = labels.astype(np.int64)
        self.n_clusters_ = posterior.n_clusters
        self.n_topics_ = posterior.n_topics
        words = posterior.vocabulary  # None for vectors, whose components are small
        width = self.components_.shape[1] if words is None else len(words)
        self._set_features(width, words)

    @property
    def components_(self) -> Floats:
        """Word probabilities or means of the topics; computed when they are first used."""
        return self.posterior_.components

    def fit_predict(self, X: Any, y: Any = None, *, contexts: Any = None) -> Int64s:
        """Fit the model and return the cluster of each group it was fitted to."""
        return self.fit(X, y, contexts=contexts).labels_

    def transform(self, X: Any, *, contexts: Any = None) -> Floats:
        """Return the share of each topic in each group: (n_groups, n_topics_), rows sum to 1."""
        return self._in_batches(prediction.topic_proportions, X, contexts)

    def predict(self, X: Any, *, contexts: Any = None) -> Int64s:
        """Return the most probable cluster of each group."""
        return self._in_batches(prediction.most_probable_cluster, X, contexts)

    def predict_proba(self, X: Any, *, contexts: Any = None) -> Floats:
        """Return the probability of each cluster, given that the cluster is not new."""
        return self._in_batches(
            lambda *arguments: prediction.cluster_probabilities(*arguments)[0], X, contexts
        )

    def predict_new_proba(self, X: Any, *, contexts: Any = None) -> Floats:
        """Return the probability that a group belongs to a cluster not seen in training."""
        return self._in_batches(
            lambda *arguments: prediction.cluster_probabilities(*arguments)[1], X, contexts
        )

    def predict_context(
        self, X: Any, name: str, top: int | None = None, *, contexts: Any = None
    ) -> pd.DataFrame:
        """Predict the context ``name`` of each group; list the ``top`` most probable categories.

        The name of a level above groups predicts the unit of each group.

        Examples
        --------
        >>> model.predict_context(new, "position").columns.tolist()
        ['group', 'mean', 'sd', 'lower', 'upper']
        """
        posterior, corpus = self._prepare(X, contexts)
        return context_distribution(posterior, corpus, name, top=top)

    def perplexity(
        self,
        X: Any,
        method: str = "completion",
        given_contexts: bool = False,
        *,
        contexts: Any = None,
    ) -> float:
        """Return the perplexity of held-out groups; lower is better.

        Parameters
        ----------
        method : {"completion", "exact", "left_to_right", "printed"}
            "exact" requires ``lam=inf``, "left_to_right" a finite ``lam``; "printed" is the formula
            of the paper's appendix. `mcsquared.evaluation.perplexity` has details and scores.
        given_contexts : bool
            Whether to use the contexts of the groups.

        Examples
        --------
        >>> 1 < model.perplexity(new, "completion") < 35  # 35 for uniform words
        True
        """
        from mcsquared.evaluation.perplexity import perplexity

        posterior, corpus = self._prepare(X, contexts)
        return float(perplexity(posterior, corpus, method, given_contexts, fold_in=self.fold_in))

    def score(self, X: Any, y: Any = None, *, contexts: Any = None) -> float:
        """Return the mean log-likelihood per token.

        The method of `perplexity` is "exact" if ``lam`` is inf, otherwise "left_to_right".
        """
        check_is_fitted(self)
        method = "exact" if self.posterior_.priors.lam == math.inf else "left_to_right"
        perplexity = self.perplexity(X, method, contexts=contexts)
        if math.isnan(perplexity):
            raise InputError(
                "X must contain at least one token of the training vocabulary, got none"
            )
        return -math.log(perplexity)

    def set_labels(
        self, clusters: Mapping[int, str] | None = None, topics: Mapping[int, str] | None = None
    ) -> Self:
        """Set names of clusters or topics, which tables, plots and reports use; `save` stores them.

        An empty string restores the name found in the data; `labels_` does not change.

        Examples
        --------
        >>> model.set_labels(clusters={0: "letters of EE"}).posterior_.clusters()["name"][0]
        'letters of EE'
        """
        check_is_fitted(self)
        self.posterior_.set_names("clusters", clusters or {})
        self.posterior_.set_names("topics", topics or {})
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Atomically write the fitted model to one file."""
        check_is_fitted(self)
        save_model(path, self.posterior_, self.get_params(deep=False), self.labels_)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MC2:
        """Load a model written by `save`; raise `ModelFileError` if the file is invalid."""
        saved = load_model(path, set(cls().get_params(deep=False)))
        model = cls(**saved.parameters)
        model._set_fitted(saved.posterior, saved.labels)
        return model

    def _in_batches(self, predict: Callable[..., Any], X: Any, contexts: Any) -> Any:
        """Return predictions for all groups of ``X``, in batches if it is a folder."""
        check_choice("fold_in", self.fold_in, prediction.FOLD_IN)
        if not isinstance(X, ParquetFolder):
            return predict(*self._prepare(X, contexts), self.fold_in)
        check_is_fitted(self)
        check_no_contexts(contexts)
        batches = folder_batches(X, self.posterior_.vocabulary)
        results = [predict(*self._prepare(batch, None), self.fold_in) for batch in batches]
        return np.concatenate(results)

    def _prepare(self, X: Any, contexts: Any) -> tuple[Posterior, Corpus]:
        """Return the posterior, and ``X`` as a corpus with the training vocabulary."""
        check_is_fitted(self)
        words: Any = self.posterior_.vocabulary
        options = self.posterior_.text_options
        corpus = as_corpus(X, contexts, self._matrix_kind(), words, options)
        prediction.check_names(self.posterior_, corpus)
        prediction.check_width(self.posterior_, corpus, self.n_features_in_)
        return self.posterior_, corpus

    def _matrix_kind(self) -> str:
        """Return ``content`` if it is the kind of a matrix, otherwise "auto"."""
        is_kind = isinstance(self.content, str) and self.content in MATRIX_KINDS
        return str(self.content) if is_kind else "auto"

    def _html_repr(self) -> str:
        """Return the summary of a fitted model for notebooks."""
        if not hasattr(self, "posterior_"):
            return str(super()._html_repr())
        from mcsquared.posterior.exports import model_html

        return model_html(self.posterior_, repr(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

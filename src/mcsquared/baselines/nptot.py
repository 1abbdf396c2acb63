"""Topics over time with any number of topics (Dubey, Hefny, Williamson and Xing 2013).

    ε ~ GEM(η),   θ_j ~ DP(v, ε),   l_ji ~ θ_j,   w_ji ~ ψ_{l_ji},   t_ji ~ f_{l_ji}

A hierarchical Dirichlet process in which every topic has a Dirichlet process mixture of Gaussians
f_m over time in addition to its words, and every word has the time of its group. Given times, the
likelihood of a token of topic m is ψ_mw f_m(t), and the score of a word is

    p(w | t, first half)  =  Σ_m θ_m f_m(t) ψ_mw  /  Σ_m θ_m f_m(t)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mcsquared.arrays import Floats
from mcsquared.baselines.hdp import DirichletProcessModel
from mcsquared.baselines.nptot_chain import NPTOTChain
from mcsquared.baselines.topic_model import Rows, check_positive, rows_by_value
from mcsquared.corpus import Column, Corpus, Vectors
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily, Gaussian
from mcsquared.model.parameters import ALPHA, ETA, Concentration, V
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.prediction.parameters import PARAMETERS, ModelParameters, stream

if TYPE_CHECKING:
    import pandas as pd

GRID_POINTS = 101


@dataclass(eq=False, repr=False)
class NPTOT(DirichletProcessModel):
    """Topics over time: `HDP` in which each topic also has a distribution over time.

    Parameters
    ----------
    time : str
        Name of the context that holds a group's time: numbers or dates, with or without missing
        values. A group without a time is treated as in `HDP`.
    family : "auto" or Gaussian
        Prior of a topic's components over time. "auto": means distributed like the groups' times,
        and a nearly fixed width.
    width : float
        Width of a component in standard deviations of the groups' times, if ``family`` is "auto".
    eta, v : float or Gamma
        Concentrations of topics at the root and of groups around it.
    alpha : float or Gamma
        Concentration of the components of a topic over time.
    content : "auto", family or family name
        Content family of the topics.
    n_sweeps, burn_in, thin, keep_parameters, max_topics, init, random_state, progress
        As in `HDP`. Tokens are visited sequentially, on one thread.

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Words of each topic of the last stored draw, the largest first; rows sum to 1.
    n_topics_ : int
    draws_ : list of NPTOTDraw
    trace_ : DataFrame
        A row per sweep: sweep, kept, n_topics, v, eta, alpha, n_components, seconds.

    Notes
    -----
    Every word of a group repeats its time, so that a group of a thousand words contributes a
    thousand equal times to its topics. A component whose width can shrink, as under ``Gaussian()``,
    then collapses to a single time, its density grows without bound, and topics become dates. For
    this reason "auto" fixes the width. The width determines the influence of times relative to
    words: scores depend on it strongly, and for a large width the model is `HDP`. Report the width
    with a score, and select it, if at all, on other groups.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.NPTOT("position", n_sweeps=30, burn_in=10, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape == (40, model.n_topics_)
    True
    """

    time: str = "year"
    family: str | Gaussian = "auto"
    width: float = 0.25
    eta: Concentration = ETA.default
    v: Concentration = V.default
    alpha: Concentration = ALPHA.default
    content: str | ConjugateFamily = "auto"
    n_sweeps: int = 600
    burn_in: int = 100
    thin: int = 5
    keep_parameters: int = 10
    max_topics: int | None = None
    init: str = "auto"
    random_state: int | np.random.RandomState | None = None
    progress: Any = "auto"

    def time_given_topic(self, grid: ArrayLike | None = None) -> pd.DataFrame:
        """Return each topic's density over time, one row per time and one column per topic.

        Parameters
        ----------
        grid : array of numbers, or of dates if the times are dates, optional
            Times; by default 101 points from the first to the last time of training.

        Examples
        --------
        >>> model.time_given_topic().shape[1] == model.n_topics_
        True
        """
        import pandas as pd

        check_is_fitted(self)
        times = self._grid(grid)
        densities = self.draws_[-1].mean_densities(self._time_family, times)
        return pd.DataFrame(
            densities,
            index=pd.Index(self._column.display(times), name=self._column.name),
            columns=pd.RangeIndex(self.n_topics_, name="topic"),
        )

    def _grid(self, grid: ArrayLike | None) -> Floats:
        if grid is not None:
            column = Corpus(
                np.zeros((len(np.asarray(grid)), 1), np.int64), {self._column.name: grid}
            ).contexts[self._column.name]
            return np.asarray(column.convert_for("gaussian").values, np.float64)
        seen = self._column.observations()
        if not len(seen):
            raise InputError("grid must be given if no time was observed in training, got None")
        return np.linspace(seen.min(), seen.max(), GRID_POINTS)

    def _start(self, corpus: Corpus) -> NPTOTChain:
        v, alpha = V.validated(self.v), ALPHA.validated(self.alpha)
        if isinstance(corpus.content, Vectors):
            raise InputError("content must be words, got vectors")
        self._column = time_column(corpus, self.time)
        self._time_family = time_family(self.family, self.width, self._column, corpus.n_tokens)
        self._priors = Priors.for_corpus(corpus, self.content, {}, alpha=1.0, v=v, eta=self.eta)
        return NPTOTChain(
            observe(corpus, self._priors),
            self._priors,
            self._column.values - self._time_family.origin,
            self._time_family.kernel_parameters(),
            alpha,
            self._seed,
            self.init,
            self.max_topics,
        )

    def _columns(self) -> dict[str, Column]:
        return {self._column.name: self._column}

    def _mean_parameters(self, corpus: Corpus) -> Iterable[tuple[Rows, ModelParameters]]:
        draw = self.draws_[-1]
        parameters = draw.mean_parameters(self._priors.content, words=True, seed=self._seed)
        times, subsets = rows_by_value(corpus.contexts[self._column.name].values)
        for value, rows in zip(times, subsets, strict=True):
            logs = np.zeros((1, draw.n_topics))
            if not np.isnan(value):
                logs = np.log(draw.mean_densities(self._time_family, np.array([value])))
            yield rows, replace(parameters, log_topic_evidence=_relative(logs)[0])

    def _parameters(
        self, corpus: Corpus, given_contexts: bool, seed: int
    ) -> Iterable[tuple[Rows, Iterable[ModelParameters]]]:
        if not given_contexts:
            yield from super()._parameters(corpus, given_contexts, seed)
            return
        times, subsets = rows_by_value(corpus.contexts[self._column.name].values)
        draws = []
        for number, draw in enumerate(self.draws_):
            rng = stream(seed, PARAMETERS, number, 0)
            parameters = draw.draw_parameters(self._priors.content, rng)
            n_topics = parameters.log_topic_given_cluster.shape[1]
            logs = draw.draw_log_densities(self._time_family, n_topics, times, rng)
            draws.append((parameters, _relative(logs)))
        for i, rows in enumerate(subsets):
            yield rows, [replace(drawn, log_topic_evidence=logs[i]) for drawn, logs in draws]

    def _check_method(self, method: str, given_contexts: bool) -> None:
        super()._check_method(method, given_contexts)
        if given_contexts and method != "completion":
            raise InputError(f"method must be 'completion' if given_contexts=True, got {method!r}")


def _relative(log_densities: Floats) -> Floats:
    """Return log-densities relative to the largest of each row: only ratios matter."""
    return np.maximum(log_densities - log_densities.max(axis=1, keepdims=True), -700.0)


def time_column(corpus: Corpus, name: Any) -> Column:
    """Return the column of times as numbers."""
    if name not in corpus.contexts:
        known = ", ".join(map(repr, corpus.contexts)) or "none"
        raise InputError(f"time must be a context of the corpus ({known}), got {name!r}")
    return corpus.contexts[name].convert_for("gaussian")


def time_family(family: Any, width: float, column: Column, n_tokens: int) -> Gaussian:
    """Return the prior of a component over time, with defaults from the groups' times."""
    if isinstance(family, Gaussian):
        filled = column.fill(family)
    elif isinstance(family, str) and family == "auto":
        known = column.fill(Gaussian())
        assert isinstance(known, Gaussian)
        # As strong as the likelihood of all tokens.
        shape = 0.5 * max(n_tokens, 2)
        square = check_positive("width", width) ** 2
        rate = shape * square * float(known.rate or 1.0)
        filled = column.fill(Gaussian(strength=square, shape=shape, rate=rate))
    else:
        raise InputError(f"family must be 'auto' or a Gaussian, got {family!r}")
    assert isinstance(filled, Gaussian)
    return filled

"""NPTOT: topics over time without numbers chosen in advance (Dubey, Hefny, Williamson, Xing 2013).

    ε ~ GEM(η),   θ_j ~ DP(v, ε),   l_ji ~ θ_j,   w_ji ~ ψ_{l_ji},   t_ji ~ f_{l_ji}

A hierarchical Dirichlet process in which every topic has a Dirichlet process mixture of Gaussians
f_m over time beside its words, and every word carries the time of its group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from mcsquared.baselines import timed
from mcsquared.baselines.checks import check_positive
from mcsquared.baselines.hdp import ETA, V, check_v
from mcsquared.baselines.kept import KeptTopics, kept_topics
from mcsquared.baselines.time_densities import (
    KeptTimes,
    log_completion_given_times,
    mean_densities,
    shares_given_times,
)
from mcsquared.baselines.topic_sampler import Chain, TopicSampler
from mcsquared.corpus import Column, Corpus, Vectors
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily, Gaussian
from mcsquared.model.parameters import ALPHA, Concentration
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations, observe

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NPTOT"]

GRID = 101

Floats = NDArray[np.float64]


class NPTOT(TopicSampler):
    """Topics with their times: `HDP` in which each topic also has a distribution over time.

    Parameters
    ----------
    time : str
        The context that says when a group was written: numbers or dates, some of them missing if
        need be. A group without one is as in `HDP`.
    family : "auto" or Gaussian
        Prior of a topic's components over time. "auto": means spread as the groups' times are, and
        a width held to as if it were known.
    width : float
        Of a component, in standard deviations of the groups' times, where ``family`` is "auto".
    eta, v : float or Gamma
        Concentrations of topics at the root and of groups around it.
    alpha : float or Gamma
        Concentration of the components of a topic over time.
    content : "auto", family or family name
        How words arise in a topic.
    n_sweeps, burn_in, thin, keep_parameters, max_topics, init, random_state, progress
        As of `HDP`. Tokens are visited one after another, so that threads would not help.

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Words of each topic of the last kept draw, the largest first; rows sum to 1.
    n_topics_ : int
    draws_ : list of KeptTimes
    trace_ : DataFrame
        A row per sweep: sweep, kept, n_topics, v, eta, alpha, n_components, seconds.

    Notes
    -----
    Each of a group's words repeats its time, so that a group of a thousand words gives a topic a
    thousand equal times. A component whose width may shrink, as under ``Gaussian()``, then closes
    in on single times; its density there grows without end, and topics become dates. That is why
    "auto" holds the width. The width decides how much times weigh beside words: scores depend on it
    a great deal, and with a large one the model is `HDP`. Say which one a score is for, and choose
    it, if at all, on groups that are not those of the score.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.NPTOT("position", n_sweeps=30, burn_in=10, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape == (40, model.n_topics_)
    True
    """

    def __init__(
        self,
        time: str = "year",
        family: str | Gaussian = "auto",
        width: float = 0.25,
        eta: Concentration = ETA,
        v: Concentration = V,
        alpha: Concentration = ALPHA.default,
        content: str | ConjugateFamily = "auto",
        n_sweeps: int = 600,
        burn_in: int = 100,
        thin: int = 5,
        keep_parameters: int = 10,
        max_topics: int | None = None,
        init: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        progress: Any = "auto",
    ) -> None:
        self.time = time
        self.family = family
        self.width = width
        self.eta = eta
        self.v = v
        self.alpha = alpha
        self.content = content
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.keep_parameters = keep_parameters
        self.max_topics = max_topics
        self.init = init
        self.random_state = random_state
        self.progress = progress

    def time_given_topic(self, grid: ArrayLike | None = None) -> pd.DataFrame:
        """Return when the words of each topic are written: densities, rows times, columns topics.

        Parameters
        ----------
        grid : array of numbers, or of dates where the times are dates, optional
            Where to look; by default 101 points from the first time of training to the last.

        Examples
        --------
        >>> model.time_given_topic().shape[1] == model.n_topics_
        True
        """
        import pandas as pd

        check_is_fitted(self)
        times = self._grid(grid)
        densities = mean_densities(self.draws_[-1], self._time_family, times)
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
            return np.asarray(column.as_family("gaussian").values, np.float64)
        seen = self._column.observations()
        if not len(seen):
            raise InputError("no time was observed in training, but a grid is made from them")
        return np.linspace(seen.min(), seen.max(), GRID)

    def _start(self, corpus: Corpus) -> Chain:
        check_v(self.v)
        alpha = ALPHA.validated(self.alpha)
        if isinstance(corpus.content, Vectors):
            raise InputError("the corpus holds vectors, but NPTOT wants words")
        self._column = time_column(corpus, self.time)
        self._time_family = time_family(self.family, self.width, self._column, corpus.n_tokens)
        self._priors = Priors.for_corpus(
            corpus, self.content, {}, alpha=1.0, v=self.v, eta=self.eta
        )
        observations = observe(corpus, self._priors)
        time = self._column.values - self._time_family.origin
        return _Chain(
            observations,
            self._priors,
            time,
            self._time_family.kernel_parameters(),
            alpha,
            self._seed,
            self.init,
            self.max_topics,
        )

    def _columns(self) -> dict[str, Column]:
        return {self._column.name: self._column}

    def _shares(self, draw: KeptTopics, corpus: Corpus) -> Floats:
        assert isinstance(draw, KeptTimes)
        time = corpus.contexts[self._column.name].values
        return shares_given_times(draw, self._family, self._time_family, corpus, time, self._seed)

    def _log_likelihood(
        self,
        corpus: Corpus,
        first: Corpus | None,
        target: Corpus,
        given_contexts: bool,
        seed: int,
    ) -> Floats:
        if not given_contexts:
            return super()._log_likelihood(corpus, first, target, given_contexts, seed)
        if first is None:
            raise InputError(
                "method is 'left_to_right', but with given_contexts=True NPTOT has 'completion' "
                "alone"
            )
        time = corpus.contexts[self._column.name].values
        return log_completion_given_times(
            self.draws_, self._family, self._time_family, first, target, time, seed
        )


def time_column(corpus: Corpus, name: Any) -> Column:
    """Return the column of times, as numbers."""
    if name not in corpus.contexts:
        known = ", ".join(map(repr, corpus.contexts)) or "none"
        raise InputError(f"time is {name!r}, but the corpus has the contexts {known}")
    return corpus.contexts[name].as_family("gaussian")


def time_family(family: Any, width: float, column: Column, n_tokens: int) -> Gaussian:
    """Return the prior of a component over time, filled from the groups' times."""
    if isinstance(family, Gaussian):
        filled = column.fill(family)
    elif isinstance(family, str) and family == "auto":
        known = column.fill(Gaussian())
        assert isinstance(known, Gaussian)
        # As sure of the width as all the tokens of a corpus could make it.
        shape = 0.5 * max(n_tokens, 2)
        square = check_positive("width", width) ** 2
        rate = shape * square * float(known.rate or 1.0)
        filled = column.fill(Gaussian(strength=square, shape=shape, rate=rate))
    else:
        raise InputError(f"family is {family!r}, but 'auto' or a Gaussian is wanted")
    assert isinstance(filled, Gaussian)
    return filled


class _Chain:
    """The state of a fit, and how it goes on."""

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        time: Floats,
        parameters: Floats,
        alpha: Concentration,
        seed: int,
        init: str,
        max_topics: int | None,
    ) -> None:
        self._given = (observations, priors, seed, max_topics)
        self.state, self.times = timed.start(
            observations, priors, time, parameters, alpha, seed, init, max_topics
        )

    def sweep(self) -> None:
        timed.sweep(self.state, self.times, *self._given)

    def row(self) -> dict[str, float]:
        state, times = self.state, self.times
        return {
            "n_topics": state.n_topics,
            "v": state.v,
            "eta": state.eta,
            "alpha": times.alpha,
            "n_components": int(times.n_components.sum()),
        }

    def draw(self) -> KeptTimes:
        known = kept_topics(self.state, self.state.v, self._given[0])
        start, statistics = self.times.of_topics(self.state)
        return KeptTimes(
            **vars(known),
            component_start=start,
            component_statistics=statistics,
            alpha=self.times.alpha,
        )

"""Latent Dirichlet allocation with a fixed number of topics, fitted by tomotopy."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats
from mcsquared.baselines.topic_model import ALL_GROUPS, Rows, TopicModel, single_cluster_parameters
from mcsquared.corpus import Corpus, Words
from mcsquared.errors import InputError, import_optional
from mcsquared.families import Categorical
from mcsquared.prediction.fold_in import Iterations
from mcsquared.prediction.likelihood import safe_log
from mcsquared.prediction.parameters import ModelParameters, Stream, draw_key, stream
from mcsquared.samplers.threads import n_threads_for

FAMILY = Categorical()  # a placeholder: the likelihood of words is a table


def import_tomotopy() -> Any:
    """Return the package, or raise an error with the command that installs it."""
    return import_optional("tomotopy", "mcsquared[baselines]", "this baseline")


@dataclass(eq=False, repr=False, kw_only=True)
class TomotopyModel(TopicModel):
    """Base class of topic models by tomotopy, with a Dirichlet prior of topic shares, Dir(α)."""

    n_jobs: int | None = None

    _minima: ClassVar = {"n_topics": 1, **TopicModel._minima}
    _positive_parameters: ClassVar[tuple[str, ...]] = ("alpha", "concentration")
    _content: ClassVar = "counts"
    _transform_iterations: ClassVar = Iterations(30, 50)

    def _dirichlet_priors(
        self, corpus: Corpus, given_contexts: bool
    ) -> Iterable[tuple[Rows, list[Floats]]]:
        """Return subsets of the groups with their α in every draw."""
        return [(ALL_GROUPS, [draw.alpha for draw in self.draws_])]

    def _mean_parameters(self, corpus: Corpus) -> Iterable[tuple[Rows, ModelParameters]]:
        log_word_given_topic = safe_log(self.draws_[-1].word_given_topic)
        for rows, alphas in self._dirichlet_priors(corpus, given_contexts=True):
            yield rows, dirichlet_parameters(log_word_given_topic, alphas[-1], self._seed)

    def _parameters(
        self, corpus: Corpus, given_contexts: bool, seed: int
    ) -> Iterable[tuple[Rows, Iterable[ModelParameters]]]:
        logs = [safe_log(draw.word_given_topic) for draw in self.draws_]
        for rows, alphas in self._dirichlet_priors(corpus, given_contexts):
            pairs = enumerate(zip(logs, alphas, strict=True))
            yield rows, [dirichlet_parameters(*pair, seed, number) for number, pair in pairs]

    def _score_iterations(self) -> Iterations:
        # Noise in θ biases perplexity upwards; with several draws, each has fewer iterations.
        return Iterations(30, max(200 // len(self.draws_), 40))


def dirichlet_parameters(
    log_word_given_topic: Floats, alpha: Floats, seed: int, number: int = 0
) -> ModelParameters:
    """Return the parameters for θ_j ~ Dir(α): one cluster, τ = α / Σα and λ = Σα.

    ``number`` is the index of the draw.
    """
    key = draw_key(stream(seed, Stream.PARAMETERS, number))
    return single_cluster_parameters(alpha, log_word_given_topic, FAMILY, float(alpha.sum()), key)


class TomotopyChain:
    """A tomotopy model with the tokens of a corpus; all words have the same weight.

    Groups without words are left out, because tomotopy rejects them. The nonzero entries of a row
    of ``features``, (n_groups, n_features), are the features of a group.
    """

    def __init__(
        self,
        model: Any,
        corpus: Corpus,
        n_jobs: int | None = None,
        features: sparse.csr_matrix | None = None,
    ) -> None:
        assert isinstance(corpus.content, Words)
        if corpus.n_tokens == 0:
            raise InputError("X must have at least one word, got none")
        counts = corpus.content.counts
        self.model, self.n_words = model, corpus.n_words
        self._n_threads = n_threads_for(n_jobs)
        # Words are passed by index, because the model sorts its vocabulary.
        names = np.array([str(number) for number in range(self.n_words)], dtype=object)
        for j in np.flatnonzero(np.diff(counts.indptr)):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            tokens = np.repeat(names[counts.indices[row]], counts.data[row]).tolist()
            if features is None:
                model.add_doc(tokens)
            else:
                present = features.indices[features.indptr[j] : features.indptr[j + 1]]
                model.add_doc(tokens, multi_metadata=[str(number) for number in present])

    def run(self, n_sweeps: int, burn_in: int, n_draws: int) -> Iterator[int]:
        """Run sweeps; yield the number of completed sweeps whenever a draw is to be stored."""
        ends = np.unique(np.linspace(burn_in, n_sweeps, min(n_draws, n_sweeps - burn_in) + 1)[1:])
        done = 0
        for sweep in np.ceil(ends).astype(int).tolist():
            with warnings.catch_warnings():
                # tomotopy warns that several threads are not reproducible; see `LDA`.
                warnings.simplefilter("ignore", RuntimeWarning)
                self.model.train(sweep - done, workers=self._n_threads)
            done = sweep
            yield sweep

    def word_given_topic(self) -> Floats:
        """Return the current ψ: float64 (n_topics, n_words), in the order of the corpus.

        Words of the vocabulary that no training group contains have their prior probability.
        """
        used = np.array([int(word) for word in self.model.used_vocabs])
        weights = np.full((self.model.k, self.n_words), self.model.eta, np.float64)
        for m in range(self.model.k):
            weights[m, used] = self.model.get_topic_word_dist(m, normalize=False)
        return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class LDADraw:
    """Topics of one stored draw with the prior of topic shares."""

    word_given_topic: Floats  # ψ, (n_topics, n_words); rows sum to 1
    alpha: Floats  # Dirichlet prior of θ, (n_topics,)


@dataclass(eq=False, repr=False)
class LDA(TomotopyModel):
    """Latent Dirichlet allocation: a fixed number of topics, without clusters and contexts.

    Fitted by the collapsed Gibbs sampler of tomotopy, which also optimises the prior of topic
    shares every ten sweeps.

    Parameters
    ----------
    n_topics : int
    alpha : float
        Initial Dirichlet prior of a group's topic shares, per topic.
    concentration : float
        Dirichlet prior of a topic's words, per word, as in `MC2`.
    n_sweeps, burn_in : int
        Total number of sweeps, and number of initial sweeps to discard.
    keep_parameters : int
        Number of stored draws, evenly spaced after burn-in; perplexity is averaged over them.
    n_jobs : int, optional
        Threads. With more than one, results are not reproducible.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Word probabilities of each topic in the last draw; rows sum to 1.
    alpha_ : float64 (n_topics_,)
        The fitted prior of topic shares in the last draw.
    draws_ : list of LDADraw
    n_topics_ : int

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.LDA(n_topics=4, n_sweeps=50, burn_in=20, random_state=0).fit(corpus)
    >>> model.components_.shape
    (4, 35)
    """

    n_topics: int = 50
    alpha: float = 0.1
    concentration: float = 0.05

    def _fit(self, corpus: Corpus) -> Floats:
        model = import_tomotopy().LDAModel(
            k=self.n_topics, alpha=self.alpha, eta=self.concentration, seed=self._seed
        )
        chain = TomotopyChain(model, corpus, self.n_jobs)
        self.draws_ = [
            LDADraw(chain.word_given_topic(), np.array(model.alpha, np.float64))
            for _ in chain.run(self.n_sweeps, self.burn_in, self.keep_parameters)
        ]
        self.alpha_ = self.draws_[-1].alpha
        return self.draws_[-1].word_given_topic

"""The posterior: kept draws of one or several chains, their consensus and tables."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s, Objects
from mcsquared.corpus import Column, Corpus
from mcsquared.errors import InputError
from mcsquared.model.priors import Priors
from mcsquared.posterior import exports, tables
from mcsquared.posterior.content import ClusterContent, cluster_content
from mcsquared.posterior.contexts import context_table, topic_given_context
from mcsquared.posterior.diagnostics import diagnostics
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.posterior.effects import ContextEffects
from mcsquared.posterior.hierarchy import Hierarchy, hierarchy
from mcsquared.posterior.levels import UnitDraws, UpperLevels
from mcsquared.posterior.membership import unsettled_table
from mcsquared.posterior.names import cluster_names, topic_names
from mcsquared.posterior.prevalence import difference_table, prevalence_table
from mcsquared.posterior.relevance import ContextRelevance
from mcsquared.posterior.tables import CoDocuments, count_word_pairs
from mcsquared.posterior.topics import RepresentativeTopics
from mcsquared.posterior.weights import check_weights

N_TOP_WORDS = 20
TEXT_OPTIONS = "text_options"  # key of `Posterior.source`


@dataclass(eq=False, repr=False)
class Posterior(RepresentativeTopics, ContextRelevance, ContextEffects, UpperLevels):
    """Kept draws of a fit, summarised by one partition and one set of topics.

    In all tables, clusters are those of the consensus, by decreasing size. Topics are those of the
    *representative* draw, the draw with parameters closest to the consensus, by decreasing weight.

    Parameters
    ----------
    priors : Priors
        Priors whose families have all fields set.
    group_names : object (n_groups,)
    vocabulary : object (n_words,), optional
        None if the content is vectors.
    contexts : mapping of str to Column
        Training columns in the form that their families expect.
    tokens_per_group : int64 (n_groups,)
    cluster_of_group : int32 (n_draws, n_groups)
    chain_of_draw, sweep_of_draw : int32 (n_draws,)
    trace : DataFrame
        One row per sweep and chain, including burn-in.
    parameters : list of ParameterDraw
        Counts and weights of the draws that have them: all kept draws or some of them.
    word_frequency, document_frequency : int64 (n_words,), optional
        Number of tokens of each word, and number of groups that contain it.
    seed : int
        Seed of the fit, and of predictions by default.
    notes : list of str
        Notes on the data and the run.
    source : dict of str to str
        How the data were read, so that new data can be read in the same way.
    codocument : CoDocuments, optional
        Number of groups that contain two top words of a topic; see `attach_codocuments`.
    cluster_content : ClusterContent, optional
        Topics and common words of the groups of each cluster; see `attach_content`.
    given_names : dict
        Names that replace those found in the data: ``{"clusters": {0: "sports"}, "topics": {}}``.
    chain_weights : float64 (n_chains,), optional
        Weights of the chains, which sum to 1; see Notes. By default all draws have equal weights.
    n_fitted : int, optional
        Number of groups that were sampled, if the posterior contains only some of them.
    units : list of UnitDraws
        Units of the levels above groups, the lowest first; see `level`.

    Notes
    -----
    If chains disagree, they are weighted by how well they predict (stacking of predictive
    distributions, see `mcsquared.evaluation.stacking`), and a note reports the weights. They apply
    to the consensus, `coclustering`, stabilities, predictions and perplexities. The consensus uses
    a number of draws of each chain in proportion to its weight.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> posterior = mc2.MC2(n_sweeps=50, burn_in=20, random_state=0).fit(corpus).posterior_
    >>> posterior.n_draws, posterior.n_groups, posterior.trace.shape[0]
    (6, 40, 50)
    >>> len(set(posterior.labels)) == posterior.n_clusters  # the consensus of the draws
    True
    >>> posterior.cluster_probability.shape == (40, posterior.n_clusters)
    True
    >>> posterior.is_weighted, posterior.draws_by_weight.shape, set(posterior.draw_weights.tolist())
    (False, (6, 40), {1.0})
    >>> len(posterior.parameter_weights) == len(posterior.parameters)
    True
    >>> posterior.topic_given_cluster.shape == posterior.token_shares.shape
    True
    >>> posterior.word_given_topic.shape == posterior.components.shape
    True
    >>> posterior.attach_codocuments(corpus.content.counts)  # as `fit` does
    >>> int(posterior.tokens_of_topic.sum()), int(posterior.tokens_of_cluster.sum())
    (2000, 2000)
    >>> posterior.representative_draw is posterior.parameters[posterior.representative]
    True
    >>> posterior.text_options  # of `Corpus.from_texts`
    {}
    >>> posterior.n_listed_topics <= posterior.n_topics, posterior.words_in_topic.dtype
    (True, dtype('bool'))
    >>> len(posterior.topic_alignment[0]) == posterior.parameters[0].n_topics
    True
    >>> len(posterior.topic_stability) == len(posterior.topic_order) == posterior.n_topics
    True
    """

    priors: Priors
    group_names: Objects
    vocabulary: Objects | None
    contexts: dict[str, Column]
    tokens_per_group: Int64s
    cluster_of_group: Int32s
    chain_of_draw: Int32s
    sweep_of_draw: Int32s
    trace: pd.DataFrame
    parameters: list[ParameterDraw]
    word_frequency: Int64s | None = None
    document_frequency: Int64s | None = None
    seed: int = 0
    notes: list[str] = field(default_factory=list)
    source: dict[str, str] = field(default_factory=dict)
    codocument: CoDocuments | None = None
    cluster_content: ClusterContent | None = None
    given_names: dict[str, dict[int, str]] = field(default_factory=dict)
    n_fitted: int = None  # type: ignore[assignment]
    chain_weights: Floats = None  # type: ignore[assignment]
    units: list[UnitDraws] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.group_names = np.asarray(self.group_names, dtype=object)
        if self.vocabulary is not None:
            self.vocabulary = np.asarray(self.vocabulary, dtype=object)
        self.contexts, self.source = dict(self.contexts), dict(self.source or {})
        self.parameters, self.notes = list(self.parameters), list(self.notes)
        self.tokens_per_group = np.asarray(self.tokens_per_group, np.int64)
        self.cluster_of_group = labels = np.ascontiguousarray(self.cluster_of_group, np.int32)
        self.chain_of_draw = np.asarray(self.chain_of_draw, np.int32)
        self.sweep_of_draw = np.asarray(self.sweep_of_draw, np.int32)
        self.seed = int(self.seed)
        if labels.ndim != 2 or labels.size == 0:
            raise InputError(
                "cluster_of_group must have at least one draw and one group, "
                f"got shape {labels.shape}"
            )
        n_draws, n_groups = labels.shape
        self.n_fitted = n_groups if self.n_fitted is None else self.n_fitted
        expected_lengths = dict.fromkeys(("group_names", "tokens_per_group"), n_groups)
        expected_lengths |= dict.fromkeys(("chain_of_draw", "sweep_of_draw"), n_draws)
        lengths = {name: len(getattr(self, name)) for name in expected_lengths}
        lengths |= {f"context {name!r}": len(column) for name, column in self.contexts.items()}
        for name, length in lengths.items():
            expected = expected_lengths.get(name, n_groups)
            if length != expected:
                raise InputError(f"{name} must have {expected} entries, got {length}")
        self.chain_weights = check_weights(self.chain_weights, self.chain_of_draw)
        if labels.min() < 0 or labels.max() >= n_groups:
            found_range = f"{labels.min()}..{labels.max()}"
            raise InputError(f"cluster_of_group must be in 0..{n_groups - 1}, got {found_range}")

    def __repr__(self) -> str:
        # Computing the consensus takes time, so it is included only if it is already known.
        is_computed = {"labels", "representative"} <= vars(self).keys()
        summary = f"; {self.n_clusters} clusters, {self.n_topics} topics" if is_computed else ""
        draws = f"{self.n_draws} draws of {self.n_groups} groups"
        return f"Posterior({draws}, {len(self.parameters)} with parameters{summary})"

    def _repr_html_(self) -> str:
        return exports.summary_html(self)

    @property
    def text_options(self) -> dict[str, Any]:
        """How the training texts were split into words: arguments of `Corpus.from_texts`."""
        return json.loads(self.source.get(TEXT_OPTIONS, "{}"))

    def unsettled(self) -> pd.DataFrame:
        """Return the groups without a clear cluster, with the clusters they may belong to.

        All their clusters have probabilities below one half, and on average they share a cluster
        with another group of their cluster with probability below one half. `labels` has the most
        probable cluster. There is one row per group and candidate, the most probable first.

        Examples
        --------
        >>> posterior.unsettled().columns.tolist()
        ['group', 'name', 'cluster', 'probability']
        """
        return unsettled_table(self)

    @cached_property
    def topic_given_cluster(self) -> pd.DataFrame:
        """Topic shares of each cluster: one row per cluster, one column per topic; rows sum to 1.

        The posterior mean of τ, the mean topic shares of a new group of the cluster. If groups vary
        within their cluster (finite lam), the shares of the cluster's tokens may differ slightly.
        """
        return pd.DataFrame(
            self._to_consensus(self.representative_draw.topic_given_cluster()),
            index=pd.RangeIndex(self.n_clusters, name="cluster"),
            columns=pd.RangeIndex(self.n_topics, name="topic"),
        )

    @property
    def token_shares(self) -> Floats:
        """Each topic's share of each cluster's tokens: float64 (n_clusters, n_topics).

        Estimated from the tokens of the cluster's groups if the posterior has its content,
        otherwise from the clusters of the representative draw that contain them.
        """
        drawn = self._to_consensus(self.representative_draw.token_shares())
        if self.cluster_content is None:
            return drawn
        tokens = self.cluster_content.topic_tokens
        totals = tokens.sum(axis=1, keepdims=True)
        return np.divide(tokens, totals, out=drawn, where=totals > 0)

    def _to_consensus(self, shares: Floats) -> Floats:
        """Convert topic shares from the representative draw's clusters to the consensus."""
        return (tables.token_weights(self, self.representative_draw) @ shares)[:, self.topic_order]

    def attach_codocuments(self, counts: sparse.csr_matrix) -> None:
        """Count the training groups in which the top words of each topic co-occur.

        `topics` uses the counts for coherence; the word counts themselves are not stored.

        Parameters
        ----------
        counts : csr_matrix (n_groups, n_words)
        """
        self.codocument = count_word_pairs(counts, tables.top_words(self, N_TOP_WORDS))

    def attach_content(self, corpus: Corpus) -> None:
        """Summarise the content of each cluster's groups: topics, and words that most contain.

        `clusters`, names and the report use the summary; the content itself is not stored.

        Parameters
        ----------
        corpus : Corpus
            The training groups.

        Examples
        --------
        >>> posterior.attach_content(corpus)  # as `fit` does
        >>> posterior.cluster_content.topic_tokens.shape == posterior.token_shares.shape
        True
        """
        self.cluster_content = None
        self.cluster_content = cluster_content(self, corpus)

    def topics(self, n_words: int = 10, include_small: bool = False) -> pd.DataFrame:
        """Return one row per topic: name, weight, n_tokens, words, coherence, diversity, stability.

        If the content is vectors, the mean of the topic replaces words, coherence and diversity.
        Only words that occur in the topic are listed. Coherence (NPMI) is computed over the most
        probable words, at most 20. Diversity is the share of a topic's words listed for no other
        topic; ``.attrs["diversity"]`` is that of all topics.

        Parameters
        ----------
        n_words : int
        include_small : bool
            Whether to list near-empty topics (see `n_listed_topics`) as well.

        Examples
        --------
        >>> posterior.topics(n_words=3).columns.tolist()
        ['topic', 'name', 'weight', 'n_tokens', 'words', 'coherence', 'diversity', 'stability']
        >>> len(posterior.topics()) == posterior.n_listed_topics
        True
        >>> posterior.words_in_topic.shape == posterior.components.shape
        True
        """
        table = tables.topic_table(self, n_words, topic_names(self))
        return table if include_small else table.head(self.n_listed_topics)

    def clusters(self) -> pd.DataFrame:
        """Return one row per cluster: name, n_groups, n_tokens, share, stability, topics, contexts.

        The topics are those with the largest shares of the cluster's tokens.

        Examples
        --------
        >>> int(posterior.clusters()["n_groups"].sum())
        40
        """
        return tables.cluster_table(self, cluster_names(self))

    def representative_groups(
        self, *, topic: int | None = None, cluster: int | None = None, n_groups: int = 10
    ) -> pd.DataFrame:
        """Return the groups most typical of a topic or a cluster: group, name, score, n_tokens.

        The score is the topic's share in the group's cluster, averaged over the draws, or the mean
        probability that the group shares its cluster with the other groups of the cluster.

        Examples
        --------
        >>> len(posterior.representative_groups(topic=0, n_groups=3))
        3
        """
        return tables.representative_groups(self, topic, cluster, n_groups)

    def context_given_cluster(self, name: str) -> pd.DataFrame:
        """Return the distribution of a context, with one column per cluster.

        Rows are densities at 101 points for numbers and dates (per unit or day) and probabilities
        for other kinds; columns integrate or sum to 1. For vectors, the table contains means and
        standard deviations.

        Examples
        --------
        >>> posterior.context_given_cluster("position").shape == (101, posterior.n_clusters)
        True
        """
        return context_table(self, name, np.eye(self.n_clusters), "cluster")

    def context_given_topic(self, name: str) -> pd.DataFrame:
        """Return the distribution of a context over tokens, with one column per topic.

        It is a mixture of the clusters' distributions, weighted by their tokens in the topic.

        Examples
        --------
        >>> posterior.context_given_topic("position").shape == (101, posterior.n_topics)
        True
        """
        return context_table(self, name, tables.cluster_given_topic(self), "topic")

    def topic_given_context(self, name: str, value: Any) -> pd.DataFrame:
        """Return the topic probabilities of a group with this context, most probable first.

        Examples
        --------
        >>> round(float(posterior.topic_given_context("position", 4.0)["probability"].sum()), 6)
        1.0
        """
        return topic_given_context(self, name, value)

    def prevalence(self, name: str) -> pd.DataFrame:
        """Return topic shares by value of a context, with 95% intervals.

        The columns are value, n_groups, topic, name, share, low and high. Numbers and
        dates are binned. The shares of a group are those of its clusters. The intervals account for
        the uncertainty of the draws and the sampling of groups (Bayesian bootstrap).

        Examples
        --------
        >>> posterior.prevalence("position").columns.tolist()
        ['value', 'n_groups', 'topic', 'name', 'share', 'low', 'high']
        """
        return prevalence_table(self, name)

    def prevalence_difference(self, name: str, first: Any, second: Any) -> pd.DataFrame:
        """Return differences of topic shares, ``first`` minus ``second``, with 95% intervals.

        The columns are topic, name, difference, low and high. For numbers and dates, the bins
        closest to the two values are compared.

        Examples
        --------
        >>> len(posterior.prevalence_difference("position", 1.0, 4.0)) == posterior.n_listed_topics
        True
        """
        return difference_table(self, name, first, second)

    def hierarchy(self, of: str = "clusters") -> Hierarchy:
        """Return the clusters or the topics merged step by step, the most similar ones first.

        Clusters are similar if groups of one belong to the other in some draws and their topic
        shares are similar; topics, if their words (or the means of vectors) are similar.

        Parameters
        ----------
        of : {"clusters", "topics"}

        Examples
        --------
        >>> posterior.hierarchy().cut(2).max() <= 1
        np.True_
        """
        return hierarchy(self, of)

    def diagnostics(self) -> pd.DataFrame:
        """Return split R-hat, effective sample sizes and advice for scalars of the trace.

        These are the scalars that do not depend on the numbering of clusters and topics.
        The column ``advice`` is empty if there is no problem; ``.attrs["advice"]`` lists each
        piece of advice once, after the scalars it applies to.

        Examples
        --------
        >>> posterior.diagnostics()[["scalar", "rhat", "advice"]].shape[1]
        3
        """
        return diagnostics(self.trace, self.notes)

    def to_arviz(self) -> Any:
        """Return the scalars of `diagnostics` in the kept draws as ``arviz.InferenceData``.

        The log joint is ``lp`` in the sample statistics. Chains are truncated to equal length.

        Examples
        --------
        >>> posterior.to_arviz().posterior["n_clusters"].shape  # chains, draws
        (1, 6)
        """
        return exports.to_arviz(self)

    def to_pyldavis(self, **options: Any) -> Any:
        """Return the topics prepared for ``pyLDAvis.display``; topics keep their numbers.

        Options are passed to ``pyLDAvis.prepare``.

        Examples
        --------
        >>> len(posterior.to_pyldavis(mds="mmds").topic_order) == posterior.n_topics
        True
        """
        return exports.to_pyldavis(self, **options)


def posterior_of(model: Any) -> Posterior:
    """Return the posterior of a fitted model, or the posterior itself."""
    posterior = getattr(model, "posterior_", model)
    if isinstance(posterior, Posterior):
        return posterior
    unfitted = " that is not fitted" if hasattr(model, "fit") else ""
    name = type(model).__name__
    raise InputError(f"model must be a fitted MC2 or a Posterior, got {name}{unfitted}")

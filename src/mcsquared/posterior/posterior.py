"""Kept draws of one or several chains, and the questions one asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsquared.errors import InputError
from mcsquared.posterior.alignment import match_topics
from mcsquared.posterior.checks import check_parts
from mcsquared.posterior.coclustering import CoClustering
from mcsquared.posterior.codocuments import CoDocuments, count_meetings
from mcsquared.posterior.consensus import Labels, Loss, consensus, variation_of_information
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.posterior.means import (
    content_means,
    token_shares,
    tokens_of_topics,
    topic_given_draw_cluster,
)

if TYPE_CHECKING:
    import pandas as pd
    from scipy import sparse

    from mcsquared.corpus import Column
    from mcsquared.model.priors import Priors

__all__ = ["Posterior"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_TOP_WORDS = 20


class Posterior:
    """What a fit leaves: kept draws, and one partition and one set of topics to stand for them.

    Clusters in every table are those of the consensus, by decreasing size. Topics are those of
    the *representative*, the draw with parameters nearest to the consensus, by decreasing weight.

    Parameters
    ----------
    priors : Priors
        With every family filled.
    group_names : object (n_groups,)
    vocabulary : object (n_words,), optional
        None where the content is vectors.
    contexts : mapping of str to Column
        Training columns in the form their families take.
    tokens_per_group : int64 (n_groups,)
    cluster_of_group : int32 (n_draws, n_groups)
    chain_of_draw, sweep_of_draw : int32 (n_draws,)
    trace : DataFrame
        A row per sweep and chain, burn-in included.
    parameters : list of ParameterDraw
    word_frequency, document_frequency : int64 (n_words,), optional
        Tokens of each word, and groups that hold it.
    seed : int
    notes : list of str, what a user should know of the data and the run
    source : dict of str to str
        How the data were read, for whoever reads new data the same way.
    codocument : CoDocuments or mapping, optional
        Groups that hold two top words of a topic; see `attach_codocuments`.
    n_fitted : int, optional
        Groups that chains moved, where these here are some of them.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> posterior = mc2.MC2(n_sweeps=50, burn_in=20, random_state=0).fit(corpus).posterior_
    >>> posterior.n_draws, posterior.n_groups, posterior.trace.shape[0]
    (6, 40, 50)
    >>> len(set(posterior.labels)) == posterior.n_clusters  # the consensus of the draws
    True
    >>> posterior.topic_given_cluster.shape == posterior.topic_of_tokens.shape
    True
    >>> posterior.word_given_topic.shape == posterior.components.shape
    True
    >>> posterior.attach_codocuments(corpus.content.counts)  # as `fit` does
    >>> int(posterior.tokens_of_topic.sum()), int(posterior.tokens_of_cluster.sum())
    (2000, 2000)
    >>> posterior.representative_draw is posterior.parameters[posterior.representative]
    True
    >>> len(posterior.topic_alignment[0]) == posterior.parameters[0].n_topics
    True
    >>> len(posterior.topic_stability) == len(posterior.topic_order) == posterior.n_topics
    True
    """

    def __init__(
        self,
        priors: Priors,
        group_names: NDArray[np.object_],
        vocabulary: NDArray[np.object_] | None,
        contexts: Mapping[str, Column],
        tokens_per_group: Integers,
        cluster_of_group: Labels,
        chain_of_draw: NDArray[np.int32],
        sweep_of_draw: NDArray[np.int32],
        trace: pd.DataFrame,
        parameters: Sequence[ParameterDraw],
        word_frequency: Integers | None = None,
        document_frequency: Integers | None = None,
        seed: int = 0,
        notes: Sequence[str] = (),
        source: Mapping[str, str] | None = None,
        codocument: CoDocuments | Mapping[str, NDArray[np.int32]] | None = None,
        n_fitted: int | None = None,
    ) -> None:
        self.priors = priors
        self.group_names = np.asarray(group_names, dtype=object)
        self.vocabulary = None if vocabulary is None else np.asarray(vocabulary, dtype=object)
        self.contexts = dict(contexts)
        self.tokens_per_group = np.asarray(tokens_per_group, np.int64)
        self.cluster_of_group = np.ascontiguousarray(cluster_of_group, np.int32)
        self.chain_of_draw = np.asarray(chain_of_draw, np.int32)
        self.sweep_of_draw = np.asarray(sweep_of_draw, np.int32)
        self.trace = trace
        self.parameters = list(parameters)
        self.word_frequency = word_frequency
        self.document_frequency = document_frequency
        self.seed = int(seed)
        self.notes = list(notes)
        self.source = dict(source or {})
        if isinstance(codocument, Mapping):
            codocument = CoDocuments(codocument["words"], codocument["counts"])
        self.codocument = codocument
        self.n_fitted = self.n_groups if n_fitted is None else n_fitted
        check_parts(self)

    def __repr__(self) -> str:
        # Clusters and topics take a while to find, which a look must not.
        known = {"labels", "representative"} <= vars(self).keys()
        found = f"; {self.n_clusters} clusters, {self.n_topics} topics" if known else ""
        draws = f"{self.n_draws} draws of {self.n_groups} groups"
        return f"Posterior({draws}, {len(self.parameters)} of them with parameters{found})"

    def _repr_html_(self) -> str:
        from mcsquared.posterior.summary import summary_html

        return summary_html(self)

    @property
    def n_draws(self) -> int:
        """Number of kept draws."""
        return int(self.cluster_of_group.shape[0])

    @property
    def n_groups(self) -> int:
        """Number of groups of training."""
        return int(self.cluster_of_group.shape[1])

    # One partition ------------------------------------------------------------------------

    @cached_property
    def labels(self) -> Labels:
        """The consensus of the draws: int32 (n_groups,), clusters by decreasing size."""
        return consensus(self.cluster_of_group, "vi")

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the consensus."""
        return int(self.labels.max()) + 1

    @cached_property
    def tokens_of_cluster(self) -> Integers:
        """Tokens of each cluster of the consensus: int64 (n_clusters,)."""
        tokens = np.zeros(self.n_clusters, np.int64)
        np.add.at(tokens, self.labels, self.tokens_per_group)
        return tokens

    def consensus(self, loss: Loss = "vi") -> Labels:
        """Return the partition with the least expected loss over all draws.

        Parameters
        ----------
        loss : "vi" or "binder"
            Variation of information, which `labels` is for, or pairs of groups put wrongly.

        Examples
        --------
        >>> posterior.consensus("binder").shape
        (40,)
        """
        return self.labels if loss == "vi" else consensus(self.cluster_of_group, loss)

    def coclustering(self, groups: ArrayLike | None = None) -> CoClustering:
        """Return how often groups are together, computed on demand.

        Parameters
        ----------
        groups : int array, optional
            Restrict to these groups, which are then numbered by their place here.

        Examples
        --------
        >>> posterior.coclustering([0, 1, 30]).to_dense([0, 1, 2]).shape
        (3, 3)
        """
        together = CoClustering(self.cluster_of_group)
        return together if groups is None else together.among(groups)

    # One set of topics --------------------------------------------------------------------

    @cached_property
    def representative(self) -> int:
        """Which of `parameters` is nearest to the consensus."""
        if not self.parameters:
            raise InputError("the posterior holds no draw with parameters, which topics need")
        distances = [
            variation_of_information(self.labels, self.cluster_of_group[draw.draw])
            for draw in self.parameters
        ]
        return int(np.argmin(distances))

    @property
    def representative_draw(self) -> ParameterDraw:
        """The draw with parameters that is nearest to the consensus."""
        return self.parameters[self.representative]

    @property
    def n_topics(self) -> int:
        """Number of topics of the representative draw."""
        return self.representative_draw.n_topics

    @cached_property
    def topic_order(self) -> Integers:
        """Topic ``m`` of every table is topic ``topic_order[m]`` of the representative draw."""
        tokens = tokens_of_topics(self.representative_draw)
        return np.argsort(-tokens, kind="stable").astype(np.int64)

    @property
    def tokens_of_topic(self) -> Integers:
        """Tokens of each topic: int64 (n_topics,)."""
        return tokens_of_topics(self.representative_draw)[self.topic_order]

    @cached_property
    def components(self) -> Floats:
        """Topics × words, rows sum to 1; where content is vectors, topics × dimensions: means."""
        return content_means(self.representative_draw, self.priors.content)[self.topic_order]

    @cached_property
    def _matches(self) -> list[tuple[Integers, Floats]]:
        public = np.empty(self.n_topics + 1, np.int64)
        public[self.topic_order] = np.arange(self.n_topics)
        public[-1] = -1
        matches = []
        for draw in self.parameters:
            topic, closeness = match_topics(draw, self.representative_draw, self.priors.content)
            matches.append((public[topic], closeness))
        return matches

    @property
    def topic_alignment(self) -> list[Integers]:
        """For each of `parameters`, the table's topic that each of its topics is, or -1."""
        return [topic for topic, _ in self._matches]

    @property
    def topic_stability(self) -> Floats:
        """How similar each topic's counterparts in the other draws are, 0 to 1; NaN: no other."""
        total = np.zeros(self.n_topics)
        others = [match for i, match in enumerate(self._matches) if i != self.representative]
        for topic, closeness in others:
            total[topic[topic >= 0]] += closeness[topic >= 0]
        return total / len(others) if others else np.full(self.n_topics, np.nan)

    @cached_property
    def topic_given_cluster(self) -> pd.DataFrame:
        """Topic shares of each cluster: a row per cluster, a column per topic, rows sum to 1.

        What a new group of the cluster draws on, the posterior mean of τ. Where groups vary
        inside their cluster (a finite lam), its tokens may be shared out a little differently.
        """
        import pandas as pd

        return pd.DataFrame(
            self._of_consensus(topic_given_draw_cluster(self.representative_draw)),
            index=pd.RangeIndex(self.n_clusters, name="cluster"),
            columns=pd.RangeIndex(self.n_topics, name="topic"),
        )

    @property
    def topic_of_tokens(self) -> Floats:
        """Share of each cluster's tokens in each topic: float64 (n_clusters, n_topics)."""
        return self._of_consensus(token_shares(self.representative_draw))

    def _of_consensus(self, shares: Floats) -> Floats:
        """Return topic shares of the consensus clusters, given those of the representative's."""
        from mcsquared.posterior.tables import token_weights

        draw = self.representative_draw
        labels = self.cluster_of_group[draw.draw]
        return (token_weights(self, labels, draw.n_clusters) @ shares)[:, self.topic_order]

    @property
    def word_given_topic(self) -> pd.DataFrame:
        """Word probabilities of each topic: a row per topic, a column per word, rows sum to 1."""
        import pandas as pd

        if self.vocabulary is None:
            raise InputError(
                "word_given_topic needs words, but the content of this model is vectors"
            )
        index = pd.RangeIndex(self.n_topics, name="topic")
        return pd.DataFrame(
            self.components, index=index, columns=pd.Index(self.vocabulary, name="word")
        )

    def attach_codocuments(self, counts: sparse.csr_matrix) -> None:
        """Count in how many groups of training the top words of each topic meet.

        `topics` needs it for coherence; the word counts themselves are not kept.

        Parameters
        ----------
        counts : csr_matrix (n_groups, n_words)
        """
        from mcsquared.posterior.tables import top_words

        self.codocument = count_meetings(counts, top_words(self, MOST_TOP_WORDS))

    # Tables -------------------------------------------------------------------------------

    def topics(self, n_words: int = 10) -> pd.DataFrame:
        """Return a row per topic: topic, weight, n_tokens, words, coherence, diversity, stability.

        Coherence (NPMI) is over the words shown, 20 at most. A topic's diversity is the share of
        its words that no other topic shows; the whole table's is ``.attrs["diversity"]``.

        Examples
        --------
        >>> posterior.topics(n_words=3).columns.tolist()
        ['topic', 'weight', 'n_tokens', 'words', 'coherence', 'diversity', 'stability']
        """
        from mcsquared.posterior.tables import topic_table

        return topic_table(self, n_words)

    def clusters(self) -> pd.DataFrame:
        """Return a row per cluster: n_groups, n_tokens, share, stability, topics, each context.

        Examples
        --------
        >>> int(posterior.clusters()["n_groups"].sum())
        40
        """
        from mcsquared.posterior.tables import cluster_table

        return cluster_table(self)

    def representative_groups(
        self, *, topic: int | None = None, cluster: int | None = None, n_groups: int = 10
    ) -> pd.DataFrame:
        """Return the groups that show a topic or a cluster best: group, name, score, n_tokens.

        The score is the topic's share in the group's cluster, averaged over the draws, or the
        mean probability that the group is together with the others of the cluster.

        Examples
        --------
        >>> len(posterior.representative_groups(topic=0, n_groups=3))
        3
        """
        from mcsquared.posterior.tables import representative_groups

        return representative_groups(self, topic, cluster, n_groups)

    def context_given_cluster(self, name: str) -> pd.DataFrame:
        """Return the distribution of a context in each cluster: rows values, columns clusters.

        Densities on 101 points for numbers and dates (per unit, per day), probabilities for the
        rest; every column integrates or sums to 1. Vectors: mean and sd of each dimension.

        Examples
        --------
        >>> posterior.context_given_cluster("position").shape == (101, posterior.n_clusters)
        True
        """
        from mcsquared.posterior.contexts import context_given_cluster

        return context_given_cluster(self, name)

    def context_given_topic(self, name: str) -> pd.DataFrame:
        """Return the distribution of a context over each topic's tokens, as for clusters.

        Examples
        --------
        >>> posterior.context_given_topic("position").shape == (101, posterior.n_topics)
        True
        """
        from mcsquared.posterior.contexts import context_given_topic

        return context_given_topic(self, name)

    def topic_given_context(self, name: str, value: Any) -> pd.DataFrame:
        """Return the topics of a group with this context, most probable first.

        Examples
        --------
        >>> round(float(posterior.topic_given_context("position", 4.0)["probability"].sum()), 6)
        1.0
        """
        from mcsquared.posterior.contexts import topic_given_context

        return topic_given_context(self, name, value)

    def diagnostics(self) -> pd.DataFrame:
        """Return split R-hat and effective sample sizes of the label-free scalars, with advice.

        The column ``advice`` says what to do where something is off, and is empty elsewhere;
        ``.attrs["advice"]`` lists each piece of it once, with the scalars it is for.

        Examples
        --------
        >>> posterior.diagnostics()[["scalar", "rhat", "advice"]].shape[1]
        3
        """
        from mcsquared.posterior.diagnostics import diagnostics

        return diagnostics(self.trace, self.notes)

    def to_arviz(self) -> Any:
        """Return the label-free scalars of the kept draws as ``arviz.InferenceData``.

        Examples
        --------
        >>> posterior.to_arviz().posterior["n_clusters"].shape  # chains, draws
        (1, 6)
        """
        from mcsquared.posterior.exports import to_arviz

        return to_arviz(self)

    def to_pyldavis(self, **options: Any) -> Any:
        """Return the topics prepared for ``pyLDAvis.display``; ids stay as they are here.

        Examples
        --------
        >>> len(posterior.to_pyldavis(mds="mmds").topic_order) == posterior.n_topics
        True
        """
        from mcsquared.posterior.exports import to_pyldavis

        return to_pyldavis(self, **options)

"""One set of topics for all draws: those of the representative draw, and their matches."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from mcsquared.arrays import Bools, Floats, Int64s, Objects
from mcsquared.checks import check_choice, is_integer
from mcsquared.errors import InputError
from mcsquared.model.priors import Priors
from mcsquared.posterior.consensus import expected_loss
from mcsquared.posterior.draws import ParameterDraw, match_topics
from mcsquared.posterior.partition import ConsensusPartition

_MIN_TOKEN_SHARE, _MIN_TOKENS = 1e-4, 5.0  # of a topic in tables
_MIN_SIMILARITY = 0.5  # of a topic to its counterpart in another draw, see `match_topics`


class RepresentativeTopics(ConsensusPartition):
    """Topics of the draw with parameters closest to the consensus; a base class of `Posterior`."""

    priors: Priors
    vocabulary: Objects | None
    given_names: dict[str, dict[int, str]]

    @cached_property
    def representative(self) -> int:
        """Index in `parameters` of the draw closest to the consensus."""
        if not self.parameters:
            raise InputError("topics require draws with parameters, got none")
        draws = self.cluster_of_group[[draw.index for draw in self.parameters]]
        loss = np.array([expected_loss(self.labels, draw[None, :]) for draw in draws])
        return int(np.argmin(np.where(self.parameter_weights > 0, loss, np.inf)))

    @property
    def representative_draw(self) -> ParameterDraw:
        """The draw with parameters that is closest to the consensus."""
        return self.parameters[self.representative]

    @property
    def n_topics(self) -> int:
        """Number of topics of the representative draw."""
        return self.representative_draw.n_topics

    @property
    def n_listed_topics(self) -> int:
        """Number of topics in tables and reports: near-empty ones, the last, are left out.

        A topic is near-empty with fewer than 1 in 10,000 tokens, or fewer than five tokens (1 in
        1,000 tokens if the corpus has fewer than 5,000).
        """
        tokens = self.representative_draw.tokens_of_topic
        total = tokens.sum()
        min_tokens = max(_MIN_TOKEN_SHARE * total, min(_MIN_TOKENS, _MIN_TOKENS * total / 5000))
        return int((tokens >= min_tokens).sum())

    @property
    def words_in_topic(self) -> Bools:
        """Whether each topic has tokens of each word: bool (n_topics, n_words)."""
        counts = sparse.csr_matrix(self.representative_draw.content_statistics)
        return np.asarray((counts[self.topic_order] > 0).toarray())

    @cached_property
    def topic_order(self) -> Int64s:
        """Topic ``m`` of every table is topic ``topic_order[m]`` of the representative draw."""
        tokens = self.representative_draw.tokens_of_topic
        return np.argsort(-tokens, kind="stable").astype(np.int64)

    @property
    def tokens_of_topic(self) -> Int64s:
        """Tokens of each topic: int64 (n_topics,)."""
        return self.representative_draw.tokens_of_topic[self.topic_order]

    @cached_property
    def components(self) -> Floats:
        """Word probabilities (n_topics, n_words), or means of vectors (n_topics, width)."""
        return self.representative_draw.content_means(self.priors.content)[self.topic_order]

    @cached_property
    def _matches(self) -> list[tuple[Int64s, Floats]]:
        rank = np.empty(self.n_topics + 1, np.int64)
        rank[self.topic_order] = np.arange(self.n_topics)
        rank[-1] = -1  # unmatched topics have index -1
        reference, family = self.representative_draw, self.priors.content
        matches = (match_topics(draw, reference, family) for draw in self.parameters)
        return [(rank[topic], similarity) for topic, similarity in matches]

    @property
    def topic_alignment(self) -> list[Int64s]:
        """For each draw of `parameters`, the topic matched to each of its topics, or -1."""
        return [topic for topic, _ in self._matches]

    @property
    def counterparts(self) -> list[Int64s]:
        """Like `topic_alignment`, but -1 also for topics that hardly resemble their match.

        Examples
        --------
        >>> len(posterior.counterparts) == len(posterior.parameters)
        True
        """
        return [
            np.where(similarity >= _MIN_SIMILARITY, topic, -1)
            for topic, similarity in self._matches
        ]

    @property
    def topic_stability(self) -> Floats:
        """Mean similarity of each topic to its counterparts in the other draws, from 0 to 1.

        NaN if there is no other draw.
        """
        total = np.zeros(self.n_topics)
        weights = self.parameter_weights.copy()
        weights[self.representative] = 0.0
        for weight, (topic, similarity) in zip(weights, self._matches, strict=True):
            total[topic[topic >= 0]] += weight * similarity[topic >= 0]
        return total / weights.sum() if weights.any() else np.full(self.n_topics, np.nan)

    @property
    def word_given_topic(self) -> pd.DataFrame:
        """Word probabilities: one row per topic, one column per word; rows sum to 1."""
        if self.vocabulary is None:
            raise InputError(
                "word_given_topic requires words, but the content of this model is vectors"
            )
        index = pd.RangeIndex(self.n_topics, name="topic")
        return pd.DataFrame(self.components, index, pd.Index(self.vocabulary, name="word"))

    def set_names(self, of: str, names: Mapping[int, str]) -> None:
        """Replace names of ``"clusters"`` or ``"topics"``; an empty name restores the original.

        Examples
        --------
        >>> posterior.set_names("topics", {0: "vertical bars"})
        >>> posterior.topics()["name"][0]
        'vertical bars'
        """
        check_choice("of", of, ("clusters", "topics"))
        n = self.n_clusters if of == "clusters" else self.n_topics
        given = dict(self.given_names.get(of, {}))
        for number, name in names.items():
            if not is_integer(number) or not 0 <= number < n or not isinstance(name, str):
                raise InputError(
                    f"{of} must map numbers in 0..{n - 1} to names, got {number!r}: {name!r}"
                )
            given[int(number)] = name.strip()
        self.given_names[of] = {number: name for number, name in given.items() if name}

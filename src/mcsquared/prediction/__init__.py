"""Predictions of a fitted model for new groups: clusters, topics and missing contexts."""

from mcsquared.prediction.contexts import context_distribution
from mcsquared.prediction.groups import (
    cluster_probabilities,
    most_probable_cluster,
    topic_proportions,
)

__all__ = [
    "cluster_probabilities",
    "context_distribution",
    "most_probable_cluster",
    "topic_proportions",
]

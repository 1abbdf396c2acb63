"""Predictions of a fitted model for new groups: clusters, topics and missing contexts."""

from mcsquared.prediction.clusters import cluster_probabilities, most_probable_cluster
from mcsquared.prediction.contexts import context_distribution
from mcsquared.prediction.topics import topic_proportions

__all__ = [
    "cluster_probabilities",
    "context_distribution",
    "most_probable_cluster",
    "topic_proportions",
]

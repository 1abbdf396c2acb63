"""Predictions of a fitted model for new groups: clusters, topics and missing contexts."""

from mcsquared.prediction.clusters import cluster_probabilities, most_probable_cluster
from mcsquared.prediction.contexts import context_distribution
from mcsquared.prediction.parameters import ModelParameters, draw_parameters, parameters_of_draws
from mcsquared.prediction.topics import topic_proportions

__all__ = [
    "ModelParameters",
    "cluster_probabilities",
    "context_distribution",
    "draw_parameters",
    "most_probable_cluster",
    "parameters_of_draws",
    "topic_proportions",
]

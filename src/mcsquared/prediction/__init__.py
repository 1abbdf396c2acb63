"""What a fitted model says of new groups: their clusters, topics and missing contexts."""

from mcsquared.prediction.clusters import cluster_probabilities, most_probable_cluster
from mcsquared.prediction.contexts import context_distribution
from mcsquared.prediction.parameters import Globals, draws_of_globals, globals_of_draw
from mcsquared.prediction.topics import topic_proportions

__all__ = [
    "Globals",
    "cluster_probabilities",
    "context_distribution",
    "draws_of_globals",
    "globals_of_draw",
    "most_probable_cluster",
    "topic_proportions",
]

"""Figures of a fitted model or its posterior, drawn with matplotlib.

Every function takes a fitted `MC2` or a `Posterior` and an optional ``ax`` to plot on, and returns
the axes. The colours are safe for colour-blind readers.
"""

from mcsquared.plots.clusters import cluster_map, cluster_topics, coclustering, compare
from mcsquared.plots.levels import type_clusters
from mcsquared.plots.topics import context_of_cluster, topic_images, topic_over_context, topic_words
from mcsquared.plots.traces import trace

__all__ = [
    "cluster_map",
    "cluster_topics",
    "coclustering",
    "compare",
    "context_of_cluster",
    "topic_images",
    "topic_over_context",
    "topic_words",
    "trace",
    "type_clusters",
]

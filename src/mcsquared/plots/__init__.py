"""Figures from a fitted model or its posterior, a function each: matplotlib axes in and out.

Every function takes a fitted `MC2` or a `Posterior` and an optional ``ax`` to draw on, and returns
the axes it drew on. Colours can be told apart by colour-blind readers.
"""

from mcsquared.plots.clusters import cluster_topics
from mcsquared.plots.comparison import compare
from mcsquared.plots.contexts import context_of_cluster, topic_over_context
from mcsquared.plots.draws import coclustering, trace
from mcsquared.plots.places import cluster_map
from mcsquared.plots.topics import topic_images, topic_words

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
]

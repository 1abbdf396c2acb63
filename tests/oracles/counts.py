"""Counts of a state from its assignments alone, and the comparison of two sets of counts."""

from dataclasses import fields

import numpy as np

from mcsquared.state import count


def recount(state, observations):
    """Return all counts of a state, from its assignments alone."""
    slots = len(state.counts.groups_in_cluster), len(state.topic_weights)
    return count(observations, state.cluster_of_group, state.topic_of_token, *slots)


def differences(left, right):
    """Return the names of the counts that differ: integers exactly, floats by more than 1e-9."""
    pairs = {f.name: (getattr(left, f.name), getattr(right, f.name)) for f in fields(left)}
    return [name for name, (a, b) in pairs.items() if not _same(a, b)]


def _same(a, b):
    if a.dtype.kind == "i":
        return np.array_equal(a, b)
    scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0) if a.shape == b.shape else 0.0
    return a.shape == b.shape and bool((np.abs(a - b) <= 1e-9 * scale).all())

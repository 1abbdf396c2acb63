"""Where things lie on the map: discs of clusters, groups inside them, or groups by their topics.

Nothing heavy: distances between clusters are fitted in the plane by majorisation, discs that
overlap are pushed apart, and the groups of a disc fill it like the seeds of a sunflower. A map by
topics uses t-SNE on landmarks and puts the other groups among the landmarks most like them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_COLOURS", "Discs", "colours_of", "discs_of_clusters", "place_groups", "topic_map"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_COLOURS = 10
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
_MOST_FITTED = 800  # above it, the plane of the largest variance is good enough and quick
_MOST_PUSHED = 3000
_MOST_DRAWN_IN = 400
_WIDER = 1.5
_PAIRS = 60_000_000  # of clusters that are looked at until they are apart
_DISC_SHARE = 0.34  # of the square that the centres span, before discs are pushed apart
_LANDMARKS = 1200
_NEIGHBOURS = 4


@dataclass(frozen=True)
class Discs:
    """One disc per cluster: its area is as large as its number of groups."""

    centre: Floats
    radius: Floats


def discs_of_clusters(features: Floats, sizes: Integers) -> Discs:
    """Return discs that do not overlap; clusters with like features are neighbours.

    Parameters
    ----------
    features : float64 (n_clusters, n_features)
        Their Euclidean distances are what the map shows; roots of topic shares, say.
    sizes : int64 (n_clusters,)
    """
    centre = _plane(features, sizes)
    if len(centre) <= _MOST_FITTED:
        centre = _fit_distances(centre, features)
    radius = np.sqrt(np.maximum(sizes, 1).astype(np.float64))
    area = np.pi * np.square(radius).sum() / _DISC_SHARE
    spread = np.ptp(centre, axis=0).max() if len(centre) > 1 else 0.0
    if spread > 0:
        # Pages are wider than high.
        centre = centre * (np.sqrt(area) / spread) * np.array([_WIDER, 1.0 / _WIDER])
    if len(centre) <= _MOST_PUSHED:
        centre = _push_apart(centre, radius)
    if len(centre) <= _MOST_DRAWN_IN:
        centre = _draw_in(centre, radius)
    return Discs(centre, radius)


def _plane(features: Floats, sizes: Integers) -> Floats:
    """Return the two directions in which the clusters differ most, large ones counting more."""
    weight = np.sqrt(np.maximum(sizes, 1).astype(np.float64))[:, None]
    mean = (np.square(weight) * features).sum(axis=0) / np.square(weight).sum()
    centred = features - mean
    _, _, directions = np.linalg.svd(weight * centred, full_matrices=False)
    plane = np.zeros((len(features), 2))
    found = centred @ directions[:2].T
    plane[:, : found.shape[1]] = found
    # The sign of a direction is nobody's; the largest entry decides, so that a map stays as it is.
    for axis in range(2):
        if plane[np.abs(plane[:, axis]).argmax(), axis] < 0:
            plane[:, axis] *= -1.0
    return plane


def _fit_distances(start: Floats, features: Floats, n_rounds: int = 150) -> Floats:
    """Return points whose distances are like those of the features, by Guttman's transform."""
    n = len(start)
    if n < 3:
        return start
    squares = np.square(features).sum(axis=1)
    wanted = squares[:, None] + squares[None, :] - 2.0 * features @ features.T
    wanted = np.sqrt(np.maximum(wanted, 0.0))
    if wanted.max() == 0.0:
        return start
    # Clusters that coincide in the plane would never part again.
    angle = np.arange(n) * _GOLDEN_ANGLE
    nudge = 1e-3 * wanted.max() * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = start + nudge
    for _ in range(n_rounds):
        difference = points[:, None, :] - points[None, :, :]
        distance = np.sqrt(np.square(difference).sum(axis=2))
        ratio = np.divide(wanted, distance, out=np.zeros_like(wanted), where=distance > 1e-12)
        points = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / n
    return points


def _draw_in(centre: Floats, radius: Floats, n_rounds: int = 60) -> Floats:
    """Return centres with less empty space between them, neighbours as they were."""
    weight = np.square(radius)[:, None] / np.square(radius).sum()
    points = centre
    for _ in range(n_rounds):
        middle = (weight * points).sum(axis=0)
        drawn = middle + (points - middle) * np.array([0.98, 0.93])
        points = _push_apart(drawn, radius, n_rounds=8)
    return _push_apart(points, radius)


def _push_apart(centre: Floats, radius: Floats, n_rounds: int = 400) -> Floats:
    """Return centres moved as little as it takes until no two discs overlap."""
    n = len(centre)
    if n < 2:
        return centre
    # A round looks at all pairs: thousands of clusters get fewer, and may touch.
    n_rounds = max(20, min(n_rounds, _PAIRS // n**2))
    gap = 0.2 * np.median(radius) + 0.8
    wanted = radius[:, None] + radius[None, :] + gap
    angle = np.arange(n) * _GOLDEN_ANGLE
    points = centre + 1e-6 * wanted.max() * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # The larger disc of a pair gives way less.
    share = np.square(radius)[None, :] / (np.square(radius)[:, None] + np.square(radius)[None, :])
    touching = np.square(wanted)
    for _ in range(n_rounds):
        across, down = (np.subtract.outer(axis, axis) for axis in points.T)
        square = across * across + down * down
        np.fill_diagonal(square, np.inf)
        # Few pairs overlap, and all that is costly is done for them alone.
        pair = np.nonzero(square < touching)
        distance = np.sqrt(square[pair])
        overlap = wanted[pair] - distance
        if overlap.max(initial=0.0) < 1e-3 * gap:
            break
        step = 0.9 * overlap * share[pair] / distance
        moves = [np.bincount(pair[0], step * axis[pair], n) for axis in (across, down)]
        points = points + np.stack(moves, axis=1)
    return points


def place_groups(
    discs: Discs, cluster: Integers, confidence: Floats, other: Integers, weight: Floats
) -> Floats:
    """Return a point for each group, in the disc of its cluster.

    The surest groups are in the middle. A group that leans to another cluster is on that side.

    Parameters
    ----------
    cluster : int64 (n_groups,)
    confidence : float64 (n_groups,)
        How firmly each group belongs to its cluster.
    other : int64 (n_groups,)
        The cluster that it leans to, or -1.
    weight : float64 (n_groups,)
        Among groups of the same confidence the heavier come first.

    Returns
    -------
    float64 (n_groups, 2)
    """
    n = len(cluster)
    order = np.lexsort((-weight, -np.round(confidence, 3), cluster))
    sorted_cluster = cluster[order]
    sizes = np.bincount(cluster, minlength=len(discs.radius))
    start = np.cumsum(sizes) - sizes
    rank = np.arange(n) - start[sorted_cluster]
    seeds = rank * _GOLDEN_ANGLE % (2.0 * np.pi)
    ring = np.floor(np.sqrt(rank)).astype(np.int64)
    toward = discs.centre[np.maximum(other[order], 0)] - discs.centre[sorted_cluster]
    angle = np.arctan2(toward[:, 1], toward[:, 0]) % (2.0 * np.pi)
    # Without another cluster any direction will do: one that the rank scatters.
    angle = np.where(other[order] >= 0, angle, rank * 2.399 % (2.0 * np.pi))
    # Inside a ring the groups take its places in the order of their directions.
    groups = order[np.lexsort((angle, ring, sorted_cluster))]
    places = np.lexsort((seeds, ring, sorted_cluster))
    inside = np.sqrt((rank[places] + 0.5) / np.maximum(sizes[sorted_cluster[places]], 1))
    distance = inside * discs.radius[sorted_cluster[places]]
    direction = np.stack([np.cos(seeds[places]), np.sin(seeds[places])], axis=1)
    points = np.empty((n, 2))
    points[groups] = discs.centre[sorted_cluster[places]] + distance[:, None] * direction
    return points


def colours_of(discs: Discs) -> Integers:
    """Return a colour number for each cluster; two of the same colour are far apart on the map."""
    n = len(discs.radius)
    colour = np.arange(n) % N_COLOURS
    for k in range(N_COLOURS, min(n, _MOST_PUSHED)):
        distance = np.linalg.norm(discs.centre[:k] - discs.centre[k], axis=1)
        distance -= discs.radius[:k] + discs.radius[k]
        nearest = [distance[colour[:k] == c].min() for c in range(N_COLOURS)]
        colour[k] = int(np.argmax(nearest))
    return colour.astype(np.int64)


def topic_map(shares: Floats, seed: int) -> Floats:
    """Return a point for each group such that groups of like topics are neighbours.

    Parameters
    ----------
    shares : float64 (n_groups, n_topics)
        Topic shares of each group.
    """
    from sklearn.manifold import TSNE

    n = len(shares)
    roots = np.sqrt(np.maximum(shares, 0.0))
    if n < 5 or shares.shape[1] < 2:
        return _plane(roots, np.ones(n, np.int64))
    rng = np.random.default_rng(seed)
    landmarks = np.arange(n) if n <= _LANDMARKS else np.sort(rng.choice(n, _LANDMARKS, False))
    start = _plane(roots[landmarks], np.ones(len(landmarks), np.int64))
    scale = start[:, 0].std()
    start = (start + 1e-4 * rng.standard_normal(start.shape)) * (1e-4 / scale if scale > 0 else 1.0)
    perplexity = min(30.0, (len(landmarks) - 1) / 3.0)
    map_of = TSNE(perplexity=perplexity, init=start, random_state=seed, max_iter=400)
    points = map_of.fit_transform(roots[landmarks].astype(np.float32)).astype(np.float64)
    if n > len(landmarks):
        points = _among_landmarks(roots, roots[landmarks], points, rng)
    # Turned so that the map is wider than high, as pages are.
    return _plane(points, np.ones(n, np.int64))


def _among_landmarks(
    roots: Floats, landmarks: Floats, points: Floats, rng: np.random.Generator
) -> Floats:
    """Return a point for each group: near the landmarks that are most like it."""
    placed = np.empty((len(roots), 2))
    width = np.median(np.abs(points - np.median(points, axis=0))) / 25.0
    for begin in range(0, len(roots), 4096):
        block = slice(begin, begin + 4096)
        # Rows have length 1, so the largest product is the smallest distance.
        likeness = roots[block] @ landmarks.T
        near = np.argpartition(-likeness, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
        chosen = np.take_along_axis(likeness, near, axis=1)
        # The best neighbour decides where, or a group between two regions lies in neither.
        weight = np.exp(40.0 * (chosen - chosen.max(axis=1, keepdims=True)))
        weight /= weight.sum(axis=1, keepdims=True)
        placed[block] = (weight[:, :, None] * points[near]).sum(axis=1)
    return placed + width * rng.standard_normal(placed.shape)

"""Layout of the maps: clusters as discs that contain their groups, or groups by their topics.

Distances between clusters are fitted in the plane by majorisation, overlapping discs are pushed
apart, and the groups of a disc fill it like the seeds of a sunflower. The map by topics embeds
landmarks with t-SNE and places the other groups near the most similar landmarks.
"""

from typing import NamedTuple

import numpy as np

from mcsquared.arrays import Floats, Int64s
from mcsquared.palette import N_COLOURS

_FIT_ROUNDS, _COMPACT_ROUNDS = 150, 60
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
# Largest numbers of clusters for each step of the layout; larger maps skip it.
_MAX_FITTED, _MAX_SEPARATED, _MAX_COMPACTED = 800, 3000, 400
_STRETCH = 1.5  # factor of the width, and divisor of the height: pages are wider than tall
_MAX_PAIRS = 60_000_000  # pairs of clusters compared in all rounds of `_separate`
_DISC_SHARE = 0.34  # share of the map that discs cover before they are separated
_N_LANDMARKS = 1200
_N_NEIGHBOURS = 4


class Discs(NamedTuple):
    """One disc per cluster, with an area proportional to its number of groups."""

    centre: Floats  # (n_clusters, 2)
    radius: Floats  # (n_clusters,)


def cluster_discs(features: Floats, sizes: Int64s) -> Discs:
    """Return discs that do not overlap; clusters with similar features are neighbours.

    The map approximates the Euclidean distances of ``features``: (n_clusters, n_features).
    """
    centre = _principal_plane(features, sizes)
    if len(centre) <= _MAX_FITTED:
        centre = _fit_distances(centre, features)
    radius = np.sqrt(np.maximum(sizes, 1).astype(np.float64))
    area = np.pi * np.square(radius).sum() / _DISC_SHARE
    spread = np.ptp(centre, axis=0).max() if len(centre) > 1 else 0.0
    if spread > 0:
        centre = centre * (np.sqrt(area) / spread) * np.array([_STRETCH, 1.0 / _STRETCH])
    if len(centre) <= _MAX_SEPARATED:
        centre = _separate(centre, radius)
    if len(centre) <= _MAX_COMPACTED:
        centre = _compact(centre, radius)
    return Discs(centre, radius)


def _principal_plane(features: Floats, sizes: Int64s) -> Floats:
    """Return the first two principal components, weighted by size: float64 (n, 2)."""
    weight = np.sqrt(np.maximum(sizes, 1).astype(np.float64))[:, None]
    mean = (np.square(weight) * features).sum(axis=0) / np.square(weight).sum()
    centred = features - mean
    _, _, directions = np.linalg.svd(weight * centred, full_matrices=False)
    plane = np.zeros((len(features), 2))
    projected = centred @ directions[:2].T
    plane[:, : projected.shape[1]] = projected
    # Fix the signs, so that the map is reproducible: the largest entry is positive.
    for axis in range(2):
        if plane[np.abs(plane[:, axis]).argmax(), axis] < 0:
            plane[:, axis] *= -1.0
    return plane


def _fit_distances(start: Floats, features: Floats) -> Floats:
    """Return points whose distances approximate those of the features, by Guttman's transform."""
    n = len(start)
    if n < 3:
        return start
    squares = np.square(features).sum(axis=1)
    target = squares[:, None] + squares[None, :] - 2.0 * features @ features.T
    target = np.sqrt(np.maximum(target, 0.0))
    if target.max() == 0.0:
        return start
    # Clusters that coincide in the plane would stay together.
    points = start + 1e-3 * target.max() * _directions(np.arange(n) * _GOLDEN_ANGLE)
    for _ in range(_FIT_ROUNDS):
        difference = points[:, None, :] - points[None, :, :]
        distance = np.sqrt(np.square(difference).sum(axis=2))
        ratio = np.divide(target, distance, out=np.zeros_like(target), where=distance > 1e-12)
        points = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / n
    return points


def _compact(centre: Floats, radius: Floats) -> Floats:
    """Reduce the empty space between discs; neighbours stay neighbours."""
    weight = np.square(radius)[:, None] / np.square(radius).sum()
    points = centre
    for _ in range(_COMPACT_ROUNDS):
        middle = (weight * points).sum(axis=0)
        points = middle + (points - middle) * np.array([0.98, 0.93])
        points = _separate(points, radius, n_rounds=8)
    return _separate(points, radius)


def _separate(centre: Floats, radius: Floats, n_rounds: int = 400) -> Floats:
    """Push overlapping discs apart."""
    n = len(centre)
    if n < 2:
        return centre
    # A round compares all pairs; with thousands of clusters there are fewer rounds.
    n_rounds = max(20, min(n_rounds, _MAX_PAIRS // n**2))
    gap = 0.2 * np.median(radius) + 0.8
    target = radius[:, None] + radius[None, :] + gap
    points = centre + 1e-6 * target.max() * _directions(np.arange(n) * _GOLDEN_ANGLE)
    # The larger disc of a pair moves less.
    share = np.square(radius)[None, :] / (np.square(radius)[:, None] + np.square(radius)[None, :])
    square_target = np.square(target)
    for _ in range(n_rounds):
        across, down = (np.subtract.outer(axis, axis) for axis in points.T)
        square = across * across + down * down
        np.fill_diagonal(square, np.inf)
        # Few pairs overlap; only those are processed further.
        pair = np.nonzero(square < square_target)
        distance = np.sqrt(square[pair])
        overlap = target[pair] - distance
        if overlap.max(initial=0.0) < 1e-3 * gap:
            break
        step = 0.9 * overlap * share[pair] / distance
        moves = [np.bincount(pair[0], step * axis[pair], n) for axis in (across, down)]
        points = points + np.stack(moves, axis=1)
    return points


def position_groups(
    discs: Discs, cluster: Int64s, confidence: Floats, other: Int64s, weight: Floats
) -> Floats:
    """Return a point for each group in the disc of its cluster: float64 (n_groups, 2).

    Groups with high ``confidence`` are in the centre, with ties ordered by ``weight``. A group
    with a second choice ``other`` (not -1) is on the side of that cluster.
    """
    n = len(cluster)
    order = np.lexsort((-weight, -np.round(confidence, 3), cluster))
    sorted_cluster = cluster[order]
    sizes = np.bincount(cluster, minlength=len(discs.radius))
    start = np.cumsum(sizes) - sizes
    rank = np.arange(n) - start[sorted_cluster]
    spiral = rank * _GOLDEN_ANGLE % (2.0 * np.pi)
    ring = np.floor(np.sqrt(rank)).astype(np.int64)
    toward = discs.centre[np.maximum(other[order], 0)] - discs.centre[sorted_cluster]
    angle = np.arctan2(toward[:, 1], toward[:, 0]) % (2.0 * np.pi)
    # Without a second choice the direction is arbitrary; it is spread by rank.
    angle = np.where(other[order] >= 0, angle, spiral)
    # Within a ring, groups are assigned to positions in the order of their directions.
    groups = order[np.lexsort((angle, ring, sorted_cluster))]
    positions = np.lexsort((spiral, ring, sorted_cluster))
    k, angle = sorted_cluster[positions], spiral[positions]
    distance = np.sqrt((rank[positions] + 0.5) / np.maximum(sizes[k], 1)) * discs.radius[k]
    points = np.empty((n, 2))
    points[groups] = discs.centre[k] + distance[:, None] * _directions(angle)
    return points


def _directions(angle: Floats) -> Floats:
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def disc_colours(discs: Discs) -> Int64s:
    """Return a colour index for each cluster; discs of the same colour are far apart."""
    n = len(discs.radius)
    colour = np.arange(n) % N_COLOURS
    for k in range(N_COLOURS, min(n, _MAX_SEPARATED)):
        distance = np.linalg.norm(discs.centre[:k] - discs.centre[k], axis=1)
        distance -= discs.radius[:k] + discs.radius[k]
        nearest = [distance[colour[:k] == c].min() for c in range(N_COLOURS)]
        colour[k] = int(np.argmax(nearest))
    return colour.astype(np.int64)


def topic_map(shares: Floats, seed: int) -> Floats:
    """Return a point for each group, (n_groups, 2); groups with similar topics are neighbours."""
    from sklearn.manifold import TSNE

    n = len(shares)
    roots = np.sqrt(np.maximum(shares, 0.0))
    if n < 5 or shares.shape[1] < 2:
        return _principal_plane(roots, np.ones(n, np.int64))
    rng = np.random.default_rng(seed)
    landmarks = np.arange(n) if n <= _N_LANDMARKS else np.sort(rng.choice(n, _N_LANDMARKS, False))
    start = _principal_plane(roots[landmarks], np.ones(len(landmarks), np.int64))
    scale = start[:, 0].std()
    start = (start + 1e-4 * rng.standard_normal(start.shape)) * (1e-4 / scale if scale > 0 else 1.0)
    perplexity = min(30.0, (len(landmarks) - 1) / 3.0)
    embedding = TSNE(perplexity=perplexity, init=start, random_state=seed, max_iter=400)
    points = embedding.fit_transform(roots[landmarks].astype(np.float32)).astype(np.float64)
    if n > len(landmarks):
        points = _interpolate(roots, roots[landmarks], points, rng)
    # Rotate, so that the map is wider than tall.
    return _principal_plane(points, np.ones(n, np.int64))


def _interpolate(
    roots: Floats, landmarks: Floats, points: Floats, rng: np.random.Generator
) -> Floats:
    """Return a point for each group near the most similar landmarks.

    ``roots`` and ``landmarks`` are square roots of topic shares, and ``points`` are the positions
    of the landmarks.
    """
    position = np.empty((len(roots), 2))
    width = np.median(np.abs(points - np.median(points, axis=0))) / 25.0
    for begin in range(0, len(roots), 4096):
        block = slice(begin, begin + 4096)
        # Rows have length 1, so the largest product is the smallest distance.
        similarity = roots[block] @ landmarks.T
        near = np.argpartition(-similarity, _N_NEIGHBOURS, axis=1)[:, :_N_NEIGHBOURS]
        chosen = np.take_along_axis(similarity, near, axis=1)
        # Steep weights, because a point between two regions would be in neither.
        weight = np.exp(40.0 * (chosen - chosen.max(axis=1, keepdims=True)))
        weight /= weight.sum(axis=1, keepdims=True)
        position[block] = (weight[:, :, None] * points[near]).sum(axis=1)
    return position + width * rng.standard_normal(position.shape)

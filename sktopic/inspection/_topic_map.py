"""Positions of topics on a map: similar topics are close, and circles do not overlap."""

import numpy as np
from scipy.linalg import eigh
from scipy.spatial import KDTree

from sktopic._runtime._parallel import one_blas_thread

# Total area of all circles, relative to the squared extent of the map, before circles are pushed apart.
COVERED = 0.2
SMALLEST_RADIUS, LARGEST_RADIUS = 0.008, 0.13
GAP = 0.004
SMALLEST_OVERLAP = 1e-6  # smaller overlaps are ignored
MOST_ROUNDS = 300
# Maximum number of scaling steps; scaling also ends if a step lowers the stress by less than this share of
# the sum of squared distances.
MOST_STEPS, LEAST_GAIN = 300, 1e-6
# Number of rows of distances that are computed at a time: they fit into the cache.
ROWS_AT_A_TIME = 32
# Replaces the distance of coinciding points.
NO_DISTANCE = 1e-5
# Angle between the directions in which coinciding topics are moved apart: all directions differ.
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def topic_map(distances, shares):
    """Return the centers (n_components, 2) and radii (n_components,) of topics as circles on a plane.

    The distances of the centers approximate the given distances. Areas are proportional to the shares, apart
    from very small and very large circles.
    """
    centers = plane(distances)
    extent = np.ptp(centers, axis=0).max() if len(centers) > 1 else 0.0
    if extent > 0:
        centers /= extent
    radii = np.sqrt(COVERED / np.pi * shares).clip(SMALLEST_RADIUS, LARGEST_RADIUS)
    return separated(centers, radii), radii


def plane(distances):
    """Return centered points on a plane whose distances approximate the given distances.

    Metric multidimensional scaling, started from the classical solution.
    """
    n = len(distances)
    centered = distances**2
    centered = centered - centered.mean(axis=0)
    centered = -(centered - centered.mean(axis=1, keepdims=True)) / 2
    points = np.zeros((n, 2))
    n_axes = min(n, 2)
    values, vectors = eigh(centered, subset_by_index=[n - n_axes, n - 1])
    points[:, :n_axes] = (vectors * np.sqrt(values.clip(0)))[:, ::-1]
    # Eigenvectors have either sign: the entry farthest from zero is made positive.
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    points *= np.where(farthest < 0, -1, 1)
    if n > 2 and distances.any():
        points = scaled(points, distances)
    return points - points.mean(axis=0)


def scaled(points, distances):
    """Return points after the SMACOF algorithm, as in ``sklearn.manifold.smacof``, but seven times as fast.

    scikit-learn passes over several arrays of all pairs in each step.
    """
    n, stress = len(points), np.inf
    ones, sums = np.ones(n), np.empty((n, 3))
    with one_blas_thread():
        for step in range(MOST_STEPS):
            lengths = (points**2).sum(axis=1)
            # The product of left and right holds the squared distances.
            left = np.column_stack([points, lengths, ones])
            right = np.column_stack([-2 * points, ones, lengths]).T
            summands = np.column_stack([points, ones])
            squares, before = n * lengths.sum() - (points.sum(axis=0) ** 2).sum(), stress
            stress = squares  # without the sum of distances ** 2, which is constant
            for first in range(0, n, ROWS_AT_A_TIME):
                rows = slice(first, first + ROWS_AT_A_TIME)
                d = left[rows] @ right
                np.sqrt(np.maximum(d, 0.0, out=d), out=d)
                stress -= np.vdot(d, distances[rows])
                d[d == 0.0] = NO_DISTANCE
                sums[rows] = np.divide(distances[rows], d, out=d) @ summands
            if step > 1 and before - stress < LEAST_GAIN * squares:
                break
            points = (points * sums[:, 2:] - sums[:, :2]) / n
    return points


def separated(centers, radii):
    """Return centers moved in rounds of pairwise pushes until circles do not overlap."""
    centers = centers.copy()
    angles = GOLDEN_ANGLE * np.arange(len(centers))
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = 2 * radii.max() + GAP
    for _ in range(MOST_ROUNDS):
        one, other = KDTree(centers).query_pairs(reach, output_type="ndarray").T
        steps = centers[one] - centers[other]
        distances = np.sqrt((steps**2).sum(axis=1))
        overlaps = radii[one] + radii[other] + GAP - distances
        push = overlaps > SMALLEST_OVERLAP
        if not push.any():
            break
        coincide = distances == 0
        steps[coincide] = (directions[one] - directions[other])[coincide]
        lengths = np.sqrt((steps**2).sum(axis=1))
        steps *= (overlaps / lengths / 2)[:, None]
        np.add.at(centers, one[push], steps[push])
        np.subtract.at(centers, other[push], steps[push])
    return centers

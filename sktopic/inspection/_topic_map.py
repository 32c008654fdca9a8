"""Where topics are on a map: near to those of similar words, and apart from each other."""

import numpy as np
from scipy.spatial import KDTree
from sklearn.manifold import smacof

# Share of the extent of the map, squared, that all circles together cover before they are pushed apart.
COVERED = 0.2
SMALLEST_RADIUS, LARGEST_RADIUS = 0.008, 0.13
GAP = 0.004
SMALLEST_OVERLAP = 1e-6  # of what is pushed apart
MOST_ROUNDS = 300
# Angle between the directions in which coinciding topics are moved apart: no two are the same.
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def topic_map(distances, shares):
    """Return the centres (n_components, 2) and radii (n_components,) of topics as circles on a plane.

    Distances of centres are nearly those given, except that circles do not overlap. Areas are as the shares,
    apart from very small and very large ones.
    """
    centres = plane(distances)
    extent = np.ptp(centres, axis=0).max() if len(centres) > 1 else 0.0
    if extent > 0:
        centres /= extent
    radii = np.sqrt(COVERED / np.pi * shares).clip(SMALLEST_RADIUS, LARGEST_RADIUS)
    return separated(centres, radii), radii


def plane(distances):
    """Points of a plane whose distances are nearly those given, about their mean.

    Metric multidimensional scaling, which lowers the sum of squared differences step by step, from the
    classical solution: the widest directions of the points in as many dimensions as it takes.
    """
    n = len(distances)
    centred = distances**2
    centred = centred - centred.mean(axis=0)
    centred = -(centred - centred.mean(axis=1, keepdims=True)) / 2
    values, vectors = np.linalg.eigh(centred)
    points = np.zeros((n, 2))
    n_axes = min(n, 2)
    points[:, :n_axes] = (vectors * np.sqrt(values.clip(0)))[:, ::-1][:, :n_axes]
    # Eigenvectors have either sign: the entry farthest from zero is made positive.
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    points *= np.where(farthest < 0, -1, 1)
    if n > 2 and distances.any():
        points, _ = smacof(distances, init=points, n_init=1, max_iter=300, eps=1e-6, normalized_stress=False)
    return points - points.mean(axis=0)


def separated(centres, radii):
    """Centres moved as little as it takes until circles, in rounds of pairwise pushes, do not overlap."""
    centres = centres.copy()
    angles = GOLDEN_ANGLE * np.arange(len(centres))
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = 2 * radii.max() + GAP
    for _ in range(MOST_ROUNDS):
        one, other = KDTree(centres).query_pairs(reach, output_type="ndarray").T
        steps = centres[one] - centres[other]
        distances = np.sqrt((steps**2).sum(axis=1))
        overlaps = radii[one] + radii[other] + GAP - distances
        push = overlaps > SMALLEST_OVERLAP
        if not push.any():
            break
        coincide = distances == 0
        steps[coincide] = (directions[one] - directions[other])[coincide]
        lengths = np.sqrt((steps**2).sum(axis=1))
        steps *= (overlaps / lengths / 2)[:, None]
        for axis in 0, 1:
            for moved, sign in ((one, 1), (other, -1)):
                by = sign * steps[push, axis]
                centres[:, axis] += np.bincount(moved[push], weights=by, minlength=len(centres))
    return centres

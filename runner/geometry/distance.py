"""Distances between simple solids, many at once. Plain arithmetic; knows no arm and no cell.

Vectors are given as three arrays, one a coordinate, so that the work runs over long rows: `Vec` is (x, y, z), each of a
shape that broadcasts with the others; the axes of a box are three of them, one an own axis of the box.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.model import FloatArray

Vec = tuple[FloatArray, FloatArray, FloatArray]
Axes = tuple[Vec, Vec, Vec]

_PARALLEL = 1e-3  # edges that are more nearly parallel span no separating axis of their own


def components(vectors: FloatArray) -> Vec:
    """Vectors (…, 3) as three contiguous arrays."""
    return tuple(np.ascontiguousarray(vectors[..., i]) for i in range(3))  # type: ignore[return-value]


def axes_of(columns: FloatArray) -> Axes:
    """Rotations (…, 3, 3) as the three vectors in their columns."""
    return tuple(components(columns[..., :, i]) for i in range(3))  # type: ignore[return-value]


def dot(a: Vec, b: Vec) -> FloatArray:
    """The scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def minus(a: Vec, b: Vec) -> Vec:
    """The difference."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def point_to_box(point: Vec, centre: Vec, axes: Axes, half: Vec) -> FloatArray:
    """Signed distance of points to boxes: below zero inside, by how far it is to the nearest face."""
    d = minus(point, centre)
    q = [np.abs(dot(d, axes[i])) - half[i] for i in range(3)]
    inside = np.minimum(np.maximum(np.maximum(q[0], q[1]), q[2]), 0.0)
    o = [np.maximum(c, 0.0) for c in q]
    return np.asarray(np.sqrt(o[0] * o[0] + o[1] * o[1] + o[2] * o[2]) + inside)


def box_to_box(centre_a: Vec, axes_a: Axes, half_a: Vec, centre_b: Vec, axes_b: Axes, half_b: Vec) -> FloatArray:
    """A lower bound of the distance of boxes, exact in its sign: the widest gap over the fifteen separating axes.

    Source: Gottschalk, Lin, Manocha (1996), OBBTree: a hierarchical structure for rapid interference detection.
    """
    d = minus(centre_b, centre_a)
    R = [[dot(axes_a[i], axes_b[j]) for j in range(3)] for i in range(3)]
    size = [[np.abs(r) for r in row] for row in R]
    da = [dot(d, axis) for axis in axes_a]
    gap = np.asarray(-np.inf)
    for i in range(3):
        across = size[i][0] * half_b[0] + size[i][1] * half_b[1] + size[i][2] * half_b[2]
        gap = np.maximum(gap, np.abs(da[i]) - half_a[i] - across)
        across = size[0][i] * half_a[0] + size[1][i] * half_a[1] + size[2][i] * half_a[2]
        gap = np.maximum(gap, np.abs(dot(d, axes_b[i])) - half_b[i] - across)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            length = np.sqrt(np.maximum(1.0 - R[i][m] * R[i][m], 0.0))  # of axis a_i × b_m
            along = np.abs(da[k] * R[j][m] - da[j] * R[k][m])
            ra = half_a[j] * size[k][m] + half_a[k] * size[j][m]
            rb = half_b[n] * size[i][o] + half_b[o] * size[i][n]
            crossed = (along - ra - rb) / np.maximum(length, _PARALLEL)
            gap = np.maximum(gap, np.where(length > _PARALLEL, crossed, -np.inf))
    return np.asarray(gap)

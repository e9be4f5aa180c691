"""Which pixels a geom can cover, and which its shadow can: outlines on the screen, generous by a few pixels.

Geometry only. A mask may be too large, never too small: rays decide inside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray

Mask = NDArray[np.uint8]
MARGIN_PX = 4
_COARSE = 4
# Things whose lowest point is between these heights, how dark they make the table under them, how soft, coarse pixels.
_LAYERS = ((-1.0, 0.012, 200, 2.5), (0.012, 0.05, 120, 4.5))
_ALONG_EDGE = np.linspace(-1.0, 1.0, 7)


def _cube_edges() -> FloatArray:
    """Points on the twelve edges of the cube ±1, (k, 3): a lens bends long edges, so corners alone won't do."""
    points = []
    for axis in range(3):
        for a in (-1.0, 1.0):
            for b in (-1.0, 1.0):
                edge = np.empty((len(_ALONG_EDGE), 3))
                edge[:, axis], edge[:, (axis + 1) % 3], edge[:, (axis + 2) % 3] = _ALONG_EDGE, a, b
                points.append(edge)
    return np.unique(np.concatenate(points), axis=0)


_CUBE = _cube_edges()


def hull_points_m(kind: str, size_m: FloatArray, place_m: FloatArray, turn: FloatArray) -> FloatArray:
    """Points (k, 3) whose convex hull holds the geom.

    Args:
        kind: box, cylinder or capsule.
        size_m: as MuJoCo has it: half sizes of a box; radius and half length of the others.
        place_m, turn: (3,) and (3, 3).
    """
    if kind == "box":
        half = size_m
    else:
        half = np.array([size_m[0], size_m[0], size_m[1] + (size_m[0] if kind == "capsule" else 0.0)])
    return np.asarray(place_m + (_CUBE * half) @ turn.T)


def shadow_points_m(points_m: FloatArray | NDArray[np.float32], lamp_m: FloatArray, table_z_m: float) -> FloatArray:
    """Where the lamp throws points (k, 3) onto the table plane, (k, 3). Points as high as the lamp are left out."""
    below = points_m[:, 2] < lamp_m[2] - 0.02
    seen = points_m[below]
    reach = (lamp_m[2] - table_z_m) / (lamp_m[2] - seen[:, 2])
    return np.asarray(lamp_m + (seen - lamp_m) * reach[:, None])


def fill(mask: Mask, pixels: FloatArray) -> None:
    """Set the convex hull of pixels (k, 2), with margin, to 255; what can't be seen (NaN) is left out."""
    pixels = pixels[np.isfinite(pixels).all(axis=1)]
    if len(pixels) < 3:
        return
    hull = cv2.convexHull(np.rint(np.clip(pixels, -20_000, 20_000)).astype(np.int32))
    cv2.fillConvexPoly(mask, hull, 255)
    cv2.polylines(mask, [hull], True, 255, 2 * MARGIN_PX + 1)


def grown(mask: Mask, by_px: int) -> Mask:
    """The mask, wider by some pixels on all sides."""
    return np.asarray(cv2.dilate(mask, np.ones((2 * by_px + 1, 2 * by_px + 1), np.uint8)), np.uint8)


def footprint_points_m(points_m: FloatArray, table_z_m: float) -> FloatArray:
    """Points (k, 3) dropped straight down onto the table."""
    down = points_m.copy()
    down[:, 2] = table_z_m
    return down


def nearness(footprints: Sequence[FloatArray], heights_m: Sequence[float], size_px: tuple[int, int]) -> Mask:
    """How much of the room things hide from the table close below and beside them, (h, w), 0 none … 255 all.

    Drawn from footprints at a quarter of the size, softer and weaker the higher a thing hangs; 0 away from them.

    Args:
        footprints: pixels (k, 2) each, as many as `heights_m`, each the height of a thing's lowest point.
        size_px: (width, height) of the picture.
    """
    small = (size_px[1] // _COARSE, size_px[0] // _COARSE)
    total = np.zeros(small, np.uint8)
    for lowest_m, up_to_m, strength, blur in _LAYERS:
        layer = np.zeros(small, np.uint8)
        for pixels, height_m in zip(footprints, heights_m, strict=True):
            if lowest_m <= height_m < up_to_m and len(pixels) and np.isfinite(pixels).all():
                hull = cv2.convexHull(np.rint(pixels * (4.0 / _COARSE)).astype(np.int32))
                cv2.fillConvexPoly(layer, hull, strength, cv2.LINE_8, 2)
        total = np.maximum(total, cv2.GaussianBlur(layer, (0, 0), blur))
    return np.asarray(cv2.resize(total, size_px, interpolation=cv2.INTER_LINEAR), np.uint8)

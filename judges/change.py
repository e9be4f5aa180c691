"""What has changed between two pictures of one camera: whether they show one scene, and whether a box is as it was.

Compares levels, after one factor for the light; knows no things.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cameras.protocol import Picture

FloatArray = NDArray[np.float64]

OTHER_SCENE = 0.40  # an arm that swings through the picture changes a tenth of it
CHANGED_LEVELS = 22.0
_LOOK_WIDTH_PX = 320


def changed_share(before: Picture, after: Picture) -> float:
    """How much of the picture has changed, 0…1; 1 for pictures of different sizes."""
    if before.shape != after.shape:
        return 1.0
    scale = min(1.0, _LOOK_WIDTH_PX / before.shape[1])
    one, two = (
        np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
        for image in (before, after)
    )
    return float(_changed(one, two).mean())


def changed_patches(before: Picture, after: Picture, polygon_px: FloatArray) -> list[tuple[float, bool]]:
    """Patches that differ inside a polygon (n, 2): area in px, and whether each reaches out of the polygon."""
    low = np.maximum(np.floor(polygon_px.min(axis=0)).astype(int) - 12, 0)
    high = np.minimum(np.ceil(polygon_px.max(axis=0)).astype(int) + 13, [before.shape[1], before.shape[0]])
    part = slice(low[1], high[1]), slice(low[0], high[0])
    changed = _changed(before[part], after[part]).astype(np.uint8)
    changed = np.asarray(cv2.morphologyEx(changed, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)), np.uint8)
    opening = np.zeros(changed.shape, np.uint8)
    cv2.fillPoly(opening, [np.rint(polygon_px - low).astype(np.int32)], 1)
    core = cv2.erode(opening, np.ones((5, 5), np.uint8))
    _, labels = cv2.connectedComponents(changed, connectivity=8)
    patches = []
    for label in np.unique(labels[(core > 0) & (labels > 0)]):
        mask = labels == label
        patches.append((float((mask & (core > 0)).sum()), bool((mask & (opening == 0)).any())))
    return patches


def _changed(before: Picture, after: Picture) -> NDArray[np.bool_]:
    """Where the larger difference of the three channels is more than noise and small shifts give."""
    one, two = (cv2.GaussianBlur(image, (5, 5), 1.2).astype(np.float32) for image in (before, after))
    bright = one.max(axis=2) > 20
    ratio = np.median(two[bright] / np.maximum(one[bright], 1.0), axis=0) if bright.any() else np.ones(3)
    return np.asarray(np.abs(two - one * np.clip(ratio, 0.5, 2.0)).max(axis=2) > CHANGED_LEVELS)

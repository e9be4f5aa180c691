"""The arm's outline as the twin's camera has it, and how far it lies from the edges of a real picture."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.twin.lens import pixel_directions
from runner.twin.scene import MOVING
from runner.twin.world import World
from vision.calibration.view import View
from vision.cameras.protocol import Picture

_FAR_PX = 20.0  # an edge farther off is another thing's
_EDGES = (50, 120)
_SOFT_PX = 1.2  # so that the grain of a table makes no edges
_SMALLEST_PX = 300  # of an outline's area
_NOT_ARM = ("block", "box")


def arm_outlines_px(world: World, view: View) -> tuple[NDArray[np.int32], ...]:
    """Outlines (k, 1, 2) of what is seen of the arm, its fixed base left out."""
    snapshot = world.new_snapshot()
    base = world.scene.base
    rays = snapshot.cast(base.to_base(np.array(view.camera_m)), pixel_directions(view, base), (MOVING,))
    of_arm = np.array([not name.startswith(_NOT_ARM) for name in world.geom_names()])
    mask = np.where(rays.geom >= 0, of_arm[np.maximum(rays.geom, 0)], False)
    image = mask.reshape(view.size_px[1], view.size_px[0]).astype(np.uint8)
    found, _ = cv2.findContours(image, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return tuple(np.asarray(each, np.int32) for each in found if cv2.contourArea(each) >= _SMALLEST_PX)


def outline_off_px(outlines: Sequence[NDArray[np.int32]], picture: Picture) -> float:
    """The mean distance of an outline's pixels to the nearest edge in a picture; far ones count as `_FAR_PX`."""
    soft = cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), (0, 0), _SOFT_PX)
    edges = cv2.Canny(soft, *_EDGES)
    away = cv2.distanceTransform(255 - edges, cv2.DIST_L2, 3)
    points = np.concatenate(list(outlines))[:, 0]
    h, w = away.shape
    inside = (points[:, 0] > 1) & (points[:, 1] > 1) & (points[:, 0] < w - 2) & (points[:, 1] < h - 2)
    points = points[inside]
    if not len(points):
        return _FAR_PX
    return float(np.mean(np.minimum(away[points[:, 1], points[:, 0]], _FAR_PX)))

"""What of a picture the arm covers, reckoned from its shapes and the calibrated view.

A block or a box whose outline comes near the arm's may be hidden in part, so it is looked at again with the arm aside.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from runner.geometry.bodies import arm_body
from runner.kinematics.fk import link_poses
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, FloatArray
from runs.schema.geometry import Pixel
from vision.calibration.view import View

_STEPS = np.linspace(-1.0, 1.0, 5)
_IN_A_BOX = np.stack(np.meshgrid(_STEPS, _STEPS, _STEPS), axis=-1).reshape(-1, 3)
"""Points that stand for a box, in its half sides: the base's are 20 mm apart."""


def arm_discs_px(angles_deg: FloatArray, arm: ArmModel, base: BaseInCell, view: View) -> tuple[FloatArray, FloatArray]:
    """The arm at one pose as discs in the picture: centres (n, 2) and radii (n,), pixels."""
    body = arm_body(arm)
    T = np.concatenate((np.eye(4)[None], link_poses(angles_deg, arm)))
    spheres = _points(T[body.sphere_frame], body.sphere_m)
    boxes = body.box_m[:, None] + (body.box_axes[:, None] @ (_IN_A_BOX * body.box_half_m[:, None])[..., None])[..., 0]
    boxes = _points(np.repeat(T[body.box_frame], len(_IN_A_BOX), axis=0), boxes.reshape(-1, 3))
    radius_m = np.concatenate((body.sphere_radius_m, np.zeros(len(boxes))))
    points = base.to_cell(np.concatenate((spheres, boxes)))
    centres = view.point_to_pixel(points)
    depth_m = np.maximum(np.linalg.norm(points - np.asarray(view.camera_m), axis=1), 1e-3)
    return centres, radius_m / depth_m * float(view.K[0, 0])


def gap_px(outline_px: Sequence[Pixel], centres_px: FloatArray, radii_px: FloatArray) -> float:
    """The smallest distance from a convex outline to the discs, pixels; negative where they overlap."""
    outline = cv2.convexHull(np.asarray(outline_px, dtype=np.float32).reshape(-1, 1, 2))
    return min(
        -float(cv2.pointPolygonTest(outline, (float(u), float(v)), True)) - float(r)
        for (u, v), r in zip(centres_px, radii_px, strict=True)
        if np.isfinite(u)
    )


def _points(T: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray((T[:, :3, :3] @ points[..., None])[..., 0] + T[:, :3, 3])

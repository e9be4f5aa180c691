"""How far an arm reaches: the largest distance of its tool point from the base axis, inside its limits.

A figure for people, found by searching; plans ask a solver for their own targets.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.fk import tool_points_m
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray

_POSES = 2000  # spread over the limits; the farthest is where the search begins
_STEPS = 300


def reach_m(arm: ArmModel) -> float:
    """The farthest that the tool point gets from the upright axis through the base's origin, metres.

    The farthest of many poses, pulled farther out by a target that lies far beyond it.
    """
    limits = JointLimits.of(arm)
    poses = np.stack([limits.spread(number) for number in range(_POSES)])
    radii = _radii_m(tool_points_m(poses, arm), arm)
    start = poses[int(np.argmax(radii))]
    point = tool_points_m(start, arm)
    away = point.copy()
    away[_up(arm)] = 0.0
    target = point + away / max(float(np.linalg.norm(away)), 1e-9) * arm.longest_reach_m
    found = DampedLeastSquares(arm, limits=limits, max_steps=_STEPS).solve_many(target[None], None, None, start[None])
    return float(max(radii.max(), _radii_m(tool_points_m(found.angles_deg, arm), arm)[0]))


def _up(arm: ArmModel) -> int:
    return 2 if arm.data.up == "z" else 1


def _radii_m(points_m: FloatArray, arm: ArmModel) -> FloatArray:
    return np.asarray(np.linalg.norm(np.delete(points_m, _up(arm), axis=-1), axis=-1))

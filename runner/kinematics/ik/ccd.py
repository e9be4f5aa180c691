"""Cyclic coordinate descent: joint by joint from the tip to the base, each turns the tool point toward the target.

Position only. One sweep at a time, with a gain: a small one makes a motion out of it, as in the field's first version.
Moves nothing, stays inside the limits and promises no arrival: whoever sweeps looks how far it got.
Source: Wang & Chen (1991), A combined optimization method for solving the inverse kinematics problem.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.fk import checked_joints, link_poses
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen

_TINY_M = 1e-6  # a point this near to a joint's axis can't be turned toward anything


def ccd_step(
    arm: ArmModel, angles_deg: FloatArray, target_m: FloatArray, gain: float, limits: JointLimits
) -> FloatArray:
    """One sweep: the joints after it, shape (n_joints,), read-only and inside the limits.

    Each joint turns by `gain` of the signed angle between the tool point and the target, both seen along its true axis.

    Args:
        angles_deg: where the joints are, shape (n_joints,), inside the limits.
        target_m: where the tool point is to be, base frame, shape (3,).
        gain: above 0, at most 1.

    Raises:
        WrongJoints: angles that are not one finite number a joint.
    """
    q = np.array(checked_joints(angles_deg, arm))
    poses = link_poses(q, arm)
    tip = poses[-1, :3, 3].copy()
    for i in reversed(range(arm.n_joints)):
        axis, origin = poses[i, :3, :3] @ arm.axes[i], poses[i, :3, 3]
        to_tip, to_target = (_flat(point - origin, axis) for point in (tip, target_m))
        if min(np.linalg.norm(to_tip), np.linalg.norm(to_target)) < _TINY_M:
            continue
        angle = np.degrees(np.arctan2(np.cross(to_tip, to_target) @ axis, to_tip @ to_target))
        goal = min(max(q[i] + gain * angle, limits.min_deg[i]), limits.max_deg[i])
        tip = origin + _turned(tip - origin, axis, float(np.radians(goal - q[i])))
        q[i] = goal
    return frozen(q)


def _flat(vector: FloatArray, axis: FloatArray) -> FloatArray:
    """The part of a vector across a unit axis."""
    return np.asarray(vector - (vector @ axis) * axis)


def _turned(vector: FloatArray, axis: FloatArray, angle_rad: float) -> FloatArray:
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    return np.asarray(c * vector + s * np.cross(axis, vector) + (1.0 - c) * (axis @ vector) * axis)

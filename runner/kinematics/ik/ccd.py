"""Inverse kinematics by cyclic coordinate descent: one joint after the other, from the tip to the base.

Each joint turns about its true axis by a share (the gain) of the signed angle that brings the tool nearest to the
target, seen on the plane normal to that axis; a joint limit stops it. A wanted rotation counts by two more points
beside the tool point. Slow and without a way round limits, but it can't blow up, and with a small gain it creeps as
smoothly as a servo. Source: Wang and Chen (1991), A combined optimization method for solving the inverse kinematics
problems of mechanical manipulators. Moves nothing, and says how far it got.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, degrees, radians

import numpy as np

from runner.kinematics.errors import BadTarget
from runner.kinematics.fk import checked_joints, link_poses, turn_about
from runner.kinematics.ik.protocol import IkResult, IkTarget, JointLimits
from runner.kinematics.ik.sweeps import checked_start, each, swept
from runner.kinematics.model import ArmModel, FloatArray, frozen

FIELD_GAIN = 0.05
"""The gain of the field's first version, a share of the angle each step."""


class CyclicCoordinateDescent:
    """The solver for one arm inside one set of limits. Thread-safe: it keeps no state between calls."""

    def __init__(
        self,
        arm: ArmModel,
        *,
        limits: JointLimits | None = None,
        gain: float = 1.0,
        tolerance_m: float = 1e-4,
        tolerance_deg: float = 0.1,
        max_steps: int = 500,
    ) -> None:
        """Store the settings.

        Args:
            arm: with the tool that is mounted.
            limits: where the joints may be; the arm file's if not given.
            gain: share of its angle that a joint turns in a sweep, above 0 and at most 1.
            tolerance_m: a target nearer than this is reached, and
            tolerance_deg: turned by less than this, where a rotation is asked for.
            max_steps: sweeps over all joints.

        Raises:
            BadTarget: a gain that is no share.
        """
        if not 0.0 < gain <= 1.0:
            raise BadTarget(f"a gain is above 0 and at most 1, got {gain!r}")
        self.arm, self.limits, self.gain = arm, limits or JointLimits.of(arm), gain
        self.tolerance_m, self.tolerance_deg, self.max_steps = tolerance_m, tolerance_deg, max_steps

    def solve(self, target: IkTarget, start_deg: FloatArray) -> IkResult:
        """The pose for one target, searched from `start_deg`, shape (n_joints,).

        Raises:
            WrongJoints, OutsideLimits: a start that is no pose, or breaks a limit.
        """
        return swept(
            lambda q, T: _one_sweep(self.arm, T, q, _points(T[-1], target), self.gain, self.limits),
            checked_start(start_deg, self.arm, self.limits),
            target,
            self.arm,
            tolerance_m=self.tolerance_m,
            tolerance_deg=self.tolerance_deg,
            max_steps=self.max_steps,
        )

    def solve_batch(self, targets: Sequence[IkTarget], starts_deg: FloatArray) -> list[IkResult]:
        """One pose for each target, each from its own row of `starts_deg`, shape (N, n_joints).

        Raises:
            WrongJoints, OutsideLimits: see `solve`.
            BadTarget: not as many starts as targets.
        """
        return each(self.solve, targets, starts_deg)


def ccd_step(
    arm: ArmModel, angles_deg: FloatArray, target_m: FloatArray, gain: float, limits: JointLimits
) -> FloatArray:
    """One sweep toward a place: the joints after it, shape (n_joints,), read-only and inside the limits.

    With a small gain and one step after the other it makes a motion, as in the field's first version.

    Args:
        arm: with the tool that is mounted.
        angles_deg: where the joints are, shape (n_joints,), inside the limits.
        target_m: where the tool point is to be, base frame, shape (3,).
        gain: share of its angle that a joint turns, above 0 and at most 1.
        limits: where the joints may be.

    Raises:
        WrongJoints: angles that are not one finite number a joint.
    """
    q = checked_joints(angles_deg, arm)
    T = link_poses(q, arm)
    return frozen(_one_sweep(arm, T, q, (T[-1, None, :3, 3], np.asarray(target_m)[None], np.ones(1)), gain, limits))


def _one_sweep(
    arm: ArmModel,
    T: FloatArray,
    q: FloatArray,
    points: tuple[FloatArray, FloatArray, FloatArray],
    gain: float,
    limits: JointLimits,
) -> FloatArray:
    """Every joint once, from the tip to the base; T are the links' frames at q."""
    seen, wanted, weights = points
    out = q.copy()
    for i in range(arm.n_joints - 1, -1, -1):
        axis, origin = T[i, :3, :3] @ arm.axes[i], T[i, :3, 3]
        a, b = seen - origin, wanted - origin
        K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
        y = -float(weights @ ((a @ K) * b).sum(axis=1))  # axis · (a × b), and a · b across the axis
        x = float(weights @ ((a * b).sum(axis=1) - (a @ axis) * (b @ axis)))
        if x * x + y * y < 1e-24:  # everything on the axis: no turn changes anything
            continue
        goal = float(out[i]) + gain * degrees(atan2(y, x))
        goal = min(max(goal, float(limits.min_deg[i])), float(limits.max_deg[i]))
        seen = origin + a @ turn_about(axis, radians(goal - float(out[i]))).T
        out[i] = goal
    return out


def _points(T: FloatArray, target: IkTarget) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points of the tool (k, 3), where they are wanted, and what they weigh."""
    if target.rotation is None:
        return T[None, :3, 3], target.position_m[None], np.ones(1)
    arms = np.vstack((np.zeros(3), np.eye(3))) * target.rotation_weight_m
    weights = np.array([target.position_weight**2, 0.5, 0.5, 0.5])
    return T[:3, 3] + arms @ T[:3, :3].T, target.position_m + arms @ target.rotation.T, weights

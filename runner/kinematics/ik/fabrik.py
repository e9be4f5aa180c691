"""Inverse kinematics by FABRIK: reaching forwards and backwards along the chain of joints. Places only, no rotations.

Backwards, the chain is drawn to the target point by point with its lengths kept; forwards, each joint turns what is
outside it about its true axis so that it lies best on the drawn chain, as far as its limit. So the chain never comes
apart and never leaves its limits, of which the method for ball joints knows nothing. Source: Aristidou and
Lasenby (2011), FABRIK: a fast, iterative solver for the inverse kinematics problem. Moves nothing, and says how far it
got.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, degrees

import numpy as np

from runner.kinematics.errors import BadTarget
from runner.kinematics.fk import turn_about
from runner.kinematics.ik.protocol import IkResult, IkTarget, JointLimits
from runner.kinematics.ik.sweeps import checked_start, each, swept
from runner.kinematics.model import ArmModel, FloatArray


class Fabrik:
    """The solver for one arm inside one set of limits. Thread-safe: it keeps no state between calls."""

    def __init__(
        self, arm: ArmModel, *, limits: JointLimits | None = None, tolerance_m: float = 1e-4, max_steps: int = 500
    ) -> None:
        """Store the settings.

        Args:
            arm: with the tool that is mounted.
            limits: where the joints may be; the arm file's if not given.
            tolerance_m: a target nearer than this is reached.
            max_steps: rounds backwards and forwards.
        """
        self.arm, self.limits = arm, limits or JointLimits.of(arm)
        self.tolerance_m, self.max_steps = tolerance_m, max_steps

    def solve(self, target: IkTarget, start_deg: FloatArray) -> IkResult:
        """The pose for one target, searched from `start_deg`, shape (n_joints,).

        Raises:
            WrongJoints, OutsideLimits: a start that is no pose, or breaks a limit.
            BadTarget: the target asks for a rotation.
        """
        if target.rotation is not None:
            raise BadTarget("FABRIK brings a point to a place and knows no rotation", next_step="take the solver dls")
        return swept(
            lambda q, T: self._round(q, T, target.position_m),
            checked_start(start_deg, self.arm, self.limits),
            target,
            self.arm,
            tolerance_m=self.tolerance_m,
            tolerance_deg=0.0,
            max_steps=self.max_steps,
        )

    def solve_batch(self, targets: Sequence[IkTarget], starts_deg: FloatArray) -> list[IkResult]:
        """One pose for each target, each from its own row of `starts_deg`, shape (N, n_joints).

        Raises:
            WrongJoints, OutsideLimits: see `solve`.
            BadTarget: a target with a rotation, or not as many starts as targets.
        """
        return each(self.solve, targets, starts_deg)

    def _round(self, q: FloatArray, T: FloatArray, goal_m: FloatArray) -> FloatArray:
        points, axes = T[:, :3, 3].copy(), np.einsum("nij,nj->ni", T[:-1, :3, :3], self.arm.axes)
        drawn = _backwards(points, goal_m)
        out = q.copy()
        for i in range(self.arm.n_joints):
            axis, origin = axes[i], points[i]
            beyond, wanted = points[i + 1 :] - origin, drawn[i + 1 :] - origin
            a, b = beyond - np.outer(beyond @ axis, axis), wanted - np.outer(wanted @ axis, axis)
            y, x = float((np.cross(a, b) @ axis).sum()), float((a * b).sum())
            if x * x + y * y < 1e-24:  # everything on the axis: no turn changes anything
                continue
            angle = degrees(atan2(y, x))
            at = min(max(out[i] + angle, float(self.limits.min_deg[i])), float(self.limits.max_deg[i]))
            R = turn_about(axis, np.radians(at - out[i]))
            points[i + 1 :] = origin + (points[i + 1 :] - origin) @ R.T
            axes[i + 1 :] = axes[i + 1 :] @ R.T
            out[i] = at
        return out


def _backwards(points: FloatArray, goal_m: FloatArray) -> FloatArray:
    """The chain drawn to the goal from its tip on, each length kept; its base comes along. Shape as `points`."""
    drawn = points.copy()
    drawn[-1] = goal_m
    for i in range(len(points) - 2, -1, -1):
        length = float(np.linalg.norm(points[i + 1] - points[i]))
        back = points[i] - drawn[i + 1]
        far = float(np.linalg.norm(back))
        drawn[i] = drawn[i + 1] + back * (length / far) if far > 1e-12 else points[i]
    return drawn

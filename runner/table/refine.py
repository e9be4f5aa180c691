"""From a row or an approach pose to the pose that is commanded: a local solution for the very target.

The row is a start, not an answer. What is left over is said in millimetres and degrees; nothing is clipped, and a pose
that misses is returned as such, for the planner to skip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.kinematics.frames import BaseInCell, ToolStance, stance_of, stance_rotation, tool_points_cell_m
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkStatus, IkTarget, JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen
from runner.table.postures import jaws_as_at
from runs.schema.geometry import Point
from runs.schema.motion import Refined


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """The pose found for a target, and how it stands there."""

    joints_deg: FloatArray  # (n_joints,), read-only
    target_m: Point  # cell frame
    reached_m: Point
    residual_mm: float
    residual_deg: float  # of the stance, 0 where none was asked for
    steps: int
    status: IkStatus
    stance: ToolStance

    @property
    def ok(self) -> bool:
        """Whether the target is reached."""
        return self.status is IkStatus.CONVERGED

    def to_record(self) -> Refined:
        """As it stands in the run log."""
        return Refined(
            status=str(self.status),
            target_m=self.target_m,
            reached_m=self.reached_m,
            residual_mm=self.residual_mm,
            joints=tuple(float(j) for j in self.joints_deg),
            steps=self.steps,
            heading_deg=self.stance.heading_deg,
            tilt_deg=self.stance.tilt_deg,
        )


def refine(
    start_deg: FloatArray,
    target_m: Point,
    arm: ArmModel,
    base: BaseInCell,
    limits: JointLimits,
    *,
    stance: tuple[float, float] | None = None,
    near_deg: FloatArray | None = None,
    near_tol_deg: float | None = None,
    jaws_as_deg: FloatArray | None = None,
) -> Refinement:
    """Solve from a pose for a target in the cell frame.

    Args:
        start_deg: a row's or an approach pose's joints, shape (n_joints,).
        target_m: where the tool point must be, cell frame, metres.
        arm: with its tool.
        base: where it stands.
        limits: where joints may be.
        stance: (tilt, heading) in degrees with level jaws, or None: any, near the start's own.
        near_deg: reference joints, shape (n_joints,), and
        near_tol_deg: how far every joint may be from them.
        jaws_as_deg: the pose after which the jaws are turned, one way round or the other; the start if not given.

    Raises:
        BadTarget: a target that is no place.
        WrongJoints: a start that is not one finite angle a joint.
    """
    inside = limits
    if near_deg is not None and near_tol_deg is not None:
        inside = JointLimits(
            frozen(np.maximum(limits.min_deg, near_deg - near_tol_deg)),
            frozen(np.minimum(limits.max_deg, near_deg + near_tol_deg)),
        )
    rotation = None
    if stance is not None:
        side = start_deg if jaws_as_deg is None else jaws_as_deg
        rotation = jaws_as_at(side[None], stance_rotation(*stance, base)[None], arm)[0]
    target = IkTarget(base.to_base(np.array(target_m)), rotation)
    start = np.clip(start_deg, inside.min_deg, inside.max_deg)
    found = DampedLeastSquares(arm, limits=inside, max_steps=60).solve(target, start)
    x, y, z = (float(c) for c in tool_points_cell_m(found.angles_deg, arm, base))
    return Refinement(
        joints_deg=found.angles_deg,
        target_m=target_m,
        reached_m=(x, y, z),
        residual_mm=found.residual_mm,
        residual_deg=found.residual_deg,
        steps=found.steps,
        status=found.status,
        stance=stance_of(found.angles_deg, arm, base),
    )


def standing(joints_deg: FloatArray, arm: ArmModel, base: BaseInCell) -> Refinement:
    """A pose as it is, with nothing asked of it and nothing left over."""
    x, y, z = (float(c) for c in tool_points_cell_m(joints_deg, arm, base))
    at = (x, y, z)
    stance = stance_of(joints_deg, arm, base)
    return Refinement(frozen(np.array(joints_deg, dtype=float)), at, at, 0.0, 0.0, 0, IkStatus.CONVERGED, stance)

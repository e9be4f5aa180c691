"""What the solvers have in common that sweep over the joints again and again: when they stop and what they report.

Knows nothing of how a sweep goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from runner.kinematics.errors import BadTarget
from runner.kinematics.fk import checked_joints, link_poses, rotation_vector, tool_pose
from runner.kinematics.ik.protocol import IkResult, IkStatus, IkTarget, JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen

STALL_SWEEPS = 20
_STALL_MM = 1e-3  # less than that better in so many sweeps is no progress


def left_over(angles_deg: FloatArray, target: IkTarget, arm: ArmModel) -> tuple[float, float]:
    """How far a pose is from a target: millimetres, and degrees (0 where no rotation is asked for)."""
    return left_at(tool_pose(angles_deg, arm), target)


def left_at(T: FloatArray, target: IkTarget) -> tuple[float, float]:
    """The same for a tool's frame (4, 4)."""
    off_mm = float(np.linalg.norm(T[:3, 3] - target.position_m)) * 1000.0
    if target.rotation is None:
        return off_mm, 0.0
    turn = rotation_vector((target.rotation @ T[:3, :3].T)[None])[0]
    return off_mm, float(np.degrees(np.linalg.norm(turn)))


def checked_start(start_deg: FloatArray, arm: ArmModel, limits: JointLimits) -> FloatArray:
    """One pose inside the limits, a copy.

    Raises:
        WrongJoints, OutsideLimits: it is none.
    """
    start = checked_joints(start_deg, arm)
    if start.ndim != 1:
        raise BadTarget(f"one target needs one start, got an array {start.shape}")
    limits.refuse_outside(start, arm)
    return np.clip(start, limits.min_deg, limits.max_deg)


def swept(
    sweep: Callable[[FloatArray, FloatArray], FloatArray],
    start_deg: FloatArray,
    target: IkTarget,
    arm: ArmModel,
    *,
    tolerance_m: float,
    tolerance_deg: float,
    max_steps: int,
) -> IkResult:
    """Sweep until the target is reached, nothing gets better, or the steps run out. The best pose seen stands.

    `sweep` gets the joints and the frames of all links there.
    """
    q, best, best_q, before = start_deg, np.inf, start_deg, np.inf
    best_left = (np.inf, np.inf)
    for step in range(max_steps + 1):
        T = link_poses(q, arm)
        off_mm, off_deg = left_at(T[-1], target)
        error = float(np.hypot(off_mm * target.position_weight, np.radians(off_deg) * target.rotation_weight_m * 1e3))
        if error < best:
            best, best_q, best_left = error, q, (off_mm, off_deg)
        if off_mm <= tolerance_m * 1e3 and off_deg <= tolerance_deg:
            return IkResult(frozen(q.copy()), off_mm, off_deg, step, IkStatus.CONVERGED)
        if step % STALL_SWEEPS == 0:
            if before - best < _STALL_MM:
                return IkResult(frozen(best_q.copy()), *best_left, step, IkStatus.STALLED)
            before = best
        if step < max_steps:
            q = sweep(q, T)
    return IkResult(frozen(best_q.copy()), *best_left, max_steps, IkStatus.MAX_STEPS)


def each(
    solve: Callable[[IkTarget, FloatArray], IkResult], targets: Sequence[IkTarget], starts_deg: FloatArray
) -> list[IkResult]:
    """One result for each target, each from its own row of starts.

    Raises:
        BadTarget: not as many starts as targets.
    """
    if len(starts_deg) != len(targets):
        raise BadTarget(f"{len(targets)} targets need as many starts, got {len(starts_deg)}")
    return [solve(target, start) for target, start in zip(targets, np.asarray(starts_deg), strict=True)]

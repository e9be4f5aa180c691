"""One question to an approach file, whichever kind it is: an arc's interpolated j0, or a square's best pose."""

from __future__ import annotations

from math import hypot

from runner.kinematics.ik.protocol import JointLimits
from runner.table.approach import Approach, ArcApproach, GridApproach, lookup_arc, violations
from runs.schema.geometry import TablePoint
from runs.schema.motion import LookupRecord, NearestPoint


def lookup_approach(
    approach: Approach,
    target_xz_m: TablePoint,
    limits: JointLimits,
    *,
    label: str,
    j1_safe_max_deg: float,
    x_residual_max_m: float,
) -> LookupRecord:
    """The approach for a target, before it is refined for that very target.

    Args:
        target_xz_m: (x, z), metres.
        x_residual_max_m: of an arc; a square's pose stands over its centre and is refined afterwards.
    """
    if isinstance(approach.content, ArcApproach):
        return lookup_arc(
            approach, target_xz_m, limits, label=label, j1_safe_max_deg=j1_safe_max_deg,
            x_residual_max_m=x_residual_max_m,
        )  # fmt: skip
    return _lookup_grid(approach, approach.content, target_xz_m, limits, label, j1_safe_max_deg)


def _lookup_grid(
    approach: Approach,
    grid: GridApproach,
    target_xz_m: TablePoint,
    limits: JointLimits,
    label: str,
    j1_safe_max_deg: float,
) -> LookupRecord:
    square = grid.at(target_xz_m)
    if square is None or not square.poses:
        nearest = grid.nearest(target_xz_m)
        gap = "" if nearest is None else f"; the nearest square that has one is {nearest[1]:.0f} mm away"
        return LookupRecord(
            label=label, phase=grid.phase, source_file=approach.name, pose_id=None, target_xz_m=target_xz_m, j0=None,
            method="out_of_range", x_residual_m=None, z_residual_m=None, interp_xz_m=None, joint_limit_ok=False,
            target_angles=None, base_angles=None, guard_pass=False, guard_reason="no approach for this square",
            abort_reason=f"no approach for this square{gap}",
        )  # fmt: skip
    pose = square.pose(0)
    x_m, z_m = square.x_mm / 1000.0, square.z_mm / 1000.0
    broken = violations(pose.joints_deg, limits, j1_safe_max_deg)
    dx_m, dz_m = abs(x_m - target_xz_m[0]), abs(z_m - target_xz_m[1])
    return LookupRecord(
        label=label,
        phase=grid.phase,
        source_file=approach.name,
        pose_id=f"{grid.phase}_x{square.x_mm}_z{square.z_mm}_t{pose.tilt_deg:.0f}_h{pose.heading_deg:.0f}",
        target_xz_m=target_xz_m,
        j0=pose.joints_deg[0],
        method="grid",
        x_residual_m=dx_m,
        z_residual_m=dz_m,
        interp_xz_m=(x_m, z_m),
        joint_limit_ok=not broken,
        joint_limit_violations=broken,
        target_angles=pose.joints_deg,
        base_angles=pose.joints_deg,
        nearest_pts=(NearestPoint(detect_xz_m=(x_m, z_m), joints=pose.joints_deg),),
        guard_pass=not broken,
        guard_reason=None if not broken else f"{broken[0].axis} at {broken[0].value:.2f}° is outside its limits",
        total_residual_m=hypot(dx_m, dz_m),
        used_angles=pose.joints_deg,
    )

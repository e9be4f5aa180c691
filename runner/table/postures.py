"""Postures of the arm at one tilt, heading, radius and height, solved in bulk with j0 at rest.

The base axis makes them turn: a posture at j0 = 0 serves every place at its radius. What scans and approach tables have
in common. Knows no table, no box and no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, cos, degrees, hypot, radians, sin

import numpy as np
from numpy.typing import NDArray

from runner.config import BadSetting, Config
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen, load_arm
from runs.schema.geometry import TablePoint

BoolArray = NDArray[np.bool_]

_SPREAD_STARTS = 12  # for an arm whose file names none
_WRIST_ROLL_DEG = 60.0  # a straight posture with more of it has its wrist turned over
_TURN_STEP_DEG = 15.0
_SPARE_DEG = 2.0
_SPARE_J1_DEG = 0.5  # j1 sags forward, so taking the sag off commands less


@dataclass(frozen=True, slots=True, eq=False)
class Postures:
    """Solved postures, one a row; arrays are read-only. Places are (radius, height) before the arm at j0 = 0."""

    joints_deg: FloatArray  # (N, n_joints)
    tilt_deg: FloatArray  # (N,)
    turn_deg: FloatArray  # (N,): the tool's heading less the direction from the base axis
    radius_m: FloatArray  # (N,)
    height_m: FloatArray  # (N,): in the base frame


def hard_limits(arm: ArmModel, config: Config) -> JointLimits:
    """Where commanded joints and rows may be: the arm file's limits less the margin."""
    return JointLimits.of(arm, margin_deg=config.arm.limit_margin_deg)


def planning_limits(arm: ArmModel, config: Config) -> JointLimits:
    """Where planned joints may be: a little inside the hard limits and below j1's safe maximum.

    What is spared is for taking off a measured sag, which may command a joint beyond the pose that is meant.
    """
    safe = {1: config.arm.j1_safe_max_deg - _SPARE_J1_DEG} if arm.n_joints > 1 else None
    return JointLimits.of(arm, margin_deg=config.arm.limit_margin_deg + _SPARE_DEG, max_deg=safe)


def arm_of(config: Config) -> tuple[ArmModel, BaseInCell]:
    """The arm with its tool, and its base, as the settings say.

    Raises:
        UnknownArm, BadArmFile: see `load_arm`.
        BadSetting: an arm of another number of joints than the settings are for.
    """
    a = config.arm
    arm = load_arm(a.model).with_tool(tcp_mm=a.tcp_mm, roll_deg=a.tool_roll_deg, shift_mm=a.tool_shift_mm)
    if arm.n_joints != len(a.home_deg):
        raise BadSetting("arm.model", f"{arm.name} has {arm.n_joints} joints, not {len(a.home_deg)}", "settings")
    if any(a.joint_zero_deg):
        highest = arm.max_deg.copy()
        highest[1:2] = np.minimum(highest[1:2], a.j1_safe_max_deg + a.limit_margin_deg)
        arm = arm.with_zeros(np.array(a.joint_zero_deg), upper_deg=highest)
    return arm, BaseInCell.at(a.base_shift_m, a.base_yaw_deg)


def solve_postures(
    arm: ArmModel,
    limits: JointLimits,
    *,
    tilts_deg: tuple[float, ...],
    turns_deg: tuple[float, ...],
    radii_m: FloatArray,
    heights_m: FloatArray,
) -> Postures:
    """Every combination that has a posture with level jaws, in the order tilt, radius, height, turn.

    Turned postures are found from straight ones in small steps, so that neighbours lie on one branch.

    Args:
        arm: six joints, the first about the base axis.
        limits: where joints may be.
        tilts_deg: of the tool below the level.
        turns_deg: headings off the radial direction.
        radii_m: distances of the tool point from the base axis.
        heights_m: of the tool point over the base's origin.
    """
    solver = DampedLeastSquares(arm, limits=limits, max_steps=40)
    tilt, radius, height = (a.ravel() for a in np.meshgrid(np.array(tilts_deg), radii_m, heights_m, indexing="ij"))
    straight, there = _straight(solver, tilt, radius, height)
    tilt, radius, height, straight = tilt[there], radius[there], height[there], straight[there]
    parts: list[Postures] = []
    for sign in (1.0, -1.0):
        wanted = sorted({abs(t) for t in turns_deg if t * sign > 0})
        parts += _turned(solver, Postures(straight, tilt, np.zeros(len(tilt)), radius, height), sign, wanted)
    asked = slice(None) if any(t == 0 for t in turns_deg) else slice(0)
    parts.append(Postures(straight[asked], tilt[asked], np.zeros(len(tilt[asked])), radius[asked], height[asked]))
    names = ("joints_deg", "tilt_deg", "turn_deg", "radius_m", "height_m")
    columns = [np.concatenate([getattr(p, name) for p in parts]) for name in names]
    order = np.lexsort((columns[2], columns[4], columns[3], columns[1]))
    return Postures(*(frozen(np.ascontiguousarray(c[order])) for c in columns))


def rotations(tilt_deg: FloatArray, heading_deg: FloatArray, base: BaseInCell) -> FloatArray:
    """`frames.stance_rotation` for many, shape (N, 3, 3)."""
    t, h = np.radians(tilt_deg), np.radians(heading_deg)
    along = base.turn_to_base(np.stack((np.cos(t) * np.cos(h), -np.sin(t), np.cos(t) * np.sin(h)), axis=-1))
    jaws = base.turn_to_base(np.stack((np.sin(h), np.zeros_like(h), -np.cos(h)), axis=-1))
    return np.stack((jaws, np.cross(along, jaws), along), axis=-1)


def jaws_as_at(joints_deg: FloatArray, frames: FloatArray, arm: ArmModel) -> FloatArray:
    """The frames (N, 3, 3), each turned by half a turn about the tool where that is nearer to the pose of its row.

    The jaws are the same either way round, so a solution need not turn the hand over.
    """
    jaws = tool_pose(joints_deg, arm)[..., :3, 0]
    side = np.where((jaws * frames[..., :, 0]).sum(axis=-1) < 0.0, -1.0, 1.0)
    return np.asarray(frames * np.stack((side, side, np.ones_like(side)), axis=-1)[..., None, :])


def wrist_kept_low(
    solver: DampedLeastSquares, points: FloatArray, frames: FloatArray, joints: FloatArray
) -> FloatArray:
    """Poses whose wrist is rolled past a quarter turn with it turned over instead, where that can be had.

    Rolling it by half a turn and bending it the other way points the tool alike, with the jaws the other way round.
    Poses of an arm whose file names no such joint stay as they are.
    """
    out = joints.copy()
    search = solver.arm.data.search
    if search is None or search.wrist_roll is None:
        return out
    roll, bend = search.wrist_roll, search.wrist_roll + 1
    far = np.flatnonzero(np.abs(joints[:, roll]) > 90.0)
    if not len(far):
        return out
    start = joints[far]
    start[:, roll] -= 180.0 * np.sign(start[:, roll])
    start[:, bend] *= -1.0
    start = np.clip(start, solver.limits.min_deg, solver.limits.max_deg)
    found = solver.solve_many(points[far], jaws_as_at(start, frames[far], solver.arm), None, start)
    better = found.converged & (np.abs(found.angles_deg[:, roll]) < np.abs(joints[far, roll]))
    out[far[better]] = found.angles_deg[better]
    return out


def _points(radius: FloatArray, height: FloatArray) -> FloatArray:
    return np.stack((radius, np.zeros_like(radius), height), axis=1)


def _frames(tilt: FloatArray, turn: FloatArray) -> FloatArray:
    """Tool frames in the base frame for postures before the arm: at j0 = 0 the radial direction is 90° in the cell."""
    return rotations(tilt, 90.0 + turn, BaseInCell.at())


def _straight(
    solver: DampedLeastSquares, tilt: FloatArray, radius: FloatArray, height: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Postures in the arm's own plane; of several the one with most room to its limits."""
    n = len(tilt)
    points, frames = _points(radius, height), _frames(tilt, np.zeros(n))
    lo, hi = solver.limits.min_deg, solver.limits.max_deg
    best, room = np.zeros((n, solver.arm.n_joints)), np.full(n, -np.inf)
    search = solver.arm.data.search
    starts, fallback = _starts(solver)
    for number, start in enumerate((*starts, *fallback)):
        rows = np.arange(n) if number < len(starts) else np.flatnonzero(~np.isfinite(room))
        found = solver.solve_many(points[rows], frames[rows], None, np.tile(start, (len(rows), 1)))
        spare = np.minimum(found.angles_deg - lo, hi - found.angles_deg).min(axis=1)
        fit = found.converged
        if search is not None and search.wrist_roll is not None:
            fit &= np.abs(found.angles_deg[:, search.wrist_roll]) < _WRIST_ROLL_DEG
        better = fit & (spare > room[rows] + 1e-6)
        best[rows[better]], room[rows[better]] = found.angles_deg[better], spare[better]
    return best, np.isfinite(room)


def _starts(solver: DampedLeastSquares) -> tuple[list[FloatArray], list[FloatArray]]:
    """Where to begin, and where for what is left then: as the arm file says, else all over the limits."""
    limits, search = solver.limits, solver.arm.data.search
    if search is None:
        return [limits.spread(number) for number in range(_SPREAD_STARTS)], []

    def inside(poses_deg: tuple[tuple[float, ...], ...]) -> list[FloatArray]:
        return [np.clip(np.array(pose), limits.min_deg, limits.max_deg) for pose in poses_deg]

    return inside(search.starts_deg), inside(search.fallback_deg)


def _turned(solver: DampedLeastSquares, straight: Postures, sign: float, wanted: list[float]) -> list[Postures]:
    """The same places with the tool turned aside, farther and farther; what fails once is left out beyond."""
    out: list[Postures] = []
    now, turn = straight, 0.0
    for goal in wanted:
        while turn < goal - 1e-9 and len(now.tilt_deg):
            turn = min(goal, turn + _TURN_STEP_DEG)
            angles = np.full(len(now.tilt_deg), sign * turn)
            frames = jaws_as_at(now.joints_deg, _frames(now.tilt_deg, angles), solver.arm)
            points = _points(now.radius_m, now.height_m)
            found = solver.solve_many(points, frames, None, now.joints_deg)
            joints, ok = wrist_kept_low(solver, points, frames, found.angles_deg), found.converged
            now = Postures(joints[ok], now.tilt_deg[ok], angles[ok], now.radius_m[ok], now.height_m[ok])
        if len(now.tilt_deg):
            out.append(now)
    return out


def radial_heading_deg(point_xz_m: TablePoint, base: BaseInCell) -> float:
    """The direction on the table from the base axis to a point, degrees from +x toward +z."""
    return degrees(atan2(point_xz_m[1] - base.shift_m[2], point_xz_m[0] - base.shift_m[0]))


def radius_m(point_xz_m: TablePoint, base: BaseInCell) -> float:
    """How far a point is from the base axis."""
    return hypot(point_xz_m[0] - base.shift_m[0], point_xz_m[1] - base.shift_m[2])


def wrapped_deg(angle_deg: float) -> float:
    """The same direction in [-180, 180)."""
    return (angle_deg + 180.0) % 360.0 - 180.0


def back_along_tool(point_m: FloatArray, tilt_deg: float, heading_deg: float, lift_m: float) -> FloatArray:
    """The point `lift_m` before another, back along a tool of that tilt and heading; cell frame, shape (3,)."""
    t, h = radians(tilt_deg), radians(heading_deg)
    return point_m - lift_m * np.array([cos(t) * cos(h), -sin(t), cos(t) * sin(h)])

"""Ways between poses: the straight line of the tool as joint waypoints.

Geometry only; it knows neither time nor speed, checks nothing against the surroundings and sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.kinematics.fk import tool_points_m, tool_pose
from runner.kinematics.ik.dls import DampedLeastSquares, rotation_vector
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen

_STEP_M = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class StraightLine:
    """Joint waypoints from one pose to another along a straight line of the tool point, both ends included."""

    waypoints_deg: FloatArray  # (k, n_joints), read-only
    off_mm: float  # the farthest that the tool point leaves the line, between waypoints too
    largest_step_deg: float  # of one joint between two waypoints
    converged: bool  # whether every waypoint was found


def straight_line(
    start_deg: FloatArray, goal_deg: FloatArray, arm: ArmModel, limits: JointLimits, *, step_m: float = _STEP_M
) -> StraightLine:
    """The tool point straight from pose to pose, its frame turning evenly (slerp) meanwhile.

    Args:
        start_deg: where it begins, shape (n_joints,), inside the limits.
        goal_deg: where it ends, shape (n_joints,).
        arm: with its tool.
        limits: where joints may be on the way.
        step_m: largest distance between two waypoints.

    Raises:
        WrongJoints, OutsideLimits: an end that is no pose, or outside.
    """
    ends = tool_pose(np.stack((start_deg, goal_deg)), arm)
    a, b = ends[0, :3, 3], ends[1, :3, 3]
    count = max(1, int(np.ceil(np.linalg.norm(b - a) / step_m - 1e-9)))
    shares = np.arange(count + 1) / count
    turn = rotation_vector((ends[1, :3, :3] @ ends[0, :3, :3].T)[None])[0]
    inner = shares[1:-1]
    found = DampedLeastSquares(arm, limits=limits, tolerance_deg=0.05, max_steps=40).solve_many(
        a + inner[:, None] * (b - a),
        _turned(turn, inner) @ ends[0, :3, :3],
        None,
        start_deg + inner[:, None] * (goal_deg - start_deg),
    )
    points = np.vstack((start_deg, found.angles_deg, goal_deg))
    between = tool_points_m((points[1:] + points[:-1]) / 2.0, arm)
    off = max(_off_line_mm(between, a, b), _off_line_mm(tool_points_m(points, arm), a, b))
    step = float(np.abs(np.diff(points, axis=0)).max())
    return StraightLine(frozen(points), off, step, bool(found.converged.all()))


def _turned(turn: FloatArray, shares: FloatArray) -> FloatArray:
    """Shares of one turn (a rotation vector), shape (k, 3, 3) (Rodrigues)."""
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return np.tile(np.eye(3), (len(shares), 1, 1))
    x, y, z = turn / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(shares * angle)[:, None, None], np.cos(shares * angle)[:, None, None]
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))


def _off_line_mm(points: FloatArray, a: FloatArray, b: FloatArray) -> float:
    """The largest distance of points from the segment a-b."""
    along = b - a
    length2 = float(along @ along)
    share = np.clip((points - a) @ along / length2, 0.0, 1.0) if length2 > 0 else np.zeros(len(points))
    return float(np.linalg.norm(points - (a + share[:, None] * along), axis=1).max() * 1000.0)

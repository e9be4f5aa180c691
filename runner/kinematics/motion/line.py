"""The straight line of the tool as joint poses: few, and such that the arm stays on the line between them too.

The tool point goes straight from pose to pose and its frame turns evenly meanwhile (slerp). Poses are put in, half-way
again and again, until joint-space moves from each to the next leave the line by less than a tolerance; each is solved
warm, from between its neighbours. An arm that is sent these poses follows the line whether it passes them at speed or
stops at each. A line that can't be followed, because a place on it is out of reach or beyond a limit or because joints
would have to jump, is refused, never bent. Geometry only: it checks nothing against the surroundings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from runner.kinematics.errors import LineRefused, OutsideLimits
from runner.kinematics.fk import checked_joints, tool_pose
from runner.kinematics.ik.dls import DampedLeastSquares, rotation_vector
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen

OFF_MM = 0.15  # of the 1 mm that a straight move may deviate in all: the rest is the arm's
OFF_DEG = 0.5
_SHARES = np.array([0.25, 0.5, 0.75])  # where a stretch is held against the line
_SHORTEST = 0.5  # mm or degrees of turn: where the line still isn't followed at that, joints jump
_JUMP_DEG = (2.0, 2.4)  # largest step of a joint: at all, and for each mm or degree of the line


@dataclass(frozen=True, slots=True, eq=False)
class StraightLine:
    """Joint poses from one to another along a straight line of the tool point, both ends included."""

    waypoints_deg: FloatArray  # (k, n_joints), read-only
    off_mm: float  # the farthest that the tool point leaves the line, between the poses too
    off_deg: float  # the farthest that the tool's frame is turned away from an even turn
    length_mm: float
    turn_deg: float
    largest_step_deg: float  # of one joint between two poses

    def reversed(self) -> StraightLine:
        """The same line the other way."""
        return replace(self, waypoints_deg=self.waypoints_deg[::-1])


def straight_line(
    start_deg: FloatArray,
    goal_deg: FloatArray,
    arm: ArmModel,
    limits: JointLimits,
    *,
    off_mm: float = OFF_MM,
    off_deg: float = OFF_DEG,
) -> StraightLine:
    """The tool point straight from pose to pose, its frame turning evenly meanwhile.

    Args:
        start_deg: where it begins, shape (n_joints,), inside the limits.
        goal_deg: where it ends, shape (n_joints,), inside the limits.
        arm: with its tool.
        limits: where joints may be on the way.
        off_mm: how far the tool point may leave the line, and
        off_deg: how far its frame may be from the even turn.

    Raises:
        WrongJoints: an end that is not one finite angle a joint.
        OutsideLimits: an end outside the limits.
        LineRefused: the line can't be followed; it says where and why.
    """
    poses = np.stack([_inside(pose, arm, limits) for pose in (start_deg, goal_deg)])
    line = _Line.between(*tool_pose(poses, arm))
    solver = DampedLeastSquares(arm, limits=limits, tolerance_deg=0.05, max_steps=40)
    shares = np.array([0.0, 1.0])
    while True:
        gaps_mm, gaps_deg = line.off(poses, shares, arm)
        bad = np.flatnonzero((gaps_mm > off_mm) | (gaps_deg > off_deg))
        if not len(bad):
            break
        if (np.diff(shares)[bad] * line.size).min() < _SHORTEST:
            raise _jump(poses, shares, line, int(bad[0]))
        middle = (shares[bad] + shares[bad + 1]) / 2.0
        found = solver.solve_many(*line.at(middle), None, (poses[bad] + poses[bad + 1]) / 2.0)
        if not found.converged.all():
            i = int(np.flatnonzero(~found.converged)[0])
            gone = f"{found.residual_mm[i]:.1f} mm and {found.residual_deg[i]:.1f}°"
            raise LineRefused(
                float(middle[i]), line.length_mm, f"the nearest pose inside the limits misses it by {gone}"
            )
        shares, poses = np.insert(shares, bad + 1, middle), np.insert(poses, bad + 1, found.angles_deg, axis=0)
    steps = np.abs(np.diff(poses, axis=0)).max(axis=1)
    jumps = np.flatnonzero(steps > np.maximum(_JUMP_DEG[0], _JUMP_DEG[1] * line.size * np.diff(shares)))
    if len(jumps) and line.size > 0:
        raise _jump(poses, shares, line, int(jumps[0]))
    return StraightLine(
        frozen(poses), float(gaps_mm.max()), float(gaps_deg.max()), line.length_mm, line.turn_deg, float(steps.max())
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """Where the tool is to be at every share of the way."""

    start_m: FloatArray  # (3,)
    along_m: FloatArray  # (3,)
    R: FloatArray  # (3, 3) at the start
    turn: FloatArray  # (3,) the turn to the end, axis × radians

    @classmethod
    def between(cls, T_start: FloatArray, T_goal: FloatArray) -> _Line:
        turn = rotation_vector((T_goal[:3, :3] @ T_start[:3, :3].T)[None])[0]
        return cls(T_start[:3, 3], T_goal[:3, 3] - T_start[:3, 3], T_start[:3, :3], turn)

    @property
    def length_mm(self) -> float:
        return float(np.linalg.norm(self.along_m)) * 1000.0

    @property
    def turn_deg(self) -> float:
        return float(np.degrees(np.linalg.norm(self.turn)))

    @property
    def size(self) -> float:
        """How long it is, mm, or how far it turns, degrees: whichever is more."""
        return max(self.length_mm, self.turn_deg)

    def at(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Tool points (k, 3) and frames (k, 3, 3)."""
        return self.start_m + shares[:, None] * self.along_m, _turned(self.turn, shares) @ self.R

    def off(self, poses: FloatArray, shares: FloatArray, arm: ArmModel) -> tuple[FloatArray, FloatArray]:
        """How far joint moves from pose to pose leave the line, each (k - 1,): mm off it, degrees off the even turn.

        The frame is held against the turn that belongs to where the tool point is, for joint moves take it there sooner
        or later; where the point hardly moves, against the turn of the share.
        """
        steps = np.diff(poses, axis=0)
        frames = tool_pose((poses[:-1, None] + _SHARES[:, None] * steps[:, None]).reshape(-1, poses.shape[1]), arm)
        low, high = np.repeat(shares[:-1], len(_SHARES)), np.repeat(shares[1:], len(_SHARES))
        share = low + np.tile(_SHARES, len(steps)) * (high - low)
        if self.length_mm > self.turn_deg:
            share = (frames[:, :3, 3] - self.start_m) @ self.along_m / float(self.along_m @ self.along_m)
            share = np.clip(share, low, high)  # what lies before or behind its stretch counts as off the line
        points, turned = self.at(share)
        mm = np.linalg.norm(frames[:, :3, 3] - points, axis=1) * 1000.0
        away = rotation_vector(frames[:, :3, :3] @ np.swapaxes(turned, 1, 2))
        deg = np.degrees(np.linalg.norm(away, axis=1))
        return mm.reshape(-1, len(_SHARES)).max(axis=1), deg.reshape(-1, len(_SHARES)).max(axis=1)


def _inside(pose_deg: FloatArray, arm: ArmModel, limits: JointLimits) -> FloatArray:
    pose = checked_joints(pose_deg, arm)
    for i in np.flatnonzero((pose < limits.min_deg - 1e-6) | (pose > limits.max_deg + 1e-6)):
        name = arm.data.joint[i].name
        raise OutsideLimits(name, float(pose[i]), float(limits.min_deg[i]), float(limits.max_deg[i]))
    return pose


def _jump(poses: FloatArray, shares: FloatArray, line: _Line, i: int) -> LineRefused:
    """The refusal of a line along which a joint would have to jump from pose i to the next."""
    step = np.abs(poses[i + 1] - poses[i])
    joint, span = int(step.argmax()), (shares[i + 1] - shares[i]) * line.length_mm
    why = f"joint {joint} would jump by {step[joint]:.0f}° within {span:.1f} mm"
    return LineRefused(float(shares[i]), line.length_mm, why)


def _turned(turn: FloatArray, shares: FloatArray) -> FloatArray:
    """Shares of one turn (a rotation vector), shape (k, 3, 3) (Rodrigues)."""
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return np.tile(np.eye(3), (len(shares), 1, 1))
    x, y, z = turn / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(shares * angle)[:, None, None], np.cos(shares * angle)[:, None, None]
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))

"""The one place that knows how the cell frame and the arm's base frame lie to each other.

Cell frame: x right, y up, z forward away from the base, left-handed, as in every file and log. Base frame:
right-handed, z up, x forward, y left. So x_cell = -y_base, y_cell = z_base, z_cell = x_base, then the base's yaw and
shift in the cell.
Yaws and headings in the cell are `atan2(dz, dx)`: an arm at j0 = 0 heads at 90°, and a positive j0 adds to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, cos, degrees, radians, sin

import numpy as np

from runner.kinematics.fk import tool_points_m, tool_pose
from runner.kinematics.model import ArmModel, FloatArray, Vector, frozen

_CELL_FROM_BASE = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


@dataclass(frozen=True, slots=True, eq=False)
class BaseInCell:
    """Where the arm's base stands in the cell. Not a rigid turn: it also changes the handedness."""

    M: FloatArray  # (3, 3), orthogonal, determinant -1
    shift_m: FloatArray  # (3,), cell frame

    @classmethod
    def at(cls, shift_m: Vector = (0.0, 0.0, 0.0), yaw_deg: float = 0.0) -> BaseInCell:
        """A base moved by `shift_m` (cell frame) and turned by `yaw_deg` (positive as j0: forward toward -x)."""
        c, s = cos(radians(yaw_deg)), sin(radians(yaw_deg))
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return cls(frozen(_CELL_FROM_BASE @ turn), frozen(np.asarray(shift_m, dtype=float).copy()))

    def to_cell(self, points_base_m: FloatArray) -> FloatArray:
        """Points (..., 3) from the base frame to the cell frame, metres."""
        return np.asarray(points_base_m @ self.M.T + self.shift_m)

    def to_base(self, points_cell_m: FloatArray) -> FloatArray:
        """Points (..., 3) from the cell frame to the base frame, metres."""
        return np.asarray((np.asarray(points_cell_m, dtype=float) - self.shift_m) @ self.M)

    def turn_to_cell(self, vectors_base: FloatArray) -> FloatArray:
        """Directions (..., 3) from the base frame to the cell frame."""
        return np.asarray(vectors_base @ self.M.T)

    def turn_to_base(self, vectors_cell: FloatArray) -> FloatArray:
        """Directions (..., 3) from the cell frame to the base frame."""
        return np.asarray(vectors_cell @ self.M)


def standing(arm: ArmModel) -> BaseInCell:
    """Where an arm without a cell stands: at the origin. One whose own y is up has its own frame for a cell."""
    if arm.data.up == "z":
        return BaseInCell.at()
    return BaseInCell(frozen(np.eye(3)), frozen(np.zeros(3)))


@dataclass(frozen=True, slots=True)
class ToolStance:
    """How the tool stands in the cell: its tilt below the level (90 points straight down) and its heading."""

    tilt_deg: float
    heading_deg: float
    roll_deg: float  # of the jaws' line of travel against the level; 0 is level


def tool_points_cell_m(angles_deg: FloatArray, arm: ArmModel, base: BaseInCell) -> FloatArray:
    """The tool point in the cell frame, shape (..., 3), metres, for angles (..., n_joints)."""
    return base.to_cell(tool_points_m(angles_deg, arm))


def stance_of(angles_deg: FloatArray, arm: ArmModel, base: BaseInCell) -> ToolStance:
    """Tilt, heading and jaw roll of one pose. Heading of a tool that points straight down follows its jaws."""
    return stance_of_rotation(tool_pose(angles_deg, arm)[:3, :3], base)


def stance_of_rotation(R: FloatArray, base: BaseInCell) -> ToolStance:
    """The same from the tool frame's rotation in the base frame, shape (3, 3)."""
    along = base.turn_to_cell(R[:, 2])
    jaws = base.turn_to_cell(R[:, 0])
    level = float(np.hypot(along[0], along[2]))
    dx, dz = (along[0], along[2]) if level > 1e-6 else (-jaws[2], jaws[0])
    heading = degrees(atan2(dz, dx))
    return ToolStance(degrees(atan2(-along[1], level)), heading, degrees(atan2(jaws[1], np.hypot(jaws[0], jaws[2]))))


def stance_rotation(tilt_deg: float, heading_deg: float, base: BaseInCell) -> FloatArray:
    """The tool frame (base frame, shape (3, 3)) that points `tilt_deg` below the level along `heading_deg`, jaws level.

    Columns: the jaws' line of travel, across, along the tool.
    """
    t, h = radians(tilt_deg), radians(heading_deg)
    along = base.turn_to_base(np.array([cos(t) * cos(h), -sin(t), cos(t) * sin(h)]))
    jaws = base.turn_to_base(np.array([sin(h), 0.0, -cos(h)]))
    return np.stack((jaws, np.cross(along, jaws), along), axis=1)

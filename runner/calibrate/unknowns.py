"""The unknowns of an arm under a camera, and what they make of poses: where fingertips and tool point come to be.

The arm's zeros, the gripper's place, the camera beside what the board said of it, and the board beside its place.
A board that lies flat says little of how the camera is tilted, for what a tilt does to it a shift nearly undoes; only
heights tell. Reckons; fits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell
from runner.kinematics.gripper import seen_tips_m
from runner.kinematics.model import ArmModel, FloatArray
from vision.calibration.view import View

AXES = ("x", "y", "z")
CAMERA = ("about the picture's right", "about the picture's down", "about the line of sight")
ZERO_SIGMA_DEG, TOOL_SIGMA_MM = 2.0, 5.0  # how far off an arm may likely be,
TURN_SIGMA_DEG, SHIFT_SIGMA_MM = 1.5, 25.0  # a camera of which only a flat board was seen,
BOARD_SIGMA_MM, BOARD_SIGMA_DEG = 0.7, 0.15  # and a board that somebody laid down


@dataclass(frozen=True, slots=True)
class Unknown:
    """One number that isn't known: its name, its unit, and how far off it may likely be."""

    name: str
    unit: str  # deg or mm
    sigma: float


@dataclass(frozen=True, slots=True, eq=False)
class ArmUnderCamera:
    """The arm as delivered, where it stands, and the calibrated camera (None where marks were touched).

    A vector of unknowns is (n_joints zeros in degrees, gripper x y z in mm, camera turn three in degrees, camera shift
    x y z in mm, board shift x z in mm and its turn in degrees).
    """

    arm: ArmModel  # without anything calibrated
    base: BaseInCell
    view: View | None
    board_xz_m: FloatArray  # (k, 2): points of the board as it lay, by which the view was calibrated

    @property
    def n_unknowns(self) -> int:
        """How many numbers a vector of unknowns has."""
        return self.arm.n_joints + 12

    def unknowns(self) -> list[Unknown]:
        """All unknowns in order, with how far off each may likely be."""
        joints = [Unknown(f"zero of j{i}", "deg", ZERO_SIGMA_DEG) for i in range(self.arm.n_joints)]
        tool = [Unknown(f"gripper {axis}", "mm", TOOL_SIGMA_MM) for axis in AXES]
        camera = [Unknown(f"camera turn {axis}", "deg", TURN_SIGMA_DEG) for axis in CAMERA]
        shift = [Unknown(f"camera {axis}", "mm", SHIFT_SIGMA_MM) for axis in AXES]
        board = [Unknown(f"board {axis}", "mm", BOARD_SIGMA_MM) for axis in ("x", "z")]
        return [*joints, *tool, *camera, *shift, *board, Unknown("board turn", "deg", BOARD_SIGMA_DEG)]

    def zero_deg(self, values: FloatArray) -> FloatArray:
        """The joints' zeros, (n_joints,)."""
        return values[: self.arm.n_joints]

    def tool_mm(self, values: FloatArray) -> FloatArray:
        """The gripper's shift, (3,), last link's frame."""
        return values[self.arm.n_joints : self.arm.n_joints + 3]

    def tips_m(self, encoder_deg: FloatArray, values: FloatArray) -> FloatArray:
        """Both fingertips as a camera above sees them, (n, 2, 3), cell frame."""
        T, shift = self._tool_frames(encoder_deg, values)
        return self.base.to_cell(seen_tips_m(T, self.arm) + shift[:, None])

    def tool_points_m(self, encoder_deg: FloatArray, values: FloatArray) -> FloatArray:
        """The tool point, (n, 3), cell frame."""
        T, shift = self._tool_frames(encoder_deg, values)
        return self.base.to_cell(T[:, :3, 3] + shift)

    def tips_px(self, encoder_deg: FloatArray, values: FloatArray) -> FloatArray:
        """Both fingertips in the picture, (n, 2, 2)."""
        return self.seen_from(values).point_to_pixel(self.tips_m(encoder_deg, values))

    def seen_from(self, values: FloatArray) -> View:
        """The camera's view with its unknowns in place."""
        assert self.view is not None, "touched marks need no camera"
        turn, shift = values[-9:-6], values[-6:-3]
        if not (turn.any() or shift.any()):
            return self.view
        R = np.asarray(cv2.Rodrigues(np.radians(turn))[0]) @ self.view.R_camera_cell
        eye = np.array(self.view.camera_m)[[0, 2, 1]] + shift[[0, 2, 1]] / 1000.0
        return View.make(self.view.K, self.view.distortion, R, -R @ eye, self.view.size_px)

    def board_off_px(self, values: FloatArray) -> FloatArray:
        """How far the board's points would be seen from where they were, (k, 2)."""
        assert self.view is not None, "touched marks need no board"
        x, z, turn = values[-3] / 1000.0, values[-2] / 1000.0, np.radians(values[-1])
        middle = self.board_xz_m.mean(axis=0)
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        lay = (self.board_xz_m - middle) @ R.T + middle + (x, z)
        return self.seen_from(values).table_to_pixel(lay) - self.view.table_to_pixel(self.board_xz_m)

    def _tool_frames(self, encoder_deg: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The tool frames of the arm with these zeros, and the gripper's shift in the base frame."""
        T = tool_pose(np.atleast_2d(encoder_deg) + self.zero_deg(values), self.arm)
        R_link = T[:, :3, :3] @ self.arm.T_link_tcp[:3, :3].T
        return T, R_link @ self.tool_mm(values) / 1000.0


def tip_parts(seen_px: FloatArray, expected_px: FloatArray) -> FloatArray:
    """Two fingertips (n, 2, 2) against where they should be, (n, 3) px: their middle, and their line's turn aside."""
    between = expected_px[:, 1] - expected_px[:, 0]
    along = between / np.maximum(np.linalg.norm(between, axis=1), 1e-6)[:, None]
    seen = seen_px[:, 1] - seen_px[:, 0]
    aside = along[:, 0] * seen[:, 1] - along[:, 1] * seen[:, 0]
    return np.column_stack(((seen_px - expected_px).mean(axis=1), aside))

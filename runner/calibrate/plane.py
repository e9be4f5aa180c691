"""The table's plane, kept with its held-out error: from one picture of the board lying flat at a known place, or from
points of the table that were measured, or touched with the tool, and found in a picture.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from runner.calibrate.lens import board_of
from runner.calibrate.samples import PointsInPicture
from runner.config import Config
from runner.kinematics.frames import tool_points_cell_m
from runner.settings.desk import CalibrationSettings
from runner.table.postures import arm_of
from vision.calibration.board import find_board
from vision.calibration.drift import marks_in, scene_of
from vision.calibration.file import LensFile, PlaneFile
from vision.calibration.kept import save
from vision.calibration.plane import plane_from_board, plane_from_points
from vision.cameras.protocol import Picture

BOARD_THICKNESS_M = 0.001


def plane_from(
    picture: Picture, lens: LensFile, settings: CalibrationSettings, folder: Path, *, source: str
) -> PlaneFile:
    """Fit the camera's pose over the table and keep it, with the fixed marks that the picture shows besides.

    Raises:
        BoardNotFound: the picture shows no board.
        CalibrationTooPoor: the fit is too poor to be of use.
    """
    spec = board_of(settings)
    seen = find_board(picture, spec, source=source)
    fit = plane_from_board(
        lens.lens(), seen, spec, settings.board_xz_m, settings.board_yaw_deg, thickness_m=BOARD_THICKNESS_M
    )
    on_board = range(settings.board_squares[0] * settings.board_squares[1] // 2)
    marks = tuple(mark for mark in marks_in(picture) if mark.id not in on_board)
    file = PlaneFile.of(fit, lens, source=source, marks=marks, scene=scene_of(picture, but_px=seen.corners_px))
    save(file, folder)
    return file


def plane_from_touch(
    points: PointsInPicture, lens: LensFile, config: Config, folder: Path, picture: Picture | None, *, source: str
) -> PlaneFile:
    """The same from points of the table. Marks in a picture of them are kept: by them a camera that moves is found.

    Raises:
        CalibrationTooPoor: too few points, nearly on a line, or they don't agree.
    """
    if points.xz_m is not None:
        xz_m = points.xz_m
    else:
        assert points.encoder_deg is not None
        true_deg = points.encoder_deg + np.array(config.arm.joint_zero_deg)
        xz_m = tool_points_cell_m(true_deg, *arm_of(config))[:, [0, 2]]
    fit = plane_from_points(lens.lens(), xz_m, points.px)
    marks = () if picture is None else tuple(marks_in(picture))
    scene = None if picture is None else scene_of(picture)
    file = PlaneFile.of(fit, lens, source=source, marks=marks, scene=scene)
    save(file, folder)
    return file

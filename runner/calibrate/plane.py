"""The table's plane from one picture of the board lying flat at a known place, kept with its held-out error."""

from __future__ import annotations

from pathlib import Path

from runner.calibrate.lens import board_of
from runner.config import CalibrationSettings
from vision.calibration.board import find_board
from vision.calibration.drift import marks_in, scene_of
from vision.calibration.file import LensFile, PlaneFile
from vision.calibration.kept import save
from vision.calibration.plane import plane_from_board
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

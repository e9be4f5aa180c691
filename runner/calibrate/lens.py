"""The lens from pictures of a tilted board, kept in the cell's calibration folder with its held-out error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.settings.desk import CalibrationSettings
from vision.calibration.board import BoardSpec, find_boards
from vision.calibration.file import LensFile
from vision.calibration.kept import save
from vision.calibration.lens import calibrate_lens
from vision.cameras.protocol import Picture


def board_of(settings: CalibrationSettings) -> BoardSpec:
    """The board that the settings describe."""
    return BoardSpec(
        squares=settings.board_squares, square_mm=settings.board_square_mm, marker_mm=settings.board_marker_mm
    )


def lens_from(
    pictures: Sequence[tuple[str, Picture]], settings: CalibrationSettings, folder: Path, *, source: str
) -> tuple[LensFile, list[str]]:
    """Fit the lens to named pictures, all of one size, and keep it; also returns why pictures were left out.

    Raises:
        CalibrationTooPoor: too few boards, boards that all lie flat, or an error too large to be of use.
    """
    seen, left_out = find_boards(pictures, board_of(settings))
    height, width = pictures[0][1].shape[:2]
    file = LensFile.of(calibrate_lens(seen, (width, height)), source=source)
    save(file, folder)
    return file, left_out

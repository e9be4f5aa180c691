"""The table plane: where the camera is over it, from points whose place on the table is known.

The points come from a board that lies at a known place, from markers, or from measuring. The error it states is of
points that were left out of the fit. It refuses too few points, points on a line, and places that don't agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.calibration.board import BoardSeen, BoardSpec
from vision.calibration.lens import LensFit
from vision.calibration.view import View
from vision.errors import CalibrationTooPoor

FloatArray = NDArray[np.float64]

MIN_POINTS = 6
FOLDS = 3
MIN_SPREAD_M = 0.02  # standard deviation of the points along their narrower direction
MAX_HELD_OUT_MM = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class PlaneFit:
    """A view over the table and how good it is; held-out figures are on points that the fit had not seen."""

    view: View
    n_points: int
    rms_px: float
    held_out_px: float
    held_out_mm: float
    worst_held_out_mm: float


def board_on_table_xz_m(
    points_m: ArrayLike, spec: BoardSpec, centre_xz_m: tuple[float, float], yaw_deg: float
) -> FloatArray:
    """Board points (n, 2) as table points (n, 2) of a board lying flat, print up.

    `yaw_deg` is the direction of the print's left-to-right, from +x toward +z; its middle is at `centre_xz_m`.
    """
    points = np.asarray(points_m, dtype=np.float64)
    width_m, height_m = spec.size_m
    right, up = points[:, 0] - width_m / 2, height_m / 2 - points[:, 1]
    cos, sin = np.cos(np.deg2rad(yaw_deg)), np.sin(np.deg2rad(yaw_deg))
    return np.stack([centre_xz_m[0] + cos * right - sin * up, centre_xz_m[1] + sin * right + cos * up], axis=1)


def plane_from_board(
    lens: LensFit,
    seen: BoardSeen,
    spec: BoardSpec,
    centre_xz_m: tuple[float, float],
    yaw_deg: float,
    *,
    thickness_m: float = 0.0,
) -> PlaneFit:
    """The plane from one picture of the board lying flat at a known place; its print `thickness_m` over the table.

    Raises:
        CalibrationTooPoor: as in `plane_from_points`.
    """
    table = board_on_table_xz_m(seen.points_m, spec, centre_xz_m, yaw_deg)
    return plane_from_points(lens, table, seen.corners_px, height_y_m=thickness_m)


def plane_from_points(lens: LensFit, xz_m: ArrayLike, px: ArrayLike, *, height_y_m: float = 0.0) -> PlaneFit:
    """The plane from table points (n, 2) and the pixels (n, 2) that show them, all at one height.

    Raises:
        CalibrationTooPoor: fewer than six points, points nearly on a line, or left-out points more than 5 mm off.
    """
    table = np.asarray(xz_m, dtype=np.float64).reshape(-1, 2)
    pixels = np.asarray(px, dtype=np.float64).reshape(-1, 2)
    if len(table) != len(pixels):
        raise ValueError(f"{len(table)} table points for {len(pixels)} pixels")
    if len(table) < MIN_POINTS:
        raise CalibrationTooPoor(
            "plane",
            f"{len(table)} points, {MIN_POINTS} needed",
            next_step="show the whole board, or measure more points",
        )
    spread_m = float(np.sqrt(np.linalg.eigvalsh(np.cov(table.T))[0]))
    if spread_m < MIN_SPREAD_M:
        raise CalibrationTooPoor(
            "plane",
            f"the points lie nearly on a line or close together (spread {spread_m * 1000:.0f} mm)",
            next_step="spread the points over the table",
        )
    view = _pose(lens, table, pixels, height_y_m)
    rms_px = float(np.sqrt(np.mean(np.sum((view.table_to_pixel(table, height_y_m) - pixels) ** 2, axis=1))))
    off_px, off_mm = _held_out(lens, table, pixels, height_y_m)
    held_out_mm = float(np.sqrt(np.mean(off_mm**2)))
    if not held_out_mm < MAX_HELD_OUT_MM:
        raise CalibrationTooPoor(
            "plane",
            f"points left out of the fit are {held_out_mm:.1f} mm off (at most {MAX_HELD_OUT_MM:.0f} mm)",
            next_step="check the measured places, their order (x, z) and the board's yaw",
        )
    return PlaneFit(
        view=view,
        n_points=len(table),
        rms_px=rms_px,
        held_out_px=float(np.sqrt(np.mean(off_px**2))),
        held_out_mm=held_out_mm,
        worst_held_out_mm=float(off_mm.max()),
    )


def _pose(lens: LensFit, table: FloatArray, pixels: FloatArray, height_y_m: float) -> View:
    """The camera over the table from points on it: of the two mirrored answers the one that is above and fits."""
    points = np.column_stack([table, np.full(len(table), height_y_m)])
    middle = points.mean(axis=0)
    try:
        _, turns, shifts, _ = cv2.solvePnPGeneric(
            points - middle, pixels, lens.K, lens.distortion, flags=cv2.SOLVEPNP_IPPE
        )
    except cv2.error as error:
        raise CalibrationTooPoor(
            "plane", f"no camera pose fits ({error.err})", next_step="check the measured places"
        ) from error
    best: tuple[float, View] | None = None
    for first_turn, first_shift in zip(turns, shifts, strict=True):
        turn, shift = cv2.solvePnPRefineLM(points - middle, pixels, lens.K, lens.distortion, first_turn, first_shift)
        R = np.asarray(cv2.Rodrigues(turn)[0])
        view = View.make(lens.K, lens.distortion, R, np.asarray(shift).ravel() - R @ middle, lens.size_px)
        off = view.table_to_pixel(table, height_y_m) - pixels
        rms_px = float(np.sqrt(np.mean(np.sum(off**2, axis=1))))
        if view.camera_m[1] > height_y_m and np.isfinite(rms_px) and (best is None or rms_px < best[0]):
            best = rms_px, view
    if best is None:
        raise CalibrationTooPoor(
            "plane",
            "they put the camera below the table: the places are mirrored, or belong to other pixels",
            next_step="give points as (x, z) with x to the right and z forward, and look that the board lies print up",
        )
    return best[1]


def _held_out(lens: LensFit, table: FloatArray, pixels: FloatArray, height_y_m: float) -> tuple[FloatArray, FloatArray]:
    """Errors (px, mm) of every point from a fit that had not seen it, each third of the points left out in turn."""
    off_px, off_mm = np.empty(len(table)), np.empty(len(table))
    for fold in range(FOLDS):
        out = np.arange(len(table)) % FOLDS == fold
        view = _pose(lens, table[~out], pixels[~out], height_y_m)
        off_px[out] = np.linalg.norm(view.table_to_pixel(table[out], height_y_m) - pixels[out], axis=1)
        place = view.pixel_to_table_xz_m(pixels[out], height_y_m)
        off_mm[out] = np.linalg.norm(place - table[out], axis=1) * 1000.0
    return off_px, np.nan_to_num(off_mm, nan=np.inf)

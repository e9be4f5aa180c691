"""Calibration files `lens.json` and `plane.json`: when, from what, how good, and a hash of their content.

Written whole or not at all. A file that was edited, cut off or belongs to another lens is refused, never repaired.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from vision.calibration.drift import Mark
from vision.calibration.kept import FILE_VERSION, Kept, content_hash, load, now_text
from vision.calibration.lens import LensFit
from vision.calibration.plane import PlaneFit
from vision.calibration.view import View
from vision.errors import CalibrationUnreadable

LENS_FILE = "lens.json"
PLANE_FILE = "plane.json"

Row = tuple[float, float, float]
Matrix = tuple[Row, Row, Row]


class LensFile(Kept):
    """A calibrated lens: `K` 3×3 px, distortion (k1, k2, p1, p2, k3), and errors on pictures left out of the fit."""

    kind: Literal["lens"] = "lens"
    version: Literal[1] = FILE_VERSION
    size_px: tuple[int, int]
    K: Matrix
    distortion: tuple[float, float, float, float, float]
    n_views: int
    rms_px: float
    per_view_px: tuple[float, ...]
    held_out_px: float
    held_out_mm: float
    focal_sigma_percent: float
    tilt_spread_deg: float

    @classmethod
    def of(cls, fit: LensFit, *, source: str, made_at: str | None = None) -> Self:
        """The file of a fit; `source` says in words what pictures it came from."""
        return cls(
            made_at=made_at or now_text(),
            source=source,
            size_px=fit.size_px,
            K=_matrix(fit.K),
            distortion=_five(fit.distortion),
            n_views=len(fit.sources),
            rms_px=fit.rms_px,
            per_view_px=fit.per_view_px,
            held_out_px=fit.held_out_px,
            held_out_mm=fit.held_out_mm,
            focal_sigma_percent=fit.focal_sigma_percent,
            tilt_spread_deg=fit.tilt_spread_deg,
        )

    def lens(self) -> LensFit:
        """The lens as the plane's fit wants it."""
        return LensFit(
            K=np.array(self.K),
            distortion=np.array(self.distortion),
            size_px=self.size_px,
            rms_px=self.rms_px,
            per_view_px=self.per_view_px,
            held_out_px=self.held_out_px,
            held_out_mm=self.held_out_mm,
            focal_sigma_percent=self.focal_sigma_percent,
            tilt_spread_deg=self.tilt_spread_deg,
            sources=(self.source,) * self.n_views,
        )


class PlaneFile(Kept):
    """The camera over the table: pose (OpenCV's, points as (x, z, y)), and errors on points left out of the fit.

    `marks` are where fixed markers were seen, `scene` what all of the picture looked like (see `drift.scene_of`).
    """

    kind: Literal["plane"] = "plane"
    version: Literal[1] = FILE_VERSION
    lens_hash: str
    size_px: tuple[int, int]
    R_camera_cell: Matrix
    t_camera_cell_m: Row
    camera_m: Row
    H_table_pixel: Matrix
    n_points: int
    rms_px: float
    held_out_px: float
    held_out_mm: float
    worst_held_out_mm: float
    marks: tuple[Mark, ...] = ()
    scene: str | None = None

    @classmethod
    def of(
        cls,
        fit: PlaneFit,
        lens: LensFile,
        *,
        source: str,
        marks: tuple[Mark, ...] = (),
        scene: str | None = None,
        made_at: str | None = None,
    ) -> Self:
        """The file of a fit made with `lens`; `source` says in words what it came from."""
        return cls(
            made_at=made_at or now_text(),
            source=source,
            lens_hash=content_hash(lens),
            size_px=fit.view.size_px,
            R_camera_cell=_matrix(fit.view.R_camera_cell),
            t_camera_cell_m=_row(fit.view.t_camera_cell_m),
            camera_m=fit.view.camera_m,
            H_table_pixel=_matrix(fit.view.H_table_pixel),
            n_points=fit.n_points,
            rms_px=fit.rms_px,
            held_out_px=fit.held_out_px,
            held_out_mm=fit.held_out_mm,
            worst_held_out_mm=fit.worst_held_out_mm,
            marks=marks,
            scene=scene,
        )


def load_lens(folder: Path) -> LensFile:
    """The lens of a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return load(folder, LensFile, kind="lens")


def load_plane(folder: Path) -> PlaneFile:
    """The plane of a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return load(folder, PlaneFile, kind="plane")


def view_of(lens: LensFile, plane: PlaneFile, *, where: Path | str = "the calibration") -> View:
    """The view that lens and plane make together.

    Raises:
        CalibrationUnreadable: the plane was calibrated with another lens.
    """
    if plane.lens_hash != content_hash(lens) or plane.size_px != lens.size_px:
        raise CalibrationUnreadable(Path(where), "the plane was calibrated with another lens than this one")
    return View.make(lens.K, lens.distortion, plane.R_camera_cell, plane.t_camera_cell_m, lens.size_px)


def load_view(folder: Path) -> View:
    """The view of a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return view_of(load_lens(folder), load_plane(folder), where=folder)


def _row(values: Any) -> Row:
    x, y, z = np.asarray(values, dtype=np.float64).ravel().tolist()
    return (x, y, z)


def _matrix(values: Any) -> Matrix:
    a, b, c = (_row(row) for row in np.asarray(values, dtype=np.float64).reshape(3, 3))
    return (a, b, c)


def _five(values: Any) -> tuple[float, float, float, float, float]:
    padded = np.concatenate([np.asarray(values, dtype=np.float64).ravel(), np.zeros(5)])[:5].tolist()
    return (padded[0], padded[1], padded[2], padded[3], padded[4])

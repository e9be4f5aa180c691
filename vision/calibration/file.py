"""Calibration files `lens.json` and `plane.json`: when, from what, how good, and a hash of their content.

Written whole or not at all. A file that was edited, cut off or belongs to another lens is refused, never repaired.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

import numpy as np
from pydantic import ValidationError

from runs.files import write_atomic
from runs.schema.base import Record
from vision.calibration.drift import Mark
from vision.calibration.lens import LensFit
from vision.calibration.plane import PlaneFit
from vision.calibration.view import View
from vision.errors import CalibrationMissing, CalibrationUnreadable

FILE_VERSION: Final = 1
LENS_FILE = "lens.json"
PLANE_FILE = "plane.json"

Row = tuple[float, float, float]
Matrix = tuple[Row, Row, Row]


class LensFile(Record):
    """A calibrated lens: `K` 3×3 px, distortion (k1, k2, p1, p2, k3), and errors on pictures left out of the fit."""

    kind: Literal["lens"] = "lens"
    version: Literal[1] = FILE_VERSION
    made_at: str
    source: str
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
            made_at=made_at or datetime.now(UTC).isoformat(timespec="seconds"),
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


class PlaneFile(Record):
    """The camera over the table: pose (OpenCV's, points as (x, z, y)), and errors on points left out of the fit."""

    kind: Literal["plane"] = "plane"
    version: Literal[1] = FILE_VERSION
    made_at: str
    source: str
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

    @classmethod
    def of(
        cls, fit: PlaneFit, lens: LensFile, *, source: str, marks: tuple[Mark, ...] = (), made_at: str | None = None
    ) -> Self:
        """The file of a fit made with `lens`; `source` says in words what it came from."""
        return cls(
            made_at=made_at or datetime.now(UTC).isoformat(timespec="seconds"),
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
        )


F = TypeVar("F", LensFile, PlaneFile)


def content_hash(file: LensFile | PlaneFile) -> str:
    """SHA-256 (hex) of everything in the file."""
    return hashlib.sha256(_canonical(file.model_dump(mode="json"))).hexdigest()


def save(file: LensFile | PlaneFile, folder: Path) -> Path:
    """Write `lens.json` or `plane.json` into a calibration folder, whole or not at all; its path.

    What was there is kept in the folder's `archive/`, under the time it was replaced.
    """
    path = folder / (LENS_FILE if isinstance(file, LensFile) else PLANE_FILE)
    folder.mkdir(parents=True, exist_ok=True)
    if path.exists():
        kept = folder / "archive" / f"{path.stem}_{datetime.now(UTC):%Y%m%d_%H%M%S_%f}.json"
        kept.parent.mkdir(exist_ok=True)
        write_atomic(kept, path.read_bytes())
    content = {**file.model_dump(mode="json"), "content_hash": content_hash(file)}
    write_atomic(path, (json.dumps(content, indent=1) + "\n").encode())
    return path


def load_lens(folder: Path) -> LensFile:
    """The lens of a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return _load(folder / LENS_FILE, LensFile, "lens")


def load_plane(folder: Path) -> PlaneFile:
    """The plane of a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return _load(folder / PLANE_FILE, PlaneFile, "plane")


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


def _load(path: Path, model: type[F], kind: str) -> F:
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise CalibrationMissing(path, kind) from error
    except OSError as error:
        raise CalibrationUnreadable(path, error.strerror or str(error)) from error
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CalibrationUnreadable(path, "it is cut off or not JSON") from error
    if not isinstance(raw, dict):
        raise CalibrationUnreadable(path, "it holds no settings")
    if raw.get("kind") != kind:
        raise CalibrationUnreadable(path, f"it is of kind {raw.get('kind')!r}, not {kind!r}")
    version = raw.get("version")
    if isinstance(version, int) and version > FILE_VERSION:
        raise CalibrationUnreadable(path, f"it has version {version}, this program reads up to {FILE_VERSION}")
    stated = raw.pop("content_hash", None)
    try:
        file = model.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        first = error.errors()[0]
        raise CalibrationUnreadable(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if stated != content_hash(file):
        raise CalibrationUnreadable(path, "its content was changed after it was written")
    return file


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _row(values: Any) -> Row:
    x, y, z = np.asarray(values, dtype=np.float64).ravel().tolist()
    return (x, y, z)


def _matrix(values: Any) -> Matrix:
    a, b, c = (_row(row) for row in np.asarray(values, dtype=np.float64).reshape(3, 3))
    return (a, b, c)


def _five(values: Any) -> tuple[float, float, float, float, float]:
    padded = np.concatenate([np.asarray(values, dtype=np.float64).ravel(), np.zeros(5)])[:5].tolist()
    return (padded[0], padded[1], padded[2], padded[3], padded[4])

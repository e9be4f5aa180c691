"""The lens: focal length, centre and distortion, from pictures of a board held at different tilts.

The error it states is measured on corners of pictures that the fit had not seen. It refuses sets that can't determine a
lens: a board that lies flat in every picture gives a small residual and a focal length off by a third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.calibration.board import BoardSeen
from vision.errors import CalibrationTooPoor

FloatArray = NDArray[np.float64]

MIN_VIEWS = 8
FOLDS = 4
MIN_TILT_SPREAD_DEG = 10.0  # between the two board normals farthest apart
MAX_FOCAL_SIGMA_PERCENT = 1.5
MAX_HELD_OUT_PX = 1.5
FLAGS = (
    cv2.CALIB_FIX_K3 | cv2.CALIB_ZERO_TANGENT_DIST
)  # twelve views hold no more: tangential terms drift with the centre
_TRY_THIS = "show the board held at 15–40° to different sides, near and far, over the whole picture"


@dataclass(frozen=True, slots=True, eq=False)
class LensFit:
    """A lens and how good it is. `per_view_px`: RMS in each picture; held-out: of fits without that picture."""

    K: FloatArray
    distortion: FloatArray
    size_px: tuple[int, int]
    rms_px: float
    per_view_px: tuple[float, ...]
    held_out_px: float
    held_out_mm: float
    focal_sigma_percent: float
    tilt_spread_deg: float
    sources: tuple[str, ...]


def calibrate_lens(views: Sequence[BoardSeen], size_px: tuple[int, int]) -> LensFit:
    """Fit a lens to at least eight views of a board; pictures of `size_px` (width, height).

    Raises:
        CalibrationTooPoor: too few views, tilts too alike, focal length not determined, or held-out error too large.
    """
    if len(views) < MIN_VIEWS:
        raise CalibrationTooPoor("lens", f"{len(views)} views of the board, {MIN_VIEWS} needed", next_step=_TRY_THIS)
    rms_px, K, distortion, turns, sigmas, per_view = _fit(views, size_px)
    spread_deg = _tilt_spread_deg(turns)
    sigma_percent = float(100.0 * max(sigmas[0] / K[0, 0], sigmas[1] / K[1, 1]))
    if spread_deg < MIN_TILT_SPREAD_DEG:
        raise CalibrationTooPoor(
            "lens",
            f"the board has nearly the same tilt in all {len(views)} views (they differ by {spread_deg:.0f}°, at least "
            f"{MIN_TILT_SPREAD_DEG:.0f}° needed): a board lying flat can't calibrate a lens",
            next_step=_TRY_THIS,
        )
    if not sigma_percent < MAX_FOCAL_SIGMA_PERCENT:
        raise CalibrationTooPoor(
            "lens",
            f"the focal length is known to {sigma_percent:.1f} % only (at most {MAX_FOCAL_SIGMA_PERCENT} %)",
            next_step=_TRY_THIS,
        )
    held_out_px, held_out_mm = _held_out(views, size_px)
    if not held_out_px < MAX_HELD_OUT_PX:
        raise CalibrationTooPoor(
            "lens",
            f"corners of pictures left out of the fit are {held_out_px:.2f} px off (at most {MAX_HELD_OUT_PX} px)",
            next_step="leave out blurred pictures, and check that the board is stiff and its size is right",
        )
    return LensFit(
        K=K,
        distortion=distortion,
        size_px=size_px,
        rms_px=rms_px,
        per_view_px=per_view,
        held_out_px=held_out_px,
        held_out_mm=held_out_mm,
        focal_sigma_percent=sigma_percent,
        tilt_spread_deg=spread_deg,
        sources=tuple(view.source for view in views),
    )


def _fit(
    views: Sequence[BoardSeen], size_px: tuple[int, int]
) -> tuple[float, FloatArray, FloatArray, list[FloatArray], FloatArray, tuple[float, ...]]:
    points = [_flat(view.points_m) for view in views]
    pixels = [view.corners_px.astype(np.float32) for view in views]
    try:
        rms, K, distortion, turns, _, sigmas, _, per_view = cv2.calibrateCameraExtended(
            points, pixels, size_px, np.eye(3), np.zeros(5), flags=FLAGS
        )
    except cv2.error as error:
        raise CalibrationTooPoor("lens", f"the fit did not succeed ({error.err})", next_step=_TRY_THIS) from error
    return (
        float(rms),
        np.asarray(K, dtype=np.float64),
        np.asarray(distortion, dtype=np.float64).ravel()[:5],
        [np.asarray(cv2.Rodrigues(turn)[0]) for turn in turns],
        np.asarray(sigmas, dtype=np.float64).ravel(),
        tuple(float(e) for e in np.asarray(per_view).ravel()),
    )


def _flat(points_m: FloatArray) -> NDArray[np.float32]:
    return np.column_stack([points_m, np.zeros(len(points_m))]).astype(np.float32)


def _tilt_spread_deg(turns: Sequence[FloatArray]) -> float:
    """The largest angle between the normals of two boards, as the camera sees them."""
    normals = np.stack([turn[:, 2] for turn in turns])
    return float(np.rad2deg(np.arccos(np.clip(normals @ normals.T, -1, 1).min())))


def _held_out(views: Sequence[BoardSeen], size_px: tuple[int, int]) -> tuple[float, float]:
    """RMS error (px, mm at the board) on pictures left out of the fit, each left out once.

    In a left-out picture every second corner places the board; the error is measured on the others.
    """
    off_px: list[FloatArray] = []
    off_mm: list[FloatArray] = []
    for fold in range(FOLDS):
        rest = [view for i, view in enumerate(views) if i % FOLDS != fold]
        _, K, distortion, _, _, _ = _fit(rest, size_px)
        for view in list(views)[fold::FOLDS]:
            use, test = slice(0, None, 2), slice(1, None, 2)
            found, turn, shift = cv2.solvePnP(
                _flat(view.points_m[use]), np.ascontiguousarray(view.corners_px[use], dtype=np.float32), K, distortion
            )
            if not found:
                continue
            expected, _ = cv2.projectPoints(_flat(view.points_m[test]), turn, shift, K, distortion)
            px = np.linalg.norm(np.asarray(expected).reshape(-1, 2) - view.corners_px[test], axis=1)
            off_px.append(px)
            off_mm.append(px * float(shift[2, 0]) * 1000.0 / K[0, 0])
    if not off_px:
        raise CalibrationTooPoor("lens", "no left-out picture could be placed", next_step=_TRY_THIS)
    return tuple(float(np.sqrt(np.mean(np.concatenate(off) ** 2))) for off in (off_px, off_mm))  # type: ignore[return-value]

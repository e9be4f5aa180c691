"""A cube of known side laid over an outline seen in the picture, at any height over the table, with its uncertainty.

From above, a cube that lies higher looks larger: that is how a block on the rim, on another block or in the gripper is
told from one on the floor. Points of the outline that something nearer to the camera may have cut are left out by the
caller; what else does not fit loses its weight and is counted. It decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.calibration.view import View
from vision.detect.prism import distance_px, prism_corners_m, thinned

FloatArray = NDArray[np.float64]

EDGE_PX = 0.45  # how well the edge of a patch is known at best
CORRELATED = 4.0  # neighbouring points of an outline err together: so many count as one
CLOSE_PX = 1.5
_YAWS = 6
_YAW_STEP = np.pi / 2 / _YAWS
_LIKELY, _ROUGH_STEPS, _FINE_STEPS = 3, 6, 24
_DAMPING = 1e-5
_LEAST_INFORMATION = 1e-9  # of an eigenvalue, per square pixel
_OTHER_HEIGHTS_M = (0.0, 0.03, -0.03)  # where a face is barely seen the fit has more than one bottom
_STEPS = np.array([3e-4, 3e-4, 4e-3, 3e-3])  # metres, metres, radians, metres
_LARGEST = np.array([0.02, 0.02, 0.3, 0.04])
_HEIGHTS_M = (-0.04, 0.30)


@dataclass(frozen=True, slots=True, eq=False)
class CubeFit:
    """Where the cube stands: centre (x, z) m, yaw in degrees, height of its lowest face over the table, each ± 1 σ.

    `inliers` is the share of the outline that lies on the cube's silhouette `hull_px` (M, 2).
    """

    xz_m: tuple[float, float]
    yaw_deg: float
    height_mm: float
    xz_sigma_mm: float
    height_sigma_mm: float
    inliers: float
    rms_px: float
    hull_px: FloatArray


def fit_cube(
    outline_px: FloatArray,
    view: View,
    side_m: float,
    start_xz_m: tuple[float, float],
    *,
    height_m: float | None = None,
) -> CubeFit:
    """Lay a level cube over an outline (N, 2), from a place on the table up to 4 cm off.

    Args:
        height_m: of its lowest face, where that is known; then it is not fitted and its uncertainty is 0.
    """
    points = thinned(outline_px)
    size = (side_m, side_m, side_m)
    heights = (0.0, 0.05) if height_m is None else (height_m,)
    starts = np.array([[*start_xz_m, yaw, height] for height in heights for yaw in np.arange(_YAWS) * _YAW_STEP])
    n_free = 4 if height_m is None else 3
    costs = [_cost(points, hull) for hull in _hulls(view, starts, size)]
    likely = starts[np.argsort(costs)[:_LIKELY]]
    rough = [_drawn(points, view, size, start, n_free=3, steps=_ROUGH_STEPS)[0] for start in likely]
    costs = [_cost(points, hull) for hull in _hulls(view, np.array(rough), size)]
    best = rough[int(np.argmin(costs))]
    begun = [best] if height_m is not None else [_lifted(best, view, side_m, by_m) for by_m in _OTHER_HEIGHTS_M]
    drawn = [_drawn(points, view, size, start, n_free=n_free, steps=_FINE_STEPS) for start in begun]
    costs = [_cost(points, hull) for hull in _hulls(view, np.array([params for params, _ in drawn]), size)]
    params, information = drawn[int(np.argmin(costs))]
    hull = _hulls(view, params[None], size)[0]
    off = distance_px(points, hull)
    near = np.abs(off) <= 2 * CLOSE_PX
    rms_px = float(np.sqrt(np.mean(off[near] ** 2))) if near.any() else float("inf")
    spread_px = max(EDGE_PX, rms_px) if np.isfinite(rms_px) else 10.0
    covariance = _inverse(information) * spread_px**2 * CORRELATED
    return CubeFit(
        xz_m=(float(params[0]), float(params[1])),
        yaw_deg=float(np.rad2deg(params[2])),
        height_mm=float(params[3]) * 1000.0,
        xz_sigma_mm=float(np.sqrt(max(covariance[0, 0], covariance[1, 1]))) * 1000.0,
        height_sigma_mm=float(np.sqrt(covariance[3, 3])) * 1000.0 if n_free == 4 else 0.0,
        inliers=float(np.mean(np.abs(off) <= CLOSE_PX)),
        rms_px=rms_px,
        hull_px=hull,
    )


def _inverse(information: FloatArray) -> FloatArray:
    """The covariance per square pixel, never negative: what the outline says nothing about is as good as unknown."""
    values, vectors = np.linalg.eigh((information + information.T) / 2)
    out: FloatArray = (vectors / np.maximum(values, _LEAST_INFORMATION)) @ vectors.T
    return out


def _drawn(
    points: FloatArray, view: View, size_m: tuple[float, float, float], params: FloatArray, *, n_free: int, steps: int
) -> tuple[FloatArray, FloatArray]:
    """A cube drawn onto the points, and the information matrix (n_free, n_free) per square pixel where it ends."""
    information = np.eye(n_free)
    most = _LARGEST[:n_free]
    for step in range(steps):
        cut_px = CLOSE_PX * max(2.0, 8.0 * 0.7**step)
        trial = np.concatenate([params[None], params + np.diag(_STEPS)[:n_free]])
        residuals = [distance_px(points, hull) for hull in _hulls(view, trial, size_m)]
        now = residuals[0]
        J = np.stack([(r - now) / s for r, s in zip(residuals[1:], _STEPS[:n_free], strict=True)], axis=1)
        weight = np.clip(1 - (now / cut_px) ** 2, 0, 1) ** 2
        information = J.T @ (weight[:, None] * J)
        damped = information + _DAMPING * np.diag(np.diag(information) + 1e-6)
        delta = np.clip(-np.linalg.solve(damped, J.T @ (weight * now)), -most, most)
        params = params.copy()
        params[:n_free] += delta
        params[3] = float(np.clip(params[3], *_HEIGHTS_M))
        if np.abs(delta).max() < 3e-5:
            break
    return params, information


def _lifted(params: FloatArray, view: View, side_m: float, by_m: float) -> FloatArray:
    """The cube higher by so much, moved toward the camera so that its middle shows at the same pixel."""
    x, y, z = view.camera_m
    height_m = float(np.clip(params[3] + by_m, *_HEIGHTS_M))
    nearer = (y - height_m - side_m / 2) / (y - params[3] - side_m / 2)
    camera = np.array([x, z])
    return np.array([*(camera + (params[:2] - camera) * nearer), params[2], height_m])


def _cost(points: FloatArray, hull: FloatArray) -> float:
    return float(np.mean(np.minimum(np.abs(distance_px(points, hull)), 8 * CLOSE_PX)))


def _hulls(view: View, params: FloatArray, size_m: tuple[float, float, float]) -> list[FloatArray]:
    """Silhouettes of cubes at params (n, 4) = x, z, yaw (rad), height of the lowest face (m)."""
    standing = np.column_stack([params[:, :3], np.ones(len(params))])
    corners = prism_corners_m(standing, size_m)
    corners[..., 1] += params[:, 3, None]
    pixels = view.point_to_pixel(corners).astype(np.float32)
    return [cv2.convexHull(p, clockwise=False).reshape(-1, 2).astype(np.float64) for p in pixels]

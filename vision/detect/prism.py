"""A box-shaped body standing on the table, laid over an outline seen in the picture.

The silhouette of such a body is the hull of its eight projected corners; place, yaw and size are those whose hull runs
along the outline. Points that don't lie on it (an arm over the body, glare) lose their weight; how many are left is
reported, and nothing here decides whether that is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.calibration.view import View

FloatArray = NDArray[np.float64]

MAX_POINTS = 72
YAWS = 8
MIN_STEPS, MAX_STEPS = 4, 12  # the first ones reach far, for points well off
STEPS = np.array([3e-4, 3e-4, 4e-3, 5e-3])  # metres, metres, radians, share of the size: for the derivatives
_CORNERS = np.array([[i, j, k] for k in (0, 1) for i, j in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))])


@dataclass(frozen=True, slots=True, eq=False)
class PrismFit:
    """Where the body stands: centre (x, z) m, yaw in degrees of its first side from +x toward +z, size factor.

    `rms_px` over the points that count; `inliers` is their share of the outline; `hull_px` (M, 2) is the projected
    silhouette.
    """

    xz_m: tuple[float, float]
    yaw_deg: float
    scale: float
    rms_px: float
    inliers: float
    hull_px: FloatArray


def prism_corners_m(params: FloatArray, size_m: tuple[float, float, float]) -> FloatArray:
    """Corners (n, 8, 3) as (x, y, z) of bodies (n, 4) = x, z, yaw in radians, scale; four below, then four above."""
    body = _CORNERS * np.array(size_m)
    cos, sin = np.cos(params[:, 2, None]), np.sin(params[:, 2, None])
    along, across = body[:, 0] * params[:, 3, None], body[:, 1] * params[:, 3, None]
    x = params[:, 0, None] + cos * along - sin * across
    z = params[:, 1, None] + sin * along + cos * across
    y = body[:, 2] * params[:, 3, None]
    return np.stack([x, y, z], axis=-1)


def silhouettes_px(view: View, params: FloatArray, size_m: tuple[float, float, float]) -> list[FloatArray]:
    """The silhouettes of n bodies, each a convex polygon (M, 2) in px, clockwise on the screen."""
    pixels = view.point_to_pixel(prism_corners_m(params, size_m)).astype(np.float32)
    return [cv2.convexHull(p, clockwise=False).reshape(-1, 2).astype(np.float64) for p in pixels]


def distance_px(points_px: FloatArray, hull_px: FloatArray) -> FloatArray:
    """Signed distance (N,) of points to a convex polygon, positive outside; beyond a corner a little too small."""
    edge = np.roll(hull_px, -1, axis=0) - hull_px
    length = np.maximum(np.hypot(edge[:, 0], edge[:, 1]), 1e-9)
    normal = np.stack([edge[:, 1], -edge[:, 0]], axis=1) / length[:, None]
    if np.sum(normal * (hull_px - hull_px.mean(axis=0))) < 0:
        normal = -normal
    off = points_px @ normal.T - np.sum(normal * hull_px, axis=1)
    return np.asarray(off.max(axis=1), dtype=np.float64)


def thinned(outline_px: FloatArray, count: int = MAX_POINTS) -> FloatArray:
    """At most `count` points spread evenly over a closed outline."""
    if len(outline_px) <= count:
        return outline_px
    return np.asarray(outline_px[np.linspace(0, len(outline_px), count, endpoint=False).astype(int)], dtype=np.float64)


def fit_prism(
    outline_px: FloatArray,
    view: View,
    size_m: tuple[float, float, float],
    start_xz_m: tuple[float, float],
    *,
    free_size: bool,
    tolerance_px: float = 1.5,
) -> PrismFit:
    """Lay a body of `size_m` (along, across, height) over an outline (N, 2), starting from a place on the table.

    Args:
        free_size: fit one factor on all three lengths too; else they are taken as true.
        tolerance_px: how far a point may lie off the silhouette and still count as an inlier.
    """
    points = thinned(outline_px)
    period = np.pi / 2 if abs(size_m[0] - size_m[1]) < 1e-9 else np.pi
    starts = np.array([[start_xz_m[0], start_xz_m[1], yaw, 1.0] for yaw in np.arange(YAWS) * period / YAWS])
    hulls = silhouettes_px(view, starts, size_m)
    costs = [float(np.mean(np.minimum(np.abs(distance_px(points, hull)), 8 * tolerance_px))) for hull in hulls]
    params = starts[int(np.argmin(costs))]
    n_free = 4 if free_size else 3
    damping = 1e-3
    for step in range(MAX_STEPS):
        cut_px = tolerance_px * max(2.0, 8.0 * 0.6**step)
        trial = np.concatenate([params[None], params + np.diag(STEPS)[:n_free]])
        residuals = [distance_px(points, hull) for hull in silhouettes_px(view, trial, size_m)]
        now = residuals[0]
        J = np.stack([(r - now) / s for r, s in zip(residuals[1:], STEPS[:n_free], strict=True)], axis=1)
        weight = np.clip(1 - (now / cut_px) ** 2, 0, 1) ** 2
        A = J.T @ (weight[:, None] * J)
        delta = -np.linalg.solve(A + damping * np.diag(np.diag(A) + 1e-6), J.T @ (weight * now))
        delta = np.clip(delta, [-0.02, -0.02, -0.3, -0.2][:n_free], [0.02, 0.02, 0.3, 0.2][:n_free])
        params = params.copy()
        params[:n_free] += delta
        params[3] = float(np.clip(params[3], 0.3, 3.0))
        if step >= MIN_STEPS and np.abs(delta[:2]).max() < 1e-5 and abs(delta[2]) < 3e-4:
            break
    hull = silhouettes_px(view, params[None], size_m)[0]
    off = distance_px(points, hull)
    counts = np.abs(off) <= 2 * tolerance_px
    rms_px = float(np.sqrt(np.mean(off[counts] ** 2))) if counts.any() else float("inf")
    return PrismFit(
        xz_m=(float(params[0]), float(params[1])),
        yaw_deg=float(np.rad2deg(params[2])),
        scale=float(params[3]),
        rms_px=rms_px,
        inliers=float(np.mean(np.abs(off) <= tolerance_px)),
        hull_px=hull,
    )


def folded_deg(angle_deg: float, period_deg: float) -> float:
    """An angle taken into [−period/2, period/2)."""
    return (angle_deg + period_deg / 2) % period_deg - period_deg / 2

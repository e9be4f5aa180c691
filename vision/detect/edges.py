"""A box of known size found by the edges of its rim: whatever the table's colour, and with an arm over part of it.

A coarse search lays the rim over the strong edges of a shrunken picture at every place and yaw; the likeliest are then
drawn onto the edges of the full picture. The rim is a thin bright ring: its outer edge brightens inward and its inner
edge darkens, which tells them apart from each other and from shadows. Reports how much of the rim has its edge and
decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.blobs import shrink_for, shrunken
from vision.detect.prism import STEPS

FloatArray = NDArray[np.float64]
FloatMap = NDArray[np.float32]

GRID_M = 0.015
GRID_YAWS = 10
COARSE_POINTS = 6  # on each edge
FINE_POINTS = 14
BINS = 8  # edge directions that are kept apart, over a full turn: a slope points to the brighter side
NEAR_SHIFTS_M = np.arange(-3, 4) * 0.004
NEAR_TURNS_RAD = np.deg2rad(np.arange(-1, 2) * 3.0)
NEAR_KEPT = 3
SURE_SUPPORT = 0.8  # nothing but the box itself has its rim in so many places
REACHES_PX = (4, 4, 3, 2, 2)  # how far along its normal each sample looks for its edge, step by step
CLOSE_PX = 1.6
SIDES = ((0, 1), (1, 2), (2, 3), (3, 0))


@dataclass(frozen=True, slots=True)
class OpenBoxSize:
    """An open box: outer sides along and across, wall height and thickness, metres."""

    along_m: float
    across_m: float
    height_m: float
    wall_m: float

    @property
    def period_rad(self) -> float:
        """After which turn the box looks the same."""
        return float(np.pi / 2 if self.along_m == self.across_m else np.pi)


@dataclass(frozen=True, slots=True, eq=False)
class RimFit:
    """A box laid on its rim's edges: x, z (m), yaw (rad).

    `sides_m`: the outer sides as measured; `support`: the share of the rim that has its edges, the worse of the box's
    two directions weighing as much as the better; `rms_px`: of the distance where there is an edge.
    """

    params: FloatArray
    sides_m: tuple[float, float]
    support: float
    rms_px: float


def rim_samples(size: OpenBoxSize, per_edge: int) -> tuple[FloatArray, NDArray[np.int_]]:
    """Points (8·n, 3) as (along, across, up) in the box's axes: four outer edges of the rim, then four inner ones.

    The second array numbers each point's edge, 0…7; even edges run along, odd ones across.
    """
    at = (np.arange(per_edge) + 0.5) / per_edge
    points = []
    for inset in (0.0, size.wall_m):
        half = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
        corners = half * [size.along_m - 2 * inset, size.across_m - 2 * inset]
        for i, j in SIDES:
            flat = corners[i] + at[:, None] * (corners[j] - corners[i])
            points.append(np.column_stack([flat, np.full(per_edge, size.height_m)]))
    return np.concatenate(points), np.repeat(np.arange(8), per_edge)


def placed_px(view: View, params: FloatArray, points: FloatArray) -> FloatArray:
    """Where points (n, 3) of boxes at params (p, ≥3) = x, z, yaw appear: (p, n, 2) px."""
    cos, sin = np.cos(params[:, 2, None]), np.sin(params[:, 2, None])
    x = params[:, 0, None] + cos * points[:, 0] - sin * points[:, 1]
    z = params[:, 1, None] + sin * points[:, 0] + cos * points[:, 1]
    return view.point_to_pixel(np.stack([x, np.broadcast_to(points[:, 2], x.shape), z], axis=-1))


def _normals(px: FloatArray, per_edge: int) -> FloatArray:
    """Unit normals (p, n, 2), pointing into the box, of edges sampled in px (p, n, 2)."""
    edges = px.reshape(len(px), -1, per_edge, 2)
    along = edges[:, :, -1] - edges[:, :, 0]
    normal = np.stack([-along[..., 1], along[..., 0]], axis=-1)
    inward = px.mean(axis=1)[:, None] - edges.mean(axis=2)
    normal *= np.sign(np.sum(normal * inward, axis=-1, keepdims=True))
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-9)
    return np.repeat(normal, per_edge, axis=1)


def _slopes(grey: NDArray[np.uint8]) -> tuple[FloatMap, FloatMap]:
    """Slopes along u and v, grey levels a pixel."""
    smooth = cv2.GaussianBlur(grey, (3, 3), 0)
    gu = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=3, scale=1 / 8)
    gv = cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=3, scale=1 / 8)
    return np.asarray(gu, dtype=np.float32), np.asarray(gv, dtype=np.float32)


def _bin_of(gu: NDArray[Any], gv: NDArray[Any]) -> NDArray[np.int64]:
    """Which of the eight directions a slope points in."""
    return np.asarray(np.round(np.arctan2(gv, gu) / (2 * np.pi / BINS)), dtype=np.int64) % BINS


@lru_cache(maxsize=8)
def _templates(
    view: View, size: OpenBoxSize, shrink: int
) -> tuple[FloatArray, tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """All places and yaws (n, 3) with the rim wholly in the picture, and where their samples look in the nearness.

    The samples come in two halves, every other one in each.
    """
    w, h = view.size_px
    border = np.concatenate([np.linspace([0, 0], [w, 0], 9), np.linspace([0, h], [w, h], 9)])
    ground = view.pixel_to_table_xz_m(border, size.height_m)
    ground = ground[np.isfinite(ground).all(axis=1)]
    ground = ground[np.hypot(*(ground - np.array(view.camera_m)[[0, 2]]).T) < 3.0 * view.camera_m[1]]
    points, _ = rim_samples(size, COARSE_POINTS)
    points = points[: 4 * COARSE_POINTS]
    if len(ground) < 2:
        return np.zeros((0, 3)), (np.zeros((0, 1), np.int32), np.zeros((0, 1), np.int32))
    (x0, z0), (x1, z1) = ground.min(axis=0), ground.max(axis=0)
    yaws = np.arange(GRID_YAWS) * size.period_rad / GRID_YAWS
    grid = np.meshgrid(np.arange(x0, x1, GRID_M), np.arange(z0, z1, GRID_M), yaws, indexing="ij")
    params = np.stack([g.ravel() for g in grid], axis=1)
    px = placed_px(view, params, points)
    inside = view.sees(px, margin_px=3.0).all(axis=1)
    params, px = params[inside], px[inside]
    normal = _normals(px, COARSE_POINTS)
    small_w, small_h = w // shrink, h // shrink
    u = np.clip((px[..., 0] / shrink).astype(np.int32), 0, small_w - 1)
    v = np.clip((px[..., 1] / shrink).astype(np.int32), 0, small_h - 1)
    where = ((_bin_of(normal[..., 0], normal[..., 1]) * small_h + v) * small_w + u).astype(np.int32)
    return params, (np.ascontiguousarray(where[:, ::2]), np.ascontiguousarray(where[:, 1::2]))


def search(image_bgr: Picture, view: View, size: OpenBoxSize, *, keep: int = 4) -> list[FloatArray]:
    """Where a box may stand: up to `keep` parameters (x, z, yaw), the likeliest first, at least 4 cm apart."""
    shrink = shrink_for(view.size_px)
    params, where = _templates(view, size, shrink)
    if not len(params):
        return []
    grey = shrunken(np.asarray(cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8), shrink)
    gu, gv = _slopes(grey)
    strength = np.hypot(gu, gv)
    floor = max(3.0, float(np.percentile(strength[::2, ::2], 88)))
    near = _nearness(gu, gv, strength > floor).ravel()
    rough = near[where[0]].sum(axis=1, dtype=np.int32)
    likely = np.argpartition(-rough, min(len(rough) - 1, len(rough) // 5))[: len(rough) // 5 + 1]
    costs = -near[where[1][likely]].sum(axis=1, dtype=np.int32) - rough[likely]
    params = params[likely]
    found: list[FloatArray] = []
    most = min(keep * 60, len(costs))
    best = np.argpartition(costs, most - 1)[:most]
    for index in best[np.argsort(costs[best])]:
        if all(np.hypot(*(params[index] - other)[:2]) > 0.04 for other in found):
            found.append(params[index])
            if len(found) == keep:
                break
    return found


def _nearness(gu: FloatMap, gv: FloatMap, strong: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """For each direction how near every pixel is to a strong edge of about that direction: 0 far … 255 upon it."""
    direction = np.where(strong, _bin_of(gu, gv), -1)
    masks = [(direction == k).astype(np.uint8) for k in range(BINS)]
    near = np.empty((BINS, *gu.shape), np.uint8)
    for k in range(BINS):
        mask = 255 * (masks[k] | masks[(k + 1) % BINS] | masks[(k - 1) % BINS])
        thick = cv2.dilate(mask, np.ones((3, 3), np.uint8))
        near[k] = cv2.blur(cv2.dilate(thick, np.ones((3, 3), np.uint8)), (7, 7))
    return near


def align(image_bgr: Picture, view: View, start: FloatArray, size: OpenBoxSize) -> RimFit:
    """Draw a box onto the edges of its rim, from parameters (x, z, yaw) up to 15 mm and 6° off."""
    points, _ = rim_samples(size, FINE_POINTS)
    here = placed_px(view, start[None], points)[0]
    margin = round(16.0 / view.mm_per_px(start[:2], size.height_m)) + 8
    low = np.maximum(np.floor(here.min(axis=0)).astype(int) - margin, 0)
    high = np.minimum(np.ceil(here.max(axis=0)).astype(int) + margin, np.array(view.size_px))
    window = np.ascontiguousarray(image_bgr[low[1] : high[1], low[0] : high[0]])
    gu, gv = _slopes(np.asarray(cv2.cvtColor(window, cv2.COLOR_BGR2GRAY), dtype=np.uint8))
    slopes = _Slopes(gu, gv, max(2.0, 2.0 * float(np.median(np.hypot(gu, gv)))), low)
    best: RimFit | None = None
    for params in _nearby(slopes, view, start, size):
        fit = _drawn(slopes, view, params, size)
        if best is None or fit.support > best.support:
            best = fit
        if best.support > SURE_SUPPORT:
            break
    assert best is not None
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Slopes:
    """Slopes in a window of the picture, the strength from which one is an edge, and where the window lies."""

    gu: FloatMap
    gv: FloatMap
    floor: float
    corner: NDArray[np.int_]


def _drawn(slopes: _Slopes, view: View, params: FloatArray, size: OpenBoxSize) -> RimFit:
    """The box drawn onto the edges within a few pixels of its rim."""
    points, edge = rim_samples(size, FINE_POINTS)
    sign = np.where(edge < 4, 1.0, -1.0)
    for reach in (*REACHES_PX, 0):
        trial = np.concatenate([params[None], params + np.diag(STEPS)[:3, :3]])
        px = placed_px(view, trial, points)
        normal = _normals(px[:1], FINE_POINTS)[0]
        look = max(reach, 3)
        offset, strength = _nearest_edge(slopes, px[0] - slopes.corner, normal, sign, look)
        seen = strength > slopes.floor
        if reach == 0:
            break
        J = np.stack([np.sum((p - px[0]) * normal, axis=1) / s for p, s in zip(px[1:], STEPS[:3], strict=True)])
        weight = seen * np.clip(1 - (offset / (look + 1)) ** 2, 0, 1) ** 2
        weight = weight * np.minimum(strength / (3 * slopes.floor), 1.0)
        A = (J * weight) @ J.T
        delta = np.linalg.solve(A + 1e-3 * np.diag(np.diag(A) + 1e-6), (J * weight) @ offset)
        params = params + np.clip(delta, [-0.008, -0.008, -0.1], [0.008, 0.008, 0.1])
    close = seen & (np.abs(offset) <= CLOSE_PX)
    share = np.array([np.mean(close[edge == k]) for k in range(8)])
    support = np.sqrt(share[::2].mean() * share[1::2].mean())
    rms_px = float(np.sqrt(np.mean(offset[close] ** 2))) if close.any() else float("inf")
    return RimFit(
        params=params,
        sides_m=_measured_sides(view, params, size, points, px[0], normal, offset, close),
        support=float(support),
        rms_px=rms_px,
    )


def _measured_sides(
    view: View,
    params: FloatArray,
    size: OpenBoxSize,
    points: FloatArray,
    px: FloatArray,
    normal: FloatArray,
    offset: FloatArray,
    close: NDArray[np.bool_],
) -> tuple[float, float]:
    """The outer sides that fit the edges best, place and yaw free: one linear step from the size that was asked for."""
    moved = [placed_px(view, (params + d)[None], points)[0] for d in np.diag(STEPS)[:3, :3]]
    wider = [placed_px(view, params[None], points * f)[0] for f in ((1.01, 1, 1), (1, 1.01, 1))]
    steps = [*STEPS[:3], 0.01, 0.01]
    J = np.stack([np.sum((p - px) * normal, axis=1) / s for p, s in zip(moved + wider, steps, strict=True)])
    A = (J * close) @ J.T
    delta = np.linalg.solve(A + 1e-6 * np.diag(np.diag(A) + 1e-6), (J * close) @ offset)
    return size.along_m * (1 + float(delta[3])), size.across_m * (1 + float(delta[4]))


def _nearby(slopes: _Slopes, view: View, start: FloatArray, size: OpenBoxSize) -> list[FloatArray]:
    """The start moved to where most of its rim lies on strong edges of its own direction: the best few places."""
    grid = np.meshgrid(NEAR_SHIFTS_M, NEAR_SHIFTS_M, NEAR_TURNS_RAD, indexing="ij")
    params = start + np.stack([g.ravel() for g in grid], axis=1)
    points, edge = rim_samples(size, COARSE_POINTS)
    px = placed_px(view, params, points)
    normal = _normals(px, COARSE_POINTS) * np.where(edge < 4, 1.0, -1.0)[:, None]
    h, w = slopes.gu.shape
    u = np.clip(np.round(px[..., 0] - slopes.corner[0]).astype(np.int64), 0, w - 1)
    v = np.clip(np.round(px[..., 1] - slopes.corner[1]).astype(np.int64), 0, h - 1)
    where = (_bin_of(normal[..., 0], normal[..., 1]) * h + v) * w + u
    strong = np.hypot(slopes.gu, slopes.gv) > 1.5 * slopes.floor
    costs = -_nearness(slopes.gu, slopes.gv, strong).ravel()[where].mean(axis=1)
    best: list[FloatArray] = []
    for index in np.argsort(costs)[:60]:
        if all(np.hypot(*(params[index] - other)[:2]) > 0.0065 for other in best):
            best.append(params[index])
            if len(best) == NEAR_KEPT:
                break
    return best


def _nearest_edge(
    slopes: _Slopes, at: FloatArray, normal: FloatArray, sign: FloatArray, reach: int
) -> tuple[FloatArray, FloatArray]:
    """For each sample the offset along its normal to the edge that is strong and near, and that edge's slope.

    `sign` 1: only edges that brighten along the normal; −1: only those that darken.
    """
    steps = np.arange(-reach, reach + 1)
    where = at[:, None] + steps[None, :, None] * normal[:, None]
    map_u, map_v = where[..., 0].astype(np.float32), where[..., 1].astype(np.float32)
    slope_u = cv2.remap(slopes.gu, map_u, map_v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    slope_v = cv2.remap(slopes.gv, map_u, map_v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    slope = (slope_u * normal[:, :1] + slope_v * normal[:, 1:]).astype(np.float64)
    slope = np.maximum(slope * sign[:, None], 0.0)
    weighed = slope * (1 - 0.6 * (np.abs(steps) / (reach + 1)))
    best = np.clip(np.argmax(weighed, axis=1), 1, 2 * reach - 1)
    rows = np.arange(len(at))
    left, middle, right = (slope[rows, best + d] for d in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.where(bend < -1e-9, np.clip(0.5 * (left - right) / np.where(bend < -1e-9, bend, -1.0), -1, 1), 0.0)
    return steps[best] + shift, middle

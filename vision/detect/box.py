"""Finds the pale open box: centre, yaw, size, the polygon inside its walls, and a score from 0 to 1.

With a view a box of the measured size is laid over the edges of its rim; the score is how much of the rim is seen, so
that an arm over part of it lowers the score before it moves the answer. Without a view a pale four-sided patch is
taken, in pixels. A box whose score is below the limit is dropped with the reason, never returned.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from runs.schema.detection import BoxDetection, Dropped
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.blobs import Blob, balanced, find_blobs, white_gains
from vision.detect.colour import MODELS, colour_map
from vision.detect.edges import SURE_SUPPORT, OpenBoxSize, RimFit, align, placed_px, rim_samples, search
from vision.detect.prism import folded_deg
from vision.detect.protocol import DetectSettings, Found, check_fits

FloatArray = NDArray[np.float64]

NO_SUPPORT = 0.35  # other things have this share of a rim's edges at times
FULL_SUPPORT = 0.70
MIN_PALE = 0.25  # how pale the rim's top must be, of what is palest in the picture
MIN_SIDE_PX = 30.0  # without a view
MAX_PATCHES = 6
FLAT_SIDE_PX = 96  # a patch is looked into at this size
WALL_LEVELS = 4.0  # grey levels by which a wall inside differs from its rim or floor
MIN_WALLS = 3
MAX_INK = 0.06  # share of the inside darker than half the rim: print, tags, things


def find_box(image_bgr: Picture, view: View | None, settings: DetectSettings) -> Found[BoxDetection]:
    """Pale open boxes in one picture, best first; with a view at most one.

    Args:
        image_bgr: (h, w, 3) uint8; of the size that `view` was calibrated for.
        view: the calibrated camera, or None for pixels only.
    Raises:
        WrongPictureSize: picture and view don't belong together.
    """
    check_fits(image_bgr, view)
    return _in_pixels(image_bgr, settings) if view is None else _on_table(image_bgr, view, settings)


def _on_table(image_bgr: Picture, view: View, settings: DetectSettings) -> Found[BoxDetection]:
    size = _size_of(settings)
    best: RimFit | None = None
    for start in search(image_bgr, view, size):
        fit = align(image_bgr, view, start, size)
        if best is None or fit.support > best.support:
            best = fit
        if best.support > SURE_SUPPORT:
            break
    if best is None:
        return _none((0.0, 0.0), "no place in the picture could hold the whole box", 0.0)
    rim = placed_px(view, best.params[None], rim_samples(size, 12)[0])[0]
    centre = (float(rim[:, 0].mean()), float(rim[:, 1].mean()))
    area_px = float(cv2.contourArea(cv2.convexHull(rim.astype(np.float32))))
    x_m, z_m = float(best.params[0]), float(best.params[1])
    if settings.region is not None and not settings.region.holds(x_m, z_m):
        return _none(centre, f"outside the region: ({x_m:.3f}, {z_m:.3f}) m", area_px)
    if not view.sees(rim, margin_px=1.0).all():
        return _none(centre, "cut by the picture's edge", area_px)
    pale = _paleness(image_bgr, view, best, size)
    if pale < MIN_PALE:
        return _none(centre, f"not pale: {pale:.2f} where {MIN_PALE:.2f} is wanted", area_px)
    score = _score(best, pale)
    if score < settings.score_limit:
        why = f"score {score:.2f} below {settings.score_limit:.2f}: {best.support:.0%} of the rim's edges are seen"
        return _none(centre, why, area_px)
    box = _as_box(best, view, settings, size, score)
    return Found(best=box, accepted=(box,), dropped=())


def _none(centre_px: tuple[float, float], reason: str, area_px: float) -> Found[BoxDetection]:
    dropped = Dropped(what="box", centre_px=centre_px, area_px=round(area_px, 1), reason=reason)
    return Found(best=None, accepted=(), dropped=(dropped,))


def _size_of(settings: DetectSettings) -> OpenBoxSize:
    along_mm, across_mm = settings.box_outer_mm
    return OpenBoxSize(
        along_mm / 1000.0, across_mm / 1000.0, settings.box_wall_height_mm / 1000.0, settings.box_wall_mm / 1000.0
    )


def _paleness(image_bgr: Picture, view: View, fit: RimFit, size: OpenBoxSize) -> float:
    """How white the top of the rim is, 0…1, where the brightest of the picture counts as white: the better half's."""
    inset = size.wall_m / 2
    narrower = OpenBoxSize(size.along_m - 2 * inset, size.across_m - 2 * inset, size.height_m, 0.0)
    points = rim_samples(narrower, 15)[0][:60]
    at = placed_px(view, fit.params[None], points)[0].astype(np.float32)
    colours = cv2.remap(image_bgr, at[None, :, 0], at[None, :, 1], cv2.INTER_LINEAR)
    whites = balanced(np.asarray(colours, dtype=np.uint8), white_gains(image_bgr[::4, ::4]))
    return float(np.percentile(colour_map(whites, MODELS["white"]), 70)) / 255


def _score(fit: RimFit, pale: float) -> float:
    seen = float(np.clip((fit.support - NO_SUPPORT) / (FULL_SUPPORT - NO_SUPPORT), 0, 1))
    close = float(np.clip((1.5 - fit.rms_px) / 0.8, 0, 1))
    return float(seen * close**0.5 * min(pale / 0.5, 1.0) ** 0.25)


def _as_box(fit: RimFit, view: View, settings: DetectSettings, size: OpenBoxSize, score: float) -> BoxDetection:
    x_m, z_m, yaw_rad = fit.params[:3].tolist()
    wall_m = size.wall_m
    rim = _rectangle_xz_m(fit, size.along_m, size.across_m)
    inside = _rectangle_xz_m(fit, size.along_m - 2 * wall_m, size.across_m - 2 * wall_m)
    centre = view.table_to_pixel((x_m, z_m), size.height_m / 2)
    return BoxDetection(
        centre_px=(float(centre[0]), float(centre[1])),
        corners_px=_pixels(view.table_to_pixel(rim, size.height_m)),
        inside_px=_pixels(view.table_to_pixel(inside, size.height_m)),
        score=min(score, 1.0),
        touches_border=False,
        xz_m=(x_m, z_m),
        yaw_deg=folded_deg(float(np.rad2deg(yaw_rad)), float(np.rad2deg(size.period_rad))),
        size_mm=(fit.sides_m[0] * 1000.0, fit.sides_m[1] * 1000.0),
        inside_xz_m=tuple((float(x), float(z)) for x, z in inside),
    )


def _rectangle_xz_m(fit: RimFit, along_m: float, across_m: float) -> FloatArray:
    """Corners (4, 2) of a rectangle about the box's middle, turned like it."""
    yaw = float(fit.params[2])
    half = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * [along_m, across_m]
    turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    return np.asarray(half @ turn + fit.params[:2], dtype=np.float64)


def _pixels(points: FloatArray) -> tuple[tuple[float, float], ...]:
    return tuple((float(u), float(v)) for u, v in points)


def _in_pixels(image_bgr: Picture, settings: DetectSettings) -> Found[BoxDetection]:
    accepted: list[BoxDetection] = []
    dropped: list[Dropped] = []
    for blob in find_blobs(image_bgr, MODELS["white"], balance=True)[:MAX_PATCHES]:
        answer = _patch_as_box(image_bgr, blob, settings)
        if isinstance(answer, str):
            dropped.append(Dropped(what="box", centre_px=blob.centre_px, area_px=round(blob.area_px, 1), reason=answer))
        else:
            accepted.append(answer)
    accepted.sort(key=lambda box: -box.score)
    return Found(best=accepted[0] if accepted else None, accepted=tuple(accepted), dropped=tuple(dropped))


def _patch_as_box(image_bgr: Picture, blob: Blob, settings: DetectSettings) -> BoxDetection | str:
    """The patch as a pale, four-sided, hollow thing of unknown size, or what speaks against that."""
    _, (long_px, short_px), _ = blob.rectangle
    if short_px < MIN_SIDE_PX:
        return f"too small: {long_px:.0f}×{short_px:.0f} px"
    if long_px > 2.5 * short_px:
        return f"long and thin: {long_px / short_px:.1f} times as long as wide"
    if blob.solidity < 0.8:
        return f"ragged or several things in one: fills {blob.solidity:.0%} of its outline"
    hull = blob.hull_px.astype(np.float32).reshape(-1, 1, 2)
    corners = blob.hull_px
    if len(corners) > 4:
        corners = np.asarray(cv2.approxPolyN(hull, 4, None, -1.0, True), dtype=np.float64).reshape(-1, 2)
    square = blob.area_px / max(float(cv2.contourArea(corners.astype(np.float32))), 1e-9)
    if blob.touches_border:
        return "cut by the picture's edge"
    walls, ink = _inside_of(image_bgr, _in_turn(corners))
    if ink > MAX_INK:
        return f"printed, or something dark lies in it: {ink:.0%} is dark"
    if walls < MIN_WALLS:
        return f"flat: {walls} of 4 sides show a wall inside"
    shape = float(np.clip((square - 0.7) / 0.25, 0, 1)) * float(np.clip((blob.solidity - 0.7) / 0.25, 0, 1))
    score = shape**0.5 * float(np.clip(blob.contrast / 0.4, 0, 1)) ** 0.5
    if score < settings.score_limit:
        return f"score {score:.2f} below {settings.score_limit:.2f}: {square:.0%} of the four-sided outline is pale"
    inside = blob.centre_px + (corners - blob.centre_px) * (1 - 2 * settings.box_wall_mm / min(settings.box_outer_mm))
    return BoxDetection(
        centre_px=blob.centre_px,
        corners_px=_pixels(corners),
        inside_px=_pixels(inside),
        score=min(score, 1.0),
        touches_border=False,
    )


def _in_turn(corners_px: FloatArray) -> FloatArray:
    """Four corners in order round their middle."""
    off = corners_px - corners_px.mean(axis=0)
    return corners_px[np.argsort(np.arctan2(off[:, 1], off[:, 0]))]


def _inside_of(image_bgr: Picture, corners_px: FloatArray) -> tuple[int, float]:
    """Of how many sides a wall is seen inside a four-sided patch, and how much of the inside is dark.

    A wall shows as an edge that runs along the side, a little way in: a sheet of paper has none.
    """
    n = FLAT_SIDE_PX
    flat = np.array([[0, 0], [n - 1, 0], [n - 1, n - 1], [0, n - 1]], dtype=np.float32)
    if len(corners_px) != 4:
        return 0, 1.0
    H = cv2.getPerspectiveTransform(corners_px.astype(np.float32), flat)
    square = cv2.cvtColor(cv2.warpPerspective(image_bgr, H, (n, n), flags=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    grey = square.astype(np.float64)
    middle = slice(n // 5, n - n // 5)
    walls = 0
    for side in range(4):
        inward = np.median(np.rot90(grey, side)[: n // 3, middle], axis=1)  # grey level by distance from the side
        steps = np.abs(inward[4:] - inward[:-4])[2:]
        walls += bool(steps.max() > WALL_LEVELS)
    bright = float(np.percentile(grey, 90))
    return walls, float(np.mean(grey[n // 12 : -(n // 12), n // 12 : -(n // 12)] < 0.5 * bright))

"""Finds the coloured block: where it stands, how it is turned, how large it is, how sure that is.

With a view a cube's silhouette is laid over the blob and sizes are checked in millimetres; without one there are pixels
only. Blobs that are cut by the picture's edge, hidden in part, round, thin, of the wrong size or outside the region are
dropped with the reason; there is no best guess among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from runs.schema.detection import BlockDetection, Dropped
from runs.schema.geometry import Pixel
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.blobs import Blob, find_blobs
from vision.detect.colour import colour_model
from vision.detect.prism import PrismFit, fit_prism, folded_deg
from vision.detect.protocol import BLOCK_SIDE_RANGE_MM, DetectSettings, Found, check_fits

MIN_SIDE_PX = 14.0  # a smaller patch has no centre or angle worth the name
MAX_SHARE = 0.30  # of the picture
MAX_ASPECT = 2.8  # one face of a cube, seen from the side, is no longer than this
MAX_BAR_ASPECT = 8.0  # straight bars may be this long, without a view
MIN_SOLIDITY = 0.75
MIN_SOLIDITY_ON_TABLE = 0.55  # there the cube's silhouette decides
MIN_CONTRAST = 0.27
MIN_STRENGTH = 1.04  # of the weight from which a pixel is surely of the colour
ROUND_ABOVE = 0.86  # share of the smallest circle that a patch fills: a cube's silhouette has at most 0.83
MIN_INLIERS = 0.55
GOOD_RMS_PX = 0.7
POOR_RMS_PX = 2.2


@dataclass(frozen=True, slots=True)
class _Rejected:
    reason: str


def find_block(image_bgr: Picture, view: View | None, settings: DetectSettings) -> Found[BlockDetection]:
    """Blocks of the wanted colour in one picture, best first.

    Args:
        image_bgr: (h, w, 3) uint8; of the size that `view` was calibrated for.
        view: the calibrated camera, or None for pixels only.
    Raises:
        WrongPictureSize: picture and view don't belong together.
        UnknownColour: the settings name a colour that isn't known.
    """
    check_fits(image_bgr, view)
    model = colour_model(settings.colour, settings.learned)
    accepted: list[BlockDetection] = []
    dropped: list[Dropped] = []
    blobs = find_blobs(image_bgr, model)
    picture_px = float(image_bgr.shape[0] * image_bgr.shape[1])
    for blob in blobs:
        answer: BlockDetection | _Rejected = _Rejected("fills much of the picture")
        if blob.area_px < MAX_SHARE * picture_px:
            answer = _judge(blob, blobs, model.core, view, settings)
        if isinstance(answer, _Rejected):
            dropped.append(
                Dropped(what="block", centre_px=blob.centre_px, area_px=round(blob.area_px, 1), reason=answer.reason)
            )
        else:
            accepted.append(answer)
    accepted.sort(key=lambda block: -block.score)
    return Found(best=accepted[0] if accepted else None, accepted=tuple(accepted), dropped=tuple(dropped))


def _judge(
    blob: Blob, blobs: list[Blob], core: float, view: View | None, settings: DetectSettings
) -> BlockDetection | _Rejected:
    reason = _speaks_against(blob, core, MIN_SOLIDITY if view is None else MIN_SOLIDITY_ON_TABLE)
    if reason is None and any(_continues(blob, other) for other in blobs if other is not blob):
        reason = "part of something longer of the same colour"
    if reason is not None:
        return _Rejected(reason)
    return _in_pixels(blob, settings) if view is None else _on_table(blob, view, settings)


def _speaks_against(blob: Blob, core: float, min_solidity: float) -> str | None:
    """What rules a blob out as a block whatever the scale, or None."""
    _, (long_px, short_px), _ = blob.rectangle
    if short_px < MIN_SIDE_PX:
        return f"too small: {long_px:.0f}×{short_px:.0f} px"
    if blob.strength < MIN_STRENGTH * core:
        return f"hardly of the colour: {blob.strength:.2f} (at least {MIN_STRENGTH * core:.2f})"
    if blob.contrast < MIN_CONTRAST:
        return f"hardly differs from what is round it: contrast {blob.contrast:.2f} (at least {MIN_CONTRAST:.2f})"
    if blob.solidity < min_solidity:
        return f"ragged or several things in one: fills {blob.solidity:.0%} of its outline"
    _, radius = cv2.minEnclosingCircle(blob.hull_px.astype(np.float32))
    if blob.area_px / (np.pi * radius**2) > ROUND_ABOVE:
        return "round, not a block"
    aspect, fill = long_px / short_px, blob.area_px / (long_px * short_px)
    if aspect > MAX_BAR_ASPECT or (aspect > MAX_ASPECT and (fill < 0.75 or blob.solidity < 0.94)):
        return f"long and thin: {aspect:.1f} times as long as wide"
    return None


def _continues(blob: Blob, other: Blob) -> bool:
    """Whether another patch carries this one on in the same line and width, as the parts of a pen do."""
    _, (long_px, short_px), _ = blob.rectangle
    both = cv2.minAreaRect(np.concatenate([blob.hull_px, other.hull_px]).astype(np.float32))
    width, length = sorted(both[1])
    _, (other_long, other_short), _ = other.rectangle
    gap_px = length - long_px - other_long
    alike = 0.6 < other_short / short_px < 1.7
    return alike and length > 3 * width and width < 1.25 * max(short_px, other_short) and gap_px < long_px


def _in_pixels(blob: Blob, settings: DetectSettings) -> BlockDetection | _Rejected:
    """The blob as a block of unknown size, from its own outline."""
    _, (long_px, short_px), angle_deg = blob.rectangle
    shape = float(np.clip((blob.solidity - 0.6) / 0.35, 0, 1))
    colour = float(np.clip(blob.contrast / 0.6, 0, 1))
    long_side = float(np.clip(1.15 - 0.06 * long_px / short_px, 0.6, 1))
    score = shape**0.5 * colour**0.5 * long_side * (0.75 if blob.touches_border else 1.0)
    if score < settings.score_limit:
        return _Rejected(f"score {score:.2f} below {settings.score_limit:.2f}")
    box = cv2.boxPoints(blob.rectangle)
    return BlockDetection(
        centre_px=blob.centre_px,
        angle_px_deg=folded_deg(angle_deg, 90.0) if long_px / short_px < 1.3 else angle_deg,
        size_px=(long_px, short_px),
        outline_px=tuple((float(u), float(v)) for u, v in box),
        score=min(score, 1.0),
        colour=_colour_name(settings),
        touches_border=blob.touches_border,
    )


def _on_table(blob: Blob, view: View, settings: DetectSettings) -> BlockDetection | _Rejected:
    """The blob as a cube on the table, or what speaks against that."""
    if blob.touches_border:
        return _Rejected("cut by the picture's edge")
    side_m = settings.block_side_mm / 1000.0
    start = view.pixel_to_table_xz_m(blob.centre_px, side_m / 2)
    if not np.isfinite(start).all():
        return _Rejected("above the table's horizon")
    x_m, z_m = float(start[0]), float(start[1])
    if settings.region is not None and not settings.region.holds(x_m, z_m):
        return _Rejected(f"outside the region: ({x_m:.3f}, {z_m:.3f}) m")
    rough_mm = float(np.sqrt(blob.area_px)) * view.mm_per_px((x_m, z_m), side_m / 2)
    low_mm, high_mm = _side_limits_mm(settings)
    if not 0.6 * low_mm < rough_mm < 1.7 * high_mm:
        return _Rejected(f"wrong size: about {rough_mm:.0f} mm where {low_mm:.0f}…{high_mm:.0f} mm is wanted")
    size_m = (side_m, side_m, side_m)
    fit = fit_prism(blob.outline_px, view, size_m, (x_m, z_m), free_size=True)
    hidden = False
    if fit.inliers < 0.9 or not low_mm <= fit.scale * settings.block_side_mm <= high_mm:
        hidden = True
        fixed = fit_prism(blob.outline_px, view, size_m, fit.xz_m, free_size=False)
        if fixed.inliers < MIN_INLIERS or not _covers(fixed, blob):
            return _poor_fit(fit, settings)
        fit = fixed
    return _as_block(blob, fit, view, settings, hidden=hidden)


def _side_limits_mm(settings: DetectSettings) -> tuple[float, float]:
    low = settings.block_side_mm * (1 - settings.block_side_tolerance)
    high = settings.block_side_mm * (1 + settings.block_side_tolerance)
    return max(low, 0.9 * BLOCK_SIDE_RANGE_MM[0]), min(high, 1.1 * BLOCK_SIDE_RANGE_MM[1])


def _covers(fit: PrismFit, blob: Blob) -> bool:
    """Whether the blob lies inside the silhouette and is most of it."""
    whole = float(cv2.contourArea(fit.hull_px.astype(np.float32)))
    common, _ = cv2.intersectConvexConvex(fit.hull_px.astype(np.float32), blob.hull_px.astype(np.float32))
    hull_area = float(cv2.contourArea(blob.hull_px.astype(np.float32)))
    return common > 0.93 * hull_area and blob.area_px > 0.6 * whole


def _poor_fit(fit: PrismFit, settings: DetectSettings) -> _Rejected:
    low_mm, high_mm = _side_limits_mm(settings)
    side_mm = fit.scale * settings.block_side_mm
    if fit.inliers >= 0.9:
        return _Rejected(f"wrong size: {side_mm:.1f} mm where {low_mm:.0f}…{high_mm:.0f} mm is wanted")
    return _Rejected(f"no cube's outline (hidden in part, or another thing): {fit.inliers:.0%} of it fits")


def _as_block(
    blob: Blob, fit: PrismFit, view: View, settings: DetectSettings, *, hidden: bool
) -> BlockDetection | _Rejected:
    side_m = settings.block_side_mm / 1000.0 * fit.scale
    x_m, z_m = fit.xz_m
    if settings.region is not None and not settings.region.holds(x_m, z_m):
        return _Rejected(f"outside the region: ({x_m:.3f}, {z_m:.3f}) m")
    edge = float(np.clip((POOR_RMS_PX - fit.rms_px) / (POOR_RMS_PX - GOOD_RMS_PX), 0, 1))
    colour = float(np.clip(blob.contrast / 0.55, 0, 1))
    share = float(np.clip((fit.inliers - 0.4) / 0.5, 0, 1))
    score = colour**0.5 * edge**0.5 * share * (0.85 if hidden else 1.0)
    if score < settings.score_limit:
        return _Rejected(f"score {score:.2f} below {settings.score_limit:.2f}")
    middle = view.table_to_pixel(fit.xz_m, side_m / 2)
    yaw = np.deg2rad(fit.yaw_deg)
    ends = view.table_to_pixel([[x_m, z_m], [x_m + side_m / 2 * np.cos(yaw), z_m + side_m / 2 * np.sin(yaw)]], side_m)
    along_px = ends[1] - ends[0]
    _, (long_px, short_px), _ = blob.rectangle
    outline: tuple[Pixel, ...] = tuple((float(u), float(v)) for u, v in fit.hull_px)
    return BlockDetection(
        centre_px=(float(middle[0]), float(middle[1])),
        angle_px_deg=folded_deg(float(np.rad2deg(np.arctan2(along_px[1], along_px[0]))), 90.0),
        size_px=(long_px, short_px),
        outline_px=outline,
        score=min(score, 1.0),
        colour=_colour_name(settings),
        touches_border=False,
        xz_m=(x_m, z_m),
        yaw_deg=folded_deg(fit.yaw_deg, 90.0),
        size_mm=side_m * 1000.0,
    )


def _colour_name(settings: DetectSettings) -> str:
    return "learned" if settings.learned is not None else settings.colour
